package lag_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/lag"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/status"
)

// slack is by how much a lag may be too small: seconds are cut off, and a
// receiver that brings what is younger than a second counts as up to date.
const slack = 1200 * time.Millisecond

// truth knows when each transaction of the primary was committed, and so how
// far behind a replica is whatever the server says.
type truth struct {
	f                flavor.Flavor
	cluster          *sandbox.Cluster
	primary, replica *sql.DB
	commits          []time.Time
	positions        []gtid.Value // of the primary after each of them
}

// write commits transactions on the primary.
func (w *truth) write(t *testing.T, n int) {
	t.Helper()
	conn, err := w.primary.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for range n {
		if _, err := conn.ExecContext(t.Context(), "INSERT INTO d.t (v) VALUES (1)"); err != nil {
			t.Fatal(err)
		}
		w.commits = append(w.commits, time.Now())
		p, err := status.Sendable(t.Context(), conn, w.f)
		if err != nil {
			t.Fatal(err)
		}
		w.positions = append(w.positions, p)
	}
}

// backlog commits transactions that are old enough to be told from none.
func (w *truth) backlog(t *testing.T) {
	t.Helper()
	w.write(t, 400)
	first := w.commits[len(w.commits)-400]
	for time.Since(first) < slack+500*time.Millisecond {
		time.Sleep(20 * time.Millisecond)
	}
}

// behind returns how far behind the replica was at a moment before, at least,
// and whether it lacks anything.
func (w *truth) behind(t *testing.T, ctx context.Context, q status.Querier, at time.Time) (time.Duration, bool) {
	t.Helper()
	executed, err := status.Executed(ctx, q, w.f)
	if err != nil {
		t.Fatal(err)
	}
	for i := range w.commits {
		if all, err := executed.Contains(w.positions[i]); err != nil {
			t.Fatal(err)
		} else if !all {
			return at.Sub(w.commits[i]), true
		}
	}
	return 0, false
}

// watch measures as fast as it can while an event happens, until the replica
// has caught up. No lag that is said to be known is much less than the truth.
func (w *truth) watch(t *testing.T, event func()) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	conn, err := w.replica.Conn(ctx)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	happened := make(chan struct{})
	go func() { defer close(happened); event() }()
	defer func() { <-happened }()
	known, unknown := 0, 0
	for {
		at := time.Now()
		samples, err := lag.Measure(ctx, conn, lag.Options{})
		if err != nil {
			t.Fatal(err)
		}
		s := samples[len(samples)-1]
		behind, lacks := w.behind(t, ctx, conn, at)
		d, ok := s.Lag.Duration()
		switch {
		case ok && d+slack < behind:
			t.Fatalf("says %s (%+v), and is %s behind", d, s, behind)
		case ok:
			known++
		default:
			unknown++
		}
		if ok && !lacks {
			t.Logf("%d samples with a lag, %d without", known, unknown)
			return
		}
	}
}

// TestMeasure_truth: while a replica with a backlog starts, it never seems to
// have none. Seconds_Behind_Source says 0 then, among others.
func TestMeasure_truth(t *testing.T) {
	t.Parallel()
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		t.Parallel()
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 1})
		w := &truth{f: f, cluster: c, primary: sandboxtest.Open(t, c.Primary()), replica: sandboxtest.Open(t, c.Replica(1))}
		exec(t, w.primary, "CREATE DATABASE d", "CREATE TABLE d.t (id INT AUTO_INCREMENT PRIMARY KEY, v INT)")
		until(t, w.replica, lag.Options{}, "a replica in sync", isZero)
		stop, start := flavor.StopReplica(f, ""), flavor.StartReplica(f, "")
		reset := "RESET REPLICA"
		if f == flavor.MariaDB {
			reset = "RESET SLAVE"
		}
		later := func(statements ...string) func() {
			return func() {
				time.Sleep(20 * time.Millisecond) // a few samples before
				for _, s := range statements {
					if _, err := w.replica.ExecContext(t.Context(), s); err != nil {
						t.Errorf("%s: %v", s, err)
					}
				}
			}
		}
		t.Run("both start", func(t *testing.T) {
			exec(t, w.replica, stop)
			w.backlog(t)
			w.watch(t, later(start))
		})
		t.Run("applier starts", func(t *testing.T) {
			exec(t, w.replica, flavor.StopThread(f, flavor.Applier, ""))
			w.backlog(t)
			w.watch(t, later(flavor.StartThread(f, flavor.Applier, "")))
		})
		t.Run("relay log is thrown away", func(t *testing.T) {
			exec(t, w.replica, flavor.StopThread(f, flavor.Applier, ""))
			w.backlog(t)
			w.watch(t, later(stop, reset, start))
		})
		t.Run("server restarts", func(t *testing.T) { // MDEV-17516
			exec(t, w.replica, flavor.StopThread(f, flavor.Applier, ""))
			w.backlog(t)
			if err := c.Replica(1).Stop(t.Context()); err != nil {
				t.Fatal(err)
			}
			if err := c.Replica(1).Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			w.watch(t, func() {})
		})
	})
}
