package sessionstate_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sessionstate"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// script answers the queries of Load in the place of a server, by their beginning.
type script map[string][][]string

func (s script) query(_ context.Context, sql string) ([][][]byte, error) {
	for start, rows := range s {
		if !strings.Contains(sql, start) {
			continue
		}
		var all [][][]byte
		for _, row := range rows {
			var values [][]byte
			for _, v := range row {
				values = append(values, []byte(v))
			}
			all = append(all, values)
		}
		return all, nil
	}
	return nil, fmt.Errorf("wrapped: %w", &wire.ServerError{Code: 1146, State: "42S02", Message: "no such table"})
}

// mysql and mariadb are servers with a few variables.
var (
	collations = [][]string{
		{"utf8mb4_general_ci", "utf8mb4", "45"},
		{"utf8mb4_bin", "utf8mb4", "46"},
		{"latin1_swedish_ci", "latin1", "8"},
		{"ucs2_general_ci", "ucs2", "35"},
		{"utf8mb4_0900_ai_ci", "utf8mb4", "255"},
		{"utf8mb4_0900_bin", "utf8mb4", "309"},
	}
	global = [][]string{{"utf8mb4", "utf8mb4", "utf8mb4_0900_ai_ci"}}
	mysql  = script{
		"variables_metadata": {
			{"autocommit", "Boolean"},
			{"optimizer_trace", "Flag Set"},
			{"sql_mode", "Set"},
			{"sort_buffer_size", "Integer"},
			{"long_query_time", "Numeric"},
			{"character_set_client", "String"},
			{"character_set_connection", "String"},
			{"character_set_results", "String"},
			{"collation_connection", "String"},
			{"time_zone", "String"},
			{"timestamp", "Numeric"},
			{"statement_id", "Integer"},
			{"max_join_size", "Integer"},
			{"sql_big_selects", "Boolean"},
			{"foreign_key_checks", "Boolean"},
			{"transaction_isolation", "Enumeration"},
			{"transaction_read_only", "Boolean"},
			{"innodb_tmpdir", "String"},
		},
		"SHOW COLLATION": collations, "@@global.": global,
	}
	mariadb = script{
		"SYSTEM_VARIABLES": {
			{"AUTOCOMMIT", "BOOLEAN", "1"},
			{"PROFILING", "BOOLEAN", "1"},
			{"SQL_MODE", "SET", "1"},
			{"TMP_TABLE_SIZE", "BIGINT UNSIGNED", "1"},
			{"CHARACTER_SET_CLIENT", "ENUM", "1"},
			{"TMP_MEMORY_TABLE_SIZE", "BIGINT UNSIGNED", "0"},
			{"CHARACTER_SET_CONNECTION", "ENUM", "1"},
			{"CHARACTER_SET_RESULTS", "ENUM", "1"},
			{"COLLATION_CONNECTION", "ENUM", "1"},
			{"TX_ISOLATION", "ENUM", "1"},
			{"TX_READ_ONLY", "BOOLEAN", "1"},
			{"WSREP_OSU_METHOD", "ENUM", "1"},
		},
		"COLLATION_CHARACTER_SET_APPLICABILITY": collations, "@@global.": global,
	}
)

func load(t testing.TB, s script, version string) *sessionstate.Catalog {
	t.Helper()
	c, err := sessionstate.Load(t.Context(), s.query, flavor.Parse(version))
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// block writes trackers: name=value are variables, >x the schema, and ~x characteristics.
func block(list ...string) []byte {
	var b []byte
	for _, one := range list {
		switch name, value, _ := strings.Cut(one, "="); one[0] {
		case '>':
			b = wire.AppendText(b, wire.TrackSchema, one[1:])
		case '~':
			b = wire.AppendText(b, wire.TrackCharacteristics, one[1:])
		case '#':
			b = wire.AppendText(b, wire.TrackTransaction, one[1:])
		default:
			b = wire.AppendVariable(b, name, value)
		}
	}
	return wire.AppendText(b, wire.TrackStateChange, "1")
}

func TestTrack(t *testing.T) {
	for _, c := range []struct {
		name     string
		server   string
		from     []string // trackers of the connection that is to become equal
		trackers []string
		ask      string
		want     sessionstate.Diff
	}{
		{name: "nothing"},
		{
			name: "what is not followed", trackers: []string{"statement_id=7", "no_such=1", "#T___W___", "autocommit=ON"},
			want: sessionstate.Diff{Set: "SET autocommit='ON'"},
		},
		{name: "the same values", trackers: []string{"character_set_client=utf8mb4"}},
		{
			name: "kinds", trackers: []string{"sort_buffer_size=7", "long_query_time=0.250000", "sql_mode=ANSI,STRICT_TRANS_TABLES"},
			want: sessionstate.Diff{Set: "SET long_query_time=0.250000,sort_buffer_size=7,sql_mode='ANSI,STRICT_TRANS_TABLES'"},
		},
		{
			name: "NULL and empty", trackers: []string{"character_set_results=", "innodb_tmpdir=", "sql_mode="},
			want: sessionstate.Diff{Set: "SET character_set_results=NULL,innodb_tmpdir=NULL,sql_mode=''"},
		},
		{
			name: "strange bytes", trackers: []string{`time_zone=a'b\`},
			want: sessionstate.Diff{Set: "SET time_zone=_utf8mb4 X'6127625c'"},
		},
		{
			name: "a number that is none", trackers: []string{"sort_buffer_size=1;DROP"},
			want: sessionstate.Diff{Set: "SET sort_buffer_size='1;DROP'"},
		},
		{
			name: "back to the login", from: []string{"sort_buffer_size=7", "sql_mode=", "foreign_key_checks=OFF"},
			want: sessionstate.Diff{Set: "SET foreign_key_checks=@@global.foreign_key_checks,sort_buffer_size=DEFAULT,sql_mode=DEFAULT"},
		},
		{
			name: "SET NAMES", trackers: []string{"character_set_client=latin1", "character_set_connection=latin1", "character_set_results=latin1"},
			ask:  "SET collation_connection=@@collation_connection",
			want: sessionstate.Diff{Set: "SET character_set_client='latin1',character_set_results='latin1',collation_connection='utf8mb4_0900_ai_ci'"},
		},
		{
			name: "SET NAMES with the collation", trackers: []string{"character_set_connection=latin1", "collation_connection=latin1_swedish_ci"},
			want: sessionstate.Diff{Set: "SET collation_connection='latin1_swedish_ci'"},
		},
		{
			name: "max_join_size", trackers: []string{"max_join_size=7", "sql_big_selects=ON"},
			want: sessionstate.Diff{Set: "SET max_join_size=7,sql_big_selects='ON',sql_big_selects='ON'"},
		},
		{
			name: "max_join_size alone", trackers: []string{"max_join_size=7"}, ask: "SET sql_big_selects=@@sql_big_selects",
			want: sessionstate.Diff{Set: "SET max_join_size=7,sql_big_selects='',sql_big_selects=''"},
		},
		{
			name: "while strings are in ucs2", from: []string{"collation_connection=ucs2_general_ci"}, trackers: []string{"autocommit=OFF"},
			want: sessionstate.Diff{Set: "SET autocommit=_utf8mb4'OFF',collation_connection=_utf8mb4'utf8mb4_0900_ai_ci'"},
		},
		{name: "schema", trackers: []string{">shop"}, want: sessionstate.Diff{Schema: "shop"}},
		{name: "the same schema", from: []string{">shop"}, trackers: []string{">shop"}},
		{name: "no schema", from: []string{">shop"}, trackers: []string{">"}, want: sessionstate.Diff{NoSchema: true}},
		{name: "a schema that is not ASCII", trackers: []string{">é"}, want: sessionstate.Diff{Schema: "é"}},
		{
			name: "that on latin1", from: []string{"character_set_client=latin1"}, trackers: []string{">é", "character_set_client=latin1"},
			want: sessionstate.Diff{First: "SET character_set_client='utf8mb4'", Schema: "é", Set: "SET character_set_client='latin1'"},
		},
		{
			name: "next transaction", trackers: []string{"~SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET TRANSACTION READ ONLY;"},
			want: sessionstate.Diff{Set: "SET @@transaction_isolation='READ-COMMITTED',@@transaction_read_only='ON'"},
		},
		{
			name: "next transaction, taken back", from: []string{"~SET TRANSACTION ISOLATION LEVEL READ COMMITTED; SET TRANSACTION READ WRITE;"},
			want: sessionstate.Diff{Set: "SET transaction_isolation=DEFAULT,transaction_read_only=DEFAULT"},
		},
		{name: "a transaction is open", trackers: []string{"~SET TRANSACTION ISOLATION LEVEL READ COMMITTED; START TRANSACTION READ ONLY;"}},
		{name: "bound", trackers: []string{"timestamp=7.000000"}, want: sessionstate.Diff{Cannot: "timestamp"}},
		{name: "bound there", from: []string{"timestamp=7.000000"}, want: sessionstate.Diff{Reset: true}},
		{
			name: "alias", server: "mariadb", trackers: []string{"tmp_memory_table_size=7", "wsrep_OSU_method=RSU"},
			want: sessionstate.Diff{Set: "SET tmp_table_size=7,wsrep_osu_method='RSU'"},
		},
		{
			name: "next transaction on MariaDB", server: "mariadb", trackers: []string{"~SET TRANSACTION READ ONLY;", "tx_isolation=SERIALIZABLE"},
			want: sessionstate.Diff{Set: "SET tx_isolation='SERIALIZABLE',@@tx_read_only='ON'"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			catalog := load(t, mysql, "9.7.4")
			if c.server == "mariadb" {
				catalog = load(t, mariadb, "10.11.19-MariaDB")
			}
			from, s := catalog.New(255).Track(block(c.from...)), catalog.New(255).Track(block(c.trackers...))
			if got := s.Ask(); got != c.ask {
				t.Errorf("ask %q, want %q", got, c.ask)
			}
			got := s.Diff(from)
			if got != c.want {
				t.Errorf("\n%+v, want\n%+v", got, c.want)
			}
			if got.None() != s.Equal(from) || s.Equal(from) != (s == from) {
				t.Errorf("%+v, equal %v, the same %v", got, s.Equal(from), s == from)
			}
			if again := s.Track(block(c.trackers...)); c.ask == "" && again != s {
				t.Error("the same trackers again make another state")
			}
		})
	}
}

func TestValue(t *testing.T) {
	s := load(t, mysql, "9.7.4").New(255)
	for _, c := range []struct {
		trackers, name, want string
		ok                   bool
	}{
		{"", "character_set_connection", "utf8mb4", true},
		{"", "sql_mode", "", false},
		{"sql_mode=", "sql_mode", "", true},
		{"transaction_isolation=SERIALIZABLE", "tx_isolation", "SERIALIZABLE", true},
		{"character_set_connection=latin1", "collation_connection", "", false},
		{"", "no_such", "", false},
	} {
		next := s
		if c.trackers != "" {
			next = s.Track(block(c.trackers))
		}
		if got, ok := next.Value(c.name); got != c.want || ok != c.ok {
			t.Errorf("%s behind %q: %q, %v", c.name, c.trackers, got, ok)
		}
	}
}

// TestSuspect: MariaDB reports what SET STATEMENT sets for one statement, MySQL has none.
func TestSuspect(t *testing.T) {
	b := block("sql_mode=ANSI", "autocommit=OFF", ">shop")
	s := load(t, mariadb, "10.11.19-MariaDB").New(255).Suspect(b)
	if got, want := s.Ask(), "SET autocommit=@@autocommit,sql_mode=@@sql_mode"; got != want {
		t.Errorf("ask %q, want %q", got, want)
	}
	if _, ok := s.Value("sql_mode"); ok || s.Schema() != "shop" {
		t.Error("a value is known that may be over, or the schema is not known")
	}
	s = s.Track(block("sql_mode=STRICT_ALL_TABLES", "autocommit=ON"))
	if mode, ok := s.Value("sql_mode"); !ok || mode != "STRICT_ALL_TABLES" || s.Ask() != "" {
		t.Errorf("behind the answer: %q, %v, ask %q", mode, ok, s.Ask())
	}
	if s := load(t, mysql, "9.7.4").New(255); s.Suspect(b) != s.Track(b) {
		t.Error("MySQL is not believed")
	}
}

// TestSame: sessions that set the same have the same state, and states of two servers compare.
func TestSame(t *testing.T) {
	c, d := load(t, mysql, "9.7.4"), load(t, mysql, "9.7.4")
	if !c.Same(d) || c.Same(load(t, mariadb, "10.11.19-MariaDB")) {
		t.Error("which catalogs are the same?")
	}
	a := c.New(45).Track(block("sql_mode=ANSI")).WithUserVariable("x", "1").WithSchema("shop")
	b := c.New(45).WithSchema("shop").WithUserVariable("X", "1").Track(block("sql_mode=ANSI"))
	if a != b {
		t.Error("equal states are two")
	}
	if other := d.New(45).Track(block("sql_mode=ANSI", ">shop")).WithUserVariable("x", "1"); other == a || !other.Equal(a) {
		t.Error("states of two servers are not equal")
	} else if got := a.Diff(other); !got.None() {
		t.Errorf("between equal ones: %+v", got)
	}
	m := load(t, mariadb, "10.11.19-MariaDB")
	if got := a.Track(block("time_zone=SYSTEM")).Diff(m.New(45)); got.Cannot != "time_zone" {
		t.Errorf("a server without time_zone: %+v", got)
	}
}

// TestRecording: what records binds while it is on, and goes along.
func TestRecording(t *testing.T) {
	for _, one := range []struct {
		server                script
		version, on, off, set string
	}{
		{mysql, "9.7.4", "optimizer_trace=enabled=on,one_line=off", "optimizer_trace=enabled=off,one_line=off", "SET optimizer_trace='enabled=on,one_line=off'"},
		{mariadb, "10.11.19-MariaDB", "profiling=ON", "profiling=OFF", "SET profiling='ON'"},
	} {
		fresh := load(t, one.server, one.version).New(45)
		on := fresh.Track(block(one.on))
		name, _, _ := strings.Cut(one.on, "=")
		if off := on.Track(block(one.off)); on.Bound() != name || off.Bound() != "" {
			t.Errorf("%s binds %q, %s binds %q", one.on, on.Bound(), one.off, off.Bound())
		}
		if got := on.Diff(fresh); got.Cannot != "" || got.Set != one.set {
			t.Errorf("%s: %+v", one.on, got)
		}
	}
}

func TestUserVariables(t *testing.T) {
	fresh := load(t, mysql, "9.7.4").New(45)
	s := fresh.WithUserVariable("b", "1").WithUserVariable("a", "NULL").WithUserVariable("B", "2")
	if got, want := s.Diff(fresh).Set, "SET @a=NULL,@b=2"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if got, want := fresh.WithUserVariable("b", "1").WithUserVariable("c", "3").Diff(s).Set, "SET @a=NULL,@b=1,@c=3"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	if s.WithoutUserVariables() != fresh || s.WithUserVariable("b", "2") != s {
		t.Error("what is the same is another state")
	}
	s = fresh
	for i := range 1000 {
		if s = s.WithUserVariable(fmt.Sprintf("v%d", i), "1"); s == nil {
			t.Fatalf("no room for %d", i)
		}
	}
	if s.WithUserVariable("v7", "2") == nil || s.WithUserVariable("more", "1") != nil {
		t.Error("the number is not bounded at 1000")
	}
	if s = fresh.WithUserVariable("a", strings.Repeat("1", 1<<19)); s.WithUserVariable("b", strings.Repeat("1", 1<<19)) != nil {
		t.Error("the bytes are not bounded")
	}
}

// TestLoad: older servers, and answers that are none.
func TestLoad(t *testing.T) {
	old := script{
		"SHOW SESSION VARIABLES": {
			{"sql_mode", "ANSI"},
			{"sort_buffer_size", "7"},
			{"innodb_flush_method", "fsync"},
			{"character_set_client", "utf8"},
			{"character_set_results", "utf8"},
			{"collation_connection", "utf8_general_ci"},
			{"tx_isolation", "SERIALIZABLE"},
			{"tx_read_only", "OFF"},
		},
		"SHOW COLLATION": collations, "@@global.": global,
	}
	c := load(t, old, "5.7.10")
	if got, want := c.Setup(), "SET session_track_system_variables='character_set_client,character_set_results,"+
		"collation_connection,sort_buffer_size,sql_mode,tx_isolation,tx_read_only', session_track_schema=ON, "; !strings.HasPrefix(got, want) {
		t.Errorf("setup is\n%s", got)
	}
	if n := len(c.SetupSmall()); n >= 1000 {
		t.Errorf("the small one has %d bytes", n)
	}
	if set := "session_track_gtids='ALL_GTIDS'"; !strings.Contains(c.Setup(), set) || strings.Contains(c.Watch(), set) {
		t.Errorf("GTIDs are to be in\n%s\nand not in\n%s", c.Setup(), c.Watch())
	}
	s := c.New(45).Track(block("sort_buffer_size=7", "tx_isolation=SERIALIZABLE", "~SET TRANSACTION READ ONLY;"))
	if got, want := s.Diff(c.New(45)).Set, "SET sort_buffer_size=7,tx_isolation='SERIALIZABLE',@@tx_read_only='ON'"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
	for name, bad := range map[string]script{
		"nothing":       {},
		"no collations": {"SHOW SESSION VARIABLES": old["SHOW SESSION VARIABLES"], "@@global.": global},
		"no columns":    {"variables_metadata": {{"sql_mode"}}, "SHOW COLLATION": collations, "@@global.": global},
		"no charset":    {"variables_metadata": {{"sql_mode", "Set"}}, "SHOW COLLATION": collations, "@@global.": global},
		"no globals":    {"variables_metadata": mysql["variables_metadata"], "SHOW COLLATION": collations},
	} {
		if _, err := sessionstate.Load(t.Context(), bad.query, flavor.Parse("8.0.36")); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
	gone := errors.New("gone")
	_, err := sessionstate.Load(t.Context(), func(context.Context, string) ([][][]byte, error) { return nil, gone }, flavor.Parse("8.0.36"))
	if !errors.Is(err, gone) {
		t.Errorf("error %v", err)
	}
}

// TestNew: the server's own character set, where it takes no other.
func TestNew(t *testing.T) {
	c := load(t, mysql, "9.7.4")
	for id, want := range map[uint16]string{
		0: "utf8mb4_0900_ai_ci", 8: "latin1_swedish_ci", 35: "utf8mb4_0900_ai_ci", 309: "utf8mb4_0900_bin", 999: "utf8mb4_0900_ai_ci",
	} {
		if got, _ := c.New(id).Value("collation_connection"); got != want {
			t.Errorf("id %d: %s, want %s", id, got, want)
		}
	}
	if charset, ok := c.Takes(35); ok || charset != "ucs2" {
		t.Errorf("id 35: %q, %v", charset, ok)
	}
	if _, ok := c.Takes(999); !ok {
		t.Error("an unknown id is refused")
	}
}

// TestBetween: from any state to any other and back, as a server would do it.
func TestBetween(t *testing.T) {
	c := load(t, mysql, "9.7.4")
	trackers := []string{
		"sql_mode=ANSI", "sql_mode=", "autocommit=OFF", "sort_buffer_size=7", "collation_connection=utf8mb4_bin", ">shop", ">mysql",
		"max_join_size=7", "sql_big_selects=ON", "time_zone=+01:00", "~SET TRANSACTION READ ONLY;", "~", "character_set_results=",
	}
	rapid.Check(t, func(t *rapid.T) {
		one := func(name string) *sessionstate.State {
			list := rapid.SliceOf(rapid.SampledFrom(trackers)).Draw(t, name)
			s := c.New(45)
			for _, tracker := range list {
				s = s.Track(block(tracker))
			}
			return s.Track(block("sql_big_selects=ON"))
		}
		a, b := one("a"), one("b")
		d := a.Diff(b)
		if d.None() != (a == b) {
			t.Fatalf("%+v, the same %v", d, a == b)
		}
		next := b
		if d.Schema != "" {
			next = next.WithSchema(d.Schema)
		}
		values := rest(d.Set)
		for _, name := range []string{"sql_mode", "autocommit", "sort_buffer_size", "max_join_size", "time_zone", "character_set_results"} {
			want, set := a.Value(name)
			was, had := next.Value(name)
			got, assigned := values[name]
			switch {
			case want == was && set == had:
				if assigned {
					t.Fatalf("%s is set again: %s", name, d.Set)
				}
			case !set && got != "DEFAULT", set && got != want && got != "'"+want+"'" && (want != "" || got != "NULL"):
				t.Fatalf("%s: %s, want %q %v", name, d.Set, want, set)
			}
		}
	})
}

// rest reads the assignments of a SET.
func rest(set string) map[string]string {
	all := map[string]string{}
	for one := range strings.SplitSeq(strings.TrimPrefix(set, "SET "), ",") {
		name, value, _ := strings.Cut(one, "=")
		all[name] = value
	}
	return all
}

func TestLooked(t *testing.T) {
	c := load(t, mariadb, "10.11.19-MariaDB")
	if n := len(load(t, mysql, "9.7.4").Look()); n != 0 {
		t.Errorf("MySQL is asked %d queries", n)
	}
	answers := map[string][2]string{
		"autocommit": {"1", "1"}, "sql_mode": {"ANSI", ""}, "tmp_table_size": {"1", "1"}, "tx_isolation": {"SERIALIZABLE", "SERIALIZABLE"}, "tx_read_only": {"0", "0"},
		"character_set_client": {"utf8mb4", "utf8mb4"}, "character_set_results": {"", "utf8mb4"}, "collation_connection": {"utf8mb4_general_ci", "utf8mb4_general_ci"},
	}
	var values [][]byte
	for _, query := range c.Look() {
		for name := range strings.SplitSeq(strings.ReplaceAll(query, " USING", "HEX(CONVERT(@@"), "HEX(CONVERT(@@") {
			if name, found := strings.CutPrefix(name, "session."); found {
				values = append(values, fmt.Appendf(nil, "%X", answers[name][0]), fmt.Appendf(nil, "%X", answers[name][1]))
			}
		}
	}
	s := c.New(45).Suspect(block("autocommit=OFF"))
	got := s.Looked(values)
	want := c.New(45).Track(block("autocommit=ON", "sql_mode=ANSI", "character_set_results="))
	if got != want {
		t.Errorf("%+v", got.Diff(want))
	}
	if got.Looked(nil) != got || got.Looked(values) != got {
		t.Error("nothing changes the state")
	}
}

func FuzzTrack(f *testing.F) {
	f.Add(block("sql_mode=ANSI", ">shop", "~SET TRANSACTION READ ONLY;"))
	f.Add([]byte{0, 250, 1, 2})
	c := load(f, mysql, "9.7.4")
	f.Fuzz(func(t *testing.T, b []byte) {
		s := c.New(45)
		next := s.Track(b)
		if next != s && next.Equal(s) {
			t.Error("an equal state is another one")
		}
		if again := next.Track(b); next.Ask() == "" && !again.Equal(next) {
			t.Error("the same trackers again change the state")
		}
		for _, c := range next.Diff(s).Set {
			if c < ' ' || c > '~' {
				t.Errorf("%q is not ASCII", next.Diff(s).Set)
			}
		}
	})
}

// TestAllocations: an answer without changes costs nothing.
func TestAllocations(t *testing.T) {
	c := load(t, mysql, "9.7.4")
	b := block("sql_mode=ANSI", "autocommit=OFF", "statement_id=7", ">shop", "#T___W___", "~", "unknown_one=1")
	s, o := c.New(45).Track(b), c.New(46).Track(b)
	for name, run := range map[string]func(){
		"Track":   func() { s = s.Track(b) },
		"Suspect": func() { s = s.Suspect(b) },
		"Equal":   func() { _ = s.Equal(o) },
		"Diff":    func() { _ = s.Diff(s) },
	} {
		if n := testing.AllocsPerRun(100, run); n > 0 {
			t.Errorf("%s allocates %v times", name, n)
		}
	}
}

func BenchmarkTrack(b *testing.B) {
	c := load(b, mysql, "9.7.4")
	same := block("sql_mode=ANSI", "autocommit=OFF", ">shop")
	s := c.New(45).Track(same)
	b.Run("same", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			s = s.Track(same)
		}
	})
	b.Run("changes", func(b *testing.B) {
		on, off := block("autocommit=ON"), block("autocommit=OFF")
		b.ReportAllocs()
		for b.Loop() {
			s = s.Track(on).Track(off)
		}
	})
}

func BenchmarkDiff(b *testing.B) {
	c := load(b, mysql, "9.7.4")
	s, o := c.New(45).Track(block("sql_mode=ANSI", "autocommit=OFF")), c.New(45).Track(block("time_zone=SYSTEM"))
	b.ReportAllocs()
	for b.Loop() {
		_ = s.Diff(o)
	}
}
