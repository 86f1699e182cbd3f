package topology

import (
	"context"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/status"
	"github.com/mysqlrw/mysqlrw/route"
)

// patience bounds what a test waits for; nothing takes that long.
const patience = time.Minute

// watched is a cluster with a monitor that runs.
type watched struct {
	*Monitor
	t       *testing.T
	f       flavor.Flavor
	cluster *sandbox.Cluster

	mu     sync.Mutex
	events []Event
	news   chan struct{} // closed and made anew with each event
}

func watch(t *testing.T, o sandbox.Options, change func(*Options)) *watched {
	t.Helper()
	w := &watched{t: t, f: o.Flavor, cluster: sandboxtest.Cluster(t, o), news: make(chan struct{})}
	options := Options{Interval: 50 * time.Millisecond, Events: w.event}
	for _, s := range w.cluster.Servers {
		options.Servers = append(options.Servers, Server{Name: s.Name, Open: s.Open, Weight: 1})
	}
	change(&options)
	var err error
	if w.Monitor, err = New(options); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() { defer close(done); w.Run(ctx) }()
	t.Cleanup(func() {
		cancel()
		<-done
		if t.Failed() {
			w.mu.Lock()
			defer w.mu.Unlock()
			for _, e := range w.events {
				t.Log(e)
			}
			t.Logf("%+v", w.Snapshot().Servers)
		}
	})
	return w
}

func (w *watched) event(e Event) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.events = append(w.events, e)
	close(w.news)
	w.news = make(chan struct{})
}

// happens waits until an event of that text has come and forgets it.
func (w *watched) happens(text string) {
	w.t.Helper()
	late := time.After(patience)
	for {
		w.mu.Lock()
		at := slices.IndexFunc(w.events, func(e Event) bool { return strings.HasPrefix(e.String(), text) })
		if at >= 0 {
			w.events = slices.Delete(w.events, at, at+1)
		}
		news := w.news
		w.mu.Unlock()
		if at >= 0 {
			return
		}
		select {
		case <-news:
		case <-late:
			w.t.Fatalf("no event %q", text)
		}
	}
}

// until waits for a state of one server; why is a part of Why.
func (w *watched) until(name string, role route.Role, state route.State, why string) {
	w.t.Helper()
	w.untilIs(name, func(sv *route.Server) bool {
		return sv.Role == role && sv.State == state && strings.Contains(sv.Why, why)
	})
}

func (w *watched) untilIs(name string, ok func(*route.Server) bool) {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	err := w.Wait(ctx, func(s *route.Snapshot) bool { return ok(&s.Servers[s.Find(name)]) })
	if err != nil {
		s := w.Snapshot()
		w.t.Fatalf("%v: %s is %+v", err, name, s.Servers[s.Find(name)])
	}
}

func (w *watched) exec(name string, statements ...string) {
	w.t.Helper()
	sandboxtest.Exec(w.t, w.cluster.Server(name), statements...)
}

// promote makes a replica a server that takes writes and has no source.
func (w *watched) promote(name string) {
	w.t.Helper()
	readOnly := "SET GLOBAL read_only = OFF" // of MySQL's two variables it clears both
	w.exec(name, "STOP REPLICA", "RESET REPLICA ALL", readOnly)
}

func TestCluster(t *testing.T) {
	t.Parallel()
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		t.Parallel()
		w := watch(t, sandbox.Options{Flavor: f, Replicas: 2, Delays: []time.Duration{0, 100 * time.Second}}, func(o *Options) {
			o.Timeout = 2 * time.Second
		})
		w.until("primary", route.Primary, route.Online, "")
		w.happens("primary-changed new=primary")
		caughtUp := func(sv *route.Server) bool { return sv.State == route.Online && sv.LagKnown && sv.Lag < 10*time.Second }
		w.untilIs("replica1", caughtUp)
		w.untilIs("replica2", func(sv *route.Server) bool {
			return sv.State == route.Online && sv.LagKnown && sv.Lag >= 100*time.Second
		})

		w.exec("primary", "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY)", "INSERT INTO d.t VALUES (1)")
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := w.Wait(ctx, func(s *route.Snapshot) bool {
			p := s.Servers[s.Find("primary")].Position
			return !p.IsEmpty() && s.Servers[s.Find("replica1")].Position.Has(p)
		}); err != nil {
			t.Fatal("replica1 does not get the primary's position")
		}

		w.exec("replica1", "STOP REPLICA SQL_THREAD")
		w.until("replica1", route.Replica, route.Broken, "applier-stopped")
		w.exec("replica1", "START REPLICA SQL_THREAD")
		w.untilIs("replica1", caughtUp)
		w.exec("replica1", "STOP REPLICA IO_THREAD")
		w.until("replica1", route.Replica, route.Broken, "receiver-stopped")
		w.exec("replica1", "START REPLICA IO_THREAD")
		w.untilIs("replica1", caughtUp)

		if err := w.cluster.Replica(1).Pause(); err != nil {
			t.Fatal(err)
		}
		w.until("replica1", route.Replica, route.Unproven, "timed out")
		w.until("replica1", route.Replica, route.Offline, "timed out")
		if err := w.cluster.Replica(1).Resume(); err != nil {
			t.Fatal(err)
		}
		w.untilIs("replica1", caughtUp)
		w.failover()
	})
}

// failover kills the primary, promotes replica1 and brings the old primary back.
func (w *watched) failover() {
	w.t.Helper()
	w.cluster.Primary().Kill()
	w.happens("primary-lost old=primary detail=connection refused")
	w.until("primary", route.Primary, route.Offline, "connection refused")
	w.untilIs("replica2", func(sv *route.Server) bool { // it depends on whether its lag was known last
		return sv.State == route.Online && sv.Why == "its source primary is gone, and no other server takes writes" ||
			sv.State == route.Broken && strings.HasPrefix(sv.Why, "receiver-connecting")
	})
	w.promote("replica1")
	w.happens("primary-changed old=primary new=replica1")
	w.until("replica1", route.Primary, route.Online, "")
	w.until("primary", route.Replica, route.Offline, "connection refused")

	ctx, cancel := context.WithTimeout(w.t.Context(), patience)
	defer cancel()
	if err := w.cluster.Primary().Start(ctx); err != nil {
		w.t.Fatal(err)
	}
	w.happens("restarted server=primary")
	w.happens("two-primaries detail=primary, replica1")
	w.happens("primary-lost old=replica1")
	if p := w.Snapshot().Primary(); p != -1 {
		w.t.Errorf("primary %d with two writers", p)
	}
	w.exec("primary", "SET GLOBAL read_only = ON")
	w.happens("primary-changed old=replica1 new=replica1")
	w.until("primary", route.Replica, route.Unproven, "read-only and has no source")

	w.exec("replica1", "INSERT INTO d.t VALUES (2)")
	w.untilIs("replica1", func(sv *route.Server) bool {
		return !w.members[0].known.Load().position.Has(sv.Position)
	})
	reset := "RESET BINARY LOGS AND GTIDS"
	if w.f == flavor.MariaDB {
		reset = "RESET MASTER"
	}
	w.exec("replica1", reset)
	w.happens("position-lost server=replica1")
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, e := range w.events {
		if e.Kind == LostWrites || e.Kind == Errant || e.Kind == Replaced || e.Kind == PositionLost {
			w.t.Errorf("event %s", e)
		}
	}
}

// TestCluster_quiet: a connection that broke is no failed check, and a replica
// that writes is told of.
func TestCluster_quiet(t *testing.T) {
	t.Parallel()
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		t.Parallel()
		patient := func(o *Options) { o.Timeout = patience } // so that no check fails on a busy machine
		w := watch(t, sandbox.Options{Flavor: f, Replicas: 1}, patient)
		w.until("replica1", route.Replica, route.Online, "")
		w.happens("state-changed server=replica1 old=unproven new=online")
		epoch := w.Epoch(1)
		w.killConnections("replica1")
		w.untilIs("replica1", func(*route.Server) bool { return w.Epoch(1) != epoch })
		w.mu.Lock()
		for _, e := range w.events {
			if e.Server == "replica1" {
				t.Errorf("event %s", e)
			}
		}
		w.mu.Unlock()

		statements := []string{"CREATE DATABASE errant"}
		if f == flavor.MySQL {
			statements = append([]string{"SET GLOBAL super_read_only = OFF"}, statements...)
		}
		w.exec("replica1", statements...)
		w.happens("errant-transaction server=replica1")
	})
}

// killConnections ends every connection of a server that a client made.
func (w *watched) killConnections(name string) {
	w.t.Helper()
	db := sandboxtest.Open(w.t, w.cluster.Server(name))
	db.SetMaxOpenConns(1)
	me, err := status.QueryRow(w.t.Context(), db, "SELECT CONNECTION_ID() AS id")
	if err != nil {
		w.t.Fatal(err)
	}
	list, err := status.Query(w.t.Context(), db, "SHOW PROCESSLIST")
	if err != nil {
		w.t.Fatal(err)
	}
	for _, row := range list {
		if row.Text("User") == "root" && row.Text("Id") != me.Text("id") {
			_, _ = db.ExecContext(w.t.Context(), "KILL "+row.Text("Id")) // it may have gone
		}
	}
}
