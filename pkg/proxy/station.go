package proxy

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/topology"
	"github.com/mysqlrw/mysqlrw/route"
)

// station is what is kept of a server, by its name, for as long as the proxy runs: a reload makes
// another list of servers and changes nothing here.
type station struct {
	name  string
	gate  gate
	tally tally

	mu     sync.Mutex // for the changes of what follows
	down   bool       // it was not online when it was last heard of
	shares atomic.Pointer[shares]
}

// shares are a server's weights. They are immutable.
type shares struct {
	replica, primary int       // of the configuration, or what an operator has said instead
	changed          bool      // by an operator
	since            time.Time // when it came back; zero for a server that takes its whole share
	slow             time.Duration
}

// stations are those of all servers that there ever were.
type stations struct {
	mu  sync.Mutex
	all map[string]*station
}

// of returns the station of a server, with the weights that a configuration gives it.
func (all *stations) of(s *Server, o *Options) *station {
	all.mu.Lock()
	defer all.mu.Unlock()
	one := all.all[s.Name]
	if one == nil {
		one = &station{name: s.Name, tally: newTally(len(o.Listeners))}
		if all.all == nil {
			all.all = map[string]*station{}
		}
		all.all[s.Name] = one
	}
	return one
}

// list returns all of them: the present servers in their order, and behind these the others by name.
func (all *stations) list(present []*server) []*station {
	all.mu.Lock()
	defer all.mu.Unlock()
	place := func(t *station) int {
		if i := slices.IndexFunc(present, func(s *server) bool { return s.station == t }); i >= 0 {
			return i
		}
		return len(present)
	}
	return slices.SortedFunc(maps.Values(all.all), func(a, b *station) int {
		return cmp.Or(cmp.Compare(place(a), place(b)), strings.Compare(a.name, b.name))
	})
}

// configure takes over what a configuration says. What an operator has changed stays.
func (t *station) configure(s *Server, o *Options) {
	t.gate.limit(s.MaxConcurrent, o.QueueLength)
	t.mu.Lock()
	defer t.mu.Unlock()
	next := shares{replica: s.Weight, primary: s.PrimaryWeight}
	if before := t.shares.Load(); before != nil {
		next.since = before.since
		if before.changed {
			next.replica, next.primary, next.changed = before.replica, before.primary, true
		}
	}
	next.slow = o.SlowStart
	t.shares.Store(&next)
}

// set changes the weights by hand. A server that gets reads again begins slowly.
func (t *station) set(replica, primary int, changed bool, now time.Time) {
	t.mu.Lock()
	defer t.mu.Unlock()
	before := t.shares.Load()
	next := *before
	next.replica, next.primary, next.changed = replica, primary, changed
	if before.replica == 0 && replica > 0 {
		next.since = now
	}
	t.shares.Store(&next)
}

// heard notes what became of the server. One that comes back begins slowly, but not those that are there
// when the proxy starts.
func (t *station) heard(e *topology.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.New {
	case route.Online.String():
		if t.down {
			next := *t.shares.Load()
			next.since = e.At
			t.shares.Store(&next)
		}
		t.down = false
	case route.Offline.String(), route.Broken.String():
		t.down = true
	}
}

// weight returns a server's share of reads at a moment.
func (w *shares) weight(role route.Role, now time.Time) int {
	full := w.replica
	if role == route.Primary {
		return w.primary
	}
	if w.since.IsZero() || w.slow <= 0 || full == 0 {
		return full
	}
	if past := now.Sub(w.since); past < w.slow {
		return max(1, int(float64(full)*float64(max(past, 0))/float64(w.slow)))
	}
	return full
}

// maxWeight is as in a configuration.
const maxWeight = 1_000_000

// Weights are a server's shares of reads.
type Weights struct {
	Replica, Primary int
}

// errNoServer is why something cannot be done to a server.
var errNoServer = errors.New("no server has that name")

// SetWeights gives a server other weights than those of its configuration, at once and until
// ResetWeights; a reload does not change them. With 0 a replica takes no new reads. Its
// statements and transactions that are under way go on: Busy tells of them.
func (p *Proxy) SetWeights(server string, w Weights) error {
	if min(w.Replica, w.Primary) < 0 || max(w.Replica, w.Primary) > maxWeight {
		return fmt.Errorf("a weight is a number from 0 to %d", maxWeight)
	}
	return p.change(server, w, true)
}

// ResetWeights gives a server the weights of its configuration again. A replica that had none begins
// slowly: see Options.SlowStart.
func (p *Proxy) ResetWeights(server string) error {
	p.reload.Lock()
	defer p.reload.Unlock()
	for _, s := range p.conf.Load().Servers {
		if s.Name == server {
			return p.change(server, Weights{s.Weight, s.PrimaryWeight}, false)
		}
	}
	return errNoServer
}

func (p *Proxy) change(server string, w Weights, changed bool) error {
	for _, s := range p.cluster.Load().servers {
		if s.Name == server {
			s.station.set(w.Replica, w.Primary, changed, p.now())
			p.log.Info("weights changed", "server", server, "weight", w.Replica, "primary-weight", w.Primary)
			return nil
		}
	}
	return errNoServer
}
