package proxy_test

import (
	"bytes"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/proxy"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
	"github.com/mysqlrw/mysqlrw/route"
)

// TestAccounts: what a server says of an account holds for the proxy, though it remembers passwords.
func TestAccounts(t *testing.T) {
	const first, second, third = "F1rst-account-secret", "S3cond-account-secret", "Th1rd-account-secret"
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 1})
		sandboxtest.Exec(t, c.Primary(), "CREATE DATABASE known", "CREATE TABLE known.t (id INT)",
			"CREATE USER plain@'%' IDENTIFIED BY '"+first+"'", "GRANT ALL ON known.* TO plain@'%'",
			"CREATE USER safe@'%' IDENTIFIED BY '"+first+"' REQUIRE SSL", "GRANT ALL ON known.* TO safe@'%'",
			"CREATE USER gone@'%' IDENTIFIED BY '"+first+"'", "GRANT ALL ON known.* TO gone@'%'")
		if err := c.WaitReplicated(t.Context()); err != nil {
			t.Fatal(err)
		}
		o := options(t, c)
		log := &syncBuffer{}
		o.Log = slog.New(slog.NewTextHandler(log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		o.ProveAgain = time.Nanosecond
		r := start(t, c, o)
		a := &accountTest{r: r}
		t.Run("needs TLS", func(t *testing.T) {
			a.refused(t, "safe", first, false, "never seen")
			a.works(t, "safe", first, true)
			a.refused(t, "safe", first, false, "after a login with TLS")
			a.works(t, "safe", first, true)
		})
		t.Run("password changed", func(t *testing.T) {
			old := a.works(t, "plain", first, false)
			a.works(t, "plain", first, true)
			sandboxtest.Exec(t, c.Primary(), "ALTER USER plain@'%' IDENTIFIED BY '"+second+"'")
			if err := c.WaitReplicated(t.Context()); err != nil {
				t.Fatal(err)
			}
			a.works(t, "plain", second, false)
			a.refused(t, "plain", first, false, "after the new one was used")
			a.refused(t, "plain", first, true, "after the new one was used")
			a.works(t, "plain", second, true)
			value(t, old, "SELECT COUNT(*) FROM known.t") // as with a server, who is in stays in
			sandboxtest.Exec(t, c.Primary(), "ALTER USER plain@'%' IDENTIFIED BY '"+third+"'")
			if err := c.WaitReplicated(t.Context()); err != nil {
				t.Fatal(err)
			}
			a.refused(t, "plain", second, false, "before the new one was used")
			a.works(t, "plain", third, false)
		})
		t.Run("locked", func(t *testing.T) {
			in := a.works(t, "plain", third, true)
			id := value(t, in, "SELECT CONNECTION_ID() + 0")
			admin := conn(t, r.open(nil))
			exec(t, admin, "ALTER USER plain@'%' ACCOUNT LOCK")
			if _, err := a.open(t, "plain", third, true); number(err) != 3118 && number(err) != 4151 {
				t.Errorf("who is locked out: %v", err)
			}
			value(t, in, "SELECT COUNT(*) FROM known.t")
			exec(t, in, "DELETE FROM known.t") // who is in stays in
			want(t, "the connection", value(t, in, "SELECT CONNECTION_ID() + 0"), id)
			exec(t, admin, "ALTER USER plain@'%' ACCOUNT UNLOCK")
		})
		t.Run("global variables", func(t *testing.T) {
			before, admin := a.works(t, "plain", third, true), conn(t, r.open(nil))
			was := value(t, before, "SELECT @@sort_buffer_size FROM DUAL FOR UPDATE")
			exec(t, admin, "SET GLOBAL sort_buffer_size = 1048576")
			after := a.works(t, "plain", third, true)
			want(t, "a login of now", value(t, after, "SELECT @@sort_buffer_size FROM DUAL FOR UPDATE"), "1048576")
			want(t, "a login of before", value(t, before, "SELECT @@sort_buffer_size FROM DUAL FOR UPDATE"), was)
			exec(t, admin, "SET @mode = @@GLOBAL.sql_mode", "SET GLOBAL sql_mode = 'ANSI_QUOTES'")
			after = a.works(t, "plain", third, true)
			want(t, "texts as the server reads them", value(t, after, `SELECT COUNT("id") FROM known.t FOR UPDATE`), "0")
			value(t, after, `SELECT "GET_LOCK('a', 0)" FROM (SELECT 1 AS "GET_LOCK('a', 0)") d`)
			onReplica(t, after, "a name in quotes")
			exec(t, admin, "SET GLOBAL sql_mode = @mode")
		})
		t.Run("small packets", func(t *testing.T) {
			admin := conn(t, r.open(nil))
			exec(t, admin, "SET @was = @@GLOBAL.max_allowed_packet, @buffer = @@GLOBAL.net_buffer_length", "SET GLOBAL net_buffer_length = 1024", "SET GLOBAL max_allowed_packet = 1024")
			small := a.works(t, "plain", third, true)
			exec(t, small, "SET time_zone = '+05:00', sql_mode = 'ANSI'")
			want(t, "its limit", value(t, small, "SELECT @@max_allowed_packet FROM DUAL FOR UPDATE"), "1024")
			want(t, "the state on another server", value(t, small, `SELECT @@time_zone AS "x"`), "+05:00")
			if _, err := small.ExecContext(t.Context(), "DELETE FROM known.t WHERE '"+strings.Repeat("x", 2000)+"' = 'y'"); number(err) != 1153 {
				t.Errorf("a large statement: %v", err)
			}
			exec(t, admin, "SET GLOBAL max_allowed_packet = @was", "SET GLOBAL net_buffer_length = @buffer")
			want(t, "later", value(t, a.works(t, "plain", third, true), "SELECT LENGTH('"+strings.Repeat("x", 2000)+"') FROM known.t RIGHT JOIN (SELECT 1) d ON 1 FOR UPDATE"), "2000")
		})
		t.Run("a replica without the account", func(t *testing.T) {
			sandboxtest.Exec(t, c.Primary(), "SET sql_log_bin = 0", "CREATE USER new@'%' IDENTIFIED BY '"+first+"'", "GRANT ALL ON known.* TO new@'%'")
			in := a.works(t, "new", first, true)
			value(t, in, "SELECT COUNT(*) FROM known.t")
			onPrimary(t, in, "a read")
		})
		t.Run("expired", func(t *testing.T) { a.expired(t, f) })
		t.Run("dropped", func(t *testing.T) {
			a.works(t, "gone", first, false)
			sandboxtest.Exec(t, c.Primary(), "DROP USER gone@'%'")
			if err := c.WaitReplicated(t.Context()); err != nil {
				t.Fatal(err)
			}
			a.refused(t, "gone", first, false, "after it was dropped")
			a.refused(t, "gone", first, true, "after it was dropped")
		})
		for _, secret := range []string{first, second, third} {
			if at := bytes.Index([]byte(log.String()), []byte(secret)); at >= 0 {
				t.Errorf("a password is in the log: %.200s", log.String()[max(0, at-100):])
			}
		}
	})
}

type accountTest struct{ r *running }

// expired: who can set another password does, before anything else.
func (a *accountTest) expired(t *testing.T, f flavor.Flavor) {
	admin := conn(t, a.r.as(t).open(nil))
	exec(t, admin, "CREATE USER old@'%' IDENTIFIED BY 'Old-secret-1' PASSWORD EXPIRE", "GRANT ALL ON known.* TO old@'%'")
	renew := "ALTER USER old IDENTIFIED BY 'New-secret-1'"
	if f == flavor.MariaDB { // takes only this, and lets others in by default
		renew = "SET PASSWORD = PASSWORD('New-secret-1')"
		exec(t, admin, "SET GLOBAL disconnect_on_expired_password = ON")
	}
	c := ordinary | wire.ExpiredPasswords
	can := mustDialRaw(t, a.r.address, rawOptions{user: "old", password: "Old-secret-1", schema: "known", caps: c, tls: true})
	var refused *wire.ServerError
	if _, err := dialRaw(t, a.r.address, rawOptions{user: "old", password: "Old-secret-1", caps: ordinary, tls: true}); !errors.As(err, &refused) || refused.Code != 1862 {
		t.Errorf("who cannot set another one: %v", err)
	}
	got := can.transcript([]step{query("SELECT COUNT(*) FROM t"), query(renew), query("SELECT COUNT(*) FROM t"), query("DELETE FROM t"), query("SELECT DATABASE()")})
	want(t, "errors", fmt.Sprint(strings.Count(got, "ERR")), "1")
	for _, part := range []string{"ERR1820", `ROW "\x05known"`} {
		if !strings.Contains(got, part) {
			t.Errorf("no %s in %s", part, got)
		}
	}
	a.works(t, "old", "New-secret-1", true)
}

func (a *accountTest) open(t *testing.T, user, password string, tls bool) (*sql.Conn, error) {
	return a.r.as(t).open(func(c *mysql.Config) {
		c.User, c.Passwd = user, password
		if !tls {
			c.TLSConfig = ""
		}
	}).Conn(t.Context())
}

// works logs in, and reads and writes.
func (a *accountTest) works(t *testing.T, user, password string, tls bool) *sql.Conn {
	t.Helper()
	conn, err := a.open(t, user, password, tls)
	if err != nil {
		t.Fatalf("%s: %v", user, err)
	}
	value(t, conn, "SELECT COUNT(*) FROM known.t")
	exec(t, conn, "DELETE FROM known.t")
	return conn
}

// refused expects that somebody comes not in, in the words of the servers.
func (a *accountTest) refused(t *testing.T, user, password string, tls bool, when string) {
	t.Helper()
	_, err := a.open(t, user, password, tls)
	if number(err) != 1045 || !strings.Contains(err.Error(), "Access denied for user '"+user+"'") {
		t.Errorf("%s with TLS %v, %s: %v", user, tls, when, err)
	}
}

// TestUseAgain: USE has the server look the account's privileges in the schema up again, where the session
// reads as well as where it writes.
func TestUseAgain(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		s := newSite(t, f, sandbox.Options{Replicas: 1}, func(o *proxy.Options) {
			o.Listeners[0].Policy.Level, o.Listeners[0].Policy.GlobalTimeout = route.Global, 10*time.Second
			o.Unshared = true
		}, "CREATE DATABASE g", "CREATE TABLE g.a (v INT)", "CREATE TABLE g.t (v INT)", "GRANT SELECT ON g.a TO app")
		c := conn(t, s.app)
		exec(t, c, "USE g")
		value(t, c, "SELECT COUNT(*) FROM a")
		want(t, "the first read", ranOn(t, c), "replica1")
		exec(t, s.primary, "GRANT SELECT ON g.* TO app")
		exec(t, c, "USE g")
		value(t, c, "SELECT COUNT(*) FROM t")
		want(t, "the granted read", ranOn(t, c), "replica1")
		exec(t, s.primary, "REVOKE SELECT ON g.* FROM app")
		exec(t, c, "USE g")
		if _, err := c.QueryContext(t.Context(), "SELECT COUNT(*) FROM t"); number(err) != 1142 {
			t.Errorf("the revoked read: %v", err)
		}
	})
}
