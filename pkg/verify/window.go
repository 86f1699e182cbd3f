package verify

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	"github.com/anishathalye/porcupine"
)

// windowSize is the number of operations in a window. The checker's memory
// grows with its square.
const windowSize = 2048

// operation is one finished operation of a window. Calls and returns are
// numbered in the order in which they happened.
type operation struct {
	call, returned int64
	number         int64
	session        int
	write          bool
}

// window is a part of one register's history: operations that began and ended
// within it. Before it, the register had at least first.
type window struct {
	first      int64
	operations []operation
}

// span is the beginning of an operation: its number, and its window.
type span struct {
	call int64
	in   *window
}

// recorder collects the windows of one register. The register's mutex guards it.
type recorder struct {
	current *window
	sample  *sample // nil: nothing is recorded
}

func (c *recorder) begin(clock *atomic.Int64) span {
	return span{call: clock.Add(1), in: c.current}
}

// end records an operation whose window is still open. A write that is left out
// in this way is put back by check if somebody has seen it.
func (r *register) end(clock *atomic.Int64, s span, number int64, session int, isWrite bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	c := &r.window
	if c.sample == nil || c.current != nil && c.current != s.in {
		return
	}
	if c.current != nil {
		c.current.operations = append(c.current.operations,
			operation{call: s.call, returned: clock.Add(1), number: number, session: session, write: isWrite})
		if len(c.current.operations) < c.sample.size {
			return
		}
		c.sample.keep(c.current)
	}
	c.current = &window{first: r.shown, operations: make([]operation, 0, 64)}
}

// sample keeps windows, each with the same chance if there are too many.
type sample struct {
	mu      sync.Mutex
	random  *rand.Rand
	size    int // operations of a window
	limit   int // windows
	windows []*window
	offered int
}

func (s *sample) keep(w *window) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.offered++
	if len(s.windows) < s.limit {
		s.windows = append(s.windows, w)
	} else if at := s.random.IntN(s.offered); at < s.limit {
		s.windows[at] = w
	}
}

// Answer is the answer to a question that may stay open.
type Answer uint8

// The answers.
const (
	Unknown Answer = iota // nobody has found out
	No                    // there is proof of the contrary
	Yes                   // confirmed for all that was looked at
)

// highest is a register in words of the checker: a write leaves the higher
// number, a read returns it.
//
// A write that is not in the window, because it began before or did not return,
// may take effect at any time. The first read that sees it is as good a time as
// any earlier one: nothing in between can have seen less than it, and what is
// more would hide it from the read.
func highest(first int64, written map[int64]bool) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return first },
		Step: func(state, input, _ any) (bool, any) {
			held, op := state.(int64), input.(operation)
			if op.write || op.number > held && !written[op.number] {
				return true, max(held, op.number)
			}
			return op.number == held, held
		},
		Hash: func(state any) uint64 { return uint64(state.(int64)) },
	}
}

// check puts the window to the checker, for so long.
func (w *window) check(limit time.Duration) Answer {
	history := make([]porcupine.Operation, len(w.operations))
	written := map[int64]bool{}
	for i, op := range w.operations {
		history[i] = porcupine.Operation{ClientId: op.session, Input: op, Call: op.call, Return: op.returned}
		if op.write {
			written[op.number] = true
		}
	}
	switch porcupine.CheckOperationsTimeout(highest(w.first, written), history, limit) {
	case porcupine.Ok:
		return Yes
	case porcupine.Illegal:
		return No
	default:
		return Unknown
	}
}

// checked is what the checker says of all windows.
type checked struct {
	answer           Answer // Yes: of no window No, of some Yes
	inOrder, givenUp int64  // operations
}

// check puts all windows to the checker, within the limit together. A window
// can take it very long: what many sessions write at the same time has many orders.
func (s *sample) check(limit time.Duration) checked {
	var c checked
	for _, w := range s.windows {
		n := int64(len(w.operations))
		switch w.check(max(1, limit/time.Duration(len(s.windows)))) {
		case No:
			return checked{answer: No}
		case Yes:
			c.answer = Yes
			c.inOrder += n
		default:
			c.givenUp += n
		}
	}
	return c
}
