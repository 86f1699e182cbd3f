package proxy_test

import (
	"database/sql"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/proxy"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

// ask is a statement, what its first value must be ("" for one without a result, "error N" for one that
// fails), and where it must run ("" anywhere).
type ask struct{ query, answer, on string }

// story is what one client does, and what it must see. steal has another client take every connection
// before each statement, so that nothing is found where it was left.
type story struct {
	name  string
	only  flavor.Flavor
	asks  []ask
	plain bool // as text only
}

// TestStories has what other proxies were reported to get wrong about a session's state, each as text,
// prepared, and with other clients that need the same few connections.
func TestStories(t *testing.T) {
	args := []string{"--log-bin-trust-function-creators=1"}
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		s := newSite(t, f, sandbox.Options{Replicas: 1, PrimaryArgs: args, ReplicaArgs: args}, func(o *proxy.Options) { o.Pool.Max, o.Pool.MaxIdle, o.QueueTimeout = 2, 2, 10*time.Second },
			"CREATE TABLE t (id INT PRIMARY KEY, n INT)", "INSERT INTO t VALUES (1, 10), (2, 20), (3, 30)", "CREATE TABLE auto (id INT AUTO_INCREMENT PRIMARY KEY, n INT)", "CREATE TABLE theirs (id INT AUTO_INCREMENT PRIMARY KEY, n INT)",
			"CREATE PROCEDURE temps() BEGIN CREATE TEMPORARY TABLE inside (n INT); INSERT INTO inside VALUES (3); END",
			"CREATE PROCEDURE zone() SET time_zone = '+05:00'", "CREATE PROCEDURE variable(n INT) SET @inside = n", "CREATE PROCEDURE locks() DO GET_LOCK('inside', 0)",
		)
		t.Run("nobody keeps connections for ever", s.firm)
		t.Run("warnings of others", s.othersWarnings)
		t.Run("a routine behind a preparation", s.routinePrepared)
		others, number := []*sql.Conn{conn(t, s.app), conn(t, s.app)}, 0
		for _, st := range stories() {
			if st.only != 0 && st.only != f {
				continue
			}
			t.Run(st.name, func(t *testing.T) {
				for _, way := range []struct {
					name            string
					prepared, steal bool
				}{{"text", false, false}, {"prepared", true, false}, {"text stolen", false, true}, {"prepared stolen", true, true}} {
					if st.plain && way.prepared {
						continue
					}
					number++
					t.Run(way.name, func(t *testing.T) {
						thieves := others
						if !way.steal {
							thieves = nil
						}
						s.tell(t, &st, form{way.prepared}, thieves, number)
					})
				}
			})
		}
	})
}

// firm has all connections left by clients with something that they would miss.
func (s *site) firm(t *testing.T) {
	for range 2 {
		c := conn(t, s.app)
		want(t, "a warning", form{}.value(t, c, "SELECT CAST('x' AS SIGNED)"), "0")
	}
	want(t, "a third client", form{}.value(t, conn(t, s.app), "SELECT n FROM t WHERE id = 1"), "10")
}

// othersWarnings: MariaDB keeps its list over statements that use no table, and a client must not be told
// what another one did wrong.
func (s *site) othersWarnings(t *testing.T) {
	for range 4 {
		c := conn(t, s.app)
		want(t, "somebody has an error", fmt.Sprint(code(form{}.tryExec(t.Context(), c, "SELECT theirs"))), "1054")
		c = conn(t, s.app)
		want(t, "somebody else reads", form{}.value(t, c, "SELECT 1"), "1")
		want(t, "and has no warning", form{}.value(t, c, "SHOW WARNINGS"), "no row")
		want(t, "nor counts one", form{}.value(t, c, "SELECT @@error_count"), "0")
	}
}

// routinePrepared: what a procedure sets is noticed although the server reports a preparation with it.
func (s *site) routinePrepared(t *testing.T) {
	for n, query := range []string{"UPDATE t SET n = n WHERE id = ?", "SELECT n FROM t WHERE id = ? FOR UPDATE"} {
		c := conn(t, s.app)
		st, err := c.PrepareContext(t.Context(), query)
		if err != nil {
			t.Fatal(err)
		}
		form{}.exec(t, c, fmt.Sprintf("CALL variable(%d)", n))
		want(t, query, form{}.value(t, c, "SELECT @inside"), strconv.Itoa(n))
		if err := st.Close(); err != nil {
			t.Fatal(err)
		}
		form{}.exec(t, c, fmt.Sprintf("CALL variable(%d)", n+10))
		want(t, query, form{}.value(t, c, "SELECT @inside"), strconv.Itoa(n+10))
	}
}

// tell goes through a story. In its texts {n} is a number of its own, for ids.
func (s *site) tell(t *testing.T, st *story, m form, thieves []*sql.Conn, number int) {
	c := conn(t, s.app)
	own := strings.NewReplacer("{n}", strconv.Itoa(number))
	for i, a := range st.asks {
		a.query, a.answer = own.Replace(a.query), own.Replace(a.answer)
		takeAll(t, thieves, i)
		got, err := m.tryValue(t.Context(), c, a.query)
		switch {
		case thieves != nil && code(err) == 1105 && previous.MatchString(a.query): // honestly lost
		case err != nil && strings.HasPrefix(a.answer, "error "):
			want(t, a.query, fmt.Sprint("error ", code(err)), a.answer)
		case err != nil:
			t.Errorf("%s: %v", a.query, err)
		case a.answer == "":
		case got != a.answer:
			t.Errorf("%s: got %q, want %q", a.query, got, a.answer)
		}
		switch a.on {
		case "primary":
			onPrimary(t, c, a.query)
		case "replica":
			onReplica(t, c, a.query)
		}
	}
}

// previous are questions that only the connection of the statement before can answer. If another
// client needed that meanwhile, an error is right, and any value wrong.
var previous = regexp.MustCompile(`(?i)ROW_COUNT|FOUND_ROWS|WARNING|ERRORS|DIAGNOSTICS`)

// takeAll has other clients use every connection that is not tied to a session, with a state of their
// own.
func takeAll(t *testing.T, thieves []*sql.Conn, i int) {
	t.Helper()
	for n, o := range thieves {
		for _, q := range []string{
			fmt.Sprintf("SET time_zone = '+0%d:00', sql_mode = 'ANSI', @a = %d", 1+(n+i)%7, i), "SELECT SQL_CALC_FOUND_ROWS id FROM t LIMIT 1", "INSERT INTO theirs (n) VALUES (77), (78)", "SELECT id FROM t LIMIT 1",
		} {
			if _, err := o.ExecContext(t.Context(), q); err != nil {
				t.Errorf("another client: %s: %v", q, err)
			}
		}
	}
}

func stories() []story {
	return append(insertIDStories(), []story{
		{name: "a session variable goes to replicas", asks: []ask{
			{"SET sql_select_limit = 2", "", ""},
			{"SELECT COUNT(*) FROM (SELECT 1) d", "1", "replica"},
			{"SELECT @@sql_select_limit", "2", ""},
			{"SET SESSION wait_timeout = 100", "", ""},
			{"SELECT @@wait_timeout", "100", ""},
			{"SET @@local.max_sort_length = 500", "", ""},
			{"SELECT @@max_sort_length", "500", ""},
			{"SET @@session.time_zone = '+03:00', @@local.lc_time_names = 'de_DE'", "", ""},
			{"SELECT DATE_FORMAT(FROM_UNIXTIME(0), '%W %H')", "Donnerstag 03", "replica"},
		}},
		{name: "two at signs", asks: []ask{
			{"SET @@time_zone = '+03:00'", "", ""},
			{"SELECT HOUR(FROM_UNIXTIME(0))", "3", "replica"},
			{"SET @@sql_mode := 'PIPES_AS_CONCAT'", "", ""},
			{"SELECT 'a' || 'b' FROM t WHERE id = 1", "ab", "replica"},
			{"SET @@autocommit = 0", "", ""},
			{"SELECT n FROM t WHERE id = 1", "10", "primary"},
			{"SET @@autocommit = ON", "", ""},
			{"SELECT n FROM t WHERE id = 1", "10", "replica"},
		}},
		{name: "sql_mode", asks: []ask{
			{"SET sql_mode = CONCAT(@@sql_mode, ',ANSI_QUOTES')", "", ""},
			{`SELECT "n" FROM t WHERE "id" = 1`, "10", "replica"},
			{"UPDATE t SET n = n", "", ""},
			{`SELECT "n" + 0 FROM t WHERE id = 2`, "20", "replica"},
			{"SET sql_mode = 'NO_BACKSLASH_ESCAPES'", "", ""},
			{`SELECT '\'`, `\`, "replica"},
			{`SELECT LENGTH('\\') FROM t WHERE id = 1`, "2", "replica"},
			{"SET sql_mode = DEFAULT", "", ""},
			{`SELECT LENGTH('\\') FROM t WHERE id = 1`, "1", "replica"},
		}},
		{name: "a bad value fails at once", asks: []ask{
			{"SET sql_mode = 'NONSENSE'", "error 1231", ""},
			{"SELECT n FROM t WHERE id = 1", "10", "replica"},
			{"SET time_zone = 'nowhere', sql_mode = ''", "error 1298", ""},
			{"SELECT @@sql_mode = ''", "0", ""},
			{"SET nonsense = 1", "error 1193", ""},
			{"SELECT n FROM t WHERE id = 2", "20", "replica"},
		}},
		{name: "user variables", asks: []ask{
			{"SET @a = 1", "", ""},
			{"SELECT @a", "1", ""},
			{"SELECT n + @a FROM t WHERE id = 1", "11", ""},
			{"SELECT @a := @a + 1", "2", ""},
			{"SELECT @a FROM t WHERE id = 1", "2", ""},
			{"SELECT n INTO @n FROM t WHERE id = 2", "", ""},
			{"SELECT @n", "20", ""},
			{"SET @a := NULL", "", ""},
			{"SELECT @a IS NULL", "1", ""},
		}},
		{name: "temporary tables", asks: []ask{
			{"CREATE TEMPORARY TABLE tmp (n INT)", "", "primary"},
			{"INSERT INTO tmp VALUES (5)", "", "primary"},
			{"SELECT n FROM tmp", "5", "primary"},
			{"CREATE TEMPORARY TABLE tmp2 AS SELECT n FROM tmp", "", "primary"},
			{"SELECT n FROM t WHERE id = 1", "10", ""},
			{"SELECT n FROM tmp2", "5", "primary"},
			{"DROP TEMPORARY TABLE tmp, tmp2", "", "primary"},
			{"SELECT n FROM tmp", "error 1146", ""},
			{"SELECT n FROM t WHERE id = 3", "30", "replica"},
		}},
		{name: "a temporary table inside a procedure", asks: []ask{{"CALL temps()", "", "primary"}, {"SELECT n FROM inside", "3", "primary"}, {"DROP TEMPORARY TABLE inside", "", "primary"}}},
		{name: "a variable set inside a procedure", asks: []ask{{"CALL zone()", "", "primary"}, {"SELECT HOUR(FROM_UNIXTIME(0))", "5", ""}, {"SELECT HOUR(FROM_UNIXTIME(0)) FROM t WHERE id = 1", "5", ""}}},
		{name: "a lock inside a procedure", asks: []ask{{"CALL locks()", "", "primary"}, {"SELECT n FROM t WHERE id = 1", "10", ""}, {"SELECT RELEASE_LOCK('inside')", "1", "primary"}}},
		{name: "found rows", asks: []ask{
			{"SELECT SQL_CALC_FOUND_ROWS id FROM t ORDER BY id LIMIT 1", "1", ""},
			{"SELECT FOUND_ROWS()", "3", ""},
			{"SELECT id FROM t ORDER BY id LIMIT 2", "1", ""},
			{"SELECT FOUND_ROWS() + 0 AS n", "2", ""},
			{"SELECT SQL_CALC_FOUND_ROWS id FROM t ORDER BY id LIMIT 2", "1", ""},
			{"SELECT /* c */ FOUND_ROWS() FROM DUAL", "3", ""},
		}, plain: false},
		{name: "row count", asks: []ask{
			{"INSERT INTO auto (n) VALUES ({n}00), ({n}00)", "", ""}, {"SELECT ROW_COUNT()", "2", ""}, {"SELECT ROW_COUNT()", "-1", ""}, {"UPDATE t SET n = n", "", ""}, {"SELECT row_count() AS n FROM DUAL", "0", ""}, {"DELETE FROM auto WHERE n = {n}00", "", ""}, {"SELECT 1 + ROW_COUNT()", "3", ""},
		}},
		{name: "warnings", plain: true, asks: []ask{
			{"SELECT CAST('x' AS SIGNED)", "0", "replica"},
			{"SHOW WARNINGS", "Warning", ""},
			{"SHOW /* c */ WARNINGS", "Warning", ""},
			{"SHOW COUNT(*) WARNINGS", "1", ""},
			{"SELECT @@warning_count", "1", ""},
			{"INSERT INTO missing VALUES (1)", "error 1146", ""},
			{"SHOW ERRORS", "Error", ""},
			{"SELECT n FROM t WHERE id = 1", "10", "replica"},
			{"SHOW WARNINGS", "no row", ""},
			{"SELECT 1/0", "NULL", ""},
			{"GET DIAGNOSTICS @c = NUMBER", "", ""},
			{"SELECT @c >= 0", "1", ""},
		}},
		{name: "what is asked of a statement after LAST_INSERT_ID()", plain: true, asks: []ask{
			{"INSERT INTO auto (id, n) VALUES ({n}001, 1)", "", ""},
			{"SELECT LAST_INSERT_ID() > 0 FROM t WHERE id = 1", "", ""},
			{"INSERT INTO auto (n) VALUES (2)", "", ""},
			{"SELECT LAST_INSERT_ID()", "{n}002", ""},
			{"SELECT CAST('x' AS SIGNED)", "0", "replica"},
			{"SHOW WARNINGS", "Warning", ""},
			{"SELECT @@warning_count", "1", ""},
			{"SELECT id FROM t ORDER BY id LIMIT 2", "1", "replica"},
			{"SELECT ROW_COUNT()", "-1", ""},
			{"SELECT id FROM t ORDER BY id LIMIT 2", "1", "replica"},
			{"SELECT FOUND_ROWS() * 1000000 + LAST_INSERT_ID() - {n}002", "2000000", ""},
		}},
		{name: "warnings of before", plain: true, asks: []ask{
			{"SELECT CAST('x' AS SIGNED)", "0", "replica"},
			{"INSERT INTO auto (n) VALUES (1)", "", "primary"},
			{"SELECT 1", "1", "replica"},
			{"SHOW WARNINGS", "no row", ""},
			{"SELECT @@warning_count", "0", ""},
		}},
		{name: "text PREPARE", plain: true, asks: []ask{
			{"PREPARE p FROM 'SELECT n + ? FROM t WHERE id = 1'", "", ""},
			{"SET @x = 5", "", ""},
			{"EXECUTE p USING @x", "15", ""},
			{"SELECT n FROM t WHERE id = 1", "10", ""},
			{"EXECUTE p USING @x", "15", ""},
			{"DEALLOCATE PREPARE p", "", ""},
			{"EXECUTE p USING @x", "error 1243", ""},
			{"PREPARE q FROM 'SELECT * FROM missing'", "error 1146", ""},
			{"EXECUTE IMMEDIATE 'SELECT 4'", "4", ""},
		}, only: flavor.MariaDB},
		{name: "what is asked behind an EXECUTE", plain: true, asks: []ask{
			{"PREPARE p FROM 'INSERT INTO auto (n) VALUES (1), (2)'", "", ""},
			{"EXECUTE p", "", "primary"},
			{"SELECT ROW_COUNT()", "2", "primary"},
			{"PREPARE p FROM 'SELECT CAST(''x'' AS SIGNED)'", "", ""},
			{"EXECUTE p", "0", ""},
			{"SHOW WARNINGS", "Warning", ""},
		}},
		{name: "SET of the transaction's kind", asks: []ask{
			{"SET SESSION TRANSACTION READ ONLY", "", ""}, {"INSERT INTO auto (n) VALUES (1)", "error 1792", ""}, {"SET SESSION TRANSACTION READ WRITE", "", ""}, {"INSERT INTO auto (n) VALUES (1)", "", "primary"},
		}},
		{name: "autocommit off", asks: []ask{
			{"SET autocommit = 0", "", ""},
			{"SELECT n FROM t WHERE id = 1", "10", "primary"},
			{"SELECT n FROM t WHERE id = 1 FOR UPDATE", "10", "primary"},
			{"INSERT INTO auto (n) VALUES (9)", "", "primary"},
			{"SELECT COUNT(*) FROM auto WHERE n = 9", "1", "primary"},
			{"ROLLBACK", "", ""},
			{"SELECT COUNT(*) FROM auto WHERE n = 9", "0", "primary"},
			{"COMMIT", "", ""},
			{"SET autocommit = 1", "", ""},
			{"SELECT n FROM t WHERE id = 1", "10", "replica"},
		}},
		{name: "a transaction keeps to one server", plain: true, asks: []ask{
			{"BEGIN", "", ""},
			{"SELECT n FROM t WHERE id = 1", "10", "primary"},
			{"SELECT n FROM t WHERE id = 2", "20", "primary"},
			{"COMMIT", "", ""},
			{"SELECT n FROM t WHERE id = 1", "10", "replica"},
			{"START TRANSACTION READ ONLY", "", ""},
			{"SELECT n FROM t WHERE id = 1", "10", "replica"},
			{"SELECT n FROM t WHERE id = 2", "20", "replica"},
			{"COMMIT", "", ""},
			{"INSERT INTO auto (n) VALUES (1)", "", "primary"},
		}},
	}...)
}

// insertIDStories have every spelling of the question for the last number that was generated.
func insertIDStories() []story {
	var all []story
	for _, query := range []string{
		"SELECT LAST_INSERT_ID()", "SELECT LAST_INSERT_ID() AS id", "SELECT LAST_INSERT_ID();", "SELECT LAST_INSERT_ID() FROM DUAL", "select last_insert_id ( )", "SELECT /* c */ LAST_INSERT_ID() LIMIT 1", "SELECT @@last_insert_id", "SELECT @@identity",
		"SELECT @@session.identity", "SELECT d.id FROM (SELECT LAST_INSERT_ID() AS id) AS d", "(SELECT LAST_INSERT_ID())", "WITH x AS (SELECT LAST_INSERT_ID() AS l) SELECT l FROM x",
	} {
		all = append(all, story{name: query, asks: []ask{
			{"INSERT INTO auto (id, n) VALUES ({n}001, 1)", "", ""},
			{"INSERT INTO auto (n) VALUES (2), (3)", "", ""},
			{query, "{n}002", ""},
			{"SELECT n FROM t WHERE id = 1", "10", ""},
			{query, "{n}002", ""},
			{"UPDATE auto SET n = LAST_INSERT_ID(id) WHERE id = {n}001", "", ""},
			{query, "{n}001", ""},
		}})
	}
	return all
}
