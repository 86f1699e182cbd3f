package proxy_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// TestLoginSchema: a schema that is not there or not allowed is refused at the login, also of an
// account that the proxy knows; one that is gone since, by the first statement.
func TestLoginSchema(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 1})
		sandboxtest.Exec(t, c.Primary(), "CREATE DATABASE mine", "CREATE DATABASE yours", "CREATE USER u@'%' IDENTIFIED BY 'pw'", "GRANT ALL ON mine.* TO u@'%'", "CREATE TABLE mine.t (a INT)")
		if err := c.WaitReplicated(t.Context()); err != nil {
			t.Fatal(err)
		}
		r := start(t, c, options(t, c))
		ping := func(schema string) uint16 {
			config := r.config("u", "pw")
			config.DBName = schema
			connector, err := mysql.NewConnector(config)
			if err != nil {
				t.Fatal(err)
			}
			conn, err := connector.Connect(t.Context())
			var refused *mysql.MySQLError
			if errors.As(err, &refused) {
				return refused.Number
			}
			if err != nil {
				t.Errorf("%s: %v", schema, err)
				return 0
			}
			_ = conn.Close()
			return 0
		}
		absent := uint16(1044) // without a right on it nobody learns that it is not there
		for range 2 {
			for schema, want := range map[string]uint16{"mine": 0, "yours": 1044, "absent": absent} {
				if got := ping(schema); got != want {
					t.Errorf("%s: error %d, want %d", schema, got, want)
				}
			}
		}
		for _, login := range []rawOptions{
			{user: "u", password: "pw", schema: "mine", tls: true, caps: ordinary | wire.IgnoreSpace | wire.FoundRows},
			{user: "u", password: "pw", tls: true, caps: ordinary | wire.IgnoreSpace},
		} {
			client, err := dialRaw(t, r.address, login)
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range []string{"SELECT COUNT (*) FROM mine.t", "SELECT COUNT (*) FROM mine.t FOR UPDATE"} {
				client.send(wire.AppendQuery(nil, text, client.caps))
				if p := client.packet(); p[0] == 0xff {
					t.Errorf("%s, by a client with IGNORE_SPACE: %q", text, p)
				}
				_ = client.c.Close()
				if client, err = dialRaw(t, r.address, login); err != nil {
					t.Fatal(err)
				}
			}
			_ = client.c.Close()
		}
		sandboxtest.Exec(t, c.Primary(), "DROP DATABASE mine")
		db := r.open(func(c *mysql.Config) { c.User, c.Passwd, c.DBName = "u", "pw", "mine" })
		_, err := db.ExecContext(t.Context(), "INSERT INTO t VALUES (1)")
		var refused *mysql.MySQLError
		if !errors.As(err, &refused) || refused.Number != 1049 {
			t.Errorf("in a schema that is gone: %v", err)
		}
	})
}

// TestInitConnect: what a server runs at a login has the login's schema, and if it fails the first
// statement says so.
func TestInitConnect(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		s := newSite(t, f, sandbox.Options{Replicas: -1}, nil, "CREATE TABLE logins (schema_name VARCHAR(20))")
		o := rawOptions{user: appUser, password: appPassword, schema: "f", caps: ordinary}
		exec(t, s.primary, "SET GLOBAL init_connect = 'INSERT INTO logins VALUES (DATABASE())'")
		r := mustDialRaw(t, s.address, o)
		if got := r.transcript([]step{query("SELECT schema_name FROM logins LIMIT 1")}); !strings.Contains(got, `ROW "\x01f"`) {
			t.Errorf("no login was noted:\n%s", got)
		}
		exec(t, s.all, "SET GLOBAL init_connect = 'SET @here = 7'")
		for range 3 { // nobody has a connection that was reset
			r := mustDialRaw(t, s.address, o)
			if got := r.transcript([]step{query("SELECT @here"), query("SET @own = 1")}); !strings.Contains(got, `ROW "\x017"`) {
				t.Errorf("what init_connect has set is gone:\n%s", got)
			}
			_ = r.c.Close()
		}
		exec(t, s.all, "SET GLOBAL init_connect = 'nonsense'")
		for _, schema := range []string{"f", ""} {
			o.schema = schema
			r := mustDialRaw(t, s.address, o)
			if got := r.transcript([]step{query("SELECT 1")}); !strings.Contains(got, "ERR1184") || schema != "" && !strings.Contains(got, "to db: 'f'") {
				t.Errorf("in %q:\n%s", schema, got)
			}
			r.closed()
		}
	})
}

// TestServerSettings: what a server is told to do it does through the proxy.
func TestServerSettings(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		if f != flavor.MariaDB {
			t.Skip("MySQL has none of these settings any more")
		}
		args := []string{"--skip-character-set-client-handshake", "--character-set-server=latin1", "--query-cache-type=ON", "--query-cache-size=1048576"}
		s := newSite(t, f, sandbox.Options{Replicas: -1, PrimaryArgs: args}, nil, "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1)")
		t.Run("the character set of a login does not count", func(t *testing.T) {
			for range 2 {
				for _, charset := range []uint8{wire.CharsetUTF8MB4, wire.CharsetLatin1, 33} {
					r := mustDialRaw(t, s.address, rawOptions{user: appUser, password: appPassword, caps: ordinary, charset: charset})
					got := r.transcript([]step{query("SELECT CONCAT(@@character_set_client, @@character_set_results, @@collation_connection)")})
					if !strings.Contains(got, "latin1latin1latin1_swedish_ci") {
						t.Errorf("with collation %d: %s", charset, got)
					}
				}
			}
		})
		t.Run("the query cache", func(t *testing.T) {
			c := conn(t, s.all)
			var hits []string
			for _, between := range []string{"DO 1", "SET TRANSACTION READ ONLY", "DO 2"} {
				for range 2 {
					value(t, c, "SELECT COUNT(*) FROM t")
				}
				var name, n string
				if err := c.QueryRowContext(t.Context(), "SHOW GLOBAL STATUS LIKE 'Qcache_hits'").Scan(&name, &n); err != nil {
					t.Fatal(err)
				}
				hits = append(hits, n)
				exec(t, c, between)
			}
			want(t, "hits", strings.Join(hits, " "), "1 3 4")
		})
	})
}
