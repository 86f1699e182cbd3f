package sessionstate_test

import (
	"errors"
	"flag"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/backend"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sessionstate"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

var seed = flag.Uint64("sessionstate.seed", 0, "seed of the random sequences, 0 for a new one")

// one runs a query for one value.
func (e *end) one(sql string) string {
	e.t.Helper()
	r, err := e.Query(e.t.Context(), sql)
	if err != nil {
		e.t.Fatalf("%s: %v", sql, err)
	}
	if len(r.Rows) != 1 || len(r.Rows[0]) != 1 {
		e.t.Fatalf("%s: %q", sql, r.Rows)
	}
	return string(r.Rows[0][0])
}

// suspect runs a statement that is no SET.
func (e *end) suspect(sql string) {
	e.t.Helper()
	ok, err := e.Exec(e.t.Context(), sql)
	if err != nil {
		e.t.Fatal(err)
	}
	e.state = e.state.Suspect(ok.Trackers)
	e.ask()
}

// testSequences changes a session at random, and lets a connection follow it from whatever it was
// last, and others from it.
func (s *server) testSequences(t *testing.T) {
	first := *seed
	if first == 0 {
		first = rand.Uint64()
	}
	t.Logf("repeat with -sessionstate.seed=%d", first)
	r := rand.New(rand.NewPCG(first, 0))
	statements := append([]string{
		"SET NAMES latin1", "SET NAMES utf8mb4", "SET NAMES utf8mb4 COLLATE utf8mb4_bin", "SET NAMES gbk", "SET CHARACTER SET latin2",
		"SET character_set_results=NULL", "SET character_set_connection=ucs2", "SET NAMES DEFAULT", "SET sql_mode=DEFAULT",
		"SET max_join_size=DEFAULT", "SET sql_big_selects=1", "SET autocommit=1", "SET time_zone='SYSTEM'", "USE shop", "USE mysql",
		"SET TRANSACTION READ ONLY", "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE", "SET SESSION TRANSACTION READ WRITE",
		"SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED", "SET character_set_server=latin1",
	}, s.settable...)
	if len(s.settable) < 100 {
		t.Fatalf("only %d variables to set", len(s.settable))
	}
	ends := []*end{s.dial(t), s.dial(t), s.dial(t)}
	for _, e := range ends {
		e.run("USE shop") // there is no way back to none
	}
	names := []string{"a", "b", "c"}
	for range 100 {
		from, to := ends[r.IntN(len(ends))], ends[r.IntN(len(ends))]
		did := ""
		for range r.IntN(5) {
			sql := statements[r.IntN(len(statements))]
			if r.IntN(5) == 0 {
				name, literal := names[r.IntN(len(names))], fmt.Sprint(r.IntN(3))
				sql = "SET @" + name + "=" + literal
				from.state = from.state.WithUserVariable(name, literal)
			}
			charset, _ := from.state.Value("character_set_connection")
			if err := from.try(sql); err != nil && charset != "ucs2" && !strings.Contains(did, "ucs2") {
				t.Fatal(err) // in ucs2 a server does not know what 'ON' is
			}
			did += "\n" + sql
		}
		from.ask()
		was := from.state.Diff(to.state)
		to.become(from.state)
		if d := differences(from.variables(), to.variables()); d != "" {
			t.Fatalf("behind %s\nby %+v a connection has\n%s", did, was, d)
		}
		for _, sql := range []string{"SELECT DATABASE()", "SELECT @a", "SELECT @b", "SELECT @c"} {
			if got, want := to.one(sql), from.one(sql); got != want {
				t.Fatalf("behind %s\nby %+v %s gives %q, want %q", did, was, sql, got, want)
			}
		}
		for _, e := range []*end{from, to} { // with autocommit=0, that was a transaction
			e.run("ROLLBACK AND NO CHAIN NO RELEASE")
		}
	}
}

// testCollations logs in with each id there may be, and brings a connection to each.
func (s *server) testCollations(t *testing.T) {
	const sql = "SELECT CONCAT_WS(',', @@character_set_client, @@character_set_connection, @@character_set_results, @@collation_connection)"
	b := s.dial(t)
	b.run("SET character_set_results=NULL")
	seen := map[string]bool{}
	for id := 1; id <= 3000; id++ {
		want := s.catalog.New(uint16(id))
		client, _ := want.Value("character_set_client")
		connection, _ := want.Value("character_set_connection")
		results, _ := want.Value("character_set_results")
		collation, _ := want.Value("collation_connection")
		text := strings.Join([]string{client, connection, results, collation}, ",")
		if id <= 255 {
			o := s.options
			o.Charset = uint8(id)
			s.testLogin(t, &o, want, sql, text)
		}
		if seen[text] {
			continue
		}
		seen[text] = true
		b.become(want)
		if got := b.one(sql); got != text {
			t.Errorf("id %d: a connection has %s, want %s", id, got, text)
		}
	}
	if len(seen) < 200 {
		t.Errorf("%d collations", len(seen))
	}
}

// testLogin logs in with a collation of one byte.
func (s *server) testLogin(t *testing.T, o *backend.Options, want *sessionstate.State, sql, text string) {
	t.Helper()
	charset, ok := s.catalog.Takes(uint16(o.Charset))
	c, err := backend.Dial(t.Context(), o)
	if err != nil {
		var e *wire.ServerError
		if ok || !errors.As(err, &e) || e.Code != 1231 || !strings.Contains(e.Message, charset) {
			t.Errorf("id %d, %s, taken %v: %v", o.Charset, charset, ok, err)
		}
		return
	}
	defer func() { _ = c.Quit() }()
	if !ok {
		t.Errorf("id %d is taken", o.Charset)
	}
	a := s.setUp(t, c)
	if got := a.one(sql); got != text || a.state != want {
		t.Errorf("id %d: a login gives %s, the state is %s", o.Charset, got, text)
	}
}

// testSchemas selects schemas of any name, on connections of several character sets.
func (s *server) testSchemas(t *testing.T) {
	a := s.dial(t)
	b := s.dial(t)
	for _, name := range []string{"plain", "two words", "é€", "日本", `quo'te"`, `back\slash`, "back``quote", "[x]~{y}|^@", "a;b--c#d/*", "%_?"} {
		a.run("CREATE SCHEMA `" + name + "`")
		for _, names := range []string{"utf8mb4", "latin1", "sjis", "swe7", "utf8mb3"} {
			a.run("SET NAMES utf8mb4")
			a.run("USE mysql")
			a.run("USE `" + name + "`")
			a.run("SET NAMES " + names)
			a.ask()
			if want := strings.ReplaceAll(name, "``", "`"); a.state.Schema() != want {
				t.Errorf("%q is reported as %q", want, a.state.Schema())
			}
			b.become(a.state)
			const sql = "SELECT CONCAT(HEX(CONVERT(DATABASE() USING utf8mb4)), @@character_set_client)"
			if got, want := b.one(sql), a.one(sql); got != want {
				t.Errorf("%q: selected was %s, want %s", name, got, want)
			}
			b.run("USE shop")
		}
	}
	a.run("SET NAMES utf8mb4")
	a.run("CREATE SCHEMA gone")
	a.run("USE gone")
	a.run("DROP SCHEMA gone")
	if a.state.Schema() != "" {
		t.Errorf("behind DROP SCHEMA the schema is %q", a.state.Schema())
	}
	if d := a.state.Diff(b.state); !d.NoSchema {
		t.Errorf("from a schema to none: %+v", d)
	}
}

// testNames: what SET NAMES does to the collation is asked for.
func (s *server) testNames(t *testing.T) {
	a := s.dial(t)
	for _, sql := range []string{
		"SET NAMES latin1", "SET NAMES latin1 COLLATE latin1_bin", "SET CHARACTER SET latin2", "SET character_set_connection=utf8mb4",
		"SET character_set_connection=ucs2", "SET collation_connection=utf8mb4_bin, NAMES latin1", "SET NAMES utf8mb4", "SET NAMES DEFAULT",
	} {
		a.run(sql)
		a.ask()
		if got, ok := a.state.Value("collation_connection"); !ok || got != a.one("SELECT @@collation_connection") {
			t.Errorf("%s: collation %q, %v", sql, got, ok)
		}
		if got, ok := a.state.Value("character_set_connection"); !ok || got != a.one("SELECT @@character_set_connection") {
			t.Errorf("%s: character set %q, %v", sql, got, ok)
		}
	}
}

// testTransactions carries SET TRANSACTION over, which no variable shows.
func (s *server) testTransactions(t *testing.T) {
	a, b := s.dial(t), s.dial(t)
	fresh := a.state
	insert := "INSERT INTO shop.stop VALUES ('x')"
	a.run("SET TRANSACTION READ ONLY, ISOLATION LEVEL READ UNCOMMITTED")
	next := a.state
	if !next.NextTransaction() || next == fresh {
		t.Fatal("SET TRANSACTION is not in the state")
	}
	b.become(next)
	b.run("BEGIN")
	if b.try(insert) == nil {
		t.Error("the next transaction is not READ ONLY")
	}
	if b.state = b.state.Track(nil); !b.state.Equal(fresh) {
		t.Error("BEGIN has not used up SET TRANSACTION")
	}
	b.run("ROLLBACK")
	b.become(next)
	b.become(fresh) // takes it back
	b.run("BEGIN")
	b.run(insert)
	b.run("COMMIT")

	b.become(next)
	b.run("SELECT * FROM shop.stop") // a transaction by itself
	if b.state.NextTransaction() {
		t.Error("a read has not used up SET TRANSACTION")
	}
	a.run("SET SESSION TRANSACTION ISOLATION LEVEL READ COMMITTED")
	a.run("SET TRANSACTION READ WRITE")
	if level, _ := a.state.Value("transaction_isolation"); level != "READ-COMMITTED" {
		t.Errorf("transaction_isolation is %q", level)
	}
	b.run("SET TRANSACTION ISOLATION LEVEL SERIALIZABLE")
	b.become(a.state)
	b.run("BEGIN")
	b.run("COMMIT AND CHAIN")
	b.run("COMMIT")
	if b.state.NextTransaction() {
		t.Error("there is still something for the next transaction")
	}
}

// testRoutines: what a routine sets, also one that fails, and what only seems to be set.
func (s *server) testRoutines(t *testing.T) {
	a, b := s.dial(t), s.dial(t)
	fresh := a.state
	a.run("CREATE PROCEDURE shop.sets() SET SESSION sort_buffer_size=400000, time_zone='+03:00'")
	a.run("CREATE PROCEDURE shop.fails() BEGIN SET SESSION sort_buffer_size=500000, time_zone='+04:00'; SIGNAL SQLSTATE '45000'; END")
	same := func(what string) {
		t.Helper()
		b.become(a.state)
		if d := differences(a.variables(), b.variables()); d != "" {
			t.Errorf("%s: another connection has\n%s", what, d)
		}
	}
	a.suspect("CALL shop.sets()")
	if zone, _ := a.state.Value("time_zone"); zone != "+03:00" {
		t.Errorf("a procedure set time_zone, the state says %q", zone)
	}
	same("CALL")
	if a.try("CALL shop.fails()") == nil {
		t.Fatal("no error")
	}
	if s.flavor == flavor.MySQL {
		a.run("DO 1") // reports it
	} else {
		a.look()
	}
	same("CALL that fails")
	if zone, _ := a.state.Value("time_zone"); zone != "+04:00" {
		t.Errorf("a procedure that failed set time_zone, the state says %q", zone)
	}
	a.look()
	same("a look")
	statement, routine := "SELECT /*+ SET_VAR(sort_buffer_size=600000) */ 1", "SELECT /*+ SET_VAR(sort_buffer_size=700000) */ 1 INTO @x"
	if s.flavor == flavor.MariaDB {
		statement = "SET STATEMENT sort_buffer_size=600000, max_error_count=3 FOR SELECT 1"
		routine = "SET STATEMENT sort_buffer_size=700000 FOR DO 1"
	}
	a.suspect(statement)
	same(statement)
	a.run("CREATE PROCEDURE shop.hints() " + routine)
	a.suspect("CALL shop.hints()")
	same(routine)

	c := s.dial(t)
	c.look()
	if !c.state.Equal(fresh) {
		t.Errorf("a look at a new connection finds %+v", c.state.Diff(fresh))
	}
}

// look asks for everything.
func (e *end) look() {
	e.t.Helper()
	var values [][]byte
	for _, query := range e.catalog.Look() {
		if len(query) >= 1000 {
			e.t.Errorf("a query of %d bytes", len(query))
		}
		r, err := e.Query(e.t.Context(), query)
		if err != nil {
			e.t.Fatal(err)
		}
		values = append(values, r.Rows[0]...)
	}
	e.state = e.state.Looked(values)
}

// testReset: the state behind COM_RESET_CONNECTION is what Setup reports, and the schema.
func (s *server) testReset(t *testing.T) {
	a := s.dial(t)
	login := a.variables()
	a.run("USE shop")
	a.run("SET NAMES latin1")
	a.run("SET sql_mode='ANSI', timestamp=1")
	a.ask()
	if d := s.catalog.New(0).WithSchema("shop").Diff(a.state); !d.Reset {
		t.Errorf("without a reset: %+v", d)
	}
	if d := a.state.Diff(s.catalog.New(0)); d.Cannot != "timestamp" || a.state.Bound() != "timestamp" {
		t.Errorf("to another connection: %+v", d)
	}
	a.run("BEGIN")
	a.run("SELECT * FROM stop")
	a.run("SET session_track_system_variables='autocommit', session_track_schema=OFF")
	a.run(s.catalog.Watch())
	a.run("SET sort_buffer_size=400000")
	a.run("USE mysql")
	if size, _ := a.state.Value("sort_buffer_size"); size != "400000" || a.state.Schema() != "mysql" {
		t.Errorf("watched again, sort_buffer_size is %q and the schema %q", size, a.state.Schema())
	}
	a.run("USE shop")
	a.run("ROLLBACK")
	if err := a.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	schema := a.state.Schema()
	a.state = s.catalog.New(0)
	a.run(s.catalog.Setup())
	if next := s.catalog.WatchNext(true); next != "" {
		a.run(next)
	}
	a.state = a.state.WithSchema(schema)
	a.become(s.catalog.New(45).WithSchema("shop")) // utf8mb4_general_ci, as the login
	if d := differences(login, a.variables()); !strings.HasPrefix(d, "character_set_database") && d != "" {
		t.Errorf("behind a reset there is\n%s", d)
	}
}
