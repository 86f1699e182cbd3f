package wire_test

import (
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// Capabilities by which the same commands are answered in different forms.
var captureModes = []struct {
	name   string
	flavor flavor.Flavor // 0: both
	caps   wire.Capability
}{
	{name: "new", caps: baseCaps | wire.DeprecateEOF | wire.SessionTrack},
	{name: "untracked", caps: baseCaps | wire.DeprecateEOF},
	{name: "old", caps: baseCaps},
	{name: "oldtracked", caps: baseCaps | wire.SessionTrack},
	{
		name: "optional", flavor: flavor.MySQL,
		caps: baseCaps | wire.DeprecateEOF | wire.SessionTrack | wire.OptionalMetadata | wire.QueryAttributes,
	},
	{name: "optionalold", flavor: flavor.MySQL, caps: baseCaps | wire.OptionalMetadata},
	{
		name: "extended", flavor: flavor.MariaDB,
		caps: baseCaps&^wire.LongPassword | wire.DeprecateEOF | wire.SessionTrack | wire.MariaDBProgress |
			wire.MariaDBBulk | wire.MariaDBMetadata | wire.MariaDBCacheMetadata,
	},
	{
		name: "extendedold", flavor: flavor.MariaDB,
		caps: baseCaps&^wire.LongPassword | wire.MariaDBBulk | wire.MariaDBCacheMetadata,
	},
}

var captureSetup = []string{
	"SET GLOBAL local_infile = ON",
	"CREATE DATABASE wiretest",
	"USE wiretest",
	"CREATE PROCEDURE two() BEGIN SELECT 1 AS a; SELECT 2 AS b, 3 AS c; END",
	"CREATE PROCEDURE outs(OUT o INT, INOUT io VARCHAR(10)) BEGIN SELECT 7; SET o = 5, io = CONCAT(io, '!'); END",
	"CREATE USER wire@'%' IDENTIFIED BY 'secret'",
	"GRANT ALL ON *.* TO wire@'%'",
}

// TestCapture runs every kind of command on real servers, in every form of answer, and checks what
// Answer and Converter make of it. With -update it keeps the packets.
func TestCapture(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: -1})
		sandboxtest.Exec(t, c.Primary(), captureSetup...)
		for _, mode := range captureModes {
			if mode.flavor != flavor.Unknown && mode.flavor != f {
				continue
			}
			t.Run(mode.name, func(t *testing.T) {
				conn := connect(t, login{
					address: c.Primary().Address(), user: "wire", password: "secret", database: "wiretest", caps: mode.caps,
				})
				if conn.caps != mode.caps {
					t.Errorf("the server lacks capabilities %#x", uint64(mode.caps&^conn.caps))
				}
				list := capture(conn, f)
				for _, e := range list {
					checkAnswer(t, e, 30)
				}
				if *update {
					list = slices.DeleteFunc(list, func(e *exchange) bool { return len(e.of(true)) > 10_000 })
					name := strings.ToLower(f.String()) + "-" + mode.name + ".txt"
					storeFixture(t, name, fmt.Sprintf("%s %s, captured by TestCapture", f, c.Version), list)
				}
			})
		}
	})
}

// recorder makes exchanges out of commands.
type recorder struct {
	*client
	list []*exchange
}

func (r *recorder) do(name string, payload []byte) result {
	r.t.Helper()
	r.log = &exchange{name: name, caps: r.caps}
	res := r.run(payload)
	r.list = append(r.list, r.log)
	r.log = nil
	return res
}

func (r *recorder) text(name, statement string) result {
	r.t.Helper()
	return r.do(name, wire.AppendQuery(nil, statement, r.caps))
}

func (r *recorder) prepare(name, statement string) wire.PrepareOK {
	r.t.Helper()
	return r.do(name, append([]byte{byte(wire.ComStmtPrepare)}, statement...)).prepared
}

// capture runs the commands on one connection.
func capture(conn *client, f flavor.Flavor) []*exchange {
	r := &recorder{client: conn}
	conn.query("DROP TABLE IF EXISTS t, u")
	conn.query("CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a VARCHAR(400), b DOUBLE)")
	conn.query("SET session_track_state_change = ON, session_track_schema = ON, " +
		"session_track_transaction_info = 'CHARACTERISTICS'")
	if f == flavor.MySQL {
		conn.query("SET session_track_gtids = ALL_GTIDS, session_track_system_variables = 'autocommit,time_zone,sql_mode'")
	} else {
		conn.query("SET session_track_system_variables = 'autocommit,time_zone,sql_mode,last_gtid'")
	}
	captureText(r)
	capturePrepared(r)
	captureCommands(r)
	if conn.caps.Has(wire.MariaDBBulk) {
		captureBulk(r)
	}
	if conn.caps.Has(wire.OptionalMetadata) {
		conn.query("SET resultset_metadata = NONE")
		r.text("no-metadata", "SELECT 1, 2 FROM t LIMIT 2")
		r.do("no-metadata-prepare", append([]byte{byte(wire.ComStmtPrepare)}, "SELECT 1, ?"...))
	}
	return r.list
}

func captureText(r *recorder) {
	r.text("select", "SELECT 1")
	r.text("select-values", "SELECT NULL, '', 'x', REPEAT('y', 300), -1.5 UNION ALL SELECT 1, NULL, 2, 3, 4")
	r.text("select-empty", "SELECT id, a FROM t WHERE FALSE")
	r.text("insert", "INSERT INTO t (a, b) VALUES ('one', 1), ('two', 2), ('three', 3000)")
	r.text("update-info", "UPDATE t SET a = CONCAT(a, '+') WHERE id = 1")
	r.text("rows", "SELECT * FROM t ORDER BY id")
	r.text("syntax-error", "SELEKT 1")
	r.text("error-in-rows", "SELECT id, EXP(b) FROM t ORDER BY id")
	r.text("multi", "SELECT 1 AS a; INSERT INTO t (a) VALUES ('four'); SELECT 2 AS b; DO 0")
	r.text("multi-error", "SELECT 1; SELEKT 2; SELECT 3")
	r.text("call", "CALL two()")
	r.file = []byte("5\tfive\t5\n6\tsix\t6\n")
	r.text("infile", "LOAD DATA LOCAL INFILE '/some/file' INTO TABLE t")
	r.file = nil
	r.text("infile-empty-multi", "LOAD DATA LOCAL INFILE 'nothing' INTO TABLE t; SELECT 1")
	r.text("infile-error", "LOAD DATA LOCAL INFILE 'nothing' INTO TABLE missing")
	r.text("warnings", "SELECT 'a' + 1, 'b' + 2")
	r.text("set", "SET time_zone = '+01:00', sql_mode = ''")
	r.text("use", "USE wiretest")
	r.text("begin", "START TRANSACTION WITH CONSISTENT SNAPSHOT")
	r.text("read-in-transaction", "SELECT COUNT(*) FROM t")
	r.text("write-in-transaction", "UPDATE t SET b = 0 WHERE id = 2")
	r.text("commit", "COMMIT")
	r.text("create", "CREATE TABLE u (x LONGBLOB)")
	r.text("drop", "DROP TABLE u")
	r.text("value-of-64k", "SELECT 1, REPEAT('z', 66000)")
}

func capturePrepared(r *recorder) {
	none := r.prepare("prepare-plain", "DO 1")
	r.prepare("prepare-error", "SELEKT ?")
	cols := r.prepare("prepare-columns", "SELECT id, a, b FROM t ORDER BY id")
	both := r.prepare("prepare-both", "SELECT ?, id FROM t WHERE id < ? ORDER BY id")
	ins := r.prepare("prepare-params", "INSERT INTO t (a, b) VALUES (?, ?)")
	out := r.prepare("prepare-call", "CALL outs(?, ?)")

	execute := func(name string, m wire.Execute, params int) result {
		r.t.Helper()
		m.Iterations, m.Params, m.Parameters.Count = 1, params, params
		payload, err := m.Append(nil, r.caps, nil)
		if err != nil {
			r.t.Fatal(err)
		}
		return r.do(name, payload)
	}
	types := []byte{byte(wire.TypeVarString), 0, byte(wire.TypeLongLong), 0}
	values := binary.LittleEndian.AppendUint64(wire.AppendLenEncString(nil, "p1"), 4)
	bound := wire.Parameters{Nulls: []byte{0}, NewTypes: true, Types: types, Values: values}
	again := wire.Parameters{Nulls: []byte{1}, Values: binary.LittleEndian.AppendUint64(nil, 3)}

	execute("execute-plain", wire.Execute{StatementID: none.StatementID}, 0)
	execute("execute-rows", wire.Execute{StatementID: cols.StatementID}, 0)
	execute("execute-bound", wire.Execute{StatementID: both.StatementID, Parameters: bound}, 2)
	execute("execute-again", wire.Execute{StatementID: both.StatementID, Parameters: again}, 2)
	long := wire.SendLongData{StatementID: ins.StatementID, Data: []byte("long ")}
	r.do("long-data", long.Append(nil))
	r.do("long-data", long.Append(nil))
	rest := bound
	rest.Values = binary.LittleEndian.AppendUint64(nil, 9)
	execute("execute-long-data", wire.Execute{StatementID: ins.StatementID, Parameters: rest}, 2)
	reset := wire.StmtReset{StatementID: ins.StatementID}
	r.do("stmt-reset", reset.Append(nil))
	execute("execute-unknown", wire.Execute{StatementID: 4711}, 0)
	strs := wire.Parameters{
		Nulls: []byte{1}, NewTypes: true, Types: []byte{byte(wire.TypeLong), 0, byte(wire.TypeVarString), 0},
		Values: wire.AppendLenEncString(nil, "io"),
	}
	execute("execute-call", wire.Execute{StatementID: out.StatementID, Parameters: strs}, 2)

	execute("cursor", wire.Execute{StatementID: cols.StatementID, Flags: wire.CursorReadOnly}, 0)
	fetch := wire.StmtFetch{StatementID: cols.StatementID, Rows: 2}
	r.do("fetch", fetch.Append(nil))
	fetch.Rows = 1000
	r.do("fetch-rest", fetch.Append(nil))
	r.do("fetch-beyond", fetch.Append(nil))
	execute("cursor-without-rows", wire.Execute{StatementID: none.StatementID, Flags: wire.CursorReadOnly}, 0)
	execute("cursor-call", wire.Execute{
		StatementID: out.StatementID, Flags: wire.CursorReadOnly, Parameters: strs,
	}, 2)
	closing := wire.StmtClose{StatementID: none.StatementID}
	r.do("stmt-close", closing.Append(nil))
}

func captureCommands(r *recorder) {
	r.do("ping", []byte{byte(wire.ComPing)})
	schema := wire.InitDB{Schema: []byte("wiretest")}
	r.do("init-db", schema.Append(nil))
	missing := wire.InitDB{Schema: []byte("missing")}
	r.do("init-db-error", missing.Append(nil))
	option := wire.SetOption{Option: 0}
	r.do("set-option", option.Append(nil))
	r.do("statistics", []byte{byte(wire.ComStatistics)})
	fields := wire.FieldList{Table: []byte("t")}
	r.do("field-list", fields.Append(nil))
	fields.Table = []byte("missing")
	r.do("field-list-error", fields.Append(nil))
	kill := wire.ProcessKill{ConnectionID: 1 << 30}
	r.do("process-kill", kill.Append(nil))
	r.do("debug", []byte{byte(wire.ComDebug)})
	r.do("process-info", []byte{byte(wire.ComProcessInfo)})
	change := wire.ChangeUser{
		User: "wire", Database: "wiretest", Charset: wire.CharsetUTF8MB4, AuthPlugin: r.greeting.AuthPlugin,
		AuthResponse: r.respond(r.greeting.AuthPlugin), Attributes: wire.AppendAttribute(nil, "program_name", "again"),
	}
	r.do("change-user", change.Append(nil, r.caps))
	r.do("reset-connection", []byte{byte(wire.ComResetConnection)})
}

// captureBulk executes for two rows at once: 0 in front of a value, 1 alone for NULL.
func captureBulk(r *recorder) {
	ins := r.prepare("bulk-prepare", "INSERT INTO t (a) VALUES (?)")
	payload := binary.LittleEndian.AppendUint32([]byte{byte(wire.ComStmtBulkExecute)}, ins.StatementID)
	payload = append(payload, 128, 0, byte(wire.TypeVarString), 0)
	payload = append(wire.AppendLenEncString(append(payload, 0), "bulk"), 1)
	r.do("bulk", payload)
	payload[5] |= 64
	r.do("bulk-results", payload)
	if !r.caps.Has(wire.MariaDBCacheMetadata) {
		return
	}
	sel := r.prepare("cache-prepare", "SELECT id, a FROM t WHERE id < 3")
	for _, name := range []string{"cache-first", "cache-again"} {
		m := wire.Execute{StatementID: sel.StatementID, Iterations: 1}
		payload, err := m.Append(nil, r.caps, nil)
		if err != nil {
			r.t.Fatal(err)
		}
		r.do(name, payload)
	}
}
