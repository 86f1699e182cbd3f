package topology

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mysqlrw/mysqlrw/lag"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/route"
)

// Monitor watches servers. All methods may be called by any number of
// goroutines; a server's index is its place in Options.Servers.
type Monitor struct {
	options Options
	members []*member
	now     atomic.Pointer[publication]

	// mu guards the judgement of checks: the fields of member that say so, and
	// the ones below.
	mu      sync.Mutex
	primary int  // the one that is trusted, or -1
	last    int  // the one that was trusted last, or -1
	two     bool // several look like the primary
}

// publication is a snapshot with what is needed to use it. It is immutable.
type publication struct {
	snapshot route.Snapshot
	measured []time.Time // when each server's lag was measured, if it is known
	servers  []flavor.Server
	selves   []self
	oldest   time.Time     // when the last check ended of the server for which that is longest ago
	next     chan struct{} // closed when a newer one is there
}

// self is who a server says that it is.
type self struct {
	identity string    // "" if it was never asked with success
	started  time.Time // as observation has it
	silent   bool      // the last check had no answer, and it is not gone
}

// member is all that is known of one server.
type member struct {
	Server
	active atomic.Int64
	known  atomic.Pointer[known]
	hurry  chan struct{} // holds one request for a check at once
	// errands holds one, if attended.
	errands   chan errand
	attending sync.Mutex
	attended  bool
	link      link // belongs to the goroutine that checks

	// Guarded by Monitor.mu.
	answered  bool      // has ever been asked with success
	checked   time.Time // when the last check ended
	failures  int       // in a row
	failure   string    // of the last check, if failures > 0
	gone      bool      // failed often enough, or certainly
	goneAt    time.Time // of the first of the failures
	steady    bool      // it was a replica with a known lag when that could last be told
	steadyAt  time.Time
	steadyLag time.Duration
	seen      observation // the last one
	started   time.Time   // of the server's process
	ownAt     uint64      // own() when it was seen as a replica first
	follows   bool        // ownAt counts
	early     gtid.Value  // what was reported last and is not believed yet
	shown     route.Server
}

// New returns a monitor that has not asked anybody yet: all servers are
// Unproven. The error is about options that cannot work.
func New(o Options) (*Monitor, error) {
	o.Servers = slices.Clone(o.Servers)
	if err := o.complete(); err != nil {
		return nil, err
	}
	m := &Monitor{options: o, primary: -1, last: -1}
	for _, s := range o.Servers {
		mb := &member{Server: s, hurry: make(chan struct{}, 1), errands: make(chan errand, 1), link: link{open: s.Open, byLog: o.ByLog}}
		mb.known.Store(&known{})
		m.members = append(m.members, mb)
	}
	m.now.Store(&publication{next: make(chan struct{})})
	m.judge()
	m.publish()
	return m, nil
}

// Run checks the servers until ctx ends, and returns when all of its
// goroutines, one for each server, have ended and all connections are closed.
// It is called once.
func (m *Monitor) Run(ctx context.Context) {
	var all sync.WaitGroup
	for _, mb := range m.members {
		all.Go(func() { m.watch(ctx, mb) })
	}
	all.Wait()
}

// askAgain is after how long at most a server is asked again that did not answer.
const askAgain = time.Second

// notKept is the interval from which on no connection is kept between two checks.
const notKept = 10 * time.Second

func (m *Monitor) watch(ctx context.Context, mb *member) {
	defer mb.link.close()
	mb.attend(true, nil)
	defer func() { mb.attend(false, context.Cause(ctx)) }()
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case e := <-mb.errands:
			e.done(mb.link.run(ctx, m, e))
			continue
		case <-mb.hurry:
		case <-timer.C:
		}
		next := m.options.Interval
		if !m.check(ctx, mb) {
			next = min(next, askAgain)
		}
		if m.options.Interval >= notKept {
			mb.link.close()
		}
		timer.Reset(next)
	}
}

// check asks one server and judges all by the answer. It tells whether there was one.
func (m *Monitor) check(ctx context.Context, mb *member) (answered bool) {
	before := mb.known.Load() // what the server must report, as it is asked later
	limited, cancel := context.WithTimeout(ctx, m.options.Timeout)
	seen, err := mb.link.look(limited, m.options.Now,
		// A busy applier is told from a stuck one by a wait, which leaves time for the rest.
		lag.Options{Budget: m.options.Timeout / 2, HeartbeatTable: m.options.Heartbeat}, mb.Role == FixedPrimary)
	cancel()
	if ctx.Err() != nil {
		return false // it was we who broke it off
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	var events []Event
	mb.checked = m.options.Now()
	if err != nil {
		mb.failed(err, m.options.Failures, mb.checked)
	} else {
		events = mb.answer(seen, before)
	}
	events = append(events, m.judge()...)
	m.publish()
	for _, e := range events {
		e.At = m.options.Now()
		m.options.Events(e)
	}
	m.options.Checked()
	return err == nil
}

// Recheck asks for a check of the server now, not at the end of the interval.
// Whoever loses a connection or is told that the server is read-only calls it.
// It does not wait; requests that come before the check starts are one.
func (m *Monitor) Recheck(server int) {
	select {
	case m.members[server].hurry <- struct{}{}:
	default:
	}
}

// publish makes what was judged visible. It is called with mu held.
func (m *Monitor) publish() {
	old := m.now.Load()
	p := &publication{
		next: make(chan struct{}), measured: make([]time.Time, len(m.members)), servers: make([]flavor.Server, len(m.members)),
		selves: make([]self, len(m.members)),
	}
	p.snapshot.Servers = make([]route.Server, len(m.members))
	for i, mb := range m.members {
		p.snapshot.Servers[i] = mb.shown
		p.snapshot.Servers[i].Position = mb.known.Load().position
		p.snapshot.Servers[i].Active = int(mb.active.Load())
		p.measured[i], p.servers[i] = mb.seen.began, mb.seen.server
		if i == 0 || mb.checked.Before(p.oldest) {
			p.oldest = mb.checked
		}
		if mb.answered {
			p.selves[i] = self{mb.seen.identity(), mb.started, mb.failures > 0 && !mb.gone}
		}
	}
	m.now.Store(p)
	close(old.next)
}

// Snapshot returns what the last check left, to be shown and not changed.
// Positions and active counts are from that moment; a decision takes Fill.
func (m *Monitor) Snapshot() *route.Snapshot { return &m.now.Load().snapshot }

// Server returns flavor and version of a server, as it said when it was asked
// last. The zero value is a server that was never asked with success.
func (m *Monitor) Server(server int) flavor.Server { return m.now.Load().servers[server] }

// Identity returns what a server calls itself, whatever its name and address are: its server_uuid, or of MariaDB
// its server_id. It is the same for everybody who asks it, and "" if it was never asked with success. started is
// when its process did, to two seconds.
func (m *Monitor) Identity(server int) (name string, started time.Time) {
	one := &m.now.Load().selves[server]
	return one.identity, one.started
}

// Silent tells whether the last check of a server had no answer, which by itself does not mean that it is gone, and
// when the last one began that had.
func (m *Monitor) Silent(server int) (since time.Time, is bool) {
	p := m.now.Load()
	return p.measured[server], p.selves[server].silent
}

// Oldest returns when the last check ended, whatever came of it, of the server for which that is longest ago; the
// zero time if not all have been checked. What is known of the servers is no older than that.
func (m *Monitor) Oldest() time.Time { return m.now.Load().oldest }

// Fill writes the newest snapshot into dst, with the positions and active
// counts of this moment, and no Current. It uses dst's storage, allocates
// nothing if that is large enough, and takes no lock.
//
// A known lag is made longer by the time from its measurement to now: for all
// that is known, the replica has applied nothing since. The zero time leaves
// it as it was measured.
func (m *Monitor) Fill(dst *route.Snapshot, now time.Time) {
	p := m.now.Load()
	dst.Servers = append(dst.Servers[:0], p.snapshot.Servers...)
	dst.Current, dst.CurrentKnown, dst.Ahead, dst.At = p.snapshot.Current, false, gtid.Value{}, now
	dst.NeededKnown = false
	for i, mb := range m.members {
		sv := &dst.Servers[i]
		known := mb.known.Load()
		sv.Position, sv.Epoch = known.position, uint64(known.epoch)
		sv.Active = int(mb.active.Load())
		if sv.LagKnown && !now.IsZero() {
			sv.Lag += max(now.Sub(p.measured[i]), 0)
		}
	}
}

// Wait returns nil as soon as what the servers were found to be satisfies ok,
// which is called with the snapshot of this moment and after each check, and
// the cause if ctx ends before. The snapshot is ok's to keep.
func (m *Monitor) Wait(ctx context.Context, ok func(*route.Snapshot) bool) error {
	for {
		p := m.now.Load()
		s := new(route.Snapshot)
		m.Fill(s, time.Time{})
		if ok(s) {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-p.next:
		}
	}
}

// Acquire counts a statement that starts to run on a server. Each is followed
// by one Release.
func (m *Monitor) Acquire(server int) { m.members[server].active.Add(1) }

// Release ends what Acquire began.
func (m *Monitor) Release(server int) { m.members[server].active.Add(-1) }
