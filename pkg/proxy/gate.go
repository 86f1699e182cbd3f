package proxy

import (
	"context"
	"errors"
	"sync"
)

// errQueueFull is why a statement is not even queued.
var errQueueFull = errors.New("too many statements wait for the server already")

// gate lets so many statements through at a time and queues the others, first come first served.
// Without a limit it costs nothing.
type gate struct {
	mu      sync.Mutex
	max     int
	length  int // of the queue; 0 is no limit
	running int
	queue   []chan struct{}
}

func (g *gate) limit(statements, queue int) { g.max, g.length = statements, queue }

// enter returns when the statement may run; leave must follow.
func (g *gate) enter(ctx context.Context) error {
	if g.max <= 0 {
		return nil
	}
	g.mu.Lock()
	if g.running < g.max {
		g.running++
		g.mu.Unlock()
		return nil
	}
	if g.length > 0 && len(g.queue) >= g.length {
		g.mu.Unlock()
		return errQueueFull
	}
	turn := make(chan struct{})
	g.queue = append(g.queue, turn)
	g.mu.Unlock()
	select {
	case <-turn:
		return nil
	case <-ctx.Done():
	}
	g.mu.Lock()
	for i := range g.queue {
		if g.queue[i] == turn {
			g.queue = append(g.queue[:i], g.queue[i+1:]...)
			g.mu.Unlock()
			return context.Cause(ctx)
		}
	}
	g.mu.Unlock()
	g.leave() // the turn came at the same moment
	return context.Cause(ctx)
}

func (g *gate) leave() {
	if g.max <= 0 {
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if len(g.queue) == 0 {
		g.running--
		return
	}
	close(g.queue[0])
	g.queue[0] = nil
	g.queue = g.queue[1:]
}
