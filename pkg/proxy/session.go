package proxy

import (
	"context"
	"errors"
	"io"
	"runtime/debug"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/deadline"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/frontend"
	"github.com/mysqlrw/mysqlrw/pkg/netloop"
	"github.com/mysqlrw/mysqlrw/pkg/sessionstate"
	"github.com/mysqlrw/mysqlrw/pkg/tracker"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
	"github.com/mysqlrw/mysqlrw/route"
)

// session is one client. All of it belongs to the goroutine that serves the client, but for what
// stands under mu and the atomics.
type session struct {
	p       *Proxy
	on      *listener
	cluster *cluster
	id      uint32
	client  *frontend.Conn
	account *account
	user    string
	want    wire.Capability // what connections must be able to do for this client
	zstd    uint8           // the level of its compression with that
	// attributes are those of the client's connection, where it shares its connections to servers with
	// nobody.
	attributes string
	task       *netloop.Task
	ctx        context.Context // ends when the client is gone or the session is to be cut
	cancel     context.CancelCauseFunc

	route    route.Session
	policy   route.Policy
	snap     route.Snapshot
	state    *sessionstate.State
	defaults defaults
	first    *sessionstate.State // what a reset goes back to, without its schema
	status   wire.Status         // as the client was told last
	links    []held              // by server
	selected uint64              // counts USE
	last     int                 // the server of the statement before, or -1
	tracks   tracks              // what the client wants to be told of changes

	begin    string    // a BEGIN that no server has got yet
	question *question // about state, put off until the next statement
	askedOn  *link
	unseen   *link // on which a statement failed that may have changed what nobody told
	unseenAt int   // its server
	unasked  bool  // something that a session with one connection need not know
	identity *link // whose CONNECTION_ID() the client was told
	insertID insertID
	insertOn *link  // on which insertID is, while it is not known here
	insertAt int    // its server
	insertOK uint64 // what the server's OK said, which LAST_INSERT_ID() mostly is
	debt     *debt  // of insertOn

	statements map[uint32]*statement
	lastID     uint32 // of statements
	cursors    int    // how many of them have a cursor open
	bound      string // the variable that pins the session to its connection
	prepared   uint32 // the id that a client of MariaDB calls "last"

	answer      wire.Converter
	out         []byte // for the client
	packets     []byte // for the server
	answerSeq   byte   // the number of the server's first packet
	steps       []step // what of packets goes before the statement
	shown       lastRoute
	hasty       route.Policy  // policyFor's
	names       []tracker.Key // a buffer for those of tables
	value       []byte        // a buffer for the answer to a wait
	timer       *time.Timer   // for a wait in company; nil before the first
	guiding     *guide        // the wait that others may join; nil for none
	answered    time.Time     // when the last statement had its answer
	lossesKnown int           // how many of the cluster's losses are out of the token
	changed     bool          // the open transaction has changed something for certain
	choice      *choosing     // how the choice stood when snap was filled
	followed    int           // one more than the server that must be the chosen one still when its answer begins; 0 for none

	began   time.Time
	applied uint64     // Options.Applied when the policy was taken
	mu      sync.Mutex // keeps a link from being released while it is killed
	running *link      // that a statement runs on now
	public  public
	kill    killed        // what was asked for meanwhile
	since   atomic.Int64  // when the running statement began, Unix nanoseconds; 0 if none runs
	told    atomic.Uint64 // identity's number; 0 if the client was told none
	busy    atomic.Bool   // between a command and its answer
	// drainable: it waits for a command and has nothing to lose.
	drainable atomic.Bool
	woken     atomic.Bool   // the read deadline is over because of a reload
	counted   string        // the user that sessions has counted it for
	bounded   time.Time     // when the read deadline was set
	limit     time.Duration // that it was set to
	// lacking are the servers, by bit, that could not be given the state lackingFor a moment ago: a
	// replica does not have the schema yet, for one.
	lacking    uint64
	lackingAt  time.Time
	lackingFor *sessionstate.State
	wait       time.Duration // the session's own wait_timeout, if it has set one
	refusals   int           // of a change of its user; see changeUser
}

// held is what a session has of one server.
type held struct {
	h    *handle
	have bool // it is the session's now; else it is in the pool, and can be had back if nobody took it
	at   time.Time
	// selected is session.selected when its schema was selected.
	selected uint64
}

// errEnd ends a session without a word to the client.
var errEnd = errors.New("session ends")

// serve talks to a client that has logged in, until it goes.
func (s *session) serve() (err error) {
	defer func() {
		if r := recover(); r != nil {
			s.aside()
			s.p.log.Error("panic", "session", s.id, "user", s.user, "panic", r, "stack", string(debug.Stack()))
			s.client.SetSeq(1)
			_ = s.client.WriteError(1105, "HY000", "mysqlrw: internal error, see the proxy's log")
			err = errEnd
		}
		s.leave()
	}()
	for {
		s.idle()
		payload, err := s.client.ReadCommand()
		if err != nil {
			if err := s.readFailed(err); err != nil {
				return err
			}
			continue
		}
		s.busy.Store(true)
		if s.p.draining.Load() {
			_ = s.client.SetReadDeadline(time.Time{})
			s.bounded = time.Time{}
		}
		s.move()
		if len(payload) > longCommand {
			s.aside()
		}
		if err := s.command(payload); err != nil {
			return err
		}
		s.busy.Store(false)
	}
}

// longCommand is the length of a command that takes longer to look through than others should wait.
const longCommand = 64 << 10

// aside goes before what may take long and is no connection of the session: the loop that runs it has others
// to run.
func (s *session) aside() { s.task.Leave() }

// idle prepares for the next command.
func (s *session) idle() {
	if cap(s.out) > maxKept {
		s.out = nil
	}
	if cap(s.packets) > maxKept {
		s.packets = nil
	}
	d := s.p.conf.Load().IdleTimeout
	if s.wait > 0 && (d == 0 || s.wait < d) {
		d = s.wait
	}
	if d > 0 {
		// Moving a deadline costs as much as a lock or two, and nobody counts an idle hour in moments.
		if now := s.p.now(); now.Sub(s.bounded) > d/64 || s.limit != d {
			s.limit = d
			s.bounded = now
			_ = s.client.SetReadDeadline(now.Add(d))
		}
	}
	free := s.free()
	s.publish()
	s.drainable.Store(free)
	s.move() // behind the line before: a reload looks there after it has brought the new list
	if s.p.draining.Load() && free {
		_ = s.client.SetReadDeadline(deadline.Past())
	}
}

// maxKept is the largest buffer for packets that is kept from one command to the next.
const maxKept = 16 << 10

// readFailed says why there is no further command. It is nil if there may be one.
func (s *session) readFailed(err error) error {
	var timeout interface{ Timeout() bool }
	switch {
	case errors.Is(err, io.EOF):
		return errEnd
	case errors.As(err, &timeout) && timeout.Timeout():
		if s.ctx.Err() == nil && !s.p.draining.Load() && s.woken.CompareAndSwap(true, false) {
			s.move()
			_ = s.client.SetReadDeadline(time.Time{})
			s.bounded = time.Time{}
			return nil
		}
		if s.ctx.Err() == nil && s.p.draining.Load() && !s.free() {
			_ = s.client.SetReadDeadline(time.Time{})
			return nil
		}
		s.client.SetSeq(0)
		if s.p.draining.Load() || s.ctx.Err() != nil {
			if s.ctx.Err() == nil {
				s.cancel(shutDown)
			}
			return s.cut()
		}
		if s.first.Catalog().Server().Flavor == flavor.MySQL { // clients of MariaDB do not expect a word
			_ = s.client.SetDeadline(time.Now().Add(time.Second))
			_ = s.client.WriteError(4031, "HY000", "The client was disconnected by the server because of inactivity. "+
				"See timeouts.idle-timeout of mysqlrw for configuring this behavior.")
		}
		return errors.New("client was idle for too long")
	}
	return err
}

// free tells whether the session can end without loss: it is in no transaction and holds nothing.
func (s *session) free() bool {
	if s.route.Transaction.Open || s.begin != "" || s.route.Held() {
		return false
	}
	for i := range s.links {
		if s.links[i].have && (!s.p.conf.Load().Unshared || s.ties(i)) {
			return false
		}
	}
	return true
}

// leave gives back what the session has.
func (s *session) leave() {
	s.dropLinks()
	s.closeStatements()
	s.cluster.leave(s.p)
	s.cancel(errEnd)
}

// dropLinks gives every connection to the pool, for anybody.
func (s *session) dropLinks() {
	for i := range s.links {
		h := s.links[i].h
		if h == nil {
			continue
		}
		if s.regain(i) {
			s.giveBack(i, h)
		}
		s.links[i] = held{}
	}
	s.insertOn, s.last = nil, -1
}

// giveBack makes a connection one that anybody may have, or closes it.
func (s *session) giveBack(i int, h *handle) {
	l := h.Member
	l.insertID.owed = nil
	pool := s.cluster.servers[i].dialing.pool
	switch {
	case l.conn.Err() != nil || l.spoiled || !l.asNew() || s.p.conf.Load().Unshared:
		s.aside()
		pool.Discard(h)
		return
	case l.dirty || s.needs(i) || l.conn.Status().Has(wire.InTransaction):
		ctx, cancel := context.WithTimeout(context.Background(), resetTimeout)
		defer cancel()
		if l.again = true; !l.asNew() || l.reset(ctx) != nil {
			s.aside()
			pool.Discard(h)
			return
		}
	}
	l.conn.Attach(nil)
	pool.Release(h, 0, l.state, s.p.now())
}

// resetTimeout bounds the reset of a connection whose session has ended. One that takes longer is
// closed, which has the same effect.
const resetTimeout = time.Second

// catchUp asks for what a session with one connection has left to that.
func (s *session) catchUp() {
	if !s.sole() || !s.links[0].have {
		return
	}
	l := s.links[0].h.Member
	if s.unasked {
		s.lookUp(l)
	}
	if text := s.state.Ask(); text != "" && l.state == s.state {
		if trackers, ok := l.answerTo(s.ctx, text); ok {
			s.state = s.state.Track(trackers)
		}
	}
}

// move goes over to the list of servers that a reload has brought, as soon as nothing ties the
// session to the old one.
func (s *session) move() {
	if s.cluster == s.p.cluster.Load() || !s.free() {
		return
	}
	s.catchUp()
	s.dropLinks()
	s.cluster.leave(s.p)
	next := s.p.enter()
	s.cluster, s.links, s.snap = next, make([]held, len(next.servers)), route.Snapshot{}
	s.renew()
	s.lossesKnown = 0
}

// renew takes a changed policy over. What a session was promised when it began stays, unless an operator
// has said that it does not.
func (s *session) renew() {
	conf := s.p.conf.Load()
	was := s.policy
	s.policy = conf.Listeners[s.on.index].Policy
	if s.applied == conf.Applied {
		s.policy.Endpoint, s.policy.Level, s.policy.Monotonic, s.policy.DropToken = was.Endpoint, was.Level, was.Monotonic, was.DropToken
		s.policy.Splitting, s.policy.SystemSchemasOnReplicas = was.Splitting, was.SystemSchemasOnReplicas
	}
	s.applied = conf.Applied
	s.route.Options.SystemSchemasOnReplicas = s.policy.SystemSchemasOnReplicas
}
