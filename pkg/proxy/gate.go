package proxy

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
)

// errQueueFull is why a statement is not even queued.
var errQueueFull = errors.New("too many statements wait for the server already")

// gate lets so many statements through at a time and queues the others, first come first served.
// Without a limit it costs nothing.
type gate struct {
	max atomic.Int64 // 0 is no limit

	mu      sync.Mutex
	length  int // of the queue; 0 is no limit
	running int
	queue   []chan struct{}
}

// limit sets how many statements may run, and how many wait. More may run at once if it is more than before.
func (g *gate) limit(statements, queue int) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.max.Store(int64(statements))
	g.length = queue
	for len(g.queue) > 0 && (statements <= 0 || g.running < statements) {
		g.running++
		g.next()
	}
}

// next lets the first of the queue go. It is called with mu held.
func (g *gate) next() {
	close(g.queue[0])
	g.queue[0] = nil
	g.queue = g.queue[1:]
}

// waiting returns how many statements wait.
func (g *gate) waiting() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return len(g.queue)
}

// enter returns when the statement may run. leave must follow if it was counted.
func (g *gate) enter(ctx context.Context, waits func()) (counted bool, err error) {
	g.mu.Lock()
	max := int(g.max.Load())
	if max <= 0 {
		g.mu.Unlock()
		return false, nil
	}
	if g.running < max {
		g.running++
		g.mu.Unlock()
		return true, nil
	}
	if g.length > 0 && len(g.queue) >= g.length {
		g.mu.Unlock()
		return false, errQueueFull
	}
	turn := make(chan struct{})
	g.queue = append(g.queue, turn)
	g.mu.Unlock()
	waits()
	select {
	case <-turn:
		return true, nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	for i := range g.queue {
		if g.queue[i] == turn {
			g.queue = append(g.queue[:i], g.queue[i+1:]...)
			g.mu.Unlock()
			return false, context.Cause(ctx)
		}
	}
	g.mu.Unlock()
	g.leave() // the turn came at the same moment
	return false, context.Cause(ctx)
}

// leave ends a statement that was counted.
func (g *gate) leave() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if max := int(g.max.Load()); len(g.queue) > 0 && g.running <= max {
		g.next()
		return
	}
	g.running--
}
