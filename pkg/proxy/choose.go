package proxy

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/status"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
	"github.com/mysqlrw/mysqlrw/route"
)

// self returns a server in its present life.
func (c *cluster) self(i int) self {
	if i < 0 {
		return nobody
	}
	return self{server: i, life: c.servers[i].life.Load()}
}

// checked is called after each check of a server. Until all that are there have been checked for the first time the
// cluster before knows better.
func (c *cluster) checked(p *Proxy) {
	if c.chosen != nil && c.present.Load() {
		now := p.now()
		c.judge(p, now)
		c.refresh(now)
	}
}

// doubt is called when the primary has lost what it had.
func (c *cluster) doubt() {
	if c.chosen != nil {
		c.chosen.doubt()
		c.reached.restart()
	}
}

// judge chooses among the servers by what the last check has left, as every proxy does that sees the same: of the
// replicas that can be read the one whose own identity is the first, and without any the primary.
func (c *cluster) judge(p *Proxy, now time.Time) {
	snap, cands := c.weakly(now)
	best, first, fits := -1, "", make([]bool, len(cands))
	for i := range cands {
		asked, silent := c.monitor.Silent(i)
		fits[i] = c.chosen.fits(i, i == snap.Primary() || readable(snap, cands[i]), silent || vague(cands[i].Why), asked, now)
		name, _ := c.monitor.Identity(i)
		if fits[i] && i != snap.Primary() && (best < 0 || name < first) {
			best, first = i, name
		}
	}
	if best < 0 && snap.Primary() >= 0 && fits[snap.Primary()] {
		best = snap.Primary()
	}
	fit := func(one self) bool { return one == c.self(one.server) && fits[one.server] }
	before := c.chosen.now.Load().target.server
	if !c.chosen.judge(now, c.monitor.Oldest(), c.self(best), fit) {
		return
	}
	name := func(i int) string {
		if i < 0 {
			return ""
		}
		return c.servers[i].Name
	}
	why := ""
	if before >= 0 && before != best && !fits[before] {
		why = cands[before].Why.String()
	}
	p.log.Info("reads at weak go over to another server", "old", name(before), "new", name(best), "why", why)
}

// vague tells whether a server only does not say what is known of it at other times: how late it is, or that it is a
// replica while it is being made something else.
func vague(why route.Exclusion) bool { return why == route.WhyLagUnknown || why == route.WhyUnproven }

// weakly returns the servers as they were measured, and what a read at weak would make of each if any might
// run it, wherever the proxy is.
func (c *cluster) weakly(now time.Time) (*route.Snapshot, []route.Candidate) {
	snap := new(route.Snapshot)
	c.monitor.Fill(snap, time.Time{})
	c.weigh(snap, now)
	policy := c.policy
	policy.Endpoint, policy.Zone = route.ReadWrite, ""
	return snap, route.Candidates(nil, snap, &policy, route.Query{Level: route.Weak})
}

// readable tells whether a server is a replica that a read at weak may run on.
func readable(snap *route.Snapshot, cand route.Candidate) bool {
	return snap.Servers[cand.Server].Role == route.Replica && cand.Why == route.WhyReadable
}

// succeed goes on with the choice of the list of servers before, as far as these are the same: its monitor has
// looked at them until now.
func (c *cluster) succeed(old *cluster, now time.Time) {
	if c.chosen == nil || old.chosen == nil {
		return
	}
	if slices.EqualFunc(c.servers, old.servers, func(a, b *server) bool { return a.Name == b.Name && a.Address == b.Address }) {
		c.reached.succeed(old.reached)
	}
	same := func(one self) self {
		if one == nobody || one != old.self(one.server) {
			return nobody
		}
		name, started := old.monitor.Identity(one.server)
		for i := range c.servers {
			again, at := c.monitor.Identity(i)
			if c.servers[i].Name == old.servers[one.server].Name && again == name && at.Sub(started).Abs() <= sameStart {
				return c.self(i)
			}
		}
		return nobody
	}
	c.chosen.known.Store(old.chosen.known.Load())
	before := *old.chosen.now.Load()
	c.chosen.changes.Add(old.chosen.changes.Load())
	next := before
	if next.target, next.from = same(before.target), same(before.from); next.target == nobody {
		next.from, next.until = before.leave(now, old.chosen.hold)
		next = choosing{target: nobody, from: same(next.from), until: next.until, since: now}
	}
	c.chosen.now.Store(&next) // what the new monitor makes of it, its next check tells
}

// sameStart is what two readings of when a server started may differ by.
const sameStart = 2 * time.Second

// awaitChoice waits until the server that reads at weak run on may have changed, or may be read again, as long as
// this statement may wait for a primary.
func (s *session) awaitChoice(req *request) bool {
	if !s.mayAwait(req) {
		return false
	}
	s.aside()
	now, until := s.p.now(), req.until
	if at := s.choice.next(now, s.cluster.chosen.hold); !at.IsZero() && at.Before(until) {
		until = at
	}
	ctx, cancel := context.WithTimeout(s.ctx, until.Sub(now))
	defer cancel()
	checks := 0
	_ = s.cluster.monitor.Wait(ctx, func(*route.Snapshot) bool { checks++; return checks > 1 })
	req.attempts, req.excluded = 0, 0
	req.current, req.late = nil, false // they were about the server of before
	return s.ctx.Err() == nil
}

// currentChosen returns where the primary stands, for a read at weak on the chosen server. Without a primary that is
// all that any server is known to have: what others may have been shown besides nobody can say.
func (s *session) currentChosen(since time.Time) (*standing, error) {
	g, hold := s.choice, s.cluster.chosen.hold
	if _, checked := g.at(s.p.now(), hold); !checked && !g.proven {
		if alone := g.since.Add(2 * hold); alone.After(since) { // it is for all reads from then on
			since = alone
		}
	}
	current, err := s.current(since)
	switch {
	case errors.Is(err, errNoPrimary) && !s.route.Unsettled():
		s.p.counts.unproven.Add(1)
		var all gtid.Value
		for i := range s.snap.Servers {
			if both, err := all.Union(s.snap.Servers[i].Position); err == nil {
				all = both
			}
		}
		return &standing{Standing: status.Standing{Executed: all, Everything: all}}, nil
	case err != nil:
		return nil, err
	}
	if !current.sent.Before(g.since.Add(2 * hold)) {
		s.cluster.chosen.learn(g, current.Everything)
	}
	return current, nil
}

// boundWait has a read wait on a server no longer than that is the chosen one for certain, and a bit.
func (s *session) boundWait(req *request, d *route.Decision) {
	if req.bounded = false; !d.Chosen || d.Wait <= 0 {
		return
	}
	now := s.p.now()
	at := s.choice.next(now, s.cluster.chosen.hold)
	if left := at.Sub(now) + time.Millisecond; !at.IsZero() && left < d.Wait-req.waited {
		d.Wait, req.bounded = left+req.waited, true
	}
}

// waitsAnew tells whether a read that waited on a server in vain is to be decided again, since reads at weak may run
// on another one now.
func (s *session) waitsAnew(req *request, d *route.Decision) bool {
	if !d.Chosen || !req.bounded && s.cluster.chosen.reads(d.Server, s.p.now()) || !s.mayAwait(req) {
		return false
	}
	req.attempts, req.current, req.joined = 0, nil, false
	return true
}

// mayAwait tells whether a statement may go on to wait for a server.
func (s *session) mayAwait(req *request) bool {
	if req.until.IsZero() {
		req.until = s.p.now().Add(s.p.conf.Load().PrimaryWait)
	}
	return s.ctx.Err() == nil && s.p.now().Before(req.until)
}

// behindChosen runs a read again that named what the chosen server did not have: it may have it with all that the
// primary has. On the primary, the read would show what others cannot see yet.
func (s *session) behindChosen(i int, req *request, out *outcome) (again bool, err error) {
	s.settle(i, req, out)
	req.moved = true
	if current, err := s.current(req.arrived); err == nil {
		req.current = current
	}
	return true, nil
}

// errMisled is why a server is read no further.
var errMisled = errors.New("the server that reads at weak run on has changed")

// follows notes which server a read must still be one of the chosen server when its answer begins: what it shows may
// be more than the next one has.
func (s *session) follows(req *request, d *route.Decision, out *outcome) {
	s.followed = 0
	if d.Chosen && req.repeatable() && req.command != wire.ComStmtPrepare && !out.begun {
		s.followed = d.Server + 1
	}
}

// misled tells whether the client, who has nothing of the answer yet, is to get that of another server.
func (s *session) misled(out *outcome) bool {
	return s.followed > 0 && !out.began && !s.cluster.chosen.reads(s.followed-1, s.p.now())
}

// leftMidway ends on the server what was misled when only a part of the answer was there.
func (s *session) leftMidway(l *link, out *outcome) {
	if errors.Is(out.broken, errMisled) {
		s.p.counts.misled.Add(1)
		s.p.abandon(l)
	}
}

// leaveChosen drops the whole answer of a read that was misled.
func (s *session) leaveChosen(i int, req *request, out *outcome) (again bool, err error) {
	s.repeats(i)
	s.p.counts.misled.Add(1)
	if out.status.Has(wire.CursorExists) {
		s.discard(i)
		return true, nil
	}
	s.settle(i, req, out)
	return true, nil
}
