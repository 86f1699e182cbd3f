package commands

import (
	"errors"
	"fmt"
	"testing"

	"github.com/mysqlrw/mysqlrw/waitpos"
)

func TestWaitCode(t *testing.T) {
	t.Parallel()
	notNeeded := "not-needed"
	var (
		reached = waitRow{Reached: true}
		late    = waitRow{reason: waitpos.Timeout}
		stopped = waitRow{reason: waitpos.ApplierStopped}
		failed  = waitRow{err: errors.New("connection refused")}
		settled = waitRow{Reason: &notNeeded}
		wrong   = waitRow{err: fmt.Errorf("wait: %w", waitpos.ErrFlavor)}
	)
	tests := []struct {
		name string
		rows []waitRow
		any  bool
		want int
	}{
		{"all reached", []waitRow{reached, reached}, false, exitYes},
		{"one late", []waitRow{reached, late}, false, exitNo},
		{"one never", []waitRow{reached, stopped}, false, exitUnknown},
		{"never outweighs late", []waitRow{late, stopped, late}, false, exitUnknown},
		{"failed outweighs late", []waitRow{failed, late}, false, exitUnknown},
		{"ended because of another", []waitRow{stopped, settled}, false, exitUnknown},
		{"typing error", []waitRow{stopped, wrong}, false, exitUsage},
		{"any", []waitRow{stopped, reached, failed}, true, exitYes},
		{"any, ended", []waitRow{settled, reached}, true, exitYes},
		{"any, none in time", []waitRow{late, late}, true, exitNo},
		{"any, one late and one never", []waitRow{stopped, late}, true, exitUnknown},
		{"any, all failed", []waitRow{failed, stopped}, true, exitUnknown},
	}
	for _, test := range tests {
		if got := waitCode(test.rows, test.any); got != test.want {
			t.Errorf("%s: got %d, want %d", test.name, got, test.want)
		}
	}
}

func TestWaiting_bar(t *testing.T) {
	t.Parallel()
	w := waiting{name: "r1", first: 4, left: waitpos.Progress{Count: 1}}
	if got, want := w.String(), "r1 [###############.....] 1 of 4 transactions left, 0.0s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	w = waiting{name: "r1", left: waitpos.Progress{Missing: "binlog.000001:4"}}
	if got, want := w.String(), "r1: binlog.000001:4 left, 0.0s"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
