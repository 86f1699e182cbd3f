package optionfile

import (
	"errors"
	"strings"
)

// spaces are the white space of the client: isspace of its latin1 character
// set, which counts the no-break space.
const spaces = " \t\n\v\f\r\xa0"

// lineKind says what a line of an option file is.
type lineKind uint8

const (
	blank       lineKind = iota // nothing, a comment or an unknown directive
	groupHeader                 // text is the group's name
	include                     // text is the path of a file
	includeDir                  // text is the path of a directory
	optionLine                  // text is the name as written
)

// line is what one line says.
type line struct {
	kind  lineKind
	text  string
	value *string // of an optionLine, nil without '='
}

// Errors of a line. They carry no text of the line: it may be a password.
var (
	errOpenGroup = errors.New("group without a closing bracket")
	errNoPath    = errors.New("include directive without a path")
	errNoGroup   = errors.New("option before the first group")
	errNulByte   = errors.New("NUL byte, so this is no option file")
)

// parseLine reads one line without its line end. Comments at the end of a
// line exist in option files only, not in login paths.
func parseLine(s string, comments bool) (line, error) {
	s = trimLeft(s)
	if s == "" || s[0] == '#' || s[0] == ';' {
		return line{}, nil
	}
	switch s[0] {
	case '!':
		return parseDirective(cutComment(s[1:]))
	case '[':
		name, _, closed := strings.Cut(s[1:], "]")
		if !closed {
			return line{}, errOpenGroup
		}
		return line{kind: groupHeader, text: trimRight(name)}, nil
	}
	if comments {
		s = cutComment(s)
	}
	name, value, hasValue := strings.Cut(s, "=")
	l := line{kind: optionLine, text: trimRight(name)}
	if hasValue {
		text := unquote(trimRight(trimLeft(value)))
		l.value = &text
	}
	return l, nil
}

// parseDirective reads what follows the '!'. Clients pass over a directive
// that they do not know.
func parseDirective(s string) (line, error) {
	s = trimLeft(s)
	end := 0
	for end < len(s) && strings.IndexByte(spaces, s[end]) < 0 {
		end++
	}
	path := trimRight(trimLeft(s[end:]))
	var kind lineKind
	switch s[:end] {
	case "include":
		kind = include
	case "includedir":
		kind = includeDir
	default:
		return line{}, nil
	}
	if path == "" {
		return line{}, errNoPath
	}
	return line{kind: kind, text: path}, nil
}

// cutComment cuts off what follows a '#' that is not between quotes. A quote
// anywhere in the line opens one, so the '#' in "a=it's # this" is kept.
// A backslash protects a quote only where a quote is open.
func cutComment(s string) string {
	var quote byte
	escaped := false
	for i := 0; i < len(s); i++ {
		c := s[i]
		switch {
		case (c == '\'' || c == '"') && !escaped:
			if quote == 0 {
				quote = c
			} else if quote == c {
				quote = 0
			}
		case c == '#' && quote == 0:
			return s[:i]
		}
		escaped = quote != 0 && c == '\\' && !escaped
	}
	return s
}

// unquote removes one pair of equal quotes around s and replaces the escapes.
// A backslash before any other letter, and one at the end, stays.
func unquote(s string) string {
	if n := len(s); n > 1 && (s[0] == '"' || s[0] == '\'') && s[0] == s[n-1] {
		s = s[1 : n-1]
	}
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i == len(s)-1 {
			b.WriteByte(s[i])
			continue
		}
		i++
		if c, known := unescape(s[i]); known {
			b.WriteByte(c)
		} else {
			b.WriteByte('\\')
			b.WriteByte(s[i])
		}
	}
	return b.String()
}

// unescape returns the byte that a backslash and c stand for.
func unescape(c byte) (byte, bool) {
	switch c {
	case 'n':
		return '\n', true
	case 't':
		return '\t', true
	case 'r':
		return '\r', true
	case 'b':
		return '\b', true
	case 's':
		return ' ', true
	case '"', '\'', '\\':
		return c, true
	}
	return 0, false
}

// trimLeft and trimRight work on bytes: strings.Trim would take \xa0 for a
// part of a broken rune and cut all such parts.
func trimLeft(s string) string {
	i := 0
	for i < len(s) && strings.IndexByte(spaces, s[i]) >= 0 {
		i++
	}
	return s[i:]
}

func trimRight(s string) string {
	i := len(s)
	for i > 0 && strings.IndexByte(spaces, s[i-1]) >= 0 {
		i--
	}
	return s[:i]
}
