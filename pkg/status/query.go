package status

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// Querier runs one statement that returns rows. *sql.DB, *sql.Conn and
// *sql.Tx are Queriers.
type Querier interface {
	QueryContext(ctx context.Context, query string, args ...any) (*sql.Rows, error)
}

// Numbers of server errors that decide what is done next.
const (
	errParse           = 1064 // ER_PARSE_ERROR: the server does not know this statement
	errNoFunction      = 1305 // ER_SP_DOES_NOT_EXIST: nor a function of that name
	errNoDatabase      = 1046 // ER_NO_DB_ERROR: the same, where a stored function might have been meant
	errUnknownVariable = 1193 // ER_UNKNOWN_SYSTEM_VARIABLE
	errBadField        = 1054 // ER_BAD_FIELD_ERROR
	errNoSuchTable     = 1146 // ER_NO_SUCH_TABLE
	errNoSuchDatabase  = 1049 // ER_BAD_DB_ERROR: the table's database is not there either
	errUnknownTable    = 1109 // ER_UNKNOWN_TABLE: information_schema's word for it
	errTableAccess     = 1142 // ER_TABLEACCESS_DENIED_ERROR
	errColumnAccess    = 1143 // ER_COLUMNACCESS_DENIED_ERROR
	errRoutineAccess   = 1370 // ER_PROCACCESS_DENIED_ERROR: the same, for who may not run the stored functions there
	errSpecificAccess  = 1227 // ER_SPECIFIC_ACCESS_DENIED_ERROR
	errNoBinaryLogging = 1381 // ER_NO_BINARY_LOGGING
)

// HasNumber reports whether err is a server's error with one of the numbers.
func HasNumber(err error, numbers ...uint16) bool {
	var server *mysql.MySQLError
	if !errors.As(err, &server) {
		return false
	}
	for _, n := range numbers {
		if server.Number == n {
			return true
		}
	}
	return false
}

// IsDenied reports whether the server refused for lack of a privilege.
func IsDenied(err error) bool {
	return HasNumber(err, errTableAccess, errColumnAccess, errSpecificAccess)
}

// PrivilegeError is a server's refusal to show a thing, with what the account
// needs for it. It unwraps to the server's error.
type PrivilegeError struct {
	Need flavor.Need
	Err  error
}

func (e *PrivilegeError) Error() string { return e.Err.Error() }

// Unwrap returns the server's error.
func (e *PrivilegeError) Unwrap() error { return e.Err }

// needs wraps an error of reading what, as a PrivilegeError if it is one.
func needs(need flavor.Need, what string, err error) error {
	if IsDenied(err) {
		err = &PrivilegeError{need, err}
	}
	return fmt.Errorf("read %s: %w", what, err)
}

// IsMissing reports whether the server does not have the table, column,
// variable or function that was asked for, or does not know the statement.
func IsMissing(err error) bool {
	return HasNumber(err, errParse, errUnknownVariable, errBadField, errNoSuchTable, errNoSuchDatabase, errUnknownTable,
		errNoFunction)
}

// Field is one column of a row. A NULL is a Value of nil and never "".
type Field struct {
	Name  string // by flavor.Column: the newest spelling
	Value *string
}

// Row is one row of an answer whose columns are found by name.
type Row []Field

// Lookup returns the value of a column by its newest name, in any case. It
// returns nil for NULL and for a column that this server does not have.
func (r Row) Lookup(name string) *string {
	for _, f := range r {
		if strings.EqualFold(f.Name, name) {
			return f.Value
		}
	}
	return nil
}

// Text returns the value of a column, or "" for NULL and for no such column.
func (r Row) Text(name string) string {
	if v := r.Lookup(name); v != nil {
		return *v
	}
	return ""
}

// Query runs one statement and returns its rows with the newest column names.
func Query(ctx context.Context, q Querier, query string, args ...any) ([]Row, error) {
	rows, err := q.QueryContext(ctx, query, args...)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	given, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	columns := make([]string, len(given)) // the given slice is the driver's
	for i, c := range given {
		columns[i] = flavor.Column(c)
	}
	var all []Row
	for rows.Next() {
		values := make([]sql.NullString, len(columns))
		into := make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return nil, err
		}
		row := make(Row, len(columns))
		for i, c := range columns {
			row[i].Name = c
			if values[i].Valid {
				row[i].Value = &values[i].String
			}
		}
		all = append(all, row)
	}
	return all, rows.Err()
}

// ErrRows is returned for an answer that does not have the one row that it
// must have. No server gives one; what pretends to be a server may.
var ErrRows = errors.New("the answer does not have one row")

// QueryRow runs a statement that returns one row.
func QueryRow(ctx context.Context, q Querier, query string, args ...any) (Row, error) {
	rows, err := Query(ctx, q, query, args...)
	if err != nil {
		return nil, err
	}
	if len(rows) != 1 {
		return nil, fmt.Errorf("%w but %d: %.60s", ErrRows, len(rows), query)
	}
	return rows[0], nil
}

// Ladder runs the first statement that the server understands: only the error
// for an unknown statement or function leads to the next one, every other
// error is the answer.
func Ladder(ctx context.Context, q Querier, statements []string, args ...any) ([]Row, error) {
	var err error
	for _, s := range statements {
		var rows []Row
		rows, err = Query(ctx, q, s, args...)
		if err == nil || !HasNumber(err, errParse, errNoFunction, errNoDatabase, errRoutineAccess) {
			return rows, err
		}
	}
	return nil, err
}
