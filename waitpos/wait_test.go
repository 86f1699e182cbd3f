package waitpos_test

import (
	"errors"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/status"
	"github.com/mysqlrw/mysqlrw/pkg/status/statustest"
	"github.com/mysqlrw/mysqlrw/waitpos"
)

const uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562"

// scripted puts the answers that every wait needs after the given ones.
func scripted(version string, answers ...statustest.Answer) []statustest.Answer {
	return append(answers, statustest.Version(version),
		statustest.Row("CONNECTION_ID()", "id", "7", "server", "host/3306/2"),
		statustest.Answer{Query: "SET SESSION"},
		statustest.Row("gtid_mode", "mode", "ON"),
		statustest.Answer{Query: "replication_group_members", Columns: []string{"role"}},
		statustest.Answer{Query: "GTID_ONLY", Columns: []string{"v"}},
	)
}

func replica(pairs ...any) statustest.Answer {
	return statustest.Row("SHOW REPLICA STATUS", append([]any{
		"Replica_IO_Running", "Yes", "Replica_SQL_Running", "Yes", "Channel_Name", "",
		"Source_Log_File", "bin.000002", "Read_Source_Log_Pos", "1000", "Source_UUID", uuid,
	}, pairs...)...)
}

func parse(t *testing.T, text string) waitpos.Target {
	t.Helper()
	v, err := gtid.ParseValue(text)
	if err != nil {
		t.Fatal(err)
	}
	return waitpos.GTIDs(v)
}

// TestWait_names: where the new name of the wait function is not known, the
// old one is called: by the error for no such function, for none without a
// database, and for none that the account may run.
func TestWait_names(t *testing.T) {
	t.Parallel()
	target, err := waitpos.FilePosition(gtid.FilePos{File: "bin.000002", Offset: 1000})
	if err != nil {
		t.Fatal(err)
	}
	for _, number := range []uint16{1305, 1046, 1370, 1064} {
		behind := replica("Relay_Source_Log_File", "bin.000002", "Exec_Source_Log_Pos", "900")
		behind.Repeat = 2 // once to find the channel
		there := replica("Relay_Source_Log_File", "bin.000002", "Exec_Source_Log_Pos", "1000")
		waits := statustest.Row("SELECT MASTER_POS_WAIT", "n", "1")
		db := statustest.Open(t, scripted("5.7.44-log", behind, there,
			statustest.Answer{Query: "SELECT SOURCE_POS_WAIT", Number: number}, waits)...)
		r, err := waitpos.Wait(testContext(t), db, target, waitpos.Options{Timeout: forever})
		if err != nil || !r.Reached || r.AtOnce {
			t.Errorf("after error %d: got %+v %v, want reached, and not at once", number, r, err)
		}
	}
}

// TestWait_answer: the number that a wait function answers decides nothing.
func TestWait_answer(t *testing.T) {
	t.Parallel()
	for _, answer := range []any{"0", "1", "-1", nil} {
		before := statustest.Row("gtid_executed", "v", uuid+":1-4")
		before.Repeat = 3
		db := statustest.Open(t, scripted("8.4.3", before, statustest.Row("gtid_executed", "v", uuid+":1-5"), replica(),
			statustest.Row("WAIT_FOR_EXECUTED_GTID_SET", "n", answer))...)
		looks := 0
		r, err := waitpos.Wait(testContext(t), db, parse(t, uuid+":5"), waitpos.Options{
			Timeout:  forever,
			Progress: func(waitpos.Progress) { looks++ },
		})
		if err != nil || !r.Reached || looks != 3 {
			t.Errorf("answer %v: got %+v %v after %d looks, want reached after 3", answer, r, err, looks)
		}
	}
}

func TestWait_without(t *testing.T) {
	t.Parallel()
	executed := statustest.Row("gtid_executed", "v", uuid+":1-4")
	waits := statustest.Row("WAIT_FOR_EXECUTED_GTID_SET", "n", "1")
	none := statustest.Answer{Query: "SHOW REPLICA STATUS", Columns: []string{"Channel_Name"}}
	for _, tt := range []struct {
		name    string
		answers []statustest.Answer
		want    waitpos.Reason
	}{
		{"privilege to see the channels", []statustest.Answer{executed, waits, {Query: "SHOW REPLICA STATUS", Number: 1227}}, waitpos.Timeout},
		{"channels", []statustest.Answer{executed, waits, none}, waitpos.NotAReplica},
		{"channels, but in a group", []statustest.Answer{executed, waits, none, statustest.Row("replication_group_members", "role", "SECONDARY")}, waitpos.Timeout},
		{"time", []statustest.Answer{executed, waits, replica("Replica_SQL_Running", "Yes")}, waitpos.Timeout},
	} {
		r, err := waitpos.Wait(testContext(t), statustest.Open(t, scripted("8.4.3", tt.answers...)...), parse(t, uuid+":5"),
			waitpos.Options{Timeout: 50 * time.Millisecond})
		if err != nil || r.Reached || r.Reason != tt.want || r.Missing != uuid+":5" || r.Count != 1 {
			t.Errorf("without %s: got %+v %v, want %s", tt.name, r, err, tt.want)
		}
	}
}

func TestWait_errors(t *testing.T) {
	t.Parallel()
	file, err := waitpos.FilePosition(gtid.FilePos{File: "bin.000002", Offset: 1000})
	if err != nil {
		t.Fatal(err)
	}
	two := replica("Channel_Name", "a")
	two.Rows = append(two.Rows, replica("Channel_Name", "b").Rows...)
	for _, tt := range []struct {
		name    string
		target  waitpos.Target
		answers []statustest.Answer
		want    error
	}{
		{"GTIDs off", parse(t, uuid+":5"), []statustest.Answer{statustest.Row("gtid_mode", "mode", "OFF")}, waitpos.ErrGTIDOff},
		{"a MariaDB position", parse(t, "0-1-5"), nil, waitpos.ErrFlavor},
		{"two channels", file, []statustest.Answer{two}, waitpos.ErrChannel},
		{"GTID_ONLY", file, []statustest.Answer{replica(), statustest.Row("GTID_ONLY", "v", "1")}, waitpos.ErrNoPositions},
		{"no rows for one", parse(t, uuid+":5"), []statustest.Answer{{Query: "VERSION()", Columns: []string{"version"}}}, status.ErrRows},
	} {
		_, err := waitpos.Wait(testContext(t), statustest.Open(t, scripted("8.4.3", tt.answers...)...), tt.target, waitpos.Options{})
		if !errors.Is(err, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, err, tt.want)
		}
	}
}

func TestFilePosition(t *testing.T) {
	t.Parallel()
	for _, name := range []string{"", "bin", "bin.", ".000001", "bin.x", "bin.+1", "bin.-1", "bin.0x1", "bin.99999999999999999999"} {
		if _, err := waitpos.FilePosition(gtid.FilePos{File: name, Offset: 4}); err == nil {
			t.Errorf("%q: got no error", name)
		}
	}
	target, err := waitpos.FilePosition(gtid.FilePos{File: "a.b.1", Offset: 4})
	if err != nil || target.String() != "a.b.1:4" {
		t.Errorf("got %v %v, want a.b.1:4", target, err)
	}
}

// TestReason: every reason has a word of its own.
func TestReason(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for r := waitpos.Timeout; r <= waitpos.Filtered; r++ {
		if word := r.String(); word == "" || seen[word] {
			t.Errorf("reason %d has the word %q", r, word)
		}
		seen[r.String()] = true
	}
	if waitpos.NoReason.String() != "" || (waitpos.Filtered+1).String() != "" {
		t.Error("a reason has been added: extend this test")
	}
}
