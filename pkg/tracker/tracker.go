package tracker

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/backend"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/netloop"
)

// Source is one life of one server's data. Positions of two of them are not compared.
type Source struct {
	Server int    // as the caller numbers them
	Epoch  uint64 // see topology.Monitor.Epoch
}

// Options say whom to follow.
type Options struct {
	// Connect opens a connection to the primary of this moment, as an account that may replicate and can read the whole
	// schema: see ReadSchema. It waits as long as there is no primary.
	Connect func(ctx context.Context) (*backend.Conn, Source, error)
	// Everywhere returns what all replicas that take reads are known to have, and whether there are any. It is called
	// with the tracker's lock held, and does not wait.
	Everywhere func() (gtid.Value, bool)
	// ServerID is what the tracker calls itself among the primary's replicas. No other one may have it.
	ServerID uint32
	// Changed is told when the tracker gets ready, and of what keeps it from that; not of the moments after a DDL. Nil
	// is nobody.
	Changed func(State)
}

// State is how a tracker is.
type State struct {
	// Following says that the log is read, Ready that Need can say more than no.
	Following, Ready bool
	// Err is what keeps it from being ready; empty if that is only a matter of time.
	Err string
	// Read is how far the log has been read.
	Read gtid.Value
	// Tables is how many tables have changes that a replica may lack, Transactions how many were read since the start.
	Tables       int
	Transactions uint64
	// Schemas is how often views and foreign keys were read.
	Schemas uint64
}

// String says it in a few words.
func (s State) String() string {
	switch {
	case s.Ready:
		return "ready"
	case s.Err != "":
		return "not ready: " + s.Err
	case s.Following:
		return "not ready: views and foreign keys are being read"
	}
	return "not ready: connecting"
}

// Tracker follows a primary. Make one with New; all methods may be called by any number of goroutines.
type Tracker struct {
	o Options

	mu        sync.Mutex
	book      book
	following bool
	began     bool // there is a connection, or was until Again
	source    Source
	life      life
	err       string
	was       State         // what Changed was told
	ready     chan struct{} // closed when it may have become ready
	learned   *learned
	reaches   map[gtid.Value]*reach
	// late: somebody has waited in vain, and what was waited for has not been read yet.
	late bool
	conn *backend.Conn // that is read, to end it

	transactions, schemas atomic.Uint64
	again                 chan struct{} // holds one request to follow anew
	asks                  chan struct{} // holds one request for the schema
}

// reach is a position that sessions wait for.
type reach struct {
	signal netloop.Signal
	timer  *time.Timer
	over   bool
}

// New returns a tracker that does nothing before Run.
func New(o Options) *Tracker {
	t := &Tracker{o: o, reaches: map[gtid.Value]*reach{}, again: make(chan struct{}, 1), asks: make(chan struct{}, 1), ready: make(chan struct{})}
	t.book.everywhere = o.Everywhere
	t.book.begin(gtid.Value{})
	return t
}

// retry is how long the tracker waits after a failure.
const retry = 500 * time.Millisecond

// Run follows the primary until ctx ends, and returns when nothing of it runs any more. It is called once.
func (t *Tracker) Run(ctx context.Context) {
	var readers sync.WaitGroup
	defer readers.Wait()
	readers.Go(func() { t.readSchemas(ctx) })
	for ctx.Err() == nil {
		select {
		case <-t.again: // what it is about has happened before
		default:
		}
		failed := t.stopped(t.follow(ctx))
		if ctx.Err() != nil {
			return // which is nothing to be told of
		}
		t.tell()
		if !failed {
			continue
		}
		select {
		case <-ctx.Done():
		case <-t.again:
		case <-time.After(retry):
		}
	}
}

// Again has the tracker look who is the primary: it is another one, or has another life. Until it follows that,
// Need says no.
func (t *Tracker) Again() {
	select {
	case t.again <- struct{}{}:
	default:
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.following = false
	if t.conn != nil {
		_ = t.conn.Close()
		t.conn = nil
	}
}

// stopped notes that the log is not read any more, and tells whether that is to be said: it is no failure that
// Again was called.
func (t *Tracker) stopped(err error) (failed bool) {
	t.mu.Lock()
	failed = t.conn != nil || !t.began
	t.following, t.began, t.conn, t.late, t.err = false, false, nil, false, ""
	if failed {
		t.err = err.Error()
	}
	for all, r := range t.reaches {
		t.end(all, r)
	}
	t.mu.Unlock()
	return failed
}

// tell tells Changed if there is something new.
func (t *Tracker) tell() {
	s := t.State()
	t.mu.Lock()
	same := s.Ready == t.was.Ready && s.Following == t.was.Following && s.Err == t.was.Err
	t.was = s
	t.mu.Unlock()
	if !same && t.o.Changed != nil {
		t.o.Changed(s)
	}
}

// knows tells whether Need can say more than no. The caller holds the lock.
func (t *Tracker) knows() bool { return t.following && t.book.schema != nil }

// Ready returns when Need can say more than no, or the cause if ctx ends before.
func (t *Tracker) Ready(ctx context.Context) error {
	for {
		t.mu.Lock()
		is, may := t.knows(), t.ready
		t.mu.Unlock()
		if is {
			return nil
		}
		select {
		case <-ctx.Done():
			return context.Cause(ctx)
		case <-may:
		}
	}
}

// State returns how the tracker is.
func (t *Tracker) State() State {
	t.mu.Lock()
	defer t.mu.Unlock()
	s := State{
		Following: t.following, Ready: t.knows(), Read: t.book.read, Tables: len(t.book.tables),
		Transactions: t.transactions.Load(), Schemas: t.schemas.Load(),
	}
	if !s.Ready {
		s.Err = t.err
	}
	return s
}

// Need returns what a read of the tables must see of all, which was the position of that source at some moment after
// the read arrived. If why is not WhyNot, that is everything.
func (t *Tracker) Need(tables []Key, all gtid.Value, source Source) (need gtid.Value, why Why) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case !t.following:
		return all, WhyOff
	case t.source != source:
		return all, WhySource
	}
	return t.book.need(tables, all)
}

// Wait waits for the log to be read up to a position, for at most so long, and tells whether it has been. Who
// waits when somebody has waited in vain does not. task is the caller's, nil for an ordinary goroutine.
func (t *Tracker) Wait(task *netloop.Task, all gtid.Value, source Source, atMost time.Duration) bool {
	t.mu.Lock()
	if t.has(all, source) {
		t.mu.Unlock()
		return true
	}
	if !t.following || t.source != source || t.late || atMost <= 0 {
		t.mu.Unlock()
		return false
	}
	r := t.reaches[all]
	if r == nil {
		r = &reach{}
		r.timer = time.AfterFunc(atMost, func() { t.expired(all, r) })
		t.reaches[all] = r
	}
	t.mu.Unlock()
	r.signal.Wait(task)
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.has(all, source)
}

// has tells whether the log of a source has been read up to a position. The caller holds the lock.
func (t *Tracker) has(all gtid.Value, source Source) bool {
	return t.following && t.source == source && t.book.read.Has(all)
}

// expired ends the wait for a position, and all that come until it is there.
func (t *Tracker) expired(all gtid.Value, r *reach) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.reaches[all] != r {
		return
	}
	t.late, r.over = true, true
	r.signal.Happen(nil)
}

// end ends a wait. It is called with mu held.
func (t *Tracker) end(all gtid.Value, r *reach) {
	r.timer.Stop()
	delete(t.reaches, all)
	if r.over {
		t.late = false
	}
	r.signal.Happen(nil)
}

// took takes a transaction in.
func (t *Tracker) took(c *change) {
	t.transactions.Add(1)
	t.mu.Lock()
	known := t.book.schema != nil
	t.book.add(c)
	if t.book.crowded() {
		t.book.prune()
	}
	t.settle()
	for all, r := range t.reaches {
		if t.book.read.Has(all) {
			t.end(all, r)
		}
	}
	lost := known && t.book.schema == nil
	t.mu.Unlock()
	if lost {
		t.askSchema()
	}
}
