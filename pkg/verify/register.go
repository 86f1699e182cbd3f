package verify

import (
	"sync"
	"sync/atomic"
	"time"
)

// Numbers of a register. Those that are written begin at 1.
const (
	absent  = -1 // no table or row: the time before the run
	initial = 0  // what the run began with
)

// write is one number's way into its register. Times count from the start of
// the run.
type write struct {
	number   int64
	session  int
	began    time.Duration
	returned time.Duration // < 0: it has not, or has changed nothing, or its outcome is unknown
}

// sight is a read and what it saw, or a write that saw that something higher
// than its number was there.
type sight struct {
	number          int64
	session, server int
	began, returned time.Duration
	byWrite         bool
}

// register is what all sessions together know of one register.
type register struct {
	id int

	mu     sync.Mutex
	issued int64   // highest number given out
	acked  int64   // highest number whose write has taken effect and returned
	shown  int64   // highest number that a finished operation has written or seen
	kept   []write // the newest writes, a number n at n % limit
	limit  int64
	by     sight // the read that raised shown last

	window recorder
}

// newRegister keeps the times of the newest limit writes.
func newRegister(id, limit int) *register {
	r := &register{id: id, limit: int64(limit), kept: []write{{number: initial}}}
	r.by.number = absent
	return r
}

// look is what had been reached when an operation began. It is taken before
// anything is sent: whatever it holds came before the operation.
type look struct {
	acked, shown int64
	by           sight
	span         span
}

func (r *register) look(clock *atomic.Int64) look {
	r.mu.Lock()
	defer r.mu.Unlock()
	return look{span: r.window.begin(clock), acked: r.acked, shown: r.shown, by: r.by}
}

// issue gives out the next number. It counts as begun from here on, even if it
// is sent a moment later: numbers then begin in their order, and a number can
// never be overtaken before it has begun.
func (r *register) issue(session int, now func() time.Duration) write {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.issued++
	w := write{number: r.issued, session: session, began: now(), returned: -1}
	if at := w.number % r.limit; at < int64(len(r.kept)) {
		r.kept[at] = w
	} else {
		r.kept = append(r.kept, w)
	}
	return w
}

// find returns the write of a number. The caller holds mu.
func (r *register) find(number int64) *write {
	if number < initial || number > r.issued {
		return nil
	}
	if at := number % r.limit; at < int64(len(r.kept)) && r.kept[at].number == number {
		return &r.kept[at]
	}
	return nil
}

// returnedOf takes note that a write has returned.
func (r *register) returnedOf(w write, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if kept := r.find(w.number); kept != nil {
		kept.returned = at
	}
	r.acked, r.shown = max(r.acked, w.number), max(r.shown, w.number)
}

// missedScan bounds how many writes are looked at for the first that returned.
// Writes return nearly in the order of their numbers, so that the first few
// tell; a later one makes a read look less stale than it was, never more.
const missedScan = 64

// missed returns the write above number, up to the given one, that returned
// first. The caller holds mu.
func (r *register) missed(number, upTo int64) *write {
	var first *write
	from := max(number+1, r.issued-r.limit+1)
	for n := from; n <= min(upTo, from+missedScan); n++ {
		if w := r.find(n); w != nil && w.returned >= 0 && (first == nil || w.returned < first.returned) {
			first = w
		}
	}
	return first
}
