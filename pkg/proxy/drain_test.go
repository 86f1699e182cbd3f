package proxy_test

import (
	"context"
	"database/sql"
	"net"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

// TestShutdown: who has nothing to lose is sent away at once, the others when they are done or the
// time is over, and nothing of the proxy is left.
func TestShutdown(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 1})
		sandboxtest.Exec(t, c.Primary(), "CREATE DATABASE ends", "CREATE TABLE ends.t (id INT PRIMARY KEY)")
		if err := c.WaitReplicated(t.Context()); err != nil {
			t.Fatal(err)
		}
		for _, one := range []struct {
			name string
			run  func(d *drain, t *testing.T)
		}{
			{"all end", (*drain).allEnd}, {"time is over", (*drain).timeOver}, {"second signal", (*drain).second}, {"close", (*drain).closed},
		} {
			t.Run(one.name, func(t *testing.T) {
				// Only what begins from here on counts: the cluster has goroutines, too.
				before := goleak.IgnoreCurrent()
				t.Run("run", func(t *testing.T) { one.run(newDrain(t, c), t) })
				if err := goleak.Find(before); err != nil {
					t.Errorf("left behind: %v", err)
				}
			})
		}
	})
}

// drain is a proxy with a client of each kind.
type drain struct {
	r            *running
	idle, warm   *bareClient // logged in; had an answer
	transaction  *bareClient // in one
	held         *bareClient // has a lock
	running      *bareClient // waits for a statement's end
	direct       *sql.DB
	blocker      *sql.Conn
	shutdown     chan error
	stopShutdown context.CancelFunc
}

func newDrain(t *testing.T, c *sandbox.Cluster) *drain {
	d := &drain{r: start(t, c, options(t, c)), direct: sandboxtest.Open(t, c.Primary()), shutdown: make(chan error, 1)}
	exec(t, d.direct, "DELETE FROM ends.t")
	s := c.Primary()
	do := func(queries ...string) *bareClient {
		one := mustLogin(t, d.r.address, s)
		for _, q := range queries {
			if _, err := one.query(q); err != nil {
				t.Fatalf("%s: %v", q, err)
			}
		}
		return one
	}
	d.idle, d.warm = do(), do("SELECT 1", "INSERT INTO ends.t VALUES (1)", "DELETE FROM ends.t")
	d.transaction = do("BEGIN", "INSERT INTO ends.t VALUES (2)")
	d.held = do("DO GET_LOCK('ends', 0)")
	var err error
	if d.blocker, err = d.direct.Conn(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = d.blocker.Close() })
	exec(t, d.blocker, "BEGIN", "INSERT INTO ends.t VALUES (3)")
	d.running = do()
	if err := d.running.send([]byte("\x03INSERT INTO ends.t VALUES (3)")); err != nil {
		t.Fatal(err)
	}
	sandboxtest.Await(t, "a statement waits", func() bool {
		return value(t, d.direct, "SELECT COUNT(*) FROM information_schema.processlist WHERE info = 'INSERT INTO ends.t VALUES (3)'") == "1"
	})
	return d
}

// begin shuts the proxy down, and waits until it has begun.
func (d *drain) begin(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	d.stopShutdown = cancel
	t.Cleanup(cancel)
	go func() { d.shutdown <- d.r.proxy.Shutdown(ctx) }()
	for _, one := range []*bareClient{d.idle, d.warm} {
		if _, err := one.reply(); refusedWith(err) != 1053 {
			t.Errorf("an idle client was told %v", err)
		}
		if !one.closed() {
			t.Error("an idle client is still connected")
		}
	}
	if conn, err := net.DialTimeout("tcp", d.r.address, 5*time.Second); err == nil {
		t.Error("a new client was let in")
		_ = conn.Close()
	}
	select {
	case err := <-d.shutdown:
		t.Fatalf("it did not wait: %v", err)
	default:
	}
}

// ends waits for Run, which must not wait for the statement that runs: that would be 50 seconds.
func (d *drain) ends(t *testing.T) {
	t.Helper()
	select {
	case <-d.r.done:
	case <-time.After(20 * time.Second):
		t.Fatal("Run has not returned")
	}
}

// goesAway expects the word of the shutdown, then the end.
func goesAway(t *testing.T, what string, c *bareClient) {
	t.Helper()
	if _, err := c.reply(); refusedWith(err) != 1053 {
		t.Errorf("%s: the client was told %v", what, err)
	}
	if !c.closed() {
		t.Errorf("%s: the client is still connected", what)
	}
}

// allEnd: transaction, lock and statement come to their ends, and then it is over.
func (d *drain) allEnd(t *testing.T) {
	d.begin(t)
	for _, q := range []string{"INSERT INTO ends.t VALUES (4)", "SELECT * FROM ends.t", "COMMIT"} {
		if _, err := d.transaction.query(q); err != nil {
			t.Errorf("%s: %v", q, err)
		}
	}
	goesAway(t, "after its transaction", d.transaction)
	if _, err := d.held.query("DO RELEASE_LOCK('ends')"); err != nil {
		t.Errorf("RELEASE_LOCK: %v", err)
	}
	goesAway(t, "after its lock", d.held)
	exec(t, d.blocker, "ROLLBACK")
	if _, err := d.running.answer(3); err != nil {
		t.Errorf("the statement that ran: %v", err)
	}
	goesAway(t, "after its statement", d.running)
	if err := <-d.shutdown; err != nil {
		t.Errorf("Shutdown: %v", err)
	}
	d.ends(t)
	if n := value(t, d.direct, "SELECT COUNT(*) FROM ends.t"); n != "3" {
		t.Errorf("%s rows are there", n)
	}
}

// timeOver: who is left then is told, and what was open is rolled back.
func (d *drain) timeOver(t *testing.T) {
	d.begin(t)
	d.stopShutdown()
	goesAway(t, "in a transaction", d.transaction)
	goesAway(t, "with a lock", d.held)
	if err := <-d.shutdown; err == nil {
		t.Error("Shutdown says that all have ended")
	}
	d.ends(t)
	d.nothingLeft(t)
}

// nothingLeft: a server that was left alone has ended what nobody waits for.
func (d *drain) nothingLeft(t *testing.T) {
	t.Helper()
	if !d.running.closed() {
		t.Error("the client of the statement is still connected")
	}
	exec(t, d.blocker, "ROLLBACK")
	sandboxtest.Await(t, "the lock is free", func() bool { return value(t, d.direct, "SELECT IS_FREE_LOCK('ends')") == "1" })
	sandboxtest.Await(t, "nothing is locked", func() bool {
		ctx, cancel := context.WithTimeout(t.Context(), 10*time.Second)
		defer cancel()
		_, err := d.direct.ExecContext(ctx, "INSERT INTO ends.t VALUES (2)")
		return err == nil
	})
}

// second: Close while Shutdown waits ends all at once.
func (d *drain) second(t *testing.T) {
	d.begin(t)
	d.r.proxy.Close()
	for _, one := range []*bareClient{d.transaction, d.held, d.running} {
		if !one.closed() {
			t.Error("a client is still connected")
		}
	}
	d.ends(t)
	<-d.shutdown
	d.nothingLeft(t)
}

// closed: without a Shutdown before.
func (d *drain) closed(t *testing.T) {
	d.r.proxy.Close()
	for _, one := range []*bareClient{d.idle, d.warm, d.transaction, d.held, d.running} {
		if !one.closed() {
			t.Error("a client is still connected")
		}
	}
	d.ends(t)
	d.nothingLeft(t)
}
