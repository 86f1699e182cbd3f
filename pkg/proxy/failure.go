package proxy

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/backend"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/pool"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
	"github.com/mysqlrw/mysqlrw/route"
)

// acquireFailed says what follows when there is no connection to a server.
func (s *session) acquireFailed(req *request, d *route.Decision, err error) (again bool, _ error) {
	var refused *wire.ServerError
	switch {
	case s.ctx.Err() != nil:
		return false, s.cut()
	case errors.As(err, &refused) && s.mayMove(req, d) && !req.moved: // a replica may lack the account yet
		req.st.Target, req.st.Reason, req.moved = route.ToPrimary, route.NothingCaughtUp, true
		return true, nil
	case errors.As(err, &refused):
		if err := s.fail(refused.Code, refused.State, refused.Message); err != nil || refused.Code == 1045 || refused.Code == abortsNew {
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
	s.aside()
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
		req.current, req.late = nil, false // they were about the servers of before
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
	lost, own := s.lost(i, out.begun), s.isOwn(i)
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
	case own:
		return false, s.loses(i, lost, out.broken)
	case out.began:
		s.midway(fmt.Sprintf("mysqlrw: lost connection to %s during query", name))
		return false, errEnd
	case sent && s.commits(req):
		_ = s.failLost(fmt.Sprintf("mysqlrw: lost connection to %s during COMMIT: it is unknown whether it took effect", name))
		return false, errEnd
	case lost != "":
		return false, s.loses(i, lost, nil)
	case !sent, req.repeatable():
		return s.gone(req, d, out.broken)
	}
	return false, s.failLost(fmt.Sprintf("mysqlrw: lost connection to %s during query: it is unknown whether it took effect", name))
}

// failLost tells of a connection to a server that is lost. MySQL's clients know number 2013 for that.
// MariaDB's take a number of the client's own in a packet for a malformed one, and lose the text.
func (s *session) failLost(message string) error {
	if s.first.Catalog().Server().Flavor == flavor.MariaDB {
		return s.fail(1927, "08S01", message)
	}
	return s.fail(2013, "HY000", message)
}

// commits tells whether a statement may have ended the transaction that is open.
func (s *session) commits(req *request) bool {
	if !s.route.Transaction.Open {
		return false
	}
	return req.st.Class == route.Commit || req.st.Class == route.XA || req.st.Facts.Any(route.FactImplicitCommit) || req.st.Count > 1
}

// stillThere looks whether the connections that something of the session lives on are good. Those that
// were used a moment ago are taken for it.
func (s *session) stillThere() error {
	now := s.p.now()
	for i := range s.links {
		one := &s.links[i]
		if !one.have || now.Sub(one.at) <= freshFor {
			continue
		}
		why := one.h.Member.CheckIdle()
		switch lost := s.lost(i, false); {
		case why == nil:
		case s.isOwn(i):
			return s.loses(i, lost, why)
		case lost != "":
			return s.loses(i, lost, nil)
		default:
			s.discard(i)
		}
	}
	return nil
}

// loses ends the session because of what was on a connection that is gone. If that was the client's own,
// and why it is gone, the client has what the server said, or is cut off without a word as it is there.
func (s *session) loses(i int, lost string, own error) error {
	s.discard(i)
	s.cluster.monitor.Recheck(i)
	if own != nil {
		var said *wire.ServerError
		if errors.As(own, &said) {
			_ = s.fail(said.Code, said.State, said.Message)
		}
		return fmt.Errorf("its connection is lost: %w", own)
	}
	_ = s.failLost(fmt.Sprintf("mysqlrw: lost connection to %s, and with it what the session had there: %s", s.cluster.servers[i].Name, lost))
	return errEnd
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
	if s.isOwn(i) {
		all = append(all, "the session itself")
	}
	return strings.Join(all, ", ")
}

// isOwn tells whether the session has a connection to the primary that nobody else ever has: it ends with
// that.
func (s *session) isOwn(i int) bool {
	return s.p.conf.Load().Unshared && s.links[i].have && i < len(s.snap.Servers) && s.snap.Servers[i].Role == route.Primary
}

// midway ends an answer of which the client has a part.
func (s *session) midway(message string) {
	a := s.answer.Answer()
	if !a.Between() {
		return // in the middle of a packet nothing can be said
	}
	s.client.SetSeq(a.Sequence() + s.answer.Shift())
	_ = s.failLost(message)
}
