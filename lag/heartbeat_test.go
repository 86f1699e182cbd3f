package lag_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/lag"
	"github.com/mysqlrw/mysqlrw/pkg/status"
	"github.com/mysqlrw/mysqlrw/pkg/status/statustest"
)

func TestQuoteTable(t *testing.T) {
	t.Parallel()
	for name, want := range map[string]string{
		"a.b":                "`a`.`b`",
		"percona.heartbeat":  "`percona`.`heartbeat`",
		"with space.and-'\"": "`with space`.`and-'\"`",
		"ä.ö":                "`ä`.`ö`",
		"a.b; DROP TABLE c":  "`a`.`b; DROP TABLE c`",
		"a.b -- ":            "`a`.`b -- `",
		"a.b\n":              "`a`.`b\n`",
	} {
		if got, err := lag.QuoteTable(name); err != nil || got != want {
			t.Errorf("%q: got %s %v, want %s", name, got, err, want)
		}
	}
	for _, name := range []string{"", ".", "a", "a.", ".b", "a.b.c", "a`.b", "a.b`", "a.`b`", "`a`.b", "a.b\x00", "`; DROP TABLE c; --.b", "a..b"} {
		if got, err := lag.QuoteTable(name); !errors.Is(err, lag.ErrTableName) || got != "" {
			t.Errorf("%q: got %q %v, want ErrTableName", name, got, err)
		}
	}
}

// FuzzQuoteTable: nothing leaves the back quotes.
func FuzzQuoteTable(f *testing.F) {
	for _, s := range []string{"a.b", "a`.b", "a.b`; --", "a.b.c", "\\`.x"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		quoted, err := lag.QuoteTable(name)
		if err != nil {
			return
		}
		if strings.Count(quoted, "`") != 4 || strings.ReplaceAll(quoted, "`", "") != name {
			t.Errorf("%q: got %s", name, quoted)
		}
	})
}

// beat is a heartbeat row of the channel's source with the clock at 14:00, two
// hours east of UTC.
func beat(ts any) statustest.Answer {
	return statustest.Row("AS utc FROM `d`.`beat` WHERE server_id = ?", "ts", ts, "here", "2026-07-01 14:00:00.000000", "utc", "2026-07-01 12:00:00.000000")
}

func TestHeartbeat(t *testing.T) {
	t.Parallel()
	s := time.Second
	local, utc := lag.HeartbeatTable{Name: "d.beat"}, lag.HeartbeatTable{Name: "d.beat", UTC: true}
	each := lag.HeartbeatTable{Name: "d.beat", Interval: s}
	for _, tt := range []struct {
		name   string
		table  lag.HeartbeatTable
		row    statustest.Answer
		beat   statustest.Answer
		want   lag.Lag
		detail string
	}{
		{"local time", local, row(), beat("2026-07-01T13:59:57.000000"), lag.Known(3 * s), ""},
		{"UTC", utc, row(), beat("2026-07-01T11:59:57.000000"), lag.Known(3 * s), ""},
		{"epoch", local, row(), beat("1782907197.5"), lag.Known(2500 * time.Millisecond), ""},
		{"UTC read as local time would be two hours late", local, row(), beat("2026-07-01T11:59:57"), lag.Known(2*time.Hour + 3*s), ""},
		{"local time read as UTC is in the future", utc, row(), beat("2026-07-01T13:59:57"), lag.Unknown(lag.HeartbeatInFuture), "ahead of the replica's clock"},
		{"a little ahead is no lag", local, row(), beat("2026-07-01T14:00:00.9"), lag.Known(0), ""},
		{"the writer's interval is no lag", each, row(), beat("2026-07-01T13:59:59.100000"), lag.Known(0), ""},
		{"beyond the writer's interval", each, row(), beat("2026-07-01T13:59:58.000000"), lag.Known(s), ""},
		{"trap 10: nor is the delay", local, row("SQL_Delay", "60"), beat("2026-07-01T13:58:58.000000"), lag.Known(2 * s), ""},
		{"trap 1, 12: the server's own number is not looked at", local, row("Seconds_Behind_Source", "0"), beat("2026-07-01T13:00:00"), lag.Known(time.Hour), ""},
		{"garbage", local, row(), beat("yesterday"), lag.Unknown(lag.NoHeartbeat), `"yesterday"`},
		{"NULL", local, row(), beat(nil), lag.Unknown(lag.NoHeartbeat), `""`},
		{"no row", local, row(), statustest.Answer{Query: "`d`.`beat`", Columns: []string{"ts"}}, lag.Unknown(lag.NoHeartbeat), "server_id 1 in d.beat"},
		{"no table", local, row(), statustest.Answer{Query: "`d`.`beat`", Number: 1146}, lag.Unknown(lag.NoHeartbeat), "cannot read d.beat"},
		{"a table without server_id", local, row(), statustest.Answer{Query: "`d`.`beat`", Number: 1054}, lag.Unknown(lag.NoHeartbeat), "cannot read d.beat"},
		{"no privilege on a column", local, row(), statustest.Answer{Query: "`d`.`beat`", Number: 1143}, lag.Unknown(lag.NoHeartbeat), "cannot read d.beat"},
		{"applier stopped", local, row("Replica_SQL_Running", "No"), beat("2026-07-01T13:59:59"), lag.Unknown(lag.ApplierStopped), ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got := measure(t, lag.Options{HeartbeatTable: tt.table}, mysql84, tt.row, tt.beat)[0]
			if got.Lag != tt.want || !strings.Contains(got.Detail, tt.detail) {
				t.Errorf("got %v (%s), want %v (%s)", got.Lag, got.Detail, tt.want, tt.detail)
			}
		})
	}
}

// TestHeartbeat_source: a beat that is old on the source too says nothing of
// the replica.
func TestHeartbeat_source(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name   string
		source statustest.Answer
		want   lag.Lag
	}{
		{"the writer is alive", beat("2026-07-01T13:59:59"), lag.Known(time.Minute)},
		{"the writer is down", beat("2026-07-01T13:59:00"), lag.Unknown(lag.HeartbeatStale)},
		{"the source shows no row", statustest.Answer{Query: "beat", Columns: []string{"ts"}}, lag.Known(time.Minute)},
	} {
		o := lag.Options{HeartbeatTable: lag.HeartbeatTable{Name: "d.beat"}}
		source := statustest.Open(t, tt.source)
		o.Source = func(context.Context, *status.Channel) (status.Querier, error) { return source, nil }
		if s := measure(t, o, mysql84, row(), beat("2026-07-01T13:59:00"))[0]; s.Lag != tt.want {
			t.Errorf("%s: got %v (%s), want %v", tt.name, s.Lag, s.Detail, tt.want)
		}
	}
	o := lag.Options{HeartbeatTable: lag.HeartbeatTable{Name: "d.beat"}}
	o.Source = func(context.Context, *status.Channel) (status.Querier, error) { return nil, errors.New("refused") }
	if s := measure(t, o, mysql84, row(), beat("2026-07-01T13:59:00"))[0]; s.Lag != lag.Known(time.Minute) {
		t.Errorf("no source: got %v (%s), want the age all the same", s.Lag, s.Detail)
	}
}

func TestBeat_readOnly(t *testing.T) {
	t.Parallel()
	for _, word := range []string{"1", "ON", "NO_LOCK_NO_ADMIN"} {
		db := statustest.Open(t, statustest.Row("read_only", "ro", word, "version", "12.0.2-MariaDB"))
		if err := lag.Beat(t.Context(), db, lag.HeartbeatTable{Name: "d.beat"}); !errors.Is(err, lag.ErrReadOnly) {
			t.Errorf("read_only=%s: got %v, want ErrReadOnly", word, err)
		}
	}
	if err := lag.Beat(t.Context(), statustest.Open(t), lag.HeartbeatTable{Name: "beat"}); !errors.Is(err, lag.ErrTableName) {
		t.Errorf("a bad name: got %v, want ErrTableName", err)
	}
	if err := lag.CreateHeartbeatTable(t.Context(), statustest.Open(t), "beat"); !errors.Is(err, lag.ErrTableName) {
		t.Errorf("create with a bad name: got %v, want ErrTableName", err)
	}
}
