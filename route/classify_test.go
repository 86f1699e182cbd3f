package route

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestClassifyAllocates holds that nothing is allocated to say what a statement is.
func TestClassifyAllocates(t *testing.T) {
	o := mysqlOptions()
	for _, bench := range benchmarkTexts() {
		runs := 100
		if len(bench.text) > 1<<20 {
			runs = 5 // one would count what the runtime allocates beside it
		}
		if got := testing.AllocsPerRun(runs, func() { Classify(bench.text, o) }); got != 0 {
			t.Errorf("Classify of %s allocates %v times", bench.name, got)
		}
	}
	o.Newest = 0 // both readings of an executable comment
	o.Oldest = 50700
	text := "SELECT 1 /*!80000 FOR UPDATE */"
	if got := testing.AllocsPerRun(100, func() { Classify(text, o) }); got != 0 {
		t.Errorf("Classify in two readings allocates %v times", got)
	}
}

// TestDecideAllocates holds that a plain read costs a warm session nothing.
func TestDecideAllocates(t *testing.T) {
	session, policy, snap := warmSession(t)
	out := Outcome{Position: snap.Servers[2].Position}
	text := benchmarkTexts()[0].text
	server, why := 0, NoReason
	got := testing.AllocsPerRun(100, func() {
		st := Classify(text, &session.Options)
		d := session.Decide(&st, text, policy, snap, nil)
		server, why = d.Server, d.Reason()
	})
	if server != 2 || why != CaughtUp {
		t.Fatalf("went to %d because of %v, want 2 and %v", server, why, CaughtUp)
	}
	if got != 0 {
		t.Errorf("Decide of a read allocates %v times", got)
	}
	st := Classify(text, &session.Options)
	d := session.Decide(&st, text, policy, snap, nil)
	if got := testing.AllocsPerRun(100, func() { session.Apply(&st, text, &d, snap, out) }); got != 0 {
		t.Errorf("Apply of a read allocates %v times", got)
	}
}

// TestClassifyPlaces holds At and End, which a command underlines.
func TestClassifyPlaces(t *testing.T) {
	tests := []struct{ text, at string }{
		{"SELECT 1", "SELECT"},
		{"  /* x */ INSERT INTO t VALUES (1)", "INSERT"},
		{"SELECT 1 FROM t FOR /* x */ UPDATE", "FOR /* x */ UPDATE"},
		{"SELECT 1; DELETE FROM t", "DELETE"},
		{"SELECT f(1)", "f"},
		{"SELECT d.`f`(1)", "`f`"},
		{"SELECT @@global.read_only", "@@global.read_only"},
		{"SELECT 1 FROM mysql.user", "mysql"},
		{"SELECT @a", "@a"},
		{"SELECT 'x", "'x"},
		{"SET @a = 1, GLOBAL b = 2", "SET"},
		{"", ""},
	}
	for _, test := range tests {
		st := Classify(test.text, &Options{})
		if got := test.text[st.At:st.End]; got != test.at {
			t.Errorf("%s: %v is given by %q, want %q", test.text, st.Reason, got, test.at)
		}
	}
}

// TestClassifyCount counts the statements that are not empty.
func TestClassifyCount(t *testing.T) {
	tests := []struct {
		text string
		want int
	}{
		{"", 0},
		{";;", 0},
		{"/* x */ -- y", 0},
		{"SELECT 1", 1},
		{"SELECT 1;", 1},
		{"; SELECT 1 ;; ", 1},
		{"SELECT 1; SELECT 2", 2},
		{"SELECT ';'", 1},
		{"CREATE PROCEDURE p() BEGIN SELECT 1; SELECT 2; END", 1},
		{"CREATE TRIGGER g BEFORE INSERT ON t FOR EACH ROW BEGIN IF 1 THEN SET @a = 1; END IF; END; SELECT 1", 2},
		{"BEGIN; SELECT 1; COMMIT", 3},
	}
	for _, test := range tests {
		if st := Classify(test.text, &Options{}); st.Count != test.want {
			t.Errorf("%q has %d statements, want %d", test.text, st.Count, test.want)
		}
	}
}

// TestClassifyAnyText holds what is true of every text: no panic, places within
// the text, and an unfinished text never a read.
func TestClassifyAnyText(t *testing.T) {
	for _, c := range statementCases(t) {
		if len(c.sql) > 1000 {
			continue
		}
		for _, o := range c.readings() {
			for i := range len(c.sql) + 1 {
				st := Classify(c.sql[:i], &o)
				if st.At < 0 || st.End < st.At || st.End > i || st.Hint.End > i {
					t.Fatalf("%q: places %d-%d, hint %d-%d", c.sql[:i], st.At, st.End, st.Hint.Start, st.Hint.End)
				}
				_ = st.Hint.Node(c.sql[:i]) + st.Hint.After(c.sql[:i]) + st.Hint.Text(c.sql[:i])
				if st.Class == Unknown && st.Target != ToPrimary && st.Target != Refuse {
					t.Fatalf("%q is unknown and goes to %v", c.sql[:i], st.Target)
				}
			}
		}
	}
}

// TestClassifySurrounded holds that white space and remarks around a statement
// change nothing.
func TestClassifySurrounded(t *testing.T) {
	for _, c := range statementCases(t) {
		if len(c.sql) > 1000 || strings.Contains(c.line, "unreadable") || c.Charset != 0 {
			continue
		}
		for server, o := range c.readings() {
			want := Classify(c.sql, &o)
			for _, text := range []string{
				"\n\t " + c.sql, c.sql + "\n", "/* remark */" + c.sql, c.sql + "\n/* remark */", "-- remark\n" + c.sql,
				c.sql + "\n-- remark", c.sql + "\n;", ";" + c.sql,
			} {
				if strings.HasSuffix(text, ";") && strings.Contains(c.sql, "PROCEDURE") {
					continue
				}
				got := Classify(text, &o)
				if describe(&got, text) != describe(&want, c.sql) || got.Facts != want.Facts || got.Count != want.Count {
					t.Errorf("%s %s: %q\n got %s\nwant %s", c.place, server, text, describe(&got, text), describe(&want, c.sql))
				}
			}
		}
	}
}

// TestTwoStatements holds for every pair of the corpus: together they are as
// strong as the stronger one, and only reads leave the primary.
func TestTwoStatements(t *testing.T) {
	var cases []statementCase
	for _, c := range statementCases(t) {
		if c.flavorSet || c.reading.Options.ANSIQuotes || c.NoBackslashEscapes || c.Charset != 0 || len(c.sql) > 200 || c.Harmless != nil {
			continue
		}
		if strings.Contains(c.line, "unreadable") || strings.ContainsAny(c.sql, "#") || strings.Contains(c.sql, "--") {
			continue // the second one would stand in a remark
		}
		cases = append(cases, c)
	}
	for i := 0; i < len(cases); i += 7 {
		for j := 0; j < len(cases); j += 5 {
			a, b := Classify(cases[i].sql, &Options{}), Classify(cases[j].sql, &Options{})
			text := cases[i].sql + "\n;\n" + cases[j].sql
			both := Classify(text, &Options{})
			if rank := max(a.Class.rank(), b.Class.rank()); both.Class.rank() < rank {
				t.Errorf("%s is %v, its parts %v and %v", text, both.Class, a.Class, b.Class)
			}
			if both.Target == ToReplica && (a.Target == ToPrimary || b.Target == ToPrimary) {
				t.Errorf("%s goes to a replica, its parts to %v and %v", text, a.Target, b.Target)
			}
			if starts := a.Starts() | b.Starts(); both.Class != Unknown && both.Starts()&starts != starts {
				t.Errorf("%s holds %v, its parts %v", text, both.Starts(), starts)
			}
		}
	}
}

func TestNames(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range AllReasons() {
		name := r.String()
		if name == "" || seen[name] || name != strings.ToLower(name) || strings.ContainsAny(name, " _,") {
			t.Errorf("reason %d is called %q", r, name)
		}
		if e := r.Explanation(); e == "" || strings.HasSuffix(e, ".") {
			t.Errorf("%v is explained by %q", r, e)
		}
		seen[name] = true
	}
	if NoReason.String() != "" || Reason(250).String() != "" || Reason(250).Explanation() != "" {
		t.Error("a reason that is none has a name")
	}
	if Class(200).String() != "unknown" || Target(200).String() != "primary" || len(Classes()) != int(Empty)+1 {
		t.Error("what is not known must be the safe one")
	}
	for _, c := range Classes() {
		if slices.Index(Classes(), c) != int(c) || c.String() == "" {
			t.Errorf("class %d is called %q", c, c)
		}
	}
}

func TestHoldsNames(t *testing.T) {
	tests := []struct {
		holds       Holds
		name, until string
	}{
		{0, "", ""},
		{HoldTemporaryTable, "temporary-table", "DROP TABLE"},
		{HoldVariable | PinUserLock, "user-variable, user-lock", "SET to a literal, RELEASE_LOCK or RELEASE_ALL_LOCKS"},
		{PinTableLocks | PinReadLock, "table-locks, read-lock", "UNLOCK TABLES"},
		{PinConnection | PinUnknown, "connection-state, unknown-state", "a reset"},
	}
	for _, test := range tests {
		if got := test.holds.String(); got != test.name {
			t.Errorf("%d is called %q, want %q", test.holds, got, test.name)
		}
		if got := test.holds.Until(); got != test.until {
			t.Errorf("%v is held until %q, want %q", test.holds, got, test.until)
		}
	}
	var all Holds
	for _, h := range AllHolds() {
		if h.String() == "" || h.Until() == "" || strings.Contains(h.String(), ",") {
			t.Errorf("hold %d is called %q, until %q", h, h, h.Until())
		}
		all |= h
	}
	if all&Pins != Pins || fmt.Sprint(Pins&HoldVariable) != "" {
		t.Errorf("AllHolds %v, Pins %v", all, Pins)
	}
}
