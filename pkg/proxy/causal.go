package proxy

import (
	"errors"
	"os"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/topology"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
	"github.com/mysqlrw/mysqlrw/route"
	"github.com/mysqlrw/mysqlrw/waitpos"
)

// informed makes a decision again that needs the primary's position. If that cannot be had the read is
// for nobody, and waits for a primary; but one that has no position itself is good for its own reads.
func (s *session) informed(req *request, d route.Decision) route.Decision {
	since, ask := req.arrived, s.current
	global := d.Level == route.Global || d.Level == route.SCC
	chosen := d.Level == route.Weak && s.snap.Choose
	if chosen && s.snap.Chosen.Fetch {
		global, ask = true, s.currentChosen
	}
	if !global && s.route.Unsettled() && req.st.Hint.After(req.text) == "" {
		s.p.counts.moved.Add(1)
		since = s.answered // it is about what the session has seen until then
	}
	current, err := ask(since)
	if err != nil {
		d.Fetch = false
		if errors.Is(err, errNoGTIDs) && s.mayFallBack(req) && !chosen {
			d.Target, d.Server = route.ToPrimary, s.snap.Primary()
			return d
		}
		d.Target, d.Server, d.Error = route.ToPrimary, -1, "the primary's position cannot be had: "+plain(err)
		req.tried = true
		return d
	}
	req.current = current
	return s.decideOnce(req)
}

// mayFallBack tells whether a read may run on the primary where nothing is known of positions. A hint for
// one that the primary may not have, or for another server, does not allow it.
func (s *session) mayFallBack(req *request) bool {
	return s.policy.Endpoint != route.ReadOnly && !s.policy.ErrorOnTimeout &&
		req.st.Hint.Route != route.HintToNode && req.st.Hint.After(req.text) == ""
}

// allowed tries a statement, unless too many reads have fallen back on the primary.
func (s *session) allowed(req *request, d *route.Decision) (again bool, err error) {
	why, is := fellBack(req, d)
	if !is {
		return s.try(req, d)
	}
	done, ok := s.fallBack(why)
	if !ok {
		s.note(req, d, -1)
		return false, s.fail(1205, "HY000", route.TimeoutText)
	}
	defer done()
	return s.try(req, d)
}

// forgetLost takes out of the session's token what a failover has lost, so that its reads can run at
// all. Where an error is asked for instead, they get that.
func (s *session) forgetLost() {
	all := s.cluster.lost.Load()
	if all == nil || s.policy.ErrorOnTimeout {
		return
	}
	for _, l := range (*all)[min(s.lossesKnown, len(*all)):] {
		if s.route.Forget(l.lost, l.kept) {
			s.p.counts.lostWrites.Add(1)
			s.aside()
			s.p.log.Warn("session had seen lost writes", "session", s.id, "user", s.user, "lost", l.lost.String())
		}
	}
	s.lossesKnown = len(*all)
}

// doubted says why a position that a client gave is not believed: one that no server has would let
// every read wait. "" is that it is.
func (s *session) doubted(req *request, token gtid.Value) string {
	s.look(req)
	if s.snap.Has(token) {
		return ""
	}
	current, err := s.current(req.arrived)
	if err != nil {
		return "it cannot be checked: " + plain(err)
	}
	missing, err := current.Everything.Missing(token)
	switch {
	case err != nil:
		return err.Error()
	case !missing.IsEmpty():
		return "the primary does not have " + missing.String()
	}
	return ""
}

// showToken shows what another session must be given to see all that this one has: its token, and if
// it has been shown what no position names, all that there is.
func (s *session) showToken(req *request) error {
	token := s.route.Token
	if s.route.Unsettled() {
		current, err := s.current(req.arrived)
		if err != nil {
			return s.fail(1105, "HY000", "mysqlrw: the primary's position cannot be had: "+plain(err))
		}
		if token, err = token.Union(current.Everything); err != nil {
			return s.fail(1105, "HY000", "mysqlrw: "+err.Error())
		}
	}
	return s.result([]resultColumn{{name: "token"}}, [][]string{{token.String()}})
}

// policyFor returns the policy for a statement: one that has waited in vain waits no more.
func (s *session) policyFor(req *request) *route.Policy {
	if !req.late {
		return &s.policy
	}
	s.hasty = s.policy
	s.hasty.NoWait = true
	return &s.hasty
}

// addWait puts the wait for what the decision requires in front of the statement.
func (s *session) addWait(l *link, d *route.Decision) {
	missing, err := s.snap.Servers[d.Server].Position.Missing(d.Require)
	if err != nil {
		missing = d.Require
	}
	s.addStep(l, stepWait, wire.ComQuery, waitpos.Query(l.catalog.Server(), missing, d.Wait))
}

// waited reads the answer to addWait.
func (s *session) waited(l *link, req *request, d *route.Decision, epoch topology.Epoch, out *outcome) error {
	began := s.p.now()
	value, null, _, err := l.conn.AnswerValue(s.value)
	s.value = value
	req.waited += s.p.now().Sub(began)
	s.p.counts.waits.Add(1)
	switch {
	case err != nil && l.conn.Err() != nil:
		return err
	case err != nil || !waitpos.Arrived(value, null):
		s.p.counts.late.Add(1)
		s.cluster.servers[d.Server].company.miss(s.guiding)
		out.late = true
		return nil
	}
	s.cluster.monitor.Learn(d.Server, epoch, d.Require)
	s.arrive(&s.cluster.servers[d.Server].company)
	return nil
}

// tooLate drops the answer of a read that ran before the server had the position, and undoes the
// BEGIN in front of it. A read that does not end soon is left to itself with its connection: it may wait
// for what keeps the position from coming.
func (s *session) tooLate(l *link, req *request, d *route.Decision, out *outcome) {
	leaves := s.lost(d.Server, false) == ""
	if leaves {
		_ = l.conn.SetDeadline(time.Now().Add(lateFor))
	}
	_, err := l.conn.Answer(req.command)
	switch {
	case l.conn.Err() == nil:
	case leaves && errors.Is(err, os.ErrDeadlineExceeded):
		s.p.abandon(l)
		out.begun = false
		return
	default:
		out.broken = err
		return
	}
	if leaves {
		_ = l.conn.SetDeadline(time.Time{})
	}
	if !out.begun {
		return
	}
	out.begun = false
	if _, err := l.conn.Exec(s.ctx, "ROLLBACK"); err != nil {
		out.broken = err
	}
}

// lateFor is how long the answer of a read that is too late is waited for, so that its connection can be
// used again.
const lateFor = 100 * time.Millisecond

// afterWait goes on after a wait that ended in vain.
func (s *session) afterWait(req *request, d *route.Decision) (again bool, err error) {
	if s.waitsAnew(req, d) {
		return true, nil
	}
	if d.Fallback == route.Refuse {
		s.p.counts.timeouts.Add(1)
		s.note(req, d, -1)
		return false, s.fail(1205, "HY000", route.TimeoutText)
	}
	req.late = true
	return true, nil
}

// fellBack tells whether a read runs on the primary because no replica can have it, and why.
func fellBack(req *request, d *route.Decision) (route.Reason, bool) {
	if d.Target != route.ToPrimary || req.st.Target != route.ToReplica {
		return route.NoReason, false
	}
	why := d.FellBack()
	return why, why != route.NoReason
}

// fallBack counts a read that falls back on the primary, and tells whether it may. done must follow
// then.
func (s *session) fallBack(why route.Reason) (done func(), ok bool) {
	limit := s.p.conf.Load().PrimaryReadLimit
	now := s.p.counts.primaryReads.Add(1)
	if limit > 0 && now > int64(limit) {
		s.p.counts.primaryReads.Add(-1)
		s.p.counts.limited.Add(1)
		return nil, false
	}
	s.p.counts.fallBacks[why].Add(1)
	return func() { s.p.counts.primaryReads.Add(-1) }, true
}

// wrote tells whether a statement has certainly got a number of its own in the primary's order of
// transactions: see route.Outcome.Wrote.
func (s *session) wrote(l *link, req *request, d *route.Decision, out *outcome) bool {
	if out.failed || out.position.IsEmpty() && !s.inside(out) {
		return false
	}
	if l.catalog.Server().Flavor == flavor.MariaDB {
		switch req.st.Class { // it tells of a number only to the session that got it
		case route.Write, route.Load, route.DDL, route.Commit:
			return true
		}
		return false
	}
	sure := false
	switch req.st.Class {
	case route.Write, route.Load:
		sure = out.affected > 0 && (!s.client.Capabilities().Has(wire.FoundRows) || changedRows(req.text, out.info))
	case route.DDL:
		sure = out.warnings == 0 && !req.st.Facts.Any(route.FactTemporary)
	case route.Commit:
		sure = s.changed
	case route.Rollback:
		s.changed = false
	}
	if s.inside(out) {
		s.changed = s.changed || sure
		return false
	}
	sure = sure || s.changed && req.st.Facts.Any(route.FactImplicitCommit)
	s.changed = false
	if !sure || d.Server < 0 || d.Server >= len(s.snap.Servers) {
		return sure
	}
	// The answer has all of the server's numbers, and where GTIDs were switched off, none of this statement.
	old, err := s.snap.Servers[d.Server].Position.Contains(out.position)
	return err == nil && !old
}

// inside tells whether the statement left a transaction open.
func (s *session) inside(out *outcome) bool { return out.status.Has(wire.InTransaction) }

// changedRows tells whether a statement has certainly changed rows, where the server counts those that
// it found: an UPDATE says so, and an INSERT has none to find.
func changedRows(text string, info []byte) bool {
	const changed = "Changed: "
	if containsFold(text, "duplicate") {
		return false
	}
	for i := 0; i+len(changed) < len(info); i++ {
		if string(info[i:i+len(changed)]) == changed {
			return info[i+len(changed)] != '0'
		}
	}
	return len(info) == 0 || !containsFold(text, "update")
}
