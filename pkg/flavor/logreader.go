package flavor

import (
	"strconv"
	"time"
)

// LogReaderOptions are what a connection says of itself before it reads a server's binary log.
type LogReaderOptions struct {
	Heartbeat time.Duration // after so long a pause the server sends one
	UUID      string        // the reader's own; MySQL ends an earlier reader of the same one
	Position  string        // MariaDB: behind which it begins
}

// LogReader returns the statement that sets it. The variables are the user's own, so a server that does
// not know one takes no notice: MySQL is told in both spellings.
//
// What is said of checksums is that the reader knows CRC32, not that it wants them: the server then sends
// each event as it was logged. MariaDB refuses a position that its log does not hold exactly, even where it
// holds a later one, since the strict mode is on.
func LogReader(f Flavor, o LogReaderOptions) string {
	pause := strconv.FormatInt(o.Heartbeat.Nanoseconds(), 10)
	if f == MariaDB {
		return "SET @master_binlog_checksum = 'CRC32', @master_heartbeat_period = " + pause +
			", @mariadb_slave_capability = 4, @slave_connect_state = " + Quote(o.Position) +
			", @slave_gtid_strict_mode = 1, @slave_gtid_ignore_duplicates = 0"
	}
	return "SET @source_binlog_checksum = 'CRC32', @master_binlog_checksum = 'CRC32'" +
		", @source_heartbeat_period = " + pause + ", @master_heartbeat_period = " + pause +
		", @replica_uuid = " + Quote(o.UUID) + ", @slave_uuid = " + Quote(o.UUID)
}
