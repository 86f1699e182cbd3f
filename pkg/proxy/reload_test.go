package proxy_test

import (
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/proxy"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/route"
)

// TestReload: other options hold for the next statements, clients notice nothing else, and what cannot
// be changes nothing.
func TestReload(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 2})
		prepareLoad(t, c, c.Primary(), 4)
		before := goleak.IgnoreCurrent()
		t.Run("run", func(t *testing.T) {
			o := options(t, c)
			o.PrimaryWait = 30 * time.Second
			re := &reloading{r: start(t, c, o), o: o}
			l := startLoad(t, re.r, 4, 3)
			t.Run("refused", re.refused)
			t.Run("still used", re.stillUsed)
			t.Run("weights", re.weights)
			t.Run("policy", re.policy)
			t.Run("server removed", re.removed)
			t.Run("server moved", re.moved)
			t.Run("many", re.many)
			l.progress(50)
			l.check(c.Primary())
			if n := l.unknown.Load(); n > 0 {
				t.Errorf("%d writes have an unknown outcome", n)
			}
		})
		if err := goleak.Find(before); err != nil {
			t.Errorf("left behind: %v", err)
		}
	})
}

type reloading struct {
	r *running
	o proxy.Options
}

// copied is the present options, to be changed.
func (re *reloading) copied() proxy.Options {
	o := re.o
	o.Servers = append([]proxy.Server(nil), o.Servers...)
	o.Listeners = append([]proxy.Listener(nil), o.Listeners...)
	return o
}

func (re *reloading) reload(t *testing.T, o proxy.Options) {
	t.Helper()
	if err := re.r.proxy.Reload(o); err != nil {
		t.Fatalf("reload: %v", err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := re.r.proxy.WaitOnline(ctx, len(o.Servers)); err != nil {
		t.Fatalf("after the reload: %v", err)
	}
}

// reads returns where so many reads of a session ran.
func (re *reloading) reads(t *testing.T, conn *sql.Conn, n int) map[string]int {
	t.Helper()
	on := map[string]int{}
	for range n {
		value(t, conn, "SELECT COUNT(*) FROM load1.counter")
		on[ranOn(t, conn)]++
	}
	return on
}

func (re *reloading) refused(t *testing.T) {
	conn := re.r.as(t).session()
	for _, tt := range []struct {
		name   string
		change func(o *proxy.Options)
		says   string
	}{
		{"no server", func(o *proxy.Options) { o.Servers = nil }, "no server"},
		{"two of a name", func(o *proxy.Options) { o.Servers[1].Name = o.Servers[0].Name }, "two servers have the name"},
		{"no pool", func(o *proxy.Options) { o.Pool.Max = 0 }, "pool"},
		{"no listener", func(o *proxy.Options) { o.Listeners = nil }, "listener"},
		{"other listener", func(o *proxy.Options) { o.Listeners[0].Address = "127.0.0.1:1" }, "restart"},
	} {
		o := re.copied()
		o.Servers[1].Weight, o.Servers[2].Weight = 0, 0 // would be seen
		tt.change(&o)
		if err := re.r.proxy.Reload(o); err == nil || !strings.Contains(err.Error(), tt.says) {
			t.Errorf("%s: %v", tt.name, err)
		}
	}
	if on := re.reads(t, conn, 10); on["primary"] == 10 {
		t.Errorf("a refused reload has changed something: %v", on)
	}
}

// stillUsed: a session that is tied to the list of two reloads ago still gets connections to a server that
// only the present list has not.
func (re *reloading) stillUsed(t *testing.T) {
	conn := re.r.as(t).session()
	exec(t, conn, "CREATE TEMPORARY TABLE load1.mine (n INT)")
	var mu sync.Mutex
	var monitors []*sql.DB
	o := re.copied()
	open := o.Servers[1].Monitor
	o.Servers[1].Monitor = func() (*sql.DB, error) {
		db, err := open()
		mu.Lock()
		defer mu.Unlock()
		monitors = append(monitors, db)
		return db, err
	}
	re.reload(t, o)
	o.Servers = slices.Delete(o.Servers, 1, 2)
	re.reload(t, o)
	sandboxtest.Await(t, "the list between is ended", func() bool {
		mu.Lock()
		defer mu.Unlock()
		return len(monitors) > 0 && !slices.ContainsFunc(monitors, func(db *sql.DB) bool { return db.Ping() == nil })
	})
	sandboxtest.Await(t, "a read on "+re.o.Servers[1].Name, func() bool { return re.reads(t, conn, 2)[re.o.Servers[1].Name] > 0 })
	exec(t, conn, "DROP TEMPORARY TABLE load1.mine")
	re.reload(t, re.o)
}

// weights: 0 takes no new reads.
func (re *reloading) weights(t *testing.T) {
	conn := re.r.as(t).session()
	exec(t, conn, "SET @mine = 3")
	for i, want := range []string{"replica2", "replica1"} {
		o := re.copied()
		o.Servers[1+i].Weight = 0
		re.reload(t, o)
		// On a busy machine the other replica may be unreadable for a moment, and the primary takes over.
		if on := re.reads(t, conn, 20); on[want] == 0 || on[o.Servers[1+i].Name] > 0 {
			t.Errorf("reads ran on %v, want %s", on, want)
		}
	}
	re.reload(t, re.o)
	if v := value(t, conn, "SELECT @mine"); v != "3" {
		t.Errorf("the session's variable is %s", v)
	}
}

// policy: another level is that of sessions which begin after it, unless an operator says that it is everybody's.
func (re *reloading) policy(t *testing.T) {
	old := re.r.as(t).session()
	value(t, old, "SELECT 1")
	o := re.copied()
	o.Listeners[0].Policy.Level = route.Strong
	re.reload(t, o)
	if on := re.reads(t, old, 10); on["primary"] == 10 {
		t.Errorf("reads of a session that began at level eventual ran on %v", on)
	}
	fresh := re.r.as(t).session()
	if on := re.reads(t, fresh, 10); on["primary"] != 10 {
		t.Errorf("reads of a new session at level strong ran on %v", on)
	}
	o.Applied++
	re.reload(t, o)
	if on := re.reads(t, old, 10); on["primary"] != 10 {
		t.Errorf("reads of the old session ran on %v, though strong is everybody's level now", on)
	}
	re.reload(t, re.o)
	if on := re.reads(t, old, 10); on["primary"] == 10 {
		t.Errorf("reads at level eventual ran on %v", on)
	}
}

// removed: what needs the server goes on there, and nothing else.
func (re *reloading) removed(t *testing.T) {
	r := re.r.as(t)
	reader, owner, free, quiet := r.session(), r.session(), r.session(), r.session()
	value(t, quiet, "SELECT COUNT(*) FROM load1.counter") // and says nothing more until the end
	exec(t, owner, "BEGIN", "INSERT INTO load1.keyed VALUES ('"+t.Name()+"')")
	exec(t, reader, "START TRANSACTION READ ONLY")
	value(t, reader, "SELECT COUNT(*) FROM load1.counter")
	at := ranOn(t, reader)
	o := re.copied()
	for i := range o.Servers {
		if o.Servers[i].Name == at {
			o.Servers = append(o.Servers[:i], o.Servers[i+1:]...)
			break
		}
	}
	if len(o.Servers) != 2 {
		t.Fatalf("a read-only transaction is on %s", at)
	}
	re.reload(t, o)
	if on := re.reads(t, free, 20); on[at] > 0 {
		t.Errorf("reads run on %s, which was removed: %v", at, on)
	}
	value(t, reader, "SELECT COUNT(*) FROM load1.counter")
	if on := ranOn(t, reader); on != at {
		t.Errorf("the transaction on %s goes on on %s", at, on)
	}
	exec(t, reader, "COMMIT")
	exec(t, owner, "COMMIT")
	if on := re.reads(t, reader, 10); on[at] > 0 {
		t.Errorf("after its transaction a session still reads %s: %v", at, on)
	}
	s := re.r.cluster.Server(at)
	direct := sandboxtest.Open(t, s)
	sandboxtest.Await(t, "the proxy has left "+at, func() bool {
		return value(t, direct, "SELECT COUNT(*) FROM information_schema.processlist WHERE user = '"+loadAccount+"'") == "0"
	})
	value(t, quiet, "SELECT COUNT(*) FROM load1.counter")
	re.reload(t, re.o)
	sandboxtest.Await(t, at+" is read again", func() bool { return re.reads(t, free, 5)[at] > 0 })
}

// moved: a server has another address. The one before is used no more.
func (re *reloading) moved(t *testing.T) {
	conn := re.r.as(t).session()
	s := re.r.cluster.Replica(1)
	o := re.copied()
	o.Servers[1].Network, o.Servers[1].Address = "unix", s.Socket
	re.reload(t, o)
	sandboxtest.Await(t, "the replica is read by its socket", func() bool { return re.reads(t, conn, 5)[s.Name] > 0 })
	direct := sandboxtest.Open(t, s)
	sandboxtest.Await(t, "nobody uses the address before", func() bool {
		return value(t, direct, "SELECT COUNT(*) FROM information_schema.processlist WHERE user = '"+loadAccount+"' AND host LIKE '%:%'") == "0"
	})
	re.reload(t, re.o)
}

// many reloads one after the other, with transactions across them.
func (re *reloading) many(t *testing.T) {
	var wait sync.WaitGroup
	var stop atomic.Bool
	for i := range 3 {
		conn := re.r.as(t).session()
		wait.Go(func() {
			for n := 0; !stop.Load() && !t.Failed(); n++ {
				name := fmt.Sprintf("many-%d-%d", i, n)
				exec(t, conn, "BEGIN", "INSERT INTO load1.keyed VALUES ('"+name+"')", "DELETE FROM load1.keyed WHERE token = '"+name+"'", "COMMIT")
			}
		})
	}
	for i := range 10 {
		o := re.copied()
		switch i % 3 {
		case 0:
			o.Servers = o.Servers[:2]
		case 1:
			o.Servers[1].Weight = 1
		}
		re.reload(t, o)
	}
	re.reload(t, re.o)
	stop.Store(true)
	wait.Wait()
}
