package rwdb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/route"
	"github.com/mysqlrw/mysqlrw/waitpos"
)

// maxAttempts bounds how often a statement is tried: one that fails on every server does not run in circles.
const maxAttempts = 8

func (l *link) maria() bool { return l.flavor == flavor.MariaDB }

// run runs one statement for the session that its context names.
func (c *conn) run(ctx context.Context, r *request) error {
	switch {
	case c.broken:
		return driver.ErrBadConn
	case ctx.Err() != nil:
		return ctx.Err()
	}
	c.c.counts.statements.Add(1)
	w := wishesOf(ctx)
	session := w.session
	if c.inTx {
		session = c.session
	}
	r.session = session
	var then route.Memory
	if session != nil {
		then, r.given = session.recall(c.c.losses())
	} else {
		then = c.ownMemory()
	}
	compares := r.given
	c.route.Recall(then)
	r.arrived, r.writes = time.Now(), c.changes(r)
	err := c.tryWith(ctx, w, r)
	now := c.route.Memory()
	if session == nil {
		c.memory = now
		return err
	}
	if compares && !r.given {
		session.believe()
	}
	session.remember(&then, &now, r.ran && r.writes)
	return err
}

// tryWith is try with what a context asks for in the place of what the connection has set.
func (c *conn) tryWith(ctx context.Context, w *wishes, r *request) error {
	if !w.hasLevel && !w.hasStaleness && !w.hasWaitTime || r.st.Facts.Any(route.FactProxy) {
		return c.try(ctx, r)
	}
	s := &c.route
	own := wishes{
		level: s.Level, hasLevel: s.HasLevel, staleness: s.MaxStaleness, hasStaleness: s.HasMaxStaleness,
		waitTime: s.Timeout, hasWaitTime: s.HasTimeout,
	}
	if w.hasLevel {
		s.Level, s.HasLevel = w.level, true
	}
	if w.hasStaleness {
		s.MaxStaleness, s.HasMaxStaleness = w.staleness, true
	}
	if w.hasWaitTime {
		s.Timeout, s.HasTimeout = w.waitTime, true
	}
	err := c.try(ctx, r)
	s.Level, s.HasLevel = own.level, own.hasLevel
	s.MaxStaleness, s.HasMaxStaleness = own.staleness, own.hasStaleness
	s.Timeout, s.HasTimeout = own.waitTime, own.hasWaitTime
	return err
}

// ownMemory is that of statements without a Session: what this connection has been shown, and what any statement
// of the connector has written.
func (c *conn) ownMemory() route.Memory {
	w := &c.c.writes
	if v := w.version.Load(); v != c.version {
		w.mu.Lock()
		c.memory.Wrote(w.all)
		if c.unnamed != w.unnamed {
			c.memory.Unsettle()
		}
		c.version, c.unnamed = w.version.Load(), w.unnamed
		w.mu.Unlock()
	}
	for _, l := range c.c.losses() {
		c.memory.Forget(l.lost, l.kept)
	}
	return c.memory
}

// try decides where the statement runs, and runs it, until that has been done or nothing can be.
func (c *conn) try(ctx context.Context, r *request) error {
	for {
		r.attempts++
		d := &r.decision
		var err error
		if *d, err = c.decide(ctx, r); err != nil {
			c.observe(ctx, r, &route.Decision{Class: r.st.Class, Server: -1}, err)
			return err
		}
		if d.Target == route.Answer || c.announces(r, d) {
			return c.answer(ctx, r, d)
		}
		i := c.place(d)
		if d.Target == route.Refuse || i < 0 {
			again, err := c.refused(ctx, r, d)
			if !again {
				return err
			}
			continue
		}
		d.Server = i
		again, err := c.attempt(ctx, r, d)
		if !again {
			return err
		}
		if r.attempts >= maxAttempts {
			return errors.New("rwdb: the statement could not be run on any server: " + c.c.trouble())
		}
	}
}

// answer is what no server is asked.
func (c *conn) answer(ctx context.Context, r *request, d *route.Decision) error {
	switch {
	case r.op == opCommit || r.op == opRollback:
		c.pending = beginning{}
	case r.op == opPrepare || r.op == opStmtExec || r.op == opStmtQuery:
		return fmt.Errorf("rwdb: %s cannot be prepared: run it without arguments", d.Class)
	case r.st.Class == route.Begin:
		c.pending = beginning{is: true, text: r.text, next: c.pending.next}
	case r.st.Class == route.Set && r.st.Facts.Any(route.FactNextTransaction):
		c.pending.next = strings.Trim(c.pending.next+"\x00"+r.text, "\x00")
	case r.st.Class == route.Commit || r.st.Class == route.Rollback:
		c.pending = beginning{}
	case r.st.Class == route.Show:
		return errors.New("rwdb: SHOW MYSQLRW is for the proxy: use Options.Observe, Connector.Servers and Connector.Stats")
	}
	c.route.Apply(&r.st, r.text, d, &c.snap, route.Outcome{})
	r.result, r.rows = driver.RowsAffected(0), noRows{}
	c.observe(ctx, r, d, nil)
	return nil
}

// refused says that nothing may run the statement, unless a primary may come yet.
func (c *conn) refused(ctx context.Context, r *request, d *route.Decision) (again bool, err error) {
	missing := d.Target != route.Refuse || d.LacksPrimary()
	if missing {
		if again, err := c.awaitPrimary(ctx, r); again || err != nil {
			return again, err
		}
	}
	c.c.counts.refused.Add(1)
	message := d.Error
	if message == "" {
		message = "no server can run the statement"
	}
	if missing {
		message += fmt.Sprintf(", waited %v: %s", max(c.c.options.PrimaryWait, 0), c.c.trouble())
	}
	if message != route.TimeoutText { // which programs know to the letter
		message = "rwdb: " + message
	}
	e := &mysql.MySQLError{Message: message}
	var state string
	e.Number, state = d.Refusal()
	copy(e.SQLState[:], state)
	d.Server = -1
	c.observe(ctx, r, d, e)
	return false, e
}

// awaitPrimary waits until there is a primary, as long as this statement may. again is false when the time is over.
func (c *conn) awaitPrimary(ctx context.Context, r *request) (again bool, err error) {
	if r.until.IsZero() {
		r.until = time.Now().Add(c.c.options.PrimaryWait)
	}
	if !time.Now().Before(r.until) {
		return false, nil
	}
	wait, cancel := context.WithDeadline(ctx, r.until)
	defer cancel()
	checks := 0
	err = c.c.monitor.Wait(wait, func(s *route.Snapshot) bool {
		checks++ // the first one is of now: after a server that failed it says nothing new
		if r.st.Target == route.ToReplica {
			return checks > 1 && anyOnline(s)
		}
		return (checks > 1 || !r.tried) && s.Primary() >= 0
	})
	switch {
	case err == nil:
		r.attempts, r.excluded, r.current, r.late = 0, 0, nil, false // they were about the servers of before
		return true, nil
	case ctx.Err() != nil:
		return false, ctx.Err()
	}
	return false, nil
}

// attempt runs the statement on the server of the decision.
func (c *conn) attempt(ctx context.Context, r *request, d *route.Decision) (again bool, err error) {
	l, err := c.link(ctx, d.Server)
	if err != nil {
		return c.unreachable(ctx, r, d, err)
	}
	if l.from.Config.ReadTimeout > 0 {
		r.began = time.Now()
	}
	if err := c.prepareLink(ctx, l, r, d); err != nil {
		return c.failed(ctx, r, l, d, err, false)
	}
	waits := d.Wait > 0
	switch {
	case waits && !l.opaque():
		c.c.counts.waits.Add(1)
		l.net.arm(c.waitQuery(d))
		defer l.net.disarm()
	case waits:
		there, err := c.wait(ctx, r, l, d)
		if err != nil {
			return c.failed(ctx, r, l, d, err, false)
		}
		if !there {
			return c.tooLate(ctx, r, d)
		}
		waits = false
	}
	begins := c.pending
	if begins != (beginning{}) && !d.Split && d.Target != route.ToAll && r.op != opPrepare && (begins.is || d.Target != route.ToLast) {
		if err := c.begin(ctx, l); err != nil && !(waits && l.net.ahead.late) {
			return c.failed(ctx, r, l, d, err, false)
		}
	}
	if !waits || !l.net.ahead.late {
		l.acquire()
		r.ran = true
		err = r.do(ctx, l)
		l.returned()
	}
	if waits {
		r.waited += l.net.ahead.took
		if l.net.ahead.late {
			l.release()
			if begins != (beginning{}) || !l.conn.IsValid() { // what has begun there is over
				c.drop(d.Server)
				c.pending = begins
			}
			return c.tooLate(ctx, r, d)
		}
		if l.net.ahead.reached {
			l.from.learn(l.net.epoch, d.Require)
		}
	}
	if err != nil && !isServerError(err) {
		again, err = c.failed(ctx, r, l, d, err, true)
	} else if err != nil && isReadOnly(err) && c.route.Transaction.Server == "" {
		if c.pending != begins { // the transaction on that server is over
			c.drop(d.Server)
		}
		again, err = c.elsewhere(ctx, r, d, err)
	}
	if again {
		c.pending = begins
		c.c.counts.again.Add(1)
	} else if begins.is && c.pending != begins {
		c.begun(l)
	}
	if again || err != nil && !isServerError(err) {
		return again, err
	}
	c.done(ctx, r, l, d, err)
	return false, err
}

// prepareLink has what the session has set hold on the link.
func (c *conn) prepareLink(ctx context.Context, l *link, r *request, d *route.Decision) error {
	if d.Target == route.ToLast || r.op == opCommit || r.op == opRollback {
		return nil
	}
	for l.settings < len(c.settings) {
		s := c.settings[l.settings]
		if _, err := l.exec(ctx, s.text, s.args); err != nil {
			return err
		}
		l.settings++
	}
	return l.shorten(ctx)
}

// tooLate goes on after a wait that ended in vain.
func (c *conn) tooLate(ctx context.Context, r *request, d *route.Decision) (again bool, err error) {
	c.c.counts.late.Add(1)
	if d.Fallback == route.Refuse {
		d.Error, d.Target = route.TimeoutText, route.Refuse
		return c.refused(ctx, r, d)
	}
	r.late = true
	return true, nil
}

// waitQuery is how the server waits for the position that the read needs.
func (c *conn) waitQuery(d *route.Decision) string {
	missing, err := c.snap.Servers[d.Server].Position.Missing(d.Require)
	if err != nil {
		missing = d.Require
	}
	wait := d.Wait
	if limit := c.c.servers[d.Server].Config.ReadTimeout; limit > 0 {
		wait = min(wait, limit/2) // or the driver gives the connection up
	}
	return waitpos.Query(c.c.monitor.Server(d.Server), missing, wait)
}

// wait has the server wait for the position that the read needs, where that cannot leave with the read.
func (c *conn) wait(ctx context.Context, r *request, l *link, d *route.Decision) (there bool, err error) {
	epoch, began := l.from.epoch(), time.Now()
	_, values, err := l.row(ctx, c.waitQuery(d))
	r.waited += time.Since(began)
	c.c.counts.waits.Add(1)
	if err != nil && !isServerError(err) {
		return false, err
	}
	if err != nil || len(values) != 1 || values[0] == nil || !waitpos.Arrived([]byte(fmt.Sprint(values[0])), false) {
		return false, nil
	}
	l.from.learn(epoch, d.Require)
	return true, nil
}

// do is what the driver does.
func (r *request) do(ctx context.Context, l *link) (err error) {
	switch r.op {
	case opExec:
		r.result, err = l.exec(ctx, r.text, r.args)
	case opQuery:
		r.rows, err = l.query(ctx, r.text, r.args)
	case opPrepare:
		_, err = r.stmt.onLink(ctx, l)
	case opStmtExec, opStmtQuery:
		var s driverStmt
		if s, err = r.stmt.onLink(ctx, l); err != nil {
			return err
		}
		if r.op == opStmtExec {
			r.result, err = s.ExecContext(ctx, r.args)
		} else {
			r.rows, err = s.QueryContext(ctx, r.args)
		}
	case opCommit, opRollback:
		switch {
		case l.tx == nil:
			_, err = l.conn.ExecContext(ctx, r.text, nil)
		case r.op == opCommit:
			err = l.tx.Commit()
		default:
			err = l.tx.Rollback()
		}
		l.tx = nil
	}
	return err
}

// done takes in what a server has answered, be it an error.
func (c *conn) done(ctx context.Context, r *request, l *link, d *route.Decision, err error) {
	if r.op == opPrepare {
		return
	}
	role := c.snap.Servers[d.Server].Role
	if r.st.Target == route.ToReplica {
		if role == route.Replica {
			c.c.counts.onReplicas.Add(1)
		} else {
			c.c.counts.onPrimary.Add(1)
			if d.FellBack() != route.NoReason {
				c.c.counts.fallBacks.Add(1)
			}
		}
	}
	out := c.outcome(r, l, d, err)
	unnamed := false
	if r.writes && role == route.Primary && !c.inside(r, &out) {
		unnamed = !c.named(ctx, r, l, &out)
	}
	open := c.route.Transaction.Open
	c.route.Apply(&r.st, r.text, d, &c.snap, out)
	c.doubted = c.route.Transaction.Open && !out.StatusKnown && (c.doubted || err != nil && !open)
	switch {
	case unnamed:
		c.unsettle()
		if rows, ok := r.rows.(driverRows); ok {
			r.rows = &writingRows{rows, c, l, r.session}
		}
	case r.writes && !out.Position.IsEmpty():
		c.c.writes.add(out.Position)
	}
	if r.st.Class == route.Set || r.st.Facts.Any(route.FactMode) {
		clear(c.texts[:])
	}
	if d.Target == route.ToAll && err == nil {
		c.set(r, l)
	}
	c.observe(ctx, r, d, err)
}

// unsettle notes a change of which nobody knows the number.
func (c *conn) unsettle() {
	m := c.route.Memory()
	m.Unsettle()
	c.route.Recall(m)
	c.c.writes.add(gtid.Value{})
}

// set notes what holds on every link from now on.
func (c *conn) set(r *request, l *link) {
	n := len(c.settings)
	if n > 0 && l.settings == n && len(r.args) == 0 && len(c.settings[n-1].args) == 0 && c.settings[n-1].text == r.text {
		return // the same once more
	}
	c.settings = append(c.settings, setting{strings.Clone(r.text), slices.Clone(r.args)})
	l.settings = len(c.settings)
}

func (c *conn) observe(ctx context.Context, r *request, d *route.Decision, err error) {
	tell := c.c.options.Observe
	if tell == nil {
		return
	}
	o := Observation{Class: d.Class, Level: d.Level, Reasons: slices.Clone(d.Reasons()), Waited: r.waited, Asked: r.current != nil, Err: err}
	if d.Server >= 0 {
		o.Server = c.c.servers[d.Server].Name
	}
	tell(ctx, o)
}
