package proxy_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strconv"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/proxy"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// TestStatements has what other proxies were reported to get wrong about prepared statements.
func TestStatements(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		s := newSite(t, f, sandbox.Options{Replicas: 1, PrimaryArgs: []string{"--max-allowed-packet=64M"}, ReplicaArgs: []string{"--max-allowed-packet=64M"}},
			func(o *proxy.Options) { o.Pool.Max, o.Pool.MaxIdle = 3, 3 },
			"CREATE TABLE t (id INT PRIMARY KEY, n INT, s LONGTEXT)", "INSERT INTO t VALUES (1, 10, 'a'), (2, 20, 'b'), (3, 30, 'c'), (4, 40, 'd'), (5, 50, 'e')", wideTable(),
		)
		exec(t, s.app, "DO 1")
		for _, test := range []struct {
			name string
			run  func(*site, *testing.T)
		}{
			{"ALTER TABLE between PREPARE and EXECUTE", (*site).alterBetween},
			{"one statement on both servers", (*site).bothServers},
			{"a failing PREPARE leaves nothing", (*site).failingPrepare},
			{"closed statements leave nothing", (*site).manyStatements},
			{"900 columns", (*site).manyColumns},
			{"long data to both servers", (*site).longDataBoth},
			{"cursors", (*site).cursors},
			{"the last one that was prepared", (*site).lastPrepared},
			{"types that were sent before", (*site).typesOnce},
			{"another schema and mode", (*site).preparedIn},
			{"refused as read-only in the middle", (*site).refusedMidway},
		} {
			t.Run(test.name, func(t *testing.T) { test.run(s, t) })
		}
	})
}

func wideTable() string {
	var b strings.Builder
	b.WriteString("CREATE TABLE wide (c0 INT")
	for i := 1; i < 900; i++ {
		fmt.Fprintf(&b, ", c%d TINYINT", i)
	}
	return b.String() + ") ENGINE=InnoDB ROW_FORMAT=DYNAMIC"
}

func (s *site) raw(t *testing.T, caps wire.Capability) *raw {
	return mustDialRaw(t, s.address, rawOptions{user: appUser, password: appPassword, schema: "f", caps: caps})
}

// run returns what the steps of one client got, without what came before.
func (r *raw) run(steps ...step) string {
	r.log.Reset()
	return r.transcript(steps)
}

// has fails the test for each part that a transcript has not as often.
func has(t *testing.T, transcript string, parts ...string) {
	t.Helper()
	for _, p := range parts {
		if !strings.Contains(transcript, p) {
			t.Errorf("no %s in\n%s", p, transcript)
		}
	}
}

func (s *site) alterBetween(t *testing.T) {
	exec(t, s.primary, "CREATE TABLE f.alt (a INT)", "INSERT INTO f.alt VALUES (1)")
	replicated(t, s.cluster)
	for _, caps := range []wire.Capability{ordinary, ordinary &^ wire.DeprecateEOF} {
		r := s.raw(t, caps)
		has(t, r.run(prepare("SELECT * FROM alt"), execute(0, 0)), `HEAD "\x01"`)
		exec(t, s.primary, "ALTER TABLE f.alt ADD COLUMN b VARCHAR(9) DEFAULT 'new'")
		replicated(t, s.cluster)
		has(t, r.run(execute(0, 0)), `HEAD "\x02"`, `\x03new`)
		has(t, r.run(query("SELECT * FROM alt FOR UPDATE"), execute(0, 0)), `\x03new`)
		exec(t, s.primary, "ALTER TABLE f.alt DROP COLUMN b")
		replicated(t, s.cluster)
		has(t, r.run(execute(0, 0)), `HEAD "\x01"`)
	}
}

// bothServers runs one statement on the replica, in a transaction on the primary, and on the replica
// again, where other clients have had its connection.
func (s *site) bothServers(t *testing.T) {
	c := conn(t, s.app)
	st, err := c.PrepareContext(t.Context(), "SELECT CONCAT(?, n, ?) FROM t WHERE id = ?")
	if err != nil {
		t.Fatal(err)
	}
	defer st.Close()
	ask := func(id int, where string) {
		t.Helper()
		var v string
		if err := st.QueryRow("<", strings.Repeat(">", id), id).Scan(&v); err != nil {
			t.Fatal(err)
		}
		want(t, "value", v, fmt.Sprint("<", id*10, strings.Repeat(">", id)))
		if where == "primary" {
			onPrimary(t, c, "in a transaction")
		} else {
			onReplica(t, c, "without a transaction")
		}
	}
	for range 3 {
		ask(1, "replica")
		exec(t, c, "BEGIN", "UPDATE t SET n = n WHERE id = 1")
		ask(2, "primary")
		exec(t, c, "COMMIT")
		ask(3, "replica")
		for range 3 {
			want(t, "another client", form{prepared: true}.value(t, conn(t, s.app), "SELECT n FROM t WHERE id = ?", 4), "40")
		}
	}
}

// status is a status variable of the primary.
func (s *site) status(t *testing.T, name string) int {
	t.Helper()
	var n, v string
	if err := s.primary.QueryRow("SHOW GLOBAL STATUS LIKE '"+name+"'").Scan(&n, &v); err != nil {
		t.Fatal(err)
	}
	i, err := strconv.Atoi(v)
	if err != nil {
		t.Fatal(err)
	}
	return i
}

func (s *site) failingPrepare(t *testing.T) {
	r := s.raw(t, ordinary)
	before := s.status(t, "Prepared_stmt_count")
	for range 300 {
		has(t, r.run(prepare("INSERT INTO missing VALUES (?)"), prepare("SELECT nonsense FROM")), "ERR1146", "ERR1064")
	}
	if n := s.status(t, "Prepared_stmt_count"); n > before {
		t.Errorf("the server has %d statements more", n-before)
	}
	if len(r.ids) > 0 {
		t.Errorf("%d of them were prepared", len(r.ids))
	}
	if p := showSession(r)["prepared-statements"]; p != "0" {
		t.Errorf("the proxy keeps %s", p)
	}
}

// showSession is SHOW MYSQLRW SESSION.
func showSession(r *raw) map[string]string {
	r.send(wire.AppendQuery(nil, "SHOW MYSQLRW SESSION", r.caps))
	all := map[string]string{}
	c := wire.NewCursor("head", r.packet())
	for range c.LenEncInt() {
		r.packet()
	}
	for {
		p := r.packet()
		if p[0] == 0xfe {
			return all
		}
		row := wire.ReadTextRow(p)
		name, _ := row.Next()
		value, _ := row.Next()
		all[string(name)] = string(value)
	}
}

// manyStatements prepares and closes more than a connection keeps.
func (s *site) manyStatements(t *testing.T) {
	r := s.raw(t, ordinary)
	for i := range 400 {
		has(t, r.run(prepare(fmt.Sprintf("UPDATE t SET n = n WHERE id = %d + ?", i)), execute(i, 0, "0"), stmtClose(i)), "OK status=0x2 ")
	}
	if n := s.status(t, "Prepared_stmt_count"); n > 3*129 {
		t.Errorf("the server has %d statements", n)
	}
	want(t, "statements of the client", showSession(r)["prepared-statements"], "0")
	has(t, r.run(execute(399, 0, "0")), "ERR1243")
}

func (s *site) manyColumns(t *testing.T) {
	marks := strings.Repeat(", ?", 899)
	params := make([]any, 900)
	for i := range params {
		params[i] = strconv.Itoa(i % 100)
	}
	for _, caps := range []wire.Capability{ordinary, ordinary &^ wire.DeprecateEOF} {
		r := s.raw(t, caps)
		has(t, r.run(prepare("INSERT INTO wide VALUES (?"+marks+")"), execute(0, 0, params...), prepare("SELECT * FROM wide")), "OK status=0x2 ", `PREPARED "\x00\x00\x00\x00\x00\x84\x03\x00\x00`)
		replicated(t, s.cluster)
		got := r.run(execute(1, 0))
		if n := strings.Count(got, " COLUMN "); n != 900 {
			t.Errorf("%d columns", n)
		}
		has(t, got, "ROW", "END status=0x2")
	}
}

func (s *site) longDataBoth(t *testing.T) {
	for _, where := range []string{"replica", "primary", "replica"} {
		r := s.raw(t, ordinary)
		if where == "primary" {
			r.run(queries("SET autocommit = 0"))
		}
		pieces := []step{prepare("SELECT LENGTH(CONCAT(?, ?)), ?")}
		for range 4 {
			pieces = append(pieces, longData(0, 0, strings.Repeat("x", 300_000)))
		}
		got := r.run(append(pieces, longData(0, 1, ""), execute(0, 0, long{}, long{}, "z"), execute(0, 0, "abc", "d", nil))...)
		length := binary.LittleEndian.AppendUint64(nil, 1_200_000)[:4]
		has(t, got, fmt.Sprintf("%q", length)[1:10], `\x01z`, `ROW "\x00\b\x04\x00`)
	}
	// An INSERT of it, cut and whole.
	r := s.raw(t, ordinary)
	got := r.run(prepare("UPDATE t SET s = ? WHERE id = 1"), longData(0, 0, "two "), longData(0, 0, "pieces"), execute(0, 0, long{}), longData(0, 0, "dropped"), stmtReset(0), execute(0, 0, "kept"))
	if strings.Count(got, "Changed: 1") != 2 {
		t.Error(got)
	}
	want(t, "value", value(t, s.primary, "SELECT s FROM f.t WHERE id = 1"), "kept")
}

func (s *site) cursors(t *testing.T) {
	for _, caps := range []wire.Capability{ordinary, ordinary &^ wire.DeprecateEOF} {
		r := s.raw(t, caps)
		got := r.run(
			prepare("SELECT id, n FROM t ORDER BY id"), execute(0, wire.CursorReadOnly), fetch(0, 2),
			query("SELECT 1"), queries("UPDATE t SET n = n WHERE id = 1"), fetch(0, 2), fetch(0, 2), fetch(0, 2),
			prepare("SELECT id FROM t WHERE id > ? ORDER BY id"), execute(0, wire.CursorReadOnly), execute(1, wire.CursorReadOnly, "3"), fetch(0, 1), fetch(1, 1), fetch(0, 1), fetch(1, 5), stmtClose(1), fetch(0, 9), stmtReset(0), fetch(0, 1), ping,
		)
		if n := strings.Count(got, "  1 ROW"); n < 5 {
			t.Errorf("%d times rows began, in\n%s", n, got)
		}
		for i := 1; i <= 5; i++ { // each row twice as its id
			if row := fmt.Sprintf(`ROW "\x00\x00\x0%d\x00\x00\x00`, i); strings.Count(got, row) < 2 {
				t.Errorf("row %d is missing in\n%s", i, got)
			}
		}
		has(t, got, "END status=0x82", "ERR1421", "PING\n  1 OK")
		if left := showSession(r)["connection"]; left == "kept" {
			t.Errorf("the connection is kept: %v", showSession(r))
		}
	}
}

// lastPrepared sends COM_STMT_PREPARE, and EXECUTE of the last one, in one write, as MariaDB's clients do.
func (s *site) lastPrepared(t *testing.T) {
	if s.flavor != flavor.MariaDB {
		t.Skip("MySQL has no such number")
	}
	r := s.raw(t, ordinary)
	b, _ := wire.AppendMessage(nil, append([]byte{byte(wire.ComStmtPrepare)}, "SELECT n + ? FROM t WHERE id = 2"...), 0)
	for _, v := range []string{"1", "2"} {
		b, _ = wire.AppendMessage(b, r.execution(wire.LastPrepared, 0, nil, v), 0)
	}
	r.bytes(b)
	r.log.Reset()
	r.seq = 1
	r.prepared()
	for range 2 {
		r.seq = 1
		r.results()
	}
	has(t, r.log.String(), "PREPARED", "HEAD")
	if n := strings.Count(r.log.String(), "ROW"); n != 2 {
		t.Errorf("%d rows in\n%s", n, r.log.String())
	}
	last := func(r *raw) { do("EXECUTE last", r.execution(wire.LastPrepared, 0, nil, "1"))(r) }
	s.compare(t, &script{caps: ordinary, steps: []step{
		last, prepare("SELECT n + ? FROM t WHERE id = 2"), last, prepare("SELECT nonsense FROM"), last, ping, stmtClose(0), last, ping,
	}, has: []string{"ERR1064", "ROW"}})
}

// typesOnce sends the types of parameters with the first execution only, and has it run elsewhere then.
func (s *site) typesOnce(t *testing.T) {
	r := s.raw(t, ordinary)
	r.run(prepare("SELECT CONCAT(?, n) FROM t WHERE id = 2"), execute(0, 0, "first "))
	again := r.execution(r.id(0), 0, nil, "again ")
	types := bytes.Index(again, []byte{1, byte(wire.TypeVarString), 0})
	again = append(append(again[:types:types], 0), again[types+3:]...)
	has(t, r.run(do("on the replica", again)), "again 20")
	has(t, r.run(query("BEGIN"), query("UPDATE t SET n = n WHERE id = 2"), do("on the primary", again), query("COMMIT")), "again 20")
}

// preparedIn: what a statement means is what it meant when it was prepared.
func (s *site) preparedIn(t *testing.T) {
	exec(t, s.primary, "CREATE DATABASE f2", "CREATE TABLE f2.t (id INT, n INT)", "INSERT INTO f2.t VALUES (1, 99)", "GRANT ALL ON f2.* TO app")
	replicated(t, s.cluster)
	r := s.raw(t, ordinary)
	r.run(queries("SET SESSION sql_mode = 'ANSI_QUOTES'"), prepare(`SELECT CONCAT('n is ', "n") FROM t WHERE id = 1`), queries("SET SESSION sql_mode = ''", "USE f2"))
	has(t, r.run(execute(0, 0)), "n is 10")
	has(t, r.run(query("BEGIN"), query("UPDATE t SET n = n"), execute(0, 0), query("COMMIT")), "n is 10")
	has(t, r.run(query("SELECT CONCAT('n is ', n) FROM t WHERE id = 1")), "n is 99")
}

// refusedMidway: what a server refuses after a part of it was committed is not run again, on the next
// primary or prepared anew.
func (s *site) refusedMidway(t *testing.T) {
	const refuse = "SIGNAL SQLSTATE 'HY000' SET MESSAGE_TEXT = 'running with the --read-only option', MYSQL_ERRNO = "
	exec(t, s.primary, "CREATE TABLE f.once (id INT PRIMARY KEY, n INT)", "INSERT INTO f.once VALUES (1, 0), (2, 0)",
		"CREATE TRIGGER f.refuses BEFORE UPDATE ON f.once FOR EACH ROW IF NEW.id = 2 THEN "+refuse+"1290; END IF",
		"CREATE PROCEDURE f.midway(code INT) BEGIN UPDATE once SET n = n + 1 WHERE id = 1; "+refuse+"code; END")
	r := s.raw(t, ordinary&^wire.LongPassword|wire.MariaDBBulk)
	steps, times := []step{
		query("CALL midway(1290)"), prepare("CALL midway(1290)"), execute(0, 0), queries("PREPARE p FROM 'CALL midway(1290)'", "EXECUTE p"),
		prepare("CALL midway(1615)"), execute(1, 0),
	}, 4
	if s.flavor == flavor.MariaDB {
		types := []byte{byte(wire.TypeVarString), 0, byte(wire.TypeVarString), 0}
		steps = append(steps, prepare("UPDATE once SET n = n + ? WHERE id = ?"), bulk(2, types, "1", "1", "1", "2"))
		times++
	}
	got := r.run(steps...)
	if n := strings.Count(got, "ERR1290") + strings.Count(got, "ERR1615"); n != times {
		t.Errorf("%d errors, want %d in\n%s", n, times, got)
	}
	want(t, "times that it ran", value(t, s.primary, "SELECT n FROM f.once WHERE id = 1"), strconv.Itoa(times))
}
