package proxy

import (
	"sync/atomic"

	"github.com/mysqlrw/mysqlrw/pkg/tracker"
	"github.com/mysqlrw/mysqlrw/route"
)

// counts are what the proxy has done since it started: enough to explain every read that ran on the
// primary.
type counts struct {
	reads [len(levels)][2]atomic.Uint64 // by level, and by role of the server
	// fallBacks are reads that ran on the primary because no replica could have them, by the reason
	// that decided.
	fallBacks [256]atomic.Uint64
	waits     atomic.Uint64 // pipelined with their read
	late      atomic.Uint64 // of these, those in which the position was not reached
	joined    atomic.Uint64 // reads that waited with the wait of another one
	skipped   atomic.Uint64 // reads that did not wait, since the one before had waited in vain
	timeouts  atomic.Uint64 // reads that got the error for that
	limited   atomic.Uint64 // reads that got it because too many ran on the primary
	// fetchWanted are the reads that needed the primary's position, fetched the queries for it.
	fetchWanted atomic.Uint64
	fetched     atomic.Uint64
	moved       atomic.Uint64 // reads that needed it because their session's server could not be read any more
	lostWrites  atomic.Uint64 // sessions that had seen what no server has any more
	misled      atomic.Uint64 // reads at weak that ran again, since the server that these run on had changed
	unproven    atomic.Uint64 // reads at weak that ran after such a change without a primary that could be asked

	// narrowed are reads that would have waited for changes of tables that they do not name, by why they did or not.
	narrowed [tracker.Whys]atomic.Uint64

	primaryReads atomic.Int64 // fall-backs that run now
}

// levels are those that reads are counted by.
var levels = [...]route.Level{route.Eventual, route.Weak, route.SessionLevel, route.Global, route.SCC, route.Strong}

// read counts a read that ran.
func (c *counts) read(d *route.Decision, role route.Role) {
	if int(d.Level) < len(c.reads) {
		c.reads[d.Level][role&1].Add(1)
	}
}

// Counter is something that is counted since the start.
type Counter struct {
	Name  string // as SHOW MYSQLRW STATUS has it
	Value uint64
}

// Counters returns what SHOW MYSQLRW STATUS shows. Reasons that never came up are left out.
func (p *Proxy) Counters() []Counter {
	all := p.counts.list()
	if t := p.cluster.Load().tracker; t != nil {
		is := t.State()
		all = append(all, Counter{"tracker-transactions", is.Transactions}, Counter{"tracker-schemas", is.Schemas})
	}
	return all
}

func (c *counts) list() []Counter {
	var all []Counter
	add := func(name string, n uint64) { all = append(all, Counter{name, n}) }
	for _, l := range levels {
		for _, role := range []route.Role{route.Replica, route.Primary} {
			add("reads-"+l.String()+"-"+role.String(), c.reads[l][role].Load())
		}
	}
	for _, r := range route.AllReasons() {
		if n := c.fallBacks[r].Load(); n > 0 {
			add("fall-backs-"+r.String(), n)
		}
	}
	add("waits", c.waits.Load())
	add("waits-late", c.late.Load())
	add("waits-joined", c.joined.Load())
	add("waits-skipped", c.skipped.Load())
	add("timeouts", c.timeouts.Load())
	add("primary-read-limit", c.limited.Load())
	add("position-wanted", c.fetchWanted.Load())
	add("position-queries", c.fetched.Load())
	add("sessions-moved", c.moved.Load())
	add("lost-writes", c.lostWrites.Load())
	for _, w := range tracker.AllWhys() {
		if n := c.narrowed[w].Load(); n > 0 {
			add("tables-"+w.String(), n)
		}
	}
	add("weak-reads-repeated", c.misled.Load())
	add("weak-reads-unproven", c.unproven.Load())
	return all
}
