package route

import "github.com/mysqlrw/mysqlrw/pkg/sqltoken"

// expression looks at one token of a statement for what makes it more than a
// plain read, wherever it stands: in parentheses, in an arm of a UNION, in the
// body of a common table expression. Names after a dot are no keywords.
func (s *scan) expression() {
	if s.columns != noColumns && !s.op('(') {
		s.columnList()
	}
	if s.telling {
		s.telling = false
		s.behindKeyword()
	}
	switch s.tok.Kind {
	case sqltoken.Word:
		if n := s.tok.End - s.tok.Start; n < 32 && tellingLengths[s.text[s.tok.Start]&0x1f]>>n&1 != 0 {
			s.telling = true
			s.keyword()
		}
	case sqltoken.Op:
		switch s.text[s.tok.Start] {
		case '(':
			s.call()
		case '.':
			s.schema()
		case '@': // MySQL reads a lone @ as a variable with an empty name
			s.note(Read, ToReplica, UserVariable, FactUserVariable)
		}
	case sqltoken.UserVar:
		s.note(Read, ToReplica, UserVariable, FactUserVariable)
	case sqltoken.Assign:
		s.noteAt(s.prev, Write, ToPrimary, AssignsVariable, FactAssigns)
	case sqltoken.SysVar:
		s.systemVariable()
	case sqltoken.String:
		if s.text[s.tok.Start] == '$' { // only the body of a stored program is one
			s.note(Unknown, ToPrimary, NotUnderstood, 0)
		}
	}
}

// tellingLengths has, by a word's first letter, a bit for the length of each
// word that keyword or behindKeyword look for, so that they are not asked about
// the others.
var tellingLengths = [32]uint32{
	'c' & 0x1f: 1 << 7,       // currval
	'd' & 0x1f: 1 << 6,       // delete
	'f' & 0x1f: 1 << 3,       // for
	'i' & 0x1f: 1<<4 | 1<<6,  // into, insert
	'l' & 0x1f: 1 << 4,       // lock
	'n' & 0x1f: 1<<4 | 1<<7,  // next, nextval
	'p' & 0x1f: 1 << 8,       // previous
	'r' & 0x1f: 1 << 7,       // replace
	's' & 0x1f: 1<<6 | 1<<19, // select, sql_calc_found_rows
	't' & 0x1f: 1 << 5,       // table
	'u' & 0x1f: 1 << 6,       // update
}

// keyword looks at a word that means something by itself.
func (s *scan) keyword() {
	switch w := s.word(s.here()); {
	case (equal(w, "nextval") || equal(w, "currval")) && s.isOp(s.prev, '.') && s.maria():
		s.note(Write, ToPrimary, UsesSequence, 0)
	case s.locking && s.isOp(s.prev, '(') && (equal(w, "select") || equal(w, "table")):
		s.note(LockingRead, ToPrimary, LocksRows, 0)
	case equal(w, "sql_calc_found_rows"):
		s.note(Read, ToReplica, CountsFoundRows, FactCountsFoundRows)
	}
}

// behindKeyword looks at the token behind a word for which it decides: FOR
// UPDATE, LOCK IN, INTO OUTFILE, NEXT VALUE.
func (s *scan) behindKeyword() {
	if s.isOp(s.prev2, '.') || s.prev.kind != sqltoken.Word {
		return
	}
	w := s.word(s.prev)
	switch w[0] | 0x20 {
	case 'f':
		if equal(w, "for") && (s.at("update") || s.at("share")) {
			s.noteAt(s.prev, LockingRead, ToPrimary, LocksRows, 0)
			s.one.End = s.tok.End
		}
	case 'l':
		if equal(w, "lock") && s.at("in") {
			s.noteAt(s.prev, LockingRead, ToPrimary, LocksRows, 0)
		}
	case 'i':
		if equal(w, "into") {
			s.into()
		} else if equal(w, "insert") {
			s.writes()
		}
	case 'u':
		if equal(w, "update") && !s.is(s.prev2, "for") {
			s.noteAt(s.prev, Write, ToPrimary, Writes, 0)
		}
	case 'd':
		if equal(w, "delete") {
			s.noteAt(s.prev, Write, ToPrimary, Writes, 0)
		}
	case 'r':
		if equal(w, "replace") {
			s.writes()
		}
	case 'n':
		if equal(w, "next") && s.at("value") {
			s.noteAt(s.prev, Write, ToPrimary, UsesSequence, 0)
		}
	case 'p':
		if equal(w, "previous") && s.at("value") {
			s.noteAt(s.prev, Write, ToPrimary, UsesSequence, 0)
		}
	}
}

// writes records INSERT and REPLACE, unless they are the functions of that name.
func (s *scan) writes() {
	if !s.op('(') {
		s.noteAt(s.prev, Write, ToPrimary, Writes, 0)
	}
}

func (s *scan) into() {
	if s.is(s.prev2, "insert") || s.is(s.prev2, "replace") {
		return
	}
	if s.atOneOf("outfile dumpfile") {
		s.noteAt(s.prev, Write, ToPrimary, WritesFile, 0)
		return
	}
	s.noteAt(s.prev, Write, ToPrimary, AssignsVariable, FactAssigns)
}

// systemSchema says whether the schema is one that each server fills for
// itself.
func systemSchema(name string) bool {
	switch len(name) {
	case 3:
		return equal(name, "sys")
	case 5:
		return equal(name, "mysql")
	case 18:
		return equal(name, "information_schema") || equal(name, "performance_schema")
	}
	return false
}

// schema looks at the name in front of a dot.
func (s *scan) schema() {
	if s.prev.kind != sqltoken.Word && s.prev.kind != sqltoken.Name || s.isOp(s.prev2, '.') {
		return
	}
	s.qualifier = s.prev
	if n := s.name(s.prev); systemSchema(n) {
		class, target := Read, ToPrimary
		if len(n) == len("sys") { // its views call functions that set user variables
			class = Diagnostics
		}
		if s.o.SystemSchemasOnReplicas {
			target = ToReplica
		}
		s.noteAt(s.prev, class, target, SystemSchema, FactSystemSchema)
	}
}

// systemVariable reads @@x, @@global.x and @@session.x; the token being looked
// at is @@, and afterwards the variable's name.
func (s *scan) systemVariable() {
	start, session, global := s.here(), false, false
	s.next()
	if s.tok.Kind == sqltoken.Word {
		session = oneOf(s.word(s.here()), "session local")
		global = oneOf(s.word(s.here()), "global persist persist_only")
	}
	if session || global {
		s.next()
		if !s.op('.') {
			s.note(Unknown, ToPrimary, NotUnderstood, 0)
			return
		}
		s.next()
	}
	if s.tok.Kind != sqltoken.Word && s.tok.Kind != sqltoken.Name {
		s.note(Unknown, ToPrimary, NotUnderstood, 0)
		return
	}
	start.end = int32(s.tok.End)
	switch kind := lookupVariable(s.name(s.here())); {
	case kind == variableLastInsertID:
		s.noteAt(start, Read, ToReplica, LastInsertID, FactLastInsertID)
	case kind == variablePrevious:
		s.noteAt(start, Diagnostics, ToLast, PreviousStatement, FactPrevious)
	case kind == variableConnection:
		s.noteAt(start, Diagnostics, ToPrimary, ConnectionState, FactConnectionState)
	case global, kind == variableServer:
		s.noteAt(start, Read, ToPrimary, ServerState, FactServerState)
	}
}
