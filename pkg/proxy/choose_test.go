package proxy_test

import (
	"context"
	"database/sql"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/proxy"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/route"
)

// several are two proxies in front of one cluster, with the same configuration, and clients that read a counter
// through both.
type several struct {
	t       *testing.T
	f       flavor.Flavor
	cluster *sandbox.Cluster
	proxies [2]*running
	options proxy.Options
	written atomic.Int64
	seen    atomic.Int64 // the largest value that any client has been shown
	reads   atomic.Int64
	back    atomic.Int64
	first   atomic.Pointer[string] // what was wrong first
}

// newSeveral starts them. One replica is a second late, the other one is not.
func newSeveral(t *testing.T, f flavor.Flavor, interval time.Duration) *several {
	s := &several{t: t, f: f, cluster: sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 2, Delays: []time.Duration{time.Second}})}
	sandboxtest.Exec(t, s.cluster.Primary(), "CREATE USER app IDENTIFIED BY '"+appPassword+"'", "GRANT ALL ON f.* TO app", "CREATE DATABASE f",
		"CREATE TABLE f.counter (id INT PRIMARY KEY, n BIGINT)", "INSERT INTO f.counter VALUES (1, 0)",
		"CREATE TABLE f.pause (seconds INT PRIMARY KEY)", "INSERT INTO f.pause VALUES (0)")
	replicated(t, s.cluster)
	s.options = options(t, s.cluster)
	policy := &s.options.Listeners[0].Policy
	policy.Level, policy.MaxLag, policy.MaxStaleness = route.Weak, 0, 0 // the late one is not left out for being late
	policy.SessionTimeout = time.Minute
	policy.Balancer = route.WeightedRoundRobin // without the switch they read both replicas
	s.options.CheckTimeout, s.options.PrimaryWait = 300*time.Millisecond, 30*time.Second
	s.options.VersionInterval = interval
	for i := range s.proxies {
		s.proxies[i] = start(t, s.cluster, s.options)
	}
	return s
}

// work has one client write, and several read, each through both proxies in turn, until stop is called.
func (s *several) work(readers int) (stop func()) {
	ctx, cancel := context.WithCancel(s.t.Context())
	var all sync.WaitGroup
	writer := conn(s.t, s.proxies[0].open(asApp))
	all.Go(func() {
		for tick := time.NewTicker(2 * time.Millisecond); ctx.Err() == nil; <-tick.C { // which replicas keep up with
			if _, err := writer.ExecContext(ctx, "UPDATE f.counter SET n = n + 1 WHERE id = 1"); err != nil && ctx.Err() == nil {
				s.t.Errorf("write: %v", err)
				return
			}
			s.written.Add(1)
		}
	})
	for range readers {
		var conns []*sql.Conn
		for _, r := range s.proxies {
			conns = append(conns, conn(s.t, r.open(func(c *mysql.Config) {
				asApp(c)
				c.InterpolateParams = true
			})))
		}
		all.Go(func() {
			for i := 0; ctx.Err() == nil; i++ {
				if err := s.read(ctx, conns[i%len(conns)]); err != nil && ctx.Err() == nil {
					s.t.Errorf("read: %v", err)
					return
				}
			}
		})
	}
	return func() {
		cancel()
		all.Wait()
		if first := s.first.Load(); first != nil {
			s.t.Log(*first)
		}
	}
}

// read reads the counter, which must not be less than anybody has been shown before.
func (s *several) read(ctx context.Context, c *sql.Conn) error {
	before := s.seen.Load()
	var n int64
	if err := c.QueryRowContext(ctx, "SELECT n FROM f.counter WHERE id = ?", 1).Scan(&n); err != nil {
		return err
	}
	s.reads.Add(1)
	if n < before {
		s.back.Add(1)
		text := fmt.Sprintf("shown %d after somebody had been shown %d", n, before)
		s.first.CompareAndSwap(nil, &text)
	}
	for n > before && !s.seen.CompareAndSwap(before, n) {
		before = s.seen.Load()
	}
	return nil
}

// more waits until the clients have read some more.
func (s *several) more(n int64) {
	s.t.Helper()
	from := s.reads.Load()
	sandboxtest.Await(s.t, "the clients read on", func() bool { return s.reads.Load() >= from+n })
}

// settled waits until both proxies read one server without checking, and returns its name. If not is not empty it is
// another one.
func (s *several) settled(not string) string {
	s.t.Helper()
	var name string
	sandboxtest.Await(s.t, "both proxies have chosen", func() bool {
		for i, r := range s.proxies {
			v, ok := r.proxy.Version()
			if !ok || v.Checked || v.Chosen == "" || v.Chosen == not || i > 0 && v.Chosen != name {
				return false
			}
			name = v.Chosen
		}
		return true
	})
	return name
}

func (s *several) server(name string) *sandbox.Server {
	for _, one := range s.cluster.Servers {
		if one.Name == name {
			return one
		}
	}
	s.t.Fatalf("no server %s", name)
	return nil
}

// TestSeveral: reads at weak through two proxies never go back, whatever becomes of the server that they run on.
// Without the switch they do.
func TestSeveral(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		t.Run("on", func(t *testing.T) {
			s := newSeveral(t, f, 50*time.Millisecond)
			chosen := s.settled("")
			stop := s.work(4)
			s.more(1000)
			for _, fault := range []struct {
				name     string
				do, undo func(*sandbox.Server)
			}{
				{"killed", (*sandbox.Server).Kill, s.startAgain},
				{"applier stopped", s.stopApplier, s.startApplier},
				{"started anew at once", func(one *sandbox.Server) { one.Kill(); s.startAgain(one) }, nil},
			} {
				t.Log(fault.name, chosen)
				before := s.changes()
				fault.do(s.server(chosen))
				sandboxtest.Await(t, "both proxies choose anew", func() bool { return s.changes() >= before+2 })
				s.more(200)
				if fault.undo != nil {
					other := s.settled(chosen)
					s.more(200)
					fault.undo(s.server(chosen))
					if again := s.settled(other); again != chosen {
						t.Errorf("after %s and %s: %s", chosen, other, again)
					}
				}
				s.settled("")
				s.more(200)
			}
			s.reloaded()
			s.switchover(s.server(s.settled("")))
			stop()
			t.Logf("%d reads, %d writes, %d changes", s.reads.Load(), s.written.Load(), s.changes())
			if s.back.Load() > 0 {
				t.Errorf("%d of %d reads went back", s.back.Load(), s.reads.Load())
			}
		})
		t.Run("off", func(t *testing.T) {
			s := newSeveral(t, f, 0)
			for range 10 { // a session stays where it read first, which may be the same replica for all
				stop := s.work(4)
				s.more(500)
				if stop(); s.back.Load() > 0 {
					break
				}
			}
			t.Logf("%d of %d reads went back", s.back.Load(), s.reads.Load())
			if s.back.Load() == 0 {
				t.Error("without the switch no read goes back either: the check proves nothing")
			}
		})
	})
}

// TestMisled: a read that runs while the choice changes shows nothing of the server that it began on, whether all of
// its answer is there when that is known or a part.
func TestMisled(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		s := newSeveral(t, f, 50*time.Millisecond)
		r, chosen := s.proxies[0], s.settled("")
		s.pause(s.server(chosen), 5)
		for _, query := range []string{
			"SELECT n, SLEEP(seconds) FROM f.counter, f.pause",
			"SELECT n, SLEEP(seconds), REPEAT('x', 200000) FROM f.counter, f.pause",
		} {
			c := conn(t, r.open(asApp))
			value(t, c, "SELECT n FROM f.counter")
			want(t, "before", ranOn(t, c), chosen)
			before := counters(t, c)["weak-reads-repeated"]
			done := make(chan error, 1)
			go func() {
				rows, err := c.QueryContext(t.Context(), query)
				if err == nil {
					for rows.Next() {
					}
					err = rows.Err()
					_ = rows.Close()
				}
				done <- err
			}()
			sandboxtest.Await(t, "it runs on "+chosen, func() bool {
				return value(t, sandboxtest.Open(t, s.server(chosen)), "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE 'SELECT n, %'") == "1"
			})
			s.stopApplier(s.server(chosen))
			if err := <-done; err != nil {
				t.Errorf("%s: %v", query, err)
			}
			if on := ranOn(t, c); on == chosen || on == "" {
				t.Errorf("%s ran on %q, which is not read any more", query, on)
			}
			if n := counters(t, c)["weak-reads-repeated"]; n != before+1 {
				t.Errorf("%d reads were repeated, want one", n-before)
			}
			other := s.settled(chosen)
			s.startApplier(s.server(chosen))
			want(t, "afterwards", s.settled(other), chosen)
		}
	})
}

// pause has reads of f.pause take longer on one replica.
func (s *several) pause(on *sandbox.Server, seconds int) {
	sandboxtest.SetReadOnly(s.t, s.f, on, false)
	sandboxtest.Exec(s.t, on, "SET sql_log_bin = 0", fmt.Sprintf("UPDATE f.pause SET seconds = %d", seconds))
	sandboxtest.SetReadOnly(s.t, s.f, on, true)
}

// reloaded has the proxies go over to a new list of servers. The choice stays.
func (s *several) reloaded() {
	chosen := s.settled("")
	for _, r := range s.proxies {
		if err := r.proxy.Reload(s.options); err != nil {
			s.t.Fatal(err)
		}
		if v, _ := r.proxy.Version(); v.Chosen != chosen || v.Checked || v.Position.IsEmpty() {
			s.t.Errorf("after a reload: %+v, want %s", v, chosen)
		}
	}
	s.more(200)
}

// switchover makes the chosen replica the primary.
func (s *several) switchover(to *sandbox.Server) {
	primary := s.cluster.Primary()
	s.t.Log("switchover", to.Name)
	sandboxtest.SetReadOnly(s.t, s.f, primary, true)
	sandboxtest.SameAs(s.t, s.f, to, primary)
	sandboxtest.Detach(s.t, s.f, to)
	sandboxtest.SetReadOnly(s.t, s.f, to, false)
	sandboxtest.Follow(s.t, s.f, primary, to, true)
	for _, other := range s.cluster.Replicas() {
		if other != to {
			sandboxtest.Follow(s.t, s.f, other, to, false)
		}
	}
	written := s.written.Load()
	if s.settled(to.Name) == "" {
		s.t.Error("nothing is chosen")
	}
	s.more(200)
	sandboxtest.Await(s.t, "writes go on", func() bool { return s.written.Load() > written+100 })
	for _, r := range s.proxies {
		r.role(to.Name, route.Primary, route.Online)
	}
}

// changes returns how often the proxies have chosen.
func (s *several) changes() (n uint64) {
	for _, r := range s.proxies {
		v, _ := r.proxy.Version()
		n += v.Changes
	}
	return n
}

func (s *several) startAgain(one *sandbox.Server) {
	if err := one.Start(s.t.Context()); err != nil {
		s.t.Error(err)
	}
}

func (s *several) stopApplier(one *sandbox.Server) {
	if err := one.StopApplier(s.t.Context(), s.f, ""); err != nil {
		s.t.Error(err)
	}
}

func (s *several) startApplier(one *sandbox.Server) {
	if err := one.StartApplier(s.t.Context(), s.f, ""); err != nil {
		s.t.Error(err)
	}
}
