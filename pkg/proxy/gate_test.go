package proxy

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"
)

// TestGate: never more than the limit, first come first served, and nothing is lost when a limit changes.
func TestGate(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g gate
		g.limit(2, 3)
		var all sync.WaitGroup
		var order []int
		var mu sync.Mutex
		var running, most atomic.Int64
		run := func(n int) {
			all.Go(func() {
				counted, err := g.enter(t.Context(), func() {})
				if err != nil || !counted {
					t.Errorf("%d: %v, %v", n, counted, err)
					return
				}
				most.Store(max(most.Load(), running.Add(1)))
				mu.Lock()
				order = append(order, n)
				mu.Unlock()
				time.Sleep(time.Second)
				running.Add(-1)
				g.leave()
			})
			synctest.Wait()
		}
		for n := range 5 {
			run(n)
		}
		if _, err := g.enter(t.Context(), func() {}); !errors.Is(err, errQueueFull) {
			t.Errorf("a fourth that waits: %v", err)
		}
		if n := g.waiting(); n != 3 {
			t.Errorf("%d wait", n)
		}
		all.Wait()
		for n, got := range order { // two begin at the same moment
			if got/2 != n/2 {
				t.Errorf("they ran in the order %v", order)
				break
			}
		}
		if most.Load() != 2 || g.running != 0 {
			t.Errorf("%d at a time, %d at the end", most.Load(), g.running)
		}
	})
}

// TestGate_limit: a limit that becomes larger lets those that wait go, and none at all lets all of them go; one that
// becomes smaller holds for those that come.
func TestGate_limit(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g gate
		var inside atomic.Int64
		var all sync.WaitGroup
		leave := make(chan struct{})
		g.limit(1, 0)
		for range 6 {
			all.Go(func() {
				counted, err := g.enter(t.Context(), func() {})
				if err != nil {
					t.Error(err)
				}
				inside.Add(1)
				<-leave
				inside.Add(-1)
				if counted {
					g.leave()
				}
			})
		}
		is := func(want int64) {
			t.Helper()
			if synctest.Wait(); inside.Load() != want {
				t.Errorf("%d run, want %d", inside.Load(), want)
			}
		}
		is(1)
		g.limit(3, 0)
		is(3)
		g.limit(2, 0)
		leave <- struct{}{} // to get to two nobody may come for the first one that leaves
		is(2)
		leave <- struct{}{}
		is(2)
		g.limit(0, 0)
		is(4)
		close(leave)
		all.Wait()
		if g.running != 0 || g.waiting() != 0 {
			t.Errorf("%d run and %d wait at the end", g.running, g.waiting())
		}
	})
}

// TestGate_gone: who does not want to wait any more leaves the queue, and takes no turn with it.
func TestGate_gone(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var g gate
		g.limit(1, 0)
		if counted, err := g.enter(t.Context(), func() {}); err != nil || !counted {
			t.Fatal(err)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		if counted, err := g.enter(ctx, func() {}); !errors.Is(err, context.DeadlineExceeded) || counted {
			t.Errorf("%v, %v", counted, err)
		}
		g.leave()
		if counted, err := g.enter(t.Context(), func() {}); err != nil || !counted {
			t.Errorf("the place is taken: %v", err)
		}
	})
}
