package proxy

import (
	"sync/atomic"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/route"
)

// chosen is the one server that reads at weak run on, so that those through several proxies do not go back. The
// proxies do not talk to each other. Each chooses by the same rule from what it sees, and by the same times goes
// over to what it has chosen, so that none reads another server unless all of them know better.
//
// Let hold be a time in which every proxy notices what lasts as long. When the choice changes, by what one proxy
// sees at a moment, it goes on
//
//   - for one hold with the server of before, if that can be read and was not being left already, else with none;
//   - for another hold with the new server;
//   - and with that from then on.
//
// In both times each read is checked: it must see the primary's position, fetched after it has arrived, and that has
// all that anybody can have been shown. From then on the server must have such a position, fetched after both,
// and the reads are not checked.
//
// It holds because every other proxy notices the change within one hold of the first that does, so before that one
// reads the new server: who still reads the old server by then checks. And within two holds of the first, so
// before any reads the new server without checking, all of them have left the old one. A proxy that has not heard
// of a server for a hold reads nothing, and begins anew. What one proxy sees and another one does not, or what lasts
// for less than a hold, is not covered: see docs/consistency.md.
type chosen struct {
	hold    time.Duration
	now     atomic.Pointer[choosing]
	known   atomic.Pointer[time.Time] // no server was checked last before that
	changes atomic.Uint64
	// verdicts are what was known of each server last for certain; of who judges.
	verdicts map[int]verdict
}

// verdict is whether a server could be read at a moment.
type verdict struct {
	fit bool
	at  time.Time
}

// choosing is how the choice stands. It is immutable.
type choosing struct {
	target, from self      // from is the server of before; its index is -1 for none
	since        time.Time // when the target was chosen
	until        time.Time // for as long from may be read
	// needs is a position fetched since the target is not checked any more, as long as that is not known to have
	// it; proven says that it was fetched.
	needs  gtid.Value
	proven bool
}

// self is a server, by its index, in one life: a server that was started anew, or lost data, is another one.
type self struct {
	server int
	life   uint64
}

var nobody = self{server: -1}

// newChosen returns a choice of none.
func newChosen(hold time.Duration) *chosen {
	c := &chosen{hold: hold, verdicts: map[int]verdict{}}
	c.now.Store(&choosing{target: nobody, from: nobody})
	c.known.Store(new(time.Time))
	return c
}

// at returns the server that is read at a moment, and whether each read is to be checked.
func (g *choosing) at(now time.Time, hold time.Duration) (one self, checked bool) {
	switch age := now.Sub(g.since); {
	case age < hold && now.Before(g.until):
		return g.from, true
	case age < hold:
		return nobody, true
	case age < 2*hold:
		return g.target, true
	}
	return g.target, false
}

// leave returns the server that may be read on when another one is chosen, and until when. While a change has not
// ended that is no longer than for that change: others may have seen nothing of what came since.
func (g *choosing) leave(now time.Time, hold time.Duration) (from self, until time.Time) {
	reading, checked := g.at(now, hold)
	switch {
	case !checked:
		return reading, now.Add(hold)
	case reading == g.from:
		return reading, g.until
	}
	return nobody, time.Time{}
}

// next returns when what at returns changes by itself, the zero time for never.
func (g *choosing) next(now time.Time, hold time.Duration) time.Time {
	for _, at := range [...]time.Time{g.until, g.since.Add(hold), g.since.Add(2 * hold)} {
		if now.Before(at) {
			return at
		}
	}
	return time.Time{}
}

// stale tells whether the servers have not been looked at for so long that the others may have gone on without
// this proxy. Where the whole system slept, only the time of day has gone on.
func (c *chosen) stale(now time.Time) bool {
	known := *c.known.Load()
	return max(now.Sub(known), now.Round(0).Sub(known.Round(0))) > c.hold
}

// fits tells whether a server can be read, by what it answered when it was asked. One that did not answer the last
// check, or not say how late it is, is not read, but the choice does not change for that yet: others may have had
// a better answer, and do not read another server before a hold is over.
func (c *chosen) fits(server int, readable, vague bool, asked, now time.Time) bool {
	v := c.verdicts[server]
	switch {
	case !vague:
		v = verdict{readable, asked}
	case now.Sub(v.at) > c.hold:
		v.fit = false
	}
	c.verdicts[server] = v
	return v.fit
}

// judge takes in what the best server is now, as every server was checked at a moment, known, or later; fit tells
// whether one can be read. It tells whether the choice changed. It is called by one goroutine at a time.
func (c *chosen) judge(now, known time.Time, best self, fit func(self) bool) bool {
	if known.Before(*c.known.Load()) { // by the list of servers before
		known = *c.known.Load()
	}
	defer c.known.Store(&known)
	for {
		g, anew := c.now.Load(), c.stale(now)
		next := *g
		change := best != g.target
		switch {
		case anew:
			next = choosing{target: best, from: nobody, since: now}
		case change:
			next = choosing{target: best, since: now}
			if next.from, next.until = g.leave(now, c.hold); next.from != nobody && !fit(next.from) {
				next.from = nobody
			}
		case g.from != nobody && !fit(g.from):
			next.from = nobody
		default:
			return false
		}
		if c.now.CompareAndSwap(g, &next) {
			if change {
				c.changes.Add(1)
			}
			return change
		}
	}
}

// doubt has the position that the target needs be fetched again: it has what a failover has lost.
func (c *chosen) doubt() {
	for {
		g := c.now.Load()
		next := *g
		next.needs, next.proven = gtid.Value{}, false
		if !g.proven || c.now.CompareAndSwap(g, &next) {
			return
		}
	}
}

// learn takes in a position that was fetched for a choice when that was not checked any more.
func (c *chosen) learn(g *choosing, everything gtid.Value) {
	next := *g
	next.needs, next.proven = everything, true
	c.now.CompareAndSwap(g, &next)
}

// put writes the choice into a snapshot, and returns it. Nil chooses none: any server is read.
func (c *chosen) put(snap *route.Snapshot, now time.Time) *choosing {
	if snap.Choose = c != nil; !snap.Choose {
		return nil
	}
	g := c.now.Load()
	one, checked := g.at(now, c.hold)
	if c.stale(now) {
		one = nobody
	}
	snap.Chosen = route.Chosen{Server: one.server, Fetch: checked || !g.proven}
	if one == nobody || snap.Chosen.Fetch || g.needs.IsEmpty() {
		return g
	}
	if snap.Servers[one.server].Position.Has(g.needs) {
		next := *g
		next.needs = gtid.Value{}
		c.now.CompareAndSwap(g, &next)
		return &next
	}
	snap.Chosen.Needs = g.needs
	return g
}

// reads tells whether a server is the one that is read now.
func (c *chosen) reads(server int, now time.Time) bool {
	one, _ := c.now.Load().at(now, c.hold)
	return one.server == server && !c.stale(now)
}
