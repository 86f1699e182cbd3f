package lag

import (
	"fmt"
	"time"
)

// skewLimit is how far in the future a commit may seem to be before the
// clocks are said to differ.
const skewLimit = -time.Millisecond

// since is the time from s to the replica's now; s must be set.
func (t *channelTimes) since(s stamp) time.Duration {
	return time.Duration(t.now-s) * time.Microsecond
}

// judge fills a sample whose threads run. unapplied says that a channel
// without GTIDs has received more than it has executed.
//
// Nothing pending is a lag of 0: the time since the last commit says how long
// the source has been idle, not how late the replica is. Otherwise the lag is
// the age of the oldest transaction that is on its way.
func (t *channelTimes) judge(s *Sample, unapplied bool) {
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
	s.Receive = Known(0)
	if t.queueing.busy() && t.queueing.immediate != 0 {
		s.Receive = Known(t.since(t.queueing.immediate))
	}
	oldest, applying := t.oldest(unapplied)
	if !oldest.busy() {
		s.Lag, s.Apply = Known(0), Known(0)
		return
	}
	if oldest.committed() == 0 {
		s.Lag, s.Apply = Unknown(MethodUnavailable), Unknown(MethodUnavailable)
		s.Detail = "the source sends no commit timestamps"
		return
	}
	total := t.since(oldest.committed())
	if total < skewLimit {
		s.Detail = fmt.Sprintf("the source's clock is at least %s ahead", -total)
	}
	s.Lag, s.Apply = Known(total).minus(s.Delay), Known(0)
	if applying && oldest.immediate != 0 {
		s.Apply = Known(t.since(oldest.immediate)).minus(s.Delay)
	}
}

// oldest returns the transaction that has been on its way for the longest
// time, and whether it has reached the applier. Workers and coordinator hold
// the oldest ones; if they hold none although something is pending, which
// lasts for a moment, the last one queued gives a lower bound.
func (t *channelTimes) oldest(unapplied bool) (oldest transaction, applying bool) {
	for _, c := range append([]transaction{t.processing}, t.applying...) {
		if c.busy() && (!oldest.busy() || c.committed() < oldest.committed()) {
			oldest = c
		}
	}
	switch {
	case oldest.busy():
		return oldest, true
	case !t.pending.IsEmpty() || unapplied:
		return t.lastQueued, true
	default:
		return t.queueing, false
	}
}

// silent reports whether the receiver has heard nothing for longer than two
// heartbeats. A source that has stopped answering, or a connection that died
// without a word, leaves both threads running and every other figure at 0.
func (t *channelTimes) silent() (age time.Duration, silent bool) {
	last := max(t.heartbeat, t.lastQueued.at, t.queueing.at)
	if last == 0 || t.interval == 0 {
		return 0, false
	}
	age = t.since(last)
	return age, age > 2*t.interval
}
