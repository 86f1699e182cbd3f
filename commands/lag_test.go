package commands

import (
	"errors"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/lag"
)

func TestLagCode(t *testing.T) {
	t.Parallel()
	var (
		none    = lagRow{lag: lag.Known(0)}
		second  = lagRow{lag: lag.Known(time.Second)}
		minute  = lagRow{lag: lag.Known(time.Minute)}
		stopped = lagRow{lag: lag.Unknown(lag.ApplierStopped)}
		behind  = lagRow{lag: lag.MoreThan(2*time.Second, lag.BehindSource)}
		failed  = lagRow{err: errors.New("connection refused")}
	)
	tests := []struct {
		name  string
		rows  []lagRow
		limit time.Duration
		gate  bool
		want  int
	}{
		{"known", []lagRow{none, minute}, 0, false, exitYes},
		{"unknown", []lagRow{none, stopped}, 0, false, exitUnknown},
		{"at least is not known", []lagRow{behind}, 0, false, exitUnknown},
		{"failed", []lagRow{failed, none}, 0, false, exitUnknown},
		{"within", []lagRow{none, second}, time.Second, true, exitYes},
		{"within nothing", []lagRow{none}, 0, true, exitYes},
		{"over nothing", []lagRow{second}, 0, true, exitNo},
		{"over", []lagRow{none, minute}, time.Second, true, exitNo},
		{"unknown at the gate", []lagRow{none, stopped}, time.Hour, true, exitUnknown},
		{"failed at the gate", []lagRow{none, failed}, time.Hour, true, exitUnknown},
		{"over outweighs unknown", []lagRow{stopped, failed, minute}, time.Second, true, exitNo},
		{"over outweighs unknown, first", []lagRow{minute, stopped}, time.Second, true, exitNo},
		{"certainly more", []lagRow{behind}, time.Second, true, exitNo},
		{"perhaps more", []lagRow{behind}, time.Minute, true, exitUnknown},
	}
	for _, test := range tests {
		if got := lagCode(test.rows, test.limit, test.gate); got != test.want {
			t.Errorf("%s: got %d, want %d", test.name, got, test.want)
		}
	}
}

func TestWorseNagios(t *testing.T) {
	t.Parallel()
	worstFirst := []int{nagiosCritical, nagiosUnknown, nagiosWarning, nagiosOK}
	for i, a := range worstFirst {
		for j, b := range worstFirst {
			if got, want := worseNagios(a, b), i < j; got != want {
				t.Errorf("%s worse than %s: got %v, want %v", nagiosWords[a], nagiosWords[b], got, want)
			}
		}
	}
}

func TestSparkline(t *testing.T) {
	t.Parallel()
	v := func(f float64) *float64 { return &f }
	tests := []struct {
		name   string
		values []*float64
		want   string // behind the blanks
	}{
		{"nothing", nil, ""},
		{"zeroes", []*float64{v(0), v(0)}, "▁▁"},
		{"unknown", []*float64{nil, v(1), nil}, "x█x"},
		{"growing", []*float64{v(0), v(1), v(2), v(3), v(4), v(5), v(6), v(7)}, "▁▂▃▄▅▆▇█"},
		{"tiny", []*float64{v(1e-9), v(1e9)}, "▁█"},
	}
	for _, test := range tests {
		got := []rune(sparkline(test.values))
		if len(got) != history {
			t.Errorf("%s: %d columns, want %d", test.name, len(got), history)
		}
		for _, r := range got[:history-len(test.values)] {
			if r != ' ' {
				t.Errorf("%s: %q in front", test.name, r)
			}
		}
		if tail := string(got[history-len(test.values):]); tail != test.want {
			t.Errorf("%s: got %q, want %q", test.name, tail, test.want)
		}
	}
}
