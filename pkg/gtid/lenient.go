package gtid

import (
	"bytes"
	"strings"
)

// ParseLenient reads a GTID set from text as people paste it:
//
//   - the GTID_PURGED statement of a dump, or any assignment to a variable named for GTIDs, with
//     quotes, comments and a leading plus, and with other statements beside it;
//   - vertical client output, such as that of SHOW REPLICA STATUS\G. Of several values it takes
//     those called Executed_Gtid_Set or gtid_executed, else those called gtid_purged; one alone
//     may have any name;
//   - a set in quotes, with a leading plus, with a semicolon behind it, or with line breaks
//     written as \n.
//
// What Parse accepts is read as Parse does. Where two values could be meant it refuses to guess.
// The error is a *ParseError whose offset counts from the start of the text that was given.
func ParseLenient(s string) (Set, error) {
	if set, err := Parse(s); err == nil {
		return set, nil
	}
	l := lenient{text: s, clean: []byte(s)}
	l.remarks()
	fields := l.labelled()
	if len(fields) == 1 {
		fields = l.statements()
	}
	fields, err := l.pick(fields)
	if err != nil {
		return Set{}, err
	}
	l.keep(fields)
	p := parser{text: string(l.clean)}
	set, err := p.run()
	if err != nil {
		err.Near = near(s, err.Offset)
		return Set{}, err
	}
	return set, nil
}

// lenient overwrites with spaces what is not part of a set, so that offsets keep their meaning.
type lenient struct {
	text  string
	clean []byte
}

// field is a value and the name it goes by.
type field struct {
	name     string // lower case, without scope; empty if the value has none
	from, to int    // of the value
}

func (l *lenient) blank(from, to int) {
	for i := from; i < to; i++ {
		l.clean[i] = ' '
	}
}

// find returns the position of sub behind from, or the end of the text.
func (l *lenient) find(sub string, from int) int {
	if i := strings.Index(l.text[from:], sub); i >= 0 {
		return from + i
	}
	return len(l.text)
}

// remarks blanks C comments everywhere, and whole lines that a client or a dump adds.
func (l *lenient) remarks() {
	lineStart := true
	for i := 0; i < len(l.text); i++ {
		end := i
		switch c := l.text[i]; {
		case strings.HasPrefix(l.text[i:], "/*"):
			end = min(l.find("*/", i+2)+2, len(l.text))
		case c == '\n':
			lineStart = true
		case lineStart && !isSpace(c):
			if eol := l.find("\n", i); isRemark(l.text[i:eol]) {
				end = eol
			}
			lineStart = false
		}
		if end > i {
			l.blank(i, end)
			i = end - 1
		}
	}
}

// isRemark tells whether a line is a comment, a row mark of vertical output, or a count of rows.
func isRemark(line string) bool {
	return strings.HasPrefix(line, "--") || line[0] == '#' || strings.HasPrefix(line, "***") ||
		isDigit(line[0]) && strings.Contains(line, " in set (")
}

// labelled returns the values of labelled lines, each up to the next label. The first field is
// what stands before the first label and has no name.
func (l *lenient) labelled() []field {
	fields := []field{{}}
	for i := 0; i < len(l.clean); i = l.find("\n", i) + 1 {
		if name, n := label(l.clean[i:]); n > 0 {
			fields[len(fields)-1].to = i
			fields = append(fields, field{name: name, from: i + n})
		}
	}
	fields[len(fields)-1].to = len(l.clean)
	return fields
}

// label returns the name that a line starts with and the length up to and with its colon, or 0.
// A label is followed by a space, so that a tag or a UUID at the start of a line is none; a name
// for GTIDs may do without.
func label(line []byte) (name string, n int) {
	start := 0
	for start < len(line) && (line[start] == ' ' || line[start] == '\t') {
		start++
	}
	n = start
	for n < len(line) && (isTagByte(line[n]) || line[n] == '@' || line[n] == '.') {
		n++
	}
	if n == start || n == len(line) || line[n] != ':' {
		return "", 0
	}
	name = variable(line[start:n])
	n++
	bare := n < len(line) && !isSpace(line[n])
	if bare && !strings.Contains(name, "gtid") || startsLikeUUID([]byte(name)) {
		return "", 0
	}
	return name, n
}

// statements returns the right sides of assignments with the name of the variable, and all other
// statements without a name.
func (l *lenient) statements() []field {
	var fields []field
	for i := 0; i < len(l.clean); {
		f := field{from: i, to: len(l.clean)}
		if n := bytes.IndexByte(l.clean[i:], ';'); n >= 0 {
			f.to = i + n
		}
		if n := bytes.IndexByte(l.clean[i:f.to], '='); n >= 0 {
			f.name = variable(bytes.TrimSuffix(l.clean[i:i+n], []byte(":")))
			f.from = i + n + 1
		}
		fields = append(fields, f)
		i = f.to + 1
	}
	return fields
}

// variable returns the last word of an assignment's left side, in lower case and without scope.
func variable(left []byte) string {
	left = bytes.TrimRight(left, spaces+"`")
	return strings.ToLower(string(left[bytes.LastIndexAny(left, spaces+"@.`")+1:]))
}

// startsLikeUUID tells whether a text may be a set.
func startsLikeUUID(s []byte) bool {
	s = bytes.TrimLeft(s, spaces+"'\"`+{,")
	for i := range 8 {
		if i >= len(s) || hexValue(s[i]) > 15 {
			return false
		}
	}
	return true
}

// rank orders names by how surely they name the set that is meant.
func rank(name string) int {
	switch {
	case name == "executed_gtid_set" || name == "gtid_executed":
		return 3
	case name == "gtid_purged":
		return 2
	case strings.Contains(name, "gtid"):
		return 1
	}
	return 0
}

// pick returns the values to read, or an error that points at the one that makes it unclear which
// is meant. A text without a name is one more value only if it looks like a set: it may as well be
// a prompt or a statement of another kind.
func (l *lenient) pick(fields []field) ([]field, *ParseError) {
	var best, nameless []field
	top := -1
	for _, f := range fields {
		value := bytes.TrimSpace(l.clean[f.from:f.to])
		switch r := rank(f.name); {
		case f.name == "" && len(value) > 0:
			nameless = append(nameless, f)
		case f.name == "" || r < top || r < 2 && len(value) == 0:
		case r > top:
			best, top = []field{f}, r
		default:
			best = append(best, f)
		}
	}
	if len(best) == 0 {
		best, nameless = nameless, nil
	}
	if len(best) == 0 {
		return nil, l.unclear(field{}, "no GTID set in this text")
	}
	for _, f := range nameless {
		if startsLikeUUID(l.clean[f.from:f.to]) {
			return nil, l.unclear(f, "a set without a name beside a value that has one")
		}
	}
	if len(best) > 1 && top < 2 {
		return nil, l.unclear(best[1], "several values, and none is called Executed_Gtid_Set")
	}
	return best, nil
}

func (l *lenient) unclear(f field, msg string) *ParseError {
	for f.from < f.to && isSpace(l.clean[f.from]) {
		f.from++
	}
	return &ParseError{Offset: f.from, Msg: msg, Near: near(l.text, f.from), what: "GTID set"}
}

// keep blanks all but the values, and in them what is around a set. The byte before a value, the
// last of its name, becomes a comma, which keeps two values apart.
func (l *lenient) keep(fields []field) {
	end := 0
	for _, f := range fields {
		l.blank(end, f.from)
		if f.from > 0 {
			l.clean[f.from-1] = ','
		}
		l.unwrap(l.clean[f.from:f.to])
		end = f.to
	}
	l.blank(end, len(l.clean))
}

// unwrap blanks quotes, line breaks in escaped form and a leading plus.
func (l *lenient) unwrap(value []byte) {
	plus := true
	for i, c := range value {
		switch {
		case c == '\'' || c == '"' || c == '`' || plus && c == '+':
			value[i] = ' '
		case c == '\\' && i+1 < len(value) && bytes.IndexByte([]byte("nrt"), value[i+1]) >= 0:
			value[i], value[i+1] = ' ', ' '
		}
		plus = plus && isSpace(value[i])
	}
}
