package proxy

import (
	"context"
	"strconv"
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
	counted, err := s.enter(srv)
	if err != nil {
		return false, s.unavailable(i, s.p.conf.Load().queueTimeout(), err)
	}
	if counted {
		defer srv.station.gate.leave()
	}
	asksPrevious := req.asksPrevious()
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
	if err != nil && s.links[i].have {
		return s.broken(req, d, &outcome{broken: err})
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
	l.lists(req, &out)
	switch {
	case out.end != nil: // the client is gone, and nobody knows where in its answer the server is
		s.discard(i)
		return false, out.end
	case out.broken != nil:
		return s.broken(req, d, &out)
	case out.misled:
		return s.leaveChosen(i, req, &out)
	case out.behind && d.Chosen:
		s.repeats(i)
		return s.behindChosen(i, req, &out)
	case out.behind:
		s.repeats(i)
		if l.spoiled { // it refused the session's state, and will again
			s.lacking, s.lackingAt, s.lackingFor = s.lacking|1<<i, s.p.now(), s.state
		}
		s.settle(i, req, &out)
		req.st.Target, req.st.Reason, req.moved = route.ToPrimary, route.NothingCaughtUp, true
		return true, nil
	case out.late:
		s.repeats(i)
		s.settle(i, req, &out)
		return s.afterWait(req, d)
	case out.anew:
		return true, nil
	case out.elsewhere:
		s.repeats(i)
		s.settle(i, req, &out)
		return s.elsewhere(req, d, &out.said)
	}
	s.note(req, d, i)
	if req.st.Target == route.ToReplica && d.Target != route.ToHolder {
		s.p.counts.read(d, s.snap.Servers[i].Role)
	}
	s.settle(i, req, &out)
	s.tallied(req, d, i, out.failed)
	if !out.failed && req.st.Facts.Any(route.FactRelease) {
		return false, errEnd // COMMIT RELEASE: the server closes behind it
	}
	if out.failed && (closes(out.code) || out.code == 1317 && req.st.Class == route.Admin) { // KILL of itself
		return false, errEnd // the server closes behind it, and so does this one
	}
	return false, nil
}

// repeats counts a statement whose answer is for nobody.
func (s *session) repeats(i int) { s.cluster.servers[i].station.tally.repeated.Add(1) }

// tallied takes a statement in that a server has answered.
func (s *session) tallied(req *request, d *route.Decision, i int, failed bool) {
	t := &s.cluster.servers[i].station.tally
	if req.command == wire.ComStmtPrepare {
		t.prepared.Add(1)
		return
	}
	at := s.links[i].at // settle has just looked at the clock, unless the connection is gone
	if at.IsZero() {
		at = s.p.now()
	}
	t.count(s.on.index, s.snap.Servers[i].Role, req, d, failed, at.Sub(req.arrived))
}

// closes tells whether a server closes the connection behind an error: the packet was too big.
func closes(code uint16) bool { return code == 1153 }

// enter waits for the server's gate.
func (s *session) enter(srv *server) (counted bool, err error) {
	g := &srv.station.gate
	if g.max.Load() <= 0 {
		return false, nil
	}
	ctx, cancel := context.WithTimeout(s.ctx, s.p.conf.Load().queueTimeout())
	defer cancel()
	return g.enter(ctx, s.aside)
}

// acquire gets a connection to a server: the one that the session has or had, or another one. After a USE it
// selects its schema again: by that a server looks the account's privileges in it up.
func (s *session) acquire(i int) (*link, error) {
	l, err := s.acquireAny(i)
	if one := &s.links[i]; err == nil && one.selected != s.selected {
		one.selected, l.unselected = s.selected, true
	}
	return l, err
}

func (s *session) acquireAny(i int) (*link, error) {
	if one := &s.links[i]; one.have {
		// A server may have had its last word meanwhile, as for a transaction that was idle for too
		// long. It must not be taken for the answer to what comes now.
		if s.p.now().Sub(one.at) > freshFor {
			if err := one.h.Member.CheckIdle(); err != nil {
				return one.h.Member, err
			}
		}
		return one.h.Member, nil
	}
	if s.links[i].h != nil {
		if s.reclaim(i) {
			return s.links[i].h.Member, nil
		}
		s.lose(i)
	}
	d := s.cluster.servers[i].dialing
	ctx, cancel := context.WithTimeout(s.ctx, s.p.conf.Load().acquireTimeout())
	defer cancel()
	ctx = inSchema(ctx, s.state.Schema())
	k := d.key(s.account, s)
	for {
		h, fresh, err := d.pool.Acquire(ctx, k, s, s.state)
		if err != nil {
			return nil, err
		}
		l := h.Member
		l.conn.Attach(s.task)
		err = s.takeOver(ctx, l)
		if err == nil && s.p.conf.Load().Unshared && !s.client.Secure() {
			err = s.mayHave(ctx, l)
		}
		if err == nil && (fresh || l.asNew() && l.current(s.p.now())) {
			s.links[i] = held{h: h, have: true, selected: s.selected}
			return l, nil
		}
		d.pool.Discard(h)
		if fresh {
			return nil, err
		}
	}
}

// mayHave refuses a client without TLS an own connection of an account that requires it, if that has TLS.
func (s *session) mayHave(ctx context.Context, l *link) error {
	needsTLS, err := l.needsTLS(ctx)
	if err == nil && needsTLS {
		err = insecure(s.user)
	}
	return err
}

// hasLast tells whether the session has, or got back, the connection of the statement before.
func (s *session) hasLast(i int) bool {
	return s.last == i && s.regain(i)
}

// continues tells whether a connection ran the session's statement before, and nothing since.
func (s *session) continues(l *link) bool {
	return s.last >= 0 && s.links[s.last].h != nil && s.links[s.last].h.Member == l
}

// lose forgets the connection to a server, which somebody else has now, or nobody.
func (s *session) lose(i int) {
	s.links[i] = held{}
	if s.last == i {
		s.last = lostLast
	}
}

// lostLast is session.last when the connection of the statement before was given to somebody else.
const lostLast = -2

// freshFor is how long a connection that its session left is taken for good. After that the socket
// is looked at.
const freshFor = 100 * time.Millisecond

// regain tells whether the session has the connection to a server, or got it back.
func (s *session) regain(i int) bool {
	one := &s.links[i]
	return one.h != nil && (one.have || s.reclaim(i))
}

// with calls do while the session has a connection of its own, which it may have left in the pool. It
// returns false if somebody else has taken that.
func (s *session) with(l *link, do func()) bool {
	for i := range s.links {
		one := &s.links[i]
		if one.h == nil || one.h.Member != l {
			continue
		}
		had := one.have
		if !s.regain(i) {
			return false
		}
		do()
		if !had && !s.needs(i) {
			s.letGo(i, pool.Soft)
		}
		return true
	}
	return false
}

// reclaim gets a connection back that the session left in the pool, if it is there and good.
func (s *session) reclaim(i int) bool {
	one := &s.links[i]
	pool := s.cluster.servers[i].dialing.pool
	if !pool.Reclaim(one.h, s) {
		return false
	}
	one.h.Member.conn.Attach(s.task)
	if s.p.now().Sub(one.at) > freshFor && one.h.Member.CheckIdle() != nil {
		s.aside()
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

// discard closes the connection to a server.
func (s *session) discard(i int) {
	if h := s.links[i].h; h != nil && s.links[i].have {
		s.aside()
		s.cluster.servers[i].dialing.pool.Discard(h)
	}
	s.lose(i)
	for _, st := range s.statements {
		if st.cursor == i {
			s.setCursor(st, -1, false)
		}
	}
}
