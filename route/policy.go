package route

import (
	"strings"
	"time"
)

// Level is the consistency that a read is promised, weakest first.
type Level uint8

// The levels.
const (
	// Eventual: some committed state of a replica within max_lag.
	Eventual Level = iota
	// Weak is Eventual with a bound of staleness and without going back.
	Weak
	// SessionLevel: everything this session wrote and has seen.
	SessionLevel
	// Global: everything that anybody committed before the read arrived.
	Global
	// SCC promises what Global does and waits only for the tables it reads.
	SCC
	// Strong: the read runs on the primary.
	Strong
)

var levelNames = [...]string{"eventual", "weak", "session", "global", "scc", "strong"}

// String returns the level's name as configuration and hints spell it.
func (l Level) String() string {
	if int(l) < len(levelNames) {
		return levelNames[l]
	}
	return "unknown"
}

// ParseLevel reads a level's name in any letter case.
func ParseLevel(name string) (Level, bool) {
	for l, n := range levelNames {
		if strings.EqualFold(n, name) {
			return Level(l), true
		}
	}
	return 0, false
}

// Endpoint is what an address of the proxy is for.
type Endpoint uint8

// The endpoints.
const (
	// ReadWrite splits: writes to the primary, reads to replicas.
	ReadWrite Endpoint = iota
	// ReadOnly never reaches the primary, whatever a client asks for.
	ReadOnly
)

// Balancer is the rule that picks one of several servers that may all serve a
// read.
type Balancer uint8

// The balancers.
const (
	// LeastActive picks the lowest active/weight, ties by list order.
	LeastActive Balancer = iota
	// WeightedRoundRobin follows the weights exactly over a cycle.
	WeightedRoundRobin
)

// Splitting says whether reads of a read-write transaction may leave it.
type Splitting uint8

// The ways of splitting.
const (
	// SplitOff keeps a transaction on one server.
	SplitOff Splitting = iota
	// SplitBeforeWrite lets reads before the first write go to a replica, at
	// READ COMMITTED only.
	SplitBeforeWrite
)

// Policy is what the operator decided. It is a value: a reload makes a new one,
// and a decision never changes it.
type Policy struct {
	// Endpoint is the address that the client has connected to.
	Endpoint Endpoint
	// Level holds for sessions and statements that ask for none.
	Level Level
	// MaxLag is the lag over which a replica is not read, and an unknown lag
	// is over any. 0 turns the check off: then an Online replica is read
	// whatever its lag, known or not.
	MaxLag time.Duration
	// MaxStaleness is a second limit for reads at Weak that name none of
	// their own; the smaller of the two holds. 0 is no bound.
	MaxStaleness time.Duration
	// Monotonic keeps reads at Eventual from going back, as those at the levels
	// above it never do: a read sees at least what the session has been shown.
	Monotonic bool
	// DropToken has COM_RESET_CONNECTION end what reads must see, too; a pool
	// that resets what it lends then breaks the promise for the next borrower.
	DropToken bool
	// MinReserved is the number of replicas that stay readable for eventual
	// reads though they lag or are broken: lagging ones first, then those of
	// unknown lag, then broken ones; of equals the higher weight, then the
	// order of the list. Weight 0 is never rescued, nor is a read that was
	// promised any freshness.
	MinReserved int
	// Balancer picks among the servers that can take a read. Connections of a
	// ReadOnly endpoint take turns instead.
	Balancer Balancer
	// Zone is the proxy's own: its servers are preferred, the primary too if
	// it takes reads. Empty: no zones.
	Zone string
	// SystemSchemasOnReplicas lets reads of mysql, information_schema,
	// performance_schema and sys be split. What they say is each server's own.
	SystemSchemasOnReplicas bool
	// Splitting is what becomes of reads in a transaction that may write.
	Splitting Splitting
	// TrackTables has reads at SessionLevel wait for the tables that they name only, if the caller knows of these.
	TrackTables bool
	// Method is how the levels session, global and scc are kept, and Sleep how long BySleep waits.
	Method Method
	Sleep  time.Duration
	// SessionTimeout and GlobalTimeout bound the wait for a replica to reach
	// the position that a read needs; 0 never waits.
	SessionTimeout, GlobalTimeout time.Duration
	// NoWait is for a read whose wait has ended in vain: what has the position
	// by now is read, or the primary.
	NoWait bool
	// ErrorOnTimeout gives an error where a replica does not get there in
	// time; otherwise the read runs on the primary.
	ErrorOnTimeout bool
}

// DefaultPolicy returns what holds when nothing is configured.
func DefaultPolicy() Policy {
	return Policy{
		Level:          SessionLevel,
		MaxLag:         30 * time.Second,
		MaxStaleness:   5 * time.Second,
		SessionTimeout: 10 * time.Millisecond,
		GlobalTimeout:  20 * time.Millisecond,
		Sleep:          time.Second,
	}
}
