package tracker

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/backend"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// ErrBlind means that the account cannot be sure to see all tables of a server. The error around it
// ends with the GRANT that mends it.
var ErrBlind = errors.New("the account may not see all tables")

// maxFollowers is how many entries the lists of Follows may have together. With more, there are
// none, and what would be in them is opaque.
const maxFollowers = 1 << 18

// Schema is what must be known of a server's tables besides its binary log. It is immutable.
type Schema struct {
	opaque  map[Key]struct{}
	hidden  bool          // any table may change without an event that names it
	follows map[Key][]Key // over any number of steps
}

// Opaque says whether what a table shows may change without an event that names it: it is a view,
// a sequence, or of an engine that may have its rows elsewhere. What is not there is not opaque.
func (s *Schema) Opaque(k Key) bool {
	_, ok := s.opaque[k]
	return ok || s.hidden
}

// Follows returns the tables that may change when a table does, without an event that names them:
// those that foreign keys change by CASCADE, SET NULL or SET DEFAULT, over any number of steps, but
// not the table itself. It is nil if there are none.
//
// For MariaDB it is always nil: its binary log names them, though it has no events of their rows.
// MySQL's 9.7 names them too, unless innodb_native_foreign_keys is set, as in all older versions,
// or the change has come from an older source.
func (s *Schema) Follows(k Key) []Key { return s.follows[k] }

// ReadSchema reads the schema of a server over a connection whose character set and limits it
// changes. It fails with a *wire.ServerError, with what a connection fails with, or with ErrBlind:
// the account needs a privilege on all tables, of which REFERENCES is the least.
//
// It costs a server about 4 ms for a thousand tables (MySQL), or 15 (MariaDB). What is kept is a
// few bytes for each that is opaque or followed.
func ReadSchema(ctx context.Context, conn *backend.Conn) (*Schema, error) {
	r := &schemaReader{ctx: ctx, conn: conn, maria: conn.Server().Flavor == flavor.MariaDB}
	s, err := r.read()
	if err != nil {
		return nil, fmt.Errorf("read information schema: %w", err)
	}
	return s, nil
}

const (
	// A server may be told to take no notice of the login's character set, and to limit results.
	setUpSession = "SET NAMES utf8mb4, sql_select_limit = 18446744073709551615, sql_big_selects = ON"

	// Tables of these engines hold their rows themselves, and a change of them has an event of
	// their name, also where it is made through a view, a trigger or a MERGE table.
	oddTables = `SELECT TABLE_SCHEMA, TABLE_NAME, ENGINE FROM information_schema.TABLES
WHERE (TABLE_TYPE NOT IN ('BASE TABLE', 'SYSTEM VERSIONED') OR ENGINE IS NULL OR
	ENGINE NOT IN ('InnoDB', 'MyISAM', 'Aria', 'MEMORY', 'CSV', 'ARCHIVE', 'ROCKSDB'))`

	cascades = `SELECT UNIQUE_CONSTRAINT_SCHEMA, REFERENCED_TABLE_NAME, CONSTRAINT_SCHEMA, TABLE_NAME
FROM information_schema.REFERENTIAL_CONSTRAINTS
WHERE (UPDATE_RULE IN ('CASCADE', 'SET NULL', 'SET DEFAULT') OR DELETE_RULE IN ('CASCADE', 'SET NULL', 'SET DEFAULT'))`
)

type schemaReader struct {
	ctx   context.Context
	conn  *backend.Conn
	maria bool
}

func (r *schemaReader) read() (*Schema, error) {
	if _, err := r.conn.Exec(r.ctx, setUpSession); err != nil {
		return nil, err
	}
	if err := r.sighted(); err != nil {
		return nil, err
	}
	s := &Schema{opaque: map[Key]struct{}{}}
	err := r.each(oddTables, func(row [][]byte) {
		s.opaque[KeyOf(row[0], row[1])] = struct{}{}
		// Such a table may be a way to another one, which then changes under the name of the first.
		s.hidden = s.hidden || strings.EqualFold(string(row[2]), "CONNECT")
	})
	if err != nil {
		return nil, err
	}
	if r.maria {
		return s, nil
	}
	children := map[Key][]Key{}
	err = r.each(cascades, func(row [][]byte) {
		parent := KeyOf(row[0], row[1])
		children[parent] = append(children[parent], KeyOf(row[2], row[3]))
	})
	if err != nil {
		return nil, err
	}
	s.follow(children)
	return s, nil
}

// value returns the first value of a query's only row.
func (r *schemaReader) value(sql string) (string, error) {
	result, err := r.conn.Query(r.ctx, sql)
	if err != nil {
		return "", err
	}
	if len(result.Rows) == 0 || len(result.Rows[0]) == 0 {
		return "", backend.ErrNotMySQL
	}
	return string(result.Rows[0][0]), nil
}

// each calls do for every row of a query, for some more than once: a result that is too large is
// asked for again in parts.
func (r *schemaReader) each(sql string, do func(row [][]byte)) error {
	for parts := 1; ; parts *= 8 {
		err := r.parts(sql, parts, do)
		if parts > 4096 || !errors.Is(err, backend.ErrTooLarge) {
			return err
		}
	}
}

func (r *schemaReader) parts(sql string, parts int, do func(row [][]byte)) error {
	for part := range parts {
		query := sql
		if parts > 1 {
			query = fmt.Sprintf("%s AND CRC32(TABLE_NAME) %% %d = %d", sql, parts, part)
		}
		result, err := r.conn.Query(r.ctx, query)
		if err != nil {
			return err
		}
		for _, row := range result.Rows {
			do(row)
		}
	}
	return nil
}

// sighted returns ErrBlind unless the account has a privilege on all tables.
func (r *schemaReader) sighted() error {
	// With no account named, it has the privileges of active roles and of PUBLIC too.
	grants, err := r.conn.Query(r.ctx, "SHOW GRANTS")
	if err != nil {
		return err
	}
	lines := make([]string, 0, len(grants.Rows))
	for _, row := range grants.Rows {
		lines = append(lines, string(row[0]))
	}
	if seesAll(lines) {
		return nil
	}
	account, err := r.value("SELECT CURRENT_USER()")
	if err != nil {
		return err
	}
	if at := strings.LastIndexByte(account, '@'); at >= 0 {
		account = flavor.Quote(account[:at]) + "@" + flavor.Quote(account[at+1:])
	}
	return fmt.Errorf("%w: %s", ErrBlind, flavor.Grant(r.conn.Server().Flavor, flavor.ListTables, account))
}

// tablePrivileges are those that can be had on a table. Each of them shows the table.
var tablePrivileges = [...]string{
	"SELECT", "INSERT", "UPDATE", "DELETE", "CREATE", "DROP", "REFERENCES", "INDEX", "ALTER", "CREATE VIEW", "SHOW VIEW", "TRIGGER",
	"DELETE HISTORY",
}

// seesAll says whether the lines of SHOW GRANTS have a privilege on all tables, which no other line
// takes away again for a schema, as MySQL's partial revokes do.
func seesAll(lines []string) bool {
	granted, revoked := uint32(0), uint32(0)
	for _, line := range lines {
		verb, rest, _ := strings.Cut(line, " ")
		list, on, _ := strings.Cut(rest, " ON ")
		switch {
		case verb == "GRANT" && strings.HasPrefix(on, "*.* TO "):
			granted |= privileges(list)
		case verb != "GRANT" && verb != "SET":
			revoked |= privileges(list)
		}
	}
	return granted&^revoked != 0
}

// privileges returns a bit for each of tablePrivileges in a list of them.
func privileges(list string) (bits uint32) {
	for name := range strings.SplitSeq(list, ", ") {
		if name == "ALL PRIVILEGES" || name == "ALL" {
			return 1<<len(tablePrivileges) - 1
		}
		if i := slices.Index(tablePrivileges[:], name); i >= 0 {
			bits |= 1 << i
		}
	}
	return bits
}

// follow takes in which tables foreign keys change when one changes.
func (s *Schema) follow(children map[Key][]Key) {
	s.follows = make(map[Key][]Key, len(children))
	n := 0
	for parent := range children {
		all := reachable(children, parent, maxFollowers-n)
		if n += len(all); n < maxFollowers {
			s.follows[parent] = all
			continue
		}
		s.follows = nil
		for _, list := range children {
			for _, child := range list {
				s.opaque[child] = struct{}{}
			}
		}
		return
	}
}

// reachable returns what can be reached from a table, no more than limit, and not the table.
func reachable(children map[Key][]Key, from Key, limit int) []Key {
	seen := map[Key]struct{}{from: {}}
	var all []Key
	for next := []Key{from}; len(next) > 0; {
		at := next[len(next)-1]
		next = next[:len(next)-1]
		for _, child := range children[at] {
			if _, dup := seen[child]; dup || len(all) >= limit {
				continue
			}
			seen[child] = struct{}{}
			all = append(all, child)
			next = append(next, child)
		}
	}
	return all
}
