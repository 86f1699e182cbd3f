package proxy_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/proxy"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/status"
	"github.com/mysqlrw/mysqlrw/route"
)

// versionOf returns SHOW MYSQLRW VERSION, by column.
func versionOf(t testing.TB, c *sql.Conn) map[string]string {
	t.Helper()
	columns := []string{"version", "age", "servers", "left_out", "chosen", "checked"}
	values, places := make([]string, len(columns)), make([]any, len(columns))
	for i := range places {
		places[i] = &values[i]
	}
	if err := c.QueryRowContext(t.Context(), "SHOW MYSQLRW VERSION").Scan(places...); err != nil {
		t.Fatal(err)
	}
	found := map[string]string{}
	for i, name := range columns {
		found[name] = values[i]
	}
	return found
}

// written returns what the primary has written.
func (s *site) written() gtid.Value {
	s.t.Helper()
	at, err := status.Sendable(s.t.Context(), s.primary, s.flavor)
	if err != nil {
		s.t.Fatal(err)
	}
	return at
}

// reaches waits until the version has a position and no more, as the servers that count have.
func (s *site) reaches(c *sql.Conn, at gtid.Value, servers, leftOut string) {
	s.t.Helper()
	var v map[string]string
	defer func() {
		if s.t.Failed() {
			s.t.Logf("%v, want %v of %s without %s", v, at, servers, leftOut)
		}
	}()
	sandboxtest.Await(s.t, "the version is "+at.String(), func() bool {
		v = versionOf(s.t, c)
		is, err := gtid.ParseValue(v["version"])
		return err == nil && is.Equal(at) && v["servers"] == servers && v["left_out"] == leftOut
	})
}

func versioned(o *proxy.Options) {
	o.VersionInterval, o.CheckTimeout = 10*time.Millisecond, 500*time.Millisecond
	o.Listeners[0].Policy.MaxLag, o.Listeners[0].Policy.MaxStaleness = 0, 0
}

// TestShowVersion: the version is what all replicas have that can be read, it stands still for one that comes back
// without it, and it never goes back.
func TestShowVersion(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		s := newSite(t, f, sandbox.Options{Replicas: 2}, versioned, "CREATE TABLE t (id INT AUTO_INCREMENT PRIMARY KEY, n INT)")
		c, first := conn(t, s.all), s.cluster.Replica(1)
		write := func() gtid.Value {
			for range 10 {
				exec(t, s.primary, "INSERT INTO f.t (n) VALUES (1)")
			}
			return s.written()
		}
		s.reaches(c, write(), "replica1,replica2", "")
		sandboxtest.Await(t, "it is not old", func() bool { return versionOf(t, c)["age"] == "0.000s" })

		if err := first.StopApplier(t.Context(), f, ""); err != nil {
			t.Fatal(err)
		}
		s.role(first.Name, route.Replica, route.Broken)
		before := write()
		s.reaches(c, before, "replica2", "replica1 (replication-broken)")

		release := s.holdRow(first, "INSERT INTO f.t (id, n) VALUES (11, 0)") // the first that it has not got
		if err := first.StartApplier(t.Context(), f, ""); err != nil {
			t.Fatal(err)
		}
		s.reaches(c, before, "replica2", "replica1 (behind-position)")
		after := write()
		sandboxtest.SameAs(t, f, s.cluster.Replica(2), s.cluster.Primary())
		s.reaches(c, before, "replica2", "replica1 (behind-position)")
		sandboxtest.Await(t, "it becomes older", func() bool { return versionOf(t, c)["age"] > "0.100s" })
		release()
		s.reaches(c, after, "replica1,replica2", "")
	})
}

// holdRow has a statement on a replica keep a transaction from being applied there, until release is called.
func (s *site) holdRow(on *sandbox.Server, statement string) (release func()) {
	s.t.Helper()
	sandboxtest.SetReadOnly(s.t, s.flavor, on, false)
	holder := conn(s.t, sandboxtest.Open(s.t, on))
	exec(s.t, holder, "SET sql_log_bin = 0", "BEGIN", statement)
	sandboxtest.Exec(s.t, on, "SET GLOBAL innodb_lock_wait_timeout = 600") // of the applier, when it is started
	return func() {
		exec(s.t, holder, "ROLLBACK")
		sandboxtest.SetReadOnly(s.t, s.flavor, on, true) // which waits for open transactions
	}
}

// TestVersionGap: a replica that does not keep the order of commits has applied what comes behind a transaction that
// waits for a lock. The version ends in front of that.
func TestVersionGap(t *testing.T) {
	s := newSite(t, flavor.MySQL, sandbox.Options{
		Replicas: 1, ReplicaArgs: []string{"--replica-parallel-workers=4", "--replica-preserve-commit-order=OFF"},
	}, versioned, "CREATE TABLE t (id INT PRIMARY KEY, n INT)", "INSERT INTO t VALUES (1, 0), (2, 0), (3, 0)")
	c, replica := conn(t, s.all), s.cluster.Replica(1)
	before := s.written()
	s.reaches(c, before, "replica1", "")
	release := s.holdRow(replica, "SELECT n FROM f.t WHERE id = 1 FOR UPDATE")
	for id := range 3 {
		exec(t, s.primary, fmt.Sprintf("UPDATE f.t SET n = n + 1 WHERE id = %d", 1+id))
	}
	after := s.written()
	db := sandboxtest.Open(t, replica)
	sandboxtest.Await(t, "the replica has a gap", func() bool {
		has, err := status.Executed(t.Context(), db, flavor.MySQL)
		if err != nil {
			t.Fatal(err)
		}
		n, _, err := has.MissingCount(after)
		return err == nil && n == 1 && strings.Count(has.String(), "-") > strings.Count(before.String(), "-")
	})
	sandboxtest.Await(t, "the proxy knows", func() bool {
		i := s.proxy.Snapshot().Find("replica1")
		n, _, err := s.proxy.Snapshot().Servers[i].Position.MissingCount(after)
		return err == nil && n == 1
	})
	s.reaches(c, before, "replica1", "")
	release()
	s.reaches(c, after, "replica1", "")
}

// TestVersionOff: without the interval there is none.
func TestVersionOff(t *testing.T) {
	s := newSite(t, flavor.MySQL, sandbox.Options{Replicas: 1}, nil)
	if _, err := conn(t, s.all).ExecContext(t.Context(), "SHOW MYSQLRW VERSION"); code(err) != 1105 || !strings.Contains(err.Error(), "weak-read-version-refresh-interval") {
		t.Errorf("got %v", err)
	}
	if _, ok := s.proxy.Version(); ok {
		t.Error("there is a version")
	}
}
