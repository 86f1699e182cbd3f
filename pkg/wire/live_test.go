package wire_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

const newCaps = baseCaps | wire.DeprecateEOF | wire.SessionTrack | wire.QueryAttributes

// value runs a query for one value and returns it. Its answer must fit one read buffer.
func (c *client) value(text string) string {
	c.t.Helper()
	c.log = &exchange{}
	defer func() { c.log = nil }()
	c.query(text)
	return firstValue(c.t, c.log, c.caps)
}

// firstValue returns the first value of the first row that was answered.
func firstValue(t testing.TB, e *exchange, caps wire.Capability) string {
	t.Helper()
	payloads, _ := packets(t, e.of(true))
	var head wire.ResultHead
	if err := head.Decode(payloads[0], caps); err != nil {
		t.Fatal(err)
	}
	row := wire.ReadTextRow(payloads[1+head.Columns])
	v, ok := row.Next()
	if !ok {
		t.Fatalf("no value: %v", row.Err())
	}
	return string(v)
}

// TestServer puts what this package writes to real servers, and reads what they write.
func TestServer(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{
			Flavor: f, Replicas: -1, PrimaryArgs: []string{"--max-allowed-packet=64M"},
		})
		sandboxtest.Exec(t, c.Primary(), loginSetup[f]...)
		l := login{address: c.Primary().Address(), user: "wire", password: "secret", caps: newCaps}
		t.Run("login", func(t *testing.T) { testLogin(t, l) })
		t.Run("stored", func(t *testing.T) { testStored(t, connect(t, l), f) })
		t.Run("large", func(t *testing.T) { testLarge(t, connect(t, l)) })
		t.Run("charset", func(t *testing.T) { testCharset(t, l, f) })
		t.Run("types", func(t *testing.T) { testTypes(t, connect(t, l), connect(t, l)) })
		t.Run("commands", func(t *testing.T) { testCommands(t, connect(t, l)) })
		if f == flavor.MySQL {
			t.Run("attributes", func(t *testing.T) { testAttributes(t, connect(t, l)) })
		}
	})
}

// testLogin: the first login needs the password itself, by RSA; later ones do not; over TLS it is
// sent as it is.
func testLogin(t *testing.T, l login) {
	for _, name := range []string{"first", "again", "tls"} {
		l.tls = name == "tls"
		c := connect(t, l)
		if got := c.value("SELECT CURRENT_USER()"); got != "wire@%" {
			t.Errorf("%s: logged in as %s", name, got)
		}
	}
	c := connect(t, l)
	c.query("FLUSH PRIVILEGES") // MySQL forgets the fast path's hashes
	c = connect(t, l)
	if got := c.value("SELECT VERSION()"); got != c.greeting.ServerVersion() {
		t.Errorf("greeting has version %s, server says %s", c.greeting.ServerVersion(), got)
	}
	if got := c.value("SELECT CONNECTION_ID()"); got != fmt.Sprint(c.greeting.ThreadID) {
		t.Errorf("greeting has id %d, server says %s", c.greeting.ThreadID, got)
	}
	if got := c.value("SELECT ATTR_VALUE FROM performance_schema.session_connect_attrs " +
		"WHERE ATTR_NAME = 'program_name' AND PROCESSLIST_ID = CONNECTION_ID() " +
		"UNION ALL SELECT 'off' LIMIT 1"); got != "wire_test" && got != "off" {
		t.Errorf("program_name is %q", got)
	}
}

func testStored(t *testing.T, c *client, f flavor.Flavor) {
	if f == flavor.MariaDB {
		stored, err := wire.ParseNativeHash(c.value("SELECT PASSWORD('secret')"))
		if err != nil || stored != wire.HashNative([]byte("secret")) {
			t.Errorf("hash %x: %v", stored, err)
		}
		return
	}
	for _, password := range []string{"secret", "", "x", strings.Repeat("long", 30), "ünï'"} {
		c.query("DROP USER IF EXISTS s")
		c.query("CREATE USER s IDENTIFIED WITH caching_sha2_password BY '" + strings.ReplaceAll(password, "'", "''") + "'")
		text := c.value("SELECT authentication_string FROM mysql.user WHERE User = 's'")
		if password == "" {
			if text != "" {
				t.Errorf("the empty password is stored as %q", text)
			}
			continue
		}
		stored, err := wire.ParseSHA2Stored(text)
		if err != nil || !stored.Check([]byte(password)) || stored.Check([]byte(password+"!")) {
			t.Errorf("password %q, stored %q: %v", password, text, err)
		}
	}
}

// testLarge sends and receives messages of several packets.
func testLarge(t *testing.T, c *client) {
	for _, n := range []int{wire.MaxPayload, wire.MaxPayload + 1} {
		prefix := "SELECT LENGTH('"
		head := len(wire.AppendQuery(nil, prefix, c.caps))
		text := prefix + strings.Repeat("x", n-head-len("')")) + "')"
		if got := c.value(text); got != fmt.Sprint(n-head-2) {
			t.Errorf("payload of %d bytes: length %s, want %d", n, got, n-head-2)
		}
	}
	for _, n := range []int{wire.MaxPayload - 4, wire.MaxPayload + 1} {
		res := c.query(fmt.Sprintf("SELECT REPEAT(UNHEX('FE'), %d) UNION ALL SELECT 'x'", n))
		if res.rows != 2 || res.bytes < n {
			t.Errorf("value of %d bytes: %d rows, %d bytes", n, res.rows, res.bytes)
		}
	}
}

// testCharset: one byte is all that the servers read of the collation.
func testCharset(t *testing.T, l login, f flavor.Flavor) {
	l.charset = wire.CharsetBinary
	c := connect(t, l)
	if got := c.value("SELECT @@collation_connection"); got != "binary" {
		t.Errorf("collation %s", got)
	}
	if f == flavor.MySQL {
		l.charset = wire.CharsetUTF8900
		if got := connect(t, l).value("SELECT @@collation_connection"); got != "utf8mb4_0900_ai_ci" {
			t.Errorf("collation %s", got)
		}
	}
}

// testTypes: a server that has not seen an execution's types needs them.
func testTypes(t *testing.T, first, second *client) {
	text := append([]byte{byte(wire.ComStmtPrepare)}, "SELECT CONCAT(?, '|', ?, '|', COALESCE(?, 'null'))"...)
	var values []byte
	values = wire.AppendLenEncString(values, "one")
	values = binary.LittleEndian.AppendUint32(values, 0xFFFFFFFF)
	m := wire.Execute{
		Iterations: 1, Params: 3,
		Parameters: wire.Parameters{
			Count: 3, Nulls: []byte{4}, NewTypes: true, Values: values,
			Types: []byte{byte(wire.TypeVarString), 0, byte(wire.TypeLong), 0x80, byte(wire.TypeNull), 0},
		},
	}
	m.StatementID = first.run(text).prepared.StatementID
	check := func(c *client, m wire.Execute) {
		t.Helper()
		payload, err := m.Append(nil, c.caps, nil)
		if err != nil {
			t.Fatal(err)
		}
		c.log = &exchange{}
		if res := c.run(payload); res.err != nil || res.rows != 1 {
			t.Fatalf("%+v", res)
		}
		if want := "one|4294967295|null"; !bytes.Contains(c.log.of(true), []byte(want)) {
			t.Errorf("no %q in %q", want, c.log.of(true))
		}
		c.log = nil
	}
	check(first, m)
	again := m
	again.Parameters.NewTypes, again.Parameters.Types = false, nil
	check(first, again)
	again.StatementID = second.run(text).prepared.StatementID
	again.Remember(m.Parameters.Types)
	check(second, again)
}

func testCommands(t *testing.T, c *client) {
	kill := wire.ProcessKill{ConnectionID: 1<<31 - 1}
	if res := c.run(kill.Append(nil)); res.err == nil {
		t.Error("a connection that is not there was killed")
	}
	option := wire.SetOption{Option: 1}
	if res := c.run(option.Append(nil)); res.err != nil || res.ends != 1 {
		t.Errorf("%+v", res)
	}
	if res := c.run(wire.AppendQuery(nil, "SELECT 1; SELECT 2", c.caps)); res.err == nil || res.err.Code != 1064 {
		t.Errorf("several statements: %+v", res)
	}
	option.Option = 0
	c.run(option.Append(nil))
	if res := c.query("SELECT 1; SELECT 2"); res.ends != 2 || res.rows != 2 {
		t.Errorf("several statements: %+v", res)
	}
}

// testAttributes: the server's component reads them.
func testAttributes(t *testing.T, c *client) {
	c.query("INSTALL COMPONENT 'file://component_query_attributes'")
	attributes := wire.Parameters{
		Count: 2, Named: true, Nulls: []byte{0}, NewTypes: true,
		Types: append(wire.AppendLenEncString([]byte{byte(wire.TypeVarString), 0}, "colour"),
			wire.AppendLenEncString([]byte{byte(wire.TypeLong), 0}, "size")...),
		Values: binary.LittleEndian.AppendUint32(wire.AppendLenEncString(nil, "blue"), 7),
	}
	const read = "SELECT CONCAT(mysql_query_attribute_string('colour'), mysql_query_attribute_string('size'))"
	q := wire.Query{Attributes: attributes, Text: []byte(read)}
	payload, err := q.Append(nil, c.caps)
	if err != nil {
		t.Fatal(err)
	}
	c.log = &exchange{}
	if res := c.run(payload); res.err != nil {
		t.Fatal(res.err)
	}
	if got := firstValue(t, c.log, c.caps); got != "blue7" {
		t.Errorf("the server read %q", got)
	}
	// The same behind a parameter of a statement, and with none.
	for _, params := range []int{1, 0} {
		text := strings.Replace(read, "SELECT CONCAT(", "SELECT CONCAT("+strings.Repeat("?, ", params), 1)
		m := wire.Execute{Iterations: 1, Flags: 8, Params: params, Parameters: attributes}
		if params == 1 {
			m.Parameters.Count, m.Parameters.Nulls = 3, []byte{0}
			m.Parameters.Types = append([]byte{byte(wire.TypeVarString), 0, 0}, attributes.Types...)
			m.Parameters.Values = append(wire.AppendLenEncString(nil, "p"), attributes.Values...)
		}
		m.StatementID = c.run(append([]byte{byte(wire.ComStmtPrepare)}, text...)).prepared.StatementID
		payload, err := m.Append(nil, c.caps, nil)
		if err != nil {
			t.Fatal(err)
		}
		c.log = &exchange{}
		want := strings.Repeat("p", params) + "blue7"
		if res := c.run(payload); res.err != nil || !bytes.Contains(c.log.of(true), []byte(want)) {
			t.Errorf("%d parameters: no %q in %q, %v", params, want, c.log.of(true), res.err)
		}
	}
	c.log = nil
}
