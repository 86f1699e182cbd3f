package netloop

import (
	"sync"
	"sync/atomic"
	"time"
)

// waiter is who waits for one side of a connection: a task, or a goroutine that is told.
type waiter struct {
	task *Task
	told chan struct{} // has room for one
}

// isReady is what side.state is when there may be something. It is nobody, and only its address counts.
var isReady = &waiter{}

// side is reading from or writing to a connection. At any time one goroutine does that, and others may wake
// it.
type side struct {
	state atomic.Pointer[waiter] // nil: there is nothing; isReady: there may be; or who waits
	// expired: its deadline is over. ended: the connection is closed here. Both are set before wake.
	expired atomic.Bool
	ended   *atomic.Bool

	mu    sync.Mutex // of what follows
	timer *time.Timer
	at    uint64 // counts deadlines: a timer of an old one does nothing
}

// ready tells whether there may be something.
func (s *side) ready() bool { return s.state.Load() == isReady }

// clear notes that there is nothing but what comes from now on. It goes before the system call that takes
// what there is.
func (s *side) clear() { s.state.CompareAndSwap(isReady, nil) }

// again notes that there may be more than was taken.
func (s *side) again() { s.state.CompareAndSwap(nil, isReady) }

// park makes w the one who waits, or returns false if there is no reason to.
func (s *side) park(w *waiter) bool {
	if !s.state.CompareAndSwap(nil, w) {
		return false
	}
	if (s.expired.Load() || s.ended.Load()) && s.state.CompareAndSwap(w, isReady) {
		return false
	}
	return true
}

// wake notes that there may be something, and returns who waited for it, who is the caller's to run then.
func (s *side) wake() *waiter {
	if s.ready() {
		return nil
	}
	if w := s.state.Swap(isReady); w != isReady {
		return w
	}
	return nil
}

// rouse wakes who waits, from a goroutine that is no loop.
func (s *side) rouse() {
	if w := s.wake(); w != nil {
		w.resume(nil)
	}
}

// resume runs who waited, in a turn of a loop, or has the scheduler run it.
func (w *waiter) resume(on *turn) {
	switch {
	case w.task == nil:
		w.told <- struct{}{}
	case on != nil:
		w.task.run(on)
		return
	default:
		go w.task.run(nil)
	}
	if on != nil {
		on.scheduled = true
	}
}

// setDeadline bounds waiting; the zero time does not.
func (s *side) setDeadline(t time.Time) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.at++
	if s.timer != nil {
		s.timer.Stop()
		s.timer = nil
	}
	s.expired.Store(false)
	if t.IsZero() {
		return
	}
	left := time.Until(t)
	if left <= 0 {
		s.expired.Store(true)
		s.rouse()
		return
	}
	at := s.at
	s.timer = time.AfterFunc(left, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.at == at {
			s.expired.Store(true)
			s.rouse()
		}
	})
}
