package rwdb

import (
	"context"
	"database/sql/driver"
	"errors"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/topology"
	"github.com/mysqlrw/mysqlrw/route"
)

// unreachable goes on after a server that no connection could be made to: elsewhere, or on the next primary.
func (c *conn) unreachable(ctx context.Context, r *request, d *route.Decision, why error) (again bool, err error) {
	i := d.Server
	c.c.monitor.Recheck(i)
	switch {
	case ctx.Err() != nil:
		return false, ctx.Err()
	case c.broken:
		return false, driver.ErrBadConn
	case d.Target == route.ToHolder || d.Target == route.ToLast:
		return false, why
	case c.snap.Servers[i].Role == route.Replica, r.repeatable() && d.Target == route.ToReplica && !isServerError(why):
		r.excluded |= 1 << i
		return true, nil
	case isServerError(why): // who cannot log in is told so
		return false, why
	}
	r.tried = true
	if again, err := c.awaitPrimary(ctx, r); again || err != nil {
		return again, err
	}
	return false, why
}

// failed goes on after an error that no server has sent. sent tells whether the statement may have reached it.
func (c *conn) failed(ctx context.Context, r *request, l *link, d *route.Decision, why error, sent bool) (again bool, err error) {
	i := d.Server
	if isServerError(why) { // of what stands in front of the statement
		if d.Target == route.ToReplica && c.snap.Servers[i].Role == route.Replica { // it may lack what is set
			r.excluded |= 1 << i
			return true, nil
		}
		c.observe(ctx, r, d, why)
		return false, why
	}
	if l.conn.IsValid() && !errors.Is(why, driver.ErrBadConn) {
		return false, why // the driver has refused it, and nothing was sent
	}
	inside := c.route.Transaction.Server == c.c.servers[i].Name
	c.drop(i)
	unsent := !sent || errors.Is(why, driver.ErrBadConn)
	if !unsent && r.writes && (!inside || r.st.Class == route.Commit || r.st.Facts.Any(route.FactImplicitCommit)) {
		c.unsettle() // it may have taken effect
	}
	switch {
	case ctx.Err() != nil:
		return false, why
	case c.broken, sent && l.from.timedOut(r.began): // elsewhere it would take as long
		return false, why
	case unsent && !errors.Is(why, driver.ErrBadConn), r.repeatable():
		return c.unreachable(ctx, r, d, why)
	case unsent && r.excluded == 0 && !r.tried: // the link was stale: once more on a new one
		r.tried = true
		return true, nil
	}
	c.c.monitor.Recheck(i)
	return false, why
}

// timedOut tells whether an answer that was waited for since then has taken longer than the DSN allows. The driver's
// error does not tell.
func (s *server) timedOut(since time.Time) bool {
	limit := s.Config.ReadTimeout
	return limit > 0 && time.Since(since) >= limit
}

// elsewhere goes on after a server that did nothing because it is read-only. Without another one the program gets
// what the server said.
func (c *conn) elsewhere(ctx context.Context, r *request, d *route.Decision, said error) (again bool, err error) {
	i := d.Server
	c.c.monitor.Recheck(i)
	switch {
	case c.snap.Servers[i].Role == route.Replica && r.st.Target == route.ToReplica: // the text hides a write
		r.st.Target, r.st.Reason, r.writes = route.ToPrimary, route.Writes, true
		return true, nil
	case c.snap.Servers[i].Role == route.Replica || c.c.servers[i].Role != topology.Auto:
		return false, said
	}
	r.tried = true
	if again, err := c.awaitPrimary(ctx, r); again || err != nil {
		return again, err
	}
	return false, said
}

// isReadOnly tells whether a server refused a write because it takes none.
func isReadOnly(err error) bool {
	var e *mysql.MySQLError
	if !errors.As(err, &e) {
		return false
	}
	const readOnlyOption, readOnlyMode = 1290, 1836
	return e.Number == readOnlyMode ||
		e.Number == readOnlyOption && (strings.Contains(e.Message, "read-only") || strings.Contains(e.Message, "read_only"))
}
