package waitpos_test

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/status"
	"github.com/mysqlrw/mysqlrw/waitpos"
)

// forever is a timeout that no test reaches: a test that would need it hangs,
// and fails by the deadline of its context.
const forever = time.Hour

func testContext(t *testing.T) context.Context {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	t.Cleanup(cancel)
	return ctx
}

func open(t *testing.T, s *sandbox.Server) *sql.DB {
	t.Helper()
	db, err := s.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { db.Close() })
	return db
}

func exec(t *testing.T, db *sql.DB, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if _, err := db.ExecContext(testContext(t), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// position is what the source has now.
func position(t *testing.T, source *sql.DB, f flavor.Flavor) gtid.Value {
	t.Helper()
	v, err := status.Sendable(testContext(t), source, f)
	if err != nil {
		t.Fatal(err)
	}
	if v.IsEmpty() {
		t.Fatal("the source has no transactions")
	}
	return v
}

// block makes the replica's applier wait for a table lock until release.
func block(t *testing.T, replica *sql.DB) (release func()) {
	t.Helper()
	conn, err := replica.Conn(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := conn.ExecContext(testContext(t), "LOCK TABLES d.t READ"); err != nil {
		t.Fatal(err)
	}
	release = sync.OnceFunc(func() {
		if _, err := conn.ExecContext(context.Background(), "UNLOCK TABLES"); err != nil {
			t.Error(err)
		}
		conn.Close()
	})
	t.Cleanup(release)
	return release
}

func wait(t *testing.T, db *sql.DB, target waitpos.Target, o waitpos.Options) waitpos.Result {
	t.Helper()
	r, err := waitpos.Wait(testContext(t), db, target, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func wantReason(t *testing.T, r waitpos.Result, want waitpos.Reason) {
	t.Helper()
	if r.Reached || r.Reason != want {
		t.Fatalf("got reached %v, reason %q (%s); want reason %q", r.Reached, r.Reason, r.Detail, want)
	}
	if want != waitpos.NoReason && r.Missing == "" {
		t.Error("a result that is not reached names nothing as missing")
	}
}

func TestWait(t *testing.T) {
	t.Parallel()
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		t.Parallel()
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 1})
		primary, replica := open(t, c.Primary()), open(t, c.Replica(1))
		exec(t, primary, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)", "INSERT INTO d.t VALUES (1, 0)")
		stopApplier := flavor.StopThread(f, flavor.Applier, "")
		startApplier := flavor.StartThread(f, flavor.Applier, "")
		stopReceiver := flavor.StopThread(f, flavor.Receiver, "")
		startReceiver := flavor.StartThread(f, flavor.Receiver, "")
		inSync := func(t *testing.T) waitpos.Target {
			t.Helper()
			target := waitpos.GTIDs(position(t, primary, f))
			if r := wait(t, replica, target, waitpos.Options{Timeout: forever}); !r.Reached {
				t.Fatalf("the replica does not catch up: %q %s", r.Reason, r.Detail)
			}
			return target
		}
		write := func(t *testing.T) waitpos.Target {
			t.Helper()
			exec(t, primary, "UPDATE d.t SET v = v + 1 WHERE id = 1")
			return waitpos.GTIDs(position(t, primary, f))
		}

		t.Run("reached", func(t *testing.T) {
			target := inSync(t)
			if r := wait(t, replica, target, waitpos.Options{}); !r.Reached || !r.AtOnce || r.Missing != "" {
				t.Errorf("got %+v, want reached at once", r)
			}
			if r := wait(t, primary, target, waitpos.Options{}); !r.Reached {
				t.Errorf("on the primary itself: got %+v, want reached", r)
			}
			if r := wait(t, replica, waitpos.GTIDs(gtid.Value{}), waitpos.Options{}); !r.Reached {
				t.Errorf("nothing to wait for: got %+v, want reached", r)
			}
		})
		t.Run("timeout", func(t *testing.T) {
			inSync(t)
			release := block(t, replica)
			target := write(t)
			for _, timeout := range []time.Duration{0, 300 * time.Millisecond, 1200 * time.Millisecond} {
				r := wait(t, replica, target, waitpos.Options{Timeout: timeout})
				wantReason(t, r, waitpos.Timeout)
				if r.Waited < timeout {
					t.Errorf("timeout %s: gave up after %s", timeout, r.Waited)
				}
				if r.Count != 1 {
					t.Errorf("timeout %s: got %d missing transactions (%s), want 1", timeout, r.Count, r.Missing)
				}
			}
			release()
			inSync(t)
		})
		t.Run("arrives while waiting", func(t *testing.T) {
			inSync(t)
			release := block(t, replica)
			r := wait(t, replica, write(t), waitpos.Options{Timeout: forever, Progress: func(waitpos.Progress) { release() }})
			if !r.Reached || r.AtOnce {
				t.Errorf("got %+v, want reached, and not at once", r)
			}
		})
		t.Run("applier stopped before", func(t *testing.T) {
			inSync(t)
			exec(t, replica, stopApplier)
			defer exec(t, replica, startApplier)
			wantReason(t, wait(t, replica, write(t), waitpos.Options{Timeout: forever}), waitpos.ApplierStopped)
		})
		t.Run("applier stops meanwhile", func(t *testing.T) {
			inSync(t)
			release := block(t, replica)
			stopped := false
			r := wait(t, replica, write(t), waitpos.Options{Timeout: forever, Progress: func(waitpos.Progress) {
				if !stopped {
					release() // a blocked applier does not stop
					stopped = true
					exec(t, replica, stopApplier)
				}
			}})
			exec(t, replica, startApplier)
			if !r.Reached { // it may have been applied just before the stop
				wantReason(t, r, waitpos.ApplierStopped)
			}
		})
		t.Run("receiver stopped", func(t *testing.T) {
			inSync(t)
			exec(t, replica, stopReceiver)
			defer exec(t, replica, startReceiver)
			wantReason(t, wait(t, replica, write(t), waitpos.Options{Timeout: forever}), waitpos.ReceiverStopped)
		})
		t.Run("not a replica", func(t *testing.T) {
			future := "00000000-0000-0000-0000-000000000001:1"
			if f == flavor.MariaDB {
				future = "77-1-1"
			}
			v, err := gtid.ParseValue(future)
			if err != nil {
				t.Fatal(err)
			}
			wantReason(t, wait(t, primary, waitpos.GTIDs(v), waitpos.Options{Timeout: forever}), waitpos.NotAReplica)
		})
		t.Run("other flavor", func(t *testing.T) {
			other := "77-1-1"
			if f == flavor.MariaDB {
				other = "00000000-0000-0000-0000-000000000001:1"
			}
			v, err := gtid.ParseValue(other)
			if err != nil {
				t.Fatal(err)
			}
			if _, err := waitpos.Wait(testContext(t), replica, waitpos.GTIDs(v), waitpos.Options{}); !errors.Is(err, waitpos.ErrFlavor) {
				t.Errorf("got %v, want ErrFlavor", err)
			}
		})
		t.Run("position", func(t *testing.T) { testPosition(t, primary, replica, f) })
		t.Run("cancelled", func(t *testing.T) {
			inSync(t)
			release := block(t, replica)
			defer release()
			testCancel(t, replica, write(t))
			file, err := status.BinaryLog(testContext(t), primary, f)
			if err != nil {
				t.Fatal(err)
			}
			target, err := waitpos.FilePosition(file)
			if err != nil {
				t.Fatal(err)
			}
			testCancel(t, replica, target)
		})
	})
}

func testPosition(t *testing.T, primary, replica *sql.DB, f flavor.Flavor) {
	exec(t, primary, "UPDATE d.t SET v = v + 1 WHERE id = 1")
	end, err := status.BinaryLog(testContext(t), primary, f)
	if err != nil {
		t.Fatal(err)
	}
	target, err := waitpos.FilePosition(end)
	if err != nil {
		t.Fatal(err)
	}
	if r := wait(t, replica, target, waitpos.Options{Timeout: forever}); !r.Reached {
		t.Fatalf("got %+v, want reached", r)
	}
	// The servers' functions answer NULL for a position that is reached if the
	// applier is stopped; the position is reached all the same.
	exec(t, replica, flavor.StopThread(f, flavor.Applier, ""))
	if r := wait(t, replica, target, waitpos.Options{}); !r.Reached {
		t.Errorf("with a stopped applier: got %+v, want reached", r)
	}
	exec(t, primary, "UPDATE d.t SET v = v + 1 WHERE id = 1")
	end.Offset += 10
	target, err = waitpos.FilePosition(end)
	if err != nil {
		t.Fatal(err)
	}
	wantReason(t, wait(t, replica, target, waitpos.Options{Timeout: forever}), waitpos.ApplierStopped)
	exec(t, replica, flavor.StartThread(f, flavor.Applier, ""))
	if r := wait(t, replica, target, waitpos.Options{Timeout: forever}); !r.Reached {
		t.Errorf("got %+v, want reached", r)
	}
	other, err := waitpos.FilePosition(gtid.FilePos{File: "another-log.000001", Offset: 4})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := waitpos.Wait(testContext(t), replica, other, waitpos.Options{}); !errors.Is(err, gtid.ErrIncomparable) {
		t.Errorf("a log of another name: got %v, want ErrIncomparable", err)
	}
	if _, err := waitpos.Wait(testContext(t), replica, target, waitpos.Options{Channel: "nosuch"}); !errors.Is(err, waitpos.ErrChannel) {
		t.Errorf("a channel that is not there: got %v, want ErrChannel", err)
	}
}

// testCancel ends a wait by its context and looks for the query on the server.
func testCancel(t *testing.T, replica *sql.DB, target waitpos.Target) {
	t.Helper()
	ctx, cancel := context.WithCancelCause(testContext(t))
	defer cancel(nil)
	reason := errors.New("the test has seen enough")
	var once sync.Once
	watch := func() {
		for !waiting(t, replica) {
			if ctx.Err() != nil {
				return
			}
		}
		cancel(reason)
	}
	_, err := waitpos.Wait(ctx, replica, target, waitpos.Options{Timeout: forever, Progress: func(waitpos.Progress) {
		once.Do(func() { go watch() })
	}})
	if !errors.Is(err, reason) {
		t.Fatalf("got %v, want the cause of the cancellation", err)
	}
	if waiting(t, replica) {
		t.Error("the wait goes on on the server")
	}
}

// waiting reports whether a wait function runs on the server. Its own text must not match, for it may run twice at once.
func waiting(t *testing.T, db *sql.DB) bool {
	rows, err := status.Query(context.Background(), db,
		"SELECT info FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND info LIKE CONCAT('%WA', 'IT%(%')")
	if err != nil {
		t.Error(err)
		return false
	}
	for _, row := range rows {
		if strings.Contains(row.Text("info"), "WAIT") {
			return true
		}
	}
	return false
}
