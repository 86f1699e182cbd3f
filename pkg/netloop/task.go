package netloop

import "iter"

// Task is a goroutine that loops run. The nil Task is an ordinary goroutine.
type Task struct {
	next  func() (struct{}, bool)
	yield func(struct{}) bool

	// What follows belongs to whoever runs the task.
	on      *turn  // the turn of the loop that runs it; nil for a goroutine of its own
	leaving bool   // it yielded to be run by that
	parks   parker // that it yielded to wait for
	burst   int    // how often it has read without waiting
	waiter  waiter
}

// turn is what a loop does between two waits. It belongs to the loop's thread.
type turn struct {
	later     []*Task // run when there is nothing else to do
	passes    int     // how often that was put off
	scheduled bool    // somebody was handed to the scheduler
}

// park has the task run again at the end of the turn.
func (r *turn) park(w *waiter) bool {
	r.later = append(r.later, w.task)
	return true
}

// maxPasses is how often those who wanted to be run last are put off.
const maxPasses = 4

// end runs those who wanted to be run last, unless there is something else to do: n events have come. It tells
// whether some of them wait still.
func (r *turn) end(n int) (waiting bool) {
	if len(r.later) == 0 {
		return false
	}
	if r.passes++; n > 0 && r.passes < maxPasses {
		return true
	}
	all := r.later
	r.later, r.passes = nil, 0
	for _, t := range all {
		t.run(r)
	}
	return len(r.later) > 0
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
	if t == nil || t.on == nil {
		return
	}
	t.leaving = true
	t.yield(struct{}{})
}

// Later returns when the loop that runs the task has nothing else to do, or has looked four times for what has
// come. Where no loop runs it, it returns at once.
func (t *Task) Later() {
	if t != nil && t.on != nil {
		t.wait(t.on)
	}
}

// run runs the task until it waits, or, in a turn of a loop, has left that. Behind that somebody else may run the
// task already: nothing of it is touched any more.
func (t *Task) run(on *turn) {
	for {
		t.on = on
		if _, more := t.next(); !more {
			return
		}
		switch {
		case t.leaving && on != nil:
			t.leaving, on.scheduled = false, true
			go t.run(nil)
			return
		case t.leaving:
			t.leaving = false
		case t.parks.park(&t.waiter):
			return
		}
	}
}

// wait waits for one side of a connection, or a signal; the nil Task is the goroutine that calls it.
func (t *Task) wait(p parker) {
	if t == nil {
		w := &waiter{told: make(chan struct{}, 1)}
		if p.park(w) {
			<-w.told
		}
		return
	}
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
