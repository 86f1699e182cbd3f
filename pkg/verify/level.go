package verify

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
)

const errUnknownVariable = 1193 // ER_UNKNOWN_SYSTEM_VARIABLE, of a server that is asked for a level

// LevelStatement gives a session of mysqlrw a consistency level. It is for
// Options.Statements.
func LevelStatement(level string) string {
	return "SET mysqlrw_consistency = '" + strings.ReplaceAll(level, "'", "''") + "'"
}

// KnowsLevel reports whether what is behind the pool is mysqlrw, which a
// session can ask for a level. Others know no such variable.
func KnowsLevel(ctx context.Context, db *sql.DB, level string) (bool, error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return false, err
	}
	defer conn.Close()
	_, err = conn.ExecContext(ctx, LevelStatement(level))
	if isNumber(err, errUnknownVariable) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("ask for level %s: %w", level, err)
	}
	return true, nil
}
