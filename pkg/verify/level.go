package verify

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

const errUnknownVariable = 1193 // ER_UNKNOWN_SYSTEM_VARIABLE, of a server that is asked so

// Setting is a statement that asks a session of mysqlrw for something, such as
// consistency or max_staleness. It is for Options.Statements.
func Setting(name, value string) string {
	return "SET mysqlrw_" + name + " = '" + strings.ReplaceAll(value, "'", "''") + "'"
}

// KnowsSetting reports whether what is behind the pool is mysqlrw, which can be
// asked so. Others know no such variable.
func KnowsSetting(ctx context.Context, db *sql.DB, setting string) (bool, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer discard(conn)
	_, err = conn.ExecContext(ctx, setting)
	if isNumber(err, errUnknownVariable) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("%s: %w", setting, err)
	}
	return true, nil
}
