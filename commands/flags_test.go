package commands

import (
	"testing"
	"time"

	"pgregory.net/rapid"
)

func TestParseDuration(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]time.Duration{
		"500ms": 500 * time.Millisecond, "5s": 5 * time.Second, "1m30s": 90 * time.Second,
		"5": 5 * time.Second, "0.25": 250 * time.Millisecond, "0": 0, "1e3": 1000 * time.Second,
		"0s": 0, "-0": 0, ".5": 500 * time.Millisecond,
	} {
		if got, err := parseDuration(text); err != nil || got != want {
			t.Errorf("%s: got %s, %v, want %s", text, got, err, want)
		}
	}
	for _, text := range []string{"", " ", "5 s", "s", "soon", "NaN", "Inf", "-Inf", "-5s", "-0.1", "1e10", "99999999999h", "5d", "1,5"} {
		if got, err := parseDuration(text); err == nil {
			t.Errorf("%q: got %s, want an error", text, got)
		}
	}
}

func TestShortDuration(t *testing.T) {
	t.Parallel()
	for want, d := range map[string]time.Duration{
		"0s": 0, "10s": 10 * time.Second, "1m30s": 90 * time.Second, "1m": time.Minute, "10m": 10 * time.Minute,
		"1h": time.Hour, "20h": 20 * time.Hour, "1h10m": 70 * time.Minute, "1h0m5s": time.Hour + 5*time.Second,
		"500ms": 500 * time.Millisecond, "100ns": 100, "1m0.5s": time.Minute + 500*time.Millisecond,
	} {
		if got := shortDuration(d); got != want {
			t.Errorf("%s: got %s, want %s", d, got, want)
		}
	}
}

func TestShortDuration_roundTrip(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		unit := rapid.SampledFrom([]time.Duration{1, time.Millisecond, time.Second, time.Minute, time.Hour}).Draw(t, "unit")
		d := unit * time.Duration(rapid.Int64Range(0, int64(1<<62/unit)).Draw(t, "n"))
		if got, err := parseDuration(shortDuration(d)); err != nil || got != d {
			t.Fatalf("%s is printed as %s and read as %s, %v", d, shortDuration(d), got, err)
		}
	})
}

func TestEnumValue(t *testing.T) {
	t.Parallel()
	v := &enumValue{allowed: []string{"json", "PREFERRED"}, value: "json"}
	for text, want := range map[string]string{"JSON": "json", "preferred": "PREFERRED"} {
		if err := v.Set(text); err != nil || v.String() != want {
			t.Errorf("%s: got %s, %v, want %s", text, v, err, want)
		}
	}
	if err := v.Set("xml"); err == nil || err.Error() != `"xml" is not one of json, PREFERRED` {
		t.Errorf("got %v", err)
	}
}
