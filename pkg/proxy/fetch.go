package proxy

import (
	"context"
	"database/sql"
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
// returned, and never the one in flight. No goroutine belongs to the fetcher: one of those who wait
// for a batch asks.
type fetcher struct {
	mu      sync.Mutex
	flying  *flight // the batch that is asked for
	waiting *flight // the one after
	last    *standing

	conns []asker // by server; used by whoever has flying
}

// flight is one batch.
type flight struct {
	lead    chan struct{} // holds something when one of its members is to ask
	done    chan struct{}
	members int // who wait for it; guarded by fetcher.mu
	got     *standing
	err     error
}

// standing is where the primary stood. It is immutable.
type standing struct {
	status.Standing
	server int       // the primary
	sent   time.Time // when it was asked
}

// asker is a connection that is kept for asking one server.
type asker struct {
	db   *sql.DB
	conn *sql.Conn
}

// errNoPrimary is why nobody can be asked.
var errNoPrimary = errors.New("there is no primary")

// fetch returns where the primary stood at some moment after since. ask is called by one of the
// sessions that wait, for all of them.
func (f *fetcher) fetch(ctx context.Context, since time.Time, ask func() (*standing, error)) (*standing, error) {
	f.mu.Lock()
	if f.last != nil && !f.last.sent.Before(since) {
		defer f.mu.Unlock()
		return f.last, nil
	}
	if f.waiting == nil {
		f.waiting = &flight{lead: make(chan struct{}, 1), done: make(chan struct{})}
	}
	mine := f.waiting
	mine.members++
	if f.flying == nil {
		f.take()
	}
	f.mu.Unlock()
	select {
	case <-mine.done:
		return mine.got, mine.err
	case <-ctx.Done():
		f.abandon(mine)
		return nil, context.Cause(ctx)
	case <-mine.lead:
	}
	got, err := ask()
	f.mu.Lock()
	mine.got, mine.err = got, err
	if err == nil {
		f.last = got
	}
	f.take()
	f.mu.Unlock()
	close(mine.done)
	return got, err
}

// take makes the waiting batch the one that is asked for. It is called with mu held.
func (f *fetcher) take() {
	f.flying, f.waiting = f.waiting, nil
	if f.flying != nil {
		f.flying.lead <- struct{}{}
	}
}

// abandon is for a session that waits no longer. If it was to ask, another one does.
func (f *fetcher) abandon(mine *flight) {
	f.mu.Lock()
	defer f.mu.Unlock()
	mine.members--
	switch {
	case mine.members > 0:
	case mine == f.waiting:
		f.waiting = nil
	case mine == f.flying && len(mine.lead) > 0: // nobody is there who could ask
		f.take()
	}
}

// current returns where the cluster's primary stood at some moment after since.
func (c *cluster) current(ctx context.Context, p *Proxy, since time.Time) (*standing, error) {
	p.counts.fetchWanted.Add(1)
	return c.fetcher.fetch(ctx, since, func() (*standing, error) { return c.askPrimary(p) })
}

// askPrimary asks the primary of this moment.
func (c *cluster) askPrimary(p *Proxy) (*standing, error) {
	i := c.monitor.Snapshot().Primary()
	if i < 0 {
		return nil, errNoPrimary
	}
	p.counts.fetched.Add(1)
	ctx, cancel := context.WithTimeout(p.ctx, p.conf.Load().checkTimeout())
	defer cancel()
	got := &standing{server: i, sent: p.now()}
	epoch := c.monitor.Epoch(i)
	f := c.monitor.Server(i).Flavor
	a := &c.fetcher.conns[i]
	kept := a.conn != nil
	question := func(q status.Querier) (status.Standing, error) { return c.standing(ctx, q, f) }
	err := a.ask(ctx, c.servers[i].Monitor, question, &got.Standing)
	if err != nil && kept && ctx.Err() == nil { // it may have been closed since
		got.sent = p.now()
		err = a.ask(ctx, c.servers[i].Monitor, question, &got.Standing)
	}
	switch {
	case err != nil:
		c.monitor.Recheck(i)
		return nil, fmt.Errorf("server %s: %w", c.servers[i].Name, err)
	case got.NoGTIDs:
		return nil, fmt.Errorf("server %s: gtid_mode is not ON, so its position proves nothing", c.servers[i].Name)
	case got.ReadOnly && c.canChange(i):
		c.monitor.Recheck(i)
		return nil, errNoPrimary
	}
	if f == flavor.MySQL {
		c.monitor.Learn(i, epoch, got.Executed)
	}
	return got, nil
}

// standing asks a primary where it stands, by what positions are compared by.
func (c *cluster) standing(ctx context.Context, q status.Querier, f flavor.Flavor) (status.Standing, error) {
	if c.byLog && f == flavor.MySQL {
		return status.AskLogStanding(ctx, q)
	}
	return status.AskStanding(ctx, q, f)
}

// ask asks over the connection that is kept, and keeps none that failed.
func (a *asker) ask(ctx context.Context, open func() (*sql.DB, error), question func(status.Querier) (status.Standing, error),
	to *status.Standing,
) (err error) {
	if a.db == nil {
		if a.db, err = open(); err != nil {
			return err
		}
	}
	if a.conn == nil {
		if a.conn, err = a.db.Conn(ctx); err != nil {
			return err
		}
	}
	if *to, err = question(a.conn); err != nil {
		a.close()
	}
	return err
}

// close gives the connection up, if there is one.
func (a *asker) close() {
	if a.conn != nil {
		_ = a.conn.Close()
	}
	if a.db != nil {
		_ = a.db.Close()
	}
	a.db, a.conn = nil, nil
}

// close closes the connections, when nobody asks any more.
func (f *fetcher) close() {
	for i := range f.conns {
		f.conns[i].close()
	}
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
