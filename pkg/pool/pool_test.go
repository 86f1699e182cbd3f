package pool_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/pool"
)

// fake is a connection that nobody made.
type fake struct {
	id     int64
	bad    atomic.Bool
	fixed  atomic.Bool // not movable
	closed atomic.Int32
	used   atomic.Int32
}

var errBad = errors.New("bad")

func (f *fake) CheckIdle() error {
	if f.bad.Load() {
		return errBad
	}
	return nil
}

func (f *fake) Close() error {
	f.closed.Add(1)
	return nil
}

// factory makes fakes.
type factory struct {
	made atomic.Int64
	err  atomic.Pointer[error]
	wait time.Duration
}

func (f *factory) open(ctx context.Context, _ string) (*fake, error) {
	select {
	case <-time.After(f.wait):
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
	if err := f.err.Load(); err != nil {
		return nil, *err
	}
	return &fake{id: f.made.Add(1)}, nil
}

var errFull = errors.New("full")

func newPool(f *factory, limit int) *pool.Pool[string, *fake] {
	return pool.New(pool.Options[string, *fake]{
		Open: f.open, Full: func(err error) bool { return errors.Is(err, errFull) },
		Movable: func(f *fake) bool { return !f.fixed.Load() },
	}, pool.Limits{Max: limit, MaxIdle: 2, Idle: time.Minute})
}

type handle = pool.Handle[string, *fake]

func acquire(t *testing.T, p *pool.Pool[string, *fake], key, owner string) *handle {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	h, _, err := p.Acquire(ctx, key, owner, nil)
	if err != nil {
		t.Fatalf("acquire for %s: %v", owner, err)
	}
	return h
}

// TestReclaim: an owner has its connection back as long as nobody took it.
func TestReclaim(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(&factory{}, 1)
		a := acquire(t, p, "k", "a")
		p.Release(a, pool.Soft, nil, time.Now())
		if p.Reclaim(a, "b") {
			t.Error("b got what is a's")
		}
		if !p.Reclaim(a, "a") || p.Reclaim(a, "a") {
			t.Error("a did not get its own once")
		}
		p.Release(a, pool.Soft, nil, time.Now())
		if b := acquire(t, p, "k", "b"); b != a {
			t.Error("b got another one although there may be only one")
		}
		if p.Reclaim(a, "a") {
			t.Error("a got back what b uses")
		}
	})
}

// TestWhichOne: what Acquire takes, in the order of what it costs the others.
func TestWhichOne(t *testing.T) {
	type left struct {
		keep pool.Keep
		idle time.Duration
	}
	for name, test := range map[string]struct {
		limit int
		left  []left
		want  int // index in left, -1 for a new one, -2 for a wait
	}{
		"nothing there":             {2, nil, -1},
		"free":                      {9, []left{{pool.Free, 0}}, 0},
		"free before soft":          {9, []left{{pool.Soft, time.Hour}, {pool.Free, 0}}, 1},
		"soft, idle for long":       {9, []left{{pool.Soft, time.Second}}, 0},
		"soft, just left":           {9, []left{{pool.Soft, 0}}, -1},
		"soft, no room":             {1, []left{{pool.Soft, 0}}, 0},
		"longest idle":              {2, []left{{pool.Soft, 2 * time.Second}, {pool.Soft, time.Second}}, 0},
		"sticky though idle":        {9, []left{{pool.Sticky, time.Hour}}, -1},
		"soft before sticky":        {2, []left{{pool.Sticky, time.Hour}, {pool.Soft, 0}}, 1},
		"sticky, no room":           {1, []left{{pool.Sticky, 0}}, 0},
		"firm in its first second":  {1, []left{{pool.Firm, 0}}, -2},
		"firm later":                {1, []left{{pool.Firm, 2 * time.Second}}, 0},
		"sticky before firm":        {2, []left{{pool.Firm, time.Hour}, {pool.Sticky, 0}}, 1},
		"firm for long, other room": {2, []left{{pool.Firm, time.Hour}}, -1},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				p := newPool(&factory{}, test.limit)
				var handles []*handle
				for range test.left {
					handles = append(handles, acquire(t, p, "k", "owner"))
				}
				for i, l := range test.left {
					p.Release(handles[i], l.keep, nil, time.Now().Add(-l.idle))
				}
				ctx, cancel := context.WithTimeout(t.Context(), 10*time.Millisecond)
				defer cancel()
				h, fresh, err := p.Acquire(ctx, "k", "other", nil)
				got := -1
				for i := range handles {
					if h == handles[i] {
						got = i
					}
				}
				switch {
				case err != nil:
					got = -2
				case fresh != (got == -1):
					t.Errorf("fresh is %v for %d", fresh, got)
				}
				if got != test.want {
					t.Errorf("got %d (%v), want %d", got, err, test.want)
				}
			})
		})
	}
}

// TestTag: of several free connections the one with the wanted tag is taken.
func TestTag(t *testing.T) {
	p := newPool(&factory{}, 9)
	a, b := acquire(t, p, "k", "x"), acquire(t, p, "k", "x")
	p.Release(a, pool.Free, "A", time.Now())
	p.Release(b, pool.Free, "B", time.Now())
	if h, _, _ := p.Acquire(t.Context(), "k", "y", "A"); h != a {
		t.Error("took the other one")
	}
}

// TestQueue: who waits is served in order, by a connection that is left, one that is closed, or room
// for another kind.
func TestQueue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(&factory{}, 1)
		h := acquire(t, p, "k", "first")
		order := make(chan string, 4)
		for _, who := range []string{"a", "b", "c", "other"} {
			key := "k"
			if who == "other" {
				key = "another kind"
			}
			go func() {
				h := acquire(t, p, key, who)
				order <- who
				if who == "b" {
					p.Discard(h)
					return
				}
				p.Release(h, pool.Free, nil, time.Now())
			}()
			synctest.Wait()
		}
		if s := p.Stats(); s.Waiting != 4 || s.Open != 1 {
			t.Errorf("%+v", s)
		}
		p.Release(h, pool.Soft, nil, time.Now())
		for _, want := range []string{"a", "b", "c", "other"} {
			if got := <-order; got != want {
				t.Errorf("%s came, want %s", got, want)
			}
		}
		synctest.Wait()
		if s := p.Stats(); s.Open != 1 || s.Idle != 1 || s.Waiting != 0 {
			t.Errorf("at the end %+v", s)
		}
	})
}

// TestGiveUp: who gives up waiting loses nothing for the others.
func TestGiveUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(&factory{}, 1)
		h := acquire(t, p, "k", "first")
		cause := errors.New("client is gone")
		ctx, cancel := context.WithCancelCause(t.Context())
		done := make(chan error)
		go func() {
			_, _, err := p.Acquire(ctx, "k", "impatient", nil)
			done <- err
		}()
		synctest.Wait()
		cancel(cause)
		if err := <-done; !errors.Is(err, cause) {
			t.Errorf("got %v", err)
		}
		p.Release(h, pool.Free, nil, time.Now())
		acquire(t, p, "k", "patient")
	})
}

// TestFull: a server that takes no more counts as full for a while; those who came too late wait for
// the connections that there are.
func TestFull(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		f := &factory{}
		p := newPool(f, 9)
		h := acquire(t, p, "k", "first")
		f.err.Store(&errFull)
		got := make(chan *handle)
		go func() { got <- acquire(t, p, "k", "second") }()
		synctest.Wait()
		p.Release(h, pool.Free, nil, time.Now())
		if second := <-got; second != h {
			t.Error("got another one")
		}
		f.err.Store(nil)
		time.Sleep(2 * time.Second)
		acquire(t, p, "k", "third")
	})
}

// TestOpenFails: the error is the caller's, and the place is free again.
func TestOpenFails(t *testing.T) {
	f := &factory{}
	f.err.Store(&errBad)
	p := newPool(f, 1)
	for range 3 {
		if _, _, err := p.Acquire(t.Context(), "k", "x", nil); !errors.Is(err, errBad) {
			t.Errorf("got %v", err)
		}
	}
	f.err.Store(nil)
	acquire(t, p, "k", "x")
}

// TestSweep: what is too old, too many or broken is closed.
func TestSweep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(&factory{}, 9)
		var all []*handle
		for range 5 {
			all = append(all, acquire(t, p, "k", "x"))
		}
		for _, h := range all {
			p.Release(h, pool.Soft, nil, time.Now())
		}
		all[4].Member.bad.Store(true)
		p.Sweep()
		if n := p.Stats().Open; n != 4 {
			t.Errorf("%d are open, want 4: only one is broken", n)
		}
		time.Sleep(5 * time.Second)
		p.Sweep()
		if n := p.Stats().Open; n != 2 {
			t.Errorf("%d are open, want 2, which may be idle", n)
		}
		time.Sleep(time.Hour)
		p.Sweep()
		if n := p.Stats().Open; n != 0 {
			t.Errorf("%d are open after an hour", n)
		}
		for i, h := range all {
			if n := h.Member.closed.Load(); n != 1 {
				t.Errorf("%d was closed %d times", i, n)
			}
		}
	})
}

// TestMovable: what its owner would not find elsewhere is taken only if there is no other way.
func TestMovable(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(&factory{}, 2)
		a := acquire(t, p, "k", "a")
		a.Member.fixed.Store(true)
		p.Release(a, pool.Soft, nil, time.Now())
		time.Sleep(time.Second)
		b := acquire(t, p, "k", "b")
		if b == a {
			t.Fatal("b got what is not movable, though there was room")
		}
		p.SetLimits(pool.Limits{Max: 2})
		time.Sleep(time.Minute)
		p.Sweep()
		p.Forget(func(string) bool { return true })
		if !p.Reclaim(a, "a") {
			t.Fatal("a did not get its own back")
		}
		p.Release(a, pool.Soft, nil, time.Now())
		if c := acquire(t, p, "k", "c"); c != a {
			t.Error("c waits, or got another one although there may be only two")
		}
	})
}

// TestForgetAndClose: connections of a kind go, then all, and a waiter is told.
func TestForgetAndClose(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(&factory{}, 2)
		a, b := acquire(t, p, "a", "x"), acquire(t, p, "b", "x")
		p.Release(a, pool.Free, nil, time.Now())
		p.Forget(func(k string) bool { return k == "a" })
		if a.Member.closed.Load() != 1 || p.Stats().Open != 1 {
			t.Errorf("a was not forgotten: %+v", p.Stats())
		}
		acquire(t, p, "a", "y")
		done := make(chan error)
		go func() {
			_, _, err := p.Acquire(t.Context(), "a", "z", nil)
			done <- err
		}()
		synctest.Wait()
		p.Close()
		if err := <-done; !errors.Is(err, pool.ErrClosed) {
			t.Errorf("got %v", err)
		}
		p.Release(b, pool.Soft, nil, time.Now())
		if b.Member.closed.Load() != 1 {
			t.Error("a connection outlived the pool")
		}
		if _, _, err := p.Acquire(t.Context(), "a", "z", nil); !errors.Is(err, pool.ErrClosed) {
			t.Errorf("got %v", err)
		}
	})
}

// TestMany: however many use it, no connection has two users, and there are never more than allowed.
func TestMany(t *testing.T) {
	const limit, users = 4, 32
	f := &factory{}
	p := newPool(f, limit)
	var wait sync.WaitGroup
	for u := range users {
		wait.Go(func() {
			r := rand.New(rand.NewPCG(2, uint64(u)))
			key := []string{"a", "b"}[u%2]
			var h *handle
			for range 500 {
				if h == nil || !p.Reclaim(h, u) {
					var err error
					if h, _, err = p.Acquire(t.Context(), key, u, nil); err != nil {
						t.Error(err)
						return
					}
				}
				if h.Member.used.Add(1) != 1 || h.Key() != key || h.Member.closed.Load() != 0 {
					t.Error("two users of one connection, or of another kind, or closed")
				}
				h.Member.bad.Store(r.IntN(50) == 0)
				h.Member.used.Add(-1)
				switch r.IntN(20) {
				case 0:
					p.Discard(h)
					h = nil
				case 1:
					p.Release(h, pool.Free, nil, time.Now())
					h = nil
				default:
					p.Release(h, []pool.Keep{pool.Soft, pool.Sticky}[r.IntN(2)], nil, time.Now())
				}
				if s := p.Stats(); s.Open > limit {
					t.Errorf("%d connections", s.Open)
				}
			}
			if h != nil && p.Reclaim(h, u) {
				p.Discard(h)
			}
		})
	}
	wait.Wait()
}

func BenchmarkReclaim(b *testing.B) {
	p := newPool(&factory{}, 1)
	h, _, _ := p.Acquire(b.Context(), "k", "x", nil)
	now := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		p.Release(h, pool.Soft, nil, now)
		p.Reclaim(h, "x")
	}
}

// TestOtherKind: what a client keeps firmly does not keep clients of another kind out for ever.
func TestOtherKind(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPool(&factory{}, 1)
		h := acquire(t, p, "a", "x")
		p.Release(h, pool.Firm, nil, time.Now())
		done := make(chan *handle)
		go func() { done <- acquire(t, p, "b", "y") }()
		synctest.Wait()
		time.Sleep(2 * time.Second)
		p.Sweep()
		if got := <-done; got == h || h.Member.closed.Load() != 1 {
			t.Error("the place was not given")
		}
	})
}
