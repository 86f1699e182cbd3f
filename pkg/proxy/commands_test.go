package proxy_test

import (
	"errors"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// script is what a client sends. Every packet that it gets through the proxy must be the one that it
// gets from the primary itself.
type script struct {
	name string
	only flavor.Flavor // zero: both
	caps wire.Capability
	// charset is the login's; zero: what utf8mb4 is by default.
	charset uint8
	root    bool // as an account that may do everything
	steps   []step
	// has are parts that the transcript must have, so that two servers that fail alike prove nothing.
	has []string
	// hide are replaced in both transcripts: what must differ.
	hide []*regexp.Regexp
}

// TestCommands puts scripts to the primary and to the proxy.
func TestCommands(t *testing.T) {
	args := []string{"--local-infile=1", "--max-allowed-packet=64M", "--log-bin-trust-function-creators=1"}
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		s := newSite(t, f, sandbox.Options{Replicas: 1, PrimaryArgs: args, ReplicaArgs: args}, nil, scriptSetup...)
		exec(t, s.app, "DO 1") // the proxy knows the password from here on
		for _, sc := range append(commandScripts(s), sessionScripts(s)...) {
			if sc.only != 0 && sc.only != f {
				continue
			}
			t.Run(sc.name, func(t *testing.T) { s.compare(t, &sc) })
		}
		t.Run("change user", s.changeUsers)
		t.Run("statistics and processes", s.statistics)
		t.Run("replication commands", s.replicationCommands)
		t.Run("kill", s.processKill)
		t.Run("trackers", s.trackers)
		t.Run("old client", s.oldClient)
		t.Run("few frames", s.fewFrames)
	})
}

var scriptSetup = []string{
	"CREATE TABLE t (id INT PRIMARY KEY DEFAULT 5, n INT, s VARCHAR(20))", "INSERT INTO t VALUES (1, 10, 'a'), (2, NULL, 'b'), (3, 30, NULL)",
	"CREATE TABLE w (id INT AUTO_INCREMENT PRIMARY KEY, s VARCHAR(200), b LONGBLOB)",
	"CREATE PROCEDURE two() BEGIN SELECT 1; SELECT n FROM t WHERE id = 1; END",
	"CREATE PROCEDURE outs(IN a INT, OUT b INT, INOUT c VARCHAR(10)) BEGIN SELECT a; SET b = a + 1, c = CONCAT(c, '!'); END",
	"CREATE PROCEDURE fails() BEGIN SELECT 1; SELECT * FROM missing; END",
}

// compare runs a script on the primary, then through the proxy.
func (s *site) compare(t *testing.T, sc *script) {
	t.Helper()
	if strings.HasPrefix(sc.name, "long ") && sandboxtest.UnderRace() {
		t.Skip("16 MB take minutes under the race detector; CI runs it without")
	}
	o := rawOptions{user: appUser, password: appPassword, schema: "f", caps: sc.caps, charset: sc.charset}
	if sc.root {
		o.user, o.password = s.cluster.Primary().User, s.cluster.Primary().Password
	}
	if o.charset == 0 && s.flavor == flavor.MySQL {
		o.charset = wire.CharsetUTF8900
	}
	direct := mustDialRaw(t, s.cluster.Primary().Address(), o).transcript(sc.steps)
	replicated(t, s.cluster)
	proxied := mustDialRaw(t, s.address, o).transcript(sc.steps)
	for _, h := range append(sc.hide, statementNumber, period) {
		direct, proxied = h.ReplaceAllString(direct, "..."), h.ReplaceAllString(proxied, "...")
	}
	if d := difference(direct, proxied); d != "" {
		t.Error(d)
	}
	for _, part := range sc.has {
		if !strings.Contains(direct, part) {
			t.Errorf("the server itself gives no %q:\n%s", part, direct)
		}
	}
}

// statementNumber is in the text of errors. MariaDB counts the statements of all clients.
var statementNumber = regexp.MustCompile(`(handler|statement) \([0-9]+\)`)

// period is at the end of MySQL's texts, and not of MariaDB's.
var period = regexp.MustCompile(`(no open cursor|communication packet|READ ONLY transaction)\.?`)

// settled waits until the replica has what was written, so that a read there sees it.
func (s *site) settled(r *raw) { replicated(r.t, s.cluster) }

// workload has an answer of every kind.
func workload(s *site) []step {
	return []step{
		ping, initDB("f"), initDB("nowhere"), query("SELECT DATABASE()"),
		queries("TRUNCATE w", "INSERT INTO w (s) VALUES ('a'), ('b')", "UPDATE w SET s = s", "UPDATE w SET s = 'c'", "DELETE FROM w WHERE id = 9"),
		s.settled,
		queries("SELECT * FROM t", "SELECT id, s FROM w", "SELECT * FROM t WHERE 1 = 0", "SELECT * FROM missing", "SELECT 1 +", "DO 1"),
		queries("SELECT CAST('x' AS UNSIGNED)", "SHOW WARNINGS", "SHOW COUNT(*) WARNINGS", "SELECT @@warning_count", "SELECT FOUND_ROWS(), ROW_COUNT()"),
		queries("SET NAMES latin1", "SET sql_mode = 'ANSI_QUOTES'", "SET time_zone = '+01:00'", "USE f", "SET @x = 5, @y = 'z'", "SELECT @x, @y, @@time_zone"),
		prepare("SELECT id, ? AS p FROM t WHERE id = ?"), execute(0, 0, "abc", "2"), execute(0, 0, nil, "3"), execute(0, 0, "x", "99"), stmtReset(0),
		prepare("INSERT INTO w (s) VALUES (?)"), execute(1, 0, "d"), execute(1, 0, nil), stmtClose(1), execute(1, 0, "e"),
		prepare("SELECT * FROM missing"), prepare("SET @x = 7"), execute(2, 0), query("SELECT @x"),
		execute(0, wire.CursorReadOnly, "abc", "2"), fetch(0, 5), stmtReset(0), fetch(0, 1),
		queries("BEGIN", "SELECT n FROM t WHERE id = 1", "UPDATE w SET s = 'e'", "ROLLBACK", "SELECT n FROM t WHERE id = 2"),
		query("SELECT REPEAT('x', 70000)"), query("SELECT 1 FROM t; UPDATE w SET s = 'f'; SELECT 2"), query("CALL two()"),
		fieldList("t", "%"), setOption(1), query("SELECT 1; SELECT 2"), query("DO 1"), setOption(0), query("SELECT 1; SELECT 2"), resetConnection, query("SELECT @x, DATABASE()"),
	}
}

func commandScripts(s *site) []script {
	var all []script
	for _, c := range []struct {
		name string
		caps wire.Capability
		has  string
	}{
		{"an ordinary client", ordinary, "status=0x4002"},
		{"without DEPRECATE_EOF", ordinary &^ wire.DeprecateEOF, "EOF cursor=true"},
		{"without SESSION_TRACK", ordinary &^ wire.SessionTrack, "END status=0x2 "},
		{"without DEPRECATE_EOF and SESSION_TRACK", ordinary &^ (wire.DeprecateEOF | wire.SessionTrack), "EOF cursor=true"},
		{"with FOUND_ROWS", ordinary | wire.FoundRows, "Rows matched: 2"},
		{"with QUERY_ATTRIBUTES", ordinary | wire.QueryAttributes, "ERR1146"},
		{"with everything", ordinary | wire.FoundRows | wire.QueryAttributes | wire.MariaDBMetadata | wire.ConnectAttrs | wire.ODBC | wire.Interactive, "ERR1146"},
		{"without MULTI_STATEMENTS", ordinary &^ wire.MultiStatements, "ERR1064"},
		{"without MULTI_RESULTS", ordinary &^ (wire.MultiStatements | wire.MultiResults | wire.PSMultiResults), "ERR1312"},
		{"without PS_MULTI_RESULTS", ordinary &^ wire.PSMultiResults, "ERR1146"},
		{"without LONG_FLAG", ordinary &^ wire.LongFlag, "ERR1146"},
		{"with zlib", ordinary | wire.Compress, "ERR1146"},
		{"with zstd", ordinary | wire.ZstdCompression, "ERR1146"},
		{"with zlib without DEPRECATE_EOF", (ordinary | wire.Compress) &^ wire.DeprecateEOF, "ERR1146"},
	} {
		all = append(all, script{name: c.name, caps: c.caps, steps: workload(s), has: []string{c.has, "ERR1044", "ERR1243"}})
	}
	return append(all, []script{
		{name: "latin1", caps: ordinary, charset: wire.CharsetLatin1, steps: []step{
			queries("SELECT @@character_set_client, @@character_set_results, @@collation_connection"), resetConnection,
			queries("SELECT @@character_set_client, @@character_set_results, @@collation_connection", "SET NAMES latin1"),
			queries("SELECT DATABASE(), 'a\xe4'", "SELECT s, '\xe4' FROM t", "SELECT HEX('\xe4')", "SET NAMES utf8mb4", "SELECT '\xe4'"), resetConnection, query("SELECT '\xe4'"),
		}},
		{name: "unknown commands", caps: ordinary, has: []string{"ERR1047"}, steps: []step{
			do("0x0b", []byte{0x0b}), do("0x0f", []byte{0x0f}), do("0x10", []byte{0x10}), do("0x14", []byte{0x14}), do("0x50", []byte{0x50}),
			do("0xff", []byte{0xff}), ping,
		}},
		{name: "no command", caps: ordinary, steps: []step{do("an empty packet", nil), ping}},
		{name: "empty texts", caps: ordinary, has: []string{"ERR1065"}, steps: []step{
			query(""), query(";"), query(" "), query("/* c */"), query("-- c"), query("SELECT 1;"), query("SELECT 1;;"), query("SELECT 1; -- c"), prepare(""), prepare("/* c */"), ping,
		}},
		{name: "unknown statements", caps: ordinary, has: []string{"ERR1243"}, steps: []step{
			execute(-1, 0), fetch(-1, 1), stmtReset(-1), stmtClose(-1), longData(-1, 0, "x"), ping,
			prepare("SELECT ?"), stmtClose(0), execute(0, 0, "a"), stmtReset(0), longData(0, 0, "x"), ping,
		}},
		{name: "old commands", caps: ordinary, steps: []step{
			do("DEBUG", []byte{byte(wire.ComDebug)}), do("REFRESH", []byte{byte(wire.ComRefresh), 1}), do("SHUTDOWN", []byte{byte(wire.ComShutdown), 0}),
			do("CREATE_DB", append([]byte{byte(wire.ComCreateDB)}, "g"...)), do("DROP_DB", append([]byte{byte(wire.ComDropDB)}, "g"...)), ping,
		}},
		{name: "short commands", caps: ordinary, steps: []step{
			do("INIT_DB", []byte{byte(wire.ComInitDB)}), do("EXECUTE", []byte{byte(wire.ComStmtExecute), 1}), ping,
		}},
		{name: "bulk execution", only: flavor.MariaDB, caps: ordinary&^wire.LongPassword | wire.MariaDBBulk, steps: bulkSteps(), has: []string{
			"Records: 3", "ERR1062", "ERR1295", "ERR1243", `ROW "\x00\x00`, "Rows matched: 2",
		}},
		{name: "bulk execution without DEPRECATE_EOF", only: flavor.MariaDB, caps: ordinary&^(wire.LongPassword|wire.DeprecateEOF) | wire.MariaDBBulk, steps: bulkSteps()},
		{name: "bulk execution that was not agreed on", caps: ordinary, steps: []step{prepare("INSERT INTO w (s) VALUES (?)"), bulk(0, nil, "a", "b"), ping}},
		{name: "fields", caps: ordinary, has: []string{"ERR1146"}, steps: []step{
			fieldList("t", ""), fieldList("t", "n%"), fieldList("t", "z"), fieldList("missing", ""), fieldList("", ""), ping,
		}},
		{name: "options", caps: ordinary &^ wire.MultiStatements, has: []string{"ERR1064", "ERR1047"}, steps: []step{
			query("SELECT 1; SELECT 2"), setOption(0), query("SELECT 1; SELECT 2"), query("SET @a = 1; SELECT @a"), query("DO 1"), setOption(1), query("SELECT 1; SELECT 2"), query("SELECT @a"),
			setOption(7), ping, queries("TRUNCATE w", "BEGIN"), query("INSERT INTO w (s) VALUES ('o')"), setOption(0), query("SELECT COUNT(*) > 0 FROM w; SELECT 2"), query("ROLLBACK"),
		}},
		{name: "reset", caps: ordinary, has: []string{"ERR1243", "ERR1146"}, steps: []step{
			queries("TRUNCATE w", "SET @a = 1, sql_mode = '', NAMES latin1", "SET @a = 1, sql_mode = ''", "SET NAMES latin1", "SET autocommit = 0", "CREATE TEMPORARY TABLE tmp (n INT)"),
			queries("INSERT INTO tmp VALUES (1)", "INSERT INTO w (s) VALUES ('lost')", "SELECT COUNT(*) FROM tmp"), prepare("SELECT 1"), initDB("information_schema"),
			resetConnection, queries("SELECT @a, @@sql_mode, @@character_set_client, @@autocommit, DATABASE()", "SELECT * FROM f.tmp", "SELECT COUNT(*) FROM f.w WHERE s = 'lost'", "SELECT LAST_INSERT_ID(), ROW_COUNT()"),
			execute(0, 0), ping,
		}},
	}...)
}

// bulkSteps execute statements for many rows at once.
func bulkSteps() []step {
	one := []byte{byte(wire.TypeVarString), 0}
	two := append(one, one...)
	return []step{
		queries("TRUNCATE w", "ALTER TABLE w ADD UNIQUE (s)"), prepare("INSERT INTO w (s, b) VALUES (?, ?)"),
		bulk(0, two, "a", "1", "b", nil, nil, ignored), bulk(0, nil, "c", standard), execute(0, 0, "d", "2"), bulk(0, nil, "e", "3", "f", "4"),
		bulk(0, two, "g", "x", "a", "x", "h", "x"), query("SELECT id, s, b FROM w FOR UPDATE"), queries("SELECT LAST_INSERT_ID()", "SELECT ROW_COUNT()"),
		prepare("UPDATE w SET b = ? WHERE s = ?"), bulk(1, two, "u", "a", "v", "b", "v", "none"), query("SHOW WARNINGS"),
		prepare("DELETE FROM w WHERE s = ? RETURNING id, s"), bulk(2, one, "a", "none", "b"), ping,
		prepare("INSERT INTO w (s) VALUES (?) RETURNING id"), bulk(3, one, "i", "j"), bulk(3, one, "k", "i"), ping,
		prepare("SELECT ? + 1"), bulk(4, one, "1", "2"), prepare("INSERT INTO w (s) VALUES (DEFAULT)"), bulk(5, nil), bulk(5, []byte{}, "a"),
		bulk(-1, one, "a"), bulk(0, one, "a"), bulk(0, two, "l"), do("short", []byte{byte(wire.ComStmtBulkExecute), 1, 0, 0}), ping,
		query("BEGIN"), bulk(0, two, "m", nil, "n", nil), bulk(1, two, "o", "m"), query("ROLLBACK"), query("SELECT s FROM w FOR UPDATE"),
		longData(0, 1, "long"), bulk(0, two, "p", "q"), bulk(0, two, "r", "s"), query("SELECT id, s, b FROM w FOR UPDATE"), resetConnection, query("ALTER TABLE w DROP INDEX s"),
	}
}

// changeUser logs in anew on the same connection.
func (r *raw) changeUser(user, password, schema string) error {
	m := wire.ChangeUser{User: user, AuthResponse: r.respond(password), Database: schema, Charset: wire.CharsetUTF8MB4, AuthPlugin: r.plugin}
	r.send(m.Append(nil, r.caps))
	return r.authenticate(&rawOptions{user: user, password: password})
}

func (s *site) changeUsers(t *testing.T) {
	root := s.cluster.Primary()
	r := mustDialRaw(t, s.address, rawOptions{user: appUser, password: appPassword, schema: "f", caps: ordinary})
	first := []step{queries("SET @a = 1, sql_mode = ''", "CREATE TEMPORARY TABLE tmp (n INT)"), prepare("SELECT 1"), query("BEGIN")}
	r.transcript(first)
	for _, to := range []struct{ user, password, schema, answer string }{
		{root.User, root.Password, "f", root.User}, {root.User, root.Password, "", root.User}, {appUser, appPassword, "f", appUser}, {appUser, appPassword, "", appUser},
	} {
		if err := r.changeUser(to.user, to.password, to.schema); err != nil {
			t.Fatal(err)
		}
		r.log.Reset()
		got := r.transcript([]step{query("SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1), IFNULL(DATABASE(), 'none'), @a, @@sql_mode = ''"), execute(0, 0), query("SELECT * FROM f.tmp")})
		schema := to.schema
		if schema == "" {
			schema = "none"
		}
		row := string(wire.AppendLenEncString(wire.AppendNull(wire.AppendLenEncString(wire.AppendLenEncString(nil, to.answer), schema)), "0"))
		for _, part := range []string{fmt.Sprintf("ROW %q", row), "ERR1243", "ERR1146"} {
			if !strings.Contains(got, part) {
				t.Errorf("as %s in %q there is no %s in:\n%s", to.user, to.schema, part, got)
			}
		}
	}
	for _, wrong := range []struct{ user, password string }{{appUser, "wrong"}, {"nobody", appPassword}, {root.User, ""}} {
		r := mustDialRaw(t, s.address, rawOptions{user: appUser, password: appPassword, schema: "f", caps: ordinary})
		var e *wire.ServerError
		if err := r.changeUser(wrong.user, wrong.password, ""); !errors.As(err, &e) || e.Code != 1045 {
			t.Errorf("change to %s: %v, want 1045", wrong.user, err)
		}
		if s.flavor == flavor.MySQL {
			r.closed()
			continue
		}
		got := r.transcript([]step{query("SELECT SUBSTRING_INDEX(CURRENT_USER(), '@', 1), DATABASE(), @a")})
		if row := string(wire.AppendNull(wire.AppendLenEncString(wire.AppendLenEncString(nil, appUser), "f"))); !strings.Contains(got, fmt.Sprintf("ROW %q", row)) {
			t.Errorf("refused, it goes on as\n%s", got)
		}
	}
	r = mustDialRaw(t, s.address, rawOptions{user: appUser, password: appPassword, caps: ordinary})
	var e *wire.ServerError
	if err := r.changeUser(appUser, appPassword, "nowhere"); !errors.As(err, &e) || e.Code != 1044 && e.Code != 1049 {
		t.Errorf("change to a schema that is not there: %v", err)
	}
	if s.flavor == flavor.MySQL {
		r.closed()
		return
	}
	for range 2 {
		_ = r.changeUser(appUser, "wrong", "")
	}
	for range 2 {
		if err := r.changeUser(appUser, appPassword, ""); !errors.As(err, &e) || e.Code != 1047 {
			t.Errorf("after three refusals: %v", err)
		}
	}
	r.transcript([]step{ping})
}

func (s *site) statistics(t *testing.T) {
	r := mustDialRaw(t, s.address, rawOptions{user: s.cluster.Primary().User, password: s.cluster.Primary().Password, caps: ordinary})
	for range 2 {
		r.send([]byte{byte(wire.ComStatistics)})
		if p := r.packet(); !strings.HasPrefix(string(p), "Uptime: ") {
			t.Errorf("statistics: %q", p)
		}
	}
	got := r.transcript([]step{do("PROCESS_INFO", []byte{byte(wire.ComProcessInfo)}), do("DEBUG", []byte{byte(wire.ComDebug)}), ping})
	if s.flavor == flavor.MySQL { // which took PROCESS_INFO out
		want(t, "errors", fmt.Sprint(strings.Count(got, "ERR1047")), "1")
		return
	}
	for _, part := range []string{"HEAD", "Binlog Dump", "END"} {
		if !strings.Contains(got, part) {
			t.Errorf("no %q in %s", part, got)
		}
	}
}

func (s *site) replicationCommands(t *testing.T) {
	for _, payload := range [][]byte{
		append([]byte{byte(wire.ComBinlogDump)}, "\x04\x00\x00\x00\x00\x00\x09\x00\x00\x00binlog.000001"...),
		append([]byte{byte(wire.ComBinlogDumpGTID)}, "\x00\x00\x09\x00\x00\x00"...),
		append([]byte{byte(wire.ComRegisterReplica)}, "\x09\x00\x00\x00"...),
		{byte(wire.ComTableDump), 1, 'f', 1, 't'},
		{byte(wire.ComClone)},
		{byte(wire.ComSubscribeStream)},
	} {
		r := mustDialRaw(t, s.address, rawOptions{user: s.cluster.Primary().User, password: s.cluster.Primary().Password, caps: ordinary})
		got := r.transcript([]step{do("refused", payload), ping})
		if !strings.Contains(got, "ERR1047") || !strings.Contains(got, "PING\n  1 OK") {
			t.Errorf("command %#x: %s", payload[0], got)
		}
	}
}

func (s *site) processKill(t *testing.T) {
	o := rawOptions{user: appUser, password: appPassword, schema: "f", caps: ordinary}
	victim, killer := mustDialRaw(t, s.address, o), mustDialRaw(t, s.address, o)
	for _, id := range []uint32{victim.greeting.ThreadID, 4_000_000_000} {
		m := wire.ProcessKill{ConnectionID: id}
		do(fmt.Sprint("KILL ", id), m.Append(nil))(killer)
	}
	victim.closed()
	if got := killer.log.String(); !strings.Contains(got, "  1 OK") || !strings.Contains(got, "ERR1094") {
		t.Errorf("want OK for the one and 1094 for the other:\n%s", got)
	}
}

// oldClient knows no plugins, and proves its password by mysql_native_password.
func (s *site) oldClient(t *testing.T) {
	caps := wire.LongPassword | wire.Protocol41 | wire.SecureConnection | wire.ConnectWithDB | wire.Transactions
	r := mustDialRaw(t, s.address, rawOptions{user: appUser, password: appPassword, schema: "f", caps: caps})
	got := r.transcript([]step{query("SELECT DATABASE()"), query("SELECT 1; SELECT 2"), query("UPDATE w SET s = 'old'")})
	for _, part := range []string{`ROW "\x01f"`, "END status=0x2 ", "ERR1064", "OK status=0x"} {
		if !strings.Contains(got, part) {
			t.Errorf("no %q in\n%s", part, got)
		}
	}
	if _, err := dialRaw(t, s.address, rawOptions{user: appUser, password: "wrong", caps: caps}); err == nil {
		t.Error("a wrong password was taken")
	}
}

// fewFrames: a long row does not come in many small frames, which MySQL's clients take minutes to put
// together.
func (s *site) fewFrames(t *testing.T) {
	for _, caps := range []wire.Capability{ordinary | wire.Compress, ordinary | wire.ZstdCompression} {
		r := mustDialRaw(t, s.address, rawOptions{user: appUser, password: appPassword, caps: caps})
		f, ok := r.c.(*framed)
		if !ok { // MariaDB has no zstd
			continue
		}
		const size = 6 << 20
		if got := r.transcript([]step{query(fmt.Sprintf("SELECT REPEAT('x', %d)", size)), ping}); !strings.Contains(got, fmt.Sprint(size+4, " bytes")) {
			t.Fatalf("no row of %d bytes: %s", size, got)
		}
		if f.frames > 12 {
			t.Errorf("%d frames for %d MB", f.frames, size>>20)
		}
		r.run(query("SELECT 1"), ping)
	}
}
