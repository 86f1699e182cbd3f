package netloop

import "iter"

// Task is a goroutine that loops run. The nil Task is an ordinary goroutine.
type Task struct {
	next  func() (struct{}, bool)
	yield func(struct{}) bool

	// What follows belongs to whoever runs the task.
	inline  bool  // that is a loop
	leaving bool  // it yielded to be run by a goroutine of its own
	side    *side // that it yielded to wait for
	burst   int   // how often it has read without waiting
	waiter  waiter
}

// newTask makes a task that has not begun.
func newTask(f func(*Task)) *Task {
	t := &Task{}
	t.waiter.task = t
	t.next, _ = iter.Pull(func(yield func(struct{}) bool) {
		t.yield = yield
		f(t)
	})
	return t
}

// Leave makes the task run on a goroutine of its own until it next waits for a connection. It costs
// nothing if it does already. Only the task itself may call it.
func (t *Task) Leave() {
	if t == nil || !t.inline {
		return
	}
	t.leaving = true
	t.yield(struct{}{})
}

// run runs the task until it waits, or, on a loop, has left that, which it returns. Behind that somebody else
// may run it already: nothing of it is touched any more.
func (t *Task) run(inline bool) (left bool) {
	for {
		t.inline = inline
		if _, more := t.next(); !more {
			return false
		}
		if t.leaving {
			t.leaving = false
			if inline {
				go t.run(false)
				return true
			}
			continue
		}
		if t.side.park(&t.waiter) {
			return false
		}
	}
}

// wait waits until there may be something on one side of a connection.
func (t *Task) wait(s *side) {
	t.burst = 0
	t.side = s
	t.yield(struct{}{})
}

// maxBurst is how often a task reads or writes without a wait before the loop is for others: one that
// relays a large result never waits, and goes on with a processor of its own.
const maxBurst = 32

// worked counts a read or write that did not wait.
func (t *Task) worked() {
	if t == nil {
		return
	}
	if t.burst++; t.burst > maxBurst {
		t.burst = 0
		t.Leave()
	}
}
