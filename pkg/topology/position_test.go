package topology

import (
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/route"
)

func (w *world) position(server int) string {
	return w.members[server].known.Load().position.String()
}

func (w *world) wantPosition(server int, want string) {
	w.t.Helper()
	if got := w.position(server); got != want {
		w.t.Errorf("position of %d is %q, want %q", server, got, want)
	}
}

func TestKnown_grows(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Server{Name: "a", Role: FixedReplica})
	at := func(position string) says {
		return says{readOnly: true, uuid: uuidB, position: position, channels: healthy()}
	}
	w.ask(0, at(uuidA+":1-5"))
	epoch := w.Epoch(0)
	w.Learn(0, epoch, value(t, uuidA+":4-7"))
	w.wantPosition(0, uuidA+":1-7")
	w.ask(0, at(uuidA+":1-9"))
	w.wantPosition(0, uuidA+":1-9")
	w.Learn(0, epoch, value(t, uuidA+":1-8")) // an old answer takes nothing away
	w.wantPosition(0, uuidA+":1-9")
	w.Learn(0, epoch, value(t, "0-1-5")) // of another kind of server
	w.wantPosition(0, uuidA+":1-9")
	w.happened()

	w.ask(0, at(uuidA+":1-3"))
	w.wantPosition(0, uuidA+":1-3")
	w.happened("position-lost server=a detail=" + uuidA + ":4-9")
	w.Learn(0, epoch, value(t, uuidA+":1-9")) // it was sent before
	w.wantPosition(0, uuidA+":1-3")
	w.Learn(0, w.Epoch(0), value(t, uuidA+":1-4"))
	w.wantPosition(0, uuidA+":1-4")
}

// TestKnown_learnedWhileAsked: what is learned while the server is being asked
// is no proof that its answer lacks something.
func TestKnown_learnedWhileAsked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Server{Name: "a", Role: FixedReplica})
	w.ask(0, says{readOnly: true, uuid: uuidB, position: uuidA + ":1-5", channels: healthy()})
	mb := w.members[0]
	before, seen := mb.known.Load(), mb.seen
	seen.fresh = false
	w.Learn(0, w.Epoch(0), value(t, uuidA+":1-6"))
	if events := mb.answer(seen, before); len(events) != 0 {
		t.Errorf("events %v", events)
	}
	w.wantPosition(0, uuidA+":1-6")
}

func TestKnown_otherServer(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Server{Name: "a", Role: FixedReplica})
	w.ask(0, says{readOnly: true, uuid: uuidB, position: uuidA + ":1-5", channels: healthy()})
	epoch := w.Epoch(0)
	w.clock = w.clock.Add(10 * time.Second)
	w.reconnect(0, says{readOnly: true, uuid: uuidB, uptime: "1010", position: uuidA + ":1-5", channels: healthy()})
	w.happened()
	w.reconnect(0, says{readOnly: true, uuid: uuidB, uptime: "3", position: uuidA + ":1-5", channels: healthy()})
	w.happened("restarted server=a")
	if w.Epoch(0) == epoch {
		t.Error("a restart is no new epoch")
	}
	w.reconnect(0, says{readOnly: true, uuid: uuidC, uptime: "9000", position: uuidA + ":1-7", channels: healthy()})
	w.happened("replaced server=a old=" + uuidB + " new=" + uuidC)
	w.wantPosition(0, uuidA+":1-7")
	w.reconnect(0, says{readOnly: true, uuid: uuidC, uptime: "1", position: uuidA + ":1-6", channels: healthy()})
	w.happened("restarted server=a", "position-lost server=a detail="+uuidA+":7")
	w.wantPosition(0, uuidA+":1-6")
}

// TestIdentity: a server is known by what it calls itself, and by when it started.
func TestIdentity(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Server{Name: "a", Role: FixedReplica}, Server{Name: "b"})
	identity := func(server int, name string, uptime time.Duration) {
		t.Helper()
		got, started := w.Identity(server)
		if got != name || name != "" && !started.Equal(w.clock.Add(-uptime)) {
			t.Errorf("%q since %v", got, started)
		}
	}
	identity(0, "", 0)
	w.ask(0, says{readOnly: true, uuid: uuidB, channels: healthy()})
	identity(0, uuidB, 1000*time.Second)
	w.ask(1, says{mariadb: true})
	identity(1, "server_id 7", 1000*time.Second)
	w.ask(1, says{err: errOther})
	identity(1, "server_id 7", 1000*time.Second)
	w.reconnect(0, says{readOnly: true, uuid: uuidC, uptime: "3", channels: healthy()})
	identity(0, uuidC, 3*time.Second)
}

// TestSilent: who does not answer is silent until it is gone.
func TestSilent(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Server{Name: "a", Role: FixedReplica})
	answered := w.clock
	w.ask(0, says{readOnly: true, uuid: uuidB, channels: healthy()})
	for i, step := range []struct {
		says   says
		silent bool
	}{
		{says{err: errTimeout}, true},
		{says{err: errTimeout}, true},
		{says{err: errTimeout}, false}, // it is offline
		{says{readOnly: true, uuid: uuidB, channels: healthy()}, false},
		{says{err: errTimeout}, true},
	} {
		w.clock = w.clock.Add(time.Second)
		w.ask(0, step.says)
		if step.says.err == nil {
			answered = w.clock
		}
		if since, silent := w.Silent(0); silent != step.silent || !since.Equal(answered) {
			t.Errorf("step %d: silent %v since %v, want %v since %v", i, silent, since, step.silent, answered)
		}
	}
}

// TestOldest: a check without an answer is one, too.
func TestOldest(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Server{Name: "a"}, Server{Name: "b"})
	start := w.clock
	steps := []struct {
		server int
		says   says
		want   time.Time
	}{
		{0, says{uuid: uuidA}, time.Time{}},
		{1, says{err: errOther}, start.Add(time.Second)},
		{1, replica(), start.Add(time.Second)},
		{0, says{err: errOther}, start.Add(3 * time.Second)},
	}
	for i, step := range steps {
		w.clock = w.clock.Add(time.Second)
		w.ask(step.server, step.says)
		if got := w.Oldest(); !got.Equal(step.want) {
			t.Errorf("step %d: %v, want %v", i, got, step.want)
		}
	}
}

// TestChecked: who is called after each check finds the events told and the snapshot that they are about.
func TestChecked(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Server{Name: "a"})
	var told []int
	var states []route.State
	w.options.Checked = func() {
		told, states = append(told, len(w.events)), append(states, w.Snapshot().Servers[0].State)
	}
	w.ask(0, says{uuid: uuidA})
	w.ask(0, says{err: errOther})
	if want := []int{2, 2}; !slices.Equal(told, want) { // online and primary; the primary may yet answer
		t.Errorf("events told before: %v, want %v: %v", told, want, w.events)
	}
	if want := []route.State{route.Online, route.Online}; !slices.Equal(states, want) {
		t.Errorf("states %v, want %v", states, want)
	}
}

func TestErrant(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Server{Name: "a", Role: FixedReplica})
	at := func(position string) says {
		return says{readOnly: true, uuid: uuidB, position: position, channels: healthy()}
	}
	w.ask(0, at(uuidA+":1-5,"+uuidB+":1-3")) // from when it was the primary
	w.ask(0, at(uuidA+":1-9,"+uuidB+":1-3"))
	w.happened()
	w.ask(0, at(uuidA+":1-9,"+uuidB+":1-4"))
	w.happened("errant-transaction server=a detail=" + uuidB + ": 4")
	w.ask(0, at(uuidA+":1-9,"+uuidB+":1-4"))
	w.happened()
	w.ask(0, says{uuid: uuidB, position: uuidA + ":1-9," + uuidB + ":1-9"}) // promoted
	w.ask(0, at(uuidA+":1-9,"+uuidB+":1-9"))                                // and back
	w.happened()
}

func TestLearn_concurrent(t *testing.T) { // not parallel: it counts allocations
	w := newWorld(t, Server{Name: "a", Role: FixedReplica})
	epoch := w.Epoch(0)
	odd, even := value(t, uuidA+":1:3:5:7"), value(t, uuidA+":2:4:6:8")
	var all sync.WaitGroup
	for range 4 {
		all.Go(func() { w.Learn(0, epoch, odd); w.Acquire(0) })
		all.Go(func() { w.Learn(0, epoch, even); w.Acquire(0) })
	}
	all.Wait()
	w.wantPosition(0, uuidA+":1-8")
	if n := w.members[0].active.Load(); n != 8 {
		t.Errorf("%d active", n)
	}
	if n := testing.AllocsPerRun(100, func() { w.Learn(0, epoch, odd) }); n != 0 {
		t.Errorf("%v allocations for what is known", n)
	}
}

func TestNew_refuses(t *testing.T) {
	t.Parallel()
	good := newWorld(t, Server{Name: "a"}).options.Servers[0]
	with := func(change func(*Server)) Server {
		s := good
		change(&s)
		return s
	}
	for _, tt := range []struct {
		servers []Server
		want    string
	}{
		{nil, "no server to watch"},
		{[]Server{good, good}, "two servers are named a"},
		{[]Server{with(func(s *Server) { s.Name = "" })}, "a server has no name"},
		{[]Server{with(func(s *Server) { s.Open = nil })}, "server a cannot be opened"},
		{[]Server{
			with(func(s *Server) { s.Role = FixedPrimary }),
			with(func(s *Server) { s.Name, s.Role = "b", FixedPrimary }),
		}, "both a and b are to be the primary"},
	} {
		if _, err := New(Options{Servers: tt.servers}); err == nil || err.Error() != tt.want {
			t.Errorf("error %v, want %s", err, tt.want)
		}
	}
}

// TestKnown_early: what a MariaDB primary reports may not be visible there
// yet, and is believed one check later; what was learned is believed at once.
func TestKnown_early(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Server{Name: "a"})
	w.ask(0, says{mariadb: true, position: "0-7-5"})
	w.want("primary online")
	w.wantPosition(0, "")
	w.ask(0, says{mariadb: true, position: "0-7-6"})
	w.wantPosition(0, "0-7-5")
	w.Learn(0, w.Epoch(0), value(t, "0-7-7"))
	w.wantPosition(0, "0-7-7")
	w.ask(0, says{mariadb: true, position: "0-7-8"})
	w.wantPosition(0, "0-7-7")
	w.ask(0, says{mariadb: true, position: "0-7-3"})
	w.wantPosition(0, "")
	w.ask(0, says{mariadb: true, position: "0-7-4"})
	w.wantPosition(0, "0-7-3")
	w.happened("primary-changed new=a", "position-lost server=a detail=0-7-7")
}
