package rwdb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/wire"
	"github.com/mysqlrw/mysqlrw/route"
)

// op is what the pool asks of a connection.
type op uint8

const (
	opExec op = iota
	opQuery
	opPrepare
	opStmtExec
	opStmtQuery
	opCommit
	opRollback
)

// request is one statement on its way to a server, and what came of it.
type request struct {
	op   op
	text string
	args []driver.NamedValue
	st   route.Statement
	stmt *stmt

	session  *Session       // nil if the connection's own
	decision route.Decision // the last one
	arrived  time.Time
	began    time.Time // on the server that is asked now
	until    time.Time // how long a primary is waited for; zero before it is
	tried    bool      // a primary was tried, and was none
	excluded uint64    // servers, by bit, that failed this statement
	attempts int
	current  *standing // where the primary stood after it arrived, if it was asked
	late     bool      // a wait for a position ended in vain
	writes   bool      // it may change data, or end a transaction that did
	ran      bool      // a server may have got it
	waited   time.Duration
	given    bool // its session has a token that is to be compared with the servers

	result driver.Result
	rows   driver.Rows
}

// request returns the conn's, for a new statement.
func (c *conn) request(op op, text string, args []driver.NamedValue) *request {
	r := &c.req
	*r = request{op: op, text: text, args: args, st: c.classify(text)}
	if r.st.Target == route.ToReplica && r.st.Facts.Any(route.FactLastInsertID) {
		r.st.Target, r.st.Reason = route.ToPrimary, route.LastInsertID // whose link knows it
	}
	return r
}

// classified is a text that was run before, and what it is.
type classified struct {
	text string
	st   route.Statement
}

// longestKept is the length up to which texts are kept.
const longestKept = 2048

// classify tells what a text is. Programs run few texts many times, and comparing them takes less than reading them.
func (c *conn) classify(text string) route.Statement {
	kept := &c.texts[len(text)%len(c.texts)]
	if kept.text == text && text != "" {
		return kept.st
	}
	st := route.Classify(text, &c.route.Options)
	if len(text) <= longestKept {
		*kept = classified{text, st}
	}
	return st
}

// repeatable tells whether the statement does no harm if it runs twice.
func (r *request) repeatable() bool {
	if r.op == opPrepare {
		return true
	}
	switch r.st.Class {
	case route.Read, route.Show, route.Explain:
		return r.st.Target == route.ToReplica
	}
	return false
}

// changes tells whether the statement may change data, or end a transaction that did.
func (c *conn) changes(r *request) bool {
	t := &c.route.Transaction
	switch {
	case r.st.Target == route.ToReplica, r.op == opPrepare:
		return false
	case r.st.Class == route.Commit && r.st.Count <= 1 && t.Open && !t.Written:
		return false
	}
	switch r.st.Class {
	case route.Set, route.Use, route.Begin, route.Rollback, route.Savepoint, route.Show, route.Explain, route.Diagnostics,
		route.LockingRead, route.Empty, route.Prepare, route.Deallocate, route.UnlockTables:
		return r.st.Facts.Any(route.FactImplicitCommit) || r.st.Count > 1
	}
	return true
}

// look writes what is known of the servers now into the conn's snapshot, but for those that have failed.
func (c *conn) look(r *request) {
	now := r.arrived
	if r.attempts != 1 || r.current != nil {
		now = time.Now()
	}
	c.c.fill(&c.snap, now)
	if r.current != nil {
		c.snap.SetCurrent(r.current.Executed, r.current.Everything)
	}
	for i := range c.snap.Servers {
		if r.excluded&(1<<i) != 0 {
			c.snap.Servers[i].State = route.Offline
		}
		if c.links[i] == nil { // of servers that are used alike the one with a link is nearer
			c.snap.Servers[i].Active++
		}
	}
}

// decide asks package route, and the primary for its position if the decision takes that.
func (c *conn) decide(ctx context.Context, r *request) (route.Decision, error) {
	if r.given {
		if err := c.compare(ctx, r); err != nil {
			return route.Decision{}, err
		}
	}
	d := c.decideOnce(r)
	if !d.Fetch || r.current != nil {
		return d, nil
	}
	current, err := c.c.current(ctx, r.arrived)
	switch {
	case err == nil:
		r.current = current
		return c.decideOnce(r), nil
	case ctx.Err() != nil:
		return d, ctx.Err()
	}
	d.Fetch = false
	if errors.Is(err, errNoGTIDs) && c.mayFallBack(r) { // which is good for its own reads
		d.Target, d.Server = route.ToPrimary, c.snap.Primary()
		return d, nil
	}
	d.Target, d.Server, d.Error = route.ToPrimary, -1, "the primary's position cannot be had: "+err.Error()
	r.tried = true
	return d, nil
}

// mayFallBack tells whether a read may run on the primary where nothing is known of positions. A hint for one that
// the primary may not have, or for another server, does not allow it.
func (c *conn) mayFallBack(r *request) bool {
	return !c.c.options.policy.ErrorOnTimeout && r.st.Hint.Route != route.HintToNode && r.st.Hint.After(r.text) == ""
}

func (c *conn) decideOnce(r *request) route.Decision {
	c.look(r)
	policy := &c.c.options.policy
	if r.late {
		hasty := *policy
		hasty.NoWait = true
		policy = &hasty
	}
	if policy.Balancer != route.WeightedRoundRobin {
		return c.route.Decide(&r.st, r.text, policy, &c.snap, nil)
	}
	c.c.turns.Lock()
	defer c.c.turns.Unlock()
	return c.route.Decide(&r.st, r.text, policy, &c.snap, &c.c.rotation)
}

// compare refuses a token that no server has: reads would wait for it for ever.
func (c *conn) compare(ctx context.Context, r *request) error {
	c.look(r)
	token := c.route.Token
	if !c.snap.Has(token) {
		current, err := c.c.current(ctx, r.arrived)
		if err != nil {
			if ctx.Err() != nil {
				return ctx.Err()
			}
			return fmt.Errorf("rwdb: the session's token cannot be compared with the servers: %w", err)
		}
		missing, err := current.Everything.Missing(token)
		if err != nil {
			return fmt.Errorf("rwdb: %w: %w", ErrToken, err)
		}
		if !missing.IsEmpty() {
			return fmt.Errorf("rwdb: %w: the primary does not have %s", ErrToken, missing)
		}
		r.current = current
	}
	r.given = false
	return nil
}

// place returns the server of a decision, -1 if there is none. What holds on every connection is set where the
// transaction is, or where the statement before ran, or on the primary.
func (c *conn) place(d *route.Decision) int {
	if d.Server >= 0 || d.Target != route.ToAll {
		return d.Server
	}
	if t := c.route.Transaction.Server; t != "" {
		return c.snap.Find(t)
	}
	last := -1
	for i, l := range c.links {
		if l != nil && c.snap.Servers[i].State == route.Online {
			last = i
			if c.snap.Servers[i].Name == c.route.Last() {
				return i
			}
		}
	}
	if last >= 0 {
		return last
	}
	if i := c.snap.Primary(); i >= 0 {
		return i
	}
	for i := range c.snap.Servers {
		if c.snap.Servers[i].State == route.Online {
			return i
		}
	}
	return -1
}

// outcome is what the server said about the statement.
func (c *conn) outcome(r *request, l *link, d *route.Decision, err error) route.Outcome {
	h := l.heard()
	out := route.Outcome{Failed: err != nil, Position: h.position}
	if h.done && h.known && err == nil {
		out.StatusKnown = true
		out.InTransaction, out.AutocommitOff = h.status.Has(wire.InTransaction), !h.status.Has(wire.Autocommit)
	}
	sure := err == nil && c.surelyChanged(r)
	if c.inside(r, &out) {
		c.wroteIn = c.wroteIn || sure
		return out
	}
	sure = sure || err == nil && c.wroteIn && r.st.Class != route.Rollback
	c.wroteIn = false
	switch {
	case err != nil || h.position.IsEmpty() || l.own:
	case l.maria(): // which tells of a number only who got it
		switch r.st.Class {
		case route.Write, route.Load, route.DDL, route.Commit:
			out.Wrote = true
		}
	case sure: // what was known before has no number of this statement
		old, cannot := c.snap.Servers[d.Server].Position.Contains(h.position)
		out.Wrote = cannot == nil && !old
	}
	return out
}

// inside tells whether the statement leaves a transaction open.
func (c *conn) inside(r *request, out *route.Outcome) bool {
	if out.StatusKnown {
		return out.InTransaction
	}
	open := c.route.Transaction.Open && !c.doubted || c.route.AutocommitOff
	return open && r.st.Class != route.Commit && r.st.Class != route.Rollback && !r.st.Facts.Any(route.FactImplicitCommit)
}

// named makes sure that the outcome of a change outside of transactions has its number, which is asked for on a
// connection that tells of none. It returns false if there may be one that nobody knows.
func (c *conn) named(ctx context.Context, r *request, l *link, out *route.Outcome) bool {
	h, simple := l.heard(), r.st.Count <= 1 && r.st.Class != route.Call && r.st.Class != route.Execute && r.st.Class != route.XA
	switch {
	case out.Failed && simple:
		return true
	case !h.done && r.rows != nil: // the answer is not complete, and what came first has another number
		return false
	case h.done && !h.known: // an error says nothing of what was done before it
		return false
	case !out.Position.IsEmpty():
		return true
	}
	position, named := l.numbered(ctx)
	out.Position, out.Wrote = position, l.opaque() && named // then it is all that there is
	return named
}

// surelyChanged tells whether a statement that succeeded has certainly got a number of its own.
func (c *conn) surelyChanged(r *request) bool {
	switch r.st.Class {
	case route.Write, route.Load:
	default:
		return false
	}
	if r.result == nil || c.c.servers[0].Config.ClientFoundRows {
		return false
	}
	n, err := r.result.RowsAffected()
	return err == nil && n > 0
}
