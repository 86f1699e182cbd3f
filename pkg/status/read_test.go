package status_test

import (
	"errors"
	"reflect"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/status"
	"github.com/mysqlrw/mysqlrw/pkg/status/statustest"
)

// mysqlPrimary are the answers of a MySQL 8.4 primary with one replica.
func mysqlPrimary() []statustest.Answer {
	return []statustest.Answer{
		statustest.Version("8.4.3"),
		statustest.Row("@@hostname", "hostname", "db1", "port", "3306", "id", "1", "ro", "0"),
		statustest.Row("@@server_uuid AS uuid", "uuid", uuid, "sro", "0", "gtid_mode", "ON"),
		statustest.Row("gtid_executed", "v", uuid+":1-9"),
		statustest.Row("gtid_purged", "v", uuid+":1-2"),
		statustest.Row("SHOW BINARY LOG STATUS", "File", "bin.000002", "Position", "1000"),
		{Query: "SHOW REPLICA STATUS", Columns: []string{"Channel_Name"}},
		statustest.Row("SHOW REPLICAS", "Server_Id", "2", "Host", "db2", "Port", "3306", "Source_Id", "1", "Replica_UUID", "4e11fa47-71ca-11e1-9e33-c80aa9429562"),
		{Query: "Rpl_semi_sync", Columns: []string{"Variable_name", "Value"}},
		{Query: "replication_group_members", Columns: []string{"role"}},
	}
}

// with puts answers before others, so that they win.
func with(answers []statustest.Answer, first ...statustest.Answer) []statustest.Answer {
	return append(first, answers...)
}

func read(t *testing.T, answers ...statustest.Answer) *status.Server {
	t.Helper()
	s, err := status.Read(t.Context(), statustest.Open(t, answers...))
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func TestRead_mysql(t *testing.T) {
	t.Parallel()
	s := read(t, mysqlPrimary()...)
	if s.Flavor != flavor.MySQL || s.Hostname != "db1" || s.Port != 3306 || s.ServerID != 1 || s.UUID != uuid ||
		s.ReadOnly || s.SuperReadOnly == nil || *s.SuperReadOnly || s.GTIDMode != "ON" ||
		s.Executed.String() != uuid+":1-9" || s.Purged.String() != uuid+":1-2" ||
		s.BinaryLog.String() != "bin.000002:1000" || s.Role() != status.Primary || s.Denied != nil {
		t.Errorf("got %+v", s)
	}
	want := []status.Downstream{{ServerID: 2, UUID: "4e11fa47-71ca-11e1-9e33-c80aa9429562", Host: "db2", Port: 3306}}
	if !reflect.DeepEqual(s.Replicas, want) {
		t.Errorf("got replicas %+v", s.Replicas)
	}
	if s.SemiSync.Source != nil || s.SemiSync.Replica != nil {
		t.Errorf("got semi-sync %+v without a plugin", s.SemiSync)
	}
}

// TestRead_old: MySQL 5.7, with the old statements and the old plugin.
func TestRead_old(t *testing.T) {
	t.Parallel()
	semi := statustest.Answer{
		Query: "Rpl_semi_sync", Columns: []string{"Variable_name", "Value"},
		Rows: [][]any{{"Rpl_semi_sync_master_status", "ON"}, {"Rpl_semi_sync_slave_status", "OFF"}},
	}
	s := read(t, with(mysqlPrimary(), statustest.Version("5.7.44-log"), semi,
		statustest.Unknown("SHOW BINARY LOG STATUS"), statustest.Unknown("SHOW REPLICA STATUS"), statustest.Unknown("SHOW REPLICAS"),
		statustest.Row("SHOW MASTER STATUS", "File", "bin.000003", "Position", "4"),
		renamed(newRow(), "SHOW SLAVE STATUS"),
		statustest.Row("SHOW SLAVE HOSTS", "Server_id", "3", "Host", "", "Port", "3306", "Master_id", "1", "Slave_UUID", "u"),
		statustest.Answer{Query: "replication_group_members", Number: 1054}, // MEMBER_ROLE came with 8.0.2
	)...)
	if s.BinaryLog.String() != "bin.000003:4" || len(s.Channels) != 1 || s.Role() != status.Intermediate ||
		len(s.Replicas) != 1 || s.Replicas[0] != (status.Downstream{ServerID: 3, UUID: "u", Port: 3306}) {
		t.Errorf("got %+v", s)
	}
	if s.SemiSync.Source == nil || !*s.SemiSync.Source || s.SemiSync.Replica == nil || *s.SemiSync.Replica {
		t.Errorf("got semi-sync %+v, want on and off", s.SemiSync)
	}
}

func TestRead_mariadb(t *testing.T) {
	t.Parallel()
	s := read(t, statustest.Version("12.0.2-MariaDB-log"),
		statustest.Row("@@hostname", "hostname", "db1", "port", "3306", "id", "1", "ro", "NO_LOCK_NO_ADMIN"),
		statustest.Row("gtid_current_pos", "v", "0-1-9,7-2-3"),
		statustest.Row("SHOW BINLOG STATUS", "File", "bin.000002", "Position", "1000"),
		statustest.Row("SHOW ALL SLAVES STATUS", "Connection_name", "a", "Master_Host", "h", "Master_Port", "3306"),
		statustest.Answer{Query: "SHOW REPLICA HOSTS", Columns: []string{"Server_id"}},
		statustest.Row("Rpl_semi_sync", "Variable_name", "Rpl_semi_sync_slave_status", "Value", "ON"))
	if s.Flavor != flavor.MariaDB || !s.ReadOnly || s.SuperReadOnly != nil || s.GTIDMode != "" || s.UUID != "" ||
		s.Executed.String() != "0-1-9,7-2-3" || !s.Purged.IsEmpty() || s.Role() != status.Replica {
		t.Errorf("got %+v", s)
	}
	if s.SemiSync.Source != nil || s.SemiSync.Replica == nil || !*s.SemiSync.Replica {
		t.Errorf("got semi-sync %+v, want on for the replica", s.SemiSync)
	}
}

// TestRead_denied: what may not be seen is listed, and nothing is made up.
func TestRead_denied(t *testing.T) {
	t.Parallel()
	s := read(t, with(mysqlPrimary(),
		statustest.Answer{Query: "SHOW BINARY LOG STATUS", Number: 1227}, statustest.Answer{Query: "SHOW REPLICA STATUS", Number: 1227},
		statustest.Answer{Query: "SHOW REPLICAS", Number: 1227}, statustest.Answer{Query: "replication_group_members", Number: 1142})...)
	want := []flavor.Need{flavor.ReadBinaryLog, flavor.ReadReplicaStatus, flavor.ListReplicas}
	if !reflect.DeepEqual(s.Denied, want) {
		t.Errorf("got denied %v, want %v", s.Denied, want)
	}
	if s.Role() != status.RoleUnknown {
		t.Errorf("got role %s of a server whose channels are hidden, want unknown", s.Role())
	}
	if s.Executed.IsEmpty() || !s.BinaryLog.IsZero() {
		t.Errorf("got %+v", s)
	}
}

func TestRead_noBinaryLog(t *testing.T) {
	t.Parallel()
	for name, answer := range map[string]statustest.Answer{
		"no row":     {Query: "SHOW BINARY LOG STATUS", Columns: []string{"File"}},
		"error 1381": {Query: "SHOW BINARY LOG STATUS", Number: 1381},
	} {
		if s := read(t, with(mysqlPrimary(), answer)...); !s.BinaryLog.IsZero() || s.Denied != nil {
			t.Errorf("%s: got %+v", name, s)
		}
	}
}

// TestRead_errors: every error that is no lack of privilege is an error.
func TestRead_errors(t *testing.T) {
	t.Parallel()
	for _, statement := range []string{
		"VERSION()", "@@hostname", "@@server_uuid AS uuid", "gtid_executed", "gtid_purged", "SHOW BINARY LOG STATUS",
		"SHOW REPLICA STATUS", "SHOW REPLICAS", "Rpl_semi_sync", "replication_group_members",
	} {
		db := statustest.Open(t, with(mysqlPrimary(), statustest.Answer{Query: statement, Number: 1317})...)
		if _, err := status.Read(t.Context(), db); !status.HasNumber(err, 1317) {
			t.Errorf("%s: got %v, want error 1317", statement, err)
		}
	}
	for _, statement := range []string{"VERSION()", "@@hostname", "@@server_uuid AS uuid", "gtid_executed"} {
		db := statustest.Open(t, with(mysqlPrimary(), statustest.Answer{Query: statement, Columns: []string{"v"}})...)
		if _, err := status.Read(t.Context(), db); !errors.Is(err, status.ErrRows) {
			t.Errorf("%s without a row: got %v, want ErrRows", statement, err)
		}
	}
}

func TestRole(t *testing.T) {
	t.Parallel()
	channel, below := []status.Channel{{}}, []status.Downstream{{}}
	for _, tt := range []struct {
		s    status.Server
		want status.Role
	}{
		{status.Server{}, status.Primary},
		{status.Server{Replicas: below}, status.Primary},
		{status.Server{ReadOnly: true}, status.Standalone},
		{status.Server{ReadOnly: true, Channels: channel}, status.Replica},
		{status.Server{Channels: channel, Replicas: below}, status.Intermediate},
		{status.Server{ReadOnly: true, Group: "SECONDARY"}, status.Replica},
		{status.Server{Group: "PRIMARY"}, status.Primary},
		{status.Server{Denied: []flavor.Need{flavor.ReadReplicaStatus}}, status.RoleUnknown},
		{status.Server{Denied: []flavor.Need{flavor.ReadReplicaStatus}, Group: "SECONDARY"}, status.Replica},
		{status.Server{Denied: []flavor.Need{flavor.ListReplicas}, Channels: channel}, status.Replica},
	} {
		if got := tt.s.Role(); got != tt.want {
			t.Errorf("%+v: got %s, want %s", tt.s, got, tt.want)
		}
	}
}

func TestAccount(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"u@%": "'u'@'%'", "o'neil@10.0.0.%": "'o''neil'@'10.0.0.%'", "a@b@localhost": "'a@b'@'localhost'", `a\b@h`: `'a\\b'@'h'`, "@h": "''@'h'",
	} {
		got, err := status.Account(t.Context(), statustest.Open(t, statustest.Row("CURRENT_USER()", "account", text)))
		if err != nil || got != want {
			t.Errorf("%q: got %s %v, want %s", text, got, err, want)
		}
	}
}

func TestGTIDOnly(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		answer statustest.Answer
		want   bool
	}{
		{statustest.Row("replication_connection_configuration", "v", "1"), true},
		{statustest.Row("replication_connection_configuration", "v", "0"), false},
		{statustest.Answer{Query: "GTID_ONLY", Columns: []string{"v"}}, false},
		{statustest.Answer{Query: "GTID_ONLY", Number: 1054}, false}, // before 8.0.27
		{statustest.Answer{Query: "GTID_ONLY", Number: 1142}, false},
	} {
		got, err := status.GTIDOnly(t.Context(), statustest.Open(t, tt.answer), "c")
		if err != nil || got != tt.want {
			t.Errorf("%+v: got %v %v, want %v", tt.answer, got, err, tt.want)
		}
	}
	if _, err := status.GTIDOnly(t.Context(), statustest.Open(t, statustest.Answer{Query: "GTID_ONLY", Number: 1317}), "c"); err == nil {
		t.Error("got no error")
	}
}

// TestLadder: only a statement or a function that the server does not know
// leads to the next one.
func TestLadder(t *testing.T) {
	t.Parallel()
	for number, next := range map[uint16]bool{1064: true, 1305: true, 1046: true, 1370: true, 1227: false, 1142: false, 1317: false, 1193: false} {
		db := statustest.Open(t, statustest.Answer{Query: "NEW", Number: number}, statustest.Row("OLD", "v", "1"))
		rows, err := status.Ladder(t.Context(), db, []string{"NEW", "OLD"})
		if next != (err == nil && len(rows) == 1) || !next && !status.HasNumber(err, number) {
			t.Errorf("after error %d: got %v %v", number, rows, err)
		}
	}
	db := statustest.Open(t, statustest.Unknown("NEW"), statustest.Unknown("OLD"))
	if _, err := status.Ladder(t.Context(), db, []string{"NEW", "OLD"}); !status.HasNumber(err, 1064) {
		t.Errorf("nothing known: got %v, want error 1064", err)
	}
	if status.HasNumber(errors.New("Error 1064"), 1064) {
		t.Error("an error is told by its text")
	}
}
