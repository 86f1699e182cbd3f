package pool

import (
	"context"
	"errors"
)

// ErrClosed is returned by Acquire after Close.
var ErrClosed = errors.New("pool is closed")

// waiter is somebody in the queue. ready gets one turn, and has room for it.
type waiter[K comparable, M Member] struct {
	key   K
	ready chan turn[K, M]
}

// turn is what a waiter gets: a connection, or, with neither that nor an error, leave to open one.
type turn[K comparable, M Member] struct {
	h   *Handle[K, M]
	err error
}

// serve gives what there is to those who wait. The caller holds the lock.
func (p *Pool[K, M]) serve() {
	for len(p.waiters) > 0 {
		w := p.waiters[0]
		h, open := p.find(w.key, nil)
		if h == nil && !open {
			return
		}
		p.waiters[0] = nil
		p.waiters = p.waiters[1:]
		w.ready <- turn[K, M]{h: h}
	}
}

// wait waits for a turn.
func (p *Pool[K, M]) wait(ctx context.Context, w *waiter[K, M], owner any) (*Handle[K, M], bool, error) {
	p.waits(owner)
	select {
	case t := <-w.ready:
		return p.turn(ctx, w, t, owner)
	case <-ctx.Done():
	}
	p.mu.Lock()
	for i := range p.waiters {
		if p.waiters[i] == w {
			p.waiters = append(p.waiters[:i], p.waiters[i+1:]...)
			p.mu.Unlock()
			return nil, false, context.Cause(ctx)
		}
	}
	p.mu.Unlock()
	// The turn came at the same moment. It goes on to the next one.
	if t := <-w.ready; t.h != nil {
		p.Release(t.h, Free, nil, p.o.Now())
	} else if t.err == nil {
		p.mu.Lock()
		p.open--
		p.opening--
		p.serve()
		p.mu.Unlock()
	}
	return nil, false, context.Cause(ctx)
}

func (p *Pool[K, M]) turn(ctx context.Context, w *waiter[K, M], t turn[K, M], owner any) (*Handle[K, M], bool, error) {
	switch {
	case t.err != nil:
		return nil, false, t.err
	case t.h == nil:
		return p.connect(ctx, w.key, owner, true)
	case t.h.Member.CheckIdle() != nil:
		p.Discard(t.h)
		return p.Acquire(ctx, w.key, owner, nil)
	}
	t.h.owner = owner
	return t.h, false, nil
}
