package sessionstate_test

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/backend"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/sessionstate"
)

// end is one connection and the state that it is in.
type end struct {
	*backend.Conn
	t       testing.TB
	catalog *sessionstate.Catalog
	state   *sessionstate.State
}

// server is what the tests here share.
type server struct {
	options backend.Options
	catalog *sessionstate.Catalog
	flavor  flavor.Flavor

	settable []string // statements that change a variable which can be carried
}

func TestServer(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		cluster := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: -1})
		sandboxtest.Exec(t, cluster.Primary(), "CREATE USER app IDENTIFIED BY 'secret'", "GRANT ALL ON *.* TO app",
			"CREATE USER plain IDENTIFIED BY 'secret'", "CREATE SCHEMA shop", "CREATE TABLE shop.stop(value VARCHAR(30)) ENGINE=InnoDB",
			"GRANT ALL ON shop.* TO plain")
		s := &server{flavor: f, options: backend.Options{Address: cluster.Primary().Address(), User: "app", Password: "secret"}}
		s.load(t)
		t.Run("variables", s.testVariables)
		t.Run("sequences", s.testSequences)
		t.Run("collations", s.testCollations)
		t.Run("schemas", s.testSchemas)
		t.Run("names", s.testNames)
		t.Run("transactions", s.testTransactions)
		t.Run("routines", s.testRoutines)
		t.Run("reset", s.testReset)
	})
}

// load reads the catalog as a plain account, which has no rights on the server.
func (s *server) load(t *testing.T) {
	o := s.options
	o.User = "plain"
	c, err := backend.Dial(t.Context(), &o)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = c.Quit() }()
	if s.catalog, err = sessionstate.Load(t.Context(), query(c), c.Server()); err != nil {
		t.Fatal(err)
	}
	if _, err := c.Exec(t.Context(), s.catalog.Setup()); err != nil {
		t.Fatal(err)
	}
}

func query(c *backend.Conn) sessionstate.Query {
	return func(ctx context.Context, sql string) ([][][]byte, error) {
		r, err := c.Query(ctx, sql)
		if err != nil {
			return nil, err
		}
		return r.Rows, nil
	}
}

// dial opens a connection, set up.
func (s *server) dial(t testing.TB) *end {
	t.Helper()
	c, err := backend.Dial(t.Context(), &s.options)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return s.setUp(t, c)
}

func (s *server) setUp(t testing.TB, c *backend.Conn) *end {
	t.Helper()
	e := &end{Conn: c, t: t, catalog: s.catalog, state: s.catalog.New(0)}
	e.run(s.catalog.Setup())
	if next := s.catalog.WatchNext(true); next != "" {
		e.run(next)
	}
	return e
}

// run runs a statement and tracks it.
func (e *end) run(sql string) {
	e.t.Helper()
	if err := e.try(sql); err != nil {
		e.t.Fatal(err)
	}
}

func (e *end) try(sql string) error {
	ok, err := e.Exec(e.t.Context(), sql)
	if err == nil {
		e.state = e.state.Track(ok.Trackers)
	}
	return err
}

// ask settles doubts.
func (e *end) ask() {
	e.t.Helper()
	if sql := e.state.Ask(); sql != "" {
		e.run(sql)
		if again := e.state.Ask(); again != "" {
			e.t.Fatalf("behind %s there is still to ask: %s", sql, again)
		}
	}
}

// become brings the connection into a state.
func (e *end) become(s *sessionstate.State) {
	e.t.Helper()
	d := s.Diff(e.state)
	if d.None() != (s == e.state) {
		e.t.Fatalf("diff: %+v, the states are the same: %v", d, s == e.state)
	}
	if d.NoSchema || d.Reset || d.Cannot != "" {
		e.t.Fatalf("diff: %+v", d)
	}
	if d.First != "" {
		e.run(d.First)
	}
	if d.Schema != "" {
		if err := e.InitDB(e.t.Context(), d.Schema); err != nil {
			e.t.Fatal(err)
		}
		e.state = e.state.WithSchema(d.Schema)
	}
	if d.Set != "" {
		e.run(d.Set)
	}
	e.ask()
	if again := s.Diff(e.state); again.Schema != "" || strings.Contains(again.Set, "@@t") {
		e.t.Fatalf("behind %+v there is still %+v", d, again)
	}
	e.state = s
}

// volatile are variables that no two connections have alike.
const volatile = " timestamp rand_seed1 rand_seed2 pseudo_thread_id statement_id insert_id last_insert_id identity error_count" +
	" warning_count gtid_executed gtid_binlog_pos gtid_binlog_state gtid_current_pos last_gtid in_transaction "

// variables returns what SHOW SESSION VARIABLES shows.
func (e *end) variables() map[string]string {
	e.t.Helper()
	r, err := e.Query(e.t.Context(), "SHOW SESSION VARIABLES")
	if err != nil {
		e.t.Fatal(err)
	}
	all := map[string]string{}
	for _, row := range r.Rows {
		if name := string(row[0]); !strings.Contains(volatile, " "+name+" ") {
			all[name] = string(row[1])
		}
	}
	return all
}

// differences lists what is not the same in both, a line each.
func differences(a, b map[string]string) string {
	var all []string
	for name, value := range a {
		if b[name] != value {
			all = append(all, fmt.Sprintf("%s: %q, want %q", name, b[name], value))
		}
	}
	slices.Sort(all)
	return strings.Join(all, "\n")
}

// testVariables sets each variable that a session can set, brings another connection to the same,
// and takes it back on both.
func (s *server) testVariables(t *testing.T) {
	a, b := s.dial(t), s.dial(t)
	fresh, login := a.state, a.variables()
	if b.state != fresh {
		t.Fatal("two logins alike have different states")
	}
	left := ""
	for _, name := range s.names(t, a) {
		set, after := a.change(name, login)
		a.ask()
		use, _ := flavor.SessionVariable(s.flavor, a.state.Bound())
		switch {
		case a.state.Bound() != "" && use != flavor.Recording:
			if use != flavor.Bound {
				t.Errorf("%s binds the session", name)
			}
			a = s.dial(t)
			continue
		case set == "":
			left += " " + name
			a.become(fresh)
			continue
		}
		s.settable = append(s.settable, set)
		for name, value := range after {
			if got, ok := a.state.Value(name); value != login[name] && (!ok || got != value) && s.session(name) {
				t.Errorf("%s: %s became %q, the state says %q", set, name, value, got)
			}
		}
		b.become(a.state)
		if d := differences(after, b.variables()); d != "" {
			t.Errorf("%s: another connection has\n%s\nchanged were\n%s", set, d, differences(login, after))
		}
		for e, redial := range map[**end]string{&a: "the connection", &b: "another connection"} {
			(*e).become(fresh)
			if d := differences(login, (*e).variables()); d != "" {
				t.Errorf("%s, taken back: %s has\n%s", set, redial, d)
				*e = s.dial(t)
			}
		}
	}
	// Those of which the test knows no second value, or the server allows none.
	want := " external_table_storage_engine gtid_next max_delayed_threads max_insert_delayed_threads resultset_metadata"
	if s.flavor == flavor.MariaDB {
		want = " max_delayed_threads max_insert_delayed_threads query_cache_type wsrep_gtid_seq_no wsrep_on" +
			" wsrep_trx_fragment_size wsrep_trx_fragment_unit"
	}
	if left != want {
		t.Errorf("not tested are%s\nwant%s", left, want)
	}
}

// change sets a variable to some value that is not its own, and returns the statement and what the
// connection's variables are then.
func (e *end) change(name string, login map[string]string) (set string, after map[string]string) {
	e.t.Helper()
	for _, value := range values(name, login[name]) {
		sql := "SET SESSION " + name + "=" + value
		if e.try(sql) != nil {
			continue
		}
		if after = e.variables(); after[name] != login[name] {
			return sql, after
		}
	}
	return "", nil
}

// session tells whether the state is to know the variable.
func (s *server) session(name string) bool {
	use, other := flavor.SessionVariable(s.flavor, name)
	return use != flavor.Part || strings.HasPrefix(other, "collation_")
}

// names returns the variables that a session may be able to set.
func (s *server) names(t *testing.T, e *end) []string {
	t.Helper()
	sql := "SELECT VARIABLE_NAME FROM performance_schema.variables_metadata WHERE VARIABLE_SCOPE <> 'GLOBAL' ORDER BY 1"
	if s.flavor == flavor.MariaDB {
		sql = "SELECT LOWER(VARIABLE_NAME) FROM information_schema.SYSTEM_VARIABLES" +
			" WHERE VARIABLE_SCOPE <> 'GLOBAL' AND READ_ONLY = 'NO' ORDER BY 1"
	}
	r, err := e.Query(t.Context(), sql)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, row := range r.Rows {
		name := string(row[0])
		if use, _ := flavor.SessionVariable(s.flavor, name); use != flavor.Ignored {
			names = append(names, name)
		}
	}
	return names
}

// values returns expressions that a variable may be set to, none of which is its value.
func values(name, now string) []string {
	switch {
	case name == "sql_mode":
		return []string{"'ANSI,NO_BACKSLASH_ESCAPES'"}
	case name == "optimizer_switch":
		return []string{"'mrr=off,index_merge=off'"}
	case name == "optimizer_trace":
		return []string{"'enabled=on'"}
	case name == "optimizer_trace_features":
		return []string{"'greedy_search=off'"}
	case strings.Contains(name, "storage_engine"):
		return []string{"MEMORY", "MyISAM", "TempTable"}
	case name == "innodb_ft_user_stopword_table":
		return []string{"'shop/stop'"}
	case name == "max_execution_time":
		return []string{"100000"} // ms
	case name == "max_statement_time":
		return []string{"100.25"}
	case name == "optimizer_trace_offset":
		return []string{"5"}
	case name == "innodb_tmpdir":
		return []string{"'/tmp'"}
	case name == "time_zone":
		return []string{"'+02:30'"}
	case name == "character_set_results":
		return []string{"NULL"}
	case strings.HasPrefix(name, "character_set_"):
		return []string{"latin2"}
	case name == "default_collation_for_utf8mb4":
		return []string{"utf8mb4_general_ci"}
	case strings.HasPrefix(name, "collation_"):
		return []string{"utf8mb4_bin"}
	case strings.HasPrefix(name, "lc_"):
		return []string{"'de_DE'"}
	case name == "system_versioning_asof":
		return []string{"'2020-01-01 00:00:00'"}
	case name == "block_encryption_mode":
		return []string{"'aes-256-cbc'"}
	case now == "ON":
		return []string{"OFF", "0", "1", "2"}
	case now == "OFF":
		return []string{"ON", "1", "2"}
	}
	if n, err := strconv.ParseUint(now, 10, 64); err == nil {
		if n > 1<<62 {
			return []string{"1000000000000", "100"}
		}
		var all []string
		for _, v := range []uint64{n + 1, n + 1024, n * 2, n - 1024, n / 2, n - 1, 1, 7, 4096, 1 << 20} {
			all = append(all, strconv.FormatUint(v, 10))
		}
		return all
	}
	if n, err := strconv.ParseFloat(now, 64); err == nil {
		return []string{strconv.FormatFloat(n+0.123456, 'f', -1, 64), "1.5"}
	}
	return []string{"1", "0", "2", "3", "4"} // members of an enumeration or set by number
}
