package proxy_test

import (
	"context"
	"flag"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/proxy"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/verify"
	"github.com/mysqlrw/mysqlrw/route"
)

var (
	verifyReads   = flag.Int64("verify.reads", 4000, "reads of TestVerify at each level")
	verifyClients = flag.Int("verify.clients", 16, "sessions of TestVerify")
	verifyRounds  = flag.Int("verify.rounds", 1, "how often TestVerifyFaults goes through its faults at each level")
)

// checker is an account that a read-only server refuses.
const checker = "checker"

// verified is a proxy whose promises are checked.
type verified struct {
	*running
	f flavor.Flavor
	o proxy.Options
}

func newVerified(t *testing.T, f flavor.Flavor, c *sandbox.Cluster) *verified {
	sandboxtest.Exec(t, c.Primary(), "CREATE USER "+checker+"@'%' IDENTIFIED BY 'Checker1.'",
		"GRANT ALL ON mysqlrw_verify.* TO "+checker+"@'%'", "CREATE DATABASE mysqlrw_verify")
	for _, s := range c.Replicas() {
		sandboxtest.SameAs(t, f, s, c.Primary())
	}
	o := options(t, c)
	o.PrimaryWait = 30 * time.Second
	o.Listeners[0].Policy.Level = route.SessionLevel
	return &verified{running: start(t, c, o), f: f, o: o}
}

// run has clients work at a level until ctx ends, or the reads are done if there is a number.
func (v *verified) run(ctx context.Context, level string, reads int64) *verify.Result {
	v.t.Helper()
	db := v.open(func(c *mysql.Config) { c.User, c.Passwd = checker, "Checker1." })
	db.SetMaxIdleConns(*verifyClients)
	before := v.counted()
	var until time.Duration
	if reads == 0 {
		until = time.Hour // of the context
	}
	r, err := verify.Run(ctx, verify.Options{
		Read: db, Write: db, Clients: *verifyClients, Reads: reads, Duration: until, Timeout: 40 * time.Second, Settle: time.Minute,
		Statements: []string{verify.Setting("consistency", level)},
	})
	if err != nil {
		v.t.Error(err)
		return &verify.Result{}
	}
	after := v.since(before)
	v.t.Logf("%s: %d reads, %d writes in %v; own writes %v, back %v, order %v, cross %v, inversions %d, linearizable %v; servers %v; read p50 %v p99 %v, "+
		"first after write p50 %v; errors %v; %v", level, r.Reads, r.Writes, r.Elapsed.Round(time.Millisecond), r.OwnWrites, r.MonotonicReads, r.WriteOrder,
		r.CrossSession, r.Inversions, r.Linearizable, r.ByServer, r.ReadTime.P50, r.ReadTime.P99, r.FirstReadTime.P50, r.Errors, after)
	return r
}

// counted are the proxy's counters.
func (r *running) counted() map[string]uint64 {
	all := map[string]uint64{}
	for _, c := range r.proxy.Counters() {
		all[c.Name] = c.Value
	}
	return all
}

// since is how much they have grown, where they have: some can fall.
func (r *running) since(before map[string]uint64) map[string]uint64 {
	after := r.counted()
	for name := range after {
		if after[name] <= before[name] {
			delete(after, name)
			continue
		}
		after[name] -= before[name]
	}
	return after
}

// holds fails the test for every violation of a promise.
func (v *verified) holds(r *verify.Result, level string) {
	v.t.Helper()
	promise, _ := verify.PromiseOf(level)
	if !r.Tested(promise) {
		v.t.Errorf("nothing could be seen: %+v", r)
	}
	if !r.Keeps(promise) {
		for _, violation := range r.Violations {
			v.t.Errorf("%v:\n%v", violation.Kind, violation)
		}
	}
}

// TestVerify: one replica is two seconds late, another one applies nothing, the third is healthy. What is
// promised holds, and the same clients find plenty where it is not.
func TestVerify(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 3, Delays: []time.Duration{2 * time.Second}})
		v := newVerified(t, f, c)
		v.o.Listeners[0].Policy.MaxLag = 0 // the late one is not left out for being late
		if err := v.proxy.Reload(v.o); err != nil {
			t.Fatal(err)
		}
		for _, level := range []string{"session", "global"} {
			t.Run(level, func(t *testing.T) {
				one := *v
				one.running = v.as(t)
				release, err := c.Replica(2).HoldApplier(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer func() { _ = release() }()
				one.holds(one.run(t.Context(), level, *verifyReads), level)
			})
		}
		t.Run("control", func(t *testing.T) {
			one := *v
			one.running = v.as(t)
			r := one.run(t.Context(), "eventual", *verifyReads)
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
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 2})
		v := newVerified(t, f, c)
		primary, replica, other := c.Primary(), c.Replica(1), c.Replica(2)
		for _, level := range []string{"session", "global"} {
			t.Run(level, func(t *testing.T) {
				one := *v
				one.running = v.as(t)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				result := make(chan *verify.Result, 1)
				go func() { result <- one.run(ctx, level, 0) }()
				for range *verifyRounds {
					one.faults(primary, replica, other)
					primary, replica = replica, primary // it was switched over
				}
				cancel()
				one.holds(<-result, level)
			})
		}
	})
}

// faults goes through what can happen, one thing after the other, with reads in between.
func (v *verified) faults(primary, replica, other *sandbox.Server) {
	t := v.t
	for _, fault := range []struct {
		name string
		do   func()
	}{
		{"applier stopped", func() {
			if err := replica.StopApplier(t.Context(), v.f, ""); err != nil {
				t.Error(err)
			}
			v.progress()
			if err := replica.StartApplier(t.Context(), v.f, ""); err != nil {
				t.Error(err)
			}
		}},
		{"replica killed", func() {
			other.Kill()
			v.progress()
			if err := other.Start(t.Context()); err != nil {
				t.Error(err)
			}
		}},
		{"replica built anew", func() { sandboxtest.Rebuild(t, v.f, other) }},
		{"proxy reloaded", func() {
			if err := v.proxy.Reload(v.o); err != nil {
				t.Error(err)
			}
		}},
		{"switchover", func() {
			sandboxtest.SetReadOnly(t, v.f, primary, true)
			sandboxtest.SameAs(t, v.f, replica, primary)
			sandboxtest.Detach(t, v.f, replica)
			sandboxtest.SetReadOnly(t, v.f, replica, false)
			sandboxtest.Follow(t, v.f, primary, replica, true)
			sandboxtest.Follow(t, v.f, other, replica, false)
		}},
	} {
		t.Log(fault.name)
		fault.do()
		v.progress()
	}
	for _, s := range []*sandbox.Server{primary, other} {
		v.role(s.Name, route.Replica, route.Online)
	}
}

// progress waits until the clients have read some more.
func (v *verified) progress() {
	v.t.Helper()
	reads := func() (n uint64) {
		for _, c := range v.proxy.Counters() {
			if len(c.Name) > 6 && c.Name[:6] == "reads-" {
				n += c.Value
			}
		}
		return n
	}
	from := reads()
	sandboxtest.Await(v.t, "the clients read on", func() bool { return reads() >= from+500 })
}
