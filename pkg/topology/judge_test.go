package topology

import (
	"log/slog"
	"syscall"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/route"
)

func TestReplicaStates(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name  string
		says  says
		want  string
		lag   time.Duration
		known bool
	}{
		{"caught up", replica(), "replica online", 0, true},
		{"behind", replica("Seconds_Behind_Source", "7", "Exec_Source_Log_Pos", "4"), "replica online", 7 * time.Second, true},
		{
			"a configured delay is staleness",
			replica("SQL_Delay", "3600", "SQL_Remaining_Delay", "17", "Seconds_Behind_Source", "3583"),
			"replica online", time.Hour, true,
		},
		{"receiver stopped", replica("Replica_IO_Running", "No"), "replica broken: receiver-stopped", 0, false},
		{
			"receiver connecting, with its error",
			replica("Replica_IO_Running", "Connecting", "Last_IO_Errno", "2003", "Last_IO_Error", "Can't connect"),
			"replica broken: receiver-connecting: error 2003: Can't connect", 0, false,
		},
		{"applier stopped, number fine", replica("Replica_SQL_Running", "No"), "replica broken: applier-stopped", 0, false},
		{"NULL is no 0", replica("Seconds_Behind_Source", nil), "replica online: no-value: Seconds_Behind_Source is NULL", 0, false},
		{
			"worst of two channels, first fine",
			says{readOnly: true, channels: [][]any{{"Channel_Name", "a"}, {"Channel_Name", "b", "Seconds_Behind_Source", "500"}}},
			"replica online", 500 * time.Second, true,
		},
		{
			"one channel of two broken",
			says{readOnly: true, channels: [][]any{{"Channel_Name", "a", "Replica_SQL_Running", "No"}, {"Channel_Name", "b"}}},
			"replica broken: channel a: applier-stopped", 0, false,
		},
		{
			"broken is worse than an unknown lag",
			says{readOnly: true, channels: [][]any{
				{"Channel_Name", "a", "Seconds_Behind_Source", nil}, {"Channel_Name", "b", "Replica_IO_Running", "No"},
			}},
			"replica broken: channel b: receiver-stopped", 0, false,
		},
		{"a writable replica is one", says{channels: healthy()}, "replica online", 0, true},
		{"read-only without a source", says{readOnly: true}, "replica unproven: is read-only and has no source", 0, false},
		{
			"channels that may not be seen",
			says{readOnly: true, denied: true},
			"replica unproven: its channels cannot be seen: no privilege (1227)", 0, false,
		},
		{"stray", says{}, "replica unproven: takes writes, has no source, and is not proven to be the primary", 0, false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, Server{Name: "a", Role: FixedReplica})
			w.want("replica unproven: not asked yet")
			w.ask(0, tt.says)
			w.want(tt.want)
			if sv := w.Snapshot().Servers[0]; sv.Lag != tt.lag || sv.LagKnown != tt.known {
				t.Errorf("lag %v, known %v; want %v, %v", sv.Lag, sv.LagKnown, tt.lag, tt.known)
			}
			w.happened()
		})
	}
}

// TestPrimary_provenOnly: a server that looks like the primary is not trusted
// while another one may look like it too.
func TestPrimary_provenOnly(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Server{Name: "a"}, Server{Name: "b"}, Server{Name: "c", Role: FixedReplica})
	stray := "replica unproven: takes writes, has no source, and is not proven to be the primary"
	w.ask(0, says{uuid: uuidA})
	w.want(stray, "replica unproven: not asked yet", "replica unproven: not asked yet")
	w.ask(1, says{err: errTimeout})
	w.want(stray, "replica unproven: timed out (check 1 of 3)", "replica unproven: not asked yet")
	w.happened()
	w.ask(1, replica())
	w.want("primary online", "replica online", "replica unproven: not asked yet")
	w.happened("primary-changed new=a")
}

func TestPrimary_refusedIsGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Server{Name: "a"}, Server{Name: "b"})
	w.ask(0, says{})
	w.ask(1, says{err: syscall.ECONNREFUSED})
	w.want("primary online", "replica offline: connection refused")
	w.happened("primary-changed new=a")
}

func TestPrimary_two(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Server{Name: "a"}, Server{Name: "b"}, Server{Name: "c"})
	w.ask(0, says{uuid: uuidA})
	w.ask(1, replica())
	w.ask(2, replica())
	w.happened("primary-changed new=a")
	w.ask(1, says{uuid: uuidB})
	both := "primary online: takes writes, and so does another server"
	w.want(both, both, "replica online")
	if p := w.Snapshot().Primary(); p != -1 {
		t.Errorf("primary %d with two writers", p)
	}
	w.happened("two-primaries detail=a, b", "primary-lost old=a detail=takes writes, and so does another server")
	w.ask(0, says{uuid: uuidA}) // said once
	w.happened()
	w.ask(0, says{uuid: uuidA, readOnly: true})
	w.want("replica unproven: is read-only and has no source", "primary online", "replica online")
	w.happened("primary-changed old=a new=b")
}

// TestPrimary_channelsHidden: who may not see whether the server has a source
// does not take it for the primary, nor another one while this one takes writes.
func TestPrimary_channelsHidden(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Server{Name: "a"}, Server{Name: "b"})
	w.ask(0, says{uuid: uuidA, denied: true})
	w.ask(1, replica())
	w.want("replica unproven: its channels cannot be seen: no privilege (1227)", "replica online")
	w.ask(1, says{uuid: uuidB})
	if p := w.Snapshot().Primary(); p != -1 {
		t.Errorf("primary %d", p)
	}
	w.happened("two-primaries detail=a, b")
}

func TestPrimary_killedAndPromoted(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Server{Name: "a"}, Server{Name: "b"})
	w.ask(0, says{uuid: uuidA})
	w.ask(1, replica())
	w.happened("primary-changed new=a")
	w.ask(0, says{err: errTimeout})
	w.want("primary online: last check: timed out", "replica online")
	w.ask(0, says{err: errTimeout})
	w.happened()
	w.ask(1, says{uuid: uuidB}) // promoted, while nobody knows whether a is gone
	w.happened("two-primaries detail=a, b", "primary-lost old=a detail=takes writes, and so does another server")
	w.ask(0, says{err: errTimeout})
	w.want("replica offline: timed out", "primary online")
	w.happened("primary-changed old=a new=b")
	w.ask(0, says{uuid: uuidA}) // it comes back and knows nothing
	w.happened("two-primaries detail=a, b", "primary-lost old=b detail=takes writes, and so does another server")
}

// TestPrimary_lostWrites: the new primary has not got all that the old one had.
func TestPrimary_lostWrites(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Server{Name: "a"}, Server{Name: "b"})
	w.ask(0, says{uuid: uuidA, position: uuidA + ":1-9"})
	w.ask(1, replica())
	w.ask(0, says{err: syscall.ECONNREFUSED})
	w.ask(1, says{uuid: uuidB, position: uuidA + ":1-7"})
	w.happened("primary-changed new=a", "primary-lost old=a detail=connection refused",
		"primary-changed old=a new=b", "lost-writes old=a new=b detail="+uuidA+":8-9")
}

// TestPrimary_channelLeft: a promotion that left the stopped channel is none,
// and the reason says so.
func TestPrimary_channelLeft(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Server{Name: "a"})
	w.ask(0, says{channels: [][]any{{"Replica_IO_Running", "No"}}})
	w.want("replica broken: receiver-stopped; it takes writes, but a primary has no channel")
	w.ask(0, says{})
	w.want("primary online")
}

func TestEvent_level(t *testing.T) {
	t.Parallel()
	for want, events := range map[slog.Level][]Event{
		slog.LevelInfo:  {{Kind: PrimaryChanged, New: "a"}, {Kind: StateChanged, Old: "offline", New: "online"}},
		slog.LevelWarn:  {{Kind: StateChanged, Old: "online", New: "broken"}, {Kind: Restarted}, {Kind: Replaced}},
		slog.LevelError: {{Kind: TwoPrimaries}, {Kind: PrimaryLost}, {Kind: LostWrites}, {Kind: PositionLost}, {Kind: Errant}},
	} {
		for _, e := range events {
			if e.Level() != want {
				t.Errorf("%s: level %v, want %v", e, e.Level(), want)
			}
		}
	}
}

func TestPrimary_lostAndBack(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Server{Name: "a"}, Server{Name: "b"})
	w.ask(0, says{uuid: uuidA})
	w.ask(1, replica())
	w.ask(0, says{err: syscall.ECONNREFUSED})
	w.want("primary offline: connection refused", "replica online")
	w.ask(0, says{uuid: uuidA})
	w.want("primary online", "replica online")
	w.happened("primary-changed new=a", "primary-lost old=a detail=connection refused", "primary-changed old=a new=a")
}

func TestPrimary_fixed(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Server{Name: "a", Role: FixedPrimary}, Server{Name: "b"})
	w.ask(1, says{uuid: uuidB})
	w.ask(0, says{uuid: uuidA, channels: [][]any{{"Replica_SQL_Running", "No"}}})
	w.want("primary online", "replica unproven: takes writes, has no source, and is not proven to be the primary")
	w.ask(0, says{uuid: uuidA, readOnly: true})
	w.want("primary online: is the primary by configuration, and read-only",
		"replica unproven: takes writes, has no source, and is not proven to be the primary")
	w.happened("primary-changed new=a")
}

func TestFailures(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Server{Name: "a", Role: FixedReplica})
	w.ask(0, replica())
	for _, want := range []string{
		"replica unproven: open: some fault (check 1 of 3)", "replica unproven: open: some fault (check 2 of 3)",
		"replica offline: open: some fault", "replica offline: open: some fault",
	} {
		w.ask(0, says{err: errOther})
		w.want(want)
	}
	w.ask(0, replica())
	w.want("replica online")
	var states []string
	for _, e := range w.events {
		states = append(states, e.Old+" "+e.New)
	}
	for i, want := range []string{"unproven online", "online unproven", "unproven offline", "offline online"} {
		if i >= len(states) || states[i] != want {
			t.Fatalf("state changes %q", states)
		}
	}
}

func TestFill(t *testing.T) { // not parallel: it counts allocations
	w := newWorld(t, Server{Name: "a", Weight: 3, Zone: "z"}, Server{Name: "b"}, Server{Name: "c"})
	w.ask(0, says{uuid: uuidA, position: uuidA + ":1-5"})
	w.ask(1, replica("Seconds_Behind_Source", "2"))
	w.ask(2, replica("Replica_SQL_Running", "No"))
	w.Acquire(1)
	w.Acquire(1)
	w.Release(1)
	w.Learn(1, w.Epoch(1), value(t, uuidA+":1-4"))
	s := route.Snapshot{CurrentKnown: true, Current: value(t, uuidA+":1-9")}
	w.Fill(&s, w.clock.Add(500*time.Millisecond))
	a, b, c := s.Servers[0], s.Servers[1], s.Servers[2]
	if a.Name != "a" || a.Weight != 3 || a.Zone != "z" || a.Position.String() != uuidA+":1-5" || a.Lag != 0 || a.Active != 0 {
		t.Errorf("a: %+v", a)
	}
	if b.Active != 1 || b.Position.String() != uuidA+":1-4" || b.Lag != 2500*time.Millisecond || !b.LagKnown {
		t.Errorf("b: %+v", b)
	}
	if c.LagKnown || c.Lag != 0 {
		t.Errorf("c: %+v", c)
	}
	if s.CurrentKnown || !s.Current.IsEmpty() {
		t.Error("an old position of the primary is still there")
	}
	if w.Snapshot().Servers[1].Active != 0 {
		t.Error("a published snapshot changed")
	}
	w.Fill(&s, time.Time{})
	if len(s.Servers) != 3 || s.Servers[1].Lag != 2*time.Second {
		t.Errorf("without a time: %+v", s.Servers)
	}
	if n := testing.AllocsPerRun(100, func() { w.Fill(&s, w.clock) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

// TestPrimary_goneAndRead: while nothing can be written, a replica is not late for not hearing of it.
func TestPrimary_goneAndRead(t *testing.T) {
	t.Parallel()
	orphan := replica("Replica_IO_Running", "Connecting", "Seconds_Behind_Source", nil)
	w := newWorld(t, Server{Name: "a"}, Server{Name: "b"})
	w.ask(1, orphan)
	w.ask(0, says{err: syscall.ECONNREFUSED})
	if s := w.Snapshot().Servers[1].State; s != route.Broken {
		t.Errorf("a replica that was never seen to be good is %s", s)
	}
	w.ask(0, says{uuid: uuidA})
	w.ask(1, replica())
	w.ask(1, orphan)
	if s := w.Snapshot().Servers[1].State; s != route.Broken {
		t.Errorf("with a primary that others can reach it is %s", s)
	}
	w.ask(0, says{err: syscall.ECONNREFUSED})
	w.want("primary offline: connection refused", "replica online: its source a is gone, and no other server takes writes")
	if sv := w.Snapshot().Servers[1]; !sv.LagKnown {
		t.Error("its lag is unknown, which a limit takes for too much")
	}
	w.ask(1, replica("Replica_IO_Running", "Connecting", "Replica_SQL_Running", "No"))
	if s := w.Snapshot().Servers[1].State; s != route.Broken {
		t.Errorf("with a stopped applier it is %s", s)
	}
	w.ask(1, orphan)
	if s := w.Snapshot().Servers[1].State; s != route.Broken {
		t.Errorf("after that it is %s, though nobody knows what it missed", s)
	}
	w.ask(1, says{uuid: uuidB})
	w.want("replica offline: connection refused", "primary online")
}
