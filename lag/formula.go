package lag

import (
	"fmt"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
)

const (
	// skewLimit is how far in the future a commit may seem to be before the
	// clocks are said to differ.
	skewLimit = -time.Millisecond

	// settle is how long a receiver is given to bring more: before, nothing to
	// apply does not mean that there is nothing.
	settle = time.Second

	// firstWord is how long a receiver is given to hear from its source if
	// there is no telling whether it has.
	firstWord = 2 * time.Second
)

// since is the time from s to the replica's now; s must be set.
func (t *channelTimes) since(s stamp) time.Duration {
	return time.Duration(t.now-s) * time.Microsecond
}

// judge fills a sample whose threads run.
//
// The lag is the age of the oldest transaction that is on its way. None on its
// way is a lag of 0, whatever the time since the last commit: that says how
// long the source has been idle. But it counts only if the receiver has had
// the time to bring what there is; one that has just started or is itself far
// behind its source leaves an applier without work too.
func (t *channelTimes) judge(s *Sample) {
	if age, silent := t.silent(); silent {
		s.Lag, s.Receive, s.Apply = Unknown(ReceiverSilent), Unknown(ReceiverSilent), Unknown(ReceiverSilent)
		s.Detail = fmt.Sprintf("nothing heard from the source for %s, a heartbeat is due every %s: the connection may be dead",
			age.Round(100*time.Millisecond), t.interval)
		return
	}
	if t.counted {
		n, _ := t.pending.Count()
		s.Behind = &n
	}
	s.Receive, s.Apply = t.receiving(), Known(0)
	oldest := t.inHand()
	switch {
	case oldest.busy():
		t.age(s, oldest)
		s.Apply = s.Lag
		if _, known := s.Lag.Duration(); known && oldest.immediate != 0 {
			s.Apply = Known(t.since(oldest.immediate)).minus(s.Delay)
		}
	case t.onlyLastQueued():
		t.age(s, t.lastQueued)
	case t.waiting():
		s.Lag = MoreThan(0, Backlog)
		if at := t.lastQueued.committed(); at != 0 {
			s.Lag = MoreThan(t.since(at)-s.Delay, Backlog)
		}
		s.Apply = s.Lag
		s.Detail = "transactions are received and none is being applied: the applier may have just started"
	case t.queueing.busy():
		t.age(s, t.queueing)
	case t.late():
		t.age(s, t.lastQueued)
	case t.unheard():
		s.Lag, s.Receive = Unknown(ReceiverStarting), Unknown(ReceiverStarting)
		s.Detail = "the receiver has just started: what it will bring is not known yet"
	default:
		s.Lag = Known(0)
	}
}

// age makes the time since a transaction's commit the lag.
func (t *channelTimes) age(s *Sample, of transaction) {
	if of.committed() == 0 {
		s.Lag, s.Apply = Unknown(MethodUnavailable), Unknown(MethodUnavailable)
		s.Detail = "the source sends no commit timestamps"
		return
	}
	total := t.since(of.committed())
	if total < skewLimit {
		s.Detail = fmt.Sprintf("the source's clock is at least %s ahead", -total)
	}
	s.Lag = Known(total).minus(s.Delay)
}

// inHand returns the oldest transaction that coordinator and workers hold.
func (t *channelTimes) inHand() (oldest transaction) {
	for _, c := range append([]transaction{t.processing}, t.applying...) {
		if c.busy() && (!oldest.busy() || c.committed() < oldest.committed()) {
			oldest = c
		}
	}
	return oldest
}

// waiting reports whether something is received and not applied.
func (t *channelTimes) waiting() bool {
	return !t.pending.IsEmpty() || t.unapplied && !t.lastIsApplied()
}

// lastIsApplied reports whether the transaction that was queued last has been
// applied, on a channel without GTIDs: with nobody at work all before it have.
// The position of a parallel applier moves at checkpoints only.
func (t *channelTimes) lastIsApplied() bool {
	for _, a := range t.lastApplied {
		if a.immediate != 0 && a.original == t.lastQueued.original && a.immediate == t.lastQueued.immediate {
			return true
		}
	}
	return false
}

// onlyLastQueued reports whether the transaction that was queued last is all
// that waits.
func (t *channelTimes) onlyLastQueued() bool {
	last, err := gtid.Parse(t.lastQueued.gtid)
	return err == nil && !last.IsEmpty() && t.pending.Equal(last)
}

// inNobodysHand reports whether something waits and neither coordinator nor
// workers hold it, so that its age is not known.
func (t *channelTimes) inNobodysHand() bool {
	return t.waiting() && !t.inHand().busy() && !t.onlyLastQueued()
}

// receiving is the age of what the receiver brings at this moment.
func (t *channelTimes) receiving() Lag {
	switch {
	case t.queueing.busy() && t.queueing.immediate != 0:
		return Known(t.since(t.queueing.immediate))
	case t.late():
		return Known(t.lastQueued.transport())
	default:
		return Known(0)
	}
}

// late reports whether what has come last was old when it came, a moment ago,
// and no heartbeat has told since that it was the last there is.
func (t *channelTimes) late() bool {
	q := t.lastQueued
	return q.busy() && q.transport() > settle && t.since(q.at) < settle && t.heartbeat < q.at
}

// lastWord is when the receiver has last heard from its source; 0 is never.
func (t *channelTimes) lastWord() stamp {
	return max(t.heartbeat, t.lastQueued.at, t.queueing.at)
}

// unheard reports whether the receiver has heard nothing since its start. The
// start is known to the second only, so a word within that second may be one
// of the connection before.
func (t *channelTimes) unheard() bool {
	const second = stamp(time.Second / time.Microsecond)
	if t.started == 0 || t.lastWord() > t.started+second {
		return false
	}
	if t.lastWord() < t.started-second && t.interval > 0 {
		return true
	}
	return t.since(t.started) < firstWord
}

// silent reports whether the receiver has heard nothing for longer than two
// heartbeats. A source that has stopped answering, or a connection that died
// without a word, leaves both threads running and every other figure at 0.
func (t *channelTimes) silent() (age time.Duration, silent bool) {
	last := max(t.lastWord(), t.started)
	if last == 0 || t.interval == 0 {
		return 0, false
	}
	age = t.since(last)
	return age, age > 2*t.interval
}
