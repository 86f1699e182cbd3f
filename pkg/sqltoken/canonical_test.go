package sqltoken_test

import (
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
)

// A text and its canonical form must mean the same to a server: the canonical
// form has the same tokens, but no comments, no blanks that matter and each
// string and quoted name written in the plainest way. So where a server reads a
// text in another way than the scanner, it answers something else.

// longChar returns the length of the character at i in a client character set.
// It is written apart from the one in the package.
func longChar(charset, s string, i int) int {
	if i+1 >= len(s) {
		return 1
	}
	in := func(b byte, ranges string) bool {
		for r := 0; r+1 < len(ranges); r += 2 {
			if b >= ranges[r] && b <= ranges[r+1] {
				return true
			}
		}
		return false
	}
	two := func(lead, trail string) int {
		if in(s[i], lead) && in(s[i+1], trail) {
			return 2
		}
		return 1
	}
	switch charset {
	case "gbk":
		return two("\x81\xfe", "\x40\x7e\x80\xfe")
	case "big5":
		return two("\xa1\xf9", "\x40\x7e\xa1\xfe")
	case "sjis", "cp932":
		return two("\x81\x9f\xe0\xfc", "\x40\x7e\x80\xfc")
	case "gb18030":
		if n := two("\x81\xfe", "\x40\x7e\x80\xfe"); n == 2 {
			return 2
		}
		if i+3 < len(s) && in(s[i], "\x81\xfe") && in(s[i+1], "09") && in(s[i+2], "\x81\xfe") && in(s[i+3], "09") {
			return 4
		}
	}
	return 1
}

// content returns what stands between the quotes of a string or quoted name
// that is complete.
func content(quoted, charset string, escapes bool) string {
	q, body := quoted[0], quoted[1:len(quoted)-1]
	var b strings.Builder
	for i := 0; i < len(body); i++ {
		switch c := body[i]; {
		case c == q:
			i++
			b.WriteByte(q)
		case c == '\\' && escapes:
			i++
			b.WriteString(escaped(body[i]))
		default:
			n := longChar(charset, body, i)
			b.WriteString(body[i : i+n])
			i += n - 1
		}
	}
	return b.String()
}

// escaped is what a backslash and that byte stand for.
func escaped(c byte) string {
	switch c {
	case '0':
		return "\x00"
	case 'b':
		return "\b"
	case 'n':
		return "\n"
	case 'r':
		return "\r"
	case 't':
		return "\t"
	case 'Z':
		return "\x1a"
	case '%', '_':
		return "\\" + string([]byte{c})
	}
	return string([]byte{c})
}

// quote writes a content so that it is read back in that character set and
// mode. A backslash keeps a byte from being taken for half a character.
func quote(content string, q byte, charset string, escapes bool) string {
	var b strings.Builder
	b.WriteByte(q)
	for i := 0; i < len(content); i++ {
		c := content[i]
		switch {
		case c == q:
			b.WriteByte(c)
			b.WriteByte(c)
		case c == '\\' && escapes && (i+1 >= len(content) || content[i+1] != '%' && content[i+1] != '_'):
			b.WriteString(`\\`)
		case c == '\\' && escapes: // \% stands for itself
			b.WriteString(content[i : i+2])
			i++
		case c >= 0x80 && escapes:
			b.WriteByte('\\')
			b.WriteByte(c)
		default:
			n := longChar(charset, content, i)
			b.WriteString(content[i : i+n])
			i += n - 1
		}
	}
	b.WriteByte(q)
	return b.String()
}

// canonical writes the tokens of a text in the plainest way. It returns false if
// one of them is nothing that a server reads.
func canonical(text, charset string, o *sqltoken.Options) (string, bool) {
	var b strings.Builder
	var prev sqltoken.Token
	s, gap := sqltoken.New(text, o), false
	for t := s.Next(); t.Kind != sqltoken.EOF; t = s.Next() {
		gap = gap || t.Space != t.Start
		switch t.Kind {
		case sqltoken.Comment, sqltoken.Hint, sqltoken.ExecOpen, sqltoken.ExecClose:
			gap = true
			continue
		case sqltoken.Unterminated, sqltoken.Invalid:
			return "", false
		}
		if b.Len() > 0 && (gap || apart(text, prev, t)) {
			b.WriteByte(' ')
		}
		b.WriteString(plain(text[t.Start:t.End], charset, t.Kind, o))
		prev, gap = t, false
	}
	return b.String(), true
}

func plain(piece, charset string, kind sqltoken.Kind, o *sqltoken.Options) string {
	q := strings.IndexAny(piece, "'\"`")
	if q > 1 || q < 0 {
		return piece
	}
	prefix, quoted := piece[:q], piece[q:]
	name := quoted[0] == '`' || quoted[0] == '"' && o.ANSIQuotes
	escapes := !name && !o.NoBackslashEscapes
	switch {
	case kind == sqltoken.Word, kind == sqltoken.Op, prefix != "" && strings.Contains("xXbB", prefix):
		return piece
	case kind == sqltoken.Name, kind == sqltoken.UserVar && name:
		q, name := byte('`'), content(quoted, charset, false)
		if strings.IndexFunc(name, func(r rune) bool { return r >= 0x80 }) >= 0 {
			q = quoted[0] // a half character could take a back-quote for its second byte
		}
		return prefix + quote(name, q, charset, false)
	case prefix == "N" || prefix == "n":
		return prefix + quote(content(quoted, charset, escapes), '\'', charset, escapes)
	case kind == sqltoken.UserVar && escapes:
		return prefix + quote(content(quoted, charset, true), '\'', charset, true)
	case quoted[0] == '\'' || !escapes && strings.Contains(quoted, "'"):
		return prefix + quote(content(quoted, charset, escapes), quoted[0], charset, escapes)
	}
	return prefix + quote(content(quoted, charset, escapes), '\'', charset, escapes)
}

// apart says whether a blank may, and should, stand between two tokens that
// touch each other.
func apart(text string, a, b sqltoken.Token) bool {
	first, second := text[a.Start], text[b.Start]
	switch {
	case a.Kind == sqltoken.SysVar, a.Kind == sqltoken.Op && first == '.', b.Kind == sqltoken.Op && second == '.':
		return false // a dot and a blank make a number or a keyword of what follows
	case b.Kind == sqltoken.Op && second == '(': // a call
		return false
	case a.Kind == sqltoken.Op && b.Kind == sqltoken.Op:
		return first == '-' && second == '-' // else it may be one of two bytes
	}
	return true
}

func TestCanonical(t *testing.T) {
	for _, test := range []struct{ text, charset, mode, want string }{
		{"SELECT/**/a/*!50000+*/-- x\n1", "utf8mb4", "", "SELECT a + 1"},
		{`SELECT"a\"b"'c''d',N"x"`, "utf8mb4", "", `SELECT 'a"b' 'c''d' , N 'x'`},
		{`SELECT "a""'b\"`, "utf8mb4", "NO_BACKSLASH_ESCAPES", `SELECT "a""'b\"`},
		{"SELECT \"a`b\",`c``d`", "utf8mb4", "ANSI_QUOTES", "SELECT `a``b` , `c``d`"},
		{"SELECT t.1a,1.5FROM t .x,f(1),@'a'-@@x.y", "utf8mb4", "", "SELECT t.1a , 1.5 FROM t .x , f( 1 ), @'a' - @@x.y"},
		{"SELECT 5--1<=>2", "utf8mb4", "", "SELECT 5 - - 1 <=> 2"},
		{"SELECT '\xbf\\','\\\xbf\\''", "gbk", "", "SELECT '\\\xbf\\\\' , '\\\xbf'''"},
	} {
		if got, ok := canonical(test.text, test.charset, serverOptions(1, test.charset, test.mode)); got != test.want || !ok {
			t.Errorf("canonical(%q) = %q, want %q", test.text, got, test.want)
		}
	}
}
