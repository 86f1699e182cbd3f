package status

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
)

// Role is a server's place in replication, as far as it can be told from that
// server alone.
type Role uint8

// The roles. A group replication member has the role of its member state. The
// role is unknown to an account that may not see the channels.
const (
	RoleUnknown  Role = iota
	Primary           // no channel, takes writes
	Replica           // at least one channel
	Intermediate      // at least one channel, and replicas of its own
	Standalone        // no channel, and read-only: nothing brings it new data
)

// String returns the role in lower case.
func (r Role) String() string {
	switch r {
	case Primary:
		return "primary"
	case Replica:
		return "replica"
	case Intermediate:
		return "intermediate"
	case Standalone:
		return "standalone"
	default:
		return "unknown"
	}
}

// MarshalText returns the same word as String.
func (r Role) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Downstream is a replica that is connected to a server, as that server lists it.
type Downstream struct {
	ServerID uint32
	UUID     string // "" on MariaDB
	Host     string // its report_host; "" if it does not report one
	Port     int
}

// SemiSync says which sides of semi-synchronous replication are active. nil
// means that the plugin is not loaded.
type SemiSync struct {
	Source  *bool
	Replica *bool
}

// Server is what one server says about itself at one moment.
type Server struct {
	flavor.Server
	Hostname      string
	Port          int
	ServerID      uint32
	UUID          string // "" on MariaDB
	ReadOnly      bool
	SuperReadOnly *bool  // nil on a server that does not have it (MariaDB)
	GTIDMode      string // MySQL's gtid_mode; "" on MariaDB, which always has GTIDs
	Executed      gtid.Value
	Purged        gtid.Value   // always empty on MariaDB
	BinaryLog     gtid.FilePos // zero if the server writes none
	Channels      []Channel
	Replicas      []Downstream
	SemiSync      SemiSync
	Group         string // state of a group replication member, "" if it is none
	Denied        []flavor.Need
}

// Role tells the server's role.
func (s *Server) Role() Role {
	switch {
	case len(s.Channels) > 0 && len(s.Replicas) > 0:
		return Intermediate
	case len(s.Channels) > 0 || s.Group == "SECONDARY":
		return Replica
	case slices.Contains(s.Denied, flavor.ReadReplicaStatus):
		return RoleUnknown
	case !s.ReadOnly:
		return Primary
	default:
		return Standalone
	}
}

// Identify asks a server for its version.
func Identify(ctx context.Context, q Querier) (flavor.Server, error) {
	row, err := QueryRow(ctx, q, "SELECT VERSION() AS version")
	if err != nil {
		return flavor.Server{}, fmt.Errorf("read version: %w", err)
	}
	return flavor.Parse(row.Text("version")), nil
}

// Read reads the whole record. Missing privileges for parts of it are listed
// in Denied; an error means that the server could not be read at all.
func Read(ctx context.Context, q Querier) (*Server, error) {
	identity, err := Identify(ctx, q)
	if err != nil {
		return nil, err
	}
	s := &Server{Server: identity}
	for _, step := range []func(context.Context, Querier) error{
		s.readVariables, s.readSets, s.readBinaryLog, s.readChannels, s.readReplicas, s.readSemiSync, s.readGroup,
	} {
		if err := step(ctx, q); err != nil {
			return nil, err
		}
	}
	return s, nil
}

// denied takes note of a refused part; any other error goes on to the caller.
func (s *Server) denied(err error, need flavor.Need) error {
	if IsDenied(err) {
		s.Denied = append(s.Denied, need)
		return nil
	}
	return err
}

func (s *Server) readVariables(ctx context.Context, q Querier) error {
	row, err := QueryRow(ctx, q, "SELECT @@hostname AS hostname, @@port AS port, @@server_id AS id, @@GLOBAL.read_only AS ro")
	if err != nil {
		return fmt.Errorf("read variables: %w", err)
	}
	s.Hostname, s.Port = row.Text("hostname"), int(row.number("port"))
	s.ServerID, s.ReadOnly = uint32(row.number("id")), isOn(row.Text("ro"))
	if s.Flavor == flavor.MariaDB {
		return nil
	}
	row, err = QueryRow(ctx, q, "SELECT @@server_uuid AS uuid, @@GLOBAL.super_read_only AS sro, @@GLOBAL.gtid_mode AS gtid_mode")
	if err != nil {
		return fmt.Errorf("read variables: %w", err)
	}
	superReadOnly := isOn(row.Text("sro"))
	s.UUID, s.SuperReadOnly, s.GTIDMode = row.Text("uuid"), &superReadOnly, row.Text("gtid_mode")
	return nil
}

// isOn reads a boolean variable: servers answer 1, ON, or since MariaDB 12 a word.
func isOn(text string) bool {
	return text != "" && text != "0" && !strings.EqualFold(text, "OFF")
}

func (s *Server) readSets(ctx context.Context, q Querier) (err error) {
	if s.Executed, err = Executed(ctx, q, s.Flavor); err != nil {
		return err
	}
	s.Purged, err = Purged(ctx, q, s.Flavor)
	return err
}

// Executed returns the position up to which a server's data goes: MySQL's
// gtid_executed; MariaDB's gtid_current_pos, which on a replica is what its
// appliers have committed and on a primary what it has written itself.
func Executed(ctx context.Context, q Querier, f flavor.Flavor) (gtid.Value, error) {
	if f == flavor.MariaDB {
		return readValue(ctx, q, f, "gtid_current_pos")
	}
	return readValue(ctx, q, f, "gtid_executed")
}

// Sendable returns the position that a replica of this server has once it has
// received and applied everything there is now: MySQL's gtid_executed,
// MariaDB's gtid_binlog_pos. On MariaDB it runs ahead of what the server's own
// readers see, so it is good as a target to wait for and for nothing else.
func Sendable(ctx context.Context, q Querier, f flavor.Flavor) (gtid.Value, error) {
	if f == flavor.MariaDB {
		return readValue(ctx, q, f, "gtid_binlog_pos")
	}
	return readValue(ctx, q, f, "gtid_executed")
}

// Purged returns the transactions that a server cannot send any more. MariaDB
// does not keep that set: it is empty there.
func Purged(ctx context.Context, q Querier, f flavor.Flavor) (gtid.Value, error) {
	if f == flavor.MariaDB {
		return gtid.Value{}, nil
	}
	return readValue(ctx, q, f, "gtid_purged")
}

func readValue(ctx context.Context, q Querier, f flavor.Flavor, variable string) (gtid.Value, error) {
	row, err := QueryRow(ctx, q, "SELECT @@GLOBAL."+variable+" AS v")
	if err != nil {
		return gtid.Value{}, fmt.Errorf("read %s: %w", variable, err)
	}
	v, err := parseValue(f, row.Text("v"))
	if err != nil {
		return gtid.Value{}, fmt.Errorf("read %s: %w", variable, err)
	}
	return v, nil
}

func parseValue(f flavor.Flavor, text string) (gtid.Value, error) {
	if f == flavor.MariaDB {
		pos, err := gtid.ParseDomainPos(text)
		return pos.Value(), err
	}
	set, err := gtid.Parse(text)
	return set.Value(), err
}

func (s *Server) readBinaryLog(ctx context.Context, q Querier) error {
	var err error
	s.BinaryLog, err = BinaryLog(ctx, q, s.Flavor)
	if errors.Is(err, ErrNoBinaryLog) {
		return nil
	}
	return s.denied(err, flavor.ReadBinaryLog)
}

// ErrNoBinaryLog is returned for a server that writes no binary log.
var ErrNoBinaryLog = errors.New("the server writes no binary log")

// BinaryLog returns the end of a server's own binary log.
func BinaryLog(ctx context.Context, q Querier, f flavor.Flavor) (gtid.FilePos, error) {
	rows, err := Ladder(ctx, q, flavor.BinaryLogStatus(f))
	if HasNumber(err, errNoBinaryLogging) || err == nil && len(rows) == 0 {
		return gtid.FilePos{}, ErrNoBinaryLog
	}
	if err != nil {
		return gtid.FilePos{}, needs(flavor.ReadBinaryLog, "binary log status", err)
	}
	return gtid.FilePos{File: rows[0].Text("File"), Offset: rows[0].number("Position")}, nil
}

func (s *Server) readChannels(ctx context.Context, q Querier) error {
	var err error
	s.Channels, err = Channels(ctx, q, s.Flavor)
	return s.denied(err, flavor.ReadReplicaStatus)
}

func (s *Server) readReplicas(ctx context.Context, q Querier) error {
	rows, err := Ladder(ctx, q, flavor.Replicas(s.Flavor))
	for _, row := range rows {
		s.Replicas = append(s.Replicas, Downstream{
			ServerID: uint32(row.number("Server_id")),
			UUID:     row.Text("Replica_UUID"),
			Host:     row.Text("Host"),
			Port:     int(row.number("Port")),
		})
	}
	// The server lists them in the order of a hash.
	slices.SortFunc(s.Replicas, func(a, b Downstream) int { return cmp.Compare(a.ServerID, b.ServerID) })
	return s.denied(err, flavor.ListReplicas)
}

func (s *Server) readSemiSync(ctx context.Context, q Querier) error {
	rows, err := Query(ctx, q, "SHOW GLOBAL STATUS LIKE 'Rpl_semi_sync_%_status'")
	if err != nil {
		return fmt.Errorf("read semi-sync status: %w", err)
	}
	for _, row := range rows {
		on := isOn(row.Text("Value"))
		switch flavor.SemiSyncSide(row.Text("Variable_name")) {
		case flavor.SourceSide:
			s.SemiSync.Source = &on
		case flavor.ReplicaSide:
			s.SemiSync.Replica = &on
		}
	}
	return nil
}

func (s *Server) readGroup(ctx context.Context, q Querier) (err error) {
	s.Group, err = GroupRole(ctx, q, s.Flavor)
	return err
}

// GroupRole returns PRIMARY or SECONDARY for an active member of a MySQL
// replication group, and "" for any other server. A member applies what the
// group sends it although SHOW REPLICA STATUS lists no channel for it.
func GroupRole(ctx context.Context, q Querier, f flavor.Flavor) (string, error) {
	if f != flavor.MySQL {
		return "", nil
	}
	rows, err := Query(ctx, q, "SELECT MEMBER_ROLE AS role FROM performance_schema.replication_group_members"+
		" WHERE MEMBER_ID = @@server_uuid AND MEMBER_STATE IN ('ONLINE', 'RECOVERING')")
	if IsMissing(err) || IsDenied(err) || err == nil && len(rows) == 0 {
		return "", nil
	}
	if err != nil {
		return "", fmt.Errorf("read group membership: %w", err)
	}
	return rows[0].Text("role"), nil
}

// GTIDOnly reports whether a MySQL channel keeps no binary log positions
// (GTID_ONLY = 1, from 8.0.27). It is false for an account that may not see it.
func GTIDOnly(ctx context.Context, q Querier, channel string) (bool, error) {
	rows, err := Query(ctx, q, "SELECT GTID_ONLY AS v FROM performance_schema.replication_connection_configuration"+
		" WHERE CHANNEL_NAME = ?", channel)
	if IsMissing(err) || IsDenied(err) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("read channel configuration: %w", err)
	}
	return len(rows) > 0 && rows[0].Text("v") == "1", nil
}

// Account returns the account that a connection is authenticated as, quoted
// as GRANT wants it.
func Account(ctx context.Context, q Querier) (string, error) {
	row, err := QueryRow(ctx, q, "SELECT CURRENT_USER() AS account")
	if err != nil {
		return "", fmt.Errorf("read account: %w", err)
	}
	user, host := row.Text("account"), ""
	if at := strings.LastIndexByte(user, '@'); at >= 0 {
		user, host = user[:at], user[at+1:]
	}
	return flavor.Quote(user) + "@" + flavor.Quote(host), nil
}
