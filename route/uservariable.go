package route

import (
	"encoding/hex"
	"strings"
	"unicode/utf8"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
)

// UserVariables returns the user variables that a text sets to literals, if it is one SET and every
// user variable in it is set so; system variables may stand among them. The names are in lower case
// and without their @, and need no quotes. The literals mean the same on every connection, whatever its character set
// and sql_mode are: numbers, TRUE, FALSE, NULL, X'41' and b'1' as they stand, and strings in
// hexadecimal with the character set and collation that they have in the session.
//
// Charset and collation are the session's character_set_client and collation_connection in front of
// the statement. Without ok, what the text assigns is known to its connection only: there is an
// expression, or a string or name whose meaning on another connection is not certain, or the text is
// no such SET.
func UserVariables(text string, o *Options, charset, collation string) (names, literals []string, ok bool) {
	all := walk(text, o)
	if len(all) != 1 || !all[0].word(0, "set") || all[0].word(1, "statement") {
		return nil, nil, false
	}
	w := all[0]
	for _, t := range w.tokens {
		if t.Exec || t.Kind == sqltoken.Unterminated || t.Kind == sqltoken.Invalid {
			return nil, nil, false
		}
	}
	l := literalReader{o: o, client: charset, collation: collation}
	for i := 1; i < len(w.tokens); {
		end := w.comma(i)
		if w.kind(i) == sqltoken.UserVar {
			name, literal, ok := l.assignment(w, i, end)
			if !ok {
				return nil, nil, false
			}
			names, literals = append(names, name), append(literals, literal)
		} else if w.assignsIn(i, end) {
			return nil, nil, false
		}
		i = end + 1
	}
	return names, literals, len(names) > 0
}

// comma returns the index of the next comma outside of parentheses, or the number of tokens.
func (w *walker) comma(i int) int {
	for depth := 0; i < len(w.tokens); i++ {
		switch w.piece(i) {
		case "(":
			depth++
		case ")":
			depth--
		case ",":
			if depth == 0 {
				return i
			}
		}
	}
	return i
}

// assignsIn tells whether an expression gives a user variable a value: by @x := or in a query.
func (w *walker) assignsIn(i, end int) bool {
	for ; i < end; i++ {
		if w.kind(i) == sqltoken.UserVar && w.kind(i+1) == sqltoken.Assign || w.word(i, "select") {
			return true
		}
	}
	return false
}

// literalReader reads the literals of one session.
type literalReader struct {
	o                 *Options
	client, collation string
}

// assignment reads @name = literal, which are the tokens from i to end.
func (l *literalReader) assignment(w *walker, i, end int) (name, literal string, ok bool) {
	name = strings.ToLower(unquote(w.piece(i)[1:]))
	if !portableName(name) || w.kind(i+1) != sqltoken.Assign && w.piece(i+1) != "=" {
		return "", "", false
	}
	i += 2
	sign := ""
	if w.piece(i) == "-" || w.piece(i) == "+" {
		sign = w.piece(i)
		i++
	}
	if i+1 != end {
		return "", "", false
	}
	piece := w.piece(i)
	switch kind := w.kind(i); {
	case kind == sqltoken.Number:
		return name, sign + piece, true
	case sign != "":
	case kind == sqltoken.Word && oneOf(piece, "null true false"):
		return name, strings.ToUpper(piece), true
	case kind == sqltoken.String && strings.IndexByte("xXbB", piece[0]) >= 0:
		return name, piece, true
	case kind == sqltoken.String:
		literal, ok = l.text(piece)
		return name, literal, ok
	}
	return "", "", false
}

// portableName tells whether the name has the same bytes in every character set that a client can
// have, and needs no quotes, which are letters in swe7.
func portableName(name string) bool {
	for i := range len(name) {
		c := name[i]
		if (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '_' && c != '$' && c != '.' {
			return false
		}
	}
	return name != "" && len(name) <= 64
}

// text returns a quoted string in hexadecimal.
func (l *literalReader) text(piece string) (literal string, ok bool) {
	if piece[0] != '\'' && piece[0] != '"' { // N'x'
		return "", false
	}
	value := unquote(piece)
	ascii := true
	for i := range len(value) {
		ascii = ascii && value[i] < utf8.RuneSelf
	}
	charset := charsetName(l.client)
	if !ascii && !exact(charset, value) {
		return "", false
	}
	if !l.o.NoBackslashEscapes {
		value = unescape(value)
	}
	if value == "" && l.o.Flavor != flavor.MySQL {
		return "", false // sql_mode EMPTY_STRING_IS_NULL may make it NULL
	}
	literal = "_" + charset + " X'" + hex.EncodeToString([]byte(value)) + "'"
	own, _, _ := strings.Cut(l.collation, "_")
	if charsetName(own) != charset {
		literal = "CONVERT(" + literal + " USING " + own + ")"
	}
	if own == "binary" {
		return literal, true // its only collation, whose name MariaDB does not read behind COLLATE
	}
	return literal + " COLLATE " + l.collation, true
}

// charsetName returns the name that both servers take for an alias.
func charsetName(name string) string {
	if name = strings.ToLower(name); name == "utf8" {
		return "utf8mb3"
	}
	return name
}

// exact tells whether bytes over 0x7F of this character set stand for themselves, and are valid. Of
// the others, some have characters with a backslash as their second byte.
func exact(charset, value string) bool {
	switch charset {
	case "utf8mb4":
		return utf8.ValidString(value)
	case "utf8mb3":
		for _, r := range value {
			if r == utf8.RuneError || r > 0xffff {
				return false
			}
		}
		return true
	case "latin1", "binary":
		return true
	}
	return false
}

// unescape reads the backslashes of a string.
func unescape(s string) string {
	if strings.IndexByte(s, '\\') < 0 {
		return s
	}
	b := make([]byte, 0, len(s))
	for i := 0; i < len(s); i++ {
		if s[i] != '\\' || i+1 == len(s) {
			b = append(b, s[i])
			continue
		}
		i++
		switch c := s[i]; c {
		case '0':
			b = append(b, 0)
		case 'b':
			b = append(b, '\b')
		case 'n':
			b = append(b, '\n')
		case 'r':
			b = append(b, '\r')
		case 't':
			b = append(b, '\t')
		case 'Z':
			b = append(b, 0x1a)
		case '%', '_': // for LIKE
			b = append(b, '\\', c)
		default:
			b = append(b, c)
		}
	}
	return string(b)
}
