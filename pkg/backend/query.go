package backend

import (
	"context"
	"fmt"
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// maxResult is the most that Query holds.
const maxResult = 4 << 20

// Result is a small result of text.
type Result struct {
	Columns []string   // their names
	Rows    [][][]byte // as many values as columns; nil is NULL
}

// Text returns a value of the first row by the name of its column; "" if there is none, or it is NULL.
func (r *Result) Text(column string) string {
	text, _ := r.Get(0, column)
	return text
}

// Get returns a value by the name of its column, in any letter case, since servers have changed
// that. It is not there if there is no such row or column, or if it is NULL.
func (r *Result) Get(row int, column string) (text string, ok bool) {
	if row < 0 || row >= len(r.Rows) {
		return "", false
	}
	for i, name := range r.Columns {
		if strings.EqualFold(name, column) {
			v := r.Rows[row][i]
			return string(v), v != nil
		}
	}
	return "", false
}

// Query runs a statement and returns its result, the last one if there are several. A statement
// that returns none gives an empty one. One of more than 4 MB is read and given up with
// ErrTooLarge.
func (c *Conn) Query(ctx context.Context, sql string) (*Result, error) {
	c.begin(nil, sql)
	r := &Result{}
	err := c.round(ctx, "run a query on", func() error {
		text, columns, _, err := c.collect(nil, wire.ComQuery)
		if err != nil {
			return err
		}
		return r.decode(text, columns, c.caps)
	})
	if err != nil {
		return nil, err
	}
	return r, nil
}

// AnswerValue reads the whole answer to a query that was written, as Answer does, and returns the
// first value of its first row as well, appended to dst; null says that there is none or that it is
// NULL. It allocates nothing if dst has room for the whole result.
func (c *Conn) AnswerValue(dst []byte) (value []byte, null bool, ok wire.OK, err error) {
	text, columns, ok, err := c.collect(dst[:0], wire.ComQuery)
	if err = c.outcome(context.Background(), "read an answer of", err); err != nil {
		return dst[:0], true, ok, err
	}
	for rest := text; len(rest) > 0; columns-- {
		p, _, n, err := wire.Split(rest)
		switch {
		case err != nil || n == 0:
			return dst[:0], true, ok, c.broken("read an answer of", true, ErrNotMySQL)
		case columns > 0 || wire.IsProgress(p):
			rest = rest[n:]
			continue
		}
		values := wire.ReadTextRow(p)
		v, there := values.Next()
		return append(text[:0], v...), !there || v == nil, ok, nil
	}
	return dst[:0], true, ok, nil
}

// collect reads an answer and appends to dst the packets behind the head of its last result:
// definitions, as many as columns says, and rows.
func (c *Conn) collect(dst []byte, command wire.Command) (text []byte, columns int, ok wire.OK, err error) {
	text = dst
	size := 0
	ok, err = c.end(command, func(b []byte, head bool) {
		if head {
			text, size, columns = text[:0], 0, c.answer.Head().Columns
			return
		}
		if size += len(b); size <= maxResult {
			text = append(text, b...)
		}
	})
	if err == nil && size > maxResult {
		err = fmt.Errorf("%w: %d bytes, at most %d", ErrTooLarge, size, maxResult)
	}
	return text, columns, ok, err
}

// decode reads the packets of a result without its head and end. Values alias them.
func (r *Result) decode(text []byte, columns int, caps wire.Capability) error {
	for len(text) > 0 {
		p, _, n, err := wire.Split(text)
		if err != nil {
			return err
		}
		if n == 0 {
			return fmt.Errorf("%w: a row is not complete", ErrNotMySQL)
		}
		text = text[n:]
		if wire.IsProgress(p) {
			continue
		}
		if len(r.Columns) < columns {
			var def wire.Column
			if err := def.Decode(p, caps); err != nil {
				return err
			}
			r.Columns = append(r.Columns, string(def.Name))
			continue
		}
		row := make([][]byte, 0, columns)
		values := wire.ReadTextRow(p)
		for v, ok := values.Next(); ok; v, ok = values.Next() {
			row = append(row, v)
		}
		if err := values.Err(); err != nil {
			return err
		}
		if len(row) != columns {
			return fmt.Errorf("%w: a row of %d values, want %d", ErrNotMySQL, len(row), columns)
		}
		r.Rows = append(r.Rows, row)
	}
	return nil
}
