package proxy

import (
	"strings"
	"time"
	"unsafe"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
	"github.com/mysqlrw/mysqlrw/route"
)

// request is one statement on its way to a server.
type request struct {
	command wire.Command
	// payload is what the server gets, the command byte included, but for the id of a prepared
	// statement. It aliases the client's buffer.
	payload []byte
	// text is what decides; it aliases the client's buffer, too.
	text string
	st   route.Statement
	stmt *statement // that is executed

	until    time.Time // how long a primary is waited for; zero before it is
	tried    bool      // a primary was tried, and was none
	excluded uint64    // servers, by bit, that failed this statement
	attempts int
	moved    bool // from a replica that lacked something to the primary

	arrived time.Time
	current *standing // where the primary stood after that, if it was asked
	late    bool      // a wait for a position ended in vain
	waited  time.Duration
	bounded bool // it waits on the chosen server for as long as that is the chosen one
	joined  bool // it has waited with another session

	narrowed      bool // it was asked what the tables need
	hasNeeded     bool
	whole, needed gtid.Value // of what must be seen, what they need
}

// maxAttempts bounds how often a statement is tried: one that fails on every server does not run in
// circles.
const maxAttempts = 8

// query runs a COM_QUERY.
func (s *session) query(payload []byte) error {
	var q wire.Query
	if err := q.Decode(payload, s.client.Capabilities()); err != nil {
		return s.fail(1835, "HY000", "Malformed communication packet.")
	}
	req := request{command: wire.ComQuery, payload: payload, text: unsafeText(q.Text)}
	req.st = route.Classify(req.text, &s.route.Options)
	if req.st.Facts.Any(route.FactConnectionState) && !s.p.conf.Load().ServerIDs {
		if column, ok := asksConnectionID(req.text, &s.route.Options.Options); ok {
			return s.connectionID(column)
		}
	}
	return s.run(&req)
}

// plainEnd tells whether a text is COMMIT or ROLLBACK and no more than WORK behind it.
func plainEnd(text string) bool {
	words := strings.Fields(strings.TrimRight(text, "; \t\r\n"))
	return len(words) == 1 || len(words) == 2 && strings.EqualFold(words[1], "work")
}

// unsafeText makes a string of bytes that are not changed as long as it is used.
func unsafeText(b []byte) string { return unsafe.String(unsafe.SliceData(b), len(b)) }

// run runs one statement to its end: the client has an answer, or the session is over.
func (s *session) run(req *request) error {
	if s.p.writers.any() && req.st.Target == route.ToReplica && s.p.writers.has(req.text, &s.route.Options) {
		req.st.Target, req.st.Reason = route.ToPrimary, route.Writes
	}
	began := s.p.now()
	req.arrived = began
	s.since.Store(began.UnixNano())
	defer s.since.Store(0)
	if slow := s.p.conf.Load().SlowQuery; slow > 0 {
		defer func() {
			if took := s.p.now().Sub(began); took >= slow {
				s.logSlow(req, took)
			}
		}()
	}
	if s.route.Held() || s.route.Transaction.Server != "" || s.p.conf.Load().Unshared {
		if err := s.stillThere(); err != nil {
			return err
		}
	}
	if s.unseen != nil && !req.asksPrevious() {
		s.lookNow() // it may tie the session to a connection
	}
	for {
		req.attempts++
		d := s.decide(req)
		switch {
		case d.Target != route.Answer:
		case req.st.Class == route.Empty: // the servers disagree about a text of comments only
			if d.Target = route.ToAll; s.last >= 0 {
				d.Server = s.last
			}
		case (req.st.Class == route.Commit || req.st.Class == route.Rollback) && !plainEnd(req.text):
			d.Target = route.ToAll // whether it is a statement at all is for a server to say
		case req.command != wire.ComStmtPrepare:
			return s.answerItself(req, &d)
		default: // the primary says whether such a text can be prepared
			d.Target, d.Server = route.ToPrimary, s.snap.Primary()
		}
		server := s.choose(req, &d)
		if d.Target == route.Refuse || server < 0 {
			if again, err := s.refused(req, &d); !again {
				return err
			}
			continue
		}
		d.Server = server
		again, err := s.accompanied(req, &d)
		if again && req.attempts >= maxAttempts {
			return s.fail(1105, "HY000", "mysqlrw: the statement could not be run on any server")
		}
		if !again {
			return err
		}
	}
}

// lackingFor is how long a replica that lacks the session's schema is not tried again.
const lackingFor = time.Second

// decide asks package route.
func (s *session) decide(req *request) route.Decision {
	d := s.decideNow(req)
	for d.Unchosen && s.awaitChoice(req) {
		d = s.decideNow(req)
	}
	s.boundWait(req, &d)
	return d
}

// decideNow is decide without a wait for a server that may be read.
func (s *session) decideNow(req *request) route.Decision {
	s.forgetLost()
	s.route.Arrived = req.arrived
	d := s.decideOnce(req)
	switch {
	case d.Hold > 0:
		s.holdBack(d.Hold)
		d = s.decideOnce(req)
	case d.Fetch && req.current == nil && !s.policy.Method.Proves() && d.Token == route.NoToken:
		d = s.lookedAgain(req, d)
	case d.Fetch && req.current == nil:
		d = s.informed(req, d)
	}
	if s.narrowable(req, &d) {
		d = s.narrow(req, d)
		if d.Fetch && req.current == nil { // the replica that was to be waited for is gone meanwhile
			d = s.informed(req, d)
		}
	}
	return d
}

// look writes what is known of the servers now into the session's snapshot, but for those that the
// statement must not use.
func (s *session) look(req *request) {
	now := s.p.now()
	s.cluster.fill(&s.snap, now)
	s.choice = s.cluster.chosen.put(&s.snap, now)
	if req.current != nil {
		req.current.put(&s.snap)
		s.snap.Chosen.Fetch = true // it was asked for because the read needs it
	}
	if req.hasNeeded {
		s.snap.Whole, s.snap.Needed, s.snap.NeededKnown = req.whole, req.needed, true
	}
	excluded := req.excluded
	if s.lacking != 0 && req.st.Target == route.ToReplica {
		if s.lackingFor != s.state || s.p.now().Sub(s.lackingAt) > lackingFor {
			s.lacking = 0
		}
		excluded |= s.lacking
	}
	for i := range s.snap.Servers {
		if excluded&(1<<i) != 0 {
			s.snap.Servers[i].State = route.Offline
		}
	}
}

func (s *session) decideOnce(req *request) route.Decision {
	s.look(req)
	if s.policy.Balancer == route.WeightedRoundRobin || s.policy.Endpoint == route.ReadOnly {
		s.cluster.turns.Lock()
		defer s.cluster.turns.Unlock()
	}
	return s.route.Decide(&req.st, req.text, s.policyFor(req), &s.snap, &s.cluster.rotation)
}

// choose returns the server that runs the statement, -1 if there is none. State that every
// connection gets is set where its transaction is, or else on the primary.
func (s *session) choose(req *request, d *route.Decision) int {
	if d.Target == route.ToReplica && req.st.Facts.Any(route.FactLastInsertID) && !s.insertID.known && !d.Chosen && s.hasInsertOn() {
		return s.insertAt // it may run the read as well, and need not be asked first
	}
	if d.Server >= 0 || d.Target != route.ToAll {
		return d.Server
	}
	if t := s.route.Transaction.Server; t != "" {
		return s.snap.Find(t)
	}
	if s.policy.Endpoint == route.ReadOnly {
		read := route.Statement{Class: route.Read, Target: route.ToReplica, Reason: route.ReadOnlyStatement, Count: 1}
		s.cluster.turns.Lock()
		defer s.cluster.turns.Unlock()
		return s.route.Decide(&read, "", &s.policy, &s.snap, &s.cluster.rotation).Server
	}
	if i := s.snap.Primary(); i >= 0 {
		return i
	}
	for i := range s.snap.Servers {
		if s.snap.Servers[i].State == route.Online && s.snap.Servers[i].Role == route.Replica {
			return i
		}
	}
	return -1
}

// refused tells the client that nothing may run its statement, unless a primary may come yet.
func (s *session) refused(req *request, d *route.Decision) (again bool, err error) {
	missing := d.Target != route.Refuse || d.LacksPrimary() // a server could not be named
	if missing {
		if again, err := s.awaitPrimary(req); again || err != nil {
			return again, err
		}
	}
	s.note(req, d, -1)
	if d.Unchosen {
		s.p.counts.timeouts.Add(1)
		if s.ctx.Err() != nil {
			return false, s.cut()
		}
	}
	for i := range s.snap.Servers {
		if lost := s.lost(i, false); lost != "" && s.snap.Servers[i].State == route.Offline && req.excluded&(1<<i) == 0 {
			return false, s.loses(i, lost, nil)
		}
	}
	for _, r := range d.Reasons() {
		if r == route.InReadOnlyTransaction && s.route.Transaction.ReadOnly && !missing {
			return false, s.fail(1792, "25006", "Cannot execute statement in a READ ONLY transaction.")
		}
	}
	code, state := d.Refusal()
	message := d.Error
	if message == "" {
		message = "no server can run the statement"
	}
	if missing && req.st.Target == route.ToReplica {
		message = "no server can be read"
	}
	if missing {
		message += ", waited " + s.p.conf.Load().PrimaryWait.String()
	}
	if d.Error != route.TimeoutText { // which clients know to the letter
		message = "mysqlrw: " + message
	}
	return false, s.fail(code, state, message)
}

// asksPrevious tells whether a statement is about the one before: nothing may run in between.
func (req *request) asksPrevious() bool {
	return req.st.Facts.Any(route.FactPrevious) || req.st.Class == route.Diagnostics
}

// executes tells whether a prepared statement is run, once or for many rows.
func (req *request) executes() bool {
	return req.command == wire.ComStmtExecute || req.command == wire.ComStmtBulkExecute
}

// piecemeal tells whether a request may have committed a part of what it does when it fails: a
// procedure does so by statement, a bulk execution by row.
func (req *request) piecemeal() bool {
	return req.command == wire.ComStmtBulkExecute || req.st.Class == route.Call || req.st.Class == route.Execute
}

// repeatable tells whether a statement does no harm if it runs twice.
func (req *request) repeatable() bool {
	if req.command == wire.ComStmtPrepare {
		return true
	}
	if req.st.Target != route.ToReplica {
		return false
	}
	switch req.st.Class {
	case route.Read, route.Show, route.Explain:
		return true
	}
	return false
}

// lasting returns the text for what is kept of it. Texts that leave nothing are not copied.
func (req *request) lasting(s *session, d *route.Decision) string {
	switch req.st.Class {
	case route.Read, route.LockingRead, route.Write, route.Show, route.Explain:
		if d.Starts == 0 && !s.route.Held() {
			return req.text
		}
	}
	if req.stmt != nil {
		return req.text // it is the statement's own
	}
	return strings.Clone(req.text)
}
