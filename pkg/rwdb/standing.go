package rwdb

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/status"
	"github.com/mysqlrw/mysqlrw/pkg/topology"
)

// standing is where the primary stood. It is immutable.
type standing struct {
	status.Standing
	sent time.Time // when it was asked
}

// fetcher asks the primary where it stands, with one question at a time for all that need to know. A read may use
// the answer to a question that was put after the read arrived, and no other: it joins the batch that follows the
// one under way. The goroutine that watches the primary asks, so that none belongs to the fetcher.
type fetcher struct {
	mu      sync.Mutex
	flying  bool
	waiting *batch // the next one, which may be joined
	last    *standing
}

// batch is one question. What it holds is written before landed is closed.
type batch struct {
	landed chan struct{}
	got    *standing
	err    error
}

var (
	errNoPrimary = errors.New("there is no primary")
	errNoGTIDs   = errors.New("gtid_mode is not ON, so its position proves nothing: set gtid_mode = ON, or use level eventual or strong")
	errNotAsked  = errors.New("it has another question to answer")
)

// current returns where the primary stood at some moment after since.
func (c *Connector) current(ctx context.Context, since time.Time) (*standing, error) {
	f := &c.fetcher
	f.mu.Lock()
	if f.last != nil && !f.last.sent.Before(since) {
		defer f.mu.Unlock()
		return f.last, nil
	}
	if f.waiting == nil {
		f.waiting = &batch{landed: make(chan struct{})}
	}
	mine := f.waiting
	if !f.flying {
		f.flying = true
		f.waiting = nil
		f.mu.Unlock()
		c.ask(mine)
	} else {
		f.mu.Unlock()
	}
	select {
	case <-mine.landed:
		return mine.got, mine.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// ask puts the question of a batch to the primary of this moment, and then that of the next one.
func (c *Connector) ask(b *batch) {
	i := c.monitor.Snapshot().Primary()
	if i < 0 {
		c.land(b, nil, errNoPrimary)
		return
	}
	c.counts.fetches.Add(1)
	var got *standing
	ask := func(ctx context.Context, q status.Querier, server flavor.Server) (err error) {
		epoch := c.monitor.Epoch(i)
		one := &standing{sent: time.Now()}
		if one.Standing, err = status.AskStanding(ctx, q, server.Flavor); err == nil && server.Flavor == flavor.MySQL {
			c.monitor.Learn(i, epoch, one.Executed)
		}
		got = one
		return err
	}
	done := func(err error) {
		switch {
		case err != nil:
			c.monitor.Recheck(i)
			err = fmt.Errorf("server %s: %w", c.servers[i].Name, err)
		case got.NoGTIDs:
			err = fmt.Errorf("server %s: %w", c.servers[i].Name, errNoGTIDs)
		case got.ReadOnly && c.servers[i].Role == topology.Auto:
			c.monitor.Recheck(i)
			err = errNoPrimary
		}
		c.land(b, got, err)
	}
	if !c.monitor.Ask(i, ask, done) {
		c.land(b, nil, fmt.Errorf("server %s: %w", c.servers[i].Name, errNotAsked))
	}
}

// land ends a batch and has the next one asked for.
func (c *Connector) land(b *batch, got *standing, err error) {
	f := &c.fetcher
	b.got, b.err = got, err
	f.mu.Lock()
	if err == nil {
		f.last = got
	}
	next := f.waiting
	f.waiting, f.flying = nil, next != nil
	f.mu.Unlock()
	close(b.landed)
	if next != nil {
		c.ask(next)
	}
}
