package proxy

import (
	"sync"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/route"
)

// company is those who wait on one server for a position. A server wakes all that wait there at every
// transaction that it applies, so what costs it is their number: only one of those who need the same
// asks it, in front of its own read. The others wait here, and read when that one knows.
//
// A wait in vain is a sign that the next ones will be. As long as the server is not known to have what was waited
// for, only one read at a time tries again, and those that may run on the primary do so at once.
type company struct {
	mu     sync.Mutex
	guides []*guide
	missed gtid.Value // what was waited for in vain; empty if that is history
	trying *guide     // the one that tries again
}

// guide is a wait that a server was, or is about to be, asked for.
type guide struct {
	require gtid.Value
	done    chan struct{} // closed when it has ended, whichever way
}

// join returns a wait for all of a position that somebody else has begun, or begins one. leave must follow
// then.
func (c *company) join(require gtid.Value, alone bool) (one *guide, mine bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, g := range c.guides {
		if !alone && g.require.Has(require) {
			return g, false
		}
	}
	one = &guide{require: require, done: make(chan struct{})}
	c.guides = append(c.guides, one)
	if !c.missed.IsEmpty() && c.trying == nil {
		c.trying = one
	}
	return one, true
}

// inVain tells whether a wait for all of a position is not worth its time, the server being known to have another one.
func (c *company) inVain(require, known gtid.Value) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.missed.IsEmpty() {
		return false
	}
	if has, err := known.Contains(c.missed); has || err != nil {
		c.missed = gtid.Value{}
		return false
	}
	return c.trying != nil && require.Has(c.missed)
}

// miss notes a wait in vain. The least that was missed is kept.
func (c *company) miss(one *guide) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.missed.IsEmpty() || c.missed.Has(one.require) {
		c.missed = one.require
	}
}

// leave ends a wait that join began, whatever came of it.
func (c *company) leave(one *guide) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.trying == one {
		c.trying = nil
	}
	for i, g := range c.guides {
		if g == one {
			c.guides[i] = c.guides[len(c.guides)-1]
			c.guides = c.guides[:len(c.guides)-1]
			close(one.done)
			return
		}
	}
}

// accompanied tries a statement. A read that needs a position which somebody waits for on the same server waits
// with that one first, once, and is decided anew then; else it waits by itself, and others may join it.
func (s *session) accompanied(req *request, d *route.Decision) (again bool, err error) {
	if d.Wait <= 0 {
		return s.allowed(req, d)
	}
	left := d.Wait - req.waited
	if left <= 0 {
		s.p.counts.late.Add(1)
		return s.afterWait(req, d)
	}
	c := &s.cluster.servers[d.Server].company
	if d.Fallback == route.ToPrimary && c.inVain(d.Require, s.snap.Servers[d.Server].Position) {
		s.p.counts.skipped.Add(1)
		return s.afterWait(req, d)
	}
	one, mine := c.join(d.Require, req.joined)
	if mine {
		d.Wait, s.guiding = left, one
		defer s.arrive(c)
		return s.allowed(req, d)
	}
	req.joined = true
	s.p.counts.joined.Add(1)
	began := s.p.now()
	s.await(one, left)
	req.waited += s.p.now().Sub(began)
	return true, nil
}

// await returns when a wait has ended, or the time is over.
func (s *session) await(one *guide, left time.Duration) {
	if s.timer == nil {
		s.timer = time.NewTimer(left)
	} else {
		s.timer.Reset(left)
	}
	defer s.timer.Stop()
	s.aside()
	select {
	case <-one.done:
	case <-s.timer.C:
	case <-s.ctx.Done():
	}
}

// arrive lets those go on who wait with this session, if any do.
func (s *session) arrive(c *company) {
	if s.guiding != nil {
		c.leave(s.guiding)
		s.guiding = nil
	}
}
