package proxy

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/backend"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/netloop"
	"github.com/mysqlrw/mysqlrw/pkg/status"
	"github.com/mysqlrw/mysqlrw/pkg/tracker"
	"github.com/mysqlrw/mysqlrw/route"
)

// fetcher asks the primary where it stands, with one query at a time for all that need to know.
//
// A read must see what was committed before it arrived. So it may use the answer to a query that was
// sent after that, and no other: it joins the batch that is sent when the query in flight has
// returned, and never the one in flight. No goroutine belongs to the fetcher: one session of a batch asks
// for all of it, and is chosen by the one that lands before.
type fetcher struct {
	mu      sync.Mutex
	flying  *flight // the batch that is asked for
	waiting *flight // the one after, which may be joined
	// boarding: somebody is about to fly the one that waits.
	boarding bool
	last     *standing

	conn atomic.Pointer[backend.Conn] // to the primary; whoever flies uses it, and anybody may close it
	of   int                          // the server of conn
	rest atomic.Int64                 // until when none is opened, since one was refused; Unix nanoseconds
}

// flight is one batch.
type flight struct {
	signal netloop.Signal // it has landed, or somebody may fly it
	// What follows is under the fetcher's lock.
	free   bool // nobody flies it yet
	landed bool
	got    *standing
	err    error
}

// pilot is who asks, and waits as a task of the loops; nil is an ordinary goroutine.
type pilot interface {
	standing() (*standing, error)
	waits() *netloop.Task
}

// standing is where the primary stood. It is immutable.
type standing struct {
	status.Standing
	sent   time.Time // when it was asked
	source tracker.Source
}

// errNoPrimary is why nobody can be asked.
var errNoPrimary = errors.New("there is no primary")

// errNoGTIDs is why the primary's position is none: its GTIDs were switched off while it ran.
var errNoGTIDs = errors.New("gtid_mode is not ON, so its position proves nothing")

// errResting is why no connection is opened: the last one was refused a moment ago.
var errResting = errors.New("it was refused a moment ago")

// errNotAsked is why a question was not taken.
var errNotAsked = errors.New("its server is not watched, or has another question to answer")

// fetch returns where the primary stood at some moment after since.
func (f *fetcher) fetch(p pilot, since time.Time) (*standing, error) {
	f.mu.Lock()
	if f.last != nil && !f.last.sent.Before(since) {
		defer f.mu.Unlock()
		return f.last, nil
	}
	if f.waiting == nil {
		f.waiting = &flight{}
	}
	mine := f.waiting
	flies := f.flying == nil && !f.boarding
	f.boarding = f.boarding || flies
	for !flies && !mine.landed {
		f.mu.Unlock()
		mine.signal.Wait(p.waits())
		f.mu.Lock()
		flies, mine.free = mine.free, false
	}
	f.mu.Unlock()
	if flies {
		f.fly(mine, p)
	}
	return mine.got, mine.err
}

// fly asks for a batch, which all join for whom the loop has something until then, and has somebody of the next
// one ask.
func (f *fetcher) fly(mine *flight, p pilot) {
	p.waits().Later()
	f.mu.Lock()
	f.flying, f.waiting, f.boarding = mine, nil, false
	f.mu.Unlock()
	got, err := (*standing)(nil), errNotAsked
	defer func() {
		f.mu.Lock()
		mine.got, mine.err, mine.landed = got, err, true
		if err == nil {
			f.last = got
		}
		f.flying = nil
		next := f.waiting
		if next != nil {
			f.boarding, next.free = true, true
		}
		f.mu.Unlock()
		if next != nil {
			next.signal.Nudge(p.waits())
		}
		mine.signal.Happen(p.waits())
	}()
	got, err = p.standing()
}

// close ends the connection; the next flight opens another one.
func (f *fetcher) close() {
	if conn := f.conn.Swap(nil); conn != nil {
		_ = conn.Close()
	}
}

// yield gives the connection up for a moment: it failed, or its account may have no further one.
func (f *fetcher) yield(now time.Time) {
	f.rest.Store(now.Add(time.Second).UnixNano())
	f.close()
}

// current returns where the cluster's primary stood at some moment after since.
func (s *session) current(since time.Time) (*standing, error) {
	s.p.counts.fetchWanted.Add(1)
	return s.cluster.fetcher.fetch(s, since)
}

// waits is for the fetcher.
func (s *session) waits() *netloop.Task { return s.task }

// standing asks the primary of this moment: over the fetcher's own connection, for which any account will do,
// and where that fails over the monitor's.
func (s *session) standing() (*standing, error) {
	c := s.cluster
	i := c.monitor.Snapshot().Primary()
	if i < 0 {
		return nil, errNoPrimary
	}
	s.p.counts.fetched.Add(1)
	if !c.byLog {
		if got, err := s.askDirectly(i); err == nil {
			return c.judged(i, got, nil)
		}
	}
	s.aside()
	var got *standing
	ask := func(ctx context.Context, q status.Querier, server flavor.Server) error {
		epoch := c.monitor.Epoch(i)
		one := &standing{sent: s.p.now(), source: tracker.Source{Server: i, Epoch: uint64(epoch)}}
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
	asked := make(chan error, 1)
	if !c.monitor.Ask(i, ask, func(err error) { asked <- err }) {
		return nil, errNotAsked
	}
	err := <-asked
	return c.judged(i, got, err)
}

// askDirectly asks a server over the fetcher's connection, in the session's place on its loop.
func (s *session) askDirectly(i int) (*standing, error) {
	f := &s.cluster.fetcher
	ctx, cancel := context.WithTimeout(s.p.ctx, s.p.conf.Load().checkTimeout())
	defer cancel()
	conn := f.conn.Load()
	if conn == nil || f.of != i || conn.Err() != nil {
		if s.p.now().UnixNano() < f.rest.Load() {
			return nil, errResting
		}
		s.aside()
		f.close()
		o := s.cluster.servers[i].dialing.options(s.account)
		o.Loops = s.p.loops
		var err error
		if conn, err = backend.Dial(ctx, o); err != nil {
			f.yield(s.p.now())
			return nil, err
		}
		f.of = i
		f.conn.Store(conn)
	}
	conn.Attach(s.task)
	defer conn.Attach(nil)
	s.cluster.servers[i].station.tally.own[stepPosition].Add(1)
	epoch := s.cluster.monitor.Epoch(i)
	one := &standing{sent: s.p.now(), source: tracker.Source{Server: i, Epoch: uint64(epoch)}}
	flavored := conn.Server().Flavor
	r, err := conn.Query(ctx, status.StandingQuery(flavored))
	if err == nil {
		one.Standing, err = status.ReadStanding(flavored, r.Text)
	}
	if err != nil {
		s.aside()
		f.yield(s.p.now())
		return nil, err
	}
	if flavored == flavor.MySQL {
		s.cluster.monitor.Learn(i, epoch, one.Executed)
	}
	return one, nil
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
func (s *standing) put(snap *route.Snapshot) { snap.SetCurrent(s.Executed, s.Everything) }
