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
	Unknown Answer = iota
	No
	Yes
)

// highest is a register in words of the checker: a write leaves the higher
// number, a read returns it.
func highest(first int64) porcupine.Model {
	return porcupine.Model{
		Init: func() any { return first },
		Step: func(state, input, output any) (bool, any) {
			held, op := state.(int64), input.(operation)
			if op.write {
				return true, max(held, op.number)
			}
			return output.(int64) == held, held
		},
		Hash: func(state any) uint64 { return uint64(state.(int64)) },
	}
}

// check puts the window to the checker, for so long.
func (w *window) check(limit time.Duration) Answer {
	history := make([]porcupine.Operation, 0, len(w.operations))
	written := map[int64]bool{}
	last := int64(0)
	for _, op := range w.operations {
		last = max(last, op.returned)
		if op.write {
			written[op.number] = true
		}
	}
	put := func(op operation) {
		history = append(history, porcupine.Operation{
			ClientId: op.session, Input: op, Call: op.call, Output: op.number, Return: op.returned,
		})
	}
	for _, op := range w.operations {
		put(op)
		// A write that began before the window, or that has not returned in it.
		if !op.write && op.number > w.first && !written[op.number] {
			written[op.number] = true
			put(operation{returned: last + 1, number: op.number, write: true})
		}
	}
	switch porcupine.CheckOperationsTimeout(highest(w.first), history, limit) {
	case porcupine.Ok:
		return Yes
	case porcupine.Illegal:
		return No
	default:
		return Unknown
	}
}

// check puts all windows to the checker, within the limit together, and says
// how many operations it has found in order.
func (s *sample) check(limit time.Duration) (answer Answer, operations int64) {
	for _, w := range s.windows {
		if answer = w.check(max(1, limit/time.Duration(len(s.windows)))); answer != Yes {
			return answer, operations
		}
		operations += int64(len(w.operations))
	}
	return answer, operations
}
