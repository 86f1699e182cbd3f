package rwdb

import (
	"context"
	"database/sql/driver"
	"errors"

	"github.com/mysqlrw/mysqlrw/route"
)

// stmt is a prepared statement. It is prepared on a server when it runs there first.
type stmt struct {
	c      *conn
	text   string
	st     route.Statement
	on     []prepared // by server
	inputs int
	closed bool
}

// prepared is the statement on one link.
type prepared struct {
	link *link
	stmt driverStmt
}

// PrepareContext prepares a statement on the server where it would run now, so that what is wrong with it is told.
func (c *conn) PrepareContext(ctx context.Context, query string) (driver.Stmt, error) {
	s := &stmt{c: c, text: query, on: make([]prepared, len(c.links))}
	r := c.request(opPrepare, query, nil)
	r.stmt, s.st = s, r.st
	if err := c.run(ctx, r); err != nil {
		return nil, err
	}
	return s, nil
}

// onLink returns the statement on a link, and prepares it there if it is not.
func (s *stmt) onLink(ctx context.Context, l *link) (driverStmt, error) {
	p := &s.on[l.from.index]
	if p.link == l {
		return p.stmt, nil
	}
	one, err := l.prepare(ctx, s.text)
	if err != nil {
		return nil, err
	}
	*p = prepared{l, one}
	s.inputs = one.NumInput()
	return one, nil
}

// Close closes it on all servers.
func (s *stmt) Close() error {
	if s.closed {
		return nil
	}
	s.closed = true
	var all []error
	for i, p := range s.on {
		if p.stmt != nil && s.c.links[i] == p.link {
			all = append(all, p.stmt.Close())
		}
	}
	return errors.Join(all...)
}

// NumInput returns the number of placeholders.
func (s *stmt) NumInput() int { return s.inputs }

// CheckNamedValue takes what the driver takes.
func (s *stmt) CheckNamedValue(v *driver.NamedValue) error { return s.c.CheckNamedValue(v) }

// Exec implements driver.Stmt.
func (s *stmt) Exec(args []driver.Value) (driver.Result, error) {
	return s.ExecContext(context.Background(), named(args))
}

// Query implements driver.Stmt.
func (s *stmt) Query(args []driver.Value) (driver.Rows, error) {
	return s.QueryContext(context.Background(), named(args))
}

func named(args []driver.Value) []driver.NamedValue {
	all := make([]driver.NamedValue, len(args))
	for i, v := range args {
		all[i] = driver.NamedValue{Ordinal: i + 1, Value: v}
	}
	return all
}

// ExecContext runs it.
func (s *stmt) ExecContext(ctx context.Context, args []driver.NamedValue) (driver.Result, error) {
	r := s.request(opStmtExec, args)
	err := s.c.run(ctx, r)
	return r.result, err
}

// QueryContext runs it for its rows.
func (s *stmt) QueryContext(ctx context.Context, args []driver.NamedValue) (driver.Rows, error) {
	r := s.request(opStmtQuery, args)
	if err := s.c.run(ctx, r); err != nil {
		return nil, err
	}
	return r.rows, nil
}

func (s *stmt) request(op op, args []driver.NamedValue) *request {
	r := &s.c.req
	*r = request{op: op, text: s.text, args: args, st: s.st, stmt: s}
	return r
}
