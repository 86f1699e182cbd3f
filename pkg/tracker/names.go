package tracker

import (
	"slices"
	"unicode/utf8"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
)

// maxNames is how many keys one text may have.
const maxNames = 256

// Names appends to dst the keys of all tables that a text's statements may read, and of others:
// there is no grammar in it, and every identifier counts as a table. schema is the session's
// default one, or empty. What a view or a stored function reads is not in the text and not in the
// list: Schema knows the views, and package route sends functions to the primary unless they are
// listed as harmless.
//
// Without known nothing is appended, and the statements may read anything. That is so for whatever
// is no query, for schemas that each server fills by itself, for executable comments, for text that
// is not understood, and for more than 256 names. Names allocates nothing if dst has room and no
// name has a quote inside.
func Names(dst []Key, text string, schema string, o *sqltoken.Options) (names []Key, known bool) {
	r := reader{
		text: text, names: dst, before: len(dst), start: true,
		bare:    o.Flavor != flavor.MySQL || o.Oldest < 80000,
		foreign: o.Charset != sqltoken.UTF8,
	}
	if !r.readable(schema) {
		return dst, false
	}
	r.schema = hash(schema)
	if systemSchema(r.schema) {
		return dst, false
	}
	lex := sqltoken.New(text, o)
	var t sqltoken.Token
	for lex.Scan(&t); t.Kind != sqltoken.EOF; lex.Scan(&t) {
		if !r.token(&t) {
			return dst, false
		}
	}
	r.flush()
	if r.dot || lex.Undecided() || len(r.names)-r.before > maxNames {
		return dst, false
	}
	return r.names, true
}

// reader collects the names of one text.
type reader struct {
	text   string
	names  []Key
	before int // how many names were there already
	schema uint64
	// last is the hash of the identifier that was read last. alone says that it is a table of the
	// default schema unless a dot follows it; part, that it came behind a dot.
	last        uint64
	alone, part bool
	dot         bool // the last token was a dot, and
	qualified   bool // an identifier, last, stood in front of it
	start       bool // no token of the statement has been read
	bare        bool // .t is a table of the default schema: MariaDB, and MySQL before 8.0
	foreign     bool // the text is in none of the character sets of sqltoken.UTF8
}

// token takes the next token; false is a text of which nothing can be told.
func (r *reader) token(t *sqltoken.Token) bool {
	if t.Kind == sqltoken.Comment || t.Kind == sqltoken.Hint {
		return true
	}
	if r.start && t.Kind != sqltoken.Semicolon {
		r.start = false
		return r.first(t)
	}
	switch t.Kind {
	case sqltoken.Word:
		return r.word(r.text[t.Start:t.End], t.End < len(r.text) && r.text[t.End] == '.')
	case sqltoken.Name:
		return r.quoted(r.text[t.Start+1:t.End-1], r.text[t.Start])
	case sqltoken.Op:
		return r.op(r.text[t.Start])
	case sqltoken.Semicolon:
		r.start = true
	case sqltoken.String:
		if r.text[t.Start] == '$' { // the body of a stored program
			return false
		}
	case sqltoken.ExecOpen, sqltoken.ExecClose, sqltoken.Unterminated, sqltoken.Invalid:
		return false
	}
	return r.other()
}

// first takes the first token of a statement, which must begin a query. Whatever else reads tables
// (SHOW, EXPLAIN, HANDLER, DO, CALL, EXECUTE) may also read, run or change what is not in the text.
func (r *reader) first(t *sqltoken.Token) bool {
	if !r.other() {
		return false
	}
	switch t.Kind {
	case sqltoken.Word:
		var buf [longestWord]byte
		switch string(lower(&buf, r.text[t.Start:t.End])) {
		case "select", "with", "table", "values":
			return true
		}
	case sqltoken.Op:
		return r.text[t.Start] == '('
	}
	return false
}

// other takes what is no part of a name.
func (r *reader) other() bool {
	r.flush()
	r.part = false
	return !r.dot
}

// flush adds the last identifier, if that may be a table of the default schema.
func (r *reader) flush() {
	if r.alone {
		r.alone = false
		r.add(r.schema, r.last)
	}
}

func (r *reader) op(c byte) bool {
	switch {
	case c == '*' && r.dot: // t.*
		r.dot, r.part = false, false
		return true
	case c != '.':
		return r.other()
	case r.dot:
		return false
	}
	r.dot, r.qualified = true, r.alone || r.part
	r.alone, r.part = false, false
	return true
}

// word takes a word that is not quoted. With a dot right behind it, servers take it for a name,
// whatever it is: FROM select.t.
func (r *reader) word(w string, dotted bool) bool {
	var buf [longestWord]byte
	switch lowered := lower(&buf, w); {
	case r.dot:
		switch string(lowered) {
		case "nextval", "currval": // seq.nextval reads seq
			return false
		}
	case !dotted:
		switch string(lowered) {
		case "select", "from", "where", "and", "or", "on", "as", "join", "left", "right", "inner", "outer", "cross",
			"order", "by", "group", "having", "limit", "in", "is", "null", "not", "like", "between", "distinct",
			"union", "all", "case", "when", "then", "else", "asc", "desc", "exists", "using", "values", "table",
			"with", "natural", "straight_join":
			return r.other() // reserved on every server: no name without quotes
		case "convert_tz": // reads the schema mysql
			return false
		}
	}
	return r.name(w)
}

// quoted takes the inside of a quoted name.
func (r *reader) quoted(name string, quote byte) bool {
	doubled := -1
	for i := range len(name) {
		if name[i] == quote {
			doubled = i
			break
		}
	}
	if doubled < 0 {
		return r.name(name)
	}
	// Names are at most 64 characters. A longer one is no table.
	var buf [256]byte
	n := 0
	for i := 0; i < len(name); i++ {
		if n == len(buf) {
			return false
		}
		buf[n] = name[i]
		n++
		if name[i] == quote {
			i++
		}
	}
	return r.name(string(buf[:n]))
}

// name takes an identifier without its quotes.
func (r *reader) name(name string) bool {
	if !r.readable(name) {
		return false
	}
	h := hash(name)
	if !r.dot {
		r.flush()
		r.last, r.alone, r.part = h, true, false
		return len(r.names)-r.before <= maxNames
	}
	if r.qualified {
		if systemSchema(r.last) {
			return false
		}
		r.add(r.last, h)
	}
	if r.bare || !r.qualified {
		r.add(r.schema, h)
	}
	r.last, r.alone, r.part, r.dot = h, false, true, false
	return len(r.names)-r.before <= maxNames
}

// add adds a key, unless it is there, or there are more than maxNames.
func (r *reader) add(schema, name uint64) {
	k := join(schema, name)
	if own := r.names[r.before:]; len(own) <= maxNames && !slices.Contains(own, k) {
		r.names = append(r.names, k)
	}
}

// readable says whether the hash of an identifier is that of the name that a server makes of it. In
// each character set of sqltoken.UTF8, bytes over 0x7F that are correct UTF-8 become letters over
// 0x7F or question marks, which have one hash, except for those that fold to ASCII. In the others
// they may become ASCII: 0xA9 of armscii8 is a dot.
func (r *reader) readable(name string) bool {
	for i := range len(name) {
		if name[i] >= 0x80 {
			return !r.foreign && readableUTF8(name[i:])
		}
	}
	return true
}

func readableUTF8(s string) bool {
	if !utf8.ValidString(s) {
		return false
	}
	for i := range s {
		if _, n := foldsToASCII(s[i:]); n > 0 {
			return false
		}
	}
	return true
}

// The hashes of the schemas that each server fills by itself.
const (
	hashInformationSchema = 0xc3f39e88ae5dd7b9
	hashPerformanceSchema = 0xfd1c379c71fce409
	hashMySQL             = 0xdd6b19df3bd150bd
	hashSys               = 0x827f84195d1bd5d6
)

func systemSchema(h uint64) bool {
	return h == hashInformationSchema || h == hashPerformanceSchema || h == hashMySQL || h == hashSys
}

// longestWord is the length of the longest word that is looked for.
const longestWord = len("straight_join")

// lower returns the word in lower case, or nothing if it is longer than any that is looked for.
func lower(buf *[longestWord]byte, word string) []byte {
	if len(word) > len(buf) {
		return nil
	}
	for i := range len(word) {
		buf[i] = word[i]
		if word[i]-'A' <= 'Z'-'A' {
			buf[i] |= 0x20
		}
	}
	return buf[:len(word)]
}
