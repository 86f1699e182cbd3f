package suites

import (
	"bytes"
	"slices"
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// command is what mysqltest reads at once: one of its own commands, or a
// statement for the server.
type command struct {
	text    string // without the delimiter
	line    int    // where it begins, from 1
	oneLine bool   // written as "--command", which ends with the line
}

// reader cuts a file of a suite into commands as mysqltest does. It knows
// quotes and the delimiter. Comments of its own begin where a command could;
// comments of SQL's are part of the text, and quotes in them count, except
// that MySQL's program knows block comments. MariaDB's knows that a backslash
// is none in a quoted name. Both were found by reading the suites' results.
type reader struct {
	text      []byte
	pos, line int
	delimiter string
	flavor    flavor.Flavor
	mode      Mode   // of the current connection
	charset   string // bytes of a character that look like a quote are none
}

func newReader(text []byte, f flavor.Flavor) *reader {
	return &reader{text: text, line: 1, delimiter: ";", flavor: f}
}

// next returns the next command. Comments and empty ones are skipped. At the
// end of the text, what has no delimiter is a command too.
func (r *reader) next() (command, bool) {
	for {
		r.skipSpace()
		if r.pos >= len(r.text) {
			return command{}, false
		}
		start := command{line: r.line}
		switch c := r.text[r.pos]; {
		case c == '#':
			r.restOfLine()
		case c == '-':
			text, isCommand := strings.CutPrefix(r.restOfLine(), "--")
			if start.text = strings.TrimSpace(text); isCommand && start.text != "" {
				start.oneLine = true
				return start, true
			}
		case c == '{' || c == '}':
			r.pos++
			start.text = string(c)
			return start, true
		default:
			start.text = r.untilDelimiter()
			if start.text != "" {
				return start, true
			}
		}
	}
}

func (r *reader) skipSpace() {
	for r.pos < len(r.text) && isSpace(r.text[r.pos]) {
		r.step(1)
	}
}

// step moves on by n bytes and counts lines.
func (r *reader) step(n int) {
	end := min(r.pos+n, len(r.text))
	r.line += bytes.Count(r.text[r.pos:end], []byte("\n"))
	r.pos = end
}

// restOfLine returns the text up to the end of the line, which is skipped.
func (r *reader) restOfLine() string {
	line, _, _ := bytes.Cut(r.text[r.pos:], []byte("\n"))
	r.step(len(line) + 1)
	return strings.TrimSuffix(string(line), "\r")
}

// untilDelimiter reads to the delimiter outside quotes and skips it. The
// conditions of if and while end with a brace, which stays.
func (r *reader) untilDelimiter() string {
	start, quote := r.pos, byte(0)
	block := r.hasWord("if") || r.hasWord("while")
	knowing := r.flavor == flavor.MySQL && !r.hasWord("delimiter")
	escaped := false // the last character was a backslash
	for r.pos < len(r.text) {
		c := r.text[r.pos]
		switch {
		case quote == 0 && bytes.HasPrefix(r.text[r.pos:], []byte(r.delimiter)):
			text := string(r.text[start:r.pos])
			r.step(len(r.delimiter))
			return text
		case quote == 0 && c == '{' && block:
			return string(r.text[start:r.pos])
		case quote == 0 && (c == '\'' || c == '"' || c == '`') && !escaped:
			quote = c
		case quote != 0 && c == quote && !escaped:
			quote = 0
		}
		if n := max(r.dollarQuoted(), r.blockComment()); n > 0 && knowing && quote == 0 {
			r.step(n)
			continue
		}
		escaped = c == '\\' && !escaped && r.escapes(quote)
		r.step(characterLength(r.charset, r.text[r.pos:]))
	}
	return string(r.text[start:])
}

// escapes says whether a backslash within the quotes escapes what follows.
func (r *reader) escapes(quote byte) bool {
	if r.flavor == flavor.MySQL {
		return true
	}
	return quote != '`' && r.mode&NoBackslashEscapes == 0 && (quote != '"' || r.mode&ANSIQuotes == 0)
}

// blockComment returns the length of a comment that begins here, else 0.
func (r *reader) blockComment() int {
	rest := r.text[r.pos:]
	if !bytes.HasPrefix(rest, []byte("/*")) || bytes.HasPrefix(rest, []byte("/*!")) {
		return 0
	}
	end := bytes.Index(rest[2:], []byte("*/"))
	if end < 0 {
		return 0
	}
	return end + 4
}

// dollarQuoted returns the length of a text such as $tag$...$tag$ that begins
// here, else 0. Programs in other languages are quoted so (MySQL 9).
func (r *reader) dollarQuoted() int {
	if r.text[r.pos] != '$' || r.pos == 0 || !isSpace(r.text[r.pos-1]) {
		return 0
	}
	rest := string(r.text[r.pos:min(len(r.text), r.pos+maxDollarQuoted)])
	n := 2 + nameLength(rest[1:])
	if n > len(rest) || rest[n-1] != '$' {
		return 0
	}
	end := strings.Index(rest[n:], rest[:n])
	if end < 0 {
		return 0
	}
	return n + end + n
}

// maxDollarQuoted is longer than any that a suite has.
const maxDollarQuoted = 100_000

func (r *reader) hasWord(word string) bool {
	rest := r.text[r.pos:]
	return len(rest) > len(word) && strings.EqualFold(string(rest[:len(word)]), word) &&
		(isSpace(rest[len(word)]) || rest[len(word)] == '(')
}

// skipLines moves behind the line that begins with the delimiter of an
// embedded text, from the line after the command that introduces it.
func (r *reader) skipLines(delimiter string, c command) {
	if !c.oneLine {
		r.restOfLine()
	}
	for r.pos < len(r.text) {
		if strings.HasPrefix(r.restOfLine(), delimiter) {
			return
		}
	}
}

// characterLength returns how many bytes the first character of the text has.
// Only character sets count whose later bytes may be ASCII; for all others
// single bytes do as well.
func characterLength(charset string, text []byte) int {
	if len(text) < 2 {
		return 1
	}
	first, second := text[0], text[1]
	lead, trail := false, false
	switch charset {
	case "sjis", "cp932":
		lead = first >= 0x81 && first <= 0x9f || first >= 0xe0 && first <= 0xfc
		trail = second >= 0x40 && second <= 0xfc && second != 0x7f
	case "gbk":
		lead = first >= 0x81 && first <= 0xfe
		trail = second >= 0x40 && second <= 0xfe && second != 0x7f
	case "big5":
		lead = first >= 0xa1 && first <= 0xf9
		trail = second >= 0x40 && second <= 0x7e || second >= 0xa1 && second <= 0xfe
	case "gb18030":
		lead = first >= 0x81 && first <= 0xfe
		trail = second >= 0x40 && second <= 0xfe && second != 0x7f
		if lead && second >= '0' && second <= '9' && len(text) >= 4 {
			return 4
		}
	}
	if lead && trail {
		return 2
	}
	return 1
}

// needsCare tells of the character sets that characterLength knows.
func needsCare(charset string) bool {
	return slices.Contains([]string{"sjis", "cp932", "gbk", "big5", "gb18030"}, charset)
}

func isSpace(c byte) bool { return c == ' ' || c >= '\t' && c <= '\r' }
