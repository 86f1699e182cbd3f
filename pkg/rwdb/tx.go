package rwdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"

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
	if level := sql.IsolationLevel(o.Isolation); level != sql.LevelDefault {
		name := isolations[level]
		if name == "" {
			return nil, fmt.Errorf("mysql: unsupported isolation level: %v", level)
		}
		c.note("SET TRANSACTION ISOLATION LEVEL " + name)
	}
	if o.ReadOnly {
		c.note("START TRANSACTION READ ONLY")
	} else {
		c.note("START TRANSACTION")
	}
	c.pending = beginning{is: true, options: o}
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
