package pool

import (
	"context"
	"sync"
	"time"
)

// Member is a connection. Close is called once, by whoever finds that the pool has no use for it.
type Member interface {
	// CheckIdle tells, without waiting, whether a connection that nobody used for a while is good.
	CheckIdle() error
	Close() error
}

// Options are how a pool works.
type Options[K comparable, M Member] struct {
	// Open connects. It runs in the goroutine of the one who asked, without a lock.
	Open func(ctx context.Context, key K) (M, error)
	// Full tells whether an error of Open means that the server takes no more connections now.
	// Nil is never.
	Full func(err error) bool
	// Movable tells, without waiting, whether a session can go on with a connection that another one
	// has had, and that one elsewhere. What is not movable is taken from its owner only if there is no
	// other way. Nil is always.
	Movable func(M) bool
	// Waits is called, if not nil, before Acquire keeps its caller waiting: for a turn, or while a connection is
	// opened.
	Waits func(owner any)
	// Now is the clock; nil is time.Now.
	Now func() time.Time
}

// Limits bound a pool. They may be changed at any time.
type Limits struct {
	Max     int           // connections, at least 1
	MaxIdle int           // of those that nobody uses, what Sweep leaves
	Idle    time.Duration // for how long Sweep leaves them; 0 is for ever
}

const (
	// stealAfter is how long a connection must be idle to be taken from its owner before one more is
	// opened: about as long as opening one takes.
	stealAfter = 10 * time.Millisecond
	// keepAfter is how long a connection that its owner wants to keep is not taken from it.
	keepAfter = time.Second
	// fullFor is how long a server that refused for being full is not asked again.
	fullFor = time.Second
	// spareFor is how long connections over MaxIdle are kept: a load that comes and goes in moments
	// would else open and close them all the time.
	spareFor = 2 * time.Second
	// maxOpening is how many are opened at a time.
	maxOpening = 16
	// looked is how many idle connections are compared to find one with the wanted tag.
	looked = 8
)

// Pool holds the connections to one server. All methods may be called by any number of goroutines.
type Pool[K comparable, M Member] struct {
	o Options[K, M]

	mu        sync.Mutex
	limits    Limits
	open      int // connections that exist or are being opened
	opening   int
	fullUntil time.Time
	idle      map[K]*idleList[K, M]
	idleCount int
	waiters   []*waiter[K, M]
	closed    bool
}

// Handle is a connection of a pool. Between Acquire and Release it belongs to one goroutine.
type Handle[K comparable, M Member] struct {
	Member M

	key        K
	owner      any
	tag        any
	keep       Keep
	since      time.Time
	idle       bool
	next, prev *Handle[K, M] // of its idle list, from the one used last to the one idle longest
}

// Key returns the kind of the connection.
func (h *Handle[K, M]) Key() K { return h.key }

// Keep says how much the owner of an idle connection needs it back.
type Keep uint8

// The degrees. Whatever the degree, Reclaim is the only promise.
const (
	// Free has no owner: the next one may have it.
	Free Keep = iota
	// Soft would be nice to have again: it is taken if it was idle for a while, or rather than
	// opening more than Limits.Max.
	Soft
	// Sticky has something that its owner may ask for, such as ROW_COUNT(): it is taken only if
	// there is no other way.
	Sticky
	// Firm has something that would be missed, such as warnings: as Sticky, and not in its first
	// second.
	Firm
)

// New returns a pool without connections.
func New[K comparable, M Member](o Options[K, M], l Limits) *Pool[K, M] {
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Pool[K, M]{o: o, limits: l, idle: map[K]*idleList[K, M]{}}
}

// SetLimits changes the limits. Connections that are too many are not cut: they are closed when they
// are released.
func (p *Pool[K, M]) SetLimits(l Limits) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.limits = l
	p.serve()
}

// Stats are the numbers of a pool at one moment.
type Stats struct{ Open, Idle, Waiting int }

// Stats returns the present numbers.
func (p *Pool[K, M]) Stats() Stats {
	p.mu.Lock()
	defer p.mu.Unlock()
	return Stats{Open: p.open, Idle: p.idleCount, Waiting: len(p.waiters)}
}

// Reclaim takes a connection back that the owner released, and returns false if somebody else has
// it, or it was closed. It allocates nothing.
func (p *Pool[K, M]) Reclaim(h *Handle[K, M], owner any) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !h.idle || h.owner != owner {
		return false
	}
	p.take(h)
	return true
}

// Acquire returns a connection of the kind, and whether it is one that has just been opened. tag is
// what Release was given: of several idle connections one with the same tag is preferred. The error
// is that of Options.Open, the cause of ctx, or ErrClosed.
func (p *Pool[K, M]) Acquire(ctx context.Context, key K, owner, tag any) (h *Handle[K, M], fresh bool, err error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, false, ErrClosed
	}
	for len(p.waiters) == 0 {
		h, open := p.find(key, tag)
		if h != nil {
			p.mu.Unlock()
			if h.Member.CheckIdle() == nil {
				h.owner = owner
				return h, false, nil
			}
			p.Discard(h)
			p.mu.Lock()
			continue
		}
		if !open {
			break
		}
		p.mu.Unlock()
		return p.connect(ctx, key, owner, true)
	}
	w := &waiter[K, M]{key: key, ready: make(chan turn[K, M], 1)}
	p.waiters = append(p.waiters, w)
	p.mu.Unlock()
	return p.wait(ctx, w, owner)
}

// waits tells the owner that it is going to wait.
func (p *Pool[K, M]) waits(owner any) {
	if p.o.Waits != nil {
		p.o.Waits(owner)
	}
}

// AcquireNew opens a connection that nobody has had before, in the place of an idle one if there is
// no room.
func (p *Pool[K, M]) AcquireNew(ctx context.Context, key K) (*Handle[K, M], error) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		return nil, ErrClosed
	}
	p.open++ // it may be one more than Limits.Max for a moment: the next Release sees to that
	p.opening++
	p.mu.Unlock()
	h, _, err := p.connect(ctx, key, nil, false)
	return h, err
}

// connect opens a connection, for which the caller has counted open and opening. waits is what is done
// when the server is full.
func (p *Pool[K, M]) connect(ctx context.Context, key K, owner any, waits bool) (*Handle[K, M], bool, error) {
	p.waits(owner)
	m, err := p.o.Open(ctx, key)
	p.mu.Lock()
	p.opening--
	if err != nil {
		p.open--
		if waits && p.o.Full != nil && p.o.Full(err) && p.open > 0 {
			p.fullUntil = p.o.Now().Add(fullFor)
			w := &waiter[K, M]{key: key, ready: make(chan turn[K, M], 1)}
			p.waiters = append(p.waiters, w)
			p.mu.Unlock()
			return p.wait(ctx, w, owner)
		}
		p.serve()
		p.mu.Unlock()
		return nil, false, err
	}
	if p.closed {
		p.open--
		p.mu.Unlock()
		_ = m.Close()
		return nil, false, ErrClosed
	}
	p.serve()
	p.mu.Unlock()
	return &Handle[K, M]{Member: m, key: key, owner: owner}, true, nil
}

// Release leaves a connection in the pool. A tag, and anything but Free, is for the owner of
// Acquire.
func (p *Pool[K, M]) Release(h *Handle[K, M], keep Keep, tag any, now time.Time) {
	p.mu.Lock()
	h.keep, h.tag, h.since = keep, tag, now
	if keep == Free {
		h.owner = nil
	}
	if p.closed || p.open > p.limits.Max {
		p.open--
		p.serve()
		p.mu.Unlock()
		_ = h.Member.Close()
		return
	}
	p.put(h)
	if len(p.waiters) > 0 {
		p.serve()
	}
	p.mu.Unlock()
}

// Discard closes a connection that nobody shall use again.
func (p *Pool[K, M]) Discard(h *Handle[K, M]) {
	p.mu.Lock()
	p.open--
	p.serve()
	p.mu.Unlock()
	_ = h.Member.Close()
}

// Forget closes the idle connections of the kinds that match and that nobody owns, for an account
// whose password is not true any more: who is in stays in.
func (p *Pool[K, M]) Forget(match func(K) bool) {
	p.closeIdle(func(h *Handle[K, M]) bool { return h.keep == Free && match(h.key) })
}

// Sweep closes idle connections that are too old or too many, and those that the server closed.
func (p *Pool[K, M]) Sweep() {
	now := p.o.Now()
	p.mu.Lock()
	over := p.idleCount - p.limits.MaxIdle
	age := p.limits.Idle
	p.mu.Unlock()
	p.closeIdle(func(h *Handle[K, M]) bool {
		idle := now.Sub(h.since)
		switch {
		case over > 0 && idle > spareFor && h.keep != Firm && p.movable(h):
			over--
			return true
		case age > 0 && idle > age:
			return true
		}
		return h.Member.CheckIdle() != nil
	})
}

// CloseIdle closes the idle connections on which nothing lives that their owners may ask for.
func (p *Pool[K, M]) CloseIdle() {
	p.closeIdle(func(h *Handle[K, M]) bool { return h.keep != Firm && p.movable(h) })
}

// Close closes all idle connections and makes Acquire fail. Those in use are closed when they are
// released.
func (p *Pool[K, M]) Close() {
	p.mu.Lock()
	p.closed = true
	waiters := p.waiters
	p.waiters = nil
	p.mu.Unlock()
	for _, w := range waiters {
		w.ready <- turn[K, M]{err: ErrClosed}
	}
	p.closeIdle(func(*Handle[K, M]) bool { return true })
}

func (p *Pool[K, M]) closeIdle(which func(*Handle[K, M]) bool) {
	var out []*Handle[K, M]
	p.mu.Lock()
	for _, l := range p.idle {
		for h := l.last; h != nil; {
			prev := h.prev
			if which(h) {
				p.take(h)
				p.open--
				out = append(out, h)
			}
			h = prev
		}
	}
	p.serve()
	p.mu.Unlock()
	for _, h := range out {
		_ = h.Member.Close()
	}
}
