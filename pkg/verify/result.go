package verify

import "time"

// Result is what a run has found.
type Result struct {
	Elapsed             time.Duration    // of the clients' work
	Clients, Registers  int              // as there were; Peers has its own numbers
	Sessions            int64            // more than clients if connections were lost
	Reads, Writes       int64            // that were answered
	Absent              int64            // reads that found no table or row
	Errors              map[string]int64 // how often, by what was done and what went wrong; nil for none
	OwnWrites           Count            // reads older than what the session had written
	MonotonicReads      Count            // reads older than what the session had read
	WriteOrder          Count            // reads older than what came before a write that the session had seen
	CrossSession        Count            // reads older than what anybody had written
	Inversions          int64            // reads older than what another session had read
	Invented            int64            // reads of what nobody has written
	Linearizable        Answer           // Unknown if the checker has confirmed nothing
	Checked, GivenUp    int64            // operations of windows that the checker has found in order, and that took it too long
	ByServer            map[string]int64 // reads, by the server_id of who answered or "unknown"
	Staleness           Spread           // of all reads; 0 for a fresh one
	ReadTime, WriteTime Spread           // of statements; ReadTime is without those of FirstReadTime
	FirstReadTime       Spread           // of reads that directly follow a write of the session
	Violations          []Violation      // examples, at most Options.Show of each kind
}

// Keeps reports whether nothing was found that the promise excludes. That is
// only worth something if another run, where it should fail, Breaks the promise.
func (r *Result) Keeps(p Promise) bool { return r.Found() >= p }

// Found returns the strongest promise that was kept, which is all that a run
// without any violation can tell.
func (r *Result) Found() Promise {
	if r.Linearizable == No {
		return min(r.worst(), Session)
	}
	return r.worst()
}

// worst is Found by the exact checks.
func (r *Result) worst() Promise {
	switch {
	case r.MonotonicReads.Found > 0:
		return None
	case r.OwnWrites.Found > 0 || r.WriteOrder.Found > 0:
		return Monotonic
	case r.CrossSession.Found > 0 || r.Inversions > 0 || r.Invented > 0:
		return Session
	}
	return Global
}

// Tested reports whether the run had something to judge the promise by.
func (r *Result) Tested(p Promise) bool {
	switch p {
	case None, Monotonic:
		return r.Reads > 0 && r.Writes > 0
	case Session:
		return r.OwnWrites.Of > 0
	default:
		return r.CrossSession.Of > 0 && r.Writes > 0
	}
}

// Breaks reports whether something was found that the promise adds to the
// weaker ones. If a control does not break it, a run that keeps it has proved
// nothing.
func (r *Result) Breaks(p Promise) bool {
	switch p {
	case None:
		return !r.Keeps(Global)
	case Monotonic:
		return r.MonotonicReads.Found > 0
	case Session:
		return r.OwnWrites.Found > 0
	default:
		return r.CrossSession.Found > 0
	}
}
