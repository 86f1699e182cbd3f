package status_test

import (
	"errors"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/status"
	"github.com/mysqlrw/mysqlrw/pkg/status/statustest"
)

const uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562"

// newRow is SHOW REPLICA STATUS of MySQL 8.0.22 and later.
func newRow(changes ...any) statustest.Answer {
	return statustest.Row("SHOW REPLICA STATUS", append([]any{
		"Replica_IO_State", "Waiting for source to send event", "Source_Host", "10.0.0.1", "Source_User", "repl", "Source_Port", "3306",
		"Source_Log_File", "bin.000002", "Read_Source_Log_Pos", "1000", "Relay_Source_Log_File", "bin.000001", "Exec_Source_Log_Pos", "900",
		"Replica_IO_Running", "Yes", "Replica_SQL_Running", "No", "Last_IO_Errno", "0", "Last_IO_Error", "",
		"Seconds_Behind_Source", "7", "Last_SQL_Errno", "1062", "Last_SQL_Error", "Duplicate entry",
		"Source_Server_Id", "1", "Source_UUID", uuid, "SQL_Delay", "60", "SQL_Remaining_Delay", "17",
		"Retrieved_Gtid_Set", uuid + ":1-5,\n4e11fa47-71ca-11e1-9e33-c80aa9429562:1", "Executed_Gtid_Set", uuid + ":1-4",
		"Auto_Position", "1", "Channel_Name", "c",
	}, changes...)...)
}

// renamed gives an answer's columns the old words.
func renamed(a statustest.Answer, query string) statustest.Answer {
	a.Query = query
	old := strings.NewReplacer("Source_", "Master_", "_Source", "_Master", "Replica_", "Slave_")
	columns := make([]string, len(a.Columns))
	for i, c := range a.Columns {
		columns[i] = old.Replace(c)
	}
	a.Columns = columns
	return a
}

func channels(t *testing.T, f flavor.Flavor, answers ...statustest.Answer) []status.Channel {
	t.Helper()
	got, err := status.Channels(t.Context(), statustest.Open(t, answers...), f)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func number(n int64) *int64 { return &n }

// TestChannels_mysql: every version fills the same fields.
func TestChannels_mysql(t *testing.T) {
	t.Parallel()
	set, err := gtid.Parse(uuid + ":1-5,4e11fa47-71ca-11e1-9e33-c80aa9429562:1")
	if err != nil {
		t.Fatal(err)
	}
	want := status.Channel{
		Name: "c", SourceHost: "10.0.0.1", SourcePort: 3306, SourceServerID: 1, SourceUUID: uuid,
		Receiver: status.Running, Applier: status.Stopped,
		ApplierError:  status.ThreadError{Number: 1062, Message: "Duplicate entry"},
		SecondsBehind: number(7), Delay: time.Minute, RemainingDelay: number(17),
		Read: gtid.FilePos{File: "bin.000002", Offset: 1000}, Exec: gtid.FilePos{File: "bin.000001", Offset: 900},
		Retrieved: set, AutoPosition: true,
	}
	for name, answers := range map[string][]statustest.Answer{
		"8.4, 9.7":                     {newRow("Network_Namespace", "")},
		"8.0.21":                       {statustest.Unknown("SHOW REPLICA STATUS"), renamed(newRow("Get_Source_public_key", "0"), "SHOW SLAVE STATUS")},
		"5.7":                          {statustest.Unknown("SHOW REPLICA STATUS"), renamed(newRow(), "SHOW SLAVE STATUS")},
		"new statement with old words": {renamed(newRow(), "SHOW REPLICA STATUS")},
	} {
		got := channels(t, flavor.MySQL, answers...)
		if len(got) != 1 {
			t.Fatalf("%s: got %d channels, want 1", name, len(got))
		}
		if len(got[0].Fields) < 20 || got[0].Fields.Text("source_user") != "repl" || got[0].Source() != "10.0.0.1:3306" {
			t.Errorf("%s: got fields %v", name, got[0].Fields)
		}
		for _, f := range got[0].Fields {
			if strings.Contains(f.Name, "Master") || strings.Contains(f.Name, "Slave") {
				t.Errorf("%s: the field %s has an old name", name, f.Name)
			}
		}
		got[0].Fields = nil
		if !got[0].Retrieved.Equal(want.Retrieved) {
			t.Errorf("%s: got retrieved %s", name, got[0].Retrieved)
		}
		got[0].Retrieved = want.Retrieved
		if !reflect.DeepEqual(got[0], want) {
			t.Errorf("%s: got\n%+v\nwant\n%+v", name, got[0], want)
		}
	}
}

// TestChannels_mariadb: the columns of 10.5, 10.11 and 11.8.
func TestChannels_mariadb(t *testing.T) {
	t.Parallel()
	pos, err := gtid.ParseDomainPos("0-1-11,7-2-3")
	if err != nil {
		t.Fatal(err)
	}
	base := []any{
		"Connection_name", "C", "Slave_SQL_State", "", "Slave_IO_State", "", "Master_Host", "h", "Master_User", "repl", "Master_Port", "3307",
		"Master_Log_File", "bin.000002", "Read_Master_Log_Pos", "1000", "Relay_Master_Log_File", "bin.000002", "Exec_Master_Log_Pos", "1000",
		"Slave_IO_Running", "Connecting", "Slave_SQL_Running", "Yes", "Seconds_Behind_Master", nil, "Last_IO_Errno", "2003", "Last_IO_Error", "no",
		"Master_Server_Id", "5", "Using_Gtid", "Slave_Pos", "Gtid_IO_Pos", "0-1-11,7-2-3",
		"Replicate_Do_Domain_Ids", "", "Replicate_Ignore_Domain_Ids", "1, 7", "SQL_Delay", "0", "SQL_Remaining_Delay", nil,
		"Slave_heartbeat_period", "30.500", "Gtid_Slave_Pos", "0-1-11",
	}
	want := status.Channel{
		Name: "C", SourceHost: "h", SourcePort: 3307, SourceServerID: 5, Receiver: status.Connecting, Applier: status.Running,
		ReceiverError: status.ThreadError{Number: 2003, Message: "no"}, UsingGTID: true, ReceiverGTID: pos,
		Read: gtid.FilePos{File: "bin.000002", Offset: 1000}, Exec: gtid.FilePos{File: "bin.000002", Offset: 1000},
		IgnoredDomains: []uint32{1, 7}, HeartbeatPeriod: 30500 * time.Millisecond,
	}
	for name, more := range map[string][]any{
		"10.5":  nil,
		"10.11": {"Replicate_Rewrite_DB", ""},
		"11.8":  {"Replicate_Rewrite_DB", "", "Master_last_event_time", nil, "Slave_last_event_time", nil, "Master_Slave_time_diff", nil},
	} {
		got := channels(t, flavor.MariaDB, statustest.Row("SHOW ALL SLAVES STATUS", append(base[:len(base):len(base)], more...)...))[0]
		if v := got.Fields.Lookup("Source_Replica_time_diff"); v != nil {
			t.Errorf("%s: NULL is %q", name, *v)
		}
		got.Fields = nil
		if !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got\n%+v\nwant\n%+v", name, got, want)
		}
	}
	only := channels(t, flavor.MariaDB, statustest.Row("SHOW ALL SLAVES STATUS", "Using_Gtid", "No", "Replicate_Do_Domain_Ids", "3, 4"))[0]
	if only.UsingGTID || !reflect.DeepEqual(only.OnlyDomains, []uint32{3, 4}) || only.IgnoredDomains != nil {
		t.Errorf("got %+v", only)
	}
}

func TestChannels_odd(t *testing.T) {
	t.Parallel()
	if got := channels(t, flavor.MySQL, statustest.Answer{Query: "SHOW REPLICA STATUS", Columns: []string{"Channel_Name"}}); len(got) != 0 {
		t.Errorf("no row: got %+v, want no channel", got)
	}
	// Nothing that is not there is 0 where 0 would mean something.
	empty := channels(t, flavor.MySQL, statustest.Row("SHOW REPLICA STATUS", "Channel_Name", ""))[0]
	if empty.SecondsBehind != nil || empty.RemainingDelay != nil || empty.Receiver != status.ThreadUnknown || !empty.Read.IsZero() {
		t.Errorf("no columns: got %+v", empty)
	}
	for text, want := range map[string]status.ThreadState{
		"Yes": status.Running, "YES": status.Running, "No": status.Stopped, "Connecting": status.Connecting,
		"Preparing": status.Connecting, "": status.ThreadUnknown, "Maybe": status.ThreadUnknown,
	} {
		c := channels(t, flavor.MySQL, statustest.Row("SHOW REPLICA STATUS", "Replica_IO_Running", text))[0]
		if c.Receiver != want {
			t.Errorf("%q: got %s, want %s", text, c.Receiver, want)
		}
	}
	db := statustest.Open(t, statustest.Row("SHOW REPLICA STATUS", "Retrieved_Gtid_Set", "nonsense"))
	if _, err := status.Channels(t.Context(), db, flavor.MySQL); err == nil {
		t.Error("a set that is none: got no error")
	}
	db = statustest.Open(t, statustest.Answer{Query: "SHOW REPLICA STATUS", Number: 1227})
	var denied *status.PrivilegeError
	if _, err := status.Channels(t.Context(), db, flavor.MySQL); !errors.As(err, &denied) || denied.Need != flavor.ReadReplicaStatus || !status.IsDenied(err) {
		t.Errorf("got %v, want a PrivilegeError", err)
	}
}

func TestWords(t *testing.T) {
	t.Parallel()
	for got, want := range map[string]string{
		status.Running.String(): "running", status.Connecting.String(): "connecting", status.Stopped.String(): "stopped",
		status.ThreadUnknown.String(): "unknown", status.Primary.String(): "primary", status.Replica.String(): "replica",
		status.Intermediate.String(): "intermediate", status.Standalone.String(): "standalone", status.Role(99).String(): "unknown",
		status.ThreadError{Message: "no number, no error"}.String(): "", status.ThreadError{Number: 7, Message: "m"}.String(): "error 7: m",
	} {
		if got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	}
}
