package proxy_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
	"github.com/mysqlrw/mysqlrw/route"
)

// TestFailover: the primary is killed under load, twice, and a replica promoted. The primary
// acknowledges only what a replica has, so every acknowledged write must be there afterwards.
func TestFailover(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 2, SemiSync: true})
		o := options(t, c)
		o.PrimaryWait = 30 * time.Second
		r := start(t, c, o)
		prepareLoad(t, c, c.Primary(), 6)
		l := startLoad(t, r, 6, 3)
		l.progress(100)
		owners := newOwners(t, r)
		c.Primary().Kill()
		l.progressReads(100)
		first := promote(t, f, c.Replicas()...)
		l.progress(100)

		// A COMMIT waits for a lock, and the server is killed then: nobody can know.
		second := c.Replica(1)
		if second == first {
			second = c.Replica(2)
		}
		r.role(second.Name, route.Replica, route.Online)
		sandboxtest.SameAs(t, f, second, first)
		commit := blockedCommit(t, r, first)
		sandboxtest.SameAs(t, f, second, first)
		first.Kill()
		sandboxtest.Detach(t, f, second)
		sandboxtest.SetReadOnly(t, f, second, false)
		l.progress(100)
		err := <-commit.result
		if number(err) != r.lostNumber() || !strings.Contains(err.Error(), "during COMMIT: it is unknown") {
			t.Errorf("a lost COMMIT: %v", err)
		}
		ended(t, commit.conn)
		l.check(second)
		owners.check("primary")
	})
}

// progressReads waits for further reads, while nothing can be written.
func (l *load) progressReads(n int64) {
	l.t.Helper()
	reads := l.reads.Load()
	sandboxtest.Await(l.t, "reads without a primary", func() bool { return l.t.Failed() || l.reads.Load() >= reads+n })
}

// lostNumber is that of the error that tells of a lost connection to a server.
func (r *running) lostNumber() uint16 {
	if r.cluster.Flavor == flavor.MariaDB {
		return 1927
	}
	return 2013
}

// number returns the number of a server's error, 0 if it is another one.
func number(err error) uint16 {
	var e *mysql.MySQLError
	if errors.As(err, &e) {
		return e.Number
	}
	return 0
}

// ended fails the test if a session still answers.
func ended(t testing.TB, conn *sql.Conn) {
	t.Helper()
	if err := conn.PingContext(t.Context()); err == nil || number(err) != 0 {
		t.Errorf("the session goes on: %v", err)
	}
}

// session returns one connection of a client.
func (r *running) session() *sql.Conn {
	r.t.Helper()
	conn, err := r.open(func(c *mysql.Config) { c.InterpolateParams = true }).Conn(r.t.Context())
	if err != nil {
		r.t.Fatal(err)
	}
	r.t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// owners are sessions with something that a lost server takes with it.
type owners struct {
	t        *testing.T
	names    []string // what the error must name
	sessions []*sql.Conn
}

func newOwners(t *testing.T, r *running) *owners {
	o := &owners{t: t}
	for _, one := range []struct {
		name       string
		statements []string
	}{
		{"an open transaction", []string{"BEGIN", "INSERT INTO load1.keyed VALUES ('never')"}},
		{"temporary", []string{"CREATE TEMPORARY TABLE load1.mine (id INT)"}},
		{"lock", []string{"DO GET_LOCK('mine', 0)"}},
		{"lock", []string{"LOCK TABLES load1.unused READ"}},
	} {
		conn := r.session()
		exec(t, conn, "CREATE TABLE IF NOT EXISTS load1.unused (id INT)")
		exec(t, conn, one.statements...)
		o.names, o.sessions = append(o.names, one.name), append(o.sessions, conn)
	}
	return o
}

// check expects each of them to be told, and to end.
func (o *owners) check(server string) {
	o.t.Helper()
	for i, conn := range o.sessions {
		_, err := conn.ExecContext(o.t.Context(), "DELETE FROM load1.keyed WHERE token = 'nobody'")
		if err == nil || number(err) == 0 || !strings.Contains(strings.ToLower(err.Error()), o.names[i]) || !strings.Contains(err.Error(), server) {
			o.t.Errorf("the error does not name %q and %q: %v", o.names[i], server, err)
		}
		ended(o.t, conn)
	}
}

type commit struct {
	conn   *sql.Conn
	result chan error
}

// blockedCommit begins a COMMIT that a lock keeps from ending.
func blockedCommit(t *testing.T, r *running, s *sandbox.Server) *commit {
	t.Helper()
	c := &commit{conn: r.session(), result: make(chan error, 1)}
	exec(t, c.conn, "CREATE TABLE load1.other (id INT)", "BEGIN", "INSERT INTO load1.other VALUES (1)")
	locker, err := sandboxtest.Open(t, s).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	exec(t, locker, "FLUSH TABLES WITH READ LOCK")
	go func() {
		_, err := c.conn.ExecContext(context.Background(), "COMMIT")
		c.result <- err
	}()
	watcher := sandboxtest.Open(t, s)
	sandboxtest.Await(t, "the COMMIT is on the server", func() bool {
		return value(t, watcher, "SELECT COUNT(*) FROM information_schema.processlist WHERE info = 'COMMIT'") == "1"
	})
	return c
}

// TestTopologyChanges: what an administrator does, and what else happens, with a load on it.
func TestTopologyChanges(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 2})
		o := options(t, c)
		o.PrimaryWait = 30 * time.Second
		r := start(t, c, o)
		prepareLoad(t, c, c.Primary(), 4)
		primary, replica, other := c.Primary(), c.Replica(1), c.Replica(2)
		t.Run("switchover", func(t *testing.T) { switchover(t, f, r, primary, replica, other) })
		primary, replica = replica, primary
		t.Run("replica killed", func(t *testing.T) { replicaKilled(t, r, primary, replica) })
		t.Run("applier stopped", func(t *testing.T) { applierStopped(t, f, r, replica) })
		t.Run("schema behind", func(t *testing.T) { schemaBehind(t, r, primary, replica, other) })
		o.PrimaryWait = 500 * time.Millisecond
		short := start(t, c, o)
		t.Run("no primary", func(t *testing.T) { noPrimary(t, f, r, short, primary) })
		t.Run("two writers", func(t *testing.T) { twoWriters(t, f, short, other) })
	})
}

// as returns a session like another one, for a subtest.
func (r *running) as(t *testing.T) *running {
	copied := *r
	copied.t = t
	return &copied
}

// switchover: writes wait for the next primary and run there, and nobody sees an error.
func switchover(t *testing.T, f flavor.Flavor, r *running, from, to, other *sandbox.Server) {
	r = r.as(t)
	l := startLoad(t, r, 4, 2)
	l.progress(50)
	sandboxtest.SetReadOnly(t, f, from, true)
	sandboxtest.SameAs(t, f, to, from)
	sandboxtest.Detach(t, f, to)
	sandboxtest.SetReadOnly(t, f, to, false)
	sandboxtest.Follow(t, f, from, to, true)
	sandboxtest.Follow(t, f, other, to, false)
	l.progress(50)
	l.check(to)
	if n := l.unknown.Load(); n > 0 {
		t.Errorf("%d writes have an unknown outcome", n)
	}
	for _, s := range []*sandbox.Server{from, other} {
		r.role(s.Name, route.Replica, route.Online)
	}
	r.role(to.Name, route.Primary, route.Online)
}

// replicaKilled: reads go on elsewhere. A cursor that was open there is named.
func replicaKilled(t *testing.T, r *running, primary, replica *sandbox.Server) {
	r = r.as(t)
	l := startLoad(t, r, 2, 4)
	l.progress(50)
	cursor := cursorOn(t, r, replica)
	replica.Kill()
	l.progress(50)
	l.end()
	if n := l.unknown.Load(); n > 0 {
		t.Errorf("%d writes have an unknown outcome", n)
	}
	m := wire.StmtFetch{StatementID: cursor.stmt, Rows: 1}
	_, err := cursor.command(m.Append(nil))
	if refusedWith(err) == 0 || !strings.Contains(err.Error(), "cursor") || !strings.Contains(err.Error(), replica.Name) {
		t.Errorf("FETCH from a lost cursor: %v", err)
	}
	if !cursor.closed() {
		t.Error("the session goes on without its cursor")
	}
	if err := replica.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	sandboxtest.SameAs(t, r.cluster.Flavor, replica, primary)
	r.role(replica.Name, route.Replica, route.Online)
}

type bareCursor struct {
	*bareClient
	stmt uint32
}

// cursorOn returns a client with a cursor open on a server.
func cursorOn(t *testing.T, r *running, s *sandbox.Server) *bareCursor {
	t.Helper()
	for range 100 {
		c, err := loginBare(t, r.address, s.User, s.Password)
		if err != nil {
			t.Fatal(err)
		}
		one := &bareCursor{c, c.prepare("SELECT id FROM load1.counter")}
		if _, err := c.command(executePayload(one.stmt, 1)); err != nil {
			t.Fatal(err)
		}
		where, err := c.query("SHOW MYSQLRW ROUTE")
		if err != nil {
			t.Fatal(err)
		}
		if row := where[len(where)-2]; strings.HasPrefix(string(row[1:]), s.Name) {
			return one
		}
		_ = c.conn.Close()
	}
	t.Fatalf("no cursor on %s", s.Name)
	return nil
}

// applierStopped: what applies nothing is not read.
func applierStopped(t *testing.T, f flavor.Flavor, r *running, replica *sandbox.Server) {
	r = r.as(t)
	if err := replica.StopApplier(t.Context(), f, ""); err != nil {
		t.Fatal(err)
	}
	sandboxtest.Await(t, replica.Name+" is not readable", func() bool {
		s := r.proxy.Snapshot()
		return s.Servers[s.Find(replica.Name)].State != route.Online
	})
	conn := r.session()
	for range 30 {
		value(t, conn, "SELECT COUNT(*) FROM load1.counter")
		if on := ranOn(t, conn); on == replica.Name {
			t.Fatalf("a read ran on %s, whose applier is stopped", on)
		}
	}
	if err := replica.StartApplier(t.Context(), f, ""); err != nil {
		t.Fatal(err)
	}
	r.role(replica.Name, route.Replica, route.Online)
}

// schemaBehind: both replicas lack a schema that a client has just made.
func schemaBehind(t *testing.T, r *running, primary *sandbox.Server, replicas ...*sandbox.Server) {
	r = r.as(t)
	for _, s := range replicas {
		sandboxtest.SameAs(t, r.cluster.Flavor, s, primary)
		release, err := s.HoldApplier(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer release() //nolint:errcheck // below
	}
	exec(t, r.session(), "CREATE DATABASE fresh", "CREATE TABLE fresh.t (id INT)", "INSERT INTO fresh.t VALUES (7)")
	conn := r.session()
	exec(t, conn, "USE fresh")
	for range 5 {
		if v := value(t, conn, "SELECT DATABASE()"); v != "fresh" {
			t.Errorf("the schema is %s", v)
		}
		if v := value(t, conn, "SELECT 1 + 1"); v != "2" {
			t.Errorf("got %s", v)
		}
		if v := value(t, conn, "SELECT id FROM t"); v != "7" {
			t.Errorf("the row is %s", v)
		}
	}
	exec(t, conn, "USE load1", "CREATE TABLE young (id INT)", "INSERT INTO young VALUES (8)")
	for _, one := range []*sql.Conn{conn, r.session()} {
		for range 5 {
			if v := value(t, one, "SELECT id FROM load1.young"); v != "8" {
				t.Errorf("in a new table of an old schema the row is %s", v)
			}
			if v := value(t, one, "SELECT id FROM fresh.t WHERE id = ?", 7); v != "7" {
				t.Errorf("in a new table of a new schema the row is %s", v)
			}
		}
	}
	if v := value(t, r.open(func(c *mysql.Config) { c.DBName = "fresh" }), "SELECT id FROM t"); v != "7" {
		t.Errorf("after a login with the schema the row is %s", v)
	}
}

// noPrimary: a write waits, and runs if there is one in time. Reads go on.
func noPrimary(t *testing.T, f flavor.Flavor, r, short *running, primary *sandbox.Server) {
	r, short = r.as(t), short.as(t)
	sandboxtest.SetReadOnly(t, f, primary, true)
	write := "INSERT INTO load1.keyed VALUES ('" + f.String() + "')"
	worker := func(r *running) *sql.DB { return r.open(func(c *mysql.Config) { c.User = loadAccount }) }
	_, err := worker(short).ExecContext(t.Context(), write)
	if number(err) != 1290 {
		t.Errorf("a write without a primary: %v", err)
	}
	value(t, worker(short), "SELECT COUNT(*) FROM load1.counter")
	done := make(chan error, 1)
	db := worker(r)
	go func() {
		_, err := db.ExecContext(context.Background(), write)
		done <- err
	}()
	value(t, worker(r), "SELECT COUNT(*) FROM load1.counter")
	select {
	case err := <-done:
		t.Errorf("a write did not wait for a primary: %v", err)
	default:
	}
	sandboxtest.SetReadOnly(t, f, primary, false)
	if err := <-done; err != nil {
		t.Errorf("a write with a primary in time: %v", err)
	}
	short.role(primary.Name, route.Primary, route.Online)
}

// twoWriters: two servers that take writes are a mistake that must not be made worse.
func twoWriters(t *testing.T, f flavor.Flavor, r *running, second *sandbox.Server) {
	r = r.as(t)
	sandboxtest.Detach(t, f, second)
	sandboxtest.SetReadOnly(t, f, second, false)
	sandboxtest.Await(t, "both writers are seen", func() bool { return r.proxy.Snapshot().Primary() < 0 })
	conn := r.session()
	_, err := conn.ExecContext(t.Context(), "INSERT INTO load1.keyed VALUES ('two')")
	if number(err) != 1290 || !strings.Contains(err.Error(), "two") {
		t.Errorf("a write with two writers: %v", err)
	}
	for i := range 10 {
		if v := value(t, conn, fmt.Sprintf("SELECT %d FROM load1.counter LIMIT 1", i)); v != fmt.Sprint(i) {
			t.Errorf("a read with two writers: %s", v)
		}
	}
	sandboxtest.SetReadOnly(t, f, second, true)
	sandboxtest.Await(t, "one writer is left", func() bool { return r.proxy.Snapshot().Primary() >= 0 })
	exec(t, conn, "INSERT INTO load1.keyed VALUES ('two')")
}
