package route

import (
	"strings"
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

// TestHintEverywhere holds every spelling of consistency.md, in both letter
// cases, in every kind of comment, in every place, and never in a string.
func TestHintEverywhere(t *testing.T) {
	tests := []struct{ body, want string }{
		{"FORCE_MASTER", "primary"},
		{"to master", "primary"},
		{"master", "primary"},
		{"maxscale route to master", "primary"},
		{"FORCE_SLAVE", "replica"},
		{"to slave", "replica"},
		{"slave", "replica"},
		{"maxscale route to slave", "replica"},
		{"slave:20", "replica-only,max_staleness:20s"},
		{"slave:slaveonly", "replica-only"},
		{"slave:slaveonly,20", "replica-only,max_staleness:20s"},
		{"force_node='n1'", "node:n1"},
		{"to server n1", "node:n1"},
		{"maxscale route to server n1", "node:n1"},
		{"maxscale route to last", "last"},
		{"maxscale max_slave_replication_lag=3", "max_staleness:3s"},
		{"mysqlrw(consistency=global, timeout=50ms, max_staleness=2s, node=n1)", "node:n1,level:global,max_staleness:2s,timeout:50ms"},
		{"+ READ_CONSISTENCY(WEAK)", "level:weak"},
		{"+READ_CONSISTENCY(STRONG)", "level:strong"},
		{"+ mysqlrw(consistency=scc)", "level:scc"},
		{"+ master", "primary"},
	}
	places := []string{"%SELECT a FROM t WHERE b = 1", "SELECT % a FROM t WHERE b = 1", "SELECT a FROM % t", "SELECT a FROM t WHERE b = 1%", "SELECT a FROM t; %"}
	quotes := []string{"'", `"`, "`"}
	for _, test := range tests {
		bodies := []string{strings.ToLower(test.body), strings.ToUpper(test.body), "  " + test.body + "\t"}
		if test.body[0] == '+' {
			bodies = bodies[:2]
		}
		for i, body := range bodies {
			want := test.want
			if i == 1 {
				want = strings.ReplaceAll(want, "node:n1", "node:N1")
			}
			comments := []string{"/*" + body + "*/", "# " + body + "\n", "#" + body + "\n", "-- " + body + "\n"}
			if body[0] == '+' { // only in a comment for the optimizer
				comments = comments[:1]
			}
			for _, comment := range comments {
				for _, place := range places {
					text := strings.Replace(place, "%", comment, 1)
					st := Classify(text, &Options{})
					if got := describeHint(&st.Hint, text); got != want || st.Class != Read || st.Target != ToReplica {
						t.Errorf("%q: %v, hint %q, want %q", text, st.Class, got, want)
					}
				}
				for _, quote := range quotes {
					if strings.Contains(comment, quote) {
						continue
					}
					text := "SELECT " + quote + comment + quote + " FROM t"
					if st := Classify(text, &Options{}); st.Hint.Asks() || st.Hint.Malformed {
						t.Errorf("%q has a hint", text)
					}
				}
			}
		}
	}
}
