package waitpos

import (
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
)

// Query returns one statement that waits on a server until it has applied v, or d is over, for callers that have
// no time for a look before and after, as Wait does. Its answer is one value, which Arrived reads. d is at least
// a millisecond: a server takes 0 for ever. Servers that cannot wait for less than a second only look.
func Query(server flavor.Server, v gtid.Value, d time.Duration) string {
	seconds := max(d, time.Millisecond).Seconds()
	old := server.Flavor == flavor.MySQL && !server.Version.AtLeast(8, 4, 0) // it cuts off fractions of a second
	if log, ok := v.LogPos(); ok {
		if !server.Version.AtLeast(8, 4, 0) {
			return "SELECT 1" // no
		}
		return flavor.PositionWaitQuery(log.File, log.Offset, seconds)
	}
	if old {
		return "SELECT NOT GTID_SUBSET(" + flavor.Quote(v.String()) + ", @@GLOBAL.gtid_executed)"
	}
	return flavor.GTIDWaitQuery(server.Flavor, v.String(), seconds)
}

// Arrived tells whether the answer to Query says that the server has the position. Only 0 does: a timeout, a NULL
// because the applier is stopped, and an error do not.
func Arrived(value []byte, null bool) bool { return !null && string(value) == "0" }
