package lag

import "time"

// Lag is how far behind a channel is: Known, or Unknown for a Reason. The zero
// value is unknown. It is a comparable value.
type Lag struct {
	d      time.Duration // the lag if known, else a lower bound of it
	known  bool
	reason Reason
}

// Known is a measured lag. A negative one, which two clocks can produce, is 0.
func Known(d time.Duration) Lag { return Lag{d: max(d, 0), known: true} }

// Unknown is the absence of a measurement, and why there is none.
func Unknown(r Reason) Lag { return Lag{reason: r} }

// MoreThan is a lag of which only a lower bound is known. It counts as unknown: Duration does not tell it, AtLeast
// and Exceeds do.
func MoreThan(d time.Duration, r Reason) Lag { return Lag{d: max(d, 0), reason: r} }

// Duration returns the lag, and false if it is unknown.
func (l Lag) Duration() (time.Duration, bool) {
	if !l.known {
		return 0, false
	}
	return l.d, true
}

// AtLeast returns what the lag is not below: the lag itself if it is known,
// 0 if nothing is known.
func (l Lag) AtLeast() time.Duration { return l.d }

// Reason returns why the lag is unknown, and NoReason if it is known.
func (l Lag) Reason() Reason {
	if l.known {
		return NoReason
	}
	if l.reason == NoReason {
		return NotMeasured
	}
	return l.reason
}

// String returns the duration as time.Duration prints it, or the reason's word.
func (l Lag) String() string {
	if l.known {
		return l.d.String()
	}
	return l.Reason().String()
}

// Exceeds reports whether the lag is certainly over the limit, or certainly
// not; known is false if neither is certain.
func (l Lag) Exceeds(limit time.Duration) (over, known bool) {
	if l.d > limit {
		return true, true
	}
	return false, l.known
}

// minus returns the lag without a configured delay.
func (l Lag) minus(delay time.Duration) Lag {
	l.d = max(l.d-delay, 0)
	return l
}

// worse reports whether l is worse news than m: unknown is worse than any
// known lag, and of two known ones the longer is.
func (l Lag) worse(m Lag) bool {
	if l.known != m.known {
		return !l.known
	}
	return l.d > m.d
}

// Reason says why a lag is unknown. Its text is part of the output contract of
// the commands.
type Reason uint8

// The reasons.
const (
	NoReason           Reason = iota // the lag is known
	NotMeasured                      // nobody has tried
	NotAReplica                      // the server has no replication channel
	ApplierStopped                   // what is received is not applied
	ReceiverStopped                  // nothing is received
	ReceiverConnecting               // the receiver has lost its source
	ReceiverSilent                   // the receiver has heard nothing for two heartbeats: the connection may be dead
	NoValue                          // the server answered NULL
	Backlog                          // the server says 0, and has received transactions that it has not applied
	BehindSource                     // it lacks transactions of its source, and did not get them in the time given
	SourceUnreachable                // the method needs the source, and it did not answer
	MethodUnavailable                // this server does not have what the method needs
	NoHeartbeat                      // no heartbeat row of this source
	HeartbeatStale                   // the heartbeat is old on the source too: its writer is down
	HeartbeatInFuture                // the heartbeat is ahead of the replica's clock
	ReceiverStarting                 // the receiver has just started and may have more to bring
)

// String returns the reason in kebab-case, "" for NoReason.
func (r Reason) String() string {
	if int(r) < len(reasonWords) {
		return reasonWords[r]
	}
	return "unknown"
}

var reasonWords = [...]string{
	NoReason:           "",
	NotMeasured:        "not-measured",
	NotAReplica:        "not-a-replica",
	ApplierStopped:     "applier-stopped",
	ReceiverStopped:    "receiver-stopped",
	ReceiverConnecting: "receiver-connecting",
	ReceiverSilent:     "receiver-silent",
	NoValue:            "no-value",
	Backlog:            "backlog",
	BehindSource:       "behind-source",
	SourceUnreachable:  "source-unreachable",
	MethodUnavailable:  "method-unavailable",
	NoHeartbeat:        "no-heartbeat",
	HeartbeatStale:     "heartbeat-stale",
	HeartbeatInFuture:  "heartbeat-in-future",
	ReceiverStarting:   "receiver-starting",
}
