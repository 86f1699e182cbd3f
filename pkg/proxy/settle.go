package proxy

import (
	"github.com/mysqlrw/mysqlrw/pkg/pool"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
	"github.com/mysqlrw/mysqlrw/route"
)

// settle decides what becomes of a connection after a statement.
func (s *session) settle(i int, req *request, out *outcome) {
	one := &s.links[i]
	l := one.h.Member
	if l.conn.Err() != nil {
		s.discard(i)
		return
	}
	s.last = i
	one.at = s.p.now()
	s.ask(l, out.warnings > 0)
	if s.ties(i) {
		return
	}
	if l.spoiled {
		s.discard(i)
		return
	}
	if s.needs(i) {
		return
	}
	keep := pool.Soft
	switch {
	case out.warnings > 0 || s.unseen == l || s.route.HeldOn(s.serverName(i), 0): // FOUND_ROWS() of SQL_CALC_FOUND_ROWS
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
	one.h.Member.conn.Attach(nil)
	s.cluster.servers[i].dialing.pool.Release(one.h, keep, one.h.Member.state, one.at)
}

// ask asks the server for what it does not tell by itself of a change, as long as the session is
// where it made it. The client has its answer and does not wait for this. If the client may ask for
// warnings next, that must not come in between: it is done in front of the statement after, or by
// whoever takes the connection.
func (s *session) ask(l *link, warned bool) {
	text := s.state.Ask()
	switch {
	case s.sole() || text == "" || l.state != s.state || s.route.Transaction.Open:
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
	if s.with(l, func() {
		l.question = nil
		if trackers, ok := l.answerTo(s.ctx, q.text); ok {
			s.state = s.state.Track(trackers)
			l.state = s.state
		}
	}) {
		return
	}
	s.aside()
	select {
	case trackers, ok := <-q.paid:
		if ok {
			s.state = s.state.Track(trackers)
		}
	case <-s.ctx.Done():
	}
}

// sole tells whether the session has one connection from its beginning to its end: what it has set need not
// be known here, since it goes nowhere else.
func (s *session) sole() bool { return len(s.links) == 1 && s.p.conf.Load().Unshared }

// needs tells whether the session keeps the connection to a server.
func (s *session) needs(i int) bool { return s.p.conf.Load().Unshared || s.ties(i) }

// ties tells whether something of the session lives on its connection to a server.
func (s *session) ties(i int) bool {
	name := s.cluster.servers[i].Name
	l := s.links[i].h.Member
	if s.route.Transaction.Open && s.route.Transaction.Server == name || l.conn.Status().Has(wire.InTransaction) {
		return true
	}
	if l.state == s.state && (s.state.Bound() != "" || s.state.Ask() != "" && l.question == nil && !s.sole() || s.state.NextTransaction()) {
		return true
	}
	if s.route.HeldOn(name, route.HoldFoundRows) || s.identity == l {
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
