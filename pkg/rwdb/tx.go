package rwdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/route"
)

// tx is a transaction. No server knows of it before its first statement, which decides where it runs.
type tx struct{ c *conn }

// isolations are the levels that the servers have.
var isolations = map[sql.IsolationLevel]string{
	sql.LevelReadUncommitted: "READ UNCOMMITTED",
	sql.LevelReadCommitted:   "READ COMMITTED",
	sql.LevelRepeatableRead:  "REPEATABLE READ",
	sql.LevelSerializable:    "SERIALIZABLE",
}

// BeginTx begins a transaction. A read-only one runs whole on one server that has what it must see.
func (c *conn) BeginTx(ctx context.Context, o driver.TxOptions) (driver.Tx, error) {
	switch {
	case c.broken:
		return nil, driver.ErrBadConn
	case ctx.Err() != nil:
		return nil, ctx.Err()
	}
	level := sql.IsolationLevel(o.Isolation)
	name := isolations[level]
	if level != sql.LevelDefault && name == "" {
		return nil, fmt.Errorf("mysql: unsupported isolation level: %v", level)
	}
	if c.route.Transaction.Server != "" { // a statement began it: what follows commits it, wherever that runs
		if err := c.run(ctx, c.request(opExec, "COMMIT", nil)); err != nil {
			return nil, err
		}
	}
	if level != sql.LevelDefault {
		c.note("SET TRANSACTION ISOLATION LEVEL " + name)
	}
	if o.ReadOnly {
		c.note("START TRANSACTION READ ONLY")
	} else {
		c.note("START TRANSACTION")
	}
	c.pending = beginning{is: true, options: o, next: c.pending.next}
	c.inTx, c.session = true, wishesOf(ctx).session
	return &tx{c}, nil
}

// note brings the session up to date after what no server was asked yet.
func (c *conn) note(text string) {
	st := route.Classify(text, &c.route.Options)
	d := route.Decision{Class: st.Class, Target: route.Answer, Server: -1}
	c.route.Apply(&st, text, &d, &c.snap, route.Outcome{})
}

// Commit implements driver.Tx.
func (t *tx) Commit() error { return t.end(opCommit, "COMMIT") }

// Rollback implements driver.Tx.
func (t *tx) Rollback() error { return t.end(opRollback, "ROLLBACK") }

func (t *tx) end(op op, text string) error {
	c := t.c
	if c == nil {
		return mysql.ErrInvalidConn
	}
	t.c = nil
	defer func() { c.inTx, c.session = false, nil }()
	if c.broken { // the server has rolled back
		return mysql.ErrInvalidConn
	}
	return c.run(context.Background(), c.request(op, text, nil))
}

// announces tells whether the statement is about the next transaction, and is kept until its server is known: on
// another one it would be about another transaction.
func (c *conn) announces(r *request, d *route.Decision) bool {
	const about = route.FactNextTransaction | route.FactIsolation | route.FactReadOnly | route.FactReadWrite
	return d.Target == route.ToAll && r.st.Class == route.Set && r.st.Count <= 1 && (r.op == opExec || r.op == opQuery) &&
		len(r.args) == 0 && r.st.Facts.Any(route.FactNextTransaction) && r.st.Facts&^about == 0 &&
		c.route.Transaction.Server == ""
}

// begin tells the server of the transaction that has begun, or will with the next statement.
func (c *conn) begin(ctx context.Context, l *link) (err error) {
	if c.pending.next != "" {
		for text := range strings.SplitSeq(c.pending.next, "\x00") {
			if _, err := l.conn.ExecContext(ctx, text, nil); err != nil {
				if isServerError(err) {
					c.pending.next = "" // it is told of that once
				}
				return err
			}
		}
	}
	switch {
	case !c.pending.is:
	case c.pending.text != "":
		_, err = l.conn.ExecContext(ctx, c.pending.text, nil)
	default:
		l.tx, err = l.conn.BeginTx(ctx, c.pending.options)
	}
	if err == nil {
		c.doubted = c.doubted && !c.pending.is
		c.pending = beginning{}
	}
	return err
}

// begun notes where a transaction has begun, be its first statement refused: it must be ended there, and what follows
// must not run without it.
func (c *conn) begun(l *link) {
	if c.links[l.from.index] != l {
		c.broken = true
		return
	}
	c.route.Transaction.Server = l.from.Name
}
