package proxy

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/status"
	"github.com/mysqlrw/mysqlrw/route"
)

// fetcher asks the primary where it stands, with one query at a time for all that need to know.
//
// A read must see what was committed before it arrived. So it may use the answer to a query that was
// sent after that, and no other: it joins the batch that is sent when the query in flight has
// returned, and never the one in flight. No goroutine belongs to the fetcher: whoever has an answer sends
// the next query.
type fetcher struct {
	// ask asks, and tells done later; or returns why it cannot.
	ask func(done func(*standing, error)) error

	mu      sync.Mutex
	flying  *flight // the batch that is asked for
	waiting *flight // the one after
	last    *standing
}

// flight is one batch.
type flight struct {
	done chan struct{}
	got  *standing
	err  error
}

// standing is where the primary stood. It is immutable.
type standing struct {
	status.Standing
	sent time.Time // when it was asked
}

// errNoPrimary is why nobody can be asked.
var errNoPrimary = errors.New("there is no primary")

// errNoGTIDs is why the primary's position is none: its GTIDs were switched off while it ran.
var errNoGTIDs = errors.New("gtid_mode is not ON, so its position proves nothing")

// errNotAsked is why a question was not taken.
var errNotAsked = errors.New("its server is not watched, or has another question to answer")

// fetch returns where the primary stood at some moment after since.
func (f *fetcher) fetch(ctx context.Context, since time.Time) (*standing, error) {
	f.mu.Lock()
	if f.last != nil && !f.last.sent.Before(since) {
		defer f.mu.Unlock()
		return f.last, nil
	}
	if f.waiting == nil {
		f.waiting = &flight{done: make(chan struct{})}
	}
	mine := f.waiting
	next := f.take()
	f.mu.Unlock()
	f.send(next)
	select {
	case <-mine.done:
		return mine.got, mine.err
	case <-ctx.Done():
		return nil, context.Cause(ctx)
	}
}

// take makes the waiting batch the one that is asked for, unless one is. It is called with mu held.
func (f *fetcher) take() *flight {
	if f.flying != nil {
		return nil
	}
	f.flying, f.waiting = f.waiting, nil
	return f.flying
}

// send asks for a batch, if there is one, and for those after it that nobody can be asked for.
func (f *fetcher) send(one *flight) {
	for one != nil {
		asked := one
		err := f.ask(func(got *standing, err error) { f.send(f.landed(asked, got, err)) })
		if err == nil {
			return
		}
		one = f.landed(one, nil, err)
	}
}

// landed tells a batch its answer, and returns the next one.
func (f *fetcher) landed(one *flight, got *standing, err error) (next *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	one.got, one.err = got, err
	if err == nil {
		f.last = got
	}
	f.flying = nil
	close(one.done)
	return f.take()
}

// current returns where the cluster's primary stood at some moment after since.
func (s *session) current(since time.Time) (*standing, error) {
	s.p.counts.fetchWanted.Add(1)
	s.aside()
	return s.cluster.fetcher.fetch(s.ctx, since)
}

// askPrimary asks the primary of this moment.
func (c *cluster) askPrimary(p *Proxy, done func(*standing, error)) error {
	i := c.monitor.Snapshot().Primary()
	if i < 0 {
		return errNoPrimary
	}
	p.counts.fetched.Add(1)
	var got *standing
	ask := func(ctx context.Context, q status.Querier, server flavor.Server) error {
		one := &standing{sent: p.now()}
		epoch := c.monitor.Epoch(i)
		var err error
		if c.byLog && server.Flavor == flavor.MySQL {
			one.Standing, err = status.AskLogStanding(ctx, q)
		} else {
			one.Standing, err = status.AskStanding(ctx, q, server.Flavor)
		}
		if err == nil && server.Flavor == flavor.MySQL {
			c.monitor.Learn(i, epoch, one.Executed)
		}
		got = one
		return err
	}
	if c.monitor.Ask(i, ask, func(err error) { done(c.judged(i, got, err)) }) {
		return nil
	}
	return errNotAsked
}

// judged is what to make of an answer of the primary.
func (c *cluster) judged(i int, got *standing, err error) (*standing, error) {
	switch {
	case err != nil:
		c.monitor.Recheck(i)
		return nil, fmt.Errorf("server %s: %w", c.servers[i].Name, err)
	case got.NoGTIDs:
		return nil, fmt.Errorf("server %s: %w", c.servers[i].Name, errNoGTIDs)
	case got.ReadOnly && c.canChange(i):
		c.monitor.Recheck(i)
		return nil, errNoPrimary
	}
	return got, nil
}

// put gives a snapshot what was fetched.
func (s *standing) put(snap *route.Snapshot) {
	snap.Current, snap.CurrentKnown = s.Everything, true
	pending, err := s.Executed.Missing(s.Everything)
	if err != nil || pending.IsEmpty() {
		return
	}
	if set, ok := pending.Set(); !ok || set.IsEmpty() {
		return // MariaDB does not tell what it is committing
	}
	for i := range snap.Servers {
		if snap.Servers[i].Role != route.Replica {
			continue
		}
		there, err := snap.Servers[i].Position.Intersect(pending)
		if err != nil {
			continue
		}
		if all, err := snap.Ahead.Union(there); err == nil {
			snap.Ahead = all
		}
	}
}
