package backend_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/backend"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// accounts are made by each flavour's own words.
var accounts = map[flavor.Flavor][]string{
	flavor.MySQL: {
		"CREATE USER app IDENTIFIED WITH caching_sha2_password BY 'secret'",
		"CREATE USER again IDENTIFIED WITH caching_sha2_password BY 'other'",
		"CREATE USER expired IDENTIFIED BY 'secret' PASSWORD EXPIRE",
	},
	flavor.MariaDB: {
		"CREATE USER app IDENTIFIED VIA mysql_native_password USING PASSWORD('secret')",
		"CREATE USER again IDENTIFIED VIA mysql_native_password USING PASSWORD('other')",
		"CREATE USER expired IDENTIFIED BY 'secret' PASSWORD EXPIRE",
	},
}

var always = []string{
	"CREATE USER bare IDENTIFIED BY ''",
	"CREATE USER safe IDENTIFIED BY 'secret' REQUIRE SSL",
	"CREATE USER locked IDENTIFIED BY 'secret' ACCOUNT LOCK",
	"CREATE SCHEMA shop",
	"GRANT ALL ON *.* TO app, again, bare, safe, expired",
}

func TestServer(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{
			Flavor: f, Replicas: -1, PrimaryArgs: []string{"--max-allowed-packet=64M"},
		})
		s := c.Primary()
		sandboxtest.Exec(t, s, append(accounts[f], always...)...)
		o := backend.Options{
			Address: s.Address(), User: "app", Password: "secret", ConnectTimeout: 20 * time.Second,
			Attributes: []wire.Attribute{{Name: "program_name", Value: "backend_test"}}, Buffers: &backend.Buffers{},
		}
		t.Run("login", func(t *testing.T) { testLogin(t, o, c) })
		t.Run("refused", func(t *testing.T) { testRefused(t, o, f) })
		t.Run("session", func(t *testing.T) { testSession(t, o, f) })
		t.Run("charset", func(t *testing.T) { testCharset(t, o, f) })
		t.Run("large", func(t *testing.T) { testLarge(t, o) })
		t.Run("pipeline", func(t *testing.T) { testPipeline(t, o) })
		t.Run("zlib", func(t *testing.T) {
			o := o
			o.Want = wire.Compress
			testCompressed(t, o, f)
		})
		t.Run("zstd", func(t *testing.T) {
			if f == flavor.MariaDB {
				t.Skip("no MariaDB has it")
			}
			o := o
			o.Want, o.ZstdLevel = wire.ZstdCompression, 7
			testCompressed(t, o, f)
		})
		t.Run("kill", func(t *testing.T) { testKill(t, o, s) })
	})
}

// testCompressed: with compression everything is as without.
func testCompressed(t *testing.T, o backend.Options, f flavor.Flavor) {
	for _, o.TLSMode = range []backend.TLSMode{backend.TLSDisabled, backend.TLSRequired} {
		if got := value(t, dial(t, &o), "SHOW STATUS LIKE 'Compression'"); got != "ON" {
			t.Errorf("compression is %s", got)
		}
	}
	testSession(t, o, f)
	testLarge(t, o)
	testPipeline(t, o)
	testResults(t, o)
}

// testResults: the packets of several results are numbered one behind the other.
func testResults(t *testing.T, o backend.Options) {
	o.Want |= wire.MultiStatements | wire.MultiResults
	c := dial(t, &o)
	for _, text := range []string{
		"SELECT 1; SELECT REPEAT('x', 100000) UNION ALL SELECT REPEAT('y', 100000); SELECT 2; DO 1; SELECT 3",
		"SELECT a.n FROM (SELECT 1 n UNION SELECT 2) a; SELECT * FROM information_schema.columns; SELECT 'end'",
	} {
		if _, err := c.Exec(t.Context(), text); err != nil {
			t.Errorf("%s: %v", text, err)
		}
	}
	list, err := c.ExecAll(t.Context(), "SET @a = 1", "SELECT REPEAT('x', 300000), @a", "SET @a = 2")
	if err != nil || len(list) != 3 {
		t.Errorf("%v, %v", list, err)
	}
}

// value runs a query for one value.
func value(t testing.TB, c *backend.Conn, sql string) string {
	t.Helper()
	r, err := c.Query(t.Context(), sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	if len(r.Rows) != 1 || len(r.Rows[0]) == 0 {
		t.Fatalf("%s: result %q", sql, r.Rows)
	}
	return string(r.Rows[0][len(r.Rows[0])-1])
}

// testLogin: by key and by the fast path, with TLS of every kind, and on a socket.
func testLogin(t *testing.T, o backend.Options, cluster *sandbox.Cluster) {
	pem, err := os.ReadFile(cluster.CA)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(pem)
	forget := func() { sandboxtest.Exec(t, cluster.Primary(), "FLUSH PRIVILEGES") } // the fast path's hashes
	socket := cluster.Primary().Socket
	for _, tt := range []struct {
		name   string
		change func(o *backend.Options)
		secure bool
		tls    bool
	}{
		{"plain", func(o *backend.Options) { o.TLSMode = backend.TLSDisabled }, false, false},
		{"preferred", func(*backend.Options) {}, true, true},
		{"verified", func(o *backend.Options) { o.TLSMode, o.TLS = backend.TLSRequired, &tls.Config{RootCAs: pool} }, true, true},
		{"socket", func(o *backend.Options) { o.Network, o.Address = "unix", socket }, true, false},
		{"TLS on a socket", func(o *backend.Options) { o.Network, o.Address, o.TLSMode = "unix", socket, backend.TLSRequired }, true, true},
		{"no password", func(o *backend.Options) { o.User, o.Password, o.TLSMode = "bare", "", backend.TLSDisabled }, false, false},
		{"REQUIRE SSL", func(o *backend.Options) { o.User = "safe" }, true, true},
		{"schema", func(o *backend.Options) { o.Schema = "shop" }, true, true},
	} {
		forget()
		for range 2 {
			o := o
			tt.change(&o)
			c := dial(t, &o)
			if err := c.CheckIdle(); err != nil { // nothing of TLS is left over
				t.Errorf("%s: %v", tt.name, err)
			}
			if got := value(t, c, "SELECT CURRENT_USER()"); got != o.User+"@%" {
				t.Errorf("%s: logged in as %s", tt.name, got)
			}
			cipher := value(t, c, "SHOW STATUS LIKE 'Ssl_cipher'")
			if c.Secure() != tt.secure || (cipher != "") != tt.tls {
				t.Errorf("%s: secure %v, cipher %q", tt.name, c.Secure(), cipher)
			}
			if got := value(t, c, "SELECT IFNULL(DATABASE(), '')"); got != o.Schema {
				t.Errorf("%s: schema %q", tt.name, got)
			}
			if got := value(t, c, "SELECT CONNECTION_ID()"); got != fmt.Sprint(c.ID()) {
				t.Errorf("%s: id %d, server says %s", tt.name, c.ID(), got)
			}
			if got := value(t, c, "SELECT VERSION()"); got != c.Server().Text {
				t.Errorf("%s: version %s, server says %s", tt.name, c.Server().Text, got)
			}
			if err := c.Quit(); err != nil {
				t.Errorf("%s: %v", tt.name, err)
			}
		}
	}
}

// testRefused: logins that fail, and what is said about them.
func testRefused(t *testing.T, o backend.Options, f flavor.Flavor) {
	code := func(mysql, mariadb uint16) uint16 {
		if f == flavor.MySQL {
			return mysql
		}
		return mariadb
	}
	for _, tt := range []struct {
		name   string
		change func(o *backend.Options)
		code   uint16
		text   string
	}{
		{"wrong password", func(o *backend.Options) { o.Password = "hidden" }, 1045, "'app'@"},
		{"wrong password in the clear", func(o *backend.Options) { o.Password, o.TLSMode = "hidden", backend.TLSDisabled }, 1045, "may also require TLS"},
		{"unknown user", func(o *backend.Options) { o.User = "nobody" }, 1045, "'nobody'@"},
		{"no TLS", func(o *backend.Options) { o.User, o.TLSMode = "safe", backend.TLSDisabled }, 1045, "may also require TLS"},
		{"locked", func(o *backend.Options) { o.User = "locked" }, code(3118, 4151), "locked"},
		{"expired", func(o *backend.Options) { o.User = "expired" }, 1862, "set a new password"},
		{"no schema", func(o *backend.Options) { o.Schema = "none" }, 1049, "create the schema"},
	} {
		if tt.name == "expired" && f == flavor.MariaDB {
			continue // lets one in, unless disconnect_on_expired_password is set
		}
		o := o
		tt.change(&o)
		c, err := backend.Dial(t.Context(), &o)
		if err == nil {
			_ = c.Close()
			t.Errorf("%s: logged in", tt.name)
			continue
		}
		var s *wire.ServerError
		e := asError(t, err)
		if !errors.As(err, &s) || s.Code != tt.code || e.Sent || !strings.Contains(err.Error(), tt.text) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%s: got %v, want code %d", tt.name, err, tt.code)
		}
	}
	untrusted := o
	untrusted.TLS = &tls.Config{RootCAs: x509.NewCertPool()}
	var unknown *tls.CertificateVerificationError
	if _, err := backend.Dial(t.Context(), &untrusted); !errors.As(err, &unknown) {
		t.Errorf("unknown CA: got %v", err)
	}
	nobody := o
	nobody.Address = "127.0.0.1:1"
	if _, err := backend.Dial(t.Context(), &nobody); err == nil || asError(t, err).Sent {
		t.Errorf("nobody there: got %v", err)
	}
	expired := o
	expired.User, expired.Want = "expired", wire.ExpiredPasswords
	c := dial(t, &expired)
	if _, err := c.Exec(t.Context(), "SELECT 1"); err == nil || !strings.Contains(err.Error(), "1820") {
		t.Errorf("expired: got %v", err)
	}
}

// testSession: what resets a session, and what is left of it.
func testSession(t *testing.T, o backend.Options, f flavor.Flavor) {
	ctx := t.Context()
	o.Want = wire.MultiStatements | wire.MultiResults | wire.FoundRows | wire.Interactive | wire.IgnoreSpace | wire.LocalFiles
	for _, mode := range []backend.TLSMode{backend.TLSDisabled, backend.TLSPreferred} {
		o.TLSMode = mode
		c := dial(t, &o)
		if want := o.Want | wire.SessionTrack | wire.DeprecateEOF; !c.Capabilities().Has(want) {
			t.Errorf("capabilities are %b, without %b", c.Capabilities(), want&^c.Capabilities())
		}
		if got := c.Capabilities().Has(wire.QueryAttributes); got != (f == flavor.MySQL) {
			t.Errorf("query attributes: %v", got)
		}
		for _, step := range []struct {
			name string
			run  func() error
			a    string // the value of @a afterwards
			db   string
			user string
		}{
			{"init", func() error { return c.InitDB(ctx, "shop") }, "", "shop", "app"},
			{"set", func() error { _, err := c.Exec(ctx, "SET @a = 1; SET @b = 2"); return err }, "1", "shop", "app"},
			{"ping", func() error { return c.Ping(ctx) }, "1", "shop", "app"},
			{"reset", func() error { return c.Reset(ctx) }, "", "shop", "app"},
			{"begin", func() error { _, err := c.Exec(ctx, "SET @a = 2; BEGIN"); return err }, "2", "shop", "app"},
			{"change", func() error { return c.ChangeUser(ctx, "again", "other", "") }, "", "", "again"},
			{"change back", func() error { return c.ChangeUser(ctx, "app", "secret", "shop") }, "", "shop", "app"},
			{"no password", func() error { return c.ChangeUser(ctx, "bare", "", "shop") }, "", "shop", "bare"},
		} {
			if err := step.run(); err != nil {
				t.Fatalf("%s: %v", step.name, err)
			}
			if c.Status().Has(wire.InTransaction) != (step.name == "begin") {
				t.Errorf("%s: status is %x", step.name, c.Status())
			}
			got := value(t, c, "SELECT CONCAT_WS(' ', IFNULL(@a, ''), IFNULL(DATABASE(), ''), CURRENT_USER())")
			if want := step.a + " " + step.db + " " + step.user + "@%"; got != want {
				t.Errorf("%s: session is %q, want %q", step.name, got, want)
			}
		}
		if err := c.InitDB(ctx, "none"); err == nil || !asError(t, err).Sent || c.Err() != nil {
			t.Errorf("unknown schema: %v, connection has %v", err, c.Err())
		}
		if err := c.ChangeUser(ctx, "app", "hidden", ""); err == nil || strings.Contains(err.Error(), "hidden") || c.Err() == nil {
			t.Errorf("wrong password: %v, connection has %v", err, c.Err())
		}
	}
}

// testCharset: the login's character set, and what is left of it.
func testCharset(t *testing.T, o backend.Options, f flavor.Flavor) {
	const login = "latin1 latin1_swedish_ci"
	o.Charset = wire.CharsetLatin1
	c := dial(t, &o)
	check := func(when, want string) {
		t.Helper()
		if got := value(t, c, "SELECT CONCAT_WS(' ', @@character_set_client, @@collation_connection)"); got != want {
			t.Errorf("after the %s: %s, want %s", when, got, want)
		}
	}
	check("login", login)
	if err := c.Reset(t.Context()); err != nil {
		t.Fatal(err)
	}
	if f == flavor.MySQL {
		check("reset", value(t, c, "SELECT CONCAT_WS(' ', @@GLOBAL.character_set_client, @@GLOBAL.collation_connection)"))
	} else {
		check("reset", login)
	}
	if err := c.ChangeUser(t.Context(), "app", "secret", ""); err != nil {
		t.Fatal(err)
	}
	check("change of the user", login)
}

// testLarge: a row of several packets is relayed through a buffer of some KB, and a small result
// follows.
func testLarge(t *testing.T, o backend.Options) {
	const size = 20 << 20
	for _, mode := range []backend.TLSMode{backend.TLSDisabled, backend.TLSRequired} {
		o.TLSMode = mode
		c := dial(t, &o)
		q, _ := wire.AppendMessage(nil, wire.AppendQuery(nil, fmt.Sprintf("SELECT REPEAT('x', %d)", size), c.Capabilities()), 0)
		got := relay(t, c, q, make([]byte, 0, size+4096))
		if n := bytes.Count(got, []byte("x")); n < size || n > size+100 {
			t.Errorf("%d bytes of the row", n)
		}
		if _, err := c.Query(t.Context(), fmt.Sprintf("SELECT REPEAT('x', %d)", size)); !errors.Is(err, backend.ErrTooLarge) {
			t.Errorf("query: %v", err)
		}
		if _, err := c.Exec(t.Context(), "SELECT '"+strings.Repeat("y", size)+"'"); err != nil {
			t.Errorf("a statement of 20 MB: %v", err)
		}
		if got := value(t, c, "SELECT REPEAT('x', 1000000)"); len(got) != 1_000_000 {
			t.Errorf("got %d bytes", len(got))
		}
	}
}

// testPipeline: a hundred commands in one write.
func testPipeline(t *testing.T, o backend.Options) {
	c := dial(t, &o)
	var sqls []string
	for i := range 100 {
		sqls = append(sqls, fmt.Sprintf("SET @v%d = %d", i, i))
	}
	sqls[50] = "SET nonsense = 1"
	list, err := c.ExecAll(t.Context(), sqls...)
	if err != nil || len(list) != len(sqls) {
		t.Fatalf("%d outcomes, %v", len(list), err)
	}
	for i, o := range list {
		if (o.Err != nil) != (i == 50) {
			t.Errorf("statement %d: %v", i, o.Err)
		}
	}
	if got := value(t, c, "SELECT CONCAT_WS(' ', @v0, @v49, @v51, @v99)"); got != "0 49 51 99" {
		t.Errorf("got %s", got)
	}
}

// testKill: a connection that ends while a statement runs, or before one.
func testKill(t *testing.T, o backend.Options, s *sandbox.Server) {
	ctx := t.Context()
	c := dial(t, &o)
	killer := dial(t, &o)
	done := make(chan error, 1)
	go func() {
		_, err := c.Exec(ctx, "SELECT SLEEP(60) /* victim */")
		done <- err
	}()
	running := fmt.Sprintf("SELECT COUNT(*) FROM information_schema.processlist WHERE id = %d AND info LIKE '%%victim%%'", c.ID())
	for value(t, killer, running) == "0" {
		if ctx.Err() != nil {
			t.Fatal("statement does not begin")
		}
	}
	if _, err := killer.Exec(ctx, fmt.Sprintf("KILL %d", c.ID())); err != nil {
		t.Fatal(err)
	}
	if e := asError(t, <-done); !e.Sent {
		t.Errorf("killed: %+v", e)
	}
	if _, err := c.Exec(ctx, "SELECT 1"); err == nil {
		t.Error("a killed connection answers")
	}
	c = dial(t, &o)
	if _, err := killer.Exec(ctx, fmt.Sprintf("KILL %d", c.ID())); err != nil {
		t.Fatal(err)
	}
	var err error
	for limit := time.Now().Add(10 * time.Second); err == nil && time.Now().Before(limit); {
		err = c.CheckIdle()
	}
	if e := asError(t, err); e.Sent {
		t.Errorf("killed while idle: %+v", e)
	}
	c = dial(t, &o)
	short, cancel := context.WithTimeout(ctx, 50*time.Millisecond)
	defer cancel()
	if _, err := c.Exec(short, "SELECT SLEEP(60)"); !errors.Is(err, context.DeadlineExceeded) || !asError(t, err).Sent {
		t.Errorf("too slow: %v", err)
	}
	c = dial(t, &o)
	s.Kill()
	if err := c.Ping(ctx); err == nil || c.Err() == nil {
		t.Errorf("a dead server answers: %v", err)
	}
}
