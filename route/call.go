package route

import (
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
)

// columns is how far "name (a, b) AS (" has been read.
type columns uint8

const (
	noColumns     columns = iota
	inColumns             // behind the opening parenthesis
	behindColumns         // behind the closing one
	behindAs              // behind AS
)

// columnList decides whether the unknown name in front of a parenthesis is a
// common table expression with a column list, or a function: nothing but names
// and commas may stand in the list, and AS and a parenthesis must follow it.
func (s *scan) columnList() {
	switch s.columns {
	case inColumns:
		if s.tok.Kind == sqltoken.Word || s.tok.Kind == sqltoken.Name || s.op(',') {
			return
		}
		if s.op(')') {
			s.columns = behindColumns
			return
		}
	case behindColumns:
		if s.at("as") {
			s.columns = behindAs
			return
		}
	case behindAs:
		if s.op('(') {
			s.columns = noColumns
			return
		}
	}
	s.notColumns()
}

// notColumns records the call that looked like a column list so far.
func (s *scan) notColumns() {
	if s.columns != noColumns {
		s.columns = noColumns
		s.routine(s.called)
	}
}

// call looks at an opening parenthesis: if a name stands in front of it, it is
// a call, a column list or grammar.
func (s *scan) call() {
	if s.columns == behindAs {
		s.columnList()
		return
	}
	s.notColumns()
	name := s.prev
	if name.kind != sqltoken.Word && name.kind != sqltoken.Name {
		return
	}
	switch {
	case s.isOp(s.prev2, ')'), s.is(s.prev2, "as"): // the columns of a derived table
	case s.prev2.kind == sqltoken.EOF && s.is(name, "do"): // the first word
	case s.isOp(s.prev2, '.'):
		s.routine(name)
	default:
		s.function(name)
	}
}

// function looks up a name that is called. In quotes it is the built-in only if
// the server's grammar has no word for it; so a quoted name is looked up for
// what it does, and trusted with nothing.
func (s *scan) function(name place) {
	word := s.name(name)
	info, known := lookupFunction(word)
	if !info.harmful() && (!known || name.kind == sqltoken.Name || !s.builtIn(&info, name)) {
		s.columns, s.called = inColumns, name
		return
	}
	switch info.Kind {
	case functionLock:
		s.lock(name, word)
	case functionSequence:
		s.noteAt(name, Write, ToPrimary, UsesSequence, 0)
	case functionLastInsertID:
		s.lastInsertID(name)
	case functionPrevious:
		s.noteAt(name, Diagnostics, ToLast, PreviousStatement, FactPrevious)
	case functionConnection:
		s.noteAt(name, Diagnostics, ToPrimary, ConnectionState, FactConnectionState)
	case functionInstance:
		s.noteAt(name, Read, ToPrimary, ServerState, FactServerState)
	case functionSideEffect:
		s.noteAt(name, Call, ToPrimary, UnknownFunction, FactRoutine)
	}
	// Where it is not built in it is a user's function, whatever it does here.
	if !s.builtIn(&info, name) {
		s.routine(name)
	}
}

// builtIn says whether the word is a built-in on every server that may get the
// text. The token being looked at is the parenthesis behind it.
func (s *scan) builtIn(info *functionInfo, name place) bool {
	space := (s.gap || s.tok.Space != s.tok.Start) && (s.gap || !s.o.IgnoreSpace)
	if s.mysql() && (space && info.NoSpaceMySQL || !s.within(info.MySQL, info.MySQLSince, info.MySQLUntil)) {
		return false
	}
	if !s.maria() {
		return true
	}
	if space && info.NoSpaceMariaDB {
		return false
	}
	if info.MariaDBIf != ifNothing {
		return s.meets(info.MariaDBIf)
	}
	return s.within(info.MariaDB, info.MariaDBSince, info.MariaDBUntil)
}

// within says whether all servers have a function that came with one version
// and, unless now is set, went with another.
func (s *scan) within(now bool, since, until uint32) bool {
	oldest, newest := uint32(s.o.Oldest), uint32(s.o.Newest)
	if s.o.Flavor == flavor.Unknown { // the numbers mean nothing then
		return now && since == 0
	}
	return oldest >= since && (now || until != 0 && newest != 0 && newest < until)
}

// meets says whether a word that MariaDB reads in two ways is the built-in.
func (s *scan) meets(c condition) bool {
	before := s.prev2
	switch c {
	case ifArguments:
		return !s.isOp(s.peek(), ')')
	case ifTwoArguments:
		return s.arguments() == 2
	case ifAfterOperand:
		return s.isOp(before, ')') || before.kind == sqltoken.String || before.kind == sqltoken.Number
	case ifAfterAs:
		return s.is(before, "as")
	case ifAfterOf:
		return s.is(before, "of")
	case ifInFrom:
		return s.is(before, "from") || s.is(before, "join") || s.isOp(before, ',') && s.hasColumns()
	case ifSelectOption:
		return s.is(before, "select")
	}
	return false
}

// hasColumns says whether COLUMNS ( stands in the parentheses that begin here,
// which makes them JSON_TABLE's.
func (s *scan) hasColumns() bool {
	ahead, before := s.lex, place{}
	for range 24 {
		t := ahead.Next()
		if t.End > s.tok.End+200 || t.Kind == sqltoken.EOF {
			return false
		}
		at := placeOf(&t)
		if s.isOp(at, '(') || s.isOp(at, ')') {
			return s.isOp(at, '(') && s.is(before, "columns")
		}
		before = at
	}
	return false
}

// arguments counts the arguments behind the parenthesis being looked at. It
// looks a short way ahead, so that nested calls cost no more than one scan; -1
// is too far to count.
func (s *scan) arguments() int {
	ahead, depth, n := s.lex, 0, 0
	for range 24 {
		t := ahead.Next()
		at := placeOf(&t)
		switch {
		case t.End > s.tok.End+200:
			return -1
		case t.Kind == sqltoken.EOF || t.Kind == sqltoken.Semicolon:
			return -1
		case s.isOp(at, ')') && depth == 0:
			return n
		case s.isOp(at, ')'):
			depth--
		case s.isOp(at, '('):
			depth++
		case s.isOp(at, ',') && depth == 0:
			n++
			continue
		}
		n = max(n, 1)
	}
	return -1
}

func (s *scan) lock(name place, word string) {
	switch {
	case equal(word, "is_free_lock"), equal(word, "is_used_lock"):
		s.noteAt(name, LockingRead, ToPrimary, ChecksLock, 0)
	case equal(word, "release_all_locks"):
		s.noteAt(name, LockingRead, ToPrimary, ReleasesLock, FactReleasesAllLocks)
	case oneOf(word, "release_lock service_release_locks version_tokens_unlock"):
		s.noteAt(name, LockingRead, ToPrimary, ReleasesLock, FactReleasesLock)
	default:
		s.noteAt(name, LockingRead, ToPrimary, TakesLock, FactTakesLock)
	}
}

// lastInsertID tells LAST_INSERT_ID(), which any connection that has been given
// the value can answer, from LAST_INSERT_ID(x), which sets it.
func (s *scan) lastInsertID(name place) {
	if s.isOp(s.peek(), ')') {
		s.noteAt(name, Read, ToReplica, LastInsertID, FactLastInsertID)
		return
	}
	s.noteAt(name, Write, ToPrimary, LastInsertID, FactLastInsertID|FactAssigns)
}

// routine records a call of something that is no built-in, unless the operator
// vouches for it.
func (s *scan) routine(name place) {
	if s.o.Harmless != nil && s.harmless(name) {
		return
	}
	s.noteAt(name, Call, ToPrimary, UnknownFunction, FactRoutine)
}

// harmless looks a routine up in the operator's list, by its name or, if a
// schema stands in front of it, by both. It allocates: only policies that list
// routines pay for it.
func (s *scan) harmless(name place) bool {
	full := strings.ToLower(s.name(name))
	if s.isOp(s.prev2, '.') && s.prev == name {
		full = strings.ToLower(s.name(s.qualifier)) + "." + full
	}
	return s.o.Harmless[full]
}
