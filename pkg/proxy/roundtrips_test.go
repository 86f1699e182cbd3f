package proxy_test

import (
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/route"
)

// tap is a wire to a server that counts how often somebody begins to speak on it.
type tap struct {
	socket net.Listener
	turns  atomic.Int64 // of the proxy, after an answer or at first
	all    sync.WaitGroup
}

func newTap(t testing.TB, server string) *tap {
	t.Helper()
	socket, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	w := &tap{socket: socket}
	t.Cleanup(func() { _ = socket.Close(); w.all.Wait() })
	w.all.Go(func() {
		for {
			near, err := socket.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", server)
			if err != nil {
				_ = near.Close()
				continue
			}
			var answered atomic.Bool
			answered.Store(true)
			w.all.Go(func() { w.pass(far, near, func() { w.count(&answered) }) })
			w.all.Go(func() { w.pass(near, far, func() { answered.Store(true) }) })
		}
	})
	return w
}

// count counts a turn if the server has spoken since the last one.
func (w *tap) count(answered *atomic.Bool) {
	if answered.CompareAndSwap(true, false) {
		w.turns.Add(1)
	}
}

func (w *tap) pass(to, from net.Conn, heard func()) {
	defer to.Close()
	buffer := make([]byte, 64<<10)
	for {
		n, err := from.Read(buffer)
		if n > 0 {
			heard()
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			if err != io.EOF {
				_ = from.Close()
			}
			return
		}
	}
}

// TestRoundTrips counts on the wire what a read after a write costs: nothing more than itself, unless a
// wait ends in vain.
func TestRoundTrips(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 1})
		sandboxtest.Exec(t, c.Primary(), "CREATE DATABASE trips", "CREATE TABLE trips.t (id INT PRIMARY KEY, v BIGINT NOT NULL)",
			"INSERT INTO trips.t VALUES (1, 0)")
		o := options(t, c)
		policy := &o.Listeners[0].Policy
		policy.Level, policy.SessionTimeout, policy.GlobalTimeout = route.SessionLevel, time.Second, time.Second
		var taps []*tap
		for i, s := range c.Servers {
			taps = append(taps, newTap(t, s.Address()))
			o.Servers[i].Address = taps[i].socket.Addr().String()
		}
		r := start(t, c, o)
		conn := session(t, r.open(nil), "session")
		const reads = 50
		v := 0
		// cost runs statements, and returns how many turns each server saw.
		cost := func(statements ...string) (primary, replica int64) {
			before := [2]int64{taps[0].turns.Load(), taps[1].turns.Load()}
			for _, s := range statements {
				if strings.HasPrefix(s, "UPDATE") {
					v++
					exec(t, conn, "UPDATE trips.t SET v = "+strconv.Itoa(v)+" WHERE id = 1")
				} else if got := value(t, conn, s); got != strconv.Itoa(v) {
					t.Errorf("wrote %d, %s gives %s", v, s, got)
				}
			}
			return taps[0].turns.Load() - before[0], taps[1].turns.Load() - before[1]
		}
		const write, read = "UPDATE", "SELECT v FROM trips.t WHERE id = 1"
		cost(write, read, read) // both connections are there now
		check := func(what string, wantPrimary, wantReplica int64, statements ...string) {
			t.Helper()
			var primary, replica int64
			before := counters(t, conn)
			for range reads {
				p, r := cost(statements...)
				primary, replica = primary+p, replica+r
			}
			after := counters(t, conn)
			// On a machine that is too busy the lag may be unknown for a moment: then the replica is not asked.
			unread := after["fall-backs-no-replica"] - before["fall-backs-no-replica"]
			hopeless := after["fall-backs-nothing-caught-up"] - before["fall-backs-nothing-caught-up"] - (after["waits-late"] - before["waits-late"])
			t.Logf("%s: %d times %v: %d turns to the primary, %d to the replica; %d reads of an unknown lag, %d hopeless waits",
				what, reads, statements, primary, replica, unread, hopeless)
			wantPrimary, wantReplica = reads*wantPrimary, reads*wantReplica-unread-hopeless
			if in := strings.Contains(what, "in vain"); !in {
				wantPrimary += unread
			}
			if primary != wantPrimary || replica != wantReplica {
				t.Errorf("%s: want %d and %d: %v", what, wantPrimary, wantReplica, routeOf(t, conn))
			}
		}
		check("a wait that is reached", 1, 1, write, read)
		check("a position that is known", 1, 2, write, read, read)
		exec(t, conn, "SET mysqlrw_consistency = 'global'")
		cost(write, read) // the connection for the position is there now
		check("global, which asks for a position", 2, 1, write, read)
		exec(t, conn, "SET mysqlrw_consistency = 'session'", "SET mysqlrw_timeout = '1ms'")
		hold(t, r)
		check("a wait in vain", 2, 1, write, read)
	})
}
