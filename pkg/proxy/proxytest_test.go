package proxy_test

import (
	"context"
	"crypto/tls"
	"database/sql"
	"io"
	"log/slog"
	"net"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/frontend"
	"github.com/mysqlrw/mysqlrw/pkg/pool"
	"github.com/mysqlrw/mysqlrw/pkg/proxy"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/route"
)

// running is a proxy in front of a cluster.
type running struct {
	t       testing.TB
	cluster *sandbox.Cluster
	proxy   *proxy.Proxy
	address string
	done    chan struct{}
}

// options for a proxy in front of a cluster: one read-write listener on a free port.
func options(t testing.TB, c *sandbox.Cluster) proxy.Options {
	policy := route.DefaultPolicy()
	policy.Level = route.Eventual
	cert, err := frontend.SelfSigned()
	if err != nil {
		t.Fatal(err)
	}
	o := proxy.Options{
		Listeners: []proxy.Listener{{
			Network: "tcp", Address: "127.0.0.1:0", Policy: policy,
			TLS: &tls.Config{Certificates: []tls.Certificate{cert}, MinVersion: tls.VersionTLS12},
		}},
		CheckInterval: 100 * time.Millisecond, CheckTimeout: 2 * time.Second,
		Pool:           pool.Limits{Max: 50, MaxIdle: 50, Idle: time.Minute},
		ConnectTimeout: 5 * time.Second, LoginTimeout: 10 * time.Second, PrimaryWait: 10 * time.Second,
		QueueTimeout: 30 * time.Second,
	}
	for _, s := range c.Servers {
		o.Servers = append(o.Servers, proxy.Server{
			Name: s.Name, Network: "tcp", Address: s.Address(), Weight: 100, Monitor: s.Open,
		})
	}
	return o
}

// start runs a proxy until the test ends.
func start(t testing.TB, c *sandbox.Cluster, o proxy.Options) *running {
	t.Helper()
	if o.Log == nil {
		w := testWriter{t: t}
		for _, s := range c.Servers {
			if s != nil {
				w.secrets = append(w.secrets, s.Password)
			}
		}
		var to io.Writer = w
		if os.Getenv("MYSQLRW_TEST_LOG") != "" {
			to = os.Stderr
		}
		o.Log = slog.New(slog.NewTextHandler(to, &slog.HandlerOptions{Level: slog.LevelDebug}))
	}
	p, err := proxy.New(o)
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Listen(); err != nil {
		t.Fatal(err)
	}
	return run(t, c, p, len(o.Servers))
}

// run runs a proxy that listens until the test ends, and returns when so many servers are online.
func run(t testing.TB, c *sandbox.Cluster, p *proxy.Proxy, servers int) *running {
	t.Helper()
	r := &running{t: t, cluster: c, proxy: p, address: p.Addresses()[0].String(), done: make(chan struct{})}
	go func() {
		defer close(r.done)
		p.Run()
	}()
	t.Cleanup(func() {
		p.Close()
		<-r.done
	})
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := p.Ready(ctx); err != nil {
		t.Fatalf("not ready: %v", err)
	}
	if err := p.WaitOnline(ctx, servers); err != nil {
		t.Fatalf("not all servers are online: %v", err)
	}
	return r
}

// testWriter writes to the test's log while the test runs, and fails it for a password.
type testWriter struct {
	t       testing.TB
	secrets []string
}

func (w testWriter) Write(b []byte) (int, error) {
	if w.t.Context().Err() != nil {
		return len(b), nil
	}
	text := strings.TrimSpace(string(b))
	for _, secret := range w.secrets {
		if strings.Contains(text, secret) {
			w.t.Errorf("a password is in the log: %s", text)
		}
	}
	w.t.Log(text)
	return len(b), nil
}

// config is a driver's configuration for an account through the proxy.
func (r *running) config(user, password string) *mysql.Config {
	c := mysql.NewConfig()
	c.Net, c.Addr, c.User, c.Passwd = "tcp", r.address, user, password
	c.AllowNativePasswords = true
	c.TLSConfig = "skip-verify"
	return c
}

// open returns a pool through the proxy for the cluster's own account.
func (r *running) open(change func(*mysql.Config)) *sql.DB {
	r.t.Helper()
	s := r.cluster.Primary()
	c := r.config(s.User, s.Password)
	if change != nil {
		change(c)
	}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		r.t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	r.t.Cleanup(func() { _ = db.Close() })
	return db
}

func value(t testing.TB, q interface {
	QueryRowContext(ctx context.Context, query string, args ...any) *sql.Row
}, query string, args ...any,
) string {
	t.Helper()
	var v sql.NullString
	if err := q.QueryRowContext(t.Context(), query, args...).Scan(&v); err != nil {
		t.Errorf("%s: %v", query, err)
		return ""
	}
	if !v.Valid {
		return "NULL"
	}
	return v.String
}

func exec(t testing.TB, q interface {
	ExecContext(ctx context.Context, query string, args ...any) (sql.Result, error)
}, statements ...string,
) {
	t.Helper()
	for _, s := range statements {
		if _, err := q.ExecContext(t.Context(), s); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
}

// ranOn returns the server of the statement before.
func ranOn(t testing.TB, conn *sql.Conn) string {
	t.Helper()
	return routeOf(t, conn)["server"]
}

// routeOf returns SHOW MYSQLRW ROUTE of the statement before, by column.
func routeOf(t testing.TB, conn *sql.Conn) map[string]string {
	t.Helper()
	rows, err := conn.QueryContext(t.Context(), "SHOW MYSQLRW ROUTE")
	if err != nil {
		t.Errorf("SHOW MYSQLRW ROUTE: %v", err)
		return nil
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	values, places, found := make([]string, len(columns)), make([]any, len(columns)), map[string]string{}
	for i := range places {
		places[i] = &values[i]
	}
	for rows.Next() {
		if err := rows.Scan(places...); err != nil {
			t.Fatal(err)
		}
		for i, name := range columns {
			found[name] = values[i]
		}
	}
	if err := rows.Err(); err != nil {
		t.Error(err)
	}
	return found
}

// counters returns SHOW MYSQLRW STATUS.
func counters(t testing.TB, conn *sql.Conn) map[string]int64 {
	t.Helper()
	rows, err := conn.QueryContext(t.Context(), "SHOW MYSQLRW STATUS")
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	found := map[string]int64{}
	for rows.Next() {
		var name string
		var n int64
		if err := rows.Scan(&name, &n); err != nil {
			t.Fatal(err)
		}
		found[name] = n
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return found
}

func waitListening(t testing.TB, address string) {
	t.Helper()
	c, err := net.DialTimeout("tcp", address, 5*time.Second)
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
}

// TestBasics: a client logs in, reads, writes, and reads are on replicas.
func TestBasics(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 2})
		r := start(t, c, options(t, c))
		waitListening(t, r.address)
		for _, mode := range []struct {
			name   string
			change func(*mysql.Config)
		}{
			{"tls", nil},
			{"plain", func(c *mysql.Config) { c.TLSConfig = "" }},
			{"text", func(c *mysql.Config) { c.InterpolateParams = true }},
		} {
			t.Run(mode.name, func(t *testing.T) {
				db := r.open(mode.change)
				exec(t, db, "DROP DATABASE IF EXISTS shop", "CREATE DATABASE shop", "CREATE TABLE shop.item (id INT AUTO_INCREMENT PRIMARY KEY, name VARCHAR(50))",
					"INSERT INTO shop.item (name) VALUES ('a'), ('b')")
				if err := c.WaitReplicated(t.Context()); err != nil {
					t.Fatal(err)
				}
				if n := value(t, db, "SELECT COUNT(*) FROM shop.item"); n != "2" {
					t.Errorf("%s items", n)
				}
				if n := value(t, db, "SELECT name FROM shop.item WHERE id = ?", 2); n != "b" {
					t.Errorf("item 2 is %s", n)
				}
				conn, err := db.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer conn.Close()
				value(t, conn, "SELECT COUNT(*) FROM shop.item")
				if server := ranOn(t, conn); server == "primary" {
					t.Errorf("a read ran on the primary")
				}
				exec(t, conn, "BEGIN", "INSERT INTO shop.item (name) VALUES ('c')")
				if n := value(t, conn, "SELECT COUNT(*) FROM shop.item"); n != "3" {
					t.Errorf("%s items in the transaction", n)
				}
				exec(t, conn, "ROLLBACK", "SET @a = 5", "USE shop")
				if n := value(t, conn, "SELECT COUNT(*) + @a FROM item"); n != "7" {
					t.Errorf("got %s, want 2 + 5", n)
				}
			})
		}
	})
}
