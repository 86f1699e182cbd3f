package sqltoken_test

import (
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
)

var (
	update    = flag.Bool("sqltoken.update", false, "write "+lexingFile+" anew")
	seeds     = flag.Int("sqltoken.seeds", 6400, "number of texts that TestServerRandom puts to each server")
	firstSeed = flag.Uint64("sqltoken.seed", 1, "seed of the first of them")
)

// lexingSchema is there when the texts of lexingFile run.
var lexingSchema = []string{
	"CREATE DATABASE probe",
	"CREATE TABLE probe.t (a INT, `for` INT, `into` INT, `1a` INT, `5e5` INT, `5` INT, `$a$` INT, j VARCHAR(20))",
	"INSERT INTO probe.t VALUES (1, 2, 3, 4, 5, 6, 7, '{\"a\": 8}')",
	"CREATE TABLE probe.`1t` (a INT)",
	"INSERT INTO probe.`1t` VALUES (1)",
	"SET GLOBAL log_bin_trust_function_creators = 1",
	"CREATE TABLE probe.held (a INT PRIMARY KEY)",
	"INSERT INTO probe.held VALUES (1)",
	"CREATE FUNCTION probe.now() RETURNS INT RETURN 78",
	"CREATE FUNCTION probe.get_lock(a INT, b INT) RETURNS INT RETURN 77",
}

// lexer asks a server over one connection how it reads a text.
type lexer struct {
	t             testing.TB
	db            *sql.DB
	conn          *sql.Conn
	charset, mode string
	stale         bool // a text may have changed them
}

func newLexer(t *testing.T, f flavor.Flavor) *lexer {
	c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: -1})
	sandboxtest.Exec(t, c.Primary(), lexingSchema...)
	config := c.Primary().Config()
	config.MultiStatements, config.DBName = true, "probe"
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	t.Cleanup(func() { _ = db.Close() })
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return &lexer{t: t, db: db, conn: conn}
}

// session brings the connection in that state.
func (l *lexer) session(charset, mode string) {
	l.t.Helper()
	if l.charset == charset && l.mode == mode && !l.stale {
		return
	}
	for _, statement := range []string{"SET NAMES " + charset, "SET sql_mode = '" + mode + "'"} {
		if _, err := l.conn.ExecContext(l.t.Context(), statement); err != nil {
			l.t.Fatalf("%s: %v", statement, err)
		}
	}
	l.charset, l.mode, l.stale = charset, mode, false
}

// answer is what a server did with a text: the rows of all results, what stands
// in @x afterwards, and the number of the error that ended it.
type answer struct {
	rows  []string
	x     string
	errno string
}

func (a answer) String() string {
	parts := slices.Clone(a.rows)
	if a.errno != "" {
		parts = append(parts, "error "+a.errno)
	}
	text := strings.Join(parts, "; ")
	if a.x != "NULL" {
		text += " @x=" + a.x
	}
	return text
}

// unread says whether the text, or the part that was not run, may have been
// refused before it was read to its end: a syntax error, half a character in a
// name, arguments that a built-in does not take, a literal that is no date, an
// unknown variable.
func (a answer) unread() bool {
	return slices.Contains([]string{"1064", "1065", "1193", "1272", "1300", "1327", "1525", "1583", "1584", "3854"}, a.errno)
}

// ask puts one text to the server.
func (l *lexer) ask(text string) answer {
	l.t.Helper()
	a := l.run(text)
	a.x = "NULL"
	if strings.Contains(text, "@") {
		a.x = strings.Join(l.run("SELECT @x").rows, "")
		l.run("SET @x = NULL")
	}
	l.stale = strings.Contains(strings.ToUpper(text), "SET")
	return a
}

func (l *lexer) run(text string) (a answer) {
	l.t.Helper()
	rows, err := l.conn.QueryContext(l.t.Context(), text)
	if err != nil {
		a.errno = l.refused(text, err)
		return a
	}
	defer rows.Close()
	for {
		columns, err := rows.Columns()
		if err != nil {
			l.t.Fatalf("%q: %v", text, err)
		}
		if len(columns) == 0 {
			a.rows = append(a.rows, "ok")
		}
		for rows.Next() {
			a.rows = append(a.rows, l.row(rows, len(columns)))
		}
		if rows.Err() != nil || !rows.NextResultSet() {
			break
		}
	}
	if err := rows.Err(); err != nil {
		a.errno = l.refused(text, err)
	}
	return a
}

func (l *lexer) row(rows *sql.Rows, columns int) string {
	values, into := make([]sql.NullString, columns), make([]any, columns)
	for i := range values {
		into[i] = &values[i]
	}
	if err := rows.Scan(into...); err != nil {
		l.t.Fatal(err)
	}
	var fields []string
	for _, v := range values {
		if v.Valid {
			fields = append(fields, escape(v.String))
		} else {
			fields = append(fields, "NULL")
		}
	}
	return strings.Join(fields, ", ")
}

func (l *lexer) refused(text string, err error) string {
	l.t.Helper()
	refusal := new(mysql.MySQLError)
	if !errors.As(err, &refusal) {
		l.t.Fatalf("%q: %v", text, err)
	}
	return strconv.Itoa(int(refusal.Number))
}

// TestServerLexing puts every text of lexingFile to real servers, as it stands
// and in its canonical form.
func TestServerLexing(t *testing.T) {
	cases := readLexing(t)
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		l := newLexer(t, f)
		for _, c := range cases {
			if c.only != flavor.Unknown && c.only != f {
				continue
			}
			l.session(c.charset, c.mode)
			got := l.ask(c.text)
			if want := c.answers[f]; got.String() != want && !*update {
				t.Errorf("%s:%d: %s\n answer %s\n want   %s", lexingFile, c.line, escape(c.text), got, want)
			}
			c.answers[f] = got.String()
			c.wantToken[f] = showTokens(c.text, scanAll(t, c.text, c.options(f)))
			if !c.raw {
				l.compare(c.text, got, f)
			}
		}
	})
	if *update {
		writeLexing(t, cases)
	}
}

// compare puts the canonical form of a text to the server, which answered the
// text itself with want.
func (l *lexer) compare(text string, want answer, f flavor.Flavor) {
	l.t.Helper()
	plain, ok := canonical(text, l.charset, serverOptions(f, l.charset, l.mode))
	switch {
	case !ok:
		if want.errno != "1064" && !strings.HasSuffix(text, "\x00") { // the servers take one at the end
			l.differ(text, want, "", answer{}, f)
		}
	case strings.TrimSpace(plain) == "":
		if want.String() != "ok" && want.errno != "1065" {
			l.differ(text, want, plain, answer{}, f)
		}
	default:
		l.session(l.charset, l.mode)
		if got := l.ask(plain); got.String() != want.String() {
			l.differ(text, want, plain, got, f)
		}
	}
}

func (l *lexer) differ(text string, want answer, plain string, got answer, f flavor.Flavor) {
	l.t.Helper()
	l.t.Errorf("%s, mode %q: two readings of %s\n answer    %s\n canonical %s\n answer    %s\n tokens %s",
		l.charset, l.mode, escape(text), want, escape(plain), got,
		showTokens(text, scanAll(l.t, text, serverOptions(f, l.charset, l.mode))))
}

// TestServerRandom puts random texts to real servers, as they stand and in their
// canonical form. What one of them runs must be read here as it reads it.
func TestServerRandom(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		l := newLexer(t, f)
		l.hold()
		ran, read := 0, 0
		for seed := range *seeds {
			charset, mode := charsets[seed/50%len(charsets)], modes[seed/50/len(charsets)%len(modes)]
			if charset == "gb18030" && f == flavor.MariaDB {
				continue
			}
			r := newTexts(*firstSeed+uint64(seed), charset, mode)
			l.session(charset, mode)
			text := r.any()
			got := l.ask(text)
			read++
			if got.errno != "1064" || len(got.rows) > 0 {
				ran++
				l.random(text, got, f)
			}
		}
		t.Logf("%d of %d texts are no syntax error", ran, read)
		if ran < read/5 {
			t.Errorf("only %d of %d texts are no syntax error", ran, read)
		}
	})
}

// hold locks the row of probe.held until the test ends, and makes the lexer's
// connection give up soon where it waits for it.
func (l *lexer) hold() {
	l.run("SET SESSION innodb_lock_wait_timeout = 1")
	tx, err := l.db.BeginTx(l.t.Context(), nil)
	if err != nil {
		l.t.Fatal(err)
	}
	l.t.Cleanup(func() { _ = tx.Rollback() })
	if _, err := tx.ExecContext(l.t.Context(), "UPDATE probe.held SET a = 2"); err != nil {
		l.t.Fatal(err)
	}
}

// random is compare for texts of which nobody knows if they should run: what
// the server did not read does not count.
func (l *lexer) random(text string, want answer, f flavor.Flavor) {
	l.t.Helper()
	o := serverOptions(f, l.charset, l.mode)
	if want.acted() && !acts(text, o) {
		l.differ(text, want, "", answer{}, f)
	}
	plain, ok := canonical(text, l.charset, o)
	if !ok {
		first, digits := unreadable(text, o)
		if (want.errno == "" || first && !want.unread()) && !digits && !strings.HasSuffix(text, "\x00") {
			l.differ(text, want, "", answer{}, f)
		}
		return
	}
	if strings.Trim(plain, "; ") == "" && want.String() == "ok" {
		return
	}
	l.session(l.charset, l.mode)
	got := l.ask(plain)
	if want.unread() && len(got.rows) >= len(want.rows) {
		got.rows, got.errno, got.x = got.rows[:len(want.rows)], want.errno, want.x
	}
	if got.String() != want.String() {
		l.differ(text, want, plain, got, f)
	}
}

// acted says whether the server certainly assigned a variable or asked for a
// lock.
func (a answer) acted() bool {
	return a.x != "NULL" || a.errno == "3572" || a.errno == "1205" // NOWAIT, on MySQL and MariaDB
}

// acts says whether the tokens have what does that.
func acts(text string, o *sqltoken.Options) bool {
	s := sqltoken.New(text, o)
	before := ""
	for t := s.Next(); t.Kind != sqltoken.EOF; t = s.Next() {
		word := strings.ToLower(text[t.Start:t.End])
		switch {
		case t.Kind == sqltoken.Comment, t.Kind == sqltoken.Hint, t.Kind == sqltoken.ExecOpen, t.Kind == sqltoken.ExecClose:
			continue
		case t.Kind == sqltoken.Assign, t.Kind == sqltoken.UserVar && before == "into", t.Kind == sqltoken.Word && before == "for" && word == "update":
			return true
		}
		before = word
	}
	return false
}

// unreadable looks at the first token that is nothing: is it in the first
// statement, and is it digits in front of a long character, which MySQL and
// MariaDB read in different ways and nobody writes?
func unreadable(text string, o *sqltoken.Options) (first, digits bool) {
	s := sqltoken.New(text, o)
	first = true
	for {
		switch t := s.Next(); t.Kind {
		case sqltoken.Semicolon:
			first = false
		case sqltoken.Invalid, sqltoken.Unterminated:
			return first, t.Start < len(text) && '0' <= text[t.Start] && text[t.Start] <= '9'
		case sqltoken.EOF:
			return false, false
		}
	}
}

func writeLexing(t *testing.T, cases []*lexingCase) {
	content, err := os.ReadFile(lexingFile)
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for i, line := range strings.Split(strings.TrimRight(string(content), "\n"), "\n") {
		if mark, _, _ := strings.Cut(line, "\t"); mark == "both" || mark == "mysql" || mark == "mariadb" {
			continue
		}
		b.WriteString(line + "\n")
		for _, c := range cases {
			if c.line == i+1 {
				c.write(&b)
			}
		}
	}
	if err := os.WriteFile(lexingFile, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func (c *lexingCase) write(b *strings.Builder) {
	flavors := c.flavors()
	first := flavors[0]
	if last := flavors[len(flavors)-1]; last != first && c.answers[first] == c.answers[last] && c.wantToken[first] == c.wantToken[last] {
		fmt.Fprintf(b, "both\t%s\t%s\n", c.answers[first], c.wantToken[first])
		return
	}
	for _, f := range flavors {
		fmt.Fprintf(b, "%v\t%s\t%s\n", f, c.answers[f], c.wantToken[f])
	}
}
