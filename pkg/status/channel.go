package status

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
)

// ThreadState is what a receiver or an applier does. The zero value means
// that the server said nothing that is understood.
type ThreadState uint8

// The states. An applier is never Connecting.
const (
	ThreadUnknown ThreadState = iota
	Running
	Connecting // the receiver has no connection to its source and tries again
	Stopped
)

// String returns "running", "connecting", "stopped" or "unknown".
func (s ThreadState) String() string {
	switch s {
	case Running:
		return "running"
	case Connecting:
		return "connecting"
	case Stopped:
		return "stopped"
	default:
		return "unknown"
	}
}

// MarshalText returns the same word as String.
func (s ThreadState) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// parseThreadState reads Replica_IO_Running and Replica_SQL_Running. Any
// other text, such as MariaDB's Preparing, is a thread that does not work yet.
func parseThreadState(text string) ThreadState {
	switch strings.ToLower(text) {
	case "yes":
		return Running
	case "no":
		return Stopped
	case "connecting", "preparing":
		return Connecting
	default:
		return ThreadUnknown
	}
}

// ThreadError is the last error of a receiver or an applier. The zero value
// is no error.
type ThreadError struct {
	Number  int
	Message string
}

// String returns "error NUMBER: message", or "" for no error.
func (e ThreadError) String() string {
	if e.Number == 0 {
		return ""
	}
	return fmt.Sprintf("error %d: %s", e.Number, e.Message)
}

// Channel is one replication channel (MySQL) or connection (MariaDB) of a
// replica: the row of SHOW REPLICA STATUS, read by name.
type Channel struct {
	Name           string // "" is the default channel
	SourceHost     string
	SourcePort     int
	SourceServerID uint32
	SourceUUID     string // "" on MariaDB

	Receiver      ThreadState
	Applier       ThreadState
	ReceiverError ThreadError
	ApplierError  ThreadError

	SecondsBehind  *int64        // Seconds_Behind_Source; nil is NULL, which is not 0
	Delay          time.Duration // configured SQL_Delay
	RemainingDelay *int64        // seconds the current event is still held back; nil: it is not

	Read gtid.FilePos // what the receiver has read, in the source's binary log
	Exec gtid.FilePos // what the applier has executed, in the source's binary log

	Retrieved    gtid.Set // MySQL: transactions received on this channel since its relay log began
	AutoPosition bool     // MySQL: the channel uses GTIDs

	UsingGTID      bool           // MariaDB: the connection uses GTIDs
	ReceiverGTID   gtid.DomainPos // MariaDB: Gtid_IO_Pos
	IgnoredDomains []uint32       // MariaDB: domains that this connection filters out
	OnlyDomains    []uint32       // MariaDB: the only domains that this connection lets through; none means all

	HeartbeatPeriod time.Duration // MariaDB only; 0 if the row does not tell

	Fields Row // every column of the row, under its newest name
}

// Source returns "host:port" of the channel's source.
func (c *Channel) Source() string {
	return net.JoinHostPort(c.SourceHost, strconv.Itoa(c.SourcePort))
}

// Channels reads the replication channels of a server. A server that is no
// replica has none, and that is no error.
func Channels(ctx context.Context, q Querier, f flavor.Flavor) ([]Channel, error) {
	rows, err := Ladder(ctx, q, flavor.ReplicaStatus(f))
	if err != nil {
		return nil, needs(flavor.ReadReplicaStatus, "replica status", err)
	}
	channels := make([]Channel, 0, len(rows))
	for _, row := range rows {
		c, err := parseChannel(row)
		if err != nil {
			return nil, fmt.Errorf("read replica status: channel %q: %w", c.Name, err)
		}
		channels = append(channels, c)
	}
	return channels, nil
}

func parseChannel(row Row) (Channel, error) {
	c := Channel{
		Name:          row.Text("Channel_Name"),
		SourceHost:    row.Text("Source_Host"),
		SourceUUID:    row.Text("Source_UUID"),
		Receiver:      parseThreadState(row.Text("Replica_IO_Running")),
		Applier:       parseThreadState(row.Text("Replica_SQL_Running")),
		ReceiverError: ThreadError{int(row.number("Last_IO_Errno")), row.Text("Last_IO_Error")},
		ApplierError:  ThreadError{int(row.number("Last_SQL_Errno")), row.Text("Last_SQL_Error")},

		SourcePort:     int(row.number("Source_Port")),
		SourceServerID: uint32(row.number("Source_Server_Id")),
		SecondsBehind:  row.nullableInt("Seconds_Behind_Source"),
		Delay:          time.Duration(row.number("SQL_Delay")) * time.Second,
		RemainingDelay: row.nullableInt("SQL_Remaining_Delay"),

		Read: gtid.FilePos{File: row.Text("Source_Log_File"), Offset: row.number("Read_Source_Log_Pos")},
		Exec: gtid.FilePos{File: row.Text("Relay_Source_Log_File"), Offset: row.number("Exec_Source_Log_Pos")},

		AutoPosition: row.Text("Auto_Position") == "1",
		Fields:       row,
	}
	using := row.Text("Using_Gtid")
	c.UsingGTID = using != "" && !strings.EqualFold(using, "No")
	if seconds, err := strconv.ParseFloat(row.Text("Replica_heartbeat_period"), 64); err == nil {
		c.HeartbeatPeriod = time.Duration(seconds * float64(time.Second))
	}
	c.IgnoredDomains = parseIDs(row.Text("Replicate_Ignore_Domain_Ids"))
	c.OnlyDomains = parseIDs(row.Text("Replicate_Do_Domain_Ids"))
	var err error
	if c.Retrieved, err = gtid.Parse(row.Text("Retrieved_Gtid_Set")); err != nil {
		return c, err
	}
	c.ReceiverGTID, err = gtid.ParseDomainPos(row.Text("Gtid_IO_Pos"))
	return c, err
}

// parseIDs reads a list of domains, "1, 7" as the server writes it.
func parseIDs(text string) []uint32 {
	var ids []uint32
	for _, field := range strings.FieldsFunc(text, isListSeparator) {
		if id, err := strconv.ParseUint(field, 10, 32); err == nil {
			ids = append(ids, uint32(id))
		}
	}
	return ids
}

func isListSeparator(r rune) bool { return r == ',' || r == ' ' || r == '(' || r == ')' }

// number returns an unsigned column, 0 for NULL, no such column, or no number.
func (r Row) number(name string) uint64 {
	n, _ := strconv.ParseUint(r.Text(name), 10, 64)
	return n
}

// nullableInt returns a signed column; nil for NULL, no such column, or text
// that is no number: none of them is 0.
func (r Row) nullableInt(name string) *int64 {
	v := r.Lookup(name)
	if v == nil {
		return nil
	}
	n, err := strconv.ParseInt(*v, 10, 64)
	if err != nil {
		return nil
	}
	return &n
}
