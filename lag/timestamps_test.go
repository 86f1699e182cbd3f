package lag_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/lag"
	"github.com/mysqlrw/mysqlrw/pkg/status"
	"github.com/mysqlrw/mysqlrw/pkg/status/statustest"
)

// now is the replica's clock in microseconds in every faked row.
const now = int64(1_700_000_000_000_000)

// ago is a moment before now as UNIX_TIMESTAMP shows it.
func ago(d time.Duration) string {
	at := now - d.Microseconds()
	return fmt.Sprintf("%d.%06d", at/1_000_000, at%1_000_000)
}

const (
	unset = "0.000000" // UNIX_TIMESTAMP of the zero date
	uuid  = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
)

// times is performance_schema's row of an idle channel that has applied
// everything, the last transaction an hour ago, with changes.
func times(changes ...any) statustest.Answer {
	hour := ago(time.Hour)
	return changed("AS now_us", []any{
		"channel", "", "enabled", "1", "now_us", fmt.Sprint(now), "heartbeat_s", ago(time.Second), "heartbeat_interval", "30.000",
		"queued", uuid + ":9", "queued_original_s", hour, "queued_immediate_s", hour, "queued_at_s", hour,
		"queueing", "", "queueing_original_s", unset, "queueing_immediate_s", unset, "queueing_at_s", unset,
		"processing", "", "processing_original_s", unset, "processing_immediate_s", unset, "processing_at_s", unset,
		"applying", "", "applying_original_s", unset, "applying_immediate_s", unset, "applying_at_s", unset,
		"applied", uuid + ":9", "applied_original_s", hour, "applied_immediate_s", hour, "applied_at_s", hour,
		"pending", "",
	}, changes)
}

// on puts a transaction into one place of the row: commit on its origin, on
// the direct source, and the start of the work here.
func on(place, gtid string, original, immediate, at time.Duration) []any {
	return []any{place, gtid, place + "_original_s", ago(original), place + "_immediate_s", ago(immediate), place + "_at_s", ago(at)}
}

func join(changes ...[]any) []any {
	var all []any
	for _, c := range changes {
		all = append(all, c...)
	}
	return all
}

func pending(set string) []any { return []any{"pending", set} }

// gtids is SHOW REPLICA STATUS of a channel with auto-position.
func gtids(changes ...any) statustest.Answer {
	return row(append([]any{"Auto_Position", "1"}, changes...)...)
}

const ms = time.Millisecond

// TestTimestamps puts the rows of performance_schema to the method timestamps.
func TestTimestamps(t *testing.T) {
	t.Parallel()
	applying := func(age time.Duration) []any {
		return join(on("applying", uuid+":10", age, age, 10*ms), on("queued", uuid+":10", age, age, 20*ms), pending(uuid+":10"))
	}
	burst := join(on("queued", uuid+":2000", 200*ms, 200*ms, 100*ms), pending(uuid+":10-2000"))
	tests := []struct {
		name    string
		channel statustest.Answer
		times   []any
		age     any // of the receiver
		want    lag.Lag
		apply   lag.Lag
		detail  string
	}{
		{name: "trap 16: idle for an hour", channel: gtids(), want: lag.Known(0), apply: lag.Known(0)},
		{name: "applying", channel: gtids(), times: applying(1500 * ms), want: lag.Known(1500 * ms), apply: lag.Known(1500 * ms)},
		{name: "trap 7, 8: the number of SHOW REPLICA STATUS is not looked at", channel: gtids("Seconds_Behind_Source", "600"), times: applying(50 * ms), want: lag.Known(50 * ms), apply: lag.Known(50 * ms)},
		{name: "trap 11: a timestamp set in the past", channel: gtids("Seconds_Behind_Source", "86400"), want: lag.Known(0), apply: lag.Known(0)},
		{name: "trap 9: chain, the first commit counts", channel: gtids(), times: join(on("applying", uuid+":10", 9*time.Second, 200*ms, 10*ms), pending(uuid+":10")), want: lag.Known(9 * time.Second), apply: lag.Known(200 * ms)},
		{name: "origin older than 8.0.1", channel: gtids(), times: join(on("applying", uuid+":10", time.Duration(now)*time.Microsecond, 300*ms, 10*ms), pending(uuid+":10")), want: lag.Known(300 * ms), apply: lag.Known(300 * ms)},
		{name: "no commit timestamps at all", channel: gtids(), times: []any{"applying", uuid + ":10", "pending", uuid + ":10"}, want: lag.Unknown(lag.MethodUnavailable), apply: lag.Unknown(lag.MethodUnavailable)},
		{name: "trap 10: held back on purpose", channel: gtids("SQL_Delay", "3600"), times: join(on("processing", uuid+":10", 3599*time.Second, 3599*time.Second, 0), pending(uuid+":10")), want: lag.Known(0), apply: lag.Known(0)},
		{name: "trap 10: late on top of the delay", channel: gtids("SQL_Delay", "3600"), times: join(on("processing", uuid+":10", 3613*time.Second, 3613*time.Second, 0), pending(uuid+":10")), want: lag.Known(13 * time.Second), apply: lag.Known(13 * time.Second)},
		{name: "trap 15: an applier that cannot go on is still old", channel: gtids(), times: applying(12 * time.Hour), want: lag.Known(12 * time.Hour), apply: lag.Known(12 * time.Hour)},
		{name: "trap 2: silence", channel: gtids(), times: []any{"heartbeat_s", ago(61 * time.Second)}, want: lag.Unknown(lag.ReceiverSilent), apply: lag.Unknown(lag.ReceiverSilent), detail: "a heartbeat is due every 30s"},
		{name: "trap 2: silence since a start without a word", channel: gtids(), times: []any{"heartbeat_s", unset, "queued", "", "queued_at_s", unset}, age: "61", want: lag.Unknown(lag.ReceiverSilent), apply: lag.Unknown(lag.ReceiverSilent)},
		{name: "a heartbeat is overdue, but not two", channel: gtids(), times: []any{"heartbeat_s", ago(59 * time.Second)}, want: lag.Known(0), apply: lag.Known(0)},
		{name: "heartbeats switched off", channel: gtids(), times: []any{"heartbeat_s", unset, "heartbeat_interval", "0.000"}, want: lag.Known(0), apply: lag.Known(0)},
		{name: "just arriving", channel: gtids(), times: on("queueing", uuid+":10", 700*ms, 700*ms, 20*ms), want: lag.Known(700 * ms), apply: lag.Known(0)},
		{name: "only the last one queued waits", channel: gtids(), times: join(on("queued", uuid+":10", 3*time.Second, 3*time.Second, 10*ms), pending(uuid+":10")), want: lag.Known(3 * time.Second), apply: lag.Known(0)},
		{name: "a tagged one", channel: gtids(), times: join(on("queued", uuid+":tag:1", 3*time.Second, 3*time.Second, 10*ms), pending(uuid+":tag:1")), want: lag.Known(3 * time.Second), apply: lag.Known(0)},
		{name: "applier just started on a full relay log", channel: gtids(), times: burst, want: lag.MoreThan(200*ms, lag.Backlog), apply: lag.MoreThan(200*ms, lag.Backlog), detail: "none is being applied"},
		{name: "the same after a restart of the server", channel: gtids(), times: []any{"queued", "", "queued_original_s", unset, "queued_immediate_s", unset, "queued_at_s", unset, "pending", uuid + ":10-2000"}, want: lag.Unknown(lag.Backlog), apply: lag.Unknown(lag.Backlog)},
		{name: "the same with a delay", channel: gtids("SQL_Delay", "1"), times: burst, want: lag.Unknown(lag.Backlog), apply: lag.Unknown(lag.Backlog)},
		{name: "receiver started, not a word yet", channel: gtids(), times: []any{"heartbeat_s", ago(20 * time.Second)}, age: "5", want: lag.Unknown(lag.ReceiverStarting), apply: lag.Known(0), detail: "just started"},
		{name: "receiver started, a word that may be of the connection before", channel: gtids(), times: []any{"heartbeat_s", ago(500 * ms)}, age: "0", want: lag.Unknown(lag.ReceiverStarting), apply: lag.Known(0)},
		{name: "receiver started, and has heard", channel: gtids(), times: []any{"heartbeat_s", ago(time.Second)}, age: "5", want: lag.Known(0), apply: lag.Known(0)},
		{name: "receiver started, and brings something", channel: gtids(), times: applying(4 * time.Second), age: "0", want: lag.Known(4 * time.Second), apply: lag.Known(4 * time.Second)},
		{name: "receiver's age is not shown", channel: gtids(), times: []any{"heartbeat_s", ago(20 * time.Second)}, age: nil, want: lag.Known(0), apply: lag.Known(0)},
		{name: "receiver is catching up, the applier keeps pace", channel: gtids(), times: on("queued", uuid+":10", 300*time.Second, 300*time.Second, 5*ms), want: lag.Known(300 * time.Second), apply: lag.Known(0)},
		{name: "receiver has caught up: nothing more for a second", channel: gtids(), times: on("queued", uuid+":10", 300*time.Second, 300*time.Second, 1100*ms), want: lag.Known(0), apply: lag.Known(0)},
		{name: "receiver has caught up: a heartbeat has come", channel: gtids(), times: append(on("queued", uuid+":10", 300*time.Second, 300*time.Second, 5*ms), "heartbeat_s", ago(ms)), want: lag.Known(0), apply: lag.Known(0)},
		{name: "source's clock ahead", channel: gtids(), times: applying(-time.Minute), want: lag.Known(0), apply: lag.Known(0), detail: "clock is at least 1m0s ahead"},
		{name: "single-threaded: no coordinator row", channel: gtids(), times: append(applying(2*time.Second), "processing", nil, "processing_original_s", nil, "processing_immediate_s", nil, "processing_at_s", nil), want: lag.Known(2 * time.Second), apply: lag.Known(2 * time.Second)},
		{name: "without GTIDs: applying", channel: row("Exec_Source_Log_Pos", "900"), times: on("applying", "ANONYMOUS", 2*time.Second, 2*time.Second, 5*ms), want: lag.Known(2 * time.Second), apply: lag.Known(2 * time.Second)},
		{name: "without GTIDs: idle", channel: row(), times: []any{"queued", "ANONYMOUS", "applied", "ANONYMOUS"}, want: lag.Known(0), apply: lag.Known(0)},
		{name: "without GTIDs: applied, and the position waits for a checkpoint", channel: row("Exec_Source_Log_Pos", "900"), times: []any{"queued", "ANONYMOUS", "applied", "ANONYMOUS"}, want: lag.Known(0), apply: lag.Known(0)},
		{name: "without GTIDs: received and in nobody's hand", channel: row("Exec_Source_Log_Pos", "900"), times: join(on("queued", "ANONYMOUS", 4*time.Second, 4*time.Second, ms), []any{"applied", "ANONYMOUS"}), want: lag.MoreThan(4*time.Second, lag.Backlog), apply: lag.MoreThan(4*time.Second, lag.Backlog)},
		{name: "without GTIDs: the applier has not opened its first file", channel: row("Relay_Source_Log_File", "", "Exec_Source_Log_Pos", "0"), times: []any{"queued", "", "queued_original_s", unset, "queued_immediate_s", unset, "applied", "", "applied_original_s", unset, "applied_immediate_s", unset}, want: lag.Unknown(lag.Backlog), apply: lag.Unknown(lag.Backlog)},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			answers := []statustest.Answer{mysql84, tt.channel, times(tt.times...)}
			if tt.age != nil {
				answers = append(answers, receiverAge(tt.age))
			}
			s := measure(t, lag.Options{Method: lag.Timestamps}, append(answers, receiverAge(nil))...)[0]
			if s.Lag != tt.want || s.Apply != tt.apply || s.Method != lag.Timestamps {
				t.Errorf("got lag %v, at least %v, apply %v, by %s (%s); want lag %v, at least %v, apply %v",
					s.Lag, s.Lag.AtLeast(), s.Apply, s.Method, s.Detail, tt.want, tt.want.AtLeast(), tt.apply)
			}
			if !strings.Contains(s.Detail, tt.detail) {
				t.Errorf("got detail %q, want one with %q", s.Detail, tt.detail)
			}
			if s.Receiver != status.Running || s.Applier != status.Running {
				t.Errorf("got %+v, want both threads running", s)
			}
		})
	}
}

// TestTimestamps_workers: the oldest transaction counts, whatever worker has it.
func TestTimestamps_workers(t *testing.T) {
	t.Parallel()
	answer := times(join(on("applying", uuid+":12", time.Second, time.Second, 0), pending(uuid+":10-12"))...)
	for _, more := range []statustest.Answer{
		times(join(on("applying", uuid+":10", 3*time.Second, 3*time.Second, 0), pending(uuid+":10-12"))...),
		times(pending(uuid + ":10-12")...),
		times(join(on("applying", uuid+":11", 2*time.Second, 2*time.Second, 0), pending(uuid+":10-12"))...),
	} {
		answer.Rows = append(answer.Rows, more.Rows...)
	}
	s := measure(t, lag.Options{}, mysql84, gtids(), answer)[0]
	if s.Lag != lag.Known(3*time.Second) || s.Behind == nil || *s.Behind != 3 {
		t.Errorf("got %+v, want 3s and 3 transactions", s)
	}
}

// TestTimestamps_moment: what is in nobody's hand for a moment is looked at again.
func TestTimestamps_moment(t *testing.T) {
	t.Parallel()
	moment := times(join(on("queued", uuid+":12", 10*ms, 10*ms, 0), pending(uuid+":10-12"))...)
	moment.Repeat = 2
	after := times(join(on("applying", uuid+":10", 5*time.Second, 5*time.Second, 0), pending(uuid+":10-12"))...)
	if s := measure(t, lag.Options{}, mysql84, gtids(), moment, after)[0]; s.Lag != lag.Known(5*time.Second) {
		t.Errorf("got %+v, want the age of what is applied next", s)
	}
}

// TestTimestamps_group: trap 17, a member of a group lists no channel.
func TestTimestamps_group(t *testing.T) {
	t.Parallel()
	none := statustest.Answer{Query: "SHOW REPLICA STATUS", Columns: []string{"Channel_Name"}}
	applier := times(join([]any{"heartbeat_s", unset, "heartbeat_interval", nil},
		on("applying", uuid+":10", 2*time.Second, 2*time.Second, 0), pending(uuid+":10"))...)
	s := measure(t, lag.Options{}, mysql84, none, statustest.Row("replication_group_members", "role", "SECONDARY"), applier)[0]
	if s.Lag != lag.Known(2*time.Second) || s.Channel != "group_replication_applier" || s.Method != lag.Timestamps {
		t.Errorf("a secondary: got %+v, want 2s", s)
	}
	s = measure(t, lag.Options{}, mysql84, none, statustest.Row("replication_group_members", "role", "PRIMARY"))[0]
	if s.Lag.Reason() != lag.NotAReplica {
		t.Errorf("the primary: got %+v, want not-a-replica", s)
	}
}

// TestTimestamps_unavailable: auto goes on with seconds.
func TestTimestamps_unavailable(t *testing.T) {
	t.Parallel()
	old := changed("SHOW SLAVE STATUS", []any{"Slave_IO_Running", "Yes", "Slave_SQL_Running", "Yes", "Seconds_Behind_Master", "3"}, nil)
	mysql57 := []statustest.Answer{statustest.Version("5.7.44-log"), statustest.Unknown("SHOW REPLICA STATUS"), old}
	for _, tt := range []struct {
		name    string
		answers []statustest.Answer
	}{
		{"MySQL 5.7 has no such column", append(mysql57, statustest.Answer{Query: "AS now_us", Number: 1054})},
		{"no privilege", []statustest.Answer{mysql84, row("Seconds_Behind_Source", "3"), {Query: "AS now_us", Number: 1142}}},
		{"MariaDB has no such table", []statustest.Answer{
			mariadb1011, oldRow("Seconds_Behind_Master", "3"),
			statustest.Row("gtid_current_pos", "v", "0-1-8"),
			{Query: "AS now_us", Number: 1146},
		}},
		{"no such function", []statustest.Answer{mysql84, row("Seconds_Behind_Source", "3"), {Query: "AS now_us", Number: 1305}}},
		{"performance_schema shows nothing", []statustest.Answer{mysql84, row("Seconds_Behind_Source", "3"), {Query: "AS now_us", Columns: []string{"channel"}}}},
		{"performance_schema is off", []statustest.Answer{mysql84, row("Seconds_Behind_Source", "3"), times("enabled", "0")}},
		{"the source sends no timestamps", []statustest.Answer{
			mysql84, row("Seconds_Behind_Source", "3", "Exec_Source_Log_Pos", "9"),
			times("applying", "ANONYMOUS"),
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			if s := measure(t, lag.Options{}, tt.answers...)[0]; s.Lag != lag.Known(3*time.Second) || s.Method != lag.Seconds || s.Detail != "" {
				t.Errorf("auto: got %+v, want 3s by seconds", s)
			}
			s := measure(t, lag.Options{Method: lag.Timestamps}, tt.answers...)[0]
			if s.Lag.Reason() != lag.MethodUnavailable || s.Method != lag.Timestamps || s.Detail == "" {
				t.Errorf("timestamps: got %+v, want method-unavailable and why", s)
			}
		})
	}
}
