package rwdb_test

import (
	"context"
	"database/sql"
	"flag"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/rwdb"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/verify"
	"github.com/mysqlrw/mysqlrw/route"
)

var (
	verifyReads   = flag.Int64("verify.reads", 4000, "reads of TestVerify at each level")
	verifyClients = flag.Int("verify.clients", 16, "sessions of TestVerify and TestVerifyFaults")
	verifyRounds  = flag.Int("verify.rounds", 1, "how often TestVerifyFaults goes through its faults at each level")
)

// verifySite is a cluster whose account may use the checker's schema, which is there already.
func verifySite(t *testing.T, f flavor.Flavor, change func(*rwdb.Options, *sandbox.Options)) *site {
	t.Helper()
	s := newSite(t, f, change)
	sandboxtest.Exec(t, s.Primary(), "CREATE DATABASE mysqlrw_verify", "GRANT ALL ON mysqlrw_verify.* TO app@'%'")
	for _, r := range s.Replicas() {
		sandboxtest.SameAs(t, f, r, s.Primary())
	}
	return s
}

// at returns a pool of its own with reads at a level.
func (s *site) at(t *testing.T, level route.Level) (*rwdb.Connector, *sql.DB) {
	t.Helper()
	o := s.options
	policy := o.Policy
	o.Policy = func(p *route.Policy) {
		if policy != nil {
			policy(p)
		}
		p.Level = level
	}
	c, db := s.open(t, o)
	db.SetMaxIdleConns(*verifyClients)
	return c, db
}

// check has the checker's clients work until ctx ends, or the reads are done if there is a number.
func (s *site) check(ctx context.Context, t *testing.T, level route.Level, c *rwdb.Connector, db *sql.DB, reads int64) *verify.Result {
	t.Helper()
	before := c.Stats()
	var until time.Duration
	if reads == 0 {
		until = time.Hour // of the context
	}
	r, err := verify.Run(ctx, verify.Options{
		Read: db, Write: db, Clients: *verifyClients, Reads: reads, Duration: until, Timeout: 40 * time.Second, Settle: time.Minute,
	})
	if err != nil {
		t.Error(err)
		return &verify.Result{}
	}
	t.Logf("%v: %d reads, %d writes in %v; own writes %v, back %v, order %v, cross %v, inversions %d, linearizable %v; servers %v; read p50 %v p99 %v, "+
		"first after write p50 %v; errors %v; before %+v, after %+v", level, r.Reads, r.Writes, r.Elapsed.Round(time.Millisecond), r.OwnWrites, r.MonotonicReads,
		r.WriteOrder, r.CrossSession, r.Inversions, r.Linearizable, r.ByServer, r.ReadTime.P50, r.ReadTime.P99, r.FirstReadTime.P50, r.Errors, before, c.Stats())
	return r
}

// holds fails the test for every violation of a promise.
func holds(t *testing.T, r *verify.Result, level route.Level) {
	t.Helper()
	promise, _ := verify.PromiseOf(level.String())
	if !r.Tested(promise) {
		t.Errorf("nothing could be seen: %+v", r)
	}
	if !r.Keeps(promise) {
		for _, violation := range r.Violations {
			t.Errorf("%v:\n%v", violation.Kind, violation)
		}
	}
}

// TestVerify: one replica is two seconds late, another one applies nothing, the third is healthy. What is promised
// holds, and the same clients find plenty where it is not.
func TestVerify(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		s := verifySite(t, f, func(o *rwdb.Options, so *sandbox.Options) {
			so.Replicas, so.Delays = 3, []time.Duration{2 * time.Second}
			o.Policy = func(p *route.Policy) { p.MaxLag = 0 } // the late one is not left out for being late
			o.Observe = nil
		})
		for _, level := range []route.Level{route.SessionLevel, route.Global} {
			t.Run(level.String(), func(t *testing.T) {
				c, db := s.at(t, level)
				release, err := s.Replica(2).HoldApplier(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = release() }()
				holds(t, s.check(t.Context(), t, level, c, db, *verifyReads), level)
			})
		}
		t.Run("control", func(t *testing.T) {
			c, db := s.at(t, route.Eventual)
			r := s.check(t.Context(), t, route.Eventual, c, db, *verifyReads)
			for _, p := range []verify.Promise{verify.Session, verify.Global} {
				if !r.Breaks(p) {
					t.Errorf("nothing breaks the promise of %v at level eventual: the checks above prove nothing", p)
				}
			}
		})
	})
}

// TestVerifyFaults: whatever happens to the servers, no read is older than promised.
func TestVerifyFaults(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		s := verifySite(t, f, func(o *rwdb.Options, _ *sandbox.Options) {
			o.PrimaryWait, o.Observe, o.Policy = 30*time.Second, nil, nil
		})
		primary, replica, other := s.Primary(), s.Replica(1), s.Replica(2)
		for _, level := range []route.Level{route.SessionLevel, route.Global} {
			t.Run(level.String(), func(t *testing.T) {
				c, db := s.at(t, level)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				result := make(chan *verify.Result, 1)
				go func() { result <- s.check(ctx, t, level, c, db, 0) }()
				for range *verifyRounds {
					s.faults(t, c, primary, replica, other)
					primary, replica = replica, primary // it was switched over
				}
				cancel()
				holds(t, <-result, level)
			})
		}
	})
}

// faults goes through what can happen, one thing after the other, with reads in between.
func (s *site) faults(t *testing.T, c *rwdb.Connector, primary, replica, other *sandbox.Server) {
	f := s.Cluster.Flavor
	for _, fault := range []struct {
		name string
		do   func()
	}{
		{"applier stopped", func() {
			if err := replica.StopApplier(t.Context(), f, ""); err != nil {
				t.Error(err)
			}
			progress(t, c)
			if err := replica.StartApplier(t.Context(), f, ""); err != nil {
				t.Error(err)
			}
		}},
		{"replica killed", func() {
			other.Kill()
			progress(t, c)
			if err := other.Start(t.Context()); err != nil {
				t.Error(err)
			}
		}},
		{"replica built anew", func() { sandboxtest.Rebuild(t, f, other) }},
		{"switchover", func() {
			sandboxtest.SetReadOnly(t, f, primary, true)
			sandboxtest.SameAs(t, f, replica, primary)
			sandboxtest.Detach(t, f, replica)
			sandboxtest.SetReadOnly(t, f, replica, false)
			sandboxtest.Follow(t, f, primary, replica, true)
			sandboxtest.Follow(t, f, other, replica, false)
		}},
	} {
		t.Log(fault.name)
		fault.do()
		progress(t, c)
	}
	s.ready(t, c)
}

// progress waits until the clients have read some more.
func progress(t *testing.T, c *rwdb.Connector) {
	t.Helper()
	reads := func() uint64 { st := c.Stats(); return st.ReadsOnReplicas + st.ReadsOnPrimary }
	from := reads()
	sandboxtest.Await(t, "the clients read on", func() bool { return reads() >= from+500 })
}
