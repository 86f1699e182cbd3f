package verify

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/deadline"
)

// Numbers of the servers, the same on MySQL and MariaDB.
const (
	errSchemaExists = 1007 // ER_DB_CREATE_EXISTS
	errNoSchema     = 1049 // ER_BAD_DB_ERROR
	errTableExists  = 1050 // ER_TABLE_EXISTS_ERROR
	errNoTable      = 1146 // ER_NO_SUCH_TABLE
)

// ErrForeignTable is returned by Run if the table is there already.
var ErrForeignTable = errors.New("there is a table of this name already: of another run, or of one that was killed")

// tableName is the table's name in the schema.
const tableName = "registers"

// table is the rows that stand for the registers.
type table struct {
	db         *sql.DB
	schemaText string // as it was given
	schema     string // quoted
	name       string // quoted, with the schema
	ownsSchema bool

	// base is what a number is stored on top of. It is larger than what any
	// earlier run has stored, so that an old row on a replica that is behind
	// cannot be taken for one of this run.
	base  int64
	reads []string // by register
}

func newTable(o Options, registers int, now time.Time) *table {
	schema := "`" + strings.ReplaceAll(o.Schema, "`", "``") + "`"
	t := &table{db: o.Write, schemaText: o.Schema, schema: schema, name: schema + "." + tableName, base: now.UnixMilli() << 10}
	for i := range registers {
		t.reads = append(t.reads, t.readText(i))
	}
	return t
}

// readText is the read that is judged: a row, and who gives it. UUID_SHORT()
// has the server's number in its highest byte and the time of its start behind
// it. A proxy that splits takes it for a read that any server may answer, other
// than @@server_id, which asks for one server's state.
func (t *table) readText(id int) string {
	return "SELECT n, UUID_SHORT() >> 24 FROM " + t.name + " WHERE id = " + strconv.Itoa(id)
}

// writeText leaves the higher number in the row: a write that arrives late, after
// its client has given it up, changes nothing.
func (t *table) writeText(w write, id int) string {
	number := strconv.FormatInt(t.base+w.number, 10)
	return "UPDATE " + t.name + " SET n = " + number + " WHERE id = " + strconv.Itoa(id) + " AND n < " + number
}

// number reads what a row holds.
func (t *table) number(stored int64) int64 { return max(absent, stored-t.base) }

// ErrReadOnly is returned by Run if who is to take the writes is read-only. An
// account with enough privileges could write there all the same, and that is how
// a replica comes to differ from its source.
var ErrReadOnly = errors.New("the server is read-only, and the writes must go to one that is not")

// make creates the table with a row for each register.
func (t *table) make(ctx context.Context) error {
	var mode string
	if err := t.ask(ctx, &mode, "SELECT @@GLOBAL.read_only"); err != nil {
		return err
	}
	if mode != "0" && mode != "OFF" {
		return ErrReadOnly
	}
	_, err := t.db.ExecContext(ctx, "CREATE DATABASE "+t.schema)
	t.ownsSchema = err == nil
	if err != nil && !isNumber(err, errSchemaExists) {
		return fmt.Errorf("create schema %s: %w", t.schema, err)
	}
	_, err = t.db.ExecContext(ctx, "CREATE TABLE "+t.name+
		" (id INT NOT NULL PRIMARY KEY, n BIGINT NOT NULL) ENGINE=InnoDB COMMENT 'mysqlrw verify: dropped when the run ends'")
	if isNumber(err, errTableExists) {
		return fmt.Errorf("%w: drop it, or choose another schema: DROP TABLE %s", ErrForeignTable, t.name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("create table %s: %w", t.name, err), t.dropSchema(ctx))
	}
	const atOnce = 1000
	for from := 0; from < len(t.reads); from += atOnce {
		var rows []string
		for id := from; id < min(from+atOnce, len(t.reads)); id++ {
			rows = append(rows, fmt.Sprintf("(%d, %d)", id, t.base))
		}
		if _, err := t.db.ExecContext(ctx, "INSERT INTO "+t.name+" VALUES "+strings.Join(rows, ", ")); err != nil {
			return errors.Join(fmt.Errorf("fill table %s: %w", t.name, err), t.drop(ctx))
		}
	}
	return nil
}

// drop removes what make has made.
func (t *table) drop(ctx context.Context) error {
	if _, err := t.db.ExecContext(ctx, "DROP TABLE "+t.name); err != nil {
		return fmt.Errorf("drop table %s: %w", t.name, err)
	}
	return t.dropSchema(ctx)
}

// dropSchema removes the schema if the run has made it and nobody has put
// anything there since.
func (t *table) dropSchema(ctx context.Context) error {
	if !t.ownsSchema {
		return nil
	}
	var used int
	err := t.ask(ctx, &used, "SELECT COUNT(*) FROM information_schema.tables WHERE table_schema = ?", t.schemaText)
	if err == nil && used == 0 {
		_, err = t.db.ExecContext(ctx, "DROP DATABASE "+t.schema)
	}
	if err != nil {
		return fmt.Errorf("drop schema %s: %w", t.schema, err)
	}
	return nil
}

// ask reads one value where writes go: in a transaction, since a proxy could ask
// a replica else.
func (t *table) ask(ctx context.Context, value any, query string, args ...any) error {
	tx, err := t.db.BeginTx(ctx, nil)
	if err != nil {
		return err
	}
	defer func() { _ = tx.Rollback() }() // nothing has changed
	return tx.QueryRowContext(ctx, query, args...).Scan(value)
}

// settle waits until the table has arrived wherever reads go: until several
// connections in a row have found it. A replica that never gets it is no error.
func (t *table) settle(ctx context.Context, db *sql.DB, limit time.Duration) error {
	const inARow = 8
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	for found := 0; found < inARow; {
		stored, err := t.readOnce(ctx, db)
		switch {
		case ctx.Err() != nil:
			return nil
		case err == nil && t.number(stored) >= initial:
			found++
			continue
		case err != nil && !isAbsent(err):
			return err
		}
		found = 0
		_ = deadline.Pause(ctx, 20*time.Millisecond)
	}
	return nil
}

// readOnce reads the first register on a connection of its own.
func (t *table) readOnce(ctx context.Context, db *sql.DB) (stored int64, err error) {
	conn, err := db.Conn(ctx)
	if err != nil {
		return 0, err
	}
	defer discard(conn)
	var server int
	err = conn.QueryRowContext(ctx, t.reads[0]).Scan(&stored, &server)
	return stored, err
}

// isAbsent reports that a server knows no such table or row.
func isAbsent(err error) bool {
	return errors.Is(err, sql.ErrNoRows) || isNumber(err, errNoTable) || isNumber(err, errNoSchema)
}

func isNumber(err error, number uint16) bool {
	var server *mysql.MySQLError
	return errors.As(err, &server) && server.Number == number
}
