package waitpos_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/status"
	"github.com/mysqlrw/mysqlrw/waitpos"
)

// filePosition is the end of a source's binary log.
func filePosition(t *testing.T, source *sql.DB, f flavor.Flavor) waitpos.Target {
	t.Helper()
	end, err := status.BinaryLog(testContext(t), source, f)
	if err != nil {
		t.Fatal(err)
	}
	target, err := waitpos.FilePosition(end)
	if err != nil {
		t.Fatal(err)
	}
	return target
}

// unlogged runs a statement on a replica without a trace in its binary log.
func unlogged(t *testing.T, replica *sql.DB, f flavor.Flavor, statement string) {
	t.Helper()
	conn, err := replica.Conn(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	statements := []string{"SET SESSION sql_log_bin = 0", statement, "SET SESSION sql_log_bin = 1"}
	if f == flavor.MySQL {
		statements = append([]string{"SET GLOBAL super_read_only = OFF"}, statements...)
	}
	for _, s := range statements {
		if _, err := conn.ExecContext(testContext(t), s); err != nil {
			t.Fatalf("%s: %v", s, err)
		}
	}
}

// obstacle is a replica with its source, and a write on the source.
type obstacle struct {
	f                flavor.Flavor
	cluster          *sandbox.Cluster
	primary, replica *sql.DB
	rows             int
}

// insert writes a row on the source and returns its position there.
func (o *obstacle) insert(t *testing.T) waitpos.Target {
	t.Helper()
	o.rows++
	if _, err := o.primary.ExecContext(testContext(t), "INSERT INTO d.t VALUES (?, 0)", o.rows); err != nil {
		t.Fatal(err)
	}
	return waitpos.GTIDs(position(t, o.primary, o.f))
}

func (o *obstacle) inSync(t *testing.T) {
	t.Helper()
	if r := wait(t, o.replica, o.insert(t), waitpos.Options{Timeout: forever}); !r.Reached {
		t.Fatalf("the replica does not catch up: %q %s", r.Reason, r.Detail)
	}
}

// TestWait_obstacles: what keeps a position back is told at once, and nothing
// makes a wait hang.
func TestWait_obstacles(t *testing.T) {
	t.Parallel()
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		t.Parallel()
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 1})
		o := &obstacle{f: f, cluster: c, primary: open(t, c.Primary()), replica: open(t, c.Replica(1))}
		exec(t, o.primary, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)")
		o.inSync(t)
		t.Run("applier's error", o.applierError)
		t.Run("one connection", o.oneConnection)
		t.Run("killed", o.killed)
		t.Run("errant", o.errant)
		if f == flavor.MariaDB {
			t.Run("own writes", o.ownWrites)
			t.Run("filtered", o.filtered)
			return
		}
		t.Run("stands still", o.standsStill)
		t.Run("GTID_ONLY", o.gtidOnly)
		t.Run("purged", o.purged)
	})
}

func (o *obstacle) applierError(t *testing.T) {
	o.inSync(t)
	next := "DELETE FROM d.t WHERE id = (SELECT 1 + MAX(id) FROM (SELECT id FROM d.t) x)"
	unlogged(t, o.replica, o.f, "INSERT INTO d.t SELECT 1 + MAX(id), 9 FROM d.t")
	target := o.insert(t)
	r := wait(t, o.replica, target, waitpos.Options{Timeout: forever})
	wantReason(t, r, waitpos.ApplierStopped)
	if !strings.Contains(r.Detail, "error 1062") {
		t.Errorf("got detail %q, want the applier's error 1062", r.Detail)
	}
	unlogged(t, o.replica, o.f, strings.Replace(next, "1 + MAX", "MAX", 1))
	exec(t, o.replica, flavor.StartThread(o.f, flavor.Applier, ""))
	if r := wait(t, o.replica, target, waitpos.Options{Timeout: forever}); !r.Reached {
		t.Errorf("after the repair: got %+v, want reached", r)
	}
}

// oneConnection: the pool has no second connection for the kill.
func (o *obstacle) oneConnection(t *testing.T) {
	o.inSync(t)
	release := block(t, o.replica)
	defer release()
	single := open(t, o.cluster.Replica(1))
	single.SetMaxOpenConns(1)
	ctx, cancel := context.WithCancelCause(testContext(t))
	defer cancel(nil)
	reason := errors.New("the test has seen enough")
	_, err := waitpos.Wait(ctx, single, o.insert(t), waitpos.Options{Timeout: forever, Progress: func(waitpos.Progress) {
		go func() {
			for !waiting(t, o.replica) && ctx.Err() == nil {
				time.Sleep(time.Millisecond)
			}
			cancel(reason)
		}()
	}})
	if !errors.Is(err, reason) {
		t.Fatalf("got %v, want the cause of the cancellation", err)
	}
	if err := single.PingContext(testContext(t)); err != nil {
		t.Errorf("the pool afterwards: %v", err)
	}
	for deadline := time.Now().Add(30 * time.Second); waiting(t, o.replica); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatal("the wait goes on on the server")
		}
	}
}

// killed: the server dies in the middle of a wait.
func (o *obstacle) killed(t *testing.T) {
	o.inSync(t)
	lock, err := o.replica.Conn(testContext(t)) // it dies with the server
	if err != nil {
		t.Fatal(err)
	}
	defer lock.Close()
	if _, err := lock.ExecContext(testContext(t), "LOCK TABLES d.t READ"); err != nil {
		t.Fatal(err)
	}
	_, err = waitpos.Wait(testContext(t), o.replica, o.insert(t), waitpos.Options{Timeout: forever, Progress: func(waitpos.Progress) {
		o.cluster.Replica(1).Kill()
	}})
	if err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("got %v, want the loss of the connection", err)
	}
	if err := o.cluster.Replica(1).Start(testContext(t)); err != nil {
		t.Fatal(err)
	}
	o.inSync(t)
}

// standsStill: the server keeps its connections and answers nothing.
func (o *obstacle) standsStill(t *testing.T) {
	o.inSync(t)
	release := block(t, o.replica)
	defer release()
	target := o.insert(t)
	defer func() {
		if err := o.cluster.Replica(1).Resume(); err != nil {
			t.Error(err)
		}
	}()
	_, err := waitpos.Wait(testContext(t), o.replica, target, waitpos.Options{Timeout: forever, Progress: func(waitpos.Progress) {
		if err := o.cluster.Replica(1).Pause(); err != nil {
			t.Error(err)
		}
	}})
	if err == nil || !strings.Contains(err.Error(), "has not answered") {
		t.Errorf("got %v, want an error that says that the server does not answer", err)
	}
}

func (o *obstacle) errant(t *testing.T) {
	o.inSync(t)
	source, err := waitpos.ReadSource(testContext(t), o.primary)
	if err != nil {
		t.Fatal(err)
	}
	foreign, own := "00000000-0000-0000-0000-000000000001:1", source.UUID+":1000000"
	if o.f == flavor.MariaDB { // the server_id says who has written it
		foreign, own = "77-99-1", fmt.Sprintf("77-%d-1", source.ServerID)
	}
	errant := parse(t, foreign)
	r := wait(t, o.replica, errant, waitpos.Options{Timeout: forever, Source: source})
	wantReason(t, r, waitpos.Errant)
	// Without the source nobody can say that it will not come.
	wantReason(t, wait(t, o.replica, errant, waitpos.Options{Timeout: 100 * time.Millisecond}), waitpos.Timeout)
	// What the source has not written yet is not errant.
	future := parse(t, own)
	wantReason(t, wait(t, o.replica, future, waitpos.Options{Timeout: 100 * time.Millisecond, Source: source}), waitpos.Timeout)
}

func (o *obstacle) gtidOnly(t *testing.T) {
	o.inSync(t)
	file := filePosition(t, o.primary, o.f)
	if r := wait(t, o.replica, file, waitpos.Options{Timeout: forever}); !r.Reached {
		t.Fatalf("got %+v, want reached", r)
	}
	exec(t, o.replica, flavor.StopReplica(o.f, ""),
		"CHANGE REPLICATION SOURCE TO GTID_ONLY = 1, REQUIRE_ROW_FORMAT = 1", flavor.StartReplica(o.f, ""))
	if _, err := waitpos.Wait(testContext(t), o.replica, file, waitpos.Options{Timeout: forever}); !errors.Is(err, waitpos.ErrNoPositions) {
		t.Errorf("got %v, want ErrNoPositions", err)
	}
	o.inSync(t)
	exec(t, o.replica, flavor.StopReplica(o.f, ""), "CHANGE REPLICATION SOURCE TO GTID_ONLY = 0", flavor.StartReplica(o.f, ""))
	if r := wait(t, o.replica, filePosition(t, o.primary, o.f), waitpos.Options{Timeout: forever}); !r.Reached {
		t.Errorf("switched off again: got %+v, want reached", r)
	}
}

// purged comes last: the replica cannot go on after it.
func (o *obstacle) purged(t *testing.T) {
	o.inSync(t)
	exec(t, o.replica, flavor.StopThread(o.f, flavor.Receiver, ""))
	target := o.insert(t)
	exec(t, o.primary, "FLUSH BINARY LOGS")
	end, err := status.BinaryLog(testContext(t), o.primary, o.f)
	if err != nil {
		t.Fatal(err)
	}
	exec(t, o.primary, "PURGE BINARY LOGS TO '"+end.File+"'")
	exec(t, o.replica, flavor.StartThread(o.f, flavor.Receiver, ""))
	source, err := waitpos.ReadSource(testContext(t), o.primary)
	if err != nil {
		t.Fatal(err)
	}
	wantReason(t, wait(t, o.replica, target, waitpos.Options{Timeout: forever, Source: source}), waitpos.Purged)
	r := wait(t, o.replica, target, waitpos.Options{Timeout: forever})
	wantReason(t, r, waitpos.ReceiverStopped)
	if !strings.Contains(r.Detail, "1236") {
		t.Errorf("got detail %q, want the receiver's error 1236", r.Detail)
	}
}

// ownWrites: what a server has written itself is there, although its wait
// function would never say so.
func (o *obstacle) ownWrites(t *testing.T) {
	o.inSync(t)
	exec(t, o.replica, "SET GLOBAL read_only = OFF")
	conn, err := o.replica.Conn(testContext(t))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, s := range []string{"SET SESSION gtid_domain_id = 5", "CREATE DATABASE own", "SET SESSION gtid_domain_id = 0"} {
		if _, err := conn.ExecContext(testContext(t), s); err != nil {
			t.Fatal(err)
		}
	}
	both, err := position(t, o.replica, o.f).Union(position(t, o.primary, o.f))
	if err != nil {
		t.Fatal(err)
	}
	if r := wait(t, o.replica, waitpos.GTIDs(both), waitpos.Options{Timeout: forever}); !r.Reached {
		t.Errorf("got %+v, want reached", r)
	}
}

func (o *obstacle) filtered(t *testing.T) {
	o.inSync(t)
	for _, setting := range []string{"IGNORE_DOMAIN_IDS = (3, 7)", "IGNORE_DOMAIN_IDS = (), DO_DOMAIN_IDS = (0, 3)"} {
		exec(t, o.replica, flavor.StopReplica(o.f, ""), "CHANGE MASTER TO "+setting, flavor.StartReplica(o.f, ""))
		r := wait(t, o.replica, parse(t, "7-1-1000"), waitpos.Options{Timeout: forever})
		wantReason(t, r, waitpos.Filtered)
		o.inSync(t) // its own domain goes through
	}
}

// TestWait_sources: with two sources each position has its own channel.
func TestWait_sources(t *testing.T) {
	t.Parallel()
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		t.Parallel()
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Sources: 2, Replicas: 1})
		a, b, replica := open(t, c.Primaries()[0]), open(t, c.Primaries()[1]), open(t, c.Replica(1))
		exec(t, a, "CREATE DATABASE from_a")
		exec(t, b, "CREATE DATABASE from_b")
		for _, source := range []*sql.DB{a, b} {
			if r := wait(t, replica, waitpos.GTIDs(position(t, source, f)), waitpos.Options{Timeout: forever}); !r.Reached {
				t.Fatalf("got %+v, want reached", r)
			}
		}
		exec(t, replica, flavor.StopThread(f, flavor.Applier, "a"))
		exec(t, a, "CREATE DATABASE more_from_a")
		exec(t, b, "CREATE DATABASE more_from_b")
		ofA, ofB := position(t, a, f), position(t, b, f)
		both, err := ofA.Union(ofB)
		if err != nil {
			t.Fatal(err)
		}
		if r := wait(t, replica, waitpos.GTIDs(ofB), waitpos.Options{Timeout: forever}); !r.Reached {
			t.Errorf("b, with a stopped: got %+v, want reached", r)
		}
		for _, target := range []waitpos.Target{waitpos.GTIDs(ofA), waitpos.GTIDs(both)} {
			r := wait(t, replica, target, waitpos.Options{Timeout: forever})
			wantReason(t, r, waitpos.ApplierStopped)
			if !strings.Contains(r.Detail, "channel 'a'") {
				t.Errorf("got detail %q, want the channel's name", r.Detail)
			}
		}
		source, err := waitpos.ReadSource(testContext(t), a)
		if err != nil {
			t.Fatal(err)
		}
		exec(t, replica, flavor.StartThread(f, flavor.Applier, "a"))
		if r := wait(t, replica, waitpos.GTIDs(both), waitpos.Options{Timeout: forever, Source: source}); !r.Reached {
			t.Errorf("of both, with one of them asked: got %+v, want reached", r)
		}
		testChannels(t, f, a, b, replica)
	})
}

// testChannels: a file position belongs to a channel that must be named.
func testChannels(t *testing.T, f flavor.Flavor, a, b, replica *sql.DB) {
	fileA, fileB := filePosition(t, a, f), filePosition(t, b, f)
	_, err := waitpos.Wait(testContext(t), replica, fileA, waitpos.Options{Timeout: forever})
	if !errors.Is(err, waitpos.ErrChannel) || !strings.Contains(err.Error(), "'a', 'b'") {
		t.Errorf("no channel named: got %v, want ErrChannel and the names", err)
	}
	if _, err := waitpos.Wait(testContext(t), replica, fileA, waitpos.Options{Channel: "c"}); !errors.Is(err, waitpos.ErrChannel) {
		t.Errorf("a name that is not there: got %v, want ErrChannel", err)
	}
	for name, target := range map[string]waitpos.Target{"a": fileA, "A": fileA, "b": fileB, "B": fileB} {
		if r := wait(t, replica, target, waitpos.Options{Timeout: forever, Channel: name}); !r.Reached {
			t.Errorf("channel %s: got %+v, want reached", name, r)
		}
	}
	exec(t, replica, flavor.StopThread(f, flavor.Applier, "b"))
	exec(t, b, "CREATE DATABASE still_more_from_b")
	r := wait(t, replica, filePosition(t, b, f), waitpos.Options{Timeout: forever, Channel: "B"})
	wantReason(t, r, waitpos.ApplierStopped)
	exec(t, replica, flavor.StartThread(f, flavor.Applier, "b"))
	// The server-side wait of a named channel, too.
	if r := wait(t, replica, filePosition(t, b, f), waitpos.Options{Timeout: forever, Channel: "b"}); !r.Reached {
		t.Errorf("got %+v, want reached", r)
	}
}

// TestWait_withoutGTIDs: GTIDs are refused, and a file position will do.
func TestWait_withoutGTIDs(t *testing.T) {
	t.Parallel()
	c := sandboxtest.Cluster(t, sandbox.Options{Flavor: flavor.MySQL, Replicas: 1, GTIDOff: true})
	primary, replica := open(t, c.Primary()), open(t, c.Replica(1))
	exec(t, primary, "CREATE DATABASE d", "CREATE TABLE d.t (id INT PRIMARY KEY, v INT)")
	_, err := waitpos.Wait(testContext(t), replica, parse(t, uuid+":5"), waitpos.Options{Timeout: forever})
	if !errors.Is(err, waitpos.ErrGTIDOff) {
		t.Errorf("got %v, want ErrGTIDOff", err)
	}
	if r := wait(t, replica, filePosition(t, primary, flavor.MySQL), waitpos.Options{Timeout: forever}); !r.Reached {
		t.Fatalf("got %+v, want reached", r)
	}
	release := block(t, replica)
	exec(t, primary, "INSERT INTO d.t VALUES (1, 1)")
	r := wait(t, replica, filePosition(t, primary, flavor.MySQL), waitpos.Options{Timeout: 600 * time.Millisecond})
	wantReason(t, r, waitpos.Timeout)
	if !strings.Contains(r.Missing, " to binlog.") {
		t.Errorf("got missing %q, want from where to where", r.Missing)
	}
	release()
	if r := wait(t, replica, filePosition(t, primary, flavor.MySQL), waitpos.Options{Timeout: forever}); !r.Reached {
		t.Errorf("got %+v, want reached", r)
	}
}
