// Package shoptest answers: does a shop do the right thing on a cluster, and
// did its statements run where they should?
package shoptest

import (
	"context"
	"maps"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/rwdb"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/route"
)

// Held is the replica that applies nothing between Hold and its release.
const Held = "replica2"

// Site is a primary and two replicas, with an account that has the schema shop
// to itself.
type Site struct {
	*sandbox.Cluster
	// Options are for the program. They name the servers, and note its statements in the site.
	Options rwdb.Options

	mu   sync.Mutex
	seen []rwdb.Observation
}

// New starts a site. It is taken down when the test ends.
func New(t *testing.T, f flavor.Flavor, schema ...string) *Site {
	t.Helper()
	s := &Site{Cluster: sandboxtest.Cluster(t, sandbox.Options{Flavor: f})}
	primary := s.Primary()
	sandboxtest.Exec(t, primary, "CREATE SCHEMA shop", "CREATE USER app@'%' IDENTIFIED BY 'app-secret'",
		"GRANT ALL ON shop.* TO app@'%'")
	sandboxtest.Exec(t, primary, append([]string{"USE shop"}, schema...)...)
	s.Replicated(t)
	s.Options = rwdb.Options{
		MonitorInterval: 200 * time.Millisecond, MonitorUser: primary.User, MonitorPassword: primary.Password,
		Policy:  policy,
		Observe: s.observe,
	}
	for _, server := range s.Servers {
		c := server.Config()
		c.User, c.Passwd, c.DBName, c.ParseTime, c.Logger = "app", "app-secret", "shop", true, &mysql.NopLogger{}
		s.Options.Servers = append(s.Options.Servers, rwdb.Server{Name: server.Name, Config: c})
	}
	return s
}

// policy has reads go to the replicas by turns, so that every second one is stale that asks for nothing, and wait for
// one that is late: a machine that is busy with other tests is no reason to read on the primary.
func policy(p *route.Policy) {
	p.Balancer, p.MaxLag = route.WeightedRoundRobin, 0
	p.SessionTimeout, p.GlobalTimeout = 2*time.Second, 2*time.Second
}

// Replicated waits until all replicas have all that the primary has.
func (s *Site) Replicated(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.WaitReplicated(ctx); err != nil {
		t.Fatal(err)
	}
}

// Known waits until the program has found out that both replicas can be read,
// which its read is called to show.
func (s *Site) Known(t *testing.T, read func()) {
	t.Helper()
	reads := map[string]int{}
	sandboxtest.Await(t, "both replicas are read", func() bool {
		read()
		maps.Copy(reads, s.Reads(t))
		return reads["replica1"] > 0 && reads[Held] > 0
	})
}

// Hold keeps the second replica from applying anything, until the test ends or
// release is called.
func (s *Site) Hold(t *testing.T) (release func()) {
	t.Helper()
	once, err := s.Server(Held).HoldApplier(context.WithoutCancel(t.Context()))
	if err != nil {
		t.Fatal(err)
	}
	release = func() {
		if err := once(); err != nil {
			t.Error(err)
		}
	}
	t.Cleanup(release)
	return release
}

func (s *Site) observe(_ context.Context, o rwdb.Observation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.Reasons = append([]route.Reason(nil), o.Reasons...)
	s.seen = append(s.seen, o)
}

// Seen returns where the statements ran since it was called last.
func (s *Site) Seen() []rwdb.Observation {
	s.mu.Lock()
	defer s.mu.Unlock()
	seen := s.seen
	s.seen = nil
	return seen
}

// Reads returns how many reads ran on each server since Seen was called last.
// It ends the test if anything ran on a replica that is no read or the end of a
// read-only transaction.
func (s *Site) Reads(t *testing.T) map[string]int {
	t.Helper()
	reads := map[string]int{}
	for _, o := range s.Seen() {
		switch o.Class {
		case route.Read:
			reads[o.Server]++
		case route.Begin, route.Commit, route.Rollback:
		default:
			if o.Server != s.Primary().Name {
				t.Fatalf("this is no read: %+v", o)
			}
		}
	}
	return reads
}
