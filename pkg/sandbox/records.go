package sandbox

import (
	"context"
	"database/sql"
	"errors"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// oneOf returns the rows of the first statement that the server knows.
func oneOf(ctx context.Context, db *sql.DB, statements []string) ([]map[string]string, error) {
	var err error
	for _, statement := range statements {
		var rows []map[string]string
		rows, err = records(ctx, db, statement)
		syntax := (*mysql.MySQLError)(nil)
		if !errors.As(err, &syntax) || syntax.Number != 1064 {
			return rows, err
		}
	}
	return nil, err
}

// records returns the rows of a statement by the names of their columns as
// this project knows them; NULL is "".
func records(ctx context.Context, db *sql.DB, statement string) ([]map[string]string, error) {
	rows, err := db.QueryContext(ctx, statement)
	if err != nil {
		return nil, err
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		return nil, err
	}
	var all []map[string]string
	for rows.Next() {
		values := make([]sql.NullString, len(names))
		targets := make([]any, len(names))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			return nil, err
		}
		row := make(map[string]string, len(names))
		for i, name := range names {
			row[flavor.Column(name)] = values[i].String
		}
		all = append(all, row)
	}
	return all, rows.Err()
}
