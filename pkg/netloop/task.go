package netloop

import "iter"

// Task is a goroutine that loops run. The nil Task is an ordinary goroutine.
type Task struct {
	next  func() (struct{}, bool)
	yield func(struct{}) bool

	// What follows belongs to whoever runs the task.
	inline  bool   // that is a loop
	leaving bool   // it yielded to be run by a goroutine of its own
	parks   parker // that it yielded to wait for
	burst   int    // how often it has read without waiting
	// scheduled: it has others run by the scheduler, which the loop is told when it yields.
	scheduled bool
	waiter    waiter
}

// parker is what a task waits for. park is called when the task has yielded: from then on it may go on.
type parker interface{ park(w *waiter) bool }

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

// run runs the task until it waits, or, on a loop, has left that. It returns whether the scheduler has
// somebody to run because of it. Behind that somebody else may run the task already: nothing of it is touched
// any more.
func (t *Task) run(inline bool) (left bool) {
	for {
		t.inline = inline
		_, more := t.next()
		if left = left || t.scheduled; left {
			t.scheduled = false
		}
		if !more {
			return left
		}
		if t.leaving {
			t.leaving = false
			if inline {
				go t.run(false)
				return true
			}
			continue
		}
		if t.parks.park(&t.waiter) {
			return left
		}
	}
}

// wait waits for one side of a connection, or a signal.
func (t *Task) wait(p parker) {
	t.burst = 0
	t.parks = p
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
