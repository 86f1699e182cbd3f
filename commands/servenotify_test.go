package commands

import (
	"testing"
	"time"
)

// TestWatchdogEvery has the rules of sd_watchdog_enabled(3).
func TestWatchdogEvery(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name, usec, pid string
		want            time.Duration
	}{
		{name: "none"},
		{name: "of this process", usec: "30000000", pid: "7", want: 15 * time.Second},
		{name: "of any process", usec: "30000000", want: 15 * time.Second},
		{name: "of another process", usec: "30000000", pid: "70"},
		{name: "0", usec: "0", pid: "7"},
		{name: "negative", usec: "-1", pid: "7"},
		{name: "no number", usec: "30s", pid: "7"},
		{name: "infinity", usec: "18446744073709551615", pid: "7"},
		{name: "longer than a duration", usec: "9223372036854775807", pid: "7"},
	}
	for _, tt := range tests {
		getenv := func(name string) string {
			return map[string]string{"WATCHDOG_USEC": tt.usec, "WATCHDOG_PID": tt.pid}[name]
		}
		if got := watchdogEvery(getenv, 7); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.name, got, tt.want)
		}
	}
}
