package proxy

import (
	"github.com/mysqlrw/mysqlrw/pkg/tracker"
	"github.com/mysqlrw/mysqlrw/route"
)

// Statistics are what the proxy has counted since it started. They were read one after the other, so that those of
// a busy proxy need not agree to the last statement.
type Statistics struct {
	// Statements are those that servers have answered, but for preparations. What never happened is left out.
	Statements []StatementCount
	Servers    []ServerCount
	// FallBacks are reads that ran on the primary because no replica could have them, by reason.
	FallBacks []ReasonCount
	Endpoints []EndpointCount
	// Waits are the waits for a position that were sent to a replica, WaitsLate those that were in vain, and
	// WaitsJoined the reads that waited with another one's, WaitsSkipped those that did not wait because the one
	// before had waited in vain.
	Waits, WaitsLate, WaitsJoined, WaitsSkipped uint64
	// Timeouts are reads that got an error because no server had the position in time, and Limited those that
	// got one because too many ran on the primary.
	Timeouts, Limited uint64
	// PositionWanted are reads that needed to know where the primary stands, PositionQueries the questions that
	// it got for them.
	PositionWanted, PositionQueries uint64
	// SessionsMoved are reads that needed that because their session's server could not be read any more.
	SessionsMoved uint64
	// WeakRepeated are reads at weak whose answer was dropped, since the server that these run on had changed, and
	// WeakUnproven those that ran after such a change without a primary that could say what others have seen.
	WeakRepeated, WeakUnproven uint64
	// LostWrites are sessions that had seen what no server has any more after a failover.
	LostWrites uint64
	// Tables are reads that would have waited for changes of tables that they do not name, by why they waited for less,
	// or did not. Tracker is how that stands that knows these; nil if there is none.
	Tables  [tracker.Whys]uint64
	Tracker *tracker.State
}

// StatementCount is how many statements ran on a server for the same reason.
type StatementCount struct {
	Endpoint string // the address that the client was connected to
	Server   string
	Role     route.Role // that the server had
	// Level is that of a read; HasLevel is false for what is none, and for reads that had to go where something
	// of theirs lives.
	Level    route.Level
	HasLevel bool
	Reason   route.Reason // the first one
	N        uint64
}

// ServerCount is what one server did.
type ServerCount struct {
	Server string
	Failed uint64 // statements that ended with an error of the server
	// Repeated are statements whose answer no client got: the read was in front of its position, or another server
	// had to run it. They are in no other count.
	Repeated uint64
	Prepared uint64 // preparations, those included that the proxy repeated on another connection
	Own      []OwnCount
	// Reads are statements that may run on a replica, Others the rest. They are as long as the client
	// waited: in queues, for positions and for the answer.
	Reads, Others Durations
}

// OwnCount is how many statements of its own the proxy put in front of those of clients.
type OwnCount struct {
	Kind string // "state", "schema", "insert-id", "wait" or "begin"
	N    uint64
}

// ReasonCount is how often something happened for a reason.
type ReasonCount struct {
	Reason route.Reason
	N      uint64
}

// EndpointCount is what one address for clients has seen.
type EndpointCount struct {
	Endpoint string
	Clients  int // that are there
	Accepted uint64
	Refused  uint64 // of these, those that could not log in or were one too many
}

var stepNames = [stepKinds]string{"state", "schema", "insert-id", "wait", "begin", "position"}

// Statistics returns what has been counted.
func (p *Proxy) Statistics() Statistics {
	c := &p.counts
	all := Statistics{
		Waits: c.waits.Load(), WaitsLate: c.late.Load(), WaitsJoined: c.joined.Load(), WaitsSkipped: c.skipped.Load(), Timeouts: c.timeouts.Load(),
		Limited: c.limited.Load(), PositionWanted: c.fetchWanted.Load(), PositionQueries: c.fetched.Load(),
		SessionsMoved: c.moved.Load(), WeakRepeated: c.misled.Load(), WeakUnproven: c.unproven.Load(), LostWrites: c.lostWrites.Load(),
	}
	for w := range all.Tables {
		all.Tables[w] = c.narrowed[w].Load()
	}
	if t := p.cluster.Load().tracker; t != nil {
		is := t.State()
		all.Tracker = &is
	}
	for _, r := range route.AllReasons() {
		if n := c.fallBacks[r].Load(); n > 0 {
			all.FallBacks = append(all.FallBacks, ReasonCount{r, n})
		}
	}
	for _, l := range p.listeners {
		all.Endpoints = append(all.Endpoints, EndpointCount{
			Endpoint: l.socket.Addr().String(), Clients: int(l.clients.Load()), Accepted: l.accepted.Load(), Refused: l.refused.Load(),
		})
	}
	for _, t := range p.stations.list(p.cluster.Load().servers) {
		one := ServerCount{
			Server: t.name, Failed: t.tally.failed.Load(), Prepared: t.tally.prepared.Load(), Repeated: t.tally.repeated.Load(),
			Reads: t.tally.took[0].read(), Others: t.tally.took[1].read(),
		}
		for i := range t.tally.own {
			one.Own = append(one.Own, OwnCount{stepNames[i], t.tally.own[i].Load()})
		}
		all.Servers = append(all.Servers, one)
		all.Statements = append(all.Statements, p.statements(t)...)
	}
	return all
}

// statements returns those that a server has answered.
func (p *Proxy) statements(t *station) []StatementCount {
	var all []StatementCount
	for i := range t.tally.ran {
		n := t.tally.ran[i].Load()
		if n == 0 {
			continue
		}
		why, rest := route.Reason(i%reasons), i/reasons
		level, rest := rest%levelKinds, rest/levelKinds
		role, endpoint := route.Role(rest%roles), rest/roles
		one := StatementCount{Endpoint: p.listeners[endpoint].socket.Addr().String(), Server: t.name, Role: role, Reason: why, N: n}
		if level != noLevel {
			one.Level, one.HasLevel = route.Level(level), true
		}
		all = append(all, one)
	}
	return all
}
