package sqltoken_test

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
)

// lexingFile holds texts, what real servers answered to them, and their tokens:
//
//	== heading; what follows "*" holds up to the next one
//	* charset=gbk mode=ANSI_QUOTES mysql raw
//	> SELECT 1 /*!50701 +1*/
//	mysql	2	w:SELECT · 1:1 · {:/*!50701 · o:+ · 1:1 · }:*/
//	mariadb	1	w:SELECT · 1:1 · c:/*!50701 +1*/
//
// A line "both" stands for two equal ones. "mysql" in a line with * limits the
// cases to that flavor; "raw" keeps them from being put to the server a second
// time as canonical writes them. <bf> is a byte, also in answers and tokens.
// TestServerLexing compares the answers with servers, and writes the file anew
// with -sqltoken.update.
const lexingFile = "testdata/lexing.txt"

// kindLetters are the kinds in lexingFile, in the order of the constants.
const kindLetters = ".wns1@v:o;ch{}u!"

type lexingCase struct {
	heading   string
	line      int
	text      string
	charset   string
	mode      string
	only      flavor.Flavor
	raw       bool
	answers   map[flavor.Flavor]string
	wantToken map[flavor.Flavor]string
}

// version is the one of the servers that lexingFile was made with.
func version(f flavor.Flavor) int {
	if f == flavor.MariaDB {
		return 101119
	}
	return 90704
}

func (c *lexingCase) options(f flavor.Flavor) *sqltoken.Options {
	return serverOptions(f, c.charset, c.mode)
}

func serverOptions(f flavor.Flavor, charset, mode string) *sqltoken.Options {
	set, ok := sqltoken.ParseCharset(charset)
	if !ok {
		panic("no character set: " + charset)
	}
	return &sqltoken.Options{
		Flavor: f, Oldest: version(f), Newest: version(f), Charset: set,
		ANSIQuotes:         strings.Contains(mode, "ANSI_QUOTES"),
		NoBackslashEscapes: strings.Contains(mode, "NO_BACKSLASH_ESCAPES"),
	}
}

func (c *lexingCase) flavors() []flavor.Flavor {
	if c.only != flavor.Unknown {
		return []flavor.Flavor{c.only}
	}
	return []flavor.Flavor{flavor.MySQL, flavor.MariaDB}
}

// readLexing reads lexingFile.
func readLexing(t testing.TB) []*lexingCase {
	t.Helper()
	content, err := os.ReadFile(lexingFile)
	if err != nil {
		t.Fatal(err)
	}
	var cases []*lexingCase
	scope := lexingCase{charset: "utf8mb4"}
	for i, line := range strings.Split(string(content), "\n") {
		mark, rest, _ := strings.Cut(line, " ")
		switch {
		case mark == "==":
			scope = lexingCase{heading: rest, charset: "utf8mb4"}
		case mark == "*":
			scope.directives(rest)
		case mark == ">":
			c := scope
			c.line, c.text = i+1, unescape(rest)
			c.answers, c.wantToken = map[flavor.Flavor]string{}, map[flavor.Flavor]string{}
			cases = append(cases, &c)
		case line != "" && mark != "#":
			c, fields := cases[len(cases)-1], strings.SplitN(line, "\t", 3)
			if len(fields) != 3 {
				t.Fatalf("%s:%d: not three fields", lexingFile, i+1)
			}
			for _, f := range c.flavors() {
				if fields[0] == "both" || fields[0] == strings.ToLower(f.String()) {
					c.answers[f], c.wantToken[f] = fields[1], fields[2]
				}
			}
		}
	}
	return cases
}

func (c *lexingCase) directives(line string) {
	for _, word := range strings.Fields(line) {
		switch name, value, _ := strings.Cut(word, "="); name {
		case "charset":
			c.charset = value
		case "mode":
			c.mode = value
		case "mysql":
			c.only = flavor.MySQL
		case "mariadb":
			c.only = flavor.MariaDB
		case "raw":
			c.raw = true
		}
	}
}

// escape writes the bytes that are no printable ASCII as <bf>.
func escape(text string) string {
	var b strings.Builder
	for _, c := range []byte(text) {
		if c < ' ' || c > '~' {
			fmt.Fprintf(&b, "<%02x>", c)
		} else {
			b.WriteByte(c)
		}
	}
	return b.String()
}

func unescape(text string) string {
	var b strings.Builder
	for i := 0; i < len(text); i++ {
		if text[i] == '<' && i+3 < len(text) && text[i+3] == '>' {
			if n, err := strconv.ParseUint(text[i+1:i+3], 16, 8); err == nil {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(text[i])
	}
	return b.String()
}

// scanAll returns all tokens but the last, which is EOF, and fails if they do
// not cover the text.
func scanAll(t testing.TB, text string, o *sqltoken.Options) []sqltoken.Token {
	t.Helper()
	tokens, err := tokensOf(text, o)
	if err != "" {
		t.Fatalf("%q with %+v: %s", text, *o, err)
	}
	return tokens
}

// tokensOf is scanAll that returns what is wrong.
func tokensOf(text string, o *sqltoken.Options) ([]sqltoken.Token, string) {
	var tokens []sqltoken.Token
	s := sqltoken.New(text, o)
	end, exec := 0, false
	for {
		t := s.Next()
		open := t.Kind == sqltoken.ExecOpen
		switch {
		case t.Space != end:
			return tokens, fmt.Sprintf("a gap at %d: %+v", end, t)
		case t.Start < t.Space || t.End < t.Start || t.End > len(text):
			return tokens, fmt.Sprintf("a token out of order: %+v", t)
		case t.Kind != sqltoken.EOF && t.Kind != sqltoken.Unterminated && t.End == t.Start:
			return tokens, fmt.Sprintf("no progress at %d: %+v", end, t)
		case t.Exec != exec:
			return tokens, fmt.Sprintf("inside an executable comment: %t, want %t: %+v", t.Exec, exec, t)
		case t.Kind == sqltoken.ExecClose && !exec:
			return tokens, fmt.Sprintf("a comment is closed that was not opened: %+v", t)
		case !blank(text[t.Space:t.Start]):
			return tokens, fmt.Sprintf("%q is no white space: %+v", text[t.Space:t.Start], t)
		case !shaped(text[t.Start:t.End], t.Kind):
			return tokens, fmt.Sprintf("%q cannot be a %v", text[t.Start:t.End], t.Kind)
		case len(tokens) > len(text)+1:
			return tokens, "more tokens than bytes"
		}
		if t.Kind == sqltoken.EOF {
			if t.End != len(text) || s.Next() != (sqltoken.Token{Space: t.End, Start: t.End, End: t.End}) {
				return tokens, fmt.Sprintf("EOF %+v is not the end for ever", t)
			}
			return tokens, ""
		}
		exec = open || exec && t.Kind != sqltoken.ExecClose && t.End != t.Start
		end = t.End
		tokens = append(tokens, t)
	}
}

// blank says whether all bytes are white space in some character set.
func blank(text string) bool {
	for i := range len(text) {
		if strings.IndexByte(" \t\n\v\f\r\xa0\xff", text[i]) < 0 {
			return false
		}
	}
	return true
}

// shaped says whether a piece of text looks like a token of that kind: that
// keeps one from swallowing what follows it.
func shaped(piece string, kind sqltoken.Kind) bool {
	const quotes, marks = "'\"`", "()[]{},;=<>+-*/%!&|^~?:#"
	end, spaced := len(piece)-1, strings.ContainsAny(piece, " \t\n\v\f\r")
	switch kind {
	case sqltoken.Word: // behind a byte over 0x7F anything may be part of a character
		high := strings.IndexFunc(piece, func(r rune) bool { return r >= 0x80 })
		ascii := piece
		if high >= 0 {
			ascii = piece[:high]
		}
		return !spaced && !strings.ContainsAny(piece, "(),;'\"=<>+-*/#") && (piece == `\N` || !strings.ContainsAny(ascii, quotes+marks+`.@\`))
	case sqltoken.Name, sqltoken.String:
		return end > 0 && (strings.Contains(quotes, piece[end:]) || piece[end] == '$')
	case sqltoken.Number:
		return strings.Trim(piece, "0123456789abcdefABCDEFx.+-") == ""
	case sqltoken.UserVar:
		return end > 0 && piece[0] == '@' && (strings.Contains(quotes, piece[1:2]) && piece[1] == piece[end] ||
			!spaced && !strings.ContainsAny(piece[1:], quotes+marks+`@\`))
	case sqltoken.SysVar:
		return piece == "@@"
	case sqltoken.Assign:
		return piece == ":="
	case sqltoken.Semicolon:
		return piece == ";"
	case sqltoken.Op:
		return end == 0 && strings.Contains(marks+".@", piece)
	case sqltoken.ExecOpen:
		return strings.HasPrefix(piece, "/*") && strings.Trim(piece[2:], "M!0123456789") == "" && end < len("/*M!100000")
	case sqltoken.ExecClose:
		return piece == "*/"
	case sqltoken.Comment, sqltoken.Hint:
		return strings.HasPrefix(piece, "#") || strings.HasPrefix(piece, "--") || strings.HasPrefix(piece, "/*") && strings.HasSuffix(piece, "*/")
	}
	return true
}

func showTokens(text string, tokens []sqltoken.Token) string {
	var b strings.Builder
	for i, t := range tokens {
		if i > 0 {
			b.WriteString(" · ")
		}
		b.WriteByte(kindLetters[t.Kind])
		b.WriteByte(':')
		b.WriteString(escape(text[t.Start:t.End]))
	}
	return b.String()
}

// TestTokens compares every text of lexingFile with the tokens that stand
// there.
func TestTokens(t *testing.T) {
	for _, c := range readLexing(t) {
		for _, f := range c.flavors() {
			want, ok := c.wantToken[f]
			if !ok {
				t.Errorf("%s:%d: no tokens for %v", lexingFile, c.line, f)
				continue
			}
			if got := showTokens(c.text, scanAll(t, c.text, c.options(f))); got != want {
				t.Errorf("%s:%d (%s): %v\n text %s\n got  %s\n want %s", lexingFile, c.line, c.heading, f, escape(c.text), got, want)
			}
		}
	}
}

// TestUndecided reads executable comments for servers that are not known, or of
// which there are several versions.
func TestUndecided(t *testing.T) {
	unknown := sqltoken.Options{}
	mysql := sqltoken.Options{Flavor: flavor.MySQL, Oldest: 80000, Newest: 90704}
	mariadb := sqltoken.Options{Flavor: flavor.MariaDB, Oldest: 100500, Newest: 101119}
	open := sqltoken.Options{Flavor: flavor.MySQL, Oldest: 80000}
	for _, test := range []struct {
		o         sqltoken.Options
		text      string
		undecided bool
		code      string // tokens with SkipUndecided off
		skipped   string // with it on, if they are others
	}{
		{unknown, "/*! 1 */", false, "{:/*! · 1:1 · }:*/", ""},
		{unknown, "/*!00000 1 */", false, "{:/*!00000 · 1:1 · }:*/", ""},
		{unknown, "/*!1 */", false, "{:/*! · 1:1 · }:*/", ""},
		{unknown, "/*!50000 1 */", true, "{:/*!50000 · 1:1 · }:*/", "c:/*!50000 1 */"},
		{unknown, "/*!50701 1 */", true, "{:/*!50701 · 1:1 · }:*/", "c:/*!50701 1 */"},
		{unknown, "/*!100100 1 */", true, "{:/*!100100 · 1:1 · }:*/", "c:/*!100100 1 */"},
		{unknown, "/*!999999 1 */", true, "{:/*!999999 · 1:1 · }:*/", "c:/*!999999 1 */"},
		{unknown, "/*M! 1 */", true, "{:/*M! · 1:1 · }:*/", "c:/*M! 1 */"},
		{unknown, "/*M!100100 1 */", true, "{:/*M!100100 · 1:1 · }:*/", "c:/*M!100100 1 */"},
		// A sixth digit is code for MySQL, unless a blank follows.
		{unknown, "/*!100100INTO */", false, "!:/*!100100 · w:INTO · o:* · o:/", ""},
		{unknown, "/*!500001*/", false, "!:/*!500001 · o:* · o:/", ""},
		// MySQL ends at the first */ what MariaDB nests.
		{unknown, "/*M!999999 ' /* */ 1 -- */ /* '*/", false, "!:/*M!999999 · s:' /* */ 1 -- */ /* ' · o:* · o:/", ""},
		{unknown, "/*M! 1 */ /* */", true, "{:/*M! · 1:1 · }:*/ · c:/* */", "c:/*M! 1 */ · c:/* */"},
		{unknown, `\N $a$ $a$`, false, `w:\N · w:$a$ · w:$a$`, ""},
		{mysql, "/*!80000 1 */", false, "{:/*!80000 · 1:1 · }:*/", ""},
		{mysql, "/*!80001 1 */", true, "{:/*!80001 · 1:1 · }:*/", "c:/*!80001 1 */"},
		{mysql, "/*!90704 1 */", true, "{:/*!90704 · 1:1 · }:*/", "c:/*!90704 1 */"},
		{mysql, "/*!90705 1 */", false, "c:/*!90705 1 */", ""},
		{mysql, "/*M!90704 1 */", false, "c:/*M!90704 1 */", ""},
		{
			mysql, "/*!80001 1 */ /*!80001 2 */", true,
			"{:/*!80001 · 1:1 · }:*/ · {:/*!80001 · 1:2 · }:*/", "c:/*!80001 1 */ · c:/*!80001 2 */",
		},
		{open, "/*!999999 1 */", true, "{:/*!999999 · 1:1 · }:*/", "c:/*!999999 1 */"},
		{open, "/*!9999991*/", true, "{:/*!99999 · 1:91 · }:*/", "c:/*!9999991*/"},
		{mariadb, "/*!100500 1 */", false, "{:/*!100500 · 1:1 · }:*/", ""},
		{mariadb, "/*!100501 1 */", true, "{:/*!100501 · 1:1 · }:*/", "c:/*!100501 1 */"},
		{mariadb, "/*!101120 1 */", false, "c:/*!101120 1 */", ""},
		{mariadb, "/*!50700 1 */", false, "c:/*!50700 1 */", ""},
		{mariadb, "/*M!50700 1 */", false, "{:/*M!50700 · 1:1 · }:*/", ""},
	} {
		for _, skip := range []bool{false, true} {
			o, want := test.o, test.code
			if o.SkipUndecided = skip; skip && test.skipped != "" {
				want = test.skipped
			}
			got := showTokens(test.text, scanAll(t, test.text, &o))
			s := sqltoken.New(test.text, &o)
			for s.Next().Kind != sqltoken.EOF {
			}
			if got != want || s.Undecided() != test.undecided {
				t.Errorf("%v %d-%d, skip %t: %s\n got  %s, undecided %t\n want %s, undecided %t",
					o.Flavor, o.Oldest, o.Newest, skip, test.text, got, s.Undecided(), want, test.undecided)
			}
		}
	}
}

// TestUndecidedTwice has comments for two versions: a server in between runs one
// and skips the other, which no two ways to scan tell.
func TestUndecidedTwice(t *testing.T) {
	for _, test := range []struct {
		flavor flavor.Flavor
		text   string
	}{
		{flavor.Unknown, "/*!50000 1 */ /*!50001 1 */"},
		{flavor.Unknown, "/*!50000 1 */ /*M!50000 1 */"},
		{flavor.Unknown, "/*M! 1 */ /*M!100100 1 */"},
		{flavor.MySQL, "/*!80001 1 */ /*!80002 1 */"},
		{flavor.MariaDB, "/*!100100 1 */ /*!100101 1 */"},
		{flavor.MariaDB, "/*!100100 1 */ /*M!100101 1 */"},
	} {
		o := &sqltoken.Options{Flavor: test.flavor, Oldest: 50000}
		if test.flavor == flavor.Unknown {
			o.Oldest = 0
		}
		tokens := scanAll(t, test.text, o)
		invalid := false
		for _, token := range tokens {
			invalid = invalid || token.Kind == sqltoken.Invalid
		}
		if !invalid {
			t.Errorf("%v: %s is taken for understood: %s", test.flavor, test.text, showTokens(test.text, tokens))
		}
	}
}
