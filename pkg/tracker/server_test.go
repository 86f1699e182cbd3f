package tracker_test

import (
	"context"
	"fmt"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/backend"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/status"
	"github.com/mysqlrw/mysqlrw/pkg/tracker"
)

const password = "Tracker1."

// followed is a tracker of a primary that the test chooses.
type followed struct {
	*tracker.Tracker
	t *testing.T
	f flavor.Flavor

	mu      sync.Mutex
	primary *sandbox.Server
	source  tracker.Source
	user    string
	gate    *gate // on what the log comes through, if not nil
}

// follow starts one, and ends it with the test.
func follow(t *testing.T, f flavor.Flavor, c *sandbox.Cluster) *followed {
	t.Helper()
	sandboxtest.Exec(t, c.Primary(), "CREATE USER tracker IDENTIFIED BY '"+password+"'",
		"GRANT REPLICATION SLAVE, REFERENCES ON *.* TO tracker", "CREATE USER nobody IDENTIFIED BY '"+password+"'",
		"GRANT REFERENCES ON *.* TO nobody",
		"CREATE DATABASE d", "CREATE TABLE d.a (id INT PRIMARY KEY, v INT)", "CREATE TABLE d.b (id INT PRIMARY KEY, v INT)",
		"INSERT INTO d.a VALUES (1, 0)", "INSERT INTO d.b VALUES (1, 0)")
	w := &followed{t: t, f: f, primary: c.Primary(), user: "tracker"}
	w.Tracker = tracker.New(tracker.Options{
		Connect: w.connect, Everywhere: func() (gtid.Value, bool) { return gtid.Value{}, false }, ServerID: 1<<31 + 7,
		Changed: func(s tracker.State) { t.Logf("ready %v, following %v: %s", s.Ready, s.Following, s.Err) },
	})
	ctx, cancel := context.WithCancel(t.Context())
	var run sync.WaitGroup
	run.Go(func() { w.Run(ctx) })
	t.Cleanup(func() {
		cancel()
		run.Wait()
	})
	return w
}

func (w *followed) connect(ctx context.Context) (*backend.Conn, tracker.Source, error) {
	w.mu.Lock()
	o := backend.Options{Address: w.primary.Address(), User: w.user, Password: password}
	source, g := w.source, w.gate
	w.mu.Unlock()
	if g != nil {
		o.Connect = g.connect
	}
	conn, err := backend.Dial(ctx, &o)
	return conn, source, err
}

// now returns where the primary stands.
func (w *followed) now() gtid.Value {
	w.t.Helper()
	s, err := status.AskStanding(w.t.Context(), sandboxtest.Open(w.t, w.primary), w.f)
	if err != nil {
		w.t.Fatal(err)
	}
	return s.Everything
}

func (w *followed) ready() {
	w.t.Helper()
	ctx, cancel := context.WithTimeout(w.t.Context(), 20*time.Second)
	defer cancel()
	if err := w.Ready(ctx); err != nil {
		w.t.Fatalf("it does not get ready: %v: %+v", err, w.State())
	}
}

// reached waits until all is read, and returns what is needed of it.
func (w *followed) needs(table string) (need, all gtid.Value) {
	w.t.Helper()
	all = w.now()
	if !w.Wait(nil, all, w.source, 20*time.Second) {
		w.t.Fatalf("it does not read up to %v: %+v", all, w.State())
	}
	need, why := w.Need([]tracker.Key{tracker.KeyOf("d", table)}, all, w.source)
	if why != tracker.WhyNot {
		w.t.Fatalf("what table %s needs of %v is not known: %v", table, all, why)
	}
	return need, all
}

// exec runs statements on the primary of this moment.
func (w *followed) exec(statements ...string) { sandboxtest.Exec(w.t, w.primary, statements...) }

// separate tells whether a write of one table is needed for that and not for the other.
func (w *followed) separate() {
	w.t.Helper()
	_, before := w.needs("b")
	w.exec("UPDATE d.a SET v = v + 1")
	a, all := w.needs("a")
	b, _ := w.needs("b")
	last, err := before.Missing(all)
	if err != nil {
		w.t.Fatal(err)
	}
	if last.IsEmpty() || !a.Has(last) || b.Has(last) {
		w.t.Errorf("after the write %v of a, of %v a needs %v and b %v", last, all, a, b)
	}
}

// TestFollow follows real servers through what can happen to them.
func TestFollow(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 1})
		w := follow(t, f, c)
		w.ready()
		w.separate()
		t.Run("its connection is killed", func(t *testing.T) {
			for range 5 {
				sandboxtest.KillLogReaders(t, w.primary, "tracker")
				w.exec("UPDATE d.a SET v = v + 1", "UPDATE d.b SET v = v + 1") // while it is away
				w.ready()
				w.separate()
			}
		})
		t.Run("logs", func(t *testing.T) {
			w.exec("FLUSH BINARY LOGS", "UPDATE d.a SET v = v + 1", "FLUSH BINARY LOGS")
			w.separate()
		})
		t.Run("DDL", func(t *testing.T) {
			for n := range 5 {
				w.exec(fmt.Sprintf("CREATE TABLE d.t%d (id INT)", n))
				if need, all := w.needsSoon("b"); !need.Equal(all) {
					t.Errorf("after a DDL b needs %v of %v", need, all)
				}
			}
			w.ready()
			w.separate()
		})
		t.Run("late", func(t *testing.T) { late(t, w) })
		t.Run("no privilege", func(t *testing.T) {
			w.as("nobody")
			if s := unready(t, w); s.Following || !strings.Contains(strings.ToUpper(s.Err), "REPLICATION") {
				t.Errorf("without a privilege it says %+v", s)
			}
			if _, why := w.Need(nil, w.now(), w.source); why != tracker.WhyOff {
				t.Errorf("it says %v", why)
			}
			w.as("tracker")
			w.ready()
			w.separate()
		})
		t.Run("restart", func(t *testing.T) {
			if err := w.primary.Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := w.primary.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.mu.Lock()
			w.source.Epoch++
			w.mu.Unlock()
			w.Again()
			w.exec("UPDATE d.a SET v = v + 1")
			w.ready()
			w.separate()
		})
		t.Run("another primary", func(t *testing.T) {
			if err := c.WaitReplicated(t.Context()); err != nil {
				t.Fatal(err)
			}
			promote(t, c.Replica(1))
			w.mu.Lock()
			w.primary, w.source.Server = c.Replica(1), 1
			w.mu.Unlock()
			w.Again()
			if _, why := w.Need(nil, gtid.Value{}, tracker.Source{}); why == tracker.WhyNot {
				t.Error("it speaks for the old primary")
			}
			w.exec("UPDATE d.a SET v = v + 1")
			w.ready()
			w.separate()
		})
		t.Run("a new log", func(t *testing.T) {
			reset := "RESET BINARY LOGS AND GTIDS"
			if f == flavor.MariaDB {
				reset = "RESET MASTER"
			}
			w.exec(reset)
			if f == flavor.MariaDB {
				w.exec("SET GLOBAL gtid_slave_pos = ''") // or it counts for more than what is written from now on
			}
			w.exec("UPDATE d.a SET v = v + 1")
			w.mu.Lock()
			w.source.Epoch++
			w.mu.Unlock()
			w.Again()
			w.ready()
			w.exec("UPDATE d.b SET v = v + 1")
			w.separate()
		})
	})
}

// needsSoon is needs where a DDL may just have been.
func (w *followed) needsSoon(table string) (need, all gtid.Value) {
	w.t.Helper()
	all = w.now()
	if !w.Wait(nil, all, w.source, 20*time.Second) {
		w.t.Fatalf("it does not read up to %v: %+v", all, w.State())
	}
	need, _ = w.Need([]tracker.Key{tracker.KeyOf("d", table)}, all, w.source)
	return need, all
}

// as has it log in as another user.
func (w *followed) as(user string) {
	w.mu.Lock()
	w.user = user
	w.mu.Unlock()
	w.Again()
}

// unready waits until it says why it is not ready.
func unready(t *testing.T, w *followed) tracker.State {
	t.Helper()
	for until := time.Now().Add(20 * time.Second); time.Now().Before(until); time.Sleep(5 * time.Millisecond) {
		if s := w.State(); !s.Ready && s.Err != "" {
			return s
		}
	}
	t.Fatalf("it does not say why it is not ready: %+v", w.State())
	return tracker.State{}
}

// late has the log come late: who waits for it does not get an answer, and gets the right one later.
func late(t *testing.T, w *followed) {
	g := newGate()
	w.mu.Lock()
	w.gate = g
	w.mu.Unlock()
	w.Again()
	w.ready()
	w.separate()
	g.shut()
	w.exec("UPDATE d.a SET v = v + 1")
	all := w.now()
	if _, why := w.Need(nil, all, w.source); why != tracker.WhyBehind {
		t.Errorf("of what it has not read it says %v", why)
	}
	if w.Wait(nil, all, w.source, 20*time.Millisecond) {
		t.Error("it has read what cannot have come")
	}
	if began := time.Now(); w.Wait(nil, all, w.source, time.Minute) || time.Since(began) > 30*time.Second {
		t.Error("somebody waits although somebody has waited in vain")
	}
	g.open()
	for until := time.Now().Add(20 * time.Second); !w.Wait(nil, all, w.source, time.Second); {
		if time.Now().After(until) {
			t.Fatalf("it does not read on: %+v", w.State())
		}
		time.Sleep(time.Millisecond)
	}
	w.separate()
	w.mu.Lock()
	w.gate = nil
	w.mu.Unlock()
}

// gate is a connection that can be shut for what comes.
type gate struct {
	mu     sync.Mutex
	opened chan struct{} // closed if it is open
}

func newGate() *gate {
	g := &gate{opened: make(chan struct{})}
	close(g.opened)
	return g
}

func (g *gate) shut() {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.opened = make(chan struct{})
}

func (g *gate) open() {
	g.mu.Lock()
	defer g.mu.Unlock()
	close(g.opened)
}

func (g *gate) connect(ctx context.Context, network, address string) (net.Conn, error) {
	var d net.Dialer
	c, err := d.DialContext(ctx, network, address)
	return gated{c, g}, err
}

type gated struct {
	net.Conn
	g *gate
}

func (c gated) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.g.mu.Lock()
	opened := c.g.opened
	c.g.mu.Unlock()
	<-opened
	return n, err
}

// promote makes a replica a primary.
func promote(t *testing.T, s *sandbox.Server) {
	t.Helper()
	sandboxtest.Exec(t, s, "STOP REPLICA", "RESET REPLICA ALL", "SET GLOBAL read_only = OFF")
}
