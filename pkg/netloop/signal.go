package netloop

import "sync"

// Signal is something that happens once, and that tasks and goroutines wait for. The zero value has not
// happened; a Signal must not be copied.
type Signal struct {
	mu       sync.Mutex
	happened bool
	nudged   bool // and nobody was there
	waiting  []*waiter
}

// Wait returns when it has happened, or when somebody nudges the one who waits; t is the caller's task, which
// the loop may leave for that. Whoever waits checks why it goes on.
func (s *Signal) Wait(t *Task) { t.wait(s) }

// park makes w one of those who wait, or returns false if there is no reason to.
func (s *Signal) park(w *waiter) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.happened || s.nudged {
		s.nudged = false
		return false
	}
	s.waiting = append(s.waiting, w)
	return true
}

// Nudge has one of those who wait go on, or the next one who would.
func (s *Signal) Nudge(t *Task) {
	s.mu.Lock()
	if len(s.waiting) == 0 {
		s.nudged = true
		s.mu.Unlock()
		return
	}
	w := s.waiting[0]
	s.waiting = s.waiting[1:]
	s.mu.Unlock()
	w.resumeFrom(t)
}

// Happen makes it happen. Those who wait go on; where a loop runs the caller's task t, it runs tasks that
// wait before this returns.
func (s *Signal) Happen(t *Task) {
	s.mu.Lock()
	s.happened = true
	all := s.waiting
	s.waiting = nil
	s.mu.Unlock()
	for _, w := range all {
		w.resumeFrom(t)
	}
}

// resumeFrom runs who waited in the turn that runs t, if one does.
func (w *waiter) resumeFrom(t *Task) {
	if t == nil {
		w.resume(nil)
	} else {
		w.resume(t.on)
	}
}
