package route

import "github.com/mysqlrw/mysqlrw/pkg/gtid"

// seen is where a session has been shown data that no position is sure to name.
//
// A transaction is visible on a server a moment before its GTID is in the
// server's position, and many answers carry no position at all. So a position
// that came with an answer proves what the server has, and not that it is all
// that the session saw. Until that is settled the session reads where it read
// last, which never goes back, or what has Snapshot.Current: nothing that
// anybody can have seen is outside of that.
//
// A write of the session's own settles it: the primary commits in the order in
// which it numbers transactions.
type seen struct {
	server string // "" if everything is settled
	epoch  uint64
	many   bool // several servers
}

// sees notes what a statement has shown the session.
func (s *Session) sees(ran *applied, sv *Server) {
	switch {
	case ran.out.Wrote && ran.role == Primary && !ran.out.Failed && ordered(sv.Position) && ordered(ran.out.Position):
		s.seen = seen{}
		return
	case !shows(ran.st.Class):
		return
	}
	switch ran.st.Class {
	case Write, DDL, Load: // they show how many rows there were, which is no read to go back from
	default:
		if shown, err := s.Shown.Union(ran.out.Position); err == nil {
			s.Shown = shown
		}
	}
	before := s.seen
	s.seen = seen{server: sv.Name, epoch: sv.Epoch}
	s.seen.many = before.server != "" && !ran.d.Covers && (before.many || before.server != sv.Name || before.epoch != sv.Epoch)
}

// Unsettled tells whether the session has been shown data that its token may not name.
func (s *Session) Unsettled() bool { return s.seen.server != "" }

// ordered says whether a position has one order of transactions only: MariaDB
// numbers each domain by itself.
func ordered(v gtid.Value) bool {
	pos, ok := v.DomainPos()
	if !ok {
		return true
	}
	n := 0
	for range pos.Domains() {
		n++
	}
	return n <= 1
}

// shows says whether statements of a class can show the session data.
func shows(c Class) bool {
	switch c {
	case Set, Use, Begin, Commit, Rollback, Savepoint, Empty:
		return false
	}
	return true
}

// monotonic says whether reads at the level never go back.
func (c *choice) monotonic(l Level) bool {
	return l == Weak || l == SessionLevel || c.policy.Monotonic && l == Eventual
}

// settle sees to it that the read is not older than what the session has seen
// and its token does not name: it stays on that server, or needs all that there
// is. It returns false if that must be fetched first.
func (c *choice) settle(q *Query) bool {
	s, d := c.session, &c.d
	if s.seen.server == "" {
		return true
	}
	if c.staysReading(q) {
		return true
	}
	if !c.snap.CurrentKnown {
		return c.fetch()
	}
	both, err := q.Require.Union(c.snap.Current)
	if err != nil {
		both = c.snap.Current
	}
	q.Require, d.Covers = both, true
	return true
}

// staysReading picks the server that the session read last, if that may take
// this read, too.
func (c *choice) staysReading(q *Query) bool {
	s := c.session
	i := c.snap.Find(s.seen.server)
	if i < 0 || s.seen.many || c.snap.Servers[i].Epoch != s.seen.epoch {
		return false
	}
	required := *q
	required.Required = !q.Require.IsEmpty()
	c.candidates(required)
	cand := s.cands[i]
	if !cand.Readable() || cand.Behind || cand.Why == WhyLastResort {
		return false
	}
	q.stay, c.d.Covers = i+1, true
	return true
}
