package proxy_test

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

// TestFaults has the faults that were found in another proxy, each with what is right: locks and writes
// that look like reads, answers that depend on the statement before, and sessions that one statement
// ties to the primary for good.
func TestFaults(t *testing.T) {
	fileArgs := []string{"--secure-file-priv=", "--log-bin-trust-function-creators=1"}
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		s := newSite(t, f, sandbox.Options{
			Replicas: 2, PrimaryArgs: fileArgs, ReplicaArgs: fileArgs,
		}, nil,
			"CREATE TABLE t (id INT PRIMARY KEY, n INT)", "INSERT INTO t VALUES (1, 10), (2, 20)",
			"CREATE TABLE auto (id INT AUTO_INCREMENT PRIMARY KEY, n INT)", "CREATE TABLE log (n INT)",
			"CREATE FUNCTION f_write() RETURNS INT MODIFIES SQL DATA BEGIN INSERT INTO log VALUES (1); RETURN 7; END",
			"CREATE VIEW hidden AS SELECT f_write() AS n",
		)
		for _, test := range []struct {
			name string
			run  func(*site, *testing.T, form)
		}{
			{"R5 FOR UPDATE in parentheses", (*site).lockInParentheses},
			{"R6 shared locks", (*site).sharedLocks},
			{"R7 functions that write", (*site).writingFunctions},
			{"R8 questions about user locks", (*site).userLocks},
			{"R9 user locks in disguise", (*site).disguisedLocks},
			{"R10 last_insert_id as a variable", (*site).insertIDVariables},
			{"R11 ROW_COUNT", (*site).rowCount},
			{"R12 INTO behind WITH", (*site).intoBehindWith},
			{"R13 REPLACE is a function", (*site).replaceFunction},
			{"R14 a prepared statement", (*site).preparedOnce},
			{"R15 a user variable", (*site).userVariable},
			{"R16 START TRANSACTION with a semicolon", (*site).startSemicolon},
		} {
			t.Run(test.name, func(t *testing.T) {
				t.Run("text", func(t *testing.T) { test.run(s, t, form{}) })
				t.Run("prepared", func(t *testing.T) { test.run(s, t, form{prepared: true}) })
			})
		}
	})
}

// locked fails the test if the row is free on the primary. share asks whether even a shared lock is
// kept out.
func (s *site) locked(t *testing.T, id int, share bool) {
	t.Helper()
	lock := "FOR UPDATE"
	if share {
		lock = "LOCK IN SHARE MODE"
		if s.flavor == flavor.MySQL {
			lock = "FOR SHARE"
		}
	}
	c := conn(t, s.primary)
	var n int
	err := c.QueryRowContext(t.Context(), "SELECT n FROM f.t WHERE id = "+strconv.Itoa(id)+" "+lock+" NOWAIT").Scan(&n)
	if got := code(err); got != 3572 && got != 1205 {
		t.Errorf("the row is not locked on the primary: %v", err)
	}
}

func (s *site) lockInParentheses(t *testing.T, m form) {
	for _, query := range []string{
		"(SELECT n FROM t WHERE id=1 FOR UPDATE)",
		"((SELECT n FROM t WHERE id=1 FOR UPDATE))",
		"(SELECT n FROM t WHERE id=1 FOR UPDATE) UNION ALL (SELECT n FROM t WHERE id=2)",
		"SELECT n FROM (SELECT n FROM t WHERE id=1 FOR UPDATE) AS d",
		"SELECT n FROM t WHERE id=1 FOR UPDATE /* x */ ; -- y",
	} {
		t.Run(query, func(t *testing.T) {
			c := conn(t, s.app)
			want(t, query, m.value(t, c, query), "10")
			onPrimary(t, c, query)
			exec(t, c, "BEGIN")
			want(t, query, m.value(t, c, query), "10")
			s.locked(t, 1, true)
			exec(t, c, "ROLLBACK")
		})
	}
}

func (s *site) sharedLocks(t *testing.T, m form) {
	queries := []string{
		"SELECT n FROM t WHERE id=1 LOCK IN SHARE MODE",
		"WITH c AS (SELECT 1 AS one) SELECT n FROM t, c WHERE id=1 LOCK IN SHARE MODE",
	}
	if s.flavor == flavor.MySQL {
		queries = append(queries, "WITH c AS (SELECT 1 AS one) SELECT n FROM t, c WHERE id=1 FOR SHARE", "SELECT n FROM t WHERE id=1 FOR SHARE OF t")
	}
	for _, query := range queries {
		t.Run(query, func(t *testing.T) {
			c := conn(t, s.app)
			want(t, query, m.value(t, c, query), "10")
			onPrimary(t, c, query)
			exec(t, c, "SET autocommit=0")
			want(t, query, m.value(t, c, query), "10")
			s.locked(t, 1, false)
			exec(t, c, "COMMIT", "SET autocommit=1")
		})
	}
}

func (s *site) writingFunctions(t *testing.T, m form) {
	c := conn(t, s.app)
	exec(t, c, "TRUNCATE log")
	replicated(t, s.cluster)
	want(t, "function", m.value(t, c, "SELECT f_write()"), "7")
	onPrimary(t, c, "a function that writes")
	m.exec(t, c, "DO f_write()")
	onPrimary(t, c, "DO")
	want(t, "view", m.value(t, c, "SELECT n FROM hidden"), "7")
	onPrimary(t, c, "a view that writes")
	want(t, "view again", m.value(t, c, "SELECT n  FROM  hidden"), "7")
	onPrimary(t, c, "a view that was seen to write")
	want(t, "rows", value(t, s.primary, "SELECT COUNT(*) FROM f.log"), "4")
}

func (s *site) userLocks(t *testing.T, m form) {
	a, b := conn(t, s.app), conn(t, s.app)
	want(t, "A locks", m.value(t, a, "SELECT GET_LOCK('r8', 0)"), "1")
	for range 3 {
		m.value(t, a, "SELECT n FROM t WHERE id=1")
		want(t, "B asks whether it is free", m.value(t, b, "SELECT IS_FREE_LOCK('r8')"), "0")
		onPrimary(t, b, "IS_FREE_LOCK")
		if user := m.value(t, b, "SELECT IS_USED_LOCK('r8')"); user == "NULL" {
			t.Error("B is told that nobody uses the lock")
		}
		onPrimary(t, b, "IS_USED_LOCK")
		want(t, "B releases", m.value(t, b, "SELECT RELEASE_LOCK('r8')"), "0")
		onPrimary(t, b, "RELEASE_LOCK")
	}
	want(t, "A releases", m.value(t, a, "SELECT RELEASE_LOCK('r8')"), "1")
	want(t, "B asks whether it is free", m.value(t, b, "SELECT IS_FREE_LOCK('r8')"), "1")
}

func (s *site) disguisedLocks(t *testing.T, m form) {
	queries := []string{
		"WITH x AS (SELECT 1) SELECT GET_LOCK('job',0)", "(SELECT GET_LOCK('job',0))", "SELECT 1 * get_lock /* x */ ('job', 0)",
		"SELECT (SELECT GET_LOCK('job',0) FROM DUAL) AS l",
	}
	if s.flavor == flavor.MySQL {
		queries = append(queries, "VALUES ROW(GET_LOCK('job',0))")
	} else {
		queries = append(queries, "VALUES (GET_LOCK('job',0))")
	}
	for _, query := range queries {
		t.Run(query, func(t *testing.T) {
			a, b := conn(t, s.app), conn(t, s.app)
			want(t, "A", m.value(t, a, query), "1")
			want(t, "B", m.value(t, b, query), "0")
			m.value(t, a, "SELECT n FROM t WHERE id=1")
			want(t, "B later", m.value(t, b, query), "0")
			want(t, "A releases", m.value(t, a, "SELECT RELEASE_LOCK('job')"), "1")
			want(t, "B at last", m.value(t, b, query), "1")
			_ = b.Close() // and with the client goes its lock
			want(t, "A again", m.value(t, a, "SELECT GET_LOCK('job', 20)"), "1")
			want(t, "A releases", m.value(t, a, "SELECT RELEASE_LOCK('job')"), "1")
		})
	}
}

func (s *site) insertIDVariables(t *testing.T, m form) {
	c := conn(t, s.app)
	for _, query := range []string{
		"SELECT @@last_insert_id", "SELECT @@identity", "SELECT @@session.identity", "SELECT @@local.last_insert_id", "SELECT LAST_INSERT_ID()",
	} {
		m.exec(t, c, "INSERT INTO auto (n) VALUES (1)")
		id := value(t, s.primary, "SELECT MAX(id) FROM f.auto")
		want(t, query, m.value(t, c, query), id)
		m.value(t, c, "SELECT n FROM t WHERE id=1") // on a replica
		want(t, query+" behind a read", m.value(t, c, query), id)
	}
}

func (s *site) rowCount(t *testing.T, m form) {
	c := conn(t, s.app)
	m.exec(t, c, "UPDATE t SET n = n + 1")
	want(t, "after UPDATE", m.value(t, c, "SELECT ROW_COUNT()"), "2")
	want(t, "after SELECT", m.value(t, c, "SELECT ROW_COUNT()"), "-1")
	m.exec(t, c, "UPDATE t SET n = n - 1")
	want(t, "in an expression", m.value(t, c, "SELECT ROW_COUNT() + 5 AS n"), "7")
	m.exec(t, c, "DELETE FROM t WHERE id = 99")
	want(t, "after a DELETE of nothing", m.value(t, c, "SELECT ROW_COUNT()"), "0")
	replicated(t, s.cluster)
	m.value(t, c, "SELECT n FROM t WHERE id=1")
	want(t, "after a read on a replica", m.value(t, c, "SELECT ROW_COUNT()"), "-1")
}

func (s *site) intoBehindWith(t *testing.T, m form) {
	c := conn(t, s.all)
	name := "r12-" + strconv.FormatBool(m.prepared)
	m.exec(t, c, "WITH c AS (SELECT 5 AS n) SELECT n INTO OUTFILE '"+name+"' FROM c")
	onPrimary(t, c, "INTO OUTFILE")
	for _, server := range s.cluster.Servers {
		_, err := os.Stat(filepath.Join(server.Dir, "data", "f", name))
		if has := err == nil; has != (server.Name == "primary") {
			t.Errorf("file on %s: %v", server.Name, has)
		}
	}
	m.exec(t, c, "WITH c AS (SELECT 6 AS n) SELECT n INTO @q FROM c")
	onPrimary(t, c, "INTO a variable")
	want(t, "variable", m.value(t, c, "SELECT @q"), "6")
	want(t, "variable with a table", m.value(t, c, "SELECT n + @q FROM t WHERE id=1"), "16")
}

func (s *site) replaceFunction(t *testing.T, m form) {
	c := conn(t, s.app)
	for _, query := range []string{
		"WITH a AS (SELECT 1) SELECT REPLACE('a','a','b')", "SELECT REPLACE('a','a','b')", "SELECT INSERT('aa',1,2,'b')",
		"WITH a AS (SELECT 1) SELECT 'b' AS `update`",
	} {
		want(t, query, m.value(t, c, query), "b")
		onReplica(t, c, query)
	}
}

func (s *site) preparedOnce(t *testing.T, m form) {
	c := conn(t, s.app)
	st, err := c.PrepareContext(t.Context(), "UPDATE t SET n = n WHERE id = ?")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := st.Exec(1); err != nil {
		t.Error(err)
	}
	for range 2 {
		want(t, "read", m.value(t, c, "SELECT n FROM t WHERE id=1"), "10")
		onReplica(t, c, "a read beside a prepared statement")
	}
	if err := st.Close(); err != nil {
		t.Error(err)
	}
	want(t, "read", m.value(t, c, "SELECT n FROM t WHERE id=1"), "10")
	onReplica(t, c, "a read after a prepared statement")
}

func (s *site) userVariable(t *testing.T, m form) {
	c := conn(t, s.app)
	m.exec(t, c, "SET @a = 1, @`b c` = 'x''y', @n = NULL, @d = 1.50")
	want(t, "read", m.value(t, c, "SELECT n FROM t WHERE id=1"), "10")
	onReplica(t, c, "a read without the variable")
	for query, answer := range map[string]string{
		"SELECT n + @a FROM t WHERE id=1": "11", "SELECT @`b c`": "x'y", "SELECT @n": "NULL", "SELECT @d": "1.50", "SELECT @never": "NULL",
	} {
		want(t, query, m.value(t, c, query), answer)
	}
	m.exec(t, c, "SET @a = @a + 1")
	want(t, "computed", m.value(t, c, "SELECT n + @a FROM t WHERE id=1"), "12")
}

func (s *site) startSemicolon(t *testing.T, m form) {
	c := conn(t, s.app)
	for _, begin := range []string{"START TRANSACTION;", "BEGIN;", "START TRANSACTION ; ", "/* x */ BEGIN WORK;"} {
		if m.prepared && s.flavor == flavor.MariaDB { // MySQL cannot prepare one
			m.exec(t, c, begin)
		} else {
			exec(t, c, begin)
		}
		m.exec(t, c, "INSERT INTO log VALUES (16)")
		want(t, begin, m.value(t, c, "SELECT COUNT(*) FROM log WHERE n = 16"), "1")
		onPrimary(t, c, "a read in a transaction")
		exec(t, c, "ROLLBACK;")
		want(t, "after "+begin, m.value(t, c, "SELECT COUNT(*) FROM log WHERE n = 16"), "0")
		onReplica(t, c, "a read behind the transaction")
	}
}
