package lag

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"
)

func TestRowAge(t *testing.T) {
	t.Parallel()
	here := time.Date(2026, 7, 1, 14, 0, 0, 0, time.UTC) // a server two hours east
	utc := here.Add(-2 * time.Hour)
	for _, tt := range []struct {
		ts   string
		want time.Duration
	}{
		{"2026-07-01T13:59:59.750000", 250 * time.Millisecond}, // pt-heartbeat
		{"2026-07-01 13:59:59.750000", 250 * time.Millisecond}, // DATETIME(6), TIMESTAMP(6)
		{"2026-07-01 13:59:59.75", 250 * time.Millisecond},
		{"2026-07-01 13:59:58", 2 * time.Second}, // DATETIME
		{"2026-07-01T14:00:01.000000", -time.Second},
		{"2026-07-01T11:59:59.5Z", 500 * time.Millisecond}, // RFC 3339 names its own zone
		{"2026-07-01T16:59:59.5+05:00", 500 * time.Millisecond},
		{fmt.Sprint(utc.Unix() - 3), 3 * time.Second}, // epoch
		{fmt.Sprintf("%d.250000", utc.Unix()-3), 2750 * time.Millisecond},
		{fmt.Sprintf("%d.25", utc.Unix()-3), 2750 * time.Millisecond},
	} {
		if got, err := rowAge(tt.ts, here, utc); err != nil || got != tt.want {
			t.Errorf("%q: got %v %v, want %v", tt.ts, got, err, tt.want)
		}
	}
	for _, ts := range []string{
		"", " ", "NULL", "now", "NaN", "Inf", "-1", "+1", "0", "0.0", "1e9", "0x10", "1_000", "1.5.2", ".5", "20260701140000",
		"99999999999999999999", "2026-07-01", "14:00:00", "2026-13-01 00:00:00", "2026-02-30 00:00:00", "0000-00-00 00:00:00",
		"2026-07-01T14:00:00.", "2026-07-01 14:00:00 UTC", "2026-07-01 24:00:00", "2026-07-01 14:00:60",
	} {
		if got, err := rowAge(ts, here, utc); !errors.Is(err, errNoTime) {
			t.Errorf("%q: got %v %v, want an error", ts, got, err)
		}
	}
}

// FuzzRowAge: a text that is understood is as old as it says, by every clock.
func FuzzRowAge(f *testing.F) {
	for _, s := range []string{
		"2026-07-01T13:59:59.750000", "2026-07-01 13:59:58", "1782900000.25", "NaN", "2026-07-01T16:59:59.5+05:00",
		"0001-01-01 00:00:00", "9999-12-31T23:59:59.999999",
	} {
		f.Add(s, int64(0))
	}
	base := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	f.Fuzz(func(t *testing.T, text string, later int64) {
		later %= int64(24 * time.Hour)
		age, err := rowAge(text, base, base)
		again, errAgain := rowAge(text, base.Add(time.Duration(later)), base.Add(time.Duration(later)))
		if (err == nil) != (errAgain == nil) {
			t.Fatalf("understood by one clock only: %v, %v", err, errAgain)
		}
		const century = 100 * 365 * 24 * time.Hour // beyond it durations saturate
		if err == nil && age.Abs() < century && again-age != time.Duration(later) {
			t.Errorf("%q: age %v, and %v when the clock is %v further", text, age, again, time.Duration(later))
		}
	})
}

func TestParseStamp(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		text string
		want stamp
	}{
		{"1700000000.123456", 1_700_000_000_123_456},
		{"1700000000.1", 1_700_000_000_100_000},
		{"1700000000.1234567", 1_700_000_000_123_456},
		{"1700000000", 1_700_000_000_000_000},
		{"0.000000", 0},
		{"0", 0},
		{"", 0}, // NULL
		{"-1.000000", 0},
		{"1.-5", 0},
		{"1.+5", 0},
		{"x", 0},
		{"9223372036854775807.0", 0},
		{"99999999999999999999", 0},
	} {
		if got := parseStamp(tt.text); got != tt.want {
			t.Errorf("%q: got %d, want %d", tt.text, got, tt.want)
		}
	}
}

// FuzzParseStamp: what a stamp prints as is read as the same stamp, and no
// text gives one before the epoch.
func FuzzParseStamp(f *testing.F) {
	for _, s := range []string{"1700000000.123456", "0.000000", "", "1.-5", "9223372036854775807", "4611686018427.387904"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		got := parseStamp(text)
		if got < 0 {
			t.Fatalf("%q: got %d, before the epoch", text, got)
		}
		printed := fmt.Sprintf("%d.%06d", got/1_000_000, got%1_000_000)
		if again := parseStamp(printed); again != got {
			t.Errorf("%q: got %d, and %d from %q", text, got, again, printed)
		}
		if got != 0 && strings.ContainsAny(text, "-+eExX ") && !strings.Contains(text, ".") {
			t.Errorf("%q: got %d from a text that is no decimal number", text, got)
		}
	})
}
