package verify

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"math/rand/v2"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/deadline"
)

// client does what its role says, in one session after the other. One goroutine
// owns it.
type client struct {
	run    *run
	role   role
	random *rand.Rand
	tally  tally

	session     *session // nil: there is no connection
	read, write *sql.Conn

	back     int // reads that still follow the last write
	register int // of the last write
	failures int // one after the other
}

// loop works until the run is over.
func (c *client) loop(ctx context.Context) {
	defer c.leave()
	next := c.run.now()
	for !c.run.over(ctx) {
		if c.session == nil && !c.connect(ctx) {
			continue
		}
		if c.role.every > 0 {
			if wait := next - c.run.now(); wait > 0 {
				_ = deadline.Pause(ctx, wait)
				if c.run.over(ctx) {
					return
				}
			}
			next = max(next, c.run.now()-c.role.every) + c.role.every // what was missed is not made up for
		}
		c.step()
		c.run.report()
	}
}

// step is one statement.
func (c *client) step() {
	switch {
	case c.back > 0:
		c.readRegister(c.register)
	case c.random.Float64() < c.role.writes:
		c.register = c.pick()
		if c.writeRegister(c.register) {
			c.back = c.role.readsBack
		}
	default:
		c.readRegister(c.pick())
	}
}

func (c *client) pick() int { return c.role.from + c.random.IntN(c.role.to-c.role.from) }

// connect begins a session.
func (c *client) connect(ctx context.Context) bool {
	opening, cancel := context.WithTimeout(ctx, c.run.options.Timeout)
	defer cancel()
	err := c.open(opening)
	if err == nil {
		c.session = newSession(c.run.newSessionID(), len(c.run.registers))
		return true
	}
	c.leave()
	if ctx.Err() == nil {
		c.tally.errors.add("connect", err)
		c.backOff(ctx)
	}
	return false
}

func (c *client) open(ctx context.Context) (err error) {
	if c.read, err = c.run.options.Read.Conn(ctx); err != nil {
		return err
	}
	for _, statement := range c.run.options.Statements {
		if _, err = c.read.ExecContext(ctx, statement); err != nil {
			return err
		}
	}
	c.write = c.read
	if c.run.options.Write != c.run.options.Read {
		c.write, err = c.run.options.Write.Conn(ctx)
	}
	return err
}

// leave ends the session.
func (c *client) leave() {
	if c.write != c.read {
		discard(c.write)
	}
	discard(c.read)
	c.read, c.write, c.session, c.back = nil, nil, nil, 0
}

// discard closes a connection, which the pool would keep else: another session
// would have what was set on it.
func discard(conn *sql.Conn) {
	if conn != nil {
		_ = conn.Raw(func(any) error { return driver.ErrBadConn }) // which closes it
		_ = conn.Close()                                           // of no effect then
	}
}

// readRegister reads and judges.
func (c *client) readRegister(id int) {
	r := c.run.registers[id]
	ctx, cancel := context.WithTimeout(c.run.statements, c.run.options.Timeout)
	defer cancel()
	before := r.look(&c.run.clock)
	began := c.run.now()
	var stored int64
	var server int
	err := c.read.QueryRowContext(ctx, c.run.table.reads[id]).Scan(&stored, &server)
	got := sight{
		number: c.run.table.number(stored), session: c.session.id, server: server,
		began: began, returned: c.run.now(),
	}
	switch {
	case err != nil && isAbsent(err):
		got.number = absent
	case err != nil:
		c.failed("read", err)
		return
	}
	c.failures = 0
	c.run.reads.Add(1)
	seen := c.seenBefore(id)
	v := c.session.judgeRead(r, before, got)
	if v.found&invented == 0 {
		r.end(&c.run.clock, before.span, got.number, c.session.id, false)
	}
	first := c.back == c.role.readsBack && c.back > 0
	c.back = max(0, c.back-1)
	c.tally.read(c.role, v, got, first)
	if v.found != 0 {
		c.run.examples.keep(c.session, r, before, seen, v, got)
	}
}

// seenBefore is what the session had seen of a register and of its past before
// a read that may change that.
func (c *client) seenBefore(id int) entitled {
	return entitled{own: c.session.own[id], seen: c.session.seen[id], past: c.session.past}
}

// writeRegister reports whether there is something to be read back.
func (c *client) writeRegister(id int) bool {
	r := c.run.registers[id]
	ctx, cancel := context.WithTimeout(c.run.statements, c.run.options.Timeout)
	defer cancel()
	before := r.look(&c.run.clock)
	w := r.issue(c.session.id, c.run.now)
	began := c.run.now()
	changed := int64(0)
	result, err := c.write.ExecContext(ctx, c.run.table.writeText(w, id))
	if err == nil {
		changed, err = result.RowsAffected()
	}
	if err != nil {
		c.failed("write", err)
		return false
	}
	c.failures = 0
	at := c.run.now()
	if changed > 0 {
		c.session.wrote(r, w, at)
	} else {
		c.session.overtaken(r, w, at)
	}
	r.end(&c.run.clock, before.span, w.number, c.session.id, true)
	c.tally.writes++
	c.tally.writeTime.add(at - began)
	return changed > 0
}

// failed counts an error. The session goes on if the server has answered.
func (c *client) failed(what string, err error) {
	c.back = 0
	if errors.Is(err, context.Canceled) {
		c.leave() // the run was interrupted
		return
	}
	c.tally.errors.add(what, err)
	var server *mysql.MySQLError
	if !errors.As(err, &server) {
		c.leave()
	}
	c.backOff(c.run.statements)
}

// backOff waits before the next try, longer after each failure.
func (c *client) backOff(ctx context.Context) {
	c.failures++
	_ = deadline.Pause(ctx, min(10*time.Millisecond<<min(c.failures-1, 6), 500*time.Millisecond))
}
