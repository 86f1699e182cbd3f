package flavor

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// SourceChange says from which server a replica's channel is to read. It is
// the input of ChangeSource.
type SourceChange struct {
	Channel  string // name of the channel; empty for the one without a name
	Host     string
	Port     int
	User     string
	Password string

	// GTID makes the replica ask for what it lacks. Without it, reading starts
	// at File and Position.
	GTID     bool
	File     string
	Position uint64

	Delay     time.Duration // how long the applier holds each transaction back; whole seconds
	Heartbeat time.Duration // how often an idle source says that it lives; 0 leaves the server's own
}

// DelayApplier returns the statement that has a channel's applier, which must be
// stopped, hold each transaction back for a time of whole seconds.
func DelayApplier(f Flavor, channel string, d time.Duration) string {
	seconds := strconv.Itoa(int(d / time.Second))
	if f == MariaDB {
		return "CHANGE MASTER" + connection(channel) + " TO MASTER_DELAY = " + seconds
	}
	return "CHANGE REPLICATION SOURCE TO SOURCE_DELAY = " + seconds + forChannel(channel)
}

// ChangeSource returns the statement that points a replica's channel at its
// source. The text holds the password: it must not be logged.
//
// A lost connection is tried again each second without an end in sight, since
// MySQL 9 gives up after ten tries.
func ChangeSource(f Flavor, c SourceChange) string {
	word, retries, end := "SOURCE_", ", SOURCE_RETRY_COUNT = 86400", ""
	head := "CHANGE REPLICATION SOURCE TO "
	if c.Channel != "" {
		end = " FOR CHANNEL " + Quote(c.Channel)
	}
	if f == MariaDB {
		word, retries, end = "MASTER_", "", ""
		head = "CHANGE MASTER" + connection(c.Channel) + " TO "
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%s%sHOST = %s, %sPORT = %d, %sUSER = %s, %sPASSWORD = %s, %sCONNECT_RETRY = 1%s",
		head, word, Quote(c.Host), word, c.Port, word, Quote(c.User), word, Quote(c.Password), word, retries)
	if c.Heartbeat > 0 {
		period := strconv.FormatFloat(c.Heartbeat.Seconds(), 'f', 3, 64)
		fmt.Fprintf(&b, ", %sHEARTBEAT_PERIOD = %s", word, period)
	}
	if c.Delay > 0 {
		fmt.Fprintf(&b, ", %sDELAY = %d", word, int64(c.Delay/time.Second))
	}
	b.WriteString(startingPoint(f, c))
	b.WriteString(end)
	return b.String()
}

// startingPoint returns the part of ChangeSource that says where reading
// begins. MySQL's caching_sha2_password needs the source's public key when
// the connection is not encrypted.
func startingPoint(f Flavor, c SourceChange) string {
	switch {
	case f == MariaDB && c.GTID:
		return ", MASTER_USE_GTID = slave_pos"
	case f == MariaDB:
		return fmt.Sprintf(", MASTER_LOG_FILE = %s, MASTER_LOG_POS = %d, MASTER_USE_GTID = no",
			Quote(c.File), c.Position)
	case c.GTID:
		return ", SOURCE_AUTO_POSITION = 1, GET_SOURCE_PUBLIC_KEY = 1"
	default:
		return fmt.Sprintf(", SOURCE_LOG_FILE = %s, SOURCE_LOG_POS = %d"+
			", SOURCE_AUTO_POSITION = 0, GET_SOURCE_PUBLIC_KEY = 1", Quote(c.File), c.Position)
	}
}

// StartReplica returns the statement that starts receiver and applier of a
// channel; an empty name is the channel without a name.
func StartReplica(f Flavor, channel string) string { return replicaVerb(f, "START", channel) }

// StopReplica returns the statement that stops receiver and applier of a
// channel; an empty name is the channel without a name.
func StopReplica(f Flavor, channel string) string { return replicaVerb(f, "STOP", channel) }

// ResetBinaryLogs returns the statement that deletes a server's binary logs, and with them what it knows of the
// transactions that it has.
func ResetBinaryLogs(f Flavor) string {
	if f == MariaDB {
		return "RESET MASTER"
	}
	return "RESET BINARY LOGS AND GTIDS"
}

// ReplicaThread is one half of a replication channel.
type ReplicaThread uint8

// The halves: the receiver reads the source's log, the applier executes it.
const (
	Receiver ReplicaThread = iota + 1
	Applier
)

// StartThread returns the statement that starts one half of a channel.
func StartThread(f Flavor, thread ReplicaThread, channel string) string {
	return threadVerb(f, "START", thread, channel)
}

// StopThread returns the statement that stops one half of a channel.
func StopThread(f Flavor, thread ReplicaThread, channel string) string {
	return threadVerb(f, "STOP", thread, channel)
}

func replicaVerb(f Flavor, verb, channel string) string {
	if f == MariaDB {
		return verb + " SLAVE" + connection(channel)
	}
	return verb + " REPLICA" + forChannel(channel)
}

func threadVerb(f Flavor, verb string, thread ReplicaThread, channel string) string {
	word := "SQL_THREAD"
	if thread == Receiver {
		word = "IO_THREAD"
	}
	if f == MariaDB {
		return verb + " SLAVE" + connection(channel) + " " + word
	}
	return verb + " REPLICA " + word + forChannel(channel)
}

// connection puts a channel's name where MariaDB has it, after the first words.
func connection(channel string) string {
	if channel == "" {
		return ""
	}
	return " " + Quote(channel)
}

// forChannel puts a channel's name where MySQL has it, at the end.
func forChannel(channel string) string {
	if channel == "" {
		return ""
	}
	return " FOR CHANNEL " + Quote(channel)
}

// GrantReplication returns the statement that lets an account, given as the
// server prints it ('user'@'host'), read a source's log.
func GrantReplication(account string) string {
	return "GRANT REPLICATION SLAVE ON *.* TO " + account
}

// SemiSyncWords are the names around semi-synchronous replication.
type SemiSyncWords struct {
	SourcePlugin  string // NAME=LIBRARY as plugin-load-add takes it; empty if built in
	ReplicaPlugin string

	SourceEnabled  string // system variables
	ReplicaEnabled string
	SourceTimeout  string // milliseconds until the source goes on alone

	SourceStatus  string // status variable: ON while the source waits for replicas
	SourceClients string // status variable: number of semi-synchronous replicas
	ReplicaStatus string // status variable: ON while the replica acknowledges
}

// SemiSync returns a flavor's names for semi-synchronous replication: MySQL
// from 8.0.26, MariaDB from 10.3, where it is built in.
func SemiSync(f Flavor) SemiSyncWords {
	if f == MariaDB {
		return SemiSyncWords{
			SourceEnabled:  "rpl_semi_sync_master_enabled",
			ReplicaEnabled: "rpl_semi_sync_slave_enabled",
			SourceTimeout:  "rpl_semi_sync_master_timeout",
			SourceStatus:   "Rpl_semi_sync_master_status",
			SourceClients:  "Rpl_semi_sync_master_clients",
			ReplicaStatus:  "Rpl_semi_sync_slave_status",
		}
	}
	return SemiSyncWords{
		SourcePlugin:   "rpl_semi_sync_source=semisync_source.so",
		ReplicaPlugin:  "rpl_semi_sync_replica=semisync_replica.so",
		SourceEnabled:  "rpl_semi_sync_source_enabled",
		ReplicaEnabled: "rpl_semi_sync_replica_enabled",
		SourceTimeout:  "rpl_semi_sync_source_timeout",
		SourceStatus:   "Rpl_semi_sync_source_status",
		SourceClients:  "Rpl_semi_sync_source_clients",
		ReplicaStatus:  "Rpl_semi_sync_replica_status",
	}
}

// ReplicaVariables returns the names of two system variables of a replica:
// whether it logs what it applies, and after how many seconds of silence it
// takes its source for lost.
func ReplicaVariables(f Flavor) (logUpdates, netTimeout string) {
	if f == MariaDB {
		return "log_slave_updates", "slave_net_timeout"
	}
	return "log_replica_updates", "replica_net_timeout"
}

// Quote returns s as a string literal. Backslashes are doubled, so the text
// means the same in every sql_mode that a new connection of ours can have
// except NO_BACKSLASH_ESCAPES.
func Quote(s string) string {
	return "'" + strings.NewReplacer(`\`, `\\`, `'`, `''`).Replace(s) + "'"
}
