package lag_test

import (
	"context"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/lag"
	"github.com/mysqlrw/mysqlrw/pkg/status/statustest"
	"github.com/mysqlrw/mysqlrw/waitpos"
)

// row is SHOW REPLICA STATUS of a healthy MySQL 8.4 replica, with changes.
func row(changes ...any) statustest.Answer {
	return changed("SHOW REPLICA STATUS", []any{
		"Replica_IO_Running", "Yes", "Replica_SQL_Running", "Yes",
		"Source_Host", "10.0.0.1", "Source_Port", "3306", "Source_Server_Id", "1",
		"Seconds_Behind_Source", "0", "SQL_Delay", "0", "SQL_Remaining_Delay", nil,
		"Source_Log_File", "bin.000002", "Read_Source_Log_Pos", "1000",
		"Relay_Source_Log_File", "bin.000002", "Exec_Source_Log_Pos", "1000",
		"Last_IO_Errno", "0", "Last_IO_Error", "", "Last_SQL_Errno", "0", "Last_SQL_Error", "",
		"Retrieved_Gtid_Set", "", "Executed_Gtid_Set", "", "Auto_Position", "0", "Channel_Name", "",
	}, changes)
}

// oldRow is SHOW ALL SLAVES STATUS of a healthy MariaDB replica, with changes.
func oldRow(changes ...any) statustest.Answer {
	return changed("SHOW ALL SLAVES STATUS", []any{
		"Connection_name", "", "Slave_IO_Running", "Yes", "Slave_SQL_Running", "Yes",
		"Master_Host", "10.0.0.1", "Master_Port", "3306", "Master_Server_Id", "1",
		"Seconds_Behind_Master", "0", "SQL_Delay", "0", "SQL_Remaining_Delay", nil,
		"Master_Log_File", "bin.000002", "Read_Master_Log_Pos", "1000",
		"Relay_Master_Log_File", "bin.000002", "Exec_Master_Log_Pos", "1000",
		"Using_Gtid", "Slave_Pos", "Gtid_IO_Pos", "0-1-11", "Gtid_Slave_Pos", "0-1-11",
	}, changes)
}

func changed(query string, pairs, changes []any) statustest.Answer {
	for i := 0; i < len(changes); i += 2 {
		found := false
		for j := 0; j < len(pairs); j += 2 {
			if pairs[j] == changes[i] {
				pairs[j+1], found = changes[i+1], true
			}
		}
		if !found {
			pairs = append(pairs, changes[i], changes[i+1])
		}
	}
	return statustest.Row(query, pairs...)
}

// without drops a column from an answer.
func without(a statustest.Answer, column string) statustest.Answer {
	for i, c := range a.Columns {
		if c == column {
			a.Columns = append(a.Columns[:i:i], a.Columns[i+1:]...)
			a.Rows[0] = append(a.Rows[0][:i:i], a.Rows[0][i+1:]...)
			return a
		}
	}
	panic("no column " + column)
}

var mysql84, mariadb1011 = statustest.Version("8.4.3"), statustest.Version("5.5.5-10.11.19-MariaDB-log")

// TestSeconds puts each row that a server is known to lie with to the method
// seconds.
func TestSeconds(t *testing.T) {
	t.Parallel()
	seconds := func(n int) lag.Lag { return lag.Known(time.Duration(n) * time.Second) }
	current := statustest.Row("gtid_current_pos", "v", "0-1-11")
	tests := []struct {
		name    string
		answers []statustest.Answer
		want    lag.Lag
	}{
		{"caught up", []statustest.Answer{mysql84, row()}, seconds(0)},
		{"behind", []statustest.Answer{mysql84, row("Seconds_Behind_Source", "7", "Exec_Source_Log_Pos", "4")}, seconds(7)},
		{"trap 3: receiver stopped, server shows 0", []statustest.Answer{mysql84, row("Replica_IO_Running", "No")}, lag.Unknown(lag.ReceiverStopped)},
		{"trap 3: receiver stopped, server shows a number", []statustest.Answer{mysql84, row("Replica_IO_Running", "No", "Seconds_Behind_Source", "9")}, lag.Unknown(lag.ReceiverStopped)},
		{"trap 4: NULL", []statustest.Answer{mysql84, row("Seconds_Behind_Source", nil)}, lag.Unknown(lag.NoValue)},
		{"trap 4: no such column", []statustest.Answer{mysql84, without(row(), "Seconds_Behind_Source")}, lag.Unknown(lag.NoValue)},
		{"trap 4: text that is no number", []statustest.Answer{mysql84, row("Seconds_Behind_Source", "NULL")}, lag.Unknown(lag.NoValue)},
		{"trap 5: restart with a backlog, MariaDB", []statustest.Answer{
			mariadb1011,
			oldRow("Gtid_Slave_Pos", "0-1-8", "Read_Master_Log_Pos", "2467", "Exec_Master_Log_Pos", "1828"),
			statustest.Row("gtid_current_pos", "v", "0-1-8"),
		}, lag.Unknown(lag.Backlog)},
		{"trap 6: checkpoint of parallel workers", []statustest.Answer{mysql84, row("Exec_Source_Log_Pos", "900")}, lag.Unknown(lag.Backlog)},
		{"trap 6: the same with GTIDs", []statustest.Answer{mysql84, row("Auto_Position", "1",
			"Retrieved_Gtid_Set", "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-9",
			"Executed_Gtid_Set", "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-8")}, lag.Unknown(lag.Backlog)},
		{"no backlog although the file differs in form", []statustest.Answer{
			mysql84,
			row("Source_Log_File", "bin.1000000", "Read_Source_Log_Pos", "4", "Relay_Source_Log_File", "bin.999999"),
		}, lag.Unknown(lag.Backlog)},
		{"trap 10: delayed on purpose, waiting", []statustest.Answer{
			mysql84,
			row("SQL_Delay", "3600", "SQL_Remaining_Delay", "17", "Seconds_Behind_Source", "3583", "Exec_Source_Log_Pos", "4"),
		}, seconds(0)},
		{"trap 10: behind on top of the delay", []statustest.Answer{mysql84, row("SQL_Delay", "3600", "Seconds_Behind_Source", "3613")}, seconds(13)},
		{"trap 14: connecting, server shows 0", []statustest.Answer{mysql84, row("Replica_IO_Running", "Connecting")}, lag.Unknown(lag.ReceiverConnecting)},
		{"trap 14: MariaDB's preparing", []statustest.Answer{mariadb1011, oldRow("Slave_IO_Running", "Preparing"), current}, lag.Unknown(lag.ReceiverConnecting)},
		{"applier stopped", []statustest.Answer{mysql84, row("Replica_SQL_Running", "No", "Seconds_Behind_Source", nil)}, lag.Unknown(lag.ApplierStopped)},
		{"applier stopped, server shows 0", []statustest.Answer{mysql84, row("Replica_SQL_Running", "No")}, lag.Unknown(lag.ApplierStopped)},
		{"thread columns missing", []statustest.Answer{mysql84, without(row(), "Replica_SQL_Running")}, lag.Unknown(lag.ApplierStopped)},
		{"no row: not a replica", []statustest.Answer{
			mysql84,
			{Query: "SHOW REPLICA STATUS", Columns: []string{"Channel_Name"}},
			{Query: "replication_group_members", Columns: []string{"role"}},
		}, lag.Unknown(lag.NotAReplica)},
		{"old statement and old words, MySQL 5.7", []statustest.Answer{
			statustest.Version("5.7.44-log"), statustest.Unknown("SHOW REPLICA STATUS"),
			changed("SHOW SLAVE STATUS", []any{"Slave_IO_Running", "Yes", "Slave_SQL_Running", "Yes", "Seconds_Behind_Master", "3"}, nil),
		}, seconds(3)},
		{"new statement with old words", []statustest.Answer{
			mysql84,
			changed("SHOW REPLICA STATUS", []any{"Slave_IO_Running", "Yes", "Slave_SQL_Running", "Yes", "Seconds_Behind_Master", "4"}, nil),
		}, seconds(4)},
		{"columns in another case and order", []statustest.Answer{
			mysql84,
			changed("SHOW REPLICA STATUS", []any{"SECONDS_BEHIND_SOURCE", "5", "replica_sql_running", "Yes", "x", "y", "replica_io_running", "Yes"}, nil),
		}, seconds(5)},
		{"MariaDB caught up", []statustest.Answer{mariadb1011, oldRow(), current}, seconds(0)},
		{"the applier has not opened its first file", []statustest.Answer{mysql84, row("Relay_Source_Log_File", "", "Exec_Source_Log_Pos", "0")}, lag.Unknown(lag.Backlog)},
		{"the source's log has got another name", []statustest.Answer{mysql84, row("Source_Log_File", "new.000001", "Read_Source_Log_Pos", "4")}, lag.Unknown(lag.Backlog)},
		{"receiver just started", []statustest.Answer{mysql84, row(), receiverAge("0")}, lag.Unknown(lag.ReceiverStarting)},
		{"receiver just started, MariaDB", []statustest.Answer{mariadb1011, oldRow(), current, receiverAge("1.9990")}, lag.Unknown(lag.ReceiverStarting)},
		{"receiver just started, and late", []statustest.Answer{mysql84, row("Seconds_Behind_Source", "8"), receiverAge("0")}, seconds(8)},
		{"receiver's age is hidden", []statustest.Answer{mariadb1011, oldRow(), current, receiverAge(nil)}, seconds(0)},
		{"receiver's age is refused", []statustest.Answer{mysql84, row(), {Query: "AS age", Number: 1142}}, seconds(0)},
		{"a version that only looks like MariaDB", []statustest.Answer{statustest.Version("26.10.0"), row("Seconds_Behind_Source", "2")}, seconds(2)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := measure(t, lag.Options{Method: lag.Seconds}, tt.answers...)
			if len(got) != 1 {
				t.Fatalf("got %d samples, want 1", len(got))
			}
			if got[0].Lag != tt.want {
				t.Errorf("got %v (%s), want %v", got[0].Lag, got[0].Detail, tt.want)
			}
		})
	}
}

// receiverAge is the answer for a receiver that has been running so long.
func receiverAge(seconds any) statustest.Answer {
	return statustest.Answer{Query: "AS age", Columns: []string{"age"}, Rows: [][]any{{seconds}}}
}

// measure puts the answers to a measurement; the receiver is an old one unless
// they say otherwise.
func measure(t *testing.T, o lag.Options, answers ...statustest.Answer) []lag.Sample {
	t.Helper()
	answers = append(answers, receiverAge("3600"))
	samples, err := lag.Measure(context.Background(), statustest.Open(t, answers...), o)
	if err != nil {
		t.Fatal(err)
	}
	return samples
}

// TestSeconds_busy: a 0 with transactions on their way is believed if they
// are applied within the method's resolution.
func TestSeconds_busy(t *testing.T) {
	t.Parallel()
	for _, reached := range []bool{true, false} {
		want := lag.Known(0)
		if !reached {
			want = lag.Unknown(lag.Backlog)
		}
		o := lag.Options{Method: lag.Seconds, Wait: func(_ context.Context, target waitpos.Target, o waitpos.Options) (waitpos.Result, error) {
			if target.String() != "bin.000002:1000" || o.Timeout != time.Second {
				t.Errorf("waits for %s for %s, want what was received, for a second", target, o.Timeout)
			}
			return waitpos.Result{Reached: reached}, nil
		}}
		if got := measure(t, o, mysql84, row("Exec_Source_Log_Pos", "900")); got[0].Lag != want {
			t.Errorf("applied %v: got %v, want %v", reached, got[0].Lag, want)
		}
	}
}

// TestMultiSource: every channel counts, and the worst one comes last.
func TestMultiSource(t *testing.T) {
	t.Parallel()
	answer := row("Channel_Name", "slow", "Seconds_Behind_Source", "50")
	for _, more := range []statustest.Answer{
		row("Channel_Name", "broken", "Replica_SQL_Running", "No"),
		row("Channel_Name", "fine"),
		row("Channel_Name", "late", "Seconds_Behind_Source", "5"),
	} {
		answer.Rows = append(answer.Rows, more.Rows...)
	}
	var got []string
	for _, s := range measure(t, lag.Options{Method: lag.Seconds}, mysql84, answer) {
		got = append(got, s.Channel+" "+s.Lag.String())
	}
	want := []string{"fine 0s", "late 5s", "slow 50s", "broken applier-stopped"}
	if len(got) != len(want) {
		t.Fatalf("got %q, want %q", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("got %q, want %q", got, want)
			break
		}
	}
}

// TestLag: the zero value is unknown, and unknown is no number.
func TestLag(t *testing.T) {
	t.Parallel()
	var zero lag.Lag
	if d, known := zero.Duration(); known || d != 0 || zero.Reason() != lag.NotMeasured {
		t.Errorf("zero Lag: got %v %v %v, want unknown for not-measured", d, known, zero.Reason())
	}
	if d, known := lag.Known(-time.Second).Duration(); !known || d != 0 {
		t.Errorf("negative lag: got %v %v, want 0", d, known)
	}
	for _, tt := range []struct {
		lag         lag.Lag
		limit       time.Duration
		over, known bool
	}{
		{lag.Known(time.Second), time.Second, false, true},
		{lag.Known(time.Second + 1), time.Second, true, true},
		{lag.Unknown(lag.NoValue), 0, false, false},
		{lag.MoreThan(5*time.Second, lag.BehindSource), time.Second, true, true},
		{lag.MoreThan(5*time.Second, lag.BehindSource), time.Minute, false, false},
		{zero, time.Hour, false, false},
	} {
		if over, known := tt.lag.Exceeds(tt.limit); over != tt.over || known != tt.known {
			t.Errorf("%v over %v: got %v %v, want %v %v", tt.lag, tt.limit, over, known, tt.over, tt.known)
		}
	}
}
