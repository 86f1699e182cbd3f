package rwdb

import (
	"sync/atomic"
	"time"

	"github.com/mysqlrw/mysqlrw/route"
)

// Observation says where a statement ran, and why.
type Observation struct {
	// Server is the name of the server; "" if none was needed, or none could run it.
	Server string
	Class  route.Class
	// Level is what was promised to a read.
	Level route.Level
	// Reasons are why it ran there, the deciding one first.
	Reasons []route.Reason
	// Waited is how long a server was waited for to have what the read must see.
	Waited time.Duration
	// Asked tells whether the primary was asked for its position first.
	Asked bool
	// Err is what the statement ended with, up to its first rows.
	Err error
}

// counts are what Stats reads.
type counts struct {
	statements, onReplicas, onPrimary, fetches, waits, late, fallBacks, refused, again atomic.Uint64
}

// Stats are what a Connector has done since New.
type Stats struct {
	// Statements that were run; ReadsOnReplicas and ReadsOnPrimary are those that could be read anywhere.
	Statements, ReadsOnReplicas, ReadsOnPrimary uint64
	// PositionQueries is how often the primary was asked where it stands.
	PositionQueries uint64
	// Waits for a replica, and how many of them ended in vain.
	Waits, WaitsInVain uint64
	// FallBacks are reads that ran on the primary because no replica could have them in time, and Refused are those
	// that were given an error in the place of a stale answer.
	FallBacks, Refused uint64
	// Repeated is how often a statement was run again after a connection or a server was lost.
	Repeated uint64
}

// Stats returns the counts of this moment.
func (c *Connector) Stats() Stats {
	n := &c.counts
	return Stats{
		Statements: n.statements.Load(), ReadsOnReplicas: n.onReplicas.Load(), ReadsOnPrimary: n.onPrimary.Load(),
		PositionQueries: n.fetches.Load(), Waits: n.waits.Load(), WaitsInVain: n.late.Load(),
		FallBacks: n.fallBacks.Load(), Refused: n.refused.Load(), Repeated: n.again.Load(),
	}
}
