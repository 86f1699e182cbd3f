package route

import (
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
)

// Role is what a server is in the topology. The zero value is Replica: a server
// of which nothing is known must not get writes.
type Role uint8

// The roles.
const (
	// Replica applies what another server has written.
	Replica Role = iota
	// Primary takes writes.
	Primary
)

// String returns "replica" or "primary".
func (r Role) String() string {
	if r == Primary {
		return "primary"
	}
	return "replica"
}

// State is how far a server can be trusted with a read. The zero value is
// Unproven: a server that just started, or that nobody has asked yet, is not
// read until it has been seen to replicate.
type State uint8

// The states.
const (
	// Unproven: not asked yet, a check that timed out, "not a replica". Not
	// even min_reserved reads it: it may be anybody's server.
	Unproven State = iota
	// Online: it answers, and a replica's receivers and appliers are running.
	Online
	// Broken: it answers, but its replication is stopped, connecting or in
	// error, be it in one channel of several. Only min_reserved reads it.
	Broken
	// Offline: it cannot be reached. Nothing reads it.
	Offline
)

// String returns the state in lower case, as state files have it.
func (s State) String() string {
	switch s {
	case Online:
		return "online"
	case Broken:
		return "broken"
	case Offline:
		return "offline"
	}
	return "unproven"
}

// Server is what was known of one server when the snapshot was taken.
type Server struct {
	// Name is unique in its snapshot.
	Name string
	// Role is what the server was last seen to be.
	Role Role
	// State of a primary is Online or Offline.
	State State
	// Why says in a few words why State is not Online or why the lag is
	// unknown. It is shown to people and never parsed.
	Why string
	// Lag is how far a replica is behind, of several channels the worst. It
	// counts only if LagKnown, which takes a known lag of every channel: an
	// unknown lag is never 0. A primary has none.
	Lag      time.Duration
	LagKnown bool
	// NoDelayAt is a moment at which a replica had applied all that it had received; zero if it had not
	// when it was last asked.
	NoDelayAt time.Time
	// Position is a lower bound of what the server has applied: it has this
	// at least. The zero value is the empty position, which contains nothing.
	Position gtid.Value
	// Epoch is one life of the server's data, where the caller can tell: what a
	// session has seen in another one proves nothing.
	Epoch uint64
	// Weight is the share of reads. 0 takes no new reads; of a primary it
	// means that it is read only when no replica can be.
	Weight int
	// Active is the number of statements that the server runs now for this
	// proxy.
	Active int
	// Zone is where the server stands; empty if zones are not used.
	Zone string
}

// Snapshot is what is known of all servers at one moment. A decision never
// changes it, so that any number of sessions can share one.
type Snapshot struct {
	// Servers in the order of the configuration: ties are settled by it.
	Servers []Server
	// Current is an upper bound of what anybody can have seen on any of the
	// servers: the primary's position with what it is still committing, fetched
	// after the read arrived. CurrentKnown says whether it has been fetched.
	Current      gtid.Value
	CurrentKnown bool
	// Ahead is the part of Current that the primary has not committed yet and a
	// replica is known to have: who has read that replica must not read the
	// primary before it has.
	Ahead gtid.Value
	// Needed is the part of the position Whole that a read must see, if NeededKnown: what changed the tables
	// that it names. It is of one statement only.
	Whole, Needed gtid.Value
	NeededKnown   bool
	// At is when this was known, for the methods that go by time.
	At time.Time
	// Chosen is the one server that reads at Weak run on, so that those of several proxies do not go back.
	// It counts only if Choose; otherwise they run on any.
	Choose bool
	Chosen Chosen
}

// Chosen is the server that every proxy in front of the same servers chooses alike.
type Chosen struct {
	// Server is an index into Snapshot.Servers; -1 is that none may be read now.
	Server int
	// Needs is what it must have before it is read. With Fetch that is Snapshot.Current, which must be asked for.
	Needs gtid.Value
	Fetch bool
}

// Find returns the index of the server of that name, or -1. Names are compared
// exactly.
func (s *Snapshot) Find(name string) int {
	for i := range s.Servers {
		if s.Servers[i].Name == name {
			return i
		}
	}
	return -1
}

// Has tells whether some server is known to have all of a position that a client gave: a read must not
// wait for one that was made up.
func (s *Snapshot) Has(given gtid.Value) bool {
	for i := range s.Servers {
		if s.Servers[i].Position.Has(given) {
			return true
		}
	}
	return s.CurrentKnown && s.Current.Has(given)
}

// NoDelaySince tells whether a replica that takes reads had no delay at that moment or later.
func (s *Snapshot) NoDelaySince(since time.Time) bool {
	for i := range s.Servers {
		sv := &s.Servers[i]
		if sv.Role == Replica && sv.State == Online && sv.Weight > 0 && !sv.NoDelayAt.IsZero() && !sv.NoDelayAt.Before(since) {
			return true
		}
	}
	return false
}

// Primary returns the index of the primary that is Online, or -1. With two of
// them there is none: two writers is a fault that nobody may write into.
func (s *Snapshot) Primary() int {
	found := -1
	for i := range s.Servers {
		if s.Servers[i].Role != Primary || s.Servers[i].State != Online {
			continue
		}
		if found >= 0 {
			return -1
		}
		found = i
	}
	return found
}
