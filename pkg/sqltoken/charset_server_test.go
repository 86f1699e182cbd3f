package sqltoken

import (
	"database/sql"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

// Errors of the servers.
const (
	errSyntax      = 1064 // ER_PARSE_ERROR
	errWrongValue  = 1231 // ER_WRONG_VALUE_FOR_VAR: no character set for a client
	errInvalidText = 1300 // ER_INVALID_CHARACTER_STRING: read, but no name in that character set
)

// TestCharsetServer puts every byte over 0x7F, in every character set that a
// client can have, to a server, and compares with how it is read here.
func TestCharsetServer(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: -1})
		db := sandboxtest.Open(t, c.Primary())
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		p := charsetProbe{t: t, conn: conn, flavor: f}
		sets := p.ask("SELECT GROUP_CONCAT(CHARACTER_SET_NAME ORDER BY 1), GROUP_CONCAT(IF(MAXLEN > 1, CHARACTER_SET_NAME, NULL))" +
			" FROM information_schema.CHARACTER_SETS")
		long := strings.Split(sets.row[1], ",")
		for _, name := range strings.Split(sets.row[0], ",") {
			t.Run(name, func(t *testing.T) {
				p := charsetProbe{t: t, conn: conn, flavor: f}
				p.set(name, slices.Contains(long, name))
			})
		}
	})
}

type charsetProbe struct {
	t      *testing.T
	conn   *sql.Conn
	flavor flavor.Flavor
}

type serverAnswer struct {
	columns []string
	row     []string // the first, if there is one
	errno   uint16
}

func (p charsetProbe) ask(statement string) serverAnswer {
	p.t.Helper()
	a, err := p.query(statement)
	if refused := new(mysql.MySQLError); errors.As(err, &refused) {
		return serverAnswer{errno: refused.Number}
	}
	if err != nil {
		p.t.Fatalf("%q: %v", statement, err)
	}
	return a
}

func (p charsetProbe) query(statement string) (a serverAnswer, err error) {
	rows, err := p.conn.QueryContext(p.t.Context(), statement)
	if err != nil {
		return a, err
	}
	defer rows.Close()
	if a.columns, err = rows.Columns(); err != nil {
		return a, err
	}
	if rows.Next() {
		values := make([]sql.NullString, len(a.columns))
		into := make([]any, len(values))
		for i := range values {
			into[i] = &values[i]
		}
		if err := rows.Scan(into...); err != nil {
			return a, err
		}
		for _, v := range values {
			a.row = append(a.row, v.String)
		}
	}
	return a, rows.Err()
}

func (p charsetProbe) set(name string, long bool) {
	c, known := ParseCharset(name)
	switch a := p.ask("SET NAMES " + name); {
	case a.errno == errWrongValue:
		if known {
			p.t.Errorf("ParseCharset knows it, but no client can have it")
		}
		return
	case a.errno != 0:
		p.t.Fatalf("SET NAMES ends with error %d", a.errno)
	case name == "swe7":
		if a := p.ask("SELECT @x`y"); known || a.errno != 0 {
			p.t.Errorf("known is %t, and a back-quote in the name of a variable ends with error %d: "+
				"the set is left out because there is none", known, a.errno)
		}
		return
	case !known:
		p.t.Fatalf("ParseCharset does not know it")
	}
	p.bytes(c)
	p.strings(c)
	if long {
		p.names(c)
	}
}

// bytes compares which bytes are white space, and which make a comment of --.
func (p charsetProbe) bytes(c Charset) {
	for b := 0x80; b <= 0xff; b++ {
		text := string([]byte{byte(b)})
		between := p.ask("SELECT 1 FROM (SELECT 1) AS t FOR"+text+"UPDATE").errno == 0
		leading := p.ask(text+"SELECT 1").errno == 0
		if between != c.space(byte(b)) || leading != between {
			p.t.Errorf("%#x is white space between words: %t, at the start: %t; here: %t", b, between, leading, c.space(byte(b)))
		}
		a := p.ask("SELECT 5--" + text + "1")
		if comment := a.row != nil && a.row[0] == "5"; comment != c.dashed(byte(b)) {
			p.t.Errorf("-- and %#x begin a comment: %t; here: %t", b, comment, c.dashed(byte(b)))
		}
	}
}

// strings compares where strings end: behind every pair of bytes over 0x7F,
// and behind random bytes.
func (p charsetProbe) strings(c Charset) {
	var bodies []string
	for lead := 0x80; lead <= 0xff; lead++ {
		bodies = append(bodies, string([]byte{byte(lead)}), string([]byte{byte(lead), '\\'}))
		for b := 0x80; b <= 0xff && c.multiByte(); b++ {
			bodies = append(bodies, string([]byte{byte(lead), byte(b), '\\'}))
		}
	}
	const some = "\\\\\\\\''09@`~\x7f\x80\x81\x83\x8f\x9f\xa0\xa1\xa4\xbf\xc8\xdf\xe0\xf9\xfa\xfc\xfd\xfe\xff"
	random := rand.New(rand.NewPCG(1, uint64(c)))
	count := 100
	if c.multiByte() {
		count = 1000
	}
	for range count {
		body := make([]byte, 1+random.IntN(8))
		for i := range body {
			body[i] = some[random.IntN(len(some))]
		}
		bodies = append(bodies, string(body))
	}
	p.literals(c, bodies)
}

// What follows the content of a string in literals: a quote and, if that ends
// the string, a comment; else the string ends at the second quote.
const afterContent = "'#'\n"

// contentEnd says where a server ends the string 'body'#', as it is read here:
// at its first quote or its second. Else it is no statement.
func (p charsetProbe) contentEnd(c Charset, body string) (first, second bool) {
	text := "'" + body + afterContent
	s := New(text, &Options{Flavor: p.flavor, Charset: c})
	t := s.Next()
	return t.Kind == String && t.End == 1+len(body)+1, t.Kind == String && t.End == len(text)-1
}

// literals compares where the server ends strings with those contents, many in
// a statement.
func (p charsetProbe) literals(c Charset, bodies []string) {
	var batch []string
	for _, body := range bodies {
		if first, second := p.contentEnd(c, body); first || second {
			batch = append(batch, body)
		} else if spaced(c, body) {
			continue // two strings with white space between them are one
		} else if a := p.ask("SELECT HEX('" + body + afterContent + ")"); a.errno != errSyntax && a.errno != errInvalidText {
			p.t.Errorf("content %q: no string here, the server answers %d %q", body, a.errno, a.row)
		}
		if len(batch) == 128 {
			p.batch(c, batch)
			batch = batch[:0]
		}
	}
	p.batch(c, batch)
}

func spaced(c Charset, body string) bool {
	for _, b := range []byte(body) {
		if b >= 0x80 && c.space(b) {
			return true
		}
	}
	return false
}

func (p charsetProbe) batch(c Charset, bodies []string) {
	if len(bodies) == 0 {
		return
	}
	var statement strings.Builder
	for i, body := range bodies {
		separator := ", "
		if i == 0 {
			separator = "SELECT "
		}
		fmt.Fprintf(&statement, "%sHEX('%s%s)", separator, body, afterContent)
	}
	a := p.ask(statement.String())
	if a.errno != 0 && len(bodies) > 1 { // which one is it?
		p.batch(c, bodies[:len(bodies)/2])
		p.batch(c, bodies[len(bodies)/2:])
		return
	}
	if a.errno != 0 {
		p.t.Errorf("content %q: a string here, the server answers %d", bodies[0], a.errno)
		return
	}
	for i, body := range bodies {
		_, want := p.contentEnd(c, body)
		if got := strings.HasSuffix(a.row[i], "2723"); got != want {
			p.t.Errorf("content %q: the quote behind it belongs to the string: %t, want %t (server has %s)", body, want, got, a.row[i])
		}
	}
}

// names compares where names end, quoted and not.
func (p charsetProbe) names(c Charset) {
	for lead := 0x80; lead <= 0xff; lead++ {
		for _, trail := range "\\`@~'" {
			text := string([]byte{byte(lead), byte(trail)})
			whole := c.charLen(text, 0) == 2
			a := p.ask("SELECT 1 AS a" + text + "\n")
			if a.errno != errInvalidText && (a.errno == 0) != whole {
				p.t.Errorf("a%s: one name here: %t, the server answers %d", text, whole, a.errno)
			}
		}
		p.quotedName(c, string([]byte{byte(lead), '`'}))
		p.oneByOne(c, byte(lead))
	}
}

func (p charsetProbe) quotedName(c Charset, name string) {
	text := "`" + name + "`,2#`\n"
	s := New(text, &Options{Flavor: p.flavor, Charset: c})
	want := 0
	switch s.Next().End {
	case len(name) + 2:
		want = 2
	case len(text) - 1:
		want = 1
	}
	a := p.ask("SELECT 1 AS " + text)
	if a.errno == errInvalidText {
		return // MariaDB, which does not take half characters
	}
	if len(a.columns) != want {
		p.t.Errorf("name %q: %d columns, want %d (error %d)", name, want, len(a.columns), a.errno)
	}
}

// oneByOne tests what charLen does not hold for: the name of a variable, and a
// name that begins with digits, in front of a byte that may begin a character.
func (p charsetProbe) oneByOne(c Charset, lead byte) {
	b := string([]byte{lead})
	if a := p.ask("SELECT @a" + b + "`#`\n"); a.errno == 0 && (a.columns[0] == "#") != c.inVariable(lead) {
		p.t.Errorf("variable @a%q: one name here: %t, column %q", b, c.inVariable(lead), a.columns)
	}
	if c.charLen(b+"`", 0) != 2 {
		return
	}
	a := p.ask("SELECT 1 AS 1" + b + "`\n")
	if refused := a.errno == errSyntax; refused != (p.flavor == flavor.MySQL) {
		p.t.Errorf("name 1%q`: error %d; only MySQL reads the byte behind digits alone", b, a.errno)
	}
}
