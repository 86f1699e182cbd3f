package route

import "github.com/mysqlrw/mysqlrw/pkg/sqltoken"

// statement looks at the first words of a statement. It sets the class, and
// leaves s.tok at the first token that rest is to look at.
func (s *scan) statement() {
	for s.op('(') {
		s.next()
	}
	if s.tok.Kind != sqltoken.Word {
		if s.one.Class != Unknown || s.one.Reason == NoReason {
			s.note(Unknown, ToPrimary, NotUnderstood, 0)
		}
		return
	}
	if s.readVerb() {
		return
	}
	if s.isOp(s.prev, '(') { // only a query may stand in parentheses
		s.note(Unknown, ToPrimary, NotUnderstood, 0)
		return
	}
	s.verb()
}

// rest scans what is left of the statement.
func (s *scan) rest() {
	switch {
	case s.body:
		s.storedProgram()
	case s.names:
		for !s.ended() {
			s.known()
			s.next()
		}
	default:
		s.expressions()
		s.notColumns()
	}
}

// expressions calls expression for the tokens up to the end of the statement,
// and leaves out most of those that it has nothing to say about.
func (s *scan) expressions() {
	for {
		switch s.tok.Kind {
		case sqltoken.EOF, sqltoken.Semicolon:
			return
		case sqltoken.Word:
			n := s.tok.End - s.tok.Start
			if n < 32 && tellingLengths[s.text[s.tok.Start]&0x1f]>>n&1 != 0 || s.telling || s.columns != noColumns {
				s.expression()
			}
		case sqltoken.Number:
			if s.telling || s.columns != noColumns {
				s.expression()
			}
		default:
			s.expression()
		}
		s.next()
	}
}

// readVerb handles the statements that are reads if nothing in them says
// otherwise.
func (s *scan) readVerb() bool {
	w := s.word(s.here())
	do := equal(w, "do")
	if !do && !equal(w, "select") && !equal(w, "with") && !equal(w, "values") && !equal(w, "table") {
		return false
	}
	s.note(Read, ToReplica, ReadOnlyStatement, 0)
	s.locking = do
	s.next()
	return true
}
