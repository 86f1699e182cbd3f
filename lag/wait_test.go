package lag_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/lag"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/status"
	"github.com/mysqlrw/mysqlrw/pkg/status/statustest"
	"github.com/mysqlrw/mysqlrw/waitpos"
)

// asking measures with a source that gives answers and a wait that gives one.
func asking(t *testing.T, m lag.Method, r waitpos.Result, err error, source ...statustest.Answer) lag.Options {
	db := statustest.Open(t, source...)
	return lag.Options{
		Method: m, Budget: 5 * time.Second,
		Source: func(context.Context, *status.Channel) (status.Querier, error) { return db, nil },
		Wait: func(_ context.Context, _ waitpos.Target, o waitpos.Options) (waitpos.Result, error) {
			if o.Timeout != 5*time.Second {
				t.Errorf("waits for %s, want the budget", o.Timeout)
			}
			return r, err
		},
	}
}

// TestByWaiting: what the methods gtid and position make of a source and a wait.
func TestByWaiting(t *testing.T) {
	t.Parallel()
	on, set := statustest.Row("gtid_mode", "v", "ON"), statustest.Row("gtid_executed", "v", uuid+":1-9")
	file := statustest.Row("SHOW BINARY LOG STATUS", "File", "bin.000002", "Position", "1000")
	reached := waitpos.Result{Reached: true, AtOnce: true}
	late := waitpos.Result{Reason: waitpos.Timeout, Waited: 5 * time.Second, Count: 7, Missing: uuid + ":3-9"}
	for _, tt := range []struct {
		name   string
		method lag.Method
		result waitpos.Result
		err    error
		source []statustest.Answer
		want   lag.Lag
		behind uint64
	}{
		{"gtid: there", lag.GTID, reached, nil, []statustest.Answer{mysql84, on, set}, lag.Known(0), 0},
		{"position: there", lag.Position, reached, nil, []statustest.Answer{mysql84, file}, lag.Known(0), 0},
		{"gtid: not in time", lag.GTID, late, nil, []statustest.Answer{mysql84, on, set}, lag.MoreThan(5*time.Second, lag.BehindSource), 7},
		{"gtid: stopped meanwhile", lag.GTID, waitpos.Result{Reason: waitpos.ApplierStopped, Waited: time.Second}, nil, []statustest.Answer{mysql84, on, set}, lag.MoreThan(time.Second, lag.ApplierStopped), 0},
		{"gtid: purged", lag.GTID, waitpos.Result{Reason: waitpos.Purged}, nil, []statustest.Answer{mysql84, on, set}, lag.Unknown(lag.BehindSource), 0},
		{"gtid: GTIDs off is no lag of 0", lag.GTID, reached, nil, []statustest.Answer{mysql84, statustest.Row("gtid_mode", "v", "OFF")}, lag.Unknown(lag.MethodUnavailable), 0},
		{"gtid: nor are GTIDs that no new transaction gets", lag.GTID, reached, nil, []statustest.Answer{mysql84, statustest.Row("gtid_mode", "v", "OFF_PERMISSIVE")}, lag.Unknown(lag.MethodUnavailable), 0},
		{"gtid: off on the replica", lag.GTID, waitpos.Result{}, waitpos.ErrGTIDOff, []statustest.Answer{mysql84, on, set}, lag.Unknown(lag.MethodUnavailable), 0},
		{"gtid: source of another flavor", lag.GTID, reached, nil, []statustest.Answer{mariadb1011}, lag.Unknown(lag.MethodUnavailable), 0},
		{"position: GTID_ONLY", lag.Position, waitpos.Result{}, fmt.Errorf("x: %w", waitpos.ErrNoPositions), []statustest.Answer{mysql84, file}, lag.Unknown(lag.MethodUnavailable), 0},
		{"position: another log", lag.Position, waitpos.Result{}, gtid.ErrIncomparable, []statustest.Answer{mysql84, file}, lag.Unknown(lag.MethodUnavailable), 0},
		{"position: source without a binary log", lag.Position, reached, nil, []statustest.Answer{mysql84, {Query: "SHOW BINARY LOG STATUS", Columns: []string{"File"}}}, lag.Unknown(lag.MethodUnavailable), 0},
		{"position: source that refuses", lag.Position, reached, nil, []statustest.Answer{mysql84, {Query: "SHOW BINARY LOG STATUS", Number: 1227}}, lag.Unknown(lag.SourceUnreachable), 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			s := measure(t, asking(t, tt.method, tt.result, tt.err, tt.source...), mysql84, gtids())[0]
			if s.Lag != tt.want || s.Method != tt.method {
				t.Errorf("got %v, at least %v, by %s (%s); want %v, at least %v", s.Lag, s.Lag.AtLeast(), s.Method, s.Detail, tt.want, tt.want.AtLeast())
			}
			if got := s.Behind; tt.behind > 0 && (got == nil || *got != tt.behind) {
				t.Errorf("got %+v, want %d transactions behind", s, tt.behind)
			}
			if _, known := s.Lag.Duration(); !known && tt.result.Reason != waitpos.ApplierStopped && s.Detail == "" {
				t.Error("unknown without a detail")
			}
		})
	}
}

func TestByWaiting_mariadb(t *testing.T) {
	t.Parallel()
	reached := waitpos.Result{Reached: true, AtOnce: true}
	for word, want := range map[string]lag.Lag{"1": lag.Known(0), "0": lag.Unknown(lag.MethodUnavailable)} {
		o := asking(t, lag.GTID, reached, nil, mariadb1011, statustest.Row("log_bin", "v", word), statustest.Row("gtid_binlog_pos", "v", ""))
		if s := measure(t, o, mariadb1011, oldRow())[0]; s.Lag != want {
			t.Errorf("log_bin=%s: got %v (%s), want %v", word, s.Lag, s.Detail, want)
		}
	}
}

// TestByWaiting_noSource: without a source nothing is 0, and nothing is waited for.
func TestByWaiting_noSource(t *testing.T) {
	t.Parallel()
	for _, m := range []lag.Method{lag.GTID, lag.Position} {
		s := measure(t, lag.Options{Method: m}, mysql84, gtids())[0]
		if s.Lag.Reason() != lag.SourceUnreachable || !strings.Contains(s.Detail, "--source") {
			t.Errorf("%s: got %v (%s), want source-unreachable", m, s.Lag, s.Detail)
		}
		o := asking(t, m, waitpos.Result{Reached: true, AtOnce: true}, nil)
		o.Source = func(context.Context, *status.Channel) (status.Querier, error) { return nil, errors.New("refused") }
		if s := measure(t, o, mysql84, gtids())[0]; s.Lag.Reason() != lag.SourceUnreachable || s.Detail != "refused" {
			t.Errorf("%s: got %v (%s), want source-unreachable", m, s.Lag, s.Detail)
		}
	}
	// A wait that fails is a replica that could not be asked.
	o := asking(t, lag.GTID, waitpos.Result{}, errors.New("connection lost"), mysql84,
		statustest.Row("gtid_mode", "v", "ON"), statustest.Row("gtid_executed", "v", uuid+":1-9"))
	if _, err := lag.Measure(t.Context(), statustest.Open(t, mysql84, gtids()), o); err == nil {
		t.Error("got no error from a wait that failed")
	}
}

// TestAuto_source: auto asks the source for what no clock on the replica sees.
func TestAuto_source(t *testing.T) {
	t.Parallel()
	source := []statustest.Answer{mysql84, statustest.Row("gtid_mode", "v", "ON"), statustest.Row("gtid_executed", "v", uuid+":1-9")}
	behind := waitpos.Result{Reason: waitpos.Timeout, Waited: 5 * time.Second}
	reached := waitpos.Result{Reached: true, AtOnce: true}
	starting := []any{"heartbeat_s", ago(20 * time.Second)}
	for _, tt := range []struct {
		name   string
		gap    bool // the source has what the replica has not received
		result waitpos.Result
		times  []any
		age    string
		want   lag.Lag
		method lag.Method
	}{
		{"trap 1: nothing received that would be late", true, behind, nil, "99", lag.MoreThan(5*time.Second, lag.BehindSource), lag.GTID},
		{"both say 0", false, reached, nil, "99", lag.Known(0), lag.Timestamps},
		{"the commit is older than the wait", true, reached, on("applying", uuid+":9", time.Minute, time.Minute, 0), "99", lag.Known(time.Minute), lag.Timestamps},
		{"a receiver that has just started is judged by the source", false, reached, starting, "5", lag.Known(0), lag.GTID},
		{"and may be behind", true, behind, starting, "5", lag.MoreThan(5*time.Second, lag.BehindSource), lag.GTID},
	} {
		executed := uuid + ":1-9"
		if tt.gap {
			executed = uuid + ":1-8"
		}
		s := measure(t, asking(t, lag.Auto, tt.result, nil, source...), mysql84, gtids(), times(tt.times...), receiverAge(tt.age),
			statustest.Row("gtid_executed AS v", "v", executed))[0]
		if s.Lag != tt.want || s.Method != tt.method {
			t.Errorf("%s: got %v by %s (%s), want %v by %s", tt.name, s.Lag, s.Method, s.Detail, tt.want, tt.method)
		}
	}
	// Where neither timestamps nor a wait can tell, seconds are left.
	o := asking(t, lag.Auto, waitpos.Result{}, waitpos.ErrNoPositions, mysql84, statustest.Row("SHOW BINARY LOG STATUS", "File", "bin.000002", "Position", "1"))
	s := measure(t, o, mysql84, row("Seconds_Behind_Source", "3"), statustest.Answer{Query: "AS now_us", Number: 1142})[0]
	if s.Lag != lag.Known(3*time.Second) || s.Method != lag.Seconds {
		t.Errorf("got %+v, want 3s by seconds", s)
	}
}

func TestMethod(t *testing.T) {
	t.Parallel()
	for i, word := range lag.Methods() {
		m, err := lag.ParseMethod(strings.ToUpper(word))
		if err != nil || m != lag.Method(i) || m.String() != word {
			t.Errorf("%s: got %v %v", word, m, err)
		}
		if text, err := m.MarshalText(); err != nil || string(text) != word {
			t.Errorf("%s: marshals as %s %v", word, text, err)
		}
	}
	if _, err := lag.ParseMethod("guess"); err == nil || !strings.Contains(err.Error(), "heartbeat") {
		t.Errorf("got %v, want an error that lists the words", err)
	}
	if s := lag.Method(99).String(); s != "unknown" {
		t.Errorf("got %q, want unknown", s)
	}
}

// TestReason: every reason has a word of its own.
func TestReason(t *testing.T) {
	t.Parallel()
	seen := map[string]bool{}
	for r := lag.NotMeasured; r <= lag.ReceiverStarting; r++ {
		word := r.String()
		if word == "" || word == "unknown" || seen[word] {
			t.Errorf("reason %d has the word %q", r, word)
		}
		seen[word] = true
	}
	if lag.NoReason.String() != "" || (lag.ReceiverStarting+1).String() != "unknown" {
		t.Error("a reason has been added: extend this test")
	}
}
