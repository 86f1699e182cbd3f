package gtid_test

import (
	"database/sql"
	"errors"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

// The tests of this file ask real servers. What they say is right.

const (
	errMalformedSet    = 1772
	errMalformedPos    = 1941
	errDuplicateDomain = 1943
)

// server returns one connection, so that no statement waits for another.
func server(t *testing.T, f flavor.Flavor) *sql.Conn {
	t.Helper()
	cluster := sandboxtest.Cluster(t, sandbox.Options{
		Flavor:   f,
		Replicas: -1,
		Progress: func(s string) { t.Log(s) },
	})
	conn, err := sandboxtest.Open(t, cluster.Primary()).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func query(t *testing.T, conn *sql.Conn, statement string, args ...any) *sql.Row {
	return conn.QueryRowContext(t.Context(), statement, args...)
}

// serverOffset matches the two ways in which MySQL says where an error is. What the server quotes
// from the text comes later in the message.
var serverOffset = regexp.MustCompile(`^Malformed GTID set specification '(.*?)` +
	`(?: after (\d+) characters, marked by | at the beginning of the string: )`)

// verdict tells what MySQL makes of a text: the canonical text, or offset and words of the error.
func verdict(t *testing.T, conn *sql.Conn, text string) vector {
	t.Helper()
	v := vector{text: text, offset: -1}
	// As []byte it is sent as a binary string: no byte of it is converted or refused.
	err := query(t, conn, "SELECT GTID_SUBTRACT(?, '')", []byte(text)).Scan(&v.want)
	var myErr *mysql.MySQLError
	switch {
	case err == nil:
		return v
	case !errors.As(err, &myErr) || myErr.Number != errMalformedSet:
		t.Fatalf("%q: %v", text, err)
	}
	m := serverOffset.FindStringSubmatch(myErr.Message)
	if m == nil {
		t.Fatalf("%q: the server's error has no offset: %v", text, err)
	}
	v.says = m[1]
	v.offset, _ = strconv.Atoi(m[2]) // empty at the beginning
	return v
}

// inTag tells whether an error points at a byte outside ASCII inside a tag. MySQL 9.7.4 accepts
// any such byte behind the first of a tag and makes 0xff of it: it looks characters up by signed
// index and reads outside of its table. We refuse them, and do not compare the rest of the text.
func inTag(text string, perr *gtid.ParseError) bool {
	if perr.Offset == len(text) || text[perr.Offset] < 0x80 {
		return false
	}
	before := text[:perr.Offset]
	tag := before[strings.LastIndexAny(before, ": \t\n\v\f\r")+1:]
	return strings.Trim(tag, "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_") == "" &&
		strings.TrimLeft(tag, "0123456789") == tag && tag != ""
}

// compareParse holds Parse against a verdict of the server.
func compareParse(t *testing.T, v vector) {
	t.Helper()
	set, err := gtid.Parse(v.text)
	var perr *gtid.ParseError
	switch {
	case errors.As(err, &perr) && inTag(v.text, perr):
	case v.ok() && (err != nil || set.String() != v.want):
		t.Errorf("Parse(%q) = %q, %v; the server says %q", v.text, set, err, v.want)
	case !v.ok() && (!errors.As(err, &perr) || perr.Offset != v.offset || !v.means(perr.Msg)):
		t.Errorf("Parse(%q) = %q, %v; the server says %s at offset %d", v.text, set, err, v.says, v.offset)
	}
}

func TestServer_mysqlParse(t *testing.T) {
	t.Parallel()
	conn := server(t, flavor.MySQL)
	for _, v := range readVectors(t, "vectors.tsv") {
		if got := verdict(t, conn, v.text); got != v {
			t.Errorf("vectors.tsv has %+v, the server says %+v", v, got)
		}
	}
	g := newGenerator(t)
	accepted := 0
	const texts = 10_000
	for range texts {
		v := verdict(t, conn, g.text(g.set))
		if v.ok() {
			accepted++
		}
		if compareParse(t, v); t.Failed() {
			t.Fatalf("seed %d", g.seed)
		}
	}
	if accepted < texts/4 || accepted > texts*3/4 {
		t.Errorf("seed %d: %d of %d texts were accepted: the mix is no good", g.seed, accepted, texts)
	}
}

// TestServer_mysqlAlgebra has the server do what Contains, Subtract, Union and Intersect do.
func TestServer_mysqlAlgebra(t *testing.T) {
	t.Parallel()
	conn := server(t, flavor.MySQL)
	g := newGenerator(t)
	draw := func() (string, gtid.Set) {
		for {
			text := g.set()
			if set, err := gtid.Parse(text); err == nil {
				return text, set
			}
		}
	}
	const pairs = 2_000
	contained := 0
	for range pairs {
		textA, a := draw()
		textB, b := draw()
		if g.oneIn(3) { // else hardly any set contains another
			b = b.Intersect(a)
			textB = b.String()
		}
		var subset bool
		var minus, union, both string
		err := query(t, conn, `SELECT GTID_SUBSET(b, a), GTID_SUBTRACT(a, b),
			GTID_SUBTRACT(CONCAT(a, ',', b), ''), GTID_SUBTRACT(a, GTID_SUBTRACT(a, b))
			FROM (SELECT ? AS a, ? AS b) AS pair`, textA, textB).Scan(&subset, &minus, &union, &both)
		if err != nil {
			t.Fatalf("seed %d: %q, %q: %v", g.seed, textA, textB, err)
		}
		if subset {
			contained++
		}
		if got := a.Contains(b); got != subset {
			t.Errorf("%q contains %q: %v, the server says %v", a, b, got, subset)
		}
		for _, op := range []struct {
			name string
			got  gtid.Set
			want string
		}{{"Subtract", a.Subtract(b), minus}, {"Union", a.Union(b), union}, {"Intersect", a.Intersect(b), both}} {
			if op.got.String() != op.want {
				t.Errorf("%s of %q and %q: %q, the server says %q", op.name, a, b, op.got, op.want)
			}
		}
		if t.Failed() {
			t.Fatalf("seed %d", g.seed)
		}
	}
	if contained < pairs/10 || contained > pairs*9/10 {
		t.Errorf("seed %d: %d of %d sets contain the other: the mix is no good", g.seed, contained, pairs)
	}
}

// assign sets a variable to a position and returns the number of the server's error, or 0.
func assign(t *testing.T, conn *sql.Conn, variable, text string) uint16 {
	t.Helper()
	_, err := conn.ExecContext(t.Context(), "SET GLOBAL "+variable+" = ?", text)
	var myErr *mysql.MySQLError
	switch {
	case err == nil:
		return 0
	case !errors.As(err, &myErr):
		t.Fatalf("%q: %v", text, err)
	}
	return myErr.Number
}

// position reads a variable whose value is a position.
func position(t *testing.T, conn *sql.Conn, variable string) string {
	t.Helper()
	var text string
	if err := query(t, conn, "SELECT @@GLOBAL."+variable).Scan(&text); err != nil {
		t.Fatal(err)
	}
	return text
}

func TestServer_mariadb(t *testing.T) {
	t.Parallel()
	conn := server(t, flavor.MariaDB)
	g := newGenerator(t)
	for _, v := range readVectors(t, "mariadb.tsv") {
		number := assign(t, conn, "gtid_slave_pos", v.text)
		if want, _ := strconv.Atoi(v.says); int(number) != want {
			t.Errorf("mariadb.tsv has %+v, the server says %d", v, number)
		}
		if got := position(t, conn, "gtid_slave_pos"); v.ok() && got != v.want {
			t.Errorf("mariadb.tsv has %+v, the server says %q", v, got)
		}
	}
	t.Run("position", func(t *testing.T) { mariadbParse(t, conn, g) })
	t.Run("reached", func(t *testing.T) { mariadbReached(t, conn, g) })
	t.Run("binlog state", func(t *testing.T) { mariadbBinlogState(t, conn, g) })
	if t.Failed() {
		t.Logf("seed %d", g.seed)
	}
}

func mariadbParse(t *testing.T, conn *sql.Conn, g generator) {
	const texts = 2_000
	accepted := 0
	for range texts {
		text := g.text(g.position)
		number := assign(t, conn, "gtid_slave_pos", text)
		pos, err := gtid.ParseDomainPos(text)
		switch {
		case number == 0:
			accepted++
			if got := position(t, conn, "gtid_slave_pos"); err != nil || pos.String() != got {
				t.Fatalf("ParseDomainPos(%q) = %q, %v; the server says %q", text, pos, err, got)
			}
		case number != errMalformedPos && number != errDuplicateDomain:
			t.Fatalf("%q: the server's error is %d", text, number)
		case err == nil:
			t.Fatalf("ParseDomainPos(%q) = %q, the server says %d", text, pos, number)
		}
	}
	if accepted < texts/10 || accepted > texts*3/4 {
		t.Errorf("%d of %d texts were accepted: the mix is no good", accepted, texts)
	}
}

// mariadbReached has the server say, by a wait that does not wait, whether it has reached a
// position.
func mariadbReached(t *testing.T, conn *sql.Conn, g generator) {
	draw := func() gtid.DomainPos {
		var p gtid.DomainPos
		for range g.IntN(4) {
			p = p.With(gtid.DomainGTID{Domain: g.Uint32N(3), Server: 1 + g.Uint32N(2), Seq: g.Uint64N(4)})
		}
		return p
	}
	reached := [2]int{}
	for range 500 {
		have, want := draw(), draw()
		if number := assign(t, conn, "gtid_slave_pos", have.String()); number != 0 {
			t.Fatalf("%q: the server's error is %d", have, number)
		}
		var answer int
		if err := query(t, conn, "SELECT MASTER_GTID_WAIT(?, 0)", want.String()).Scan(&answer); err != nil {
			t.Fatal(err)
		}
		if got := have.Reached(want); got != (answer == 0) {
			t.Fatalf("%q reached %q: %v, the server says %d", have, want, got, answer)
		}
		reached[-answer]++
	}
	if min(reached[0], reached[1]) < 50 {
		t.Errorf("reached or not: %v: the mix is no good", reached)
	}
}

// mariadbBinlogState has the server say which position a state of its binlog stands for.
func mariadbBinlogState(t *testing.T, conn *sql.Conn, g generator) {
	for range 50 {
		text := g.state()
		if _, err := conn.ExecContext(t.Context(), "RESET MASTER"); err != nil {
			t.Fatal(err)
		}
		if number := assign(t, conn, "gtid_binlog_state", text); number != 0 {
			t.Fatalf("%q: the server's error is %d", text, number)
		}
		want := position(t, conn, "gtid_binlog_pos")
		for _, state := range []string{text, position(t, conn, "gtid_binlog_state")} {
			if got, err := gtid.ParseBinlogState(state); err != nil || got.String() != want {
				t.Fatalf("ParseBinlogState(%q) = %q, %v; the server says %q", state, got, err, want)
			}
		}
	}
}
