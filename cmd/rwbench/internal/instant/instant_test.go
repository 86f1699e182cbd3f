package instant

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// startServer runs one until the end of the test.
func startServer(t *testing.T, o *ServerOptions) string {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		NewServer(o).Serve(context.Background(), l)
	}()
	t.Cleanup(func() {
		_ = l.Close()
		<-done
	})
	return l.Addr().String()
}

func open(t *testing.T, address, user, password string) *sql.DB {
	t.Helper()
	c := mysql.NewConfig()
	c.Net, c.Addr, c.User, c.Passwd, c.DBName, c.Logger = "tcp", address, user, password, "", &mysql.NopLogger{}
	connector, err := mysql.NewConnector(c)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	return db
}

func plugins(t *testing.T, f func(t *testing.T, o *ServerOptions)) {
	t.Helper()
	for _, o := range []*ServerOptions{
		{Version: "9.7.4", Plugin: wire.SHA2Plugin},
		{Version: "5.5.5-10.11.19-MariaDB", Plugin: wire.NativePlugin},
	} {
		o.Accounts = map[string]string{"app": "secret"}
		t.Run(o.Plugin, func(t *testing.T) { f(t, o) })
	}
}

// TestServer: a driver of others' logs in, and gets the row as text and prepared.
func TestServer(t *testing.T) {
	plugins(t, func(t *testing.T, o *ServerOptions) {
		db := open(t, startServer(t, o), "app", "secret")
		for range 3 {
			var text, prepared string
			if err := db.QueryRowContext(t.Context(), "SELECT c FROM sbtest1 WHERE id=7").Scan(&text); err != nil {
				t.Fatal(err)
			}
			if err := db.QueryRowContext(t.Context(), "SELECT c FROM sbtest1 WHERE id=?", 7).Scan(&prepared); err != nil {
				t.Fatal(err)
			}
			if text != cannedValue || prepared != cannedValue {
				t.Fatalf("got %q and %q", text, prepared)
			}
		}
		var number uint16
		for _, args := range [][]any{nil, {1}} {
			_, err := db.ExecContext(t.Context(), "DO 1", args...)
			if e := (*mysql.MySQLError)(nil); errors.As(err, &e) {
				number = e.Number
			}
			if number != 1295 {
				t.Errorf("what is not scripted: got %v", err)
			}
			number = 0
		}
	})
}

// TestServer_denied: a wrong password and an unknown account are not let in.
func TestServer_denied(t *testing.T) {
	plugins(t, func(t *testing.T, o *ServerOptions) {
		address := startServer(t, o)
		for _, who := range [][2]string{{"app", "wrong"}, {"nobody", "secret"}} {
			if err := open(t, address, who[0], who[1]).PingContext(t.Context()); err == nil {
				t.Errorf("%s was let in with %s", who[0], who[1])
			}
		}
	})
}

// TestMeasure: every client counts, and begin and end are called in order.
func TestMeasure(t *testing.T) {
	plugins(t, func(t *testing.T, o *ServerOptions) {
		address := startServer(t, o)
		for _, prepared := range []bool{false, true} {
			var calls []string
			got, err := Measure(t.Context(), &ClientOptions{
				Address: address, User: "app", Password: "secret", Threads: 3, Prepared: prepared, Warmup: time.Millisecond, Time: 50 * time.Millisecond,
			}, func() { calls = append(calls, "begin") }, func() { calls = append(calls, "end") })
			if err != nil {
				t.Fatal(err)
			}
			if got.Queries < 3 || got.P50 > got.P95 || got.P95 > got.P99 || got.Seconds < 0.05 || strings.Join(calls, " ") != "begin end" {
				t.Errorf("got %+v, %v", got, calls)
			}
		}
	})
}

// TestMeasure_fails: a server that goes away in the middle ends all clients, and the error says so.
func TestMeasure_fails(t *testing.T) {
	o := &ServerOptions{Version: "9.7.4", Plugin: wire.SHA2Plugin, Accounts: map[string]string{"app": "secret"}}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		NewServer(o).Serve(t.Context(), l)
	}()
	client := &ClientOptions{Address: l.Addr().String(), User: "app", Password: "secret", Threads: 2, Warmup: time.Millisecond, Time: time.Minute}
	if _, err = Measure(t.Context(), client, func() { _ = l.Close() }, func() {}); err == nil {
		t.Error("no error")
	}
	<-done
	client.Password = "wrong"
	if _, err := Measure(t.Context(), client, func() {}, func() {}); err == nil {
		t.Error("no error of a server that is gone")
	}
}

// TestMain_words: the processes take their options from stdin, and refuse what they do not know.
func TestMain_words(t *testing.T) {
	o := &ServerOptions{Version: "9.7.4", Plugin: wire.SHA2Plugin, Accounts: map[string]string{"app": "secret"}}
	address := startServer(t, o)
	var out bytes.Buffer
	in := `{"Address": "` + address + `", "User": "app", "Password": "secret", "Threads": 1, "Warmup": 1000000, "Time": 10000000}`
	if err := Main(t.Context(), ClientWord, strings.NewReader(in), &out); err != nil {
		t.Fatal(err)
	}
	if got := out.String(); !strings.HasPrefix(got, "begin\nend\noutcome {") {
		t.Errorf("got %q", got)
	}
	for _, word := range []string{ClientWord, ServerWord, "else"} {
		if err := Main(t.Context(), word, strings.NewReader("no JSON"), io.Discard); err == nil {
			t.Errorf("%s: no error", word)
		}
	}
}

// TestServer_forwards: what is not scripted is answered by a real server, as the account and in its session.
func TestServer_forwards(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: -1})
		p := c.Primary()
		o := &ServerOptions{Version: "9.7.4", Plugin: wire.SHA2Plugin, Real: p.Address(), Accounts: map[string]string{p.User: p.Password}}
		if f == flavor.MariaDB {
			o.Version, o.Plugin = "5.5.5-"+c.Version.String()+"-MariaDB", wire.NativePlugin
		}
		db := open(t, startServer(t, o), p.User, p.Password)
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for _, q := range []string{"CREATE DATABASE shop", "USE shop", "CREATE TABLE t (id INT PRIMARY KEY)", "INSERT INTO t VALUES (1), (2)", "SET @x = 5"} {
			if _, err := conn.ExecContext(t.Context(), q); err != nil {
				t.Fatalf("%s: %v", q, err)
			}
		}
		var canned string
		if err := conn.QueryRowContext(t.Context(), "SELECT c FROM sbtest1 WHERE id=1").Scan(&canned); err != nil || canned != cannedValue {
			t.Errorf("got %q, %v", canned, err)
		}
		var sum, x int
		if err := conn.QueryRowContext(t.Context(), "SELECT SUM(id), @x FROM t").Scan(&sum, &x); err != nil || sum != 3 || x != 5 {
			t.Errorf("got %d and %d, %v", sum, x, err)
		}
		if _, err := conn.ExecContext(t.Context(), "SELECT * FROM nothing"); err == nil || !strings.Contains(err.Error(), "1146") {
			t.Errorf("got %v, want the server's own error", err)
		}
	})
}
