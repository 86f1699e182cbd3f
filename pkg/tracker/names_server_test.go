package tracker_test

import (
	"errors"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/backend"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
	"github.com/mysqlrw/mysqlrw/pkg/tracker"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
	"github.com/mysqlrw/mysqlrw/route"
)

// opened is an oracle: a server tells which tables and views a statement opens, by the metadata
// locks that the connection's transaction holds behind it. Unlike the error of an account that
// lacks a privilege that is all tables at once, also those that are never looked into, and by the
// names as the server has read them; and unlike counts of table handles it is what this statement
// has opened, and no other one.
type opened struct {
	t       *testing.T
	f       flavor.Flavor
	dial    backend.Options
	options route.Options
	schema  string
	opaque  func(tracker.Key) bool
	conn    *backend.Conn
}

// session begins a new session.
func (o *opened) session(mode, charset, schema string) {
	o.t.Helper()
	if o.conn != nil {
		_ = o.conn.Quit()
	}
	o.dial.Schema, o.schema = schema, schema
	c, err := backend.Dial(o.t.Context(), &o.dial)
	if err != nil {
		o.t.Fatal(err)
	}
	o.conn = c
	for _, sql := range []string{
		"SET sql_mode = '" + mode + "'", "SET NAMES " + charset, "SET character_set_results = utf8mb4",
	} {
		if _, err := c.Exec(o.t.Context(), sql); err != nil {
			o.t.Fatal(err)
		}
	}
	var known bool
	o.options.Charset, known = sqltoken.ParseCharset(charset)
	if !known || !o.options.SetMode(mode) {
		o.t.Fatalf("%s, %s", mode, charset)
	}
}

// run returns the names of what the text opens, or the server's refusal.
func (o *opened) run(text string) (tables [][2]string, refused *wire.ServerError) {
	o.t.Helper()
	for _, sql := range []string{"START TRANSACTION", text} {
		if _, err := o.conn.Exec(o.t.Context(), sql); errors.As(err, &refused) {
			break
		} else if err != nil {
			o.t.Fatalf("%q: %v", text, err)
		}
	}
	if refused == nil {
		r, err := o.conn.Query(o.t.Context(), `SELECT object_schema, object_name FROM performance_schema.metadata_locks
WHERE object_type = 'TABLE' AND object_schema <> 'performance_schema' AND owner_thread_id =
	(SELECT thread_id FROM performance_schema.threads WHERE processlist_id = CONNECTION_ID())`)
		if err != nil {
			o.t.Fatalf("%q: %v", text, err)
		}
		for _, row := range r.Rows {
			tables = append(tables, [2]string{string(row[0]), string(row[1])})
		}
	}
	if _, err := o.conn.Exec(o.t.Context(), "ROLLBACK"); err != nil {
		o.t.Fatalf("%q: %v", text, err)
	}
	return tables, refused
}

// check puts a text to the server and to Names. It returns what Names says, and the server's
// refusal.
func (o *opened) check(text string) (verdict string, refused *wire.ServerError) {
	o.t.Helper()
	tables, refused := o.run(text)
	names, known := tracker.Names(nil, text, o.schema, &o.options.Options)
	switch {
	case !known:
		return "unknown", refused
	case slices.ContainsFunc(names, o.opaque):
		return "opaque", refused
	}
	if refused != nil && refused.Code == 1146 { // Table 'x.y' doesn't exist
		if _, quoted, ok := strings.Cut(refused.Message, "'"); ok {
			schema, table, _ := strings.Cut(quoted[:strings.LastIndexByte(quoted, '\'')], ".")
			table, _, _ = strings.Cut(table, "' doesn")
			tables = append(tables, [2]string{schema, table})
		}
	}
	for _, table := range tables {
		if !slices.Contains(names, tracker.KeyOf(table[0], table[1])) {
			o.t.Errorf("%q (schema %q, %+v): reads %q, which is not among its names", text, o.schema, o.options.Options, table)
		}
	}
	return "known", refused
}

// newOpened starts a server.
func newOpened(t *testing.T, f flavor.Flavor, args ...string) *opened {
	if f == flavor.MariaDB {
		args = append(args, "--performance-schema=ON", "--performance-schema-instrument=wait/lock/metadata/sql/mdl=ON")
	}
	c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: -1, PrimaryArgs: args})
	s := c.Primary()
	setup := readTables
	if f == flavor.MariaDB {
		setup = append(slices.Clone(setup), "CREATE TABLE d1.hist (a INT) WITH SYSTEM VERSIONING", "CREATE SEQUENCE d1.seq",
			"DO NEXTVAL(d1.seq)")
	} else {
		setup = append(slices.Clone(setup), "CREATE TABLE d1.`$d` (a INT)")
	}
	sandboxtest.Exec(t, s, setup...)
	o := &opened{t: t, f: f, dial: backend.Options{
		Address: s.Address(), User: s.User, Password: s.Password, ConnectTimeout: 20 * time.Second, Want: wire.MultiStatements | wire.MultiResults,
	}}
	o.options.Flavor, o.options.Oldest = f, c.Version.Major*10000+c.Version.Minor*100+c.Version.Patch
	o.options.Newest = o.options.Oldest
	o.session("", "utf8mb4", "")
	schema, err := tracker.ReadSchema(t.Context(), o.conn)
	if err != nil {
		t.Fatal(err)
	}
	o.opaque = schema.Opaque
	return o
}

// readTables is what the statements of testdata/names.txt read.
var readTables = []string{
	"CREATE DATABASE d1", "CREATE DATABASE d2", "CREATE DATABASE `d.1`", "CREATE DATABASE `my-db`", "CREATE DATABASE 1db", "CREATE DATABASE `表`", "CREATE DATABASE `select`", "CREATE DATABASE `from`", "CREATE DATABASE `dİ`",
	"CREATE TABLE d1.t (id INT PRIMARY KEY AUTO_INCREMENT, a INT, t INT, u INT, `größe` INT)",
	"CREATE TABLE d1.u LIKE d1.t", "CREATE TABLE d2.t LIKE d1.t", "CREATE TABLE d2.w LIKE d1.t", "CREATE TABLE d1.w LIKE d1.t",
	"INSERT INTO d1.t (a) VALUES (1), (2)",
	"CREATE TABLE d1.one (a INT)", "CREATE TABLE IF NOT EXISTS d1.ONE (a INT)", "CREATE TABLE d1.js (j JSON)",
	"CREATE TABLE d1.p (a INT) PARTITION BY RANGE (a) (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN MAXVALUE)",
	"CREATE TABLE d1.ft (body TEXT, FULLTEXT (body))",
	"CREATE TABLE d1.1t (a INT)", "CREATE TABLE d1.5 (a INT)", "CREATE TABLE d1.1e5 (a INT)", "CREATE TABLE d1.`0x1` (a INT)",
	"CREATE TABLE d1.`5e` (a INT)", "CREATE TABLE d1.`select` (a INT)", "CREATE TABLE d1.`from` (a INT)", "CREATE TABLE d1.`table` (a INT)",
	"CREATE TABLE d1.`a``b` (a INT)", "CREATE TABLE d1.```a` (a INT)", "CREATE TABLE d1.`a````b` (a INT)", "CREATE TABLE d1.`a.b` (a INT)",
	"CREATE TABLE d1.`a\"b` (a INT)", "CREATE TABLE d1.`a\"\"b` (a INT)", "CREATE TABLE d1.`a'b` (a INT)", "CREATE TABLE d1.`a b` (a INT)",
	"CREATE TABLE d1.` a` (a INT)", "CREATE TABLE d1.`a\\b` (a INT)", "CREATE TABLE d1.`a?` (a INT)", "CREATE TABLE d1.`??` (a INT)",
	"CREATE TABLE d1.`-- t` (a INT)", "CREATE TABLE d1.`/* t` (a INT)", "CREATE TABLE d1.`#t` (a INT)", "CREATE TABLE d1.d$ (a INT)",
	"CREATE TABLE d1._t (a INT)", "CREATE TABLE d1.Mixed (a INT)", "CREATE TABLE d1.`größe` (a INT)", "CREATE TABLE d1.`глаз` (a INT)",
	"CREATE TABLE d1.`表` (a INT)", "CREATE TABLE d1.`\\` (a INT)", "CREATE TABLE d1.`Р?Р?` (a INT)",
	"CREATE TABLE d2.`w``x` (a INT)", "CREATE TABLE d2.`Größe` (a INT)", "CREATE TABLE `d.1`.t (a INT)", "CREATE TABLE `my-db`.t (a INT)",
	"CREATE TABLE `my-db`.`my-t` (a INT)", "CREATE TABLE 1db.t (a INT)", "CREATE TABLE 1db.1t (a INT)",
	"CREATE TABLE `表`.`表` (a INT)", "CREATE TABLE `表`.t (a INT)", "CREATE TABLE `select`.t (a INT)", "CREATE TABLE `select`.`from` (a INT)",
	"CREATE TABLE `from`.t (a INT)", "CREATE TABLE `dİ`.t (a INT)", "CREATE TABLE d1.`a.b\\` (a INT)",
	"CREATE VIEW d2.vv AS SELECT a FROM d2.w", "CREATE VIEW d1.v AS SELECT vv.a FROM d2.vv JOIN d1.u", "CREATE VIEW d1.V2 AS SELECT 1 AS a",
	"CREATE PROCEDURE d1.proc() SELECT COUNT(*) FROM d2.w",
}

// TestNamesServer holds the statements of a file against what real servers open.
func TestNamesServer(t *testing.T) {
	content, err := os.ReadFile("testdata/names.txt")
	if err != nil {
		t.Fatal(err)
	}
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		o := newOpened(t, f)
		for line := range strings.Lines(string(content)) {
			line = strings.TrimSuffix(line, "\n")
			if only, rest, ok := strings.Cut(line, "] "); ok && line[0] == '[' {
				if only[1:] != f.String() {
					continue
				}
				line = rest
			}
			mark, text, _ := strings.Cut(line, " ")
			switch mark {
			case "", "#":
				continue
			case "session":
				parts := strings.Split(text, " ")
				for i := range parts {
					parts[i] = strings.TrimPrefix(parts[i], "-")
				}
				o.session(parts[0], parts[1], parts[2])
				continue
			}
			text = unescape(t, text)
			verdict, refused := o.check(text)
			switch {
			case mark == "refused":
				if refused == nil {
					t.Errorf("%q: is not refused, and %s", text, verdict)
				}
			case refused != nil:
				t.Errorf("%q: %v; want %s", text, refused, mark)
			case verdict != mark:
				t.Errorf("%q: %s, want %s", text, verdict, mark)
			}
		}
	})
}

// unescape returns the text that a line of the file stands for.
func unescape(t *testing.T, line string) string {
	quoted := strings.NewReplacer("\"", "\\\"").Replace(line)
	text, err := strconv.Unquote("\"" + quoted + "\"")
	if err != nil {
		t.Fatalf("%s: %v", line, err)
	}
	return text
}
