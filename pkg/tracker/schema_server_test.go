package tracker

import (
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/backend"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

func connect(t *testing.T, s *sandbox.Server, user, password string) *backend.Conn {
	t.Helper()
	c, err := backend.Dial(t.Context(), &backend.Options{
		Address: s.Address(), User: user, Password: password, ConnectTimeout: 20 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Quit() })
	return c
}

func rows(t *testing.T, c *backend.Conn, sql string) [][][]byte {
	t.Helper()
	r, err := c.Query(t.Context(), sql)
	if err != nil {
		t.Fatalf("%s: %v", sql, err)
	}
	return r.Rows
}

// schemaTables has foreign keys over two steps, into another schema and to the table itself, and
// what is no plain table.
var schemaTables = []string{
	"CREATE DATABASE d", "CREATE DATABASE e",
	"CREATE TABLE d.a (id INT PRIMARY KEY, u INT UNIQUE, z INT)",
	"CREATE TABLE d.b (id INT PRIMARY KEY, a INT, FOREIGN KEY (a) REFERENCES d.a (id) ON DELETE CASCADE ON UPDATE CASCADE)",
	"CREATE TABLE d.c (id INT PRIMARY KEY, b INT, FOREIGN KEY (b) REFERENCES d.b (id) ON DELETE SET NULL)",
	"CREATE TABLE d.r (id INT PRIMARY KEY, a INT, FOREIGN KEY (a) REFERENCES d.a (id))",
	"CREATE TABLE e.x (id INT PRIMARY KEY, u INT, FOREIGN KEY (u) REFERENCES d.a (u) ON DELETE CASCADE ON UPDATE CASCADE)",
	"CREATE TABLE d.self (id INT PRIMARY KEY, p INT, FOREIGN KEY (p) REFERENCES d.self (id) ON DELETE CASCADE)",
	"CREATE TABLE d.plain (id INT PRIMARY KEY)", "CREATE TABLE d.trig (id INT PRIMARY KEY)", "CREATE TABLE d.`Größe` (id INT)",
	"CREATE TABLE d.gen (id INT PRIMARY KEY, g INT AS (id + 1) STORED)",
	"CREATE TABLE d.part (id INT PRIMARY KEY) PARTITION BY HASH (id) PARTITIONS 2",
	"CREATE TABLE d.m1 (id INT) ENGINE=MyISAM", "CREATE TABLE d.m2 (id INT) ENGINE=MyISAM",
	"CREATE TABLE d.m (id INT) ENGINE=MERGE UNION=(d.m1,d.m2) INSERT_METHOD=LAST",
	"CREATE TRIGGER d.t AFTER INSERT ON d.trig FOR EACH ROW DELETE FROM d.a WHERE id = NEW.id",
	"CREATE VIEW d.va AS SELECT id, u FROM d.a", "CREATE VIEW e.`ä` AS SELECT 1 AS x", "CREATE VIEW d.vgen AS SELECT id FROM d.gen",
	"CREATE PROCEDURE d.p(i INT) DELETE FROM d.a WHERE id = i",
	"INSERT INTO d.a WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 40) SELECT i, i, 0 FROM n",
	"INSERT INTO d.b SELECT id, id FROM d.a", "INSERT INTO d.c SELECT id, id FROM d.a", "INSERT INTO e.x SELECT id, id FROM d.a",
	"INSERT INTO d.self VALUES (1, NULL), (2, 1), (3, 2)", "INSERT INTO d.plain SELECT id FROM d.a",
}

// schemaWrites change tables of schemaTables, one after the other.
var schemaWrites = []string{
	"DELETE FROM d.a WHERE id = 1", "UPDATE d.a SET u = u + 1000 WHERE id = 3", "UPDATE d.a SET id = 1004 WHERE id = 4",
	"UPDATE d.a SET z = 1 WHERE id = 5", "REPLACE INTO d.a VALUES (6, 6, 1)",
	"INSERT INTO d.a VALUES (7, 7, 7) ON DUPLICATE KEY UPDATE id = 1007", "DELETE d.a FROM d.a JOIN d.plain USING (id) WHERE a.id = 8",
	"DELETE FROM d.va WHERE id = 9", "INSERT INTO d.trig VALUES (10)", "CALL d.p(11)",
	"LOCK TABLES d.a WRITE; DELETE FROM d.a WHERE id = 12; UNLOCK TABLES",
	"BEGIN; DELETE FROM d.b WHERE id = 13; DELETE FROM d.a WHERE id = 14; COMMIT",
	"PREPARE s FROM 'DELETE FROM d.a WHERE id = 15'; EXECUTE s", "DELETE FROM d.self WHERE id = 1",
	"SET foreign_key_checks = 0; DELETE FROM d.a WHERE id = 16; SET foreign_key_checks = 1",
	"UPDATE d.a, d.plain SET a.id = 1017, plain.id = 1017 WHERE a.id = plain.id AND a.id = 18",
	"INSERT INTO d.gen (id) VALUES (1)", "INSERT INTO d.vgen VALUES (2)", "INSERT INTO d.part VALUES (1), (2)",
	"INSERT INTO d.m VALUES (1)", "UPDATE d.m SET id = 2", "INSERT INTO d.m1 VALUES (1)", "DELETE FROM d.m",
}

// TestSchemaServer: of real servers everything is known that changes without an event of its own.
func TestSchemaServer(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		args := [][]string{nil}
		if f == flavor.MySQL { // as before 9.6
			args = append(args, []string{"--innodb-native-foreign-keys=ON"})
		}
		for _, args := range args {
			c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: -1, PrimaryArgs: args})
			s := c.Primary()
			tables := slices.Clone(schemaTables)
			if f == flavor.MariaDB {
				tables = append(tables, "CREATE SEQUENCE d.seq", "CREATE TABLE d.hist (id INT) WITH SYSTEM VERSIONING")
			}
			sandboxtest.Exec(t, s, append(tables, "SET GLOBAL sql_select_limit = 10")...)
			conn := connect(t, s, s.User, s.Password)
			schema, err := ReadSchema(t.Context(), conn)
			if err != nil {
				t.Fatal(err)
			}
			testOpaque(t, f, schema)
			for _, parent := range []string{"d.a", "d.b", "d.c", "d.self", "d.r", "e.x"} {
				want := map[string]string{"d.a": "d.b d.c e.x", "d.b": "d.c"}[parent]
				if f == flavor.MariaDB {
					want = ""
				}
				for name := range strings.FieldsSeq(want) {
					if !slices.Contains(schema.Follows(of(parent)), of(name)) {
						t.Errorf("%s does not follow %s", name, parent)
					}
				}
				if len(schema.Follows(of(parent))) != len(strings.Fields(want)) {
					t.Errorf("%d tables follow %s, want %s", len(schema.Follows(of(parent))), parent, want)
				}
			}
			testChanges(t, conn, schema)
		}
	})
}

func testOpaque(t *testing.T, f flavor.Flavor, schema *Schema) {
	opaque := []string{"d.va", "D.VA", "e.ä", "d.vgen", "d.m", "information_schema.tables", "performance_schema.threads"}
	plain := []string{
		"d.a", "d.b", "e.x", "d.part", "d.m1", "d.gen", "d.plain", "d.trig", "mysql.time_zone", "d.p", "d.t", "e.va", "d.hist",
	}
	if f == flavor.MariaDB {
		opaque = append(opaque, "d.seq")
	}
	for _, name := range opaque {
		if !schema.Opaque(of(name)) {
			t.Errorf("%s is not opaque", name)
		}
	}
	for _, name := range plain {
		if schema.Opaque(of(name)) {
			t.Errorf("%s is opaque", name)
		}
	}
}

// testChanges holds the tables that writes change, as their checksums tell, against those that the
// binary log names, and what follows them.
func testChanges(t *testing.T, c *backend.Conn, schema *Schema) {
	var tables []string
	for _, row := range rows(t, c, `SELECT CONCAT(TABLE_SCHEMA, '.', TABLE_NAME) FROM information_schema.TABLES
WHERE TABLE_SCHEMA IN ('d', 'e') AND TABLE_TYPE = 'BASE TABLE'`) {
		tables = append(tables, string(row[0]))
	}
	sums := func() map[string]string {
		found := map[string]string{}
		for _, row := range rows(t, c, "CHECKSUM TABLE "+strings.Join(tables, ", ")) {
			found[string(row[0])] = string(row[1])
		}
		return found
	}
	before, changes := sums(), 0
	for _, write := range schemaWrites {
		for _, sql := range strings.Split("FLUSH BINARY LOGS; "+write, "; ") {
			if _, err := c.Exec(t.Context(), sql); err != nil {
				t.Fatalf("%s: %v", sql, err)
			}
		}
		logs := rows(t, c, "SHOW BINARY LOGS")
		named := map[Key]bool{}
		for _, row := range rows(t, c, "SHOW BINLOG EVENTS IN '"+string(logs[len(logs)-1][0])+"'") {
			if string(row[2]) == "Table_map" { // table_id: 5 (d.a)
				_, name, _ := strings.Cut(strings.TrimSuffix(string(row[5]), ")"), "(")
				named[of(name)] = true
				for _, k := range schema.Follows(of(name)) {
					named[k] = true
				}
			}
		}
		after := sums()
		for name, sum := range after {
			if sum == before[name] {
				continue
			}
			changes++
			if !named[of(name)] && !schema.Opaque(of(name)) {
				t.Errorf("%s changes %s, which has no event and follows no table that has", write, name)
			}
		}
		before = after
	}
	if changes < 50 {
		t.Errorf("only %d tables have changed", changes)
	}
}

// TestBlind: an account that may not see all tables is told so, with what mends it.
func TestBlind(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: -1})
		s := c.Primary()
		setup := []string{
			"CREATE DATABASE d", "CREATE DATABASE e", "CREATE TABLE d.t (id INT)", "CREATE VIEW d.v AS SELECT 1 AS a", "CREATE VIEW e.v AS SELECT 1 AS a",
			"CREATE USER follows IDENTIFIED BY 'p'", "GRANT REPLICATION SLAVE ON *.* TO follows",
			"CREATE USER some IDENTIFIED BY 'p'", "GRANT ALL ON d.* TO some", "CREATE ROLE r", "GRANT REFERENCES ON *.* TO r",
			"CREATE USER idle IDENTIFIED BY 'p'", "GRANT r TO idle", "CREATE USER active IDENTIFIED BY 'p'", "GRANT r TO active",
			"CREATE USER looks IDENTIFIED BY 'p'", "GRANT SHOW VIEW ON *.* TO looks",
		}
		sees := map[string]bool{"follows": false, "some": false, "idle": false, "active": true, "looks": true}
		if f == flavor.MySQL {
			setup = append(setup, "SET DEFAULT ROLE r TO active", "SET GLOBAL partial_revokes = ON",
				"CREATE USER part IDENTIFIED BY 'p'", "GRANT SELECT, REFERENCES ON *.* TO part", "REVOKE SELECT ON d.* FROM part",
				"CREATE USER cut IDENTIFIED BY 'p'", "GRANT SELECT, REFERENCES ON *.* TO cut", "REVOKE SELECT, REFERENCES ON d.* FROM cut")
			sees["part"], sees["cut"] = true, false
		} else {
			setup = append(setup, "SET DEFAULT ROLE r FOR active")
		}
		sandboxtest.Exec(t, s, setup...)
		for user, want := range sees {
			schema, err := ReadSchema(t.Context(), connect(t, s, user, "p"))
			if !want {
				if !errors.Is(err, ErrBlind) {
					t.Fatalf("%s: %v", user, err)
				}
				_, grant, _ := strings.Cut(err.Error(), "GRANT")
				sandboxtest.Exec(t, s, "GRANT"+grant)
				schema, err = ReadSchema(t.Context(), connect(t, s, user, "p"))
			}
			if err != nil {
				t.Fatalf("%s: %v", user, err)
			}
			if !schema.Opaque(of("d.v")) || !schema.Opaque(of("e.v")) || schema.Opaque(of("d.t")) {
				t.Errorf("%s does not see all", user)
			}
		}
		if f == flavor.MariaDB {
			sandboxtest.Exec(t, s, "CREATE USER public IDENTIFIED BY 'p'", "GRANT SHOW VIEW ON *.* TO PUBLIC")
			if _, err := ReadSchema(t.Context(), connect(t, s, "public", "p")); err != nil {
				t.Error(err)
			}
		}
	})
}

// TestSchemaPosition: what MySQL has executed, and MariaDB has in its log, before a schema is read
// is in the schema, also while a statement waits for a replica that does not acknowledge it. What
// MySQL has in its log need not be.
func TestSchemaPosition(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		position, args := "SELECT @@GLOBAL.gtid_executed", []string{"--rpl-semi-sync-source-timeout=1000"}
		if f == flavor.MariaDB {
			position = "SELECT @@GLOBAL.gtid_binlog_pos"
			args = []string{"--rpl-semi-sync-master-timeout=1000", "--rpl-semi-sync-master-wait-point=AFTER_SYNC"}
		}
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 1, SemiSync: true, PrimaryArgs: args})
		s := c.Primary()
		sandboxtest.Exec(t, s, "CREATE DATABASE d")
		if err := c.WaitReplicated(t.Context()); err != nil {
			t.Fatal(err)
		}
		if err := c.Replica(1).Pause(); err != nil {
			t.Fatal(err)
		}
		conn := connect(t, s, s.User, s.Password)
		at, seen := "", map[string][]bool{}
		read := func() {
			at = string(rows(t, conn, position)[0][0])
			schema, err := ReadSchema(t.Context(), conn)
			if err != nil {
				t.Fatal(err)
			}
			seen[at] = append(seen[at], schema.Opaque(of("d.v")))
		}
		read()
		ended := make(chan error, 1)
		go func() { ended <- s.Exec(t.Context(), "CREATE VIEW d.v AS SELECT 1 AS a") }()
		for running := true; running; read() {
			select {
			case err := <-ended:
				if running = false; err != nil {
					t.Fatal(err)
				}
			default:
			}
		}
		if len(seen) != 2 || slices.Contains(seen[at], false) {
			t.Errorf("at the last position, %s: %v; all: %v", at, seen[at], seen)
		}
	})
}

// TestLargeSchema: an answer of more than a connection holds at once is read in parts.
func TestLargeSchema(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: -1})
		r := &schemaReader{ctx: t.Context(), conn: connect(t, c.Primary(), c.Primary().User, c.Primary().Password)}
		const n = 10000
		seen := map[string]int{}
		err := r.each(`SELECT REPEAT('x', 1000), TABLE_NAME FROM (WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n
WHERE i < 100) SELECT CONCAT('t', a.i, '_', b.i) AS TABLE_NAME FROM n a JOIN n b) q WHERE (TRUE)`, func(row [][]byte) { seen[string(row[1])]++ })
		if err != nil || len(seen) != n {
			t.Errorf("%d tables, %v", len(seen), err)
		}
		for name, times := range seen {
			if times != 1 {
				t.Errorf("%s comes %d times", name, times)
			}
		}
	})
}
