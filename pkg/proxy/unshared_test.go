package proxy_test

import (
	"database/sql"
	"errors"
	"strconv"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/proxy"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/route"
)

// refusedAtLogin: what a server says to a client that logs in, or to its first statement, is what it is told.
func refusedAtLogin(t *testing.T, r *running, direct *sql.DB) {
	t.Helper()
	open := func() *sql.DB {
		return r.open(func(c *mysql.Config) { c.User, c.Passwd, c.DBName = "own", "Own1.", "none" })
	}
	refused := func(what string, err error, code uint16) {
		t.Helper()
		var said *mysql.MySQLError
		if !errors.As(err, &said) || said.Number != code {
			t.Errorf("%s: %v", what, err)
		}
	}
	refused("no such schema", open().PingContext(t.Context()), 1049)
	exec(t, direct, "CREATE SCHEMA none", "REVOKE ALL ON *.* FROM own@'%'", "GRANT SELECT ON none.* TO own@'%'")
	exec(t, direct, "ALTER USER own@'%' WITH MAX_USER_CONNECTIONS 1")
	first := conn(t, open())
	refused("a second connection", open().PingContext(t.Context()), 1226)
	_ = first.Close()
	exec(t, direct, "ALTER USER own@'%' WITH MAX_USER_CONNECTIONS 0", "SET GLOBAL init_connect = 'such nonsense'")
	defer exec(t, direct, "SET GLOBAL init_connect = ''")
	fails := conn(t, open())
	_, err := fails.ExecContext(t.Context(), "DELETE FROM none.t")
	refused("init_connect", err, 1184)
}

// TestUnshared: without multiplexing a client is a connection of the server's, from its login to its end.
func TestUnshared(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 1})
		sandboxtest.Exec(t, c.Primary(), "CREATE USER own@'%' IDENTIFIED BY 'Own1.'", "GRANT ALL ON *.* TO own@'%'")
		sandboxtest.SameAs(t, f, c.Replica(1), c.Primary())
		o := options(t, c)
		o.Unshared, o.ServerIDs = true, true
		r := start(t, c, o)
		direct := sandboxtest.Open(t, c.Primary())
		there := func() string {
			return value(t, direct, "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'own'")
		}
		for round := range 2 { // the password is learned in the first
			db := r.open(func(c *mysql.Config) {
				c.User, c.Passwd, c.ConnectionAttributes = "own", "Own1.", "team:shop"
			})
			conns := make([]interface{ Close() error }, 3)
			for i := range conns {
				conn, err := db.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				conns[i] = conn
				if got := there(); got != strconv.Itoa(i+1) {
					t.Errorf("round %d: %s connections for %d clients that have said nothing", round, got, i+1)
				}
				id := value(t, conn, "SELECT CONNECTION_ID()")
				if f == flavor.MySQL {
					if got := value(t, direct, "SELECT attr_value FROM performance_schema.session_connect_attrs WHERE attr_name = 'team' AND processlist_id = "+id); got != "shop" {
						t.Errorf("the server has the attribute %q of the client", got)
					}
				}
				exec(t, conn, "SET @a = "+strconv.Itoa(i))
			}
			exec(t, db, "SELECT 1") // a fourth one
			_ = db.Close()
			for _, conn := range conns {
				_ = conn.Close()
			}
			sandboxtest.Await(t, "the connections end with their clients", func() bool { return there() == "0" })
		}
		db := r.open(func(c *mysql.Config) { c.User, c.Passwd = "own", "Own1." })
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		exec(t, direct, "KILL "+value(t, conn, "SELECT CONNECTION_ID()"))
		sandboxtest.Await(t, "the killed connection is gone", func() bool { return there() == "0" })
		sandboxtest.Await(t, "its client is cut off", func() bool {
			_, err := conn.ExecContext(t.Context(), "DO 1")
			return err != nil
		})
		var said *mysql.MySQLError
		if _, err := conn.ExecContext(t.Context(), "DO 1"); errors.As(err, &said) {
			t.Errorf("a client of a killed connection is told %v", said)
		}
		db.SetMaxOpenConns(1)
		exec(t, db, "SET SESSION wait_timeout = 1")
		sandboxtest.Await(t, "the idle connection is gone", func() bool { return there() == "0" })
		refusedAtLogin(t, r, direct)
	})
}

// TestViewOfAnotherSchema: MariaDB says of reads like these that they changed the session. It must not be tied to
// the replica for that, where it could write nothing and would read nothing newer.
func TestViewOfAnotherSchema(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		s := newSite(t, f, sandbox.Options{Replicas: 1}, func(o *proxy.Options) {
			o.Listeners[0].Policy.Level, o.Listeners[0].Policy.GlobalTimeout = route.Global, 10*time.Second
		}, "CREATE TABLE t (v INT)", "INSERT INTO t VALUES (1)", "CREATE VIEW w AS SELECT v FROM t WHERE 1 IN (SELECT v FROM t)",
			"CREATE PROCEDURE p() SELECT 1", "CREATE DATABASE other")
		c := conn(t, s.all)
		exec(t, c, "USE other")
		reads := []string{"SELECT v FROM f.w", "SHOW CREATE VIEW f.w", "EXPLAIN SELECT v FROM f.w", "SHOW CREATE PROCEDURE f.p"}
		if f == flavor.MariaDB {
			reads = append(reads, "SET STATEMENT sort_buffer_size=100000 FOR SELECT v FROM f.w", "SET STATEMENT sort_buffer_size=100000 FOR EXPLAIN SELECT v FROM f.w")
		}
		for n, read := range reads {
			exec(t, c, read)
			want(t, "the server of "+read, ranOn(t, c), "replica1")
			exec(t, s.primary, "INSERT INTO f.t VALUES (2)")
			want(t, "what another one wrote", value(t, c, "SELECT COUNT(*) FROM f.t"), strconv.Itoa(2*n+2))
			exec(t, c, "INSERT INTO f.t VALUES (3)")
			want(t, "what was written", value(t, c, "SELECT COUNT(*) FROM f.t"), strconv.Itoa(2*n+3))
		}
	})
}

// TestRecords: what a server keeps of the statements that ran on a connection is of the client's own.
func TestRecords(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		s := newSite(t, f, sandbox.Options{Replicas: 1}, nil, "CREATE TABLE t (v INT)", "INSERT INTO t VALUES (1)")
		c, other := conn(t, s.all), conn(t, s.all)
		exec(t, c, "SET optimizer_trace = 'enabled=on'")
		for _, read := range []string{"SELECT v FROM t WHERE v = 41", "SELECT v FROM t WHERE v > 42"} {
			exec(t, c, read)
			exec(t, other, "SELECT v FROM t WHERE v < 43", "UPDATE t SET v = v + 1")
			want(t, "what was traced", value(t, c, "SELECT query FROM information_schema.optimizer_trace"), read)
		}
		exec(t, c, "SET optimizer_trace = 'enabled=off'", "SET profiling = 1")
		reads := []string{"SELECT 1 + 41", "SELECT v FROM t WHERE v < 42"}
		for _, read := range reads {
			exec(t, c, read)
			exec(t, other, read+"0")
		}
		profiles := "SELECT COUNT(DISTINCT query_id) FROM information_schema.profiling"
		want(t, "the number of profiles", value(t, c, profiles), "2")
		exec(t, c, "SET profiling = 0", "SELECT 1")
		want(t, "the server of a read without a record", ranOn(t, c), "replica1")
		exec(t, c, "START TRANSACTION READ ONLY", "SELECT v FROM t", "SET profiling = 1", "SELECT v FROM t", "COMMIT",
			"INSERT INTO t VALUES (2)")
	})
}

// TestSetBeforeError: what a function or trigger has set before it failed is what the session has.
func TestSetBeforeError(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		s := newSite(t, f, sandbox.Options{Replicas: 1}, nil, "CREATE TABLE t (v INT)", "INSERT INTO t VALUES (1)",
			"CREATE FUNCTION fails() RETURNS INT NO SQL BEGIN SET @a = 7; SET SESSION sort_buffer_size = 300000; SIGNAL SQLSTATE '45000'; RETURN 1; END",
			"CREATE TRIGGER too_much BEFORE INSERT ON t FOR EACH ROW BEGIN SET @b = NEW.v; IF NEW.v > 7 THEN SIGNAL SQLSTATE '45000'; END IF; END")
		for _, one := range []struct{ statement, read, want string }{
			{"SELECT fails()", "SELECT @a", "7"},
			{"SELECT fails()", "SELECT @@sort_buffer_size", "300000"},
			{"SET @x = fails()", "SELECT @a", "7"},
			{"INSERT INTO t VALUES (8)", "SELECT @b", "8"},
		} {
			c, other := conn(t, s.all), conn(t, s.all)
			exec(t, c, "SET @a = 1, @b = 1")
			want(t, "what was set", value(t, c, "SELECT @a + @b"), "2")
			if _, err := c.ExecContext(t.Context(), one.statement); err == nil {
				t.Errorf("%s does not fail", one.statement)
			}
			exec(t, other, "SELECT v FROM t", "UPDATE t SET v = 2")
			want(t, one.read+" behind "+one.statement, value(t, c, one.read), one.want)
		}
	})
}
