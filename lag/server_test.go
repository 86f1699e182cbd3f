package lag_test

import (
	"context"
	"database/sql"
	"errors"
	"sync"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/lag"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/status"
	"github.com/mysqlrw/mysqlrw/waitpos"
)

// patience bounds every wait for an event; only a failing test waits that long.
const patience = 30 * time.Second

func exec(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(t.Context(), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// options measure replica by method, with source at hand.
func options(replica, source *sql.DB, m lag.Method) lag.Options {
	return lag.Options{
		Method: m, Budget: 10 * time.Second,
		Source: func(context.Context, *status.Channel) (status.Querier, error) { return source, nil },
		Wait: func(ctx context.Context, t waitpos.Target, o waitpos.Options) (waitpos.Result, error) {
			return waitpos.Wait(ctx, replica, t, o)
		},
	}
}

func sample(t *testing.T, db *sql.DB, o lag.Options) lag.Sample {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), patience)
	defer cancel()
	samples, err := lag.Measure(ctx, db, o)
	if err != nil {
		t.Fatal(err)
	}
	return samples[len(samples)-1]
}

// until measures until ok says so, and fails the test if it never does.
func until(t *testing.T, db *sql.DB, o lag.Options, what string, ok func(lag.Sample) bool) lag.Sample {
	t.Helper()
	deadline := time.Now().Add(patience)
	for {
		s := sample(t, db, o)
		if ok(s) {
			return s
		}
		if time.Now().After(deadline) {
			t.Fatalf("waiting for %s: the last sample is %+v", what, s)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func isZero(s lag.Sample) bool { return s.Lag == lag.Known(0) }

func reasonIs(r lag.Reason) func(lag.Sample) bool {
	return func(s lag.Sample) bool { return s.Lag.Reason() == r }
}

// block makes the applier wait for a table lock until release.
func block(t *testing.T, replica *sql.DB) (release func()) {
	t.Helper()
	conn, err := replica.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(t.Context(), "LOCK TABLES d.t READ"); err != nil {
		t.Fatal(err)
	}
	release = sync.OnceFunc(func() {
		_, err := conn.ExecContext(context.Background(), "UNLOCK TABLES")
		if err := errors.Join(err, conn.Close()); err != nil {
			t.Error(err)
		}
	})
	t.Cleanup(release) // else a failed test would leave an applier that cannot be stopped
	return release
}

func TestMeasure(t *testing.T) {
	t.Parallel()
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		t.Parallel()
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 1})
		primary, replica := sandboxtest.Open(t, c.Primary()), sandboxtest.Open(t, c.Replica(1))
		exec(t, primary, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)", "INSERT INTO d.t VALUES (1, 0)")
		auto := lag.Options{}
		until(t, replica, options(replica, primary, lag.Auto), "a replica in sync", isZero)

		t.Run("every method agrees on a replica in sync", func(t *testing.T) {
			for _, m := range []lag.Method{lag.Auto, lag.Seconds, lag.GTID, lag.Position, lag.Timestamps} {
				if m == lag.Timestamps && f == flavor.MariaDB {
					if s := sample(t, replica, options(replica, primary, m)); s.Lag.Reason() != lag.MethodUnavailable {
						t.Errorf("%s: got %+v, want method-unavailable", m, s)
					}
					continue
				}
				// A parallel applier moves its position at checkpoints only.
				s := until(t, replica, options(replica, primary, m), "0 by "+m.String(), isZero)
				if s.Method == lag.Auto || s.Receiver != status.Running || s.Applier != status.Running {
					t.Errorf("%s: got %+v, want 0 and both threads running", m, s)
				}
			}
		})
		t.Run("a primary has no lag, and not a lag of 0", func(t *testing.T) {
			for _, m := range []lag.Method{lag.Auto, lag.Seconds, lag.GTID} {
				if s := sample(t, primary, options(primary, primary, m)); s.Lag.Reason() != lag.NotAReplica {
					t.Errorf("%s: got %+v, want not-a-replica", m, s)
				}
			}
		})
		t.Run("grows while the applier is held up", func(t *testing.T) { testGrows(t, f, primary, replica) })
		t.Run("applier stopped", func(t *testing.T) {
			exec(t, replica, flavor.StopThread(f, flavor.Applier, ""))
			exec(t, primary, "UPDATE d.t SET v = v + 1")
			for _, m := range []lag.Method{lag.Auto, lag.Seconds, lag.GTID} {
				if s := sample(t, replica, options(replica, primary, m)); s.Lag.Reason() != lag.ApplierStopped {
					t.Errorf("%s: got %+v, want applier-stopped", m, s)
				}
			}
			exec(t, replica, flavor.StartThread(f, flavor.Applier, ""))
			until(t, replica, auto, "catching up", isZero)
		})
		t.Run("receiver stopped", func(t *testing.T) {
			exec(t, replica, flavor.StopThread(f, flavor.Receiver, ""))
			if s := sample(t, replica, auto); s.Lag.Reason() != lag.ReceiverStopped {
				t.Errorf("got %+v, want receiver-stopped", s)
			}
			exec(t, replica, flavor.StartThread(f, flavor.Receiver, ""))
			until(t, replica, auto, "the receiver", isZero)
		})
		t.Run("heartbeat", func(t *testing.T) { testHeartbeat(t, primary, replica) })
		t.Run("source stands still", func(t *testing.T) {
			if f == flavor.MariaDB {
				t.Skip("MariaDB keeps no time of the last heartbeat: only --source or a heartbeat table shows this")
			}
			if err := c.Primary().Pause(); err != nil {
				t.Fatal(err)
			}
			s := until(t, replica, auto, "the silence to be noticed", reasonIs(lag.ReceiverSilent))
			if s.Receiver != status.Running || s.Applier != status.Running {
				t.Errorf("got %+v, want both threads running: that is the trap", s)
			}
			if err := c.Primary().Resume(); err != nil {
				t.Fatal(err)
			}
			until(t, replica, auto, "a sign of life", isZero)
		})
		t.Run("source killed", func(t *testing.T) {
			c.Primary().Kill()
			until(t, replica, auto, "the loss to be noticed", reasonIs(lag.ReceiverConnecting))
			if err := c.Primary().Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			until(t, replica, auto, "the receiver to come back", isZero)
		})
	})
}

// testGrows holds the applier up: the lag grows in steps of less than a
// second, by every method that can see such steps, and ends at 0.
func testGrows(t *testing.T, f flavor.Flavor, primary, replica *sql.DB) {
	release := block(t, replica)
	exec(t, primary, "UPDATE d.t SET v = v + 1")
	short := options(replica, primary, lag.GTID)
	short.Budget = 200 * time.Millisecond
	s := sample(t, replica, short)
	if s.Lag.Reason() != lag.BehindSource || s.Lag.AtLeast() < short.Budget || s.Behind == nil || *s.Behind != 1 {
		t.Errorf("gtid: got %+v, want behind-source, more than %s, 1 transaction", s, short.Budget)
	}
	short.Method = lag.Position
	if s := sample(t, replica, short); s.Lag.Reason() != lag.BehindSource || s.Lag.AtLeast() < short.Budget {
		t.Errorf("position: got %+v, want behind-source, more than %s", s, short.Budget)
	}
	// What was only received must not look applied to a method without a source.
	if s := sample(t, replica, lag.Options{Method: lag.Seconds}); isZero(s) {
		t.Errorf("seconds: got %+v for a replica that is held up", s)
	}
	if f == flavor.MySQL {
		last := time.Duration(0)
		for range 5 {
			s := until(t, replica, lag.Options{}, "a longer lag", func(s lag.Sample) bool {
				d, known := s.Lag.Duration()
				return known && d > last
			})
			d, _ := s.Lag.Duration()
			if last > 0 && d-last > time.Second {
				t.Logf("a step of %s: a busy machine, or whole seconds", d-last)
			}
			if d%time.Second == 0 {
				t.Errorf("got %s: whole seconds", d)
			}
			if s.Behind == nil || *s.Behind != 1 {
				t.Errorf("got %+v, want 1 transaction behind", s)
			}
			last = d
		}
	}
	// Released while it is waited for, the lag is what the wait has taken.
	o := options(replica, primary, lag.GTID)
	wait := o.Wait
	o.Wait = func(ctx context.Context, target waitpos.Target, w waitpos.Options) (waitpos.Result, error) {
		progress := w.Progress
		w.Progress = func(p waitpos.Progress) {
			progress(p)
			release()
		}
		return wait(ctx, target, w)
	}
	s = sample(t, replica, o)
	if d, known := s.Lag.Duration(); !known || d == 0 {
		t.Errorf("gtid: got %+v, want the time until it was applied", s)
	}
	until(t, replica, options(replica, primary, lag.Auto), "catching up", isZero)
}

func testHeartbeat(t *testing.T, primary, replica *sql.DB) {
	table := lag.HeartbeatTable{Name: "beat.heartbeat", UTC: true}
	o := lag.Options{HeartbeatTable: table}
	if s := sample(t, replica, o); s.Lag.Reason() != lag.NoHeartbeat || s.Method != lag.Heartbeat {
		t.Errorf("without a table: got %+v, want no-heartbeat", s)
	}
	if err := lag.CreateHeartbeatTable(t.Context(), primary, table.Name); err != nil {
		t.Fatal(err)
	}
	if err := lag.Beat(t.Context(), primary, table); err != nil {
		t.Fatal(err)
	}
	s := until(t, replica, o, "the first beat", func(s lag.Sample) bool { _, known := s.Lag.Duration(); return known })
	if d, _ := s.Lag.Duration(); d > patience {
		t.Errorf("got %+v, want the age of a beat that was just written", s)
	}
	if err := lag.Beat(t.Context(), replica, table); !errors.Is(err, lag.ErrReadOnly) {
		t.Errorf("a beat on a replica: got %v, want ErrReadOnly", err)
	}
	exec(t, primary, "UPDATE beat.heartbeat SET ts = DATE_FORMAT(UTC_TIMESTAMP(6) - INTERVAL 1 HOUR, '%Y-%m-%dT%H:%i:%s.%f')")
	until(t, replica, o, "an old beat", func(s lag.Sample) bool { d, _ := s.Lag.Duration(); return d > 59*time.Minute })
	stale := options(replica, primary, lag.Auto)
	stale.HeartbeatTable = table
	if s := sample(t, replica, stale); s.Lag.Reason() != lag.HeartbeatStale {
		t.Errorf("an old beat on the source too: got %+v, want heartbeat-stale", s)
	}
	exec(t, primary, "UPDATE beat.heartbeat SET ts = DATE_FORMAT(UTC_TIMESTAMP(6) + INTERVAL 1 HOUR, '%Y-%m-%dT%H:%i:%s.%f')")
	until(t, replica, o, "a beat of the future", reasonIs(lag.HeartbeatInFuture))
	exec(t, primary, "UPDATE beat.heartbeat SET server_id = 4711")
	until(t, replica, o, "a beat of another server", reasonIs(lag.NoHeartbeat))
}

// TestMeasure_delay: a delay is not lag.
func TestMeasure_delay(t *testing.T) {
	t.Parallel()
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		t.Parallel()
		const delay = 2 * time.Second
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 1, Delays: []time.Duration{delay}})
		primary, replica := sandboxtest.Open(t, c.Primary()), sandboxtest.Open(t, c.Replica(1))
		exec(t, primary, "CREATE DATABASE d")
		// Between the receiver and the applier's first look at it a transaction is backlog, on MariaDB.
		held := func(s lag.Sample) bool {
			_, known := s.Lag.Duration()
			return known && s.Behind != nil && *s.Behind == 1
		}
		s := until(t, replica, lag.Options{}, "the transaction to be held back", held)
		if d, _ := s.Lag.Duration(); d > delay || s.Delay != delay {
			t.Errorf("got %+v, want no lag to speak of and a delay of %s", s, delay)
		}
		until(t, replica, lag.Options{}, "the delay to pass", func(s lag.Sample) bool { return isZero(s) && *s.Behind == 0 })
	})
}

// TestMeasure_channels: two sources, one of them held up.
func TestMeasure_channels(t *testing.T) {
	t.Parallel()
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		t.Parallel()
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Sources: 2, Replicas: 1})
		replica := sandboxtest.Open(t, c.Replica(1))
		exec(t, sandboxtest.Open(t, c.Primaries()[0]), "CREATE DATABASE from_a")
		exec(t, sandboxtest.Open(t, c.Primaries()[1]), "CREATE DATABASE from_b")
		until(t, replica, lag.Options{}, "both channels", isZero)
		exec(t, replica, flavor.StopThread(f, flavor.Applier, "a"))
		samples, err := lag.Measure(t.Context(), replica, lag.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if len(samples) != 2 || samples[0].Channel != "b" || samples[1].Channel != "a" {
			t.Fatalf("got %+v, want channel b and, as the worst, a", samples)
		}
		if !isZero(samples[0]) || samples[1].Lag.Reason() != lag.ApplierStopped {
			t.Errorf("got %v and %v, want 0 and applier-stopped", samples[0].Lag, samples[1].Lag)
		}
		exec(t, replica, flavor.StartThread(f, flavor.Applier, "a"))
		until(t, replica, lag.Options{}, "both channels", isZero)
		if f == flavor.MySQL {
			testHeldUp(t, c, replica)
		}
	})
}

// testHeldUp: a channel that is held up has a lag, and the other one has not.
func testHeldUp(t *testing.T, c *sandbox.Cluster, replica *sql.DB) {
	a, b := sandboxtest.Open(t, c.Primaries()[0]), sandboxtest.Open(t, c.Primaries()[1])
	exec(t, b, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)")
	until(t, replica, lag.Options{}, "the table", func(s lag.Sample) bool {
		rows, err := status.Query(t.Context(), replica, "SHOW TABLES FROM d")
		return err == nil && len(rows) == 1 && isZero(s)
	})
	release := block(t, replica)
	defer release()
	exec(t, b, "INSERT INTO d.t VALUES (1, 0)")
	until(t, replica, lag.Options{}, "a lag of b", func(s lag.Sample) bool {
		d, known := s.Lag.Duration()
		return s.Channel == "b" && known && d > 0 && *s.Behind == 1
	})
	exec(t, a, "CREATE DATABASE again_from_a")
	deadline := time.Now().Add(patience)
	for {
		samples, err := lag.Measure(t.Context(), replica, lag.Options{})
		if err != nil {
			t.Fatal(err)
		}
		d, known := samples[1].Lag.Duration()
		if samples[0].Channel == "a" && isZero(samples[0]) && samples[1].Channel == "b" && known && d > 0 {
			return
		}
		if time.Now().After(deadline) {
			t.Fatalf("got %+v, want 0 for a and a lag for b", samples)
		}
		time.Sleep(10 * time.Millisecond)
	}
}

// TestMeasure_withoutGTIDs: file and position are enough.
func TestMeasure_withoutGTIDs(t *testing.T) {
	t.Parallel()
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		t.Parallel()
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 1, GTIDOff: true})
		primary, replica := sandboxtest.Open(t, c.Primary()), sandboxtest.Open(t, c.Replica(1))
		exec(t, primary, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)", "INSERT INTO d.t VALUES (1, 0)")
		for _, m := range []lag.Method{lag.Auto, lag.Position, lag.Seconds} {
			until(t, replica, options(replica, primary, m), "catching up by "+m.String(), isZero)
		}
		release := block(t, replica)
		exec(t, primary, "UPDATE d.t SET v = v + 1")
		o := options(replica, primary, lag.Position)
		o.Budget = 200 * time.Millisecond
		if s := sample(t, replica, o); s.Lag.Reason() != lag.BehindSource {
			t.Errorf("position: got %+v, want behind-source", s)
		}
		if f == flavor.MySQL {
			until(t, replica, lag.Options{}, "a lag by timestamps", func(s lag.Sample) bool {
				d, known := s.Lag.Duration()
				return known && d > 0 && s.Method == lag.Timestamps
			})
		}
		release()
		until(t, replica, options(replica, primary, lag.Auto), "catching up", isZero)
	})
}
