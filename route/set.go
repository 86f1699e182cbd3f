package route

import "github.com/mysqlrw/mysqlrw/pkg/sqltoken"

// set handles SET in all its forms.
func (s *scan) set() {
	start := s.here()
	s.next()
	switch {
	case s.maria() && s.at("statement") && !s.forStatement:
		s.forStatement = true
		s.setStatement()
	case s.at("password"), s.at("default") && s.followedBy("role"):
		s.noteAt(start, DDL, ToPrimary, ChangesSchema, FactImplicitCommit)
		s.names = true
	case s.at("role") && !s.followedBySign(), s.at("resource"):
		s.noteAt(start, Set, ToPrimary, ChangesConnection, FactConnection)
		s.names = true
	case s.at("names"), s.at("charset"), s.at("character"):
		s.noteAt(start, Set, ToAll, ChangesSession, FactSession)
		s.setNames()
		s.assignments(start)
	case s.at("transaction"):
		s.setTransaction(start, FactNextTransaction)
	case s.atOneOf("session local") && s.followedBy("transaction"):
		s.next()
		s.setTransaction(start, FactSession)
	case s.at("global") && s.followedBy("transaction"):
		s.noteAt(start, Set, ToPrimary, ChangesServer, FactGlobal)
		s.names = true
	case s.ended():
		s.misread()
	default:
		s.assignments(start)
	}
}

// peek returns the token behind the one being looked at.
func (s *scan) peek() place {
	ahead := s.lex
	for {
		t := ahead.Next()
		switch t.Kind {
		case sqltoken.Comment, sqltoken.Hint, sqltoken.ExecOpen, sqltoken.ExecClose:
		default:
			return placeOf(&t)
		}
	}
}

func (s *scan) followedBy(keyword string) bool { return s.is(s.peek(), keyword) }

func (s *scan) followedBySign() bool {
	t := s.peek()
	return t.kind == sqltoken.Assign || s.isOp(t, '=')
}

// setNames steps over NAMES x COLLATE y or CHARACTER SET x.
func (s *scan) setNames() {
	s.accept("character")
	s.next()
	if c, known := sqltoken.ParseCharset(s.name(s.here())); !known || c != s.o.Charset {
		s.one.Facts |= FactMode
	}
	for !s.ended() && !s.op(',') {
		s.next()
	}
}

func (s *scan) setTransaction(start place, scope Facts) {
	s.noteAt(start, Set, ToAll, ChangesSession, scope)
	s.next()
	s.characteristics()
}

// setStatement handles MariaDB's SET STATEMENT x = y FOR statement: the class is
// that of the statement.
func (s *scan) setStatement() {
	s.next()
	for depth := 0; !s.ended(); s.next() {
		switch {
		case s.op('('):
			depth++
		case s.op(')'):
			depth--
		case depth == 0 && s.at("for"):
			s.next()
			s.prev, s.prev2 = place{}, place{}
			s.statement()
			return
		}
		s.expression()
	}
	s.notColumns()
	s.misread()
}

// assignments reads x = y, x = y up to the end. It may begin at a comma. A scope
// such as GLOBAL holds for what follows it too, until the next one.
func (s *scan) assignments(start place) {
	global := false
	for !s.ended() {
		if s.op(',') {
			s.next()
		}
		if !s.assignment(start, &global) {
			break
		}
		if !s.op(',') && !s.ended() {
			s.misread()
			return
		}
	}
}

// assignment reads one, up to the comma or the end.
func (s *scan) assignment(start place, global *bool) bool {
	a := assigned{global: *global}
	switch s.tok.Kind {
	case sqltoken.UserVar:
		a.user = true
	case sqltoken.SysVar:
		s.next()
		a.global = false
		s.scope(&a, true)
	case sqltoken.Word, sqltoken.Name:
		if s.setOther(start) {
			return true
		}
		s.scope(&a, false)
		*global = a.global
	default:
		if !s.op('@') {
			return s.misread()
		}
		a.user = true
	}
	a.variable = s.here()
	s.next()
	for s.op('.') { // structured variables, NEW.x in a trigger
		s.next()
		s.next()
	}
	if s.tok.Kind != sqltoken.Assign && !s.op('=') {
		return s.misread()
	}
	s.next()
	s.value(&a)
	s.assigned(start, &a)
	return true
}

// setOther reads what may stand among assignments without being one: NAMES,
// CHARACTER SET and, for MariaDB, PASSWORD.
func (s *scan) setOther(start place) bool {
	switch {
	case s.followedBySign() && !s.at("password"):
		return false
	case s.at("names"), s.at("charset"), s.at("character"):
		s.noteAt(start, Set, ToAll, ChangesSession, FactSession)
		s.setNames()
	case s.at("password"):
		s.noteAt(start, DDL, ToPrimary, ChangesSchema, FactImplicitCommit)
		for !s.ended() && !s.op(',') {
			s.next()
		}
	default:
		return false
	}
	return true
}

// assigned is one assignment of a SET.
type assigned struct {
	variable place
	value    place // its first token
	user     bool  // @x
	global   bool  // GLOBAL, PERSIST
	scoped   bool  // SESSION or LOCAL
	at       bool  // @@x
	literal  bool  // the value is one literal
}

// scope reads the scope in front of a variable's name, with a dot behind it if
// @@ stood before.
func (s *scan) scope(a *assigned, at bool) {
	a.at = at
	global, scoped := s.atOneOf("global persist persist_only"), s.atOneOf("session local")
	if dot := s.isOp(s.peek(), '.'); !global && !scoped || dot != at {
		return // no scope, or a variable of that name
	}
	a.global, a.scoped = global, scoped
	s.next()
	if at {
		s.next()
	}
}

// value reads an expression up to the comma or the end.
func (s *scan) value(a *assigned) {
	a.value = s.here()
	signed := s.op('-') || s.op('+')
	if signed {
		s.next()
		a.value = s.here()
	}
	switch s.tok.Kind {
	case sqltoken.Number:
		a.literal = true
	case sqltoken.String, sqltoken.Word, sqltoken.Name:
		a.literal = !signed
	}
	for depth, n := 0, 0; !s.ended(); n++ {
		switch {
		case s.op('('):
			depth++
		case s.op(')'):
			depth--
		case s.op(',') && depth == 0:
			s.notColumns()
			return
		case s.at("select"):
			s.note(Set, ToPrimary, AssignsVariable, 0)
		}
		a.literal = a.literal && n == 0
		s.expression()
		s.next()
	}
	s.notColumns()
}

// assigned records what an assignment changes.
func (s *scan) assigned(start place, a *assigned) {
	if a.user {
		if a.literal && (a.value.kind != sqltoken.Word || oneOf(s.word(a.value), "null true false")) {
			s.noteAt(start, Set, ToAll, ChangesSession, FactSetsVariable)
		} else {
			s.noteAt(a.variable, Set, ToPrimary, AssignsVariable, FactAssigns)
		}
		return
	}
	name := s.name(a.variable)
	switch {
	case a.global:
		s.noteAt(start, Set, ToPrimary, ChangesServer, FactGlobal)
		return
	case proxyVariable(name):
		s.noteAt(start, Set, Answer, AsksProxy, FactProxy)
		return
	}
	facts := FactSession
	switch {
	case equal(name, "autocommit"):
		facts |= s.autocommit(a)
	case oneOf(name, "sql_mode character_set_client"):
		facts |= FactMode
	case oneOf(name, "tx_isolation transaction_isolation"):
		facts |= FactIsolation
	case oneOf(name, "tx_read_only transaction_read_only"):
		facts |= FactReadOnly | FactReadWrite
	case oneOf(name, "gtid_next sql_log_bin pseudo_thread_id session_track_gtids"):
		s.noteAt(a.variable, Set, ToPrimary, ChangesConnection, FactConnection)
	}
	if a.at && !a.scoped && facts.Any(FactIsolation|FactReadOnly) {
		facts = facts&^FactSession | FactNextTransaction // holds for the next transaction only
	}
	s.noteAt(start, Set, ToAll, ChangesSession, facts)
}

// autocommit reads the value that autocommit is set to. One that is no literal
// may be either.
func (s *scan) autocommit(a *assigned) Facts {
	v := s.name(a.value)
	switch {
	case !a.literal:
	case equal(v, "1"), equal(v, "on"), equal(v, "true"):
		return FactAutocommitOn
	case equal(v, "0"), equal(v, "off"), equal(v, "false"):
		return FactAutocommitOff
	}
	return FactAutocommitOn | FactAutocommitOff
}

// proxyVariable says whether a variable is a setting of the proxy: ours,
// OceanBase's, and PolarDB's way to pin a session to a server.
func proxyVariable(name string) bool {
	return len(name) > 8 && equal(name[:8], "mysqlrw_") || oneOf(name, "ob_read_consistency force_node")
}
