package rwdb_test

import (
	"context"
	"errors"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/rwdb"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/route"
)

// TestReadsGoOn: without a primary what needs none is read.
func TestReadsGoOn(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		s := newSite(t, f, nil)
		ctx := t.Context()
		exec(t, s.db, ctx, "INSERT INTO item VALUES (1, 1)")
		s.replicated(t)
		s.Primary().Kill()
		for range 20 {
			if n := number(t, s.db, rwdb.WithLevel(ctx, route.Eventual), priceOf1); n != 1 {
				t.Errorf("without a primary %d is read", n)
			}
			s.ran(t, "a read without a primary", "replica")
		}
	})
}

// TestFailover: the primary is killed and a replica promoted. Writes wait for the new primary, and a session that had
// seen what is lost can read again.
func TestFailover(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		s := newSite(t, f, func(o *rwdb.Options, _ *sandbox.Options) { o.PrimaryWait = time.Minute })
		ctx := t.Context()
		exec(t, s.db, ctx, "INSERT INTO item VALUES (1, 1)")
		s.replicated(t)
		number(t, s.db, ctx, priceOf1)
		for _, r := range s.Replicas() {
			sandboxtest.Exec(t, r, flavor.StopThread(f, flavor.Receiver, ""))
		}
		var se rwdb.Session
		exec(t, s.db, rwdb.WithSession(ctx, &se), "UPDATE item SET price = 2 WHERE id = 1") // nobody gets it
		s.Primary().Kill()
		for _, r := range s.Replicas() {
			sandboxtest.Exec(t, r, flavor.StartThread(f, flavor.Receiver, ""))
		}
		written := make(chan error, 1)
		go func() {
			for {
				_, err := s.db.ExecContext(ctx, "UPDATE item SET price = price + 10 WHERE id = 1")
				// The one that was on its way when the primary died may have been lost with its connection.
				if !errors.Is(err, mysql.ErrInvalidConn) {
					written <- err
					return
				}
			}
		}()
		sandboxtest.Detach(t, f, s.Replica(1))
		sandboxtest.Follow(t, f, s.Replica(2), s.Replica(1), false)
		sandboxtest.SetReadOnly(t, f, s.Replica(1), false)
		if err := <-written; err != nil {
			t.Fatalf("a write that waits for the new primary: %v", err)
		}
		s.ran(t, "the write", "replica1")
		if n := number(t, s.db, ctx, priceOf1); n != 11 {
			t.Errorf("reads %d after the failover: %+v", n, s.last(t))
		}
		if n := number(t, s.db, rwdb.WithSession(ctx, &se), priceOf1); n != 11 {
			t.Errorf("the session that had seen the lost write reads %d: %+v", n, s.last(t))
		}
	})
}

// TestServersGone: idle connections whose servers were restarted never give a program an error, and a replica that
// is killed takes its reads with it to no one.
func TestServersGone(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		s := newSite(t, f, nil)
		ctx := t.Context()
		exec(t, s.db, ctx, "INSERT INTO item VALUES (1, 1)")
		for range 10 {
			number(t, s.db, ctx, priceOf1)
		}
		for _, server := range s.Cluster.Servers {
			if err := server.Stop(ctx); err != nil {
				t.Fatal(err)
			}
			if err := server.Start(ctx); err != nil {
				t.Fatal(err)
			}
		}
		exec(t, s.db, ctx, "UPDATE item SET price = 2 WHERE id = 1")
		if n := number(t, s.db, ctx, priceOf1); n != 2 {
			t.Errorf("reads %d", n)
		}
		s.ready(t, s.connector)
		stmt, err := s.db.PrepareContext(ctx, priceOf1)
		if err != nil {
			t.Fatal(err)
		}
		defer stmt.Close()
		s.Replica(1).Kill()
		s.Replica(2).Kill()
		for range 20 {
			var n int
			if err := stmt.QueryRowContext(ctx).Scan(&n); err != nil || n != 2 {
				t.Fatalf("with the replicas gone: %d, %v", n, err)
			}
			if n := number(t, s.db, ctx, priceOf1); n != 2 {
				t.Errorf("with the replicas gone %d is read", n)
			}
		}
		s.ran(t, "a read with the replicas gone", "primary")
	})
}

func TestBadOptions(t *testing.T) {
	for _, tt := range []struct {
		name    string
		options rwdb.Options
		want    string
	}{
		{"no server", rwdb.Options{}, "rwdb: no server is given"},
		{"DSN", rwdb.Options{Servers: []rwdb.Server{{DSN: "user:top-secret@db"}}}, "rwdb: server number 1: its DSN cannot be read: missing the slash separating the database name"},
		{"parameter", rwdb.Options{Servers: []rwdb.Server{{Name: "a", DSN: "user:top-secret@tcp(db:3306)/?timeout=x"}}}, "rwdb: server a: its DSN cannot be read: want user:password@tcp(host:port)/schema?name=value"},
		{"twice", rwdb.Options{Servers: []rwdb.Server{{DSN: "u@tcp(db:3306)/"}, {DSN: "u@tcp(db:3306)/"}}}, "rwdb: two servers are named db:3306"},
		{"method", rwdb.Options{Servers: []rwdb.Server{{DSN: "u@tcp(db:3306)/"}}, Policy: func(p *route.Policy) { p.Method = route.BySleep }}, "rwdb: Method sleep is for the proxy: use gtid, or level eventual or strong"},
	} {
		c, err := rwdb.New(tt.options)
		if err == nil || err.Error() != tt.want {
			t.Errorf("%s: %v, want %s", tt.name, err, tt.want)
		}
		if c != nil {
			t.Errorf("%s: there is a connector", tt.name)
		}
	}
}

// TestNobodyWaits: less than 0 is no wait, not one without end.
func TestNobodyWaits(t *testing.T) {
	c, err := rwdb.New(rwdb.Options{PrimaryWait: -1, Servers: []rwdb.Server{{DSN: "u:top-secret@tcp(127.0.0.1:1)/"}}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	if _, err = c.Connect(ctx); !errors.Is(err, syscall.ECONNREFUSED) {
		t.Error(err)
	}
}

// TestNobodyThere: without any server the first statement says why, in time.
func TestNobodyThere(t *testing.T) {
	c, err := rwdb.New(rwdb.Options{PrimaryWait: 200 * time.Millisecond, Servers: []rwdb.Server{
		{Name: "a", DSN: "u:top-secret@tcp(127.0.0.1:1)/"}, {Name: "b", DSN: "u:top-secret@tcp(127.0.0.1:2)/"},
	}})
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	_, err = c.Connect(t.Context())
	if err == nil || err.Error() != "rwdb: no server can be used, waited 200ms: a is offline (connection refused), b is offline (connection refused)" {
		t.Error(err)
	}
	if !errors.Is(err, syscall.ECONNREFUSED) {
		t.Errorf("the driver's error is not in %T", err)
	}
}
