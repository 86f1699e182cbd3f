package proxy

import (
	"cmp"
	"context"
	"errors"
	"net"
	"slices"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/route"
)

// ServerStatus is what is known of a server now.
type ServerStatus struct {
	Name    string
	Address string
	Version string // "" if it was never reached
	Role    route.Role
	State   route.State
	Why     string // State is not online, or the lag is unknown; for people
	// Lag is known of replicas only, and not of all.
	Lag      time.Duration
	LagKnown bool
	Position gtid.Value // what it has at least
	// Missing is how many transactions of the primary it is not known to have; see MissingKnown.
	Missing      uint64
	MissingKnown bool
	Zone         string
	// Weight is its share of reads at this moment; Configured is what the configuration says, and Changed
	// that an operator has said otherwise.
	Weight     int
	Weights    Weights
	Configured Weights
	Changed    bool
	SlowStart  time.Duration // until it has its whole share
	Active     int           // statements that run on it, of sessions that a reload has left behind too
	Queued     int           // statements that wait for it
	Limit      int           // of statements at a time; 0 is none

	Connections, Idle, MaxConnections int
}

// Servers returns what is known of every server, in the order of the configuration.
func (p *Proxy) Servers() []ServerStatus {
	c := p.cluster.Load()
	conf := p.conf.Load()
	now := p.now()
	var snap route.Snapshot
	c.monitor.Fill(&snap, time.Time{}) // with the lag that was measured
	active := p.active()
	primary := snap.Primary()
	all := make([]ServerStatus, len(c.servers))
	for i, s := range c.servers {
		sv, w, stats := &snap.Servers[i], s.station.shares.Load(), s.dialing.pool.Stats()
		one := ServerStatus{
			Name: s.Name, Address: s.Address, Version: c.monitor.Server(i).Text, Role: sv.Role, State: sv.State, Why: sv.Why,
			Lag: sv.Lag, LagKnown: sv.LagKnown, Position: sv.Position, Zone: s.Zone,
			Weight: w.weight(sv.Role, now), Weights: Weights{w.replica, w.primary}, Configured: Weights{s.Weight, s.PrimaryWeight}, Changed: w.changed,
			Active: active[s.Name], Queued: s.station.gate.waiting(), Limit: s.MaxConcurrent,
			Connections: stats.Open, Idle: stats.Idle, MaxConnections: conf.Pool.Max,
		}
		if !w.since.IsZero() && sv.Role == route.Replica {
			one.SlowStart = max(w.slow-now.Sub(w.since), 0)
		}
		if primary >= 0 && primary != i && !snap.Servers[primary].Position.IsEmpty() {
			n, _, err := sv.Position.MissingCount(snap.Servers[primary].Position)
			one.Missing, one.MissingKnown = n, err == nil
		}
		all[i] = one
	}
	return all
}

// active returns how many statements run on each server.
func (p *Proxy) active() map[string]int {
	n := map[string]int{}
	p.sessions.each(func(s *session) {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.running != nil {
			n[s.running.from.Name]++
		}
	})
	return n
}

// SessionStatus is what is known of a client now. What is said of it beside Running and Since is from
// the end of its last command.
type SessionStatus struct {
	ID       uint32
	User     string
	Client   net.Addr
	Endpoint string // the address that it is connected to
	Schema   string
	Level    route.Level
	Began    time.Time // the session
	// Running is the server that runs its statement, "" if none does; Since is when the statement arrived,
	// zero if there is none.
	Running string
	Since   time.Time
	// Last is the server of the statement before, and Reason why it ran there.
	Last        string
	Reason      route.Reason
	Transaction route.Transaction
	Holds       []route.Held // what ties it to connections
	Kept        []string     // servers of which it keeps a connection, for whatever reason
}

// Needs returns the servers that are still needed for the session: one runs a statement of it, or has a connection
// that it keeps.
func (s *SessionStatus) Needs() []string {
	if s.Running == "" || slices.Contains(s.Kept, s.Running) {
		return s.Kept
	}
	return append(slices.Clone(s.Kept), s.Running)
}

// public is what a session lets others see.
type public struct {
	user        string
	schema      string
	level       route.Level
	last        string
	reason      route.Reason
	transaction route.Transaction
	holds       []route.Held
	cluster     *cluster
	kept        uint64 // servers of cluster, by bit
}

// publish lets others see what the session is in.
func (s *session) publish() {
	s.lock()
	defer s.mu.Unlock()
	v := &s.public
	v.user, v.schema, v.level, v.transaction, v.cluster = s.user, s.state.Schema(), s.level(), s.route.Transaction, s.cluster
	v.last, v.reason = s.serverName(s.shown.server), s.shown.d.Reason()
	v.holds = nil
	if s.route.Held() {
		v.holds = s.route.Holds()
	}
	v.kept = 0
	for i := range s.links {
		if s.links[i].have {
			v.kept |= 1 << i
		}
	}
}

// view returns what the session has published.
func (s *session) view() SessionStatus {
	one := SessionStatus{ID: s.id, Client: s.client.Remote(), Endpoint: s.on.socket.Addr().String(), Began: s.began}
	if since := s.since.Load(); since != 0 {
		one.Since = time.Unix(0, since)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	v := &s.public
	one.User, one.Schema, one.Level, one.Last, one.Reason = v.user, v.schema, v.level, v.last, v.reason
	one.Transaction, one.Holds = v.transaction, v.holds
	if s.running != nil {
		one.Running = s.running.from.Name
	}
	if v.cluster != nil {
		for i, sv := range v.cluster.servers {
			if v.kept&(1<<i) != 0 {
				one.Kept = append(one.Kept, sv.Name)
			}
		}
	}
	return one
}

// SessionList returns what is known of every client, in the order in which they came.
func (p *Proxy) SessionList() []SessionStatus {
	var all []SessionStatus
	p.sessions.each(func(s *session) { all = append(all, s.view()) })
	slices.SortFunc(all, func(a, b SessionStatus) int {
		return cmp.Or(a.Began.Compare(b.Began), cmp.Compare(a.ID, b.ID))
	})
	return all
}

// Busy returns the clients that a server is still needed for; see SessionStatus.Needs. With weight 0 they only get fewer, but for clients that name the server.
func (p *Proxy) Busy(server string) []SessionStatus {
	all := p.SessionList()
	return slices.DeleteFunc(all, func(s SessionStatus) bool { return !slices.Contains(s.Needs(), server) })
}

// ErrNoSession is why nobody is killed.
var ErrNoSession = errors.New("no session has that number")

// Kill ends a client, or with query only the statement that it waits for, on its server too.
func (p *Proxy) Kill(ctx context.Context, id uint64, query bool) error {
	s := p.sessions.find(id)
	if s == nil {
		return ErrNoSession
	}
	how := connectionKilled
	if query {
		how = queryKilled
	}
	p.log.Info("killed by an operator", "session", s.id, "statement-only", query)
	return s.stop(ctx, how, nil)
}

// Refresh has every server asked now, and not at the end of the interval.
func (p *Proxy) Refresh() {
	c := p.cluster.Load()
	for i := range c.servers {
		c.monitor.Recheck(i)
	}
}
