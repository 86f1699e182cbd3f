package route

import "github.com/mysqlrw/mysqlrw/pkg/sqltoken"

// set handles SET in all its forms.
func (s *scan) set() {
	start := s.tok
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
		s.setNames(start)
	case s.at("transaction"):
		s.setTransaction(start, FactNextTransaction)
	case s.atOneOf("session local") && s.followedBy("transaction"):
		s.next()
		s.setTransaction(start, FactSession)
	case s.at("global") && s.followedBy("transaction"):
		s.noteAt(start, Set, ToPrimary, ChangesServer, FactGlobal)
		s.names = true
	default:
		s.assignments(start)
	}
}

// peek returns the token behind the one being looked at.
func (s *scan) peek() sqltoken.Token {
	ahead := s.lex
	for {
		t := ahead.Next()
		switch t.Kind {
		case sqltoken.Comment, sqltoken.Hint, sqltoken.ExecOpen, sqltoken.ExecClose:
		default:
			return t
		}
	}
}

func (s *scan) followedBy(keyword string) bool { return s.is(s.peek(), keyword) }

func (s *scan) followedBySign() bool {
	t := s.peek()
	return t.Kind == sqltoken.Assign || s.isOp(t, '=')
}

// setNames steps over SET NAMES x COLLATE y, to the assignments that may follow.
func (s *scan) setNames(start sqltoken.Token) {
	s.accept("character")
	s.next()
	if c, known := sqltoken.ParseCharset(s.name(s.tok)); !known || c != s.o.Charset {
		s.one.Facts |= FactMode
	}
	for !s.ended() && !s.op(',') {
		s.next()
	}
	if s.op(',') {
		s.next()
		s.assignments(start)
	}
}

func (s *scan) setTransaction(start sqltoken.Token, scope Facts) {
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
			s.prev, s.prev2 = sqltoken.Token{}, sqltoken.Token{}
			s.statement()
			return
		}
		s.expression()
	}
	s.notColumns()
	s.misread()
}

// assignments reads x = y, x = y up to the end.
func (s *scan) assignments(start sqltoken.Token) {
	for {
		if !s.assignment(start) || !s.op(',') {
			break
		}
		s.next()
	}
	if !s.ended() {
		s.misread()
	}
}

// assignment reads one, up to the comma or the end.
func (s *scan) assignment(start sqltoken.Token) bool {
	var a assigned
	switch s.tok.Kind {
	case sqltoken.UserVar:
		a.user = true
	case sqltoken.SysVar:
		s.next()
		s.scope(&a, true)
	case sqltoken.Word, sqltoken.Name:
		s.scope(&a, false)
	default:
		if !s.op('@') {
			return s.misread()
		}
		a.user = true
	}
	a.variable = s.tok
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

// assigned is one assignment of a SET.
type assigned struct {
	variable sqltoken.Token
	value    sqltoken.Token // its first token
	user     bool           // @x
	global   bool           // GLOBAL, PERSIST
	scoped   bool           // SESSION or LOCAL
	at       bool           // @@x
	literal  bool           // the value is one literal
}

// scope reads the scope in front of a variable's name, with a dot behind it if
// @@ stood before.
func (s *scan) scope(a *assigned, at bool) {
	a.at = at
	a.global = s.atOneOf("global persist persist_only")
	a.scoped = s.atOneOf("session local")
	if !a.global && !a.scoped {
		return
	}
	if dot := s.isOp(s.peek(), '.'); dot != at {
		a.global, a.scoped = false, false // a variable of that name
		return
	}
	s.next()
	if at {
		s.next()
	}
}

// value reads an expression up to the comma or the end.
func (s *scan) value(a *assigned) {
	a.value = s.tok
	sign := s.op('-') || s.op('+')
	if sign {
		s.next()
		a.value = s.tok
	}
	switch s.tok.Kind {
	case sqltoken.Number:
		a.literal = true
	case sqltoken.String, sqltoken.Word, sqltoken.Name:
		a.literal = !sign
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
func (s *scan) assigned(start sqltoken.Token, a *assigned) {
	if a.user {
		if a.literal && (a.value.Kind != sqltoken.Word || oneOf(s.word(a.value), "null true false")) {
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
