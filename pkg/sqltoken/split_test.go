package sqltoken_test

import (
	"errors"
	"io"
	"slices"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
)

// split returns the pieces as LINE:TEXT, a command of the client as LINE!TEXT.
func split(t testing.TB, r io.Reader, o *sqltoken.Options) []string {
	t.Helper()
	var got []string
	for p, err := range sqltoken.Split(r, o) {
		if err != nil {
			t.Fatal(err)
		}
		sign := ":"
		if p.Command {
			sign = "!"
		}
		got = append(got, string(rune('0'+p.Line))+sign+p.Text)
	}
	return got
}

func TestSplit(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, text string
		o          sqltoken.Options
		want       []string
	}{
		{name: "nothing", text: ""},
		{name: "white space", text: " \n\t\r\n"},
		{name: "empty statements", text: ";;\n ; "},
		{name: "no end", text: "SELECT 1", want: []string{"1:SELECT 1"}},
		{name: "two", text: "SELECT 1;SELECT\n2;", want: []string{"1:SELECT 1", "1:SELECT\n2"}},
		{name: "byte order mark", text: "\ufeffSELECT 1;", want: []string{"1:SELECT 1"}},
		{name: "strings", text: "SELECT 'a;''b', \"c;\\\"d;\", `e;``f`;\n2", want: []string{"1:SELECT 'a;''b', \"c;\\\"d;\", `e;``f`", "2:2"}},
		{
			name: "no backslash escapes", text: `SELECT 'a\';SELECT 2`, o: sqltoken.Options{NoBackslashEscapes: true},
			want: []string{`1:SELECT 'a\'`, "1:SELECT 2"},
		},
		{
			name: "second byte of a character", text: "SELECT '\xbf\\';SELECT 2", o: sqltoken.Options{Charset: charset(t, "gbk")},
			want: []string{"1:SELECT '\xbf\\'", "1:SELECT 2"},
		},
		{name: "no closing quote", text: "SELECT 'a;\nb", want: []string{"1:SELECT 'a;\nb"}},
		{name: "comments", text: "SELECT 1 -- a;\n, 2 # b;\n, /* c;\n */ 3;\n4", want: []string{"1:SELECT 1 -- a;\n, 2 # b;\n, /* c;\n */ 3", "5:4"}},
		{name: "minus is no comment", text: "SELECT 1--2;3", want: []string{"1:SELECT 1--2", "1:3"}},
		{name: "comments in front", text: "-- a\n/* b */\n\nSELECT 1;\n# c\n", want: []string{"4:-- a\n/* b */\n\nSELECT 1"}},
		{name: "comment behind", text: "SELECT 1; -- a\nSELECT 2;\t# b\n-- c\nSELECT 3; /* d */\nSELECT 4;--e\n;", want: []string{
			"1:SELECT 1 -- a", "2:SELECT 2\t# b", "4:-- c\nSELECT 3", "5:/* d */\nSELECT 4", "5:--e",
		}},
		{name: "only comments", text: "/* a */;\n-- b\n;", want: []string{"1:/* a */", "2:-- b"}},
		{name: "comment behind nothing", text: "; -- a\nSELECT 1", want: []string{"2:SELECT 1"}},
		{
			name: "executable comments stay whole", text: "/*!50000 SELECT 1; */;/*!50003 a;b */;;SELECT 2",
			o:    sqltoken.Options{Flavor: flavor.MySQL, Oldest: 90704},
			want: []string{"1:/*!50000 SELECT 1; */", "1:/*!50003 a;b */", "1:SELECT 2"},
		},
		{name: "hint", text: "SELECT /*+ a;b */ 1;2", want: []string{"1:SELECT /*+ a;b */ 1", "1:2"}},
		{name: "g and G", text: "SELECT 1\\g SELECT 2 \\G\nSELECT '\\g';", want: []string{"1:SELECT 1", "1:SELECT 2", "2:SELECT '\\g'"}},
		{name: "c", text: "SELECT 1 \\c SELECT 2;", want: []string{"1:SELECT 2"}},
		{name: "windows", text: "SELECT 1;\r\nDELIMITER //\r\nSELECT 2//\r\nDELIMITER ;\r\nuse d\r\nSELECT 3;\r\n", want: []string{
			"1:SELECT 1", "3:SELECT 2", "5:use d", "6:SELECT 3",
		}},
		{name: "delimiter", text: "-- a\nDELIMITER //\nCREATE x; y//\nz ';//' // SELECT 1; //\n  delimiter ;\nSELECT 2;", want: []string{
			"3:CREATE x; y", "4:z ';//'", "4:SELECT 1;", "6:SELECT 2",
		}},
		{name: "delimiter inside words", text: "DELIMITER $$\nSELECT 1$$\nBEGIN x END$$\n$$ a$$b `$$` $$", want: []string{
			"2:SELECT 1", "3:BEGIN x END", "4:a", "4:b `$$`",
		}},
		{
			name: "delimiter and dollar quotes", text: "DELIMITER $$\n$$ SELECT 1 $$ SELECT 2 $$", o: sqltoken.Options{Flavor: flavor.MySQL},
			want: []string{"2:SELECT 1", "2:SELECT 2"},
		},
		{
			name: "dollar quotes", text: "CREATE FUNCTION f() RETURNS INT LANGUAGE JAVASCRIPT AS $$ a; b $$;SELECT 1",
			o:    sqltoken.Options{Flavor: flavor.MySQL},
			want: []string{"1:CREATE FUNCTION f() RETURNS INT LANGUAGE JAVASCRIPT AS $$ a; b $$", "1:SELECT 1"},
		},
		{name: "delimiter of semicolons", text: "DELIMITER ;;\nSELECT 1; SELECT 2 ;;\n;;SELECT 3", want: []string{"2:SELECT 1; SELECT 2", "3:SELECT 3"}},
		{name: "delimiter in quotes", text: "DELIMITER '//' x\nSELECT 1;//2", want: []string{"2:SELECT 1;", "2:2"}},
		{name: "delimiter that is a letter", text: "DELIMITER \"@\"\nSELECT 1@ SELECT @x'a@'@", want: []string{"2:SELECT 1", "2:SELECT", "2:x'a@'"}},
		{name: "delimiter is no command there", text: "SELECT\ndelimiter\n;SELECT 2", want: []string{"1:SELECT\ndelimiter", "3:SELECT 2"}},
		{name: "delimiter behind a backslash", text: "\\d //\nSELECT 1; 2//\n", want: []string{"2:SELECT 1; 2"}},
		{name: "client commands", text: "use d\nsource a.sql\n\\. b.sql\n\\u e\nSELECT 1;\nprompt x;\nSELECT\nexit\n;", want: []string{
			"1:use d", "2!source a.sql", "3!\\. b.sql", "4:use e", "5:SELECT 1", "6:prompt x", "7:SELECT\nexit",
		}},
		{name: "use with a delimiter", text: "USE d; SELECT 1;\nUSE\nd;", want: []string{"1:USE d", "1:SELECT 1", "2:USE\nd"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			if got := split(t, strings.NewReader(c.text), &c.o); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
			if got := split(t, iotest.OneByteReader(strings.NewReader(c.text)), &c.o); !slices.Equal(got, c.want) {
				t.Errorf("byte by byte: got  %q\nwant %q", got, c.want)
			}
		})
	}
}

func charset(t *testing.T, name string) sqltoken.Charset {
	t.Helper()
	c, ok := sqltoken.ParseCharset(name)
	if !ok {
		t.Fatalf("no character set %s", name)
	}
	return c
}

// TestSplit_options: what the caller changes counts from the next statement on.
func TestSplit_options(t *testing.T) {
	t.Parallel()
	text := `SET sql_mode = NO_BACKSLASH_ESCAPES; SELECT '\'; SET sql_mode = ''; SELECT '\';';`
	var o sqltoken.Options
	var got []string
	for p, err := range sqltoken.Split(strings.NewReader(text), &o) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, p.Text)
		if strings.HasPrefix(p.Text, "SET") {
			o.NoBackslashEscapes = strings.Contains(p.Text, "NO_")
		}
	}
	want := []string{"SET sql_mode = NO_BACKSLASH_ESCAPES", `SELECT '\'`, "SET sql_mode = ''", `SELECT '\';'`}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestSplit_errors(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, c := range []struct {
		name string
		r    io.Reader
		want error
		text string
		good int // pieces before the error
	}{
		{"no delimiter", strings.NewReader("SELECT 1;\n\nDELIMITER  \nSELECT 2"), sqltoken.ErrDelimiter, "line 3: DELIMITER", 1},
		{"backslash", strings.NewReader("delimiter \\\\\n"), sqltoken.ErrDelimiter, "line 1: ", 0},
		{"empty quotes", strings.NewReader("-- x\n delimiter ''"), sqltoken.ErrDelimiter, "line 2: ", 0},
		{"reader", io.MultiReader(strings.NewReader("SELECT 1; SELECT 2; SELECT 3"), iotest.ErrReader(broken)), broken, "read statements: ", 2},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			good, last := 0, error(nil)
			for _, err := range sqltoken.Split(c.r, &sqltoken.Options{}) {
				if last != nil {
					t.Fatal("goes on behind an error")
				}
				if last = err; err == nil {
					good++
				}
			}
			if !errors.Is(last, c.want) || !strings.HasPrefix(last.Error(), c.text) || good != c.good {
				t.Errorf("got %d pieces and %v, want %d and %q", good, last, c.good, c.text)
			}
		})
	}
}

// TestSplit_stops: a caller that has seen enough is asked no more.
func TestSplit_stops(t *testing.T) {
	t.Parallel()
	r := io.MultiReader(strings.NewReader("SELECT 1; SELECT 2;       "), iotest.ErrReader(errors.New("read too far")))
	for p, err := range sqltoken.Split(r, &sqltoken.Options{}) {
		if err != nil || p.Text != "SELECT 1" {
			t.Fatal(p, err)
		}
		break
	}
}

// counter counts what is read from it.
type counter struct {
	r        io.Reader
	n, calls int
}

func (c *counter) Read(p []byte) (int, error) {
	n, err := c.r.Read(p)
	c.n += n
	c.calls++
	return n, err
}

// TestSplit_long: a statement of many megabytes is read in steps that grow with
// it, since it is scanned anew after each of them.
func TestSplit_long(t *testing.T) {
	t.Parallel()
	rows := 1 << 20
	if testing.Short() {
		rows = 1 << 16
	}
	long := "INSERT INTO t VALUES " + strings.Repeat("(1, 'a;b'), ", rows) + "(2, '')"
	r := &counter{r: strings.NewReader(long + ";SELECT 1;")}
	pieces := 0
	for p, err := range sqltoken.Split(r, &sqltoken.Options{}) {
		if err != nil || pieces == 0 && p.Text != long {
			t.Fatalf("%d bytes, %v", len(p.Text), err)
		}
		pieces++
	}
	if pieces != 2 || r.calls > 20 {
		t.Errorf("%d pieces, %d reads", pieces, r.calls)
	}
}

// TestSplit_streams: of many statements only some are held at a time.
func TestSplit_streams(t *testing.T) {
	t.Parallel()
	line := "SELECT 'x' FROM t WHERE a = 1;\n"
	r := &counter{r: strings.NewReader(strings.Repeat(line, 100_000))}
	n := 0
	for p, err := range sqltoken.Split(r, &sqltoken.Options{}) {
		n++
		if err != nil || p.Line != n || r.n > (n+1)*len(line)+2*64<<10 {
			t.Fatalf("statement %d: line %d, %d bytes read: %v", n, p.Line, r.n, err)
		}
	}
	if n != 100_000 {
		t.Errorf("%d statements", n)
	}
}

func FuzzSplit(f *testing.F) {
	for _, seed := range []string{
		"SELECT 1; -- a\nSELECT 'b;' \\G", "DELIMITER //\nx//y//\nDELIMITER ;\nuse d\n", "/*! a; */; /* b", "\ufeff\\d $$\n$$ a $$",
		"CREATE PROCEDURE p() BEGIN IF a THEN SELECT CASE b WHEN 1 THEN 2 END; END IF; END; SELECT 1",
	} {
		f.Add(seed, uint8(7))
	}
	f.Fuzz(func(t *testing.T, text string, step uint8) {
		o := &sqltoken.Options{Flavor: flavor.Flavor(step % 3), Oldest: 90704, ANSIQuotes: step&4 != 0}
		all := func(r io.Reader) (pieces []sqltoken.Piece, err error) {
			for p, err := range sqltoken.Split(r, o) {
				if err != nil {
					return pieces, err
				}
				pieces = append(pieces, p)
			}
			return pieces, nil
		}
		whole, err := all(strings.NewReader(text))
		slow, slowErr := all(iotest.OneByteReader(strings.NewReader(text)))
		if !slices.Equal(whole, slow) || (err == nil) != (slowErr == nil) {
			t.Fatalf("at once %v, %v\nbyte by byte %v, %v", whole, err, slow, slowErr)
		}
		line := 1
		for _, p := range whole {
			if p.Text == "" || p.Line < line || p.Line > 1+strings.Count(text, "\n") {
				t.Fatalf("%q is not in line %d", p.Text, p.Line)
			}
			line = p.Line
		}
	})
}

func BenchmarkSplit(b *testing.B) {
	text := strings.Repeat("INSERT INTO orders (id, name) VALUES (1, 'it''s; here'), (2, 'b'); -- x\n", 20_000)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		for _, err := range sqltoken.Split(strings.NewReader(text), &sqltoken.Options{}) {
			if err != nil {
				b.Fatal(err)
			}
		}
	}
}

// TestSplitUndecided has comments that no two readings cover: the statement is
// not understood, and the ones behind it are found all the same.
func TestSplitUndecided(t *testing.T) {
	const text = "CREATE TABLE t (a INT /*!80023 INVISIBLE */, b INT) /*!80016 ENCRYPTION='N' */;\nSELECT 2;\n"
	var pieces []string
	for p, err := range sqltoken.Split(strings.NewReader(text), &sqltoken.Options{Oldest: 50700}) {
		if err != nil {
			t.Fatal(err)
		}
		pieces = append(pieces, p.Text)
	}
	if len(pieces) != 2 || pieces[1] != "SELECT 2" {
		t.Errorf("pieces %q, want the CREATE TABLE and SELECT 2", pieces)
	}
}
