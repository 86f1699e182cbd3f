package route

import (
	"testing"
	"time"
)

// TestHintPlace holds which comment is the hint, so that it can be taken out.
func TestHintPlace(t *testing.T) {
	tests := []struct{ text, want string }{
		{"SELECT 1", ""},
		{"SELECT 1 /* remark */", ""},
		{"/*FORCE_MASTER*/ SELECT 1", "/*FORCE_MASTER*/"},
		{"/* remark */ SELECT /*slave*/ 1 -- remark", "/*slave*/"},
		{"SELECT 1 -- maxscale route to master", "-- maxscale route to master"},
		{"SELECT 1 -- maxscale route to master\nFROM t", "-- maxscale route to master\n"},
		{"SELECT 1 # to slave", "# to slave"},
		{"SELECT /*+ INDEX(t a) READ_CONSISTENCY(WEAK) */ 1", "/*+ INDEX(t a) READ_CONSISTENCY(WEAK) */"},
		{"/*slave*/ SELECT 1 /*master*/", "/*slave*/"},
		{"/*slave:x*/ SELECT 1", "/*slave:x*/"},
		{"SELECT '/*master*/' /*slave*/", "/*slave*/"},
	}
	for _, test := range tests {
		st := Classify(test.text, &Options{})
		if got := st.Hint.Text(test.text); got != test.want {
			t.Errorf("%s: the hint is %q, want %q", test.text, got, test.want)
		}
	}
}

// TestHintMalformed holds what is reported, against what is somebody's remark:
// a comment must begin as a hint does to be one that could not be read.
func TestHintMalformed(t *testing.T) {
	tests := []struct {
		comment   string
		malformed bool
	}{
		{"/*slave:*/", true},
		{"/*slave:1h2*/", true},
		{"/*slave:20 */", false},
		{"/*slave:20 30*/", true},
		{"/*slave:slaveonly,20,30*/", true},
		{"/*slave:99999999999999999999*/", true},
		{"/*slave:-5s*/", true},
		{"/*force_node*/", true},
		{"/*force_node=*/", true},
		{"/*force_node=''*/", true},
		{"/*force_node='a*/", true},
		{"-- maxscale route", true},
		{"-- maxscale route to", true},
		{"-- maxscale route to somewhere", true},
		{"-- maxscale route master", true},
		{"-- maxscale max_slave_replication_lag", true},
		{"-- maxscale max_slave_replication_lag=x", true},
		{"-- maxscale is a proxy", true},
		{"/*+ READ_CONSISTENCY() */", true},
		{"/*+ READ_CONSISTENCY(WEAK */", true},
		{"/*+ mysqlrw */", true},
		{"/*+ mysqlrw(consistency) */", true},
		{"/*+ mysqlrw(consistency=weak,) */", true},
		{"/*+ mysqlrw(consistency=weak timeout=1s) */", true},
		{"/*+ mysqlrw(timeout=) */", true},
		{"/*+ mysqlrw(timeout=1) */", true},
		{"/*+ mysqlrw(max_staleness=1year) */", true},
		{"/*+ mysqlrw(after=) */", true},
		{"/*+ mysqlrw(node=) */", true},
		{"/*+ mysqlrw(consistency='weak') */", false},
		{"/*+ mysqlrw(timeout='1s') */", false},
		{"/*+ mysqlrw ( timeout = 1.5s ) */", false},
		{"/* masters and slaves */", false},
		{"/* 'tis */", false},
		{`-- "quoted`, false},
		{"/* to */", false},
		{"/* to whom it may concern */", false},
		{"/*+ MERGE(d) 'x */", false},
	}
	for _, test := range tests {
		text := "SELECT 1 " + test.comment
		st := Classify(text, &Options{})
		if st.Hint.Malformed != test.malformed {
			t.Errorf("%s: malformed is %v", test.comment, st.Hint.Malformed)
		}
		if h := st.Hint; test.malformed && (h.Asks() || h.HasLevel || h.HasTimeout || h.Only) {
			t.Errorf("%s: a malformed hint asks for %+v", test.comment, h)
		}
	}
}

func TestHintDurations(t *testing.T) {
	tests := []struct {
		comment            string
		staleness, timeout time.Duration
	}{
		{"/*slave:20*/", 20 * time.Second, 0},
		{"/*slave:20ms*/", 20 * time.Millisecond, 0},
		{"/*slave:1.5s*/", 1500 * time.Millisecond, 0},
		{"-- maxscale max_slave_replication_lag=7", 7 * time.Second, 0},
		{"/*+ mysqlrw(max_staleness=2s, timeout=50ms) */", 2 * time.Second, 50 * time.Millisecond},
		{"/*+ mysqlrw(timeout=90s) */", 0, 90 * time.Second},
		{"/*+ mysqlrw(timeout=1m) */", 0, time.Minute},
		{"/*+ mysqlrw(max_staleness=0) */", 0, 0},
	}
	for _, test := range tests {
		h := Classify("SELECT 1 "+test.comment, &Options{}).Hint
		if h.Malformed || h.MaxStaleness != test.staleness || h.Timeout != test.timeout {
			t.Errorf("%s: %v and %v, malformed %v; want %v and %v",
				test.comment, h.MaxStaleness, h.Timeout, h.Malformed, test.staleness, test.timeout)
		}
	}
}
