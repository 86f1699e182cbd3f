// Package statustest is a scripted server for tests: a *sql.DB that answers
// statements from a list, so that every odd row a server has ever shown can be
// put to the code that reads it. Only tests import it.
package statustest

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"strings"
	"sync"
	"testing"

	"github.com/go-sql-driver/mysql"
)

// Answer is what the server says to statements that contain a text.
type Answer struct {
	Query   string // any part of the statement
	Columns []string
	Rows    [][]any // nil values are NULL
	Number  uint16  // not 0: an error with this number instead
	Repeat  int     // how often it is given before the next one for the same text is; 0 is always
}

// Unknown is the answer of a server that does not know a statement.
func Unknown(query string) Answer { return Answer{Query: query, Number: 1064} }

// Version is the answer to SELECT VERSION().
func Version(text string) Answer {
	return Answer{Query: "VERSION()", Columns: []string{"version"}, Rows: [][]any{{text}}}
}

// Row makes a one-row answer from column names and values in turn.
func Row(query string, pairs ...any) Answer {
	a := Answer{Query: query}
	var row []any
	for i := 0; i+1 < len(pairs); i += 2 {
		a.Columns = append(a.Columns, pairs[i].(string))
		row = append(row, pairs[i+1])
	}
	a.Rows = [][]any{row}
	return a
}

// Open returns a database that gives the first answer whose text a statement
// contains, and fails the test for a statement without one.
func Open(t testing.TB, answers ...Answer) *sql.DB {
	t.Helper()
	db := sql.OpenDB(&connector{t: t, answers: answers, given: make([]int, len(answers))})
	t.Cleanup(func() { db.Close() })
	return db
}

type connector struct {
	t       testing.TB
	mu      sync.Mutex
	answers []Answer
	given   []int
}

func (c *connector) Connect(context.Context) (driver.Conn, error) { return conn{c}, nil }
func (c *connector) Driver() driver.Driver                        { return nil }

func (c *connector) answer(query string) (Answer, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i, a := range c.answers {
		if !strings.Contains(query, a.Query) || a.Repeat > 0 && c.given[i] >= a.Repeat {
			continue
		}
		c.given[i]++
		if a.Number != 0 {
			return a, &mysql.MySQLError{Number: a.Number, Message: fmt.Sprintf("scripted error for %q", a.Query)}
		}
		return a, nil
	}
	c.t.Errorf("no scripted answer for %q", query)
	return Answer{}, errors.New("no scripted answer")
}

type conn struct{ c *connector }

func (conn) Prepare(string) (driver.Stmt, error) { return nil, errors.New("not scripted: prepare") }
func (conn) Close() error                        { return nil }
func (conn) Begin() (driver.Tx, error)           { return nil, errors.New("not scripted: begin") }

// QueryContext answers from the script.
func (k conn) QueryContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Rows, error) {
	a, err := k.c.answer(query)
	if err != nil {
		return nil, err
	}
	return &rows{columns: a.Columns, rows: a.Rows}, nil
}

// ExecContext answers from the script too; its rows are dropped.
func (k conn) ExecContext(_ context.Context, query string, _ []driver.NamedValue) (driver.Result, error) {
	_, err := k.c.answer(query)
	return driver.RowsAffected(0), err
}

type rows struct {
	columns []string
	rows    [][]any
}

func (r *rows) Columns() []string { return r.columns }
func (r *rows) Close() error      { return nil }

func (r *rows) Next(dest []driver.Value) error {
	if len(r.rows) == 0 {
		return io.EOF
	}
	for i, v := range r.rows[0] {
		switch v := v.(type) {
		case int:
			dest[i] = int64(v)
		default:
			dest[i] = v
		}
	}
	r.rows = r.rows[1:]
	return nil
}
