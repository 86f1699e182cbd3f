package flavor

import (
	"strconv"
	"strings"
)

// ReplicaStatus returns the statements that list a server's replication
// channels, one row each, newest spelling first.
//
// MariaDB's plain SHOW SLAVE STATUS leaves out named connections: with only
// named ones it returns no row at all, so the ALL form comes first.
func ReplicaStatus(f Flavor) []string {
	if f == MariaDB {
		return []string{"SHOW ALL SLAVES STATUS", "SHOW SLAVE STATUS"}
	}
	return []string{"SHOW REPLICA STATUS", "SHOW SLAVE STATUS"}
}

// BinaryLogStatus returns the statements that tell a server's own binary log
// file and position, newest spelling first.
func BinaryLogStatus(f Flavor) []string {
	if f == MariaDB {
		return []string{"SHOW BINLOG STATUS", "SHOW MASTER STATUS"}
	}
	return []string{"SHOW BINARY LOG STATUS", "SHOW MASTER STATUS"}
}

// Replicas returns the statements that list the replicas that are connected
// to a server, newest spelling first.
func Replicas(f Flavor) []string {
	if f == MariaDB {
		return []string{"SHOW REPLICA HOSTS", "SHOW SLAVE HOSTS"}
	}
	return []string{"SHOW REPLICAS", "SHOW SLAVE HOSTS"}
}

// PositionWait returns the expressions that wait until a channel has applied
// a binary log position, newest spelling first. The arguments are file,
// position and seconds; named adds the channel as a fourth.
func PositionWait(f Flavor, named bool) []string {
	args := "(?, ?, ?)"
	if named {
		args = "(?, ?, ?, ?)"
	}
	if f == MariaDB {
		return []string{"MASTER_POS_WAIT" + args}
	}
	return []string{"SOURCE_POS_WAIT" + args, "MASTER_POS_WAIT" + args}
}

// GTIDWait returns the expression that waits until a server has applied a
// GTID set (MySQL) or position (MariaDB). The arguments are the text and
// seconds. The answer 0 means reached on both; every other value does not.
func GTIDWait(f Flavor) string {
	if f == MariaDB {
		return "MASTER_GTID_WAIT(?, ?)"
	}
	return "WAIT_FOR_EXECUTED_GTID_SET(?, ?)"
}

// AppliedPosition is the variable in which MariaDB has what a replica has applied.
const AppliedPosition = "gtid_slave_pos"

// GTIDWaitQuery returns a query with GTIDWait's expression in it, for a
// position and at most so many seconds, which must not be 0: that is forever.
func GTIDWaitQuery(f Flavor, position string, seconds float64) string {
	arguments := Quote(position) + ", " + strconv.FormatFloat(seconds, 'f', 3, 64)
	return "SELECT " + strings.Replace(GTIDWait(f), "?, ?", arguments, 1)
}

// PositionWaitQuery returns a query that waits on a MySQL server of version 8.4 or later until its only
// channel has applied a binary log position, and answers 0 if it has; seconds must not be 0: that is forever.
func PositionWaitQuery(file string, offset uint64, seconds float64) string {
	return "SELECT SOURCE_POS_WAIT(" + Quote(file) + ", " + strconv.FormatUint(offset, 10) + ", " +
		strconv.FormatFloat(seconds, 'f', 3, 64) + ") < 0"
}

// ReceiverAge returns the query for the seconds, as the column age, that a
// channel's receiver has been running. On MySQL the channel's name is its
// argument; MariaDB does not tell whose thread is whose, and there it is the
// age of the youngest receiver. NULL or no row is a receiver that is not shown.
func ReceiverAge(f Flavor) string {
	if f == MariaDB {
		return "SELECT MIN(TIME_MS) / 1000 AS age FROM information_schema.PROCESSLIST WHERE COMMAND = 'Slave_IO'"
	}
	return "SELECT t.PROCESSLIST_TIME AS age FROM performance_schema.replication_connection_status c" +
		" JOIN performance_schema.threads t USING (THREAD_ID) WHERE c.CHANNEL_NAME = ?"
}

// Column returns the name by which this project knows a column of a
// replication statement: the newest MySQL spelling, whatever the server and
// the case used. A name without a newer spelling is returned as it is.
//
// Columns are found by this name, never by index and never by version:
// MariaDB keeps the old names under its new statements.
func Column(name string) string {
	if newest, ok := columnException(strings.ToLower(name)); ok {
		return newest
	}
	for _, w := range [...]struct{ old, new string }{
		{"Seconds_Behind_Master", "Seconds_Behind_Source"},
		{"Master_", "Source_"},
		{"Slave_", "Replica_"},
	} {
		if rest, ok := cutPrefixFold(name, w.old); ok {
			return w.new + rest
		}
		if rest, ok := cutPrefixFold(name, w.new); ok {
			return w.new + rest
		}
	}
	return name
}

// columnException names the columns whose new spelling is not the old one
// with its first word replaced, and the ones that MariaDB calls otherwise.
func columnException(lower string) (string, bool) {
	switch lower {
	case "read_master_log_pos", "read_source_log_pos":
		return "Read_Source_Log_Pos", true
	case "exec_master_log_pos", "exec_source_log_pos":
		return "Exec_Source_Log_Pos", true
	case "relay_master_log_file", "relay_source_log_file":
		return "Relay_Source_Log_File", true
	case "get_master_public_key", "get_source_public_key":
		return "Get_Source_public_key", true
	case "master_server_id", "source_server_id", "master_id", "source_id":
		return "Source_Server_Id", true
	case "master_uuid", "source_uuid":
		return "Source_UUID", true
	case "slave_uuid", "replica_uuid":
		return "Replica_UUID", true
	case "connection_name", "channel_name":
		return "Channel_Name", true
	case "gtid_slave_pos", "gtid_replica_pos":
		return "Gtid_Replica_Pos", true
	case "slave_sql_state":
		return "Replica_SQL_State", true
	case "master_slave_time_diff":
		return "Source_Replica_time_diff", true
	default:
		return "", false
	}
}

func cutPrefixFold(s, prefix string) (rest string, ok bool) {
	if len(s) < len(prefix) || !strings.EqualFold(s[:len(prefix)], prefix) {
		return s, false
	}
	return s[len(prefix):], true
}

// Side is one end of semi-synchronous replication.
type Side uint8

// The sides. NoSide is a status variable that is about neither.
const (
	NoSide Side = iota
	SourceSide
	ReplicaSide
)

// SemiSyncSide tells whose status a Rpl_semi_sync_..._status variable shows,
// under its old and its new name.
func SemiSyncSide(variable string) Side {
	switch strings.ToLower(variable) {
	case "rpl_semi_sync_source_status", "rpl_semi_sync_master_status":
		return SourceSide
	case "rpl_semi_sync_replica_status", "rpl_semi_sync_slave_status":
		return ReplicaSide
	default:
		return NoSide
	}
}

// HeartbeatTable returns the statement that creates a table as pt-heartbeat
// knows it; quoted is the table's name in back quotes.
func HeartbeatTable(quoted string) string {
	return "CREATE TABLE IF NOT EXISTS " + quoted + ` (
  ts varchar(26) NOT NULL,
  server_id int unsigned NOT NULL PRIMARY KEY,
  file varchar(255) DEFAULT NULL,
  position bigint unsigned DEFAULT NULL,
  relay_master_log_file varchar(255) DEFAULT NULL,
  exec_master_log_pos bigint unsigned DEFAULT NULL
)`
}
