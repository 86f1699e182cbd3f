package proxy_test

import (
	"context"
	"database/sql"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/proxy"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/tracker"
	"github.com/mysqlrw/mysqlrw/pkg/verify"
	"github.com/mysqlrw/mysqlrw/route"
)

// tracked has the proxy follow the primary's binary log.
func tracked(o *proxy.Options) {
	o.Tracker = &proxy.Account{Name: "tracker", Password: "Tracker1."}
	o.Listeners[0].Policy.Level, o.Listeners[0].Policy.MaxLag = route.SCC, 0
}

// trackerUser makes the account of tracked.
var trackerUser = []string{
	"CREATE USER tracker IDENTIFIED BY 'Tracker1.'", "GRANT REPLICATION SLAVE, SELECT, SHOW VIEW ON *.* TO tracker",
}

// tracking waits until reads wait only for their tables.
func tracking(t testing.TB, r *running) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := r.proxy.Tracking(ctx); err != nil {
		t.Fatalf("the tracker does not get ready: %v, %+v", err, r.proxy.Statistics().Tracker)
	}
}

// TestTables: a read at level scc waits for changes of the tables that it names, and for no others.
func TestTables(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		s := newSite(t, f, sandbox.Options{Replicas: 1}, tracked, append(trackerUser,
			"CREATE TABLE a (id INT PRIMARY KEY, v INT)", "CREATE TABLE b (id INT PRIMARY KEY, v INT)", "CREATE VIEW va AS SELECT * FROM a",
			"CREATE TABLE parent (id INT PRIMARY KEY)", "CREATE TABLE child (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES parent (id) ON DELETE CASCADE)",
			"INSERT INTO a VALUES (1, 0)", "INSERT INTO b VALUES (1, 0)", "INSERT INTO parent VALUES (1), (2)", "INSERT INTO child VALUES (1, 1), (2, 2)")...)
		tracking(t, s.running)
		c := conn(t, s.all)
		read := func(query, want, server, reason string) {
			t.Helper()
			got := value(t, c, query)
			r := routeOf(t, c)
			if got != want || r["server"] != server || reason != "" && r["reason"] != reason {
				t.Errorf("%s: read %s on %s (%s), want %s on %s (%s)", query, got, r["server"], r["reason"], want, server, reason)
			}
		}
		read("SELECT v FROM b WHERE id = 1", "0", "replica1", "caught-up")
		release := hold(t, s.running)
		exec(t, c, "UPDATE a SET v = 1 WHERE id = 1")
		read("SELECT v FROM b WHERE id = 1", "0", "replica1", "tables-caught-up")
		read("SELECT v FROM f.b WHERE id = 1", "0", "replica1", "tables-caught-up")
		read("SELECT v FROM a WHERE id = 1", "1", "primary", "")
		read("SELECT v FROM va WHERE id = 1", "1", "primary", "")
		read("SELECT COUNT(*) FROM b WHERE id <= (SELECT v FROM a WHERE id = 1)", "1", "primary", "")
		exec(t, s.primary, "DELETE FROM f.parent WHERE id = 1") // not through the proxy
		read("SELECT COUNT(*) FROM child", "1", "primary", "")
		read("SELECT COUNT(*) FROM b", "1", "replica1", "tables-caught-up")
		prepared(t, c)
		exec(t, c, "START TRANSACTION READ ONLY")
		read("SELECT v FROM b WHERE id = 1", "0", "primary", "") // its snapshot is for the next statement, too
		read("SELECT v FROM a WHERE id = 1", "1", "primary", "")
		exec(t, c, "COMMIT")
		exec(t, s.primary, "CREATE OR REPLACE VIEW f.vb AS SELECT id, v + 1 AS v FROM f.a")
		tracking(t, s.running)
		read("SELECT v FROM vb WHERE id = 1", "2", "primary", "")
		read("SELECT v FROM b WHERE id = 1", "0", "primary", "") // a DDL changes everything
		release()
		replicated(t, s.cluster)
		read("SELECT v FROM va WHERE id = 1", "1", "replica1", "")
	})
}

// prepared reads with prepared statements while no replica applies anything.
func prepared(t *testing.T, c *sql.Conn) {
	for _, q := range []struct{ text, want, server string }{
		{"SELECT v FROM b WHERE id = ?", "0", "replica1"}, {"SELECT v FROM a WHERE id = ?", "1", "primary"},
	} {
		stmt, err := c.PrepareContext(t.Context(), q.text)
		if err != nil {
			t.Fatal(err)
		}
		for n := range 3 {
			var got int
			if err := stmt.QueryRowContext(t.Context(), 1).Scan(&got); err != nil {
				t.Fatal(err)
			}
			if r := routeOf(t, c); strconv.Itoa(got) != q.want || r["server"] != q.server {
				t.Errorf("%s, execution %d: %d on %s, %s", q.text, n, got, r["server"], r["reason"])
			}
		}
		_ = stmt.Close()
	}
}

// TestTables_session: the same at level session, for what the session itself has written and seen.
func TestTables_session(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		s := newSite(t, f, sandbox.Options{Replicas: 1}, func(o *proxy.Options) {
			tracked(o)
			p := &o.Listeners[0].Policy
			p.Level, p.TrackTables = route.SessionLevel, true
		}, append(trackerUser, "CREATE TABLE a (v INT)", "CREATE TABLE b (v INT)", "INSERT INTO a VALUES (0)", "INSERT INTO b VALUES (0)")...)
		tracking(t, s.running)
		release := hold(t, s.running)
		c := conn(t, s.all)
		exec(t, c, "UPDATE a SET v = 1")
		for range 3 {
			want(t, "b", value(t, c, "SELECT v FROM b"), "0")
			if r := routeOf(t, c); r["server"] != "replica1" || r["reason"] != "tables-caught-up" {
				t.Errorf("b was read on %s: %s", r["server"], r["reason"])
			}
			want(t, "a", value(t, c, "SELECT v FROM a"), "1")
			if where := ranOn(t, c); where != "primary" {
				t.Errorf("a was read on %s", where)
			}
			// What it has seen of a on the primary may be newer than its token.
			want(t, "both", value(t, c, "SELECT a.v + b.v FROM a, b"), "1")
		}
		release()
	})
}

// TestTables_verify: whatever happens to the tracker and to the primary, no read at scc is older than promised.
func TestTables_verify(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 2})
		sandboxtest.Exec(t, c.Primary(), trackerUser...)
		v := newVerified(t, f, c)
		tracked(&v.o)
		v.o.Listeners[0].Policy.Level = route.SessionLevel
		if err := v.proxy.Reload(v.o); err != nil {
			t.Fatal(err)
		}
		primary, replica, other := c.Primary(), c.Replica(1), c.Replica(2)
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		result := make(chan *verify.Result, 1)
		go func() { result <- v.run(ctx, "scc", 0) }()
		v.progress()
		tracking(t, v.running)
		for _, fault := range []struct {
			name string
			do   func()
		}{
			{"a replica applies nothing", func() {
				release, err := replica.HoldApplier(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				v.progress()
				_ = release()
			}},
			{"the tracker is killed", func() {
				for range 3 {
					sandboxtest.KillLogReaders(t, primary, "tracker")
					v.progress()
					tracking(t, v.running)
				}
			}},
			{"DDL", func() {
				for n := range 10 {
					sandboxtest.Exec(t, primary, "CREATE TABLE mysqlrw_verify.t"+strconv.Itoa(n)+" (id INT)", "CREATE OR REPLACE VIEW mysqlrw_verify.v AS SELECT "+strconv.Itoa(n)+" AS n")
				}
				v.progress()
			}},
			{"the tracker loses its privilege", func() {
				sandboxtest.Exec(t, primary, "REVOKE REPLICATION SLAVE ON *.* FROM tracker")
				sandboxtest.KillLogReaders(t, primary, "tracker")
				sandboxtest.Await(t, "the proxy says so", func() bool {
					is := v.proxy.Statistics().Tracker
					return !is.Ready && strings.Contains(is.Err, "REPLICATION SLAVE")
				})
				v.progress()
				sandboxtest.Exec(t, primary, "GRANT REPLICATION SLAVE ON *.* TO tracker")
				tracking(t, v.running)
			}},
			{"switchover", func() {
				sandboxtest.SetReadOnly(t, f, primary, true)
				sandboxtest.SameAs(t, f, replica, primary)
				sandboxtest.Detach(t, f, replica)
				sandboxtest.SetReadOnly(t, f, replica, false)
				sandboxtest.Follow(t, f, primary, replica, true)
				sandboxtest.Follow(t, f, other, replica, false)
				v.progress()
				tracking(t, v.running)
			}},
		} {
			t.Log(fault.name)
			fault.do()
			v.progress()
		}
		cancel()
		v.holds(<-result, "scc")
		all := v.proxy.Statistics().Tables
		if all[tracker.WhyNot] == 0 || all[tracker.WhyOff] == 0 {
			t.Errorf("reads were never narrowed, or never kept from it: %v", all)
		}
	})
}
