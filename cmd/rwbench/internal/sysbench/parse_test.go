package sysbench

import (
	"os"
	"strings"
	"testing"
)

// TestParse reads what sysbench 1.0.20 printed of 42 transactions at a rate of 20 a second.
func TestParse(t *testing.T) {
	text, err := os.ReadFile("testdata/read_write.txt")
	if err != nil {
		t.Fatal(err)
	}
	got, err := parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	// The 95th is sysbench's own word; the others are counted by hand: of 42 the 21st, the 40th and the 42nd.
	want := Report{Queries: 840, QPS: 414.19, Events: 42, P50: 2.522, P95: 5.373, P99: 6.913}
	if *got != want {
		t.Errorf("got %+v, want %+v", *got, want)
	}
}

func TestParse_fails(t *testing.T) {
	const report = "SQL statistics:\n    transactions:   3   (3.0 per sec.)\n    queries:   6   (6.0 per sec.)\n    ignored errors:   2   (1.0 per sec.)\n"
	for _, tt := range []struct{ name, text, want string }{
		{"nothing", "", "done nothing"},
		{"no queries", strings.ReplaceAll(report, "6 ", "0 "), "done nothing"},
		{"no histogram", report, "no histogram of 3 events"},
		{"histogram of the warm-up only", "Latency histogram (values are in milliseconds)\n 1.0 |*** 0\n" + report, "no histogram"},
	} {
		if _, err := parse(tt.text); err == nil || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%s: got %v, want %q", tt.name, err, tt.want)
		}
	}
	got, err := parse("Latency histogram (values are in milliseconds)\n 1.000 |*** 2\n 9.500 |* 1\n\n" + report)
	if err != nil || got.Errors != 2 || got.P50 != 1 || got.P95 != 9.5 {
		t.Errorf("got %+v, %v", got, err)
	}
}

// TestFirstFatal has what sysbench printed at a port that nobody listens on.
func TestFirstFatal(t *testing.T) {
	const text = "Initializing worker threads...\n\nFATAL: unable to connect to MySQL server on host '127.0.0.1', port 1, aborting...\n" +
		"FATAL: error 2002: Can't connect to server on '127.0.0.1' (115)\nFATAL: `thread_init' function failed: x\n"
	if got, want := firstFatal(text), "error 2002: Can't connect to server on '127.0.0.1' (115)"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got := firstFatal("nothing of this\n"); got != "" {
		t.Errorf("got %q", got)
	}
}
