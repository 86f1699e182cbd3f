package target_test

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"net"
	"strconv"
	"sync"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/target"
)

// patience bounds everything that a test does with a server.
const patience = time.Minute

// start starts one server.
func start(t *testing.T, f flavor.Flavor, args ...string) (*sandbox.Cluster, target.Settings) {
	t.Helper()
	c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: -1, PrimaryArgs: args})
	p := c.Primary()
	return c, target.Settings{User: p.User, Password: target.Secret(p.Password), ConnectTimeout: patience}
}

// open opens a target.
func open(t *testing.T, arg string, s target.Settings) *sql.DB {
	t.Helper()
	tgt, err := target.Parse(arg, s)
	if err != nil {
		t.Fatal(err)
	}
	db, err := tgt.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// cipher asks the server whether the connection is encrypted.
func cipher(ctx context.Context, db *sql.DB) (string, error) {
	var name, value string
	err := db.QueryRowContext(ctx, "SHOW STATUS LIKE 'Ssl_cipher'").Scan(&name, &value)
	return value, err
}

// expectation is what comes of a connection.
type expectation struct {
	arg      string
	settings target.Settings
	tls      bool
	kind     target.Kind // instead, if it fails
	text     string
}

func (e expectation) check(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	got, err := cipher(ctx, open(t, e.arg, e.settings))
	problem := target.Explain(err)
	switch {
	case problem.Kind != e.kind || (err != nil) != (e.kind != target.Unclassified):
		t.Errorf("%s, %v: got %q (%v), want %q", e.arg, e.settings.SSLMode, problem, err, e.kind)
	case err != nil && e.text != "" && problem.String() != e.text:
		t.Errorf("%s, %v: got %q, want %q", e.arg, e.settings.SSLMode, problem, e.text)
	case err == nil && (got != "") != e.tls:
		t.Errorf("%s, %v: got cipher %q, want one: %t", e.arg, e.settings.SSLMode, got, e.tls)
	}
}

func TestServer_TLS(t *testing.T) {
	t.Parallel()
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		t.Parallel()
		c, s := start(t, f)
		address, socket := c.Primary().Address(), c.Primary().Socket
		elsewhere := forward(t, "127.0.0.2:0", address)
		otherCA, _, _ := certificates(t)
		with := func(mode target.SSLMode, ca string) target.Settings {
			s := s
			s.SSLMode, s.SSLCA = mode, ca
			return s
		}
		for _, e := range []expectation{
			{arg: address, settings: s, tls: true},
			{arg: address, settings: with(target.SSLDisabled, "")},
			{arg: address, settings: with(target.SSLPreferred, otherCA), tls: true},
			{arg: address, settings: with(target.SSLRequired, otherCA), tls: true},
			{arg: address, settings: with(target.SSLUnset, c.CA), tls: true},
			{arg: address, settings: with(target.SSLVerifyCA, c.CA), tls: true},
			{arg: address, settings: with(target.SSLVerifyIdentity, c.CA), tls: true},
			{
				arg: address, settings: with(target.SSLUnset, otherCA),
				kind: target.TLSFailed, text: "TLS failed: x509: certificate signed by unknown authority",
			},
			{arg: address, settings: with(target.SSLVerifyCA, otherCA), kind: target.TLSFailed},
			{arg: address, settings: with(target.SSLVerifyCA, ""), kind: target.TLSFailed}, // no CA of the system's
			{arg: address, settings: with(target.SSLVerifyIdentity, otherCA), kind: target.TLSFailed},
			{arg: elsewhere, settings: with(target.SSLVerifyCA, c.CA), tls: true},
			{arg: elsewhere, settings: with(target.SSLVerifyIdentity, c.CA), kind: target.TLSFailed},
			{arg: socket, settings: s},
			{arg: socket, settings: with(target.SSLRequired, ""), tls: true},
			{arg: socket, settings: with(target.SSLVerifyIdentity, c.CA), tls: true}, // localhost
			{arg: "tcp(" + address + ")/?tls=skip-verify", settings: s, tls: true},
			{arg: "tcp(" + address + ")/?tls=false", settings: with(target.SSLRequired, "")},
			{arg: "mysql://" + address + "/?ssl-mode=verify-identity", settings: with(target.SSLUnset, c.CA), tls: true},
		} {
			e.check(t)
		}
	})
}

// forward passes connections on, so that a server has an address that its
// certificate does not name.
func forward(t *testing.T, listen, to string) string {
	t.Helper()
	l, err := net.Listen("tcp", listen)
	if err != nil {
		t.Skipf("no second loopback address: %v", err)
	}
	var running sync.WaitGroup
	pass := func(client net.Conn) {
		defer client.Close()
		server, err := net.Dial("tcp", to)
		if err != nil {
			return
		}
		defer server.Close()
		running.Go(func() { _, _ = io.Copy(server, client); _ = server.Close() })
		_, _ = io.Copy(client, server)
	}
	running.Go(func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			running.Go(func() { pass(client) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		running.Wait()
	})
	return l.Addr().String()
}

// TestServer_withoutTLS connects several times at once: the driver changes
// its configuration where it falls back.
func TestServer_withoutTLS(t *testing.T) {
	t.Parallel()
	off := map[flavor.Flavor]string{flavor.MySQL: "--tls-version=", flavor.MariaDB: "--skip-ssl"}
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		t.Parallel()
		c, s := start(t, f, off[f])
		address := c.Primary().Address()
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		var group sync.WaitGroup
		for range 4 {
			db := open(t, address, s)
			for range 8 {
				group.Go(func() {
					if got, err := cipher(ctx, db); err != nil || got != "" {
						t.Errorf("PREFERRED: got cipher %q, %v, want none", got, err)
					}
				})
			}
			group.Wait()
		}
		required := s
		required.SSLMode = target.SSLRequired
		for _, e := range []expectation{
			{arg: address, settings: required, kind: target.TLSFailed, text: "TLS failed: TLS requested but server does not support TLS"},
			{arg: c.Primary().Socket, settings: s},
		} {
			e.check(t)
		}
	})
}

func TestServer_forms(t *testing.T) {
	t.Parallel()
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		t.Parallel()
		c, s := start(t, f)
		p := c.Primary()
		port := strconv.Itoa(p.Port)
		sandboxtest.Exec(t, p, "CREATE DATABASE `a b`", "CREATE USER `x@y` IDENTIFIED BY 'p/?#@:w%'", "GRANT ALL ON *.* TO `x@y`")
		usual := target.Settings{Socket: p.Socket, Port: p.Port, User: s.User, Password: s.Password, ConnectTimeout: patience}
		tcp := usual
		tcp.Protocol = target.ProtocolTCP
		for _, tt := range []struct {
			arg      string
			settings target.Settings
			user, db string
		}{
			{"", usual, p.User, ""},
			{"localhost", usual, p.User, ""},
			{"", tcp, p.User, ""},
			{"127.0.0.1", usual, p.User, ""},
			{"localhost:" + port, usual, p.User, ""},
			{p.User + "@" + p.Address(), s, p.User, ""},
			{p.Socket, s, p.User, ""},
			{"mysql://x%40y:p%2F%3F%23%40%3Aw%25@" + p.Address() + "/a%20b?ssl-mode=required", usual, "x@y", "a b"},
			{"mysql://x%40y:p%2F%3F%23%40%3Aw%25@localhost/a%20b", usual, "x@y", "a b"},
			{"x@y:p/?#@:w%@tcp(" + p.Address() + ")/a%20b?timeout=30s", usual, "x@y", "a b"},
			{"x@y:p/?#@:w%@unix(" + p.Socket + ")/a%20b", usual, "x@y", "a b"},
		} {
			var user, database sql.NullString
			err := open(t, tt.arg, tt.settings).QueryRow("SELECT SUBSTRING_INDEX(USER(), '@', LENGTH(USER()) - LENGTH(REPLACE(USER(), '@', ''))), DATABASE()").
				Scan(&user, &database)
			if err != nil || user.String != tt.user || database.String != tt.db {
				t.Errorf("%s: got user %s, database %q, %v, want %s, %q", tt.arg, user.String, database.String, err, tt.user, tt.db)
			}
		}
	})
}

func TestServer_attributes(t *testing.T) {
	t.Parallel()
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		t.Parallel()
		c, s := start(t, f, "--performance-schema=ON")
		var got string
		err := open(t, c.Primary().Address(), s).QueryRow("SELECT ATTR_VALUE FROM performance_schema.session_connect_attrs " +
			"WHERE ATTR_NAME = 'program_name' AND PROCESSLIST_ID = CONNECTION_ID()").Scan(&got)
		if want := "mysqlrw"; err != nil || got != want {
			t.Errorf("got program_name %q, %v, want %q", got, err, want)
		}
	})
}

// TestServer_Explain provokes what users meet and looks at the answer.
func TestServer_Explain(t *testing.T) {
	t.Parallel()
	locked := map[flavor.Flavor]string{
		flavor.MySQL: "access denied (3118)", flavor.MariaDB: "access denied (4151)",
	}
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		t.Parallel()
		c, s := start(t, f)
		p := c.Primary()
		account := func(name string) target.Settings {
			s := s
			s.User, s.Password = name, "pw"
			return s
		}
		sandboxtest.Exec(t, p,
			"CREATE USER weak IDENTIFIED BY 'pw'",
			"CREATE USER locked IDENTIFIED BY 'pw' ACCOUNT LOCK",
			"CREATE USER expired IDENTIFIED BY 'pw' PASSWORD EXPIRE",
			"CREATE USER secure IDENTIFIED BY 'pw' REQUIRE SSL",
			"CREATE USER single IDENTIFIED BY 'pw' WITH MAX_USER_CONNECTIONS 1")
		plain := func(s target.Settings) target.Settings { s.SSLMode = target.SSLDisabled; return s }
		wrong := s
		wrong.Password = "wrong"
		for _, e := range []expectation{
			{arg: p.Address(), settings: wrong, kind: target.AccessDenied, text: "access denied (1045)"},
			{arg: p.Socket, settings: wrong, kind: target.AccessDenied, text: "access denied (1045)"},
			{arg: p.Address(), settings: account("nobody"), kind: target.AccessDenied, text: "access denied (1045)"},
			{arg: p.Address(), settings: account("locked"), kind: target.AccessDenied, text: locked[f]},
			{arg: p.Address(), settings: account("expired"), kind: target.AccessDenied},
			{arg: p.Address(), settings: plain(account("secure")), kind: target.AccessDenied, text: "access denied (1045)"},
			{arg: p.Address(), settings: account("secure"), tls: true},
			{arg: "mysql://" + p.Address() + "/mysql", settings: account("weak"), kind: target.NoPrivilege, text: "no privilege (1044)"},
		} {
			e.check(t)
		}
		checkStatements(t, p, account)
		p.Kill()
		expectation{arg: p.Address(), settings: s, kind: target.Refused, text: "connection refused"}.check(t)
	})
}

// checkStatements provokes errors of statements and of broken connections.
func checkStatements(t *testing.T, p *sandbox.Server, account func(string) target.Settings) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	admin := sandboxtest.Open(t, p)
	explain := func(err error, want ...string) {
		t.Helper()
		got := target.Explain(err).String()
		for _, w := range want {
			if got == w {
				return
			}
		}
		t.Errorf("got %q (%v), want one of %q", got, err, want)
	}
	weak := open(t, p.Address(), account("weak"))
	exec := func(statement string) error { _, err := weak.ExecContext(ctx, statement); return err }
	explain(exec("SELECT * FROM mysql.user"), "no privilege (1142)")
	explain(exec("FLUSH LOGS"), "no privilege (1227)")
	explain(exec("SELECT 1 FROM nowhere.x"), "no privilege (1142)")

	canceled, stop := context.WithCancel(ctx)
	stop()
	explain(weak.PingContext(canceled), "canceled")
	short, stop := context.WithTimeout(ctx, 50*time.Millisecond)
	defer stop()
	_, err := weak.ExecContext(short, "SELECT SLEEP(30)")
	explain(err, "timed out")

	explain(whileRunning(ctx, t, weak, admin, "KILL QUERY"), "killed (1317)")
	// The server may close the connection before its last words are read.
	explain(whileRunning(ctx, t, weak, admin, "KILL"), "server has gone away", "killed (1317)", "killed (1927)", "server has gone away (1053)")

	single := open(t, p.Address(), account("single"))
	first, err := single.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	explain(single.PingContext(ctx), "too many connections (1226)", "too many connections (1203)")
}

// whileRunning kills a sleeping statement, or its connection, and returns the
// statement's error.
func whileRunning(ctx context.Context, t *testing.T, db, admin *sql.DB, kill string) error {
	t.Helper()
	conn, err := db.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	var id int
	if err := conn.QueryRowContext(ctx, "SELECT CONNECTION_ID()").Scan(&id); err != nil {
		t.Fatal(err)
	}
	done := make(chan error, 1)
	var running sync.WaitGroup
	defer running.Wait()
	running.Go(func() {
		// A statement that SLEEP is part of ends with an error when it is killed;
		// a bare SLEEP returns 1.
		_, err := conn.ExecContext(ctx, "SELECT * FROM (SELECT SLEEP(50) UNION SELECT SLEEP(50)) AS s")
		done <- err
	})
	for ctx.Err() == nil {
		var n int
		err := admin.QueryRowContext(ctx, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE ID = ? AND INFO LIKE '%SLEEP%'", id).Scan(&n)
		if err != nil {
			t.Fatal(err)
		}
		if n > 0 {
			break
		}
	}
	if _, err := admin.ExecContext(ctx, kill+" "+strconv.Itoa(id)); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-done:
		return err
	case <-ctx.Done():
		return errors.New("the statement was not killed")
	}
}
