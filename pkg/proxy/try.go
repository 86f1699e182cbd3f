package proxy

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/backend"
	"github.com/mysqlrw/mysqlrw/pkg/pool"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
	"github.com/mysqlrw/mysqlrw/route"
)

// try runs a statement on the server of the decision. again says that it is to be decided anew:
// nothing has happened, or it may happen twice.
func (s *session) try(req *request, d *route.Decision) (again bool, err error) {
	i := d.Server
	srv := s.cluster.servers[i]
	if err := s.enter(srv); err != nil {
		return false, s.unavailable(i, s.p.conf.Load().queueTimeout(), err)
	}
	defer srv.gate.leave()
	asksPrevious := req.st.Facts.Any(route.FactPrevious) || req.st.Class == route.Diagnostics
	if asksPrevious && d.Target == route.ToLast && !s.hasLast(i) {
		return false, s.fail(1105, "HY000", "mysqlrw: another client needed the connection of the statement before, and what it knew is gone ("+
			req.st.Reason.String()+")")
	}
	if !asksPrevious && s.question != nil {
		s.settleQuestion()
	}
	l, err := s.acquire(i)
	if err == nil && asksPrevious && d.Target != route.ToLast && s.last != i {
		err = l.reset(s.ctx) // what it knows is of somebody else's statement
	}
	if err != nil {
		return s.acquireFailed(req, d, err)
	}
	epoch := s.cluster.monitor.Epoch(i)
	s.cluster.monitor.Acquire(i)
	defer s.cluster.monitor.Release(i)
	s.begins(l)
	out := s.exchange(l, req, d, epoch)
	s.ends()
	switch {
	case out.end != nil: // the client is gone, and nobody knows where in its answer the server is
		s.discard(i)
		return false, out.end
	case out.broken != nil:
		return s.broken(req, d, &out)
	case out.behind:
		s.settle(i, req, &out)
		req.st.Target, req.st.Reason, req.moved = route.ToPrimary, route.NothingCaughtUp, true
		return true, nil
	case out.anew:
		return true, nil
	case out.elsewhere:
		s.settle(i, req, &out)
		return s.elsewhere(req, d, &out.said)
	}
	s.note(req, d, i)
	s.settle(i, req, &out)
	if out.failed && closes(out.code) {
		return false, errEnd // the server closes behind it, and so does this one
	}
	return false, nil
}

// closes tells whether a server closes the connection behind an error: the packet was too big.
func closes(code uint16) bool { return code == 1153 }

// enter waits for the server's gate.
func (s *session) enter(srv *server) error {
	if srv.gate.max <= 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.p.conf.Load().queueTimeout())
	defer cancel()
	return srv.gate.enter(ctx)
}

// acquire gets a connection to a server: the one that the session has or had, or another one.
func (s *session) acquire(i int) (*link, error) {
	if s.links[i].have {
		return s.links[i].h.Member, nil
	}
	if s.links[i].h != nil {
		if s.reclaim(i) {
			return s.links[i].h.Member, nil
		}
		s.links[i] = held{}
		if s.last == i {
			s.last = lostLast
		}
	}
	d := s.cluster.servers[i].dialing
	ctx, cancel := context.WithTimeout(s.ctx, s.p.conf.Load().acquireTimeout())
	defer cancel()
	k := key{account: s.account, want: s.want}
	h, _, err := d.pool.Acquire(ctx, k, s, s.state)
	if err != nil {
		return nil, err
	}
	l := h.Member
	if err := s.takeOver(ctx, l); err != nil {
		d.pool.Discard(h)
		return nil, err
	}
	s.links[i] = held{h: h, have: true}
	return l, nil
}

// hasLast tells whether the session has, or got back, the connection of the statement before.
func (s *session) hasLast(i int) bool {
	return s.last == i && s.links[i].h != nil && (s.links[i].have || s.reclaim(i))
}

// lostLast is session.last when the connection of the statement before was given to somebody else.
const lostLast = -2

// freshFor is how long a connection that its session left is taken for good. After that the socket
// is looked at.
const freshFor = 100 * time.Millisecond

// reclaim gets a connection back that the session left in the pool, if it is there and good.
func (s *session) reclaim(i int) bool {
	one := &s.links[i]
	pool := s.cluster.servers[i].dialing.pool
	if !pool.Reclaim(one.h, s) {
		return false
	}
	if s.p.now().Sub(one.at) > freshFor && one.h.Member.CheckIdle() != nil {
		pool.Discard(one.h)
		return false
	}
	one.have = true
	return true
}

// takeOver makes a connection that another session had ready for this one. What only the server
// knows for that session is asked first.
func (s *session) takeOver(ctx context.Context, l *link) error {
	if owed := l.insertID.owed; owed != nil && owed != s.debt {
		l.insertID.owed = nil
		value, err := l.lastInsertID(ctx)
		owed.pay(value, err == nil)
		if err != nil {
			return err
		}
		l.insertID.value, l.insertID.known = value, true
	}
	if q := l.question; q != nil {
		l.question = nil
		if trackers, ok := l.answerTo(ctx, q.text); ok {
			q.paid <- trackers
		}
		close(q.paid)
	}
	if l.dirty || l.generation != l.from.generation.Load() {
		return l.reset(ctx)
	}
	return nil
}

// lastInsertID asks the server for it.
func (l *link) lastInsertID(ctx context.Context) (value uint64, err error) {
	r, err := l.conn.Query(ctx, "SELECT LAST_INSERT_ID()")
	if err != nil {
		return 0, err
	}
	return strconv.ParseUint(first(r), 10, 64)
}

func first(r *backend.Result) string {
	if len(r.Rows) == 0 || len(r.Rows[0]) == 0 {
		return ""
	}
	return string(r.Rows[0][0])
}

// acquireFailed says what follows when there is no connection to a server.
func (s *session) acquireFailed(req *request, d *route.Decision, err error) (again bool, _ error) {
	var refused *wire.ServerError
	switch {
	case s.ctx.Err() != nil:
		return false, s.cut()
	case errors.As(err, &refused):
		if err := s.fail(refused.Code, refused.State, refused.Message); err != nil || refused.Code == 1045 {
			return false, errEnd
		}
		return false, nil
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, pool.ErrClosed):
		return false, s.unavailable(d.Server, s.p.conf.Load().acquireTimeout(), err)
	}
	return s.gone(req, d, err)
}

// unavailable tells the client that a server has no room for its statement.
func (s *session) unavailable(i int, limit time.Duration, err error) error {
	if s.ctx.Err() != nil {
		return s.cut()
	}
	name := s.cluster.servers[i].Name
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("waited %v", limit)
	}
	return s.fail(1040, "08004", fmt.Sprintf("mysqlrw: too many connections or statements on %s: %v", name, err))
}

// cut ends the session because its context did. Only a shutdown is told: a server says nothing to a
// client that was killed.
func (s *session) cut() error {
	if errors.Is(context.Cause(s.ctx), shutDown) {
		_ = s.client.SetDeadline(time.Now().Add(time.Second))
		_ = s.fail(1053, "08S01", "Server shutdown in progress")
	}
	return errEnd
}

// gone goes on after a server that could not be reached: elsewhere, or on the next primary.
func (s *session) gone(req *request, d *route.Decision, why error) (again bool, err error) {
	i := d.Server
	s.cluster.monitor.Recheck(i)
	switch {
	case d.Target == route.ToHolder || d.Target == route.ToLast:
		return false, s.fail(1105, "HY000", fmt.Sprintf("mysqlrw: server %s is gone, and with it what the statement needs (%s)",
			s.cluster.servers[i].Name, d.Reason()))
	case s.snap.Servers[i].Role == route.Replica || req.repeatable() && d.Target == route.ToReplica:
		req.excluded |= 1 << i
		return true, nil
	}
	req.tried = true
	if again, err := s.awaitPrimary(req); again || err != nil {
		return again, err
	}
	return false, s.fail(1290, "HY000", fmt.Sprintf("mysqlrw: the primary %s cannot be reached, waited %v: %v",
		s.cluster.servers[i].Name, s.p.conf.Load().PrimaryWait, plain(why)))
}

// plain is an error without the line breaks that a client's terminal would show.
func plain(err error) string { return strings.ReplaceAll(err.Error(), "\n", " ") }

// awaitPrimary waits until there is a primary, as long as this statement may. again is false when
// the time is over.
func (s *session) awaitPrimary(req *request) (again bool, err error) {
	if req.until.IsZero() {
		req.until = time.Now().Add(s.p.conf.Load().PrimaryWait)
	}
	if s.policy.Endpoint == route.ReadOnly || !time.Now().Before(req.until) {
		return false, nil
	}
	ctx, cancel := context.WithDeadline(s.ctx, req.until)
	defer cancel()
	checks := 0
	err = s.cluster.monitor.Wait(ctx, func(snap *route.Snapshot) bool {
		checks++ // the first one is of now: after a server that failed it says nothing new
		if req.st.Target == route.ToReplica {
			return checks > 1 && anyOnline(snap)
		}
		return (checks > 1 || !req.tried) && snap.Primary() >= 0
	})
	switch {
	case err == nil:
		req.attempts, req.excluded = 0, 0
		return true, nil
	case s.ctx.Err() != nil:
		return false, s.cut()
	}
	return false, nil
}

func anyOnline(snap *route.Snapshot) bool {
	for i := range snap.Servers {
		if snap.Servers[i].State == route.Online {
			return true
		}
	}
	return false
}

// elsewhere goes on after a server that did nothing because it is read-only. Where no other one can
// become the primary, or none does in time, the client gets what the server said.
func (s *session) elsewhere(req *request, d *route.Decision, said *wire.ServerError) (again bool, err error) {
	i := d.Server
	s.cluster.monitor.Recheck(i)
	if s.snap.Servers[i].Role == route.Replica { // the text hides a write
		s.p.writers.add(req.text, &s.route.Options)
		req.st.Target, req.st.Reason = route.ToPrimary, route.Writes
		return true, nil
	}
	req.tried = true
	if s.cluster.canChange(i) {
		if again, err := s.awaitPrimary(req); again || err != nil {
			return again, err
		}
	}
	return false, s.fail(said.Code, said.State, said.Message)
}

// broken goes on after a connection that was lost with a statement on it.
func (s *session) broken(req *request, d *route.Decision, out *outcome) (again bool, err error) {
	i := d.Server
	lost := s.lost(i, out.begun)
	s.discard(i)
	s.cluster.monitor.Recheck(i)
	var e *backend.Error
	sent := !errors.As(out.broken, &e) || e.Sent
	name := s.cluster.servers[i].Name
	switch {
	case s.ctx.Err() != nil:
		return false, s.cut()
	case s.wasKilled():
		_ = s.fail(1317, "70100", "Query execution was interrupted")
		return false, errEnd
	case out.began:
		s.midway(fmt.Sprintf("mysqlrw: lost connection to %s during query", name))
		return false, errEnd
	case lost != "":
		_ = s.fail(2013, "HY000", fmt.Sprintf("mysqlrw: lost connection to %s, and with it what the session had there: %s", name, lost))
		return false, errEnd
	case !sent, req.repeatable():
		return s.gone(req, d, out.broken)
	case req.st.Class == route.Commit:
		_ = s.fail(2013, "HY000", fmt.Sprintf("mysqlrw: lost connection to %s during COMMIT: it is unknown whether it took effect", name))
		return false, errEnd
	}
	return false, s.fail(2013, "HY000", fmt.Sprintf("mysqlrw: lost connection to %s during query: it is unknown whether it took effect", name))
}

// lost names what a lost connection to a server took with it.
func (s *session) lost(i int, begun bool) string {
	name := s.cluster.servers[i].Name
	var all []string
	if t := &s.route.Transaction; t.Open && t.Server == name || begun && t.Open {
		all = append(all, "an open transaction")
	}
	for _, h := range s.route.Holds() {
		if h.Server != name {
			continue
		}
		what := h.Kind.String()
		if h.Name != "" {
			what += " " + h.Name
		}
		all = append(all, what)
	}
	for _, st := range s.statements {
		if st.cursor == i {
			all = append(all, "an open cursor")
		}
	}
	return strings.Join(all, ", ")
}

// midway ends an answer of which the client has a part.
func (s *session) midway(message string) {
	a := s.answer.Answer()
	if !a.Between() {
		return // in the middle of a packet nothing can be said
	}
	s.client.SetSeq(a.Sequence() + s.answer.Shift())
	_ = s.fail(2013, "HY000", message)
}

// discard closes the connection to a server.
func (s *session) discard(i int) {
	if h := s.links[i].h; h != nil && s.links[i].have {
		s.cluster.servers[i].dialing.pool.Discard(h)
	}
	s.links[i] = held{}
	if s.last == i {
		s.last = lostLast
	}
	for _, st := range s.statements {
		if st.cursor == i {
			s.setCursor(st, -1, false)
		}
	}
}

// settle decides what becomes of a connection after a statement.
func (s *session) settle(i int, req *request, out *outcome) {
	one := &s.links[i]
	l := one.h.Member
	if l.conn.Err() != nil {
		s.discard(i)
		return
	}
	s.last = i
	s.ask(l, out.warnings > 0)
	if s.needs(i) {
		return
	}
	if l.spoiled {
		s.discard(i)
		return
	}
	keep := pool.Soft
	switch {
	case out.warnings > 0:
		keep = pool.Firm
	case out.affected > 0 || !l.insertID.known:
		keep = pool.Sticky
	}
	s.letGo(i, keep)
}

// letGo leaves the connection to a server in the pool.
func (s *session) letGo(i int, keep pool.Keep) {
	one := &s.links[i]
	one.have, one.at = false, s.p.now()
	s.cluster.servers[i].dialing.pool.Release(one.h, keep, one.h.Member.state, one.at)
}

// ask asks the server for what it does not tell by itself of a change, as long as the session is
// where it made it. The client has its answer and does not wait for this. If the client may ask for
// warnings next, that must not come in between: it is done in front of the statement after, or by
// whoever takes the connection.
func (s *session) ask(l *link, warned bool) {
	text := s.state.Ask()
	switch {
	case text == "" || l.state != s.state || s.route.Transaction.Open:
		return
	case warned:
		if l.question == nil {
			l.question = newQuestion(text)
			s.question, s.askedOn = l.question, l
		}
		return
	}
	if trackers, ok := l.answerTo(s.ctx, text); ok {
		s.state = s.state.Track(trackers)
		l.state = s.state
	}
}

// settleQuestion learns what ask has put off.
func (s *session) settleQuestion() {
	q, l := s.question, s.askedOn
	if q == nil {
		return
	}
	s.question, s.askedOn = nil, nil
	for i := range s.links {
		one := &s.links[i]
		if one.h == nil || one.h.Member != l {
			continue
		}
		had := one.have
		if !had && !s.reclaim(i) {
			break
		}
		l.question = nil
		if trackers, ok := l.answerTo(s.ctx, q.text); ok {
			s.state = s.state.Track(trackers)
			l.state = s.state
		}
		if !had {
			s.letGo(i, pool.Soft)
		}
		return
	}
	select {
	case trackers, ok := <-q.paid:
		if ok {
			s.state = s.state.Track(trackers)
		}
	case <-s.ctx.Done():
	}
}

// needs tells whether the session must keep the connection to a server: something lives on it.
func (s *session) needs(i int) bool {
	name := s.cluster.servers[i].Name
	l := s.links[i].h.Member
	if s.route.Transaction.Open && s.route.Transaction.Server == name || l.conn.Status().Has(wire.InTransaction) {
		return true
	}
	if l.state == s.state && (s.state.Bound() != "" || s.state.Ask() != "" && l.question == nil || s.state.NextTransaction()) {
		return true
	}
	if s.route.HeldOn(name) || s.identity == l {
		return true
	}
	return s.cursors > 0 && s.cursorOn(i)
}

func (s *session) cursorOn(i int) bool {
	for _, st := range s.statements {
		if st.cursor == i {
			return true
		}
	}
	return false
}

// releaseIdle gives connections that are not needed any more to the pool, after something that
// lived on them ended without a statement there.
func (s *session) releaseIdle() {
	for i := range s.links {
		if one := &s.links[i]; one.have && !s.needs(i) {
			s.letGo(i, pool.Soft)
		}
	}
}
