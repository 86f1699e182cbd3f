package rwdb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"net"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/status"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// driverConn is what a connection of go-sql-driver can do.
type driverConn interface {
	driver.Conn
	driver.ConnBeginTx
	driver.ConnPrepareContext
	driver.ExecerContext
	driver.QueryerContext
	driver.NamedValueChecker
	driver.Pinger
	driver.SessionResetter
	driver.Validator
}

// driverStmt is what its prepared statements can do.
type driverStmt interface {
	driver.Stmt
	driver.StmtExecContext
	driver.StmtQueryContext
	driver.NamedValueChecker
}

// driverRows are its rows.
type driverRows interface {
	driver.RowsNextResultSet
	driver.RowsColumnTypeDatabaseTypeName
	driver.RowsColumnTypeNullable
	driver.RowsColumnTypePrecisionScale
	driver.RowsColumnTypeScanType
}

// link is one connection to one server. It belongs to one conn.
type link struct {
	from   *server
	conn   driverConn
	net    *tracked // nil if the driver dials itself
	flavor flavor.Flavor
	tx     driver.Tx // that was begun here

	settings  int  // of those of the conn, how many hold here
	unchecked bool // nobody has looked whether it is alive since the pool handed it out
	own       bool // the server sends the GTIDs of the session's own writes only
	counted   bool // the monitor counts a statement here
	streams   bool // the answer was not complete when the statement returned
}

// dial opens a connection.
func (s *server) dial(ctx context.Context) (*link, error) {
	l := &link{from: s}
	opened, err := s.connector.Connect(context.WithValue(ctx, linkKey{}, l))
	if err != nil {
		return nil, err
	}
	l.conn = opened.(driverConn)
	if l.net != nil {
		s.mu.Lock()
		s.conns[l.net.Conn] = struct{}{}
		s.mu.Unlock()
	}
	if err := l.listen(ctx); err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

// listen asks the server to tell of positions. One that does not know how is asked for them.
func (l *link) listen(ctx context.Context) error {
	if l.opaque() {
		return nil
	}
	text := "SET session_track_gtids = ALL_GTIDS"
	switch {
	case l.flavor == flavor.MariaDB:
		text = "SET session_track_system_variables = 'last_gtid'"
	case len(l.from.monitor.Snapshot().Servers[l.from.index].Position.String()) > longest:
		text, l.own = "SET session_track_gtids = OWN_GTID", true
	}
	_, err := l.conn.ExecContext(ctx, text, nil)
	if isServerError(err) && l.conn.IsValid() {
		l.net.stage = opaque
		return nil
	}
	return err
}

// shorten has the server send less, where all that it has is too long to come with every answer.
func (l *link) shorten(ctx context.Context) error {
	if l.net == nil || !l.net.long || l.own || l.net.heard.status.Has(wire.InTransaction) {
		return nil
	}
	l.own = true
	_, err := l.conn.ExecContext(ctx, "SET session_track_gtids = OWN_GTID", nil)
	if isServerError(err) {
		return nil // it sends more than it need
	}
	return err
}

// opaque tells whether nothing can be heard of what the server says of itself.
func (l *link) opaque() bool { return l.net == nil || l.net.stage != commands }

// heard returns what the last answer said; the zero value if nothing can be heard.
func (l *link) heard() heard {
	if l.opaque() {
		return heard{}
	}
	return l.net.heard
}

// alive tells whether the connection can be used. The first time after the pool handed it out, the driver looks at
// its socket.
func (l *link) alive(ctx context.Context) bool {
	if !l.conn.IsValid() {
		return false
	}
	if l.unchecked {
		l.unchecked = false
		return l.conn.ResetSession(ctx) == nil
	}
	return true
}

func (l *link) close() {
	l.release()
	if l.net != nil {
		l.from.mu.Lock()
		delete(l.from.conns, l.net.Conn)
		l.from.mu.Unlock()
	}
	_ = l.conn.Close()
}

// acquire has the server count as busy.
func (l *link) acquire() {
	l.release()
	l.counted, l.streams = true, false
	l.from.monitor.Acquire(l.from.index)
}

func (l *link) release() {
	if l.counted {
		l.counted = false
		l.from.monitor.Release(l.from.index)
	}
}

// answered is called when an answer is complete, while the driver reads it.
func (l *link) answered() {
	if l.streams {
		l.release()
	}
}

// returned is called when the driver has returned from a statement.
func (l *link) returned() {
	if l.streams = !l.opaque() && !l.net.heard.done; !l.streams {
		l.release()
	}
}

// exec runs a statement without rows. Where the driver does not put the arguments into the text, it is prepared
// for once.
func (l *link) exec(ctx context.Context, text string, args []driver.NamedValue) (driver.Result, error) {
	result, err := l.conn.ExecContext(ctx, text, args)
	if !errors.Is(err, driver.ErrSkip) {
		return result, err
	}
	s, err := l.prepare(ctx, text)
	if err != nil {
		return nil, err
	}
	defer s.Close()
	return s.ExecContext(ctx, args)
}

// query runs a statement with rows.
func (l *link) query(ctx context.Context, text string, args []driver.NamedValue) (driver.Rows, error) {
	rows, err := l.conn.QueryContext(ctx, text, args)
	if !errors.Is(err, driver.ErrSkip) {
		return rows, err
	}
	s, err := l.prepare(ctx, text)
	if err != nil {
		return nil, err
	}
	if rows, err = s.QueryContext(ctx, args); err != nil {
		_ = s.Close()
		return nil, err
	}
	return &onceRows{rows.(driverRows), s}, nil
}

func (l *link) prepare(ctx context.Context, text string) (driverStmt, error) {
	s, err := l.conn.PrepareContext(ctx, text)
	if err != nil {
		return nil, err
	}
	return s.(driverStmt), nil
}

// onceRows are the rows of a statement that was prepared for them.
type onceRows struct {
	driverRows
	stmt driver.Stmt
}

// Close closes the statement, too.
func (r *onceRows) Close() error {
	err := r.driverRows.Close()
	return errors.Join(err, r.stmt.Close())
}

// row reads the only row of a query of our own.
func (l *link) row(ctx context.Context, query string) (names []string, values []driver.Value, err error) {
	rows, err := l.conn.QueryContext(ctx, query, nil)
	if err != nil {
		return nil, nil, err
	}
	defer rows.Close()
	names = rows.Columns()
	values = make([]driver.Value, len(names))
	if err := rows.Next(values); err != nil {
		return nil, nil, err
	}
	for i, v := range values {
		if b, ok := v.([]byte); ok {
			values[i] = string(b) // it lies in the driver's buffer
		}
	}
	return names, values, nil
}

// standing asks the server where it stands.
func (l *link) standing(ctx context.Context) (status.Standing, error) {
	names, values, err := l.row(ctx, status.StandingQuery(l.flavor))
	if err != nil {
		return status.Standing{}, err
	}
	return status.ReadStanding(l.flavor, func(column string) string {
		for i, name := range names {
			if name == column {
				return fmt.Sprint(values[i])
			}
		}
		return ""
	})
}

// isServerError tells whether the server has answered with an error.
func isServerError(err error) bool {
	var e *mysql.MySQLError
	return errors.As(err, &e)
}

var _ net.Conn = (*tracked)(nil)
