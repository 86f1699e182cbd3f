package route

import (
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
)

// Classify says what a text is. It never fails: what it does not understand is
// Unknown and goes to the primary. It allocates nothing and reads each byte at
// most twice: twice if executable comments make it another statement on some
// of the servers.
func Classify(text string, o *Options) Statement {
	s := scan{text: text, o: o, lex: sqltoken.New(text, &o.Options)}
	s.run()
	if s.lex.Undecided() {
		s.either()
	}
	return s.whole
}

// either classifies the text again with undecided comments as comments, and
// keeps the stronger reading if the two differ.
func (s *scan) either() {
	skipped := scan{text: s.text, o: s.o, lex: sqltoken.NewSkipping(s.text, &s.o.Options)}
	skipped.run()
	a, b := &s.whole, &skipped.whole
	if a.Class == b.Class && a.Target == b.Target && a.Facts == b.Facts && a.Count == b.Count {
		return
	}
	if b.strength() > a.strength() {
		a.Class = b.Class
	}
	a.Target, a.Reason, a.At, a.End = ToPrimary, Undecided, 0, 0
	a.Facts |= b.Facts | FactUndecided
	a.Count = max(a.Count, b.Count)
}

// strength orders findings: the stronger class, and within it the target that
// more depends on.
func (st *Statement) strength() int { return strength(st.Class, st.Target) }

func strength(c Class, t Target) int {
	weight := 0
	switch t {
	case ToAll, Answer:
		weight = 1
	case ToLast:
		weight = 2
	case ToHolder:
		weight = 3
	case ToPrimary:
		weight = 4
	}
	return c.rank()*8 + weight
}

// place is a token that has been read: what is kept of it is small, because all
// that are read are kept for a while. A text is shorter than 2 GiB: no server
// takes a longer one.
type place struct {
	start, end int32
	kind       sqltoken.Kind
}

// here returns the place of the token being looked at.
func (s *scan) here() place { return placeOf(&s.tok) }

func placeOf(t *sqltoken.Token) place { return place{int32(t.Start), int32(t.End), t.Kind} }

// scan reads one text from its first token to its last.
type scan struct {
	lex  sqltoken.Scanner
	text string
	o    *Options
	// tok is the token being looked at, prev and prev2 the ones before it in
	// the same statement. Comments are none of them.
	tok         sqltoken.Token
	prev, prev2 place
	// gap says that a comment stands between prev and tok, telling that prev is
	// a word for which tok may decide, locking that a query inside the statement
	// locks the rows that it reads: all but plain queries do.
	gap, telling, locking bool
	// columns follows "name ( a, b ) AS (", which is a common table
	// expression's column list and no call.
	columns columns
	called  place // the name in front of it
	// qualifier is the last name that stood in front of a dot.
	qualifier place
	// names says that names may stand before parentheses without being called,
	// body that a stored program follows, forStatement that SET STATEMENT ...
	// FOR came before: no server takes it twice.
	names, body, forStatement bool
	// proxy is the reason of the first statement that is for the proxy.
	proxy     Reason
	whole     Statement // all statements so far
	elsewhere Statement // the first of them that is not for a replica
	one       Statement // the one being read
}

// next reads the next token that is code, and looks for hints in the comments
// on the way.
func (s *scan) next() {
	s.prev2, s.prev = s.prev, s.here()
	s.gap = false
	s.lex.Scan(&s.tok)
	if s.tok.Kind >= sqltoken.Comment {
		s.skipComments()
	}
}

func (s *scan) skipComments() {
	for {
		switch s.tok.Kind {
		case sqltoken.Comment, sqltoken.Hint:
			s.hint()
		case sqltoken.ExecOpen, sqltoken.ExecClose:
		case sqltoken.Unterminated, sqltoken.Invalid:
			s.note(Unknown, ToPrimary, Unreadable, 0)
			return
		default:
			return
		}
		s.gap = true
		s.lex.Scan(&s.tok)
	}
}

// run reads all statements of the text.
func (s *scan) run() {
	s.whole = Statement{Class: Empty, Target: Answer, Reason: Nothing}
	s.next()
	for {
		s.skip(sqltoken.Semicolon)
		if s.tok.Kind == sqltoken.EOF {
			return
		}
		s.prev, s.prev2 = place{}, place{}
		s.one = Statement{Class: Empty}
		s.names, s.body, s.telling, s.locking, s.forStatement = false, false, false, false, false
		if s.whole.Facts.Any(FactMode) { // SET NAMES gbk; what follows is read in another way
			s.note(Unknown, ToPrimary, NotUnderstood, FactUnseen)
		}
		s.statement()
		s.rest()
		s.asksLast()
		s.merge()
	}
}

// asksLast sends SET @n = FOUND_ROWS() where the statement before ran: it writes
// nothing but the variable.
func (s *scan) asksLast() {
	if s.one.Facts.Any(FactPrevious) && s.one.Reason == AssignsVariable {
		s.one.Class, s.one.Target, s.one.Reason = Diagnostics, ToLast, PreviousStatement
	}
}

func (s *scan) skip(kind sqltoken.Kind) {
	for s.tok.Kind == kind {
		s.next()
	}
}

// merge adds the statement that has been read to the whole text.
func (s *scan) merge() {
	w, one := &s.whole, &s.one
	if one.Facts.Any(FactProxy) && s.proxy == NoReason {
		s.proxy = AsksProxy
		if one.Reason == KillsByID {
			s.proxy = KillsByID
		}
	}
	w.Count++
	w.Facts |= one.Facts
	hint := w.Hint
	if one.strength() > w.strength() || w.Count == 1 {
		facts, count := w.Facts, w.Count
		*w = *one
		w.Facts, w.Count = facts, count
	}
	w.Hint = hint
	if w.Count > 1 && w.Facts.Any(FactSetsVariable) {
		w.Facts |= FactAssigns // only the server that ran it has the value
	}
	switch {
	case one.Class == Begin:
		w.Facts |= FactOpens
	case one.ends():
		w.Facts &^= FactOpens
	}
	// One server runs all of them. A replica may only if each is a read.
	if one.Target != ToReplica && s.elsewhere.Reason == NoReason {
		s.elsewhere = *one
	}
	if e := &s.elsewhere; w.Count > 1 && e.Reason != NoReason {
		if w.Target == ToReplica {
			w.Reason, w.At, w.End = e.Reason, e.At, e.End
		}
		w.Target = ToPrimary
	}
	const others = FactSession | FactSetsVariable | FactAssigns | FactGlobal | FactConnection
	if w.Facts.Any(FactProxy) && (w.Count > 1 || w.Facts.Any(others)) {
		w.Target, w.Reason = Refuse, s.proxy // no server knows that part of it
	}
}

// note records that the statement is at least of class c, for the token being
// looked at.
func (s *scan) note(c Class, t Target, why Reason, facts Facts) {
	s.noteAt(s.here(), c, t, why, facts)
}

func (s *scan) noteAt(tok place, c Class, t Target, why Reason, facts Facts) {
	s.one.Facts |= facts
	if c == Read && (s.one.Class == Show || s.one.Class == Explain) {
		c = s.one.Class
	}
	if s.one.Class != Empty {
		// A plain read gives way to any reason that says more.
		had, has := s.one.strength(), strength(c, t)
		if has < had || has == had && s.one.Reason != ReadOnlyStatement {
			return
		}
	}
	s.one.Class, s.one.Target, s.one.Reason = c, t, why
	s.one.At, s.one.End = int(tok.start), int(tok.end)
}

// word returns the text of a token.
func (s *scan) word(t place) string { return s.text[t.start:t.end] }

// name returns a name without its quotes. A doubled quote inside stays: no
// name that is compared with has one.
func (s *scan) name(t place) string {
	if t.kind == sqltoken.Name || t.kind == sqltoken.String {
		if t.end-t.start >= 2 {
			return s.text[t.start+1 : t.end-1]
		}
	}
	return s.text[t.start:t.end]
}

// at says whether the token being looked at is that keyword, in lower case.
func (s *scan) at(keyword string) bool {
	return s.tok.Kind == sqltoken.Word && equal(s.text[s.tok.Start:s.tok.End], keyword)
}

func (s *scan) is(t place, keyword string) bool {
	return t.kind == sqltoken.Word && equal(s.word(t), keyword)
}

// op says whether the token being looked at is that byte.
func (s *scan) op(b byte) bool { return s.tok.Kind == sqltoken.Op && s.text[s.tok.Start] == b }

// isOp says whether t is that byte.
func (s *scan) isOp(t place, b byte) bool {
	return t.kind == sqltoken.Op && s.text[t.start] == b
}

// ended says whether the statement is over.
func (s *scan) ended() bool {
	return s.tok.Kind == sqltoken.Semicolon || s.tok.Kind == sqltoken.EOF
}

// equal compares a word of any letter case with a keyword in lower case.
func equal(word, keyword string) bool {
	if len(word) != len(keyword) {
		return false
	}
	for i := 0; i < len(word); i++ {
		c := word[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		if c != keyword[i] {
			return false
		}
	}
	return true
}

// appendLower appends the word with its ASCII letters in lower case.
func appendLower(dst []byte, word string) []byte {
	for i := range len(word) {
		c := word[i]
		if 'A' <= c && c <= 'Z' {
			c |= 0x20
		}
		dst = append(dst, c)
	}
	return dst
}

// oneOf says whether the word is one of the keywords, which are in lower case
// and separated by blanks.
func oneOf(word, keywords string) bool {
	for keywords != "" {
		var first string
		first, keywords, _ = strings.Cut(keywords, " ")
		if equal(word, first) {
			return true
		}
	}
	return false
}

// atOneOf is at for several keywords.
func (s *scan) atOneOf(keywords string) bool {
	return s.tok.Kind == sqltoken.Word && oneOf(s.word(s.here()), keywords)
}

// maria and mysql say which servers may get the text; both, if it is unknown.
func (s *scan) maria() bool { return s.o.Flavor != flavor.MySQL }
func (s *scan) mysql() bool { return s.o.Flavor != flavor.MariaDB }
