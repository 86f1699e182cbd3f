package route

import (
	"strings"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
)

// Session is what has to be known of one client's session to decide where its
// next statement goes. It belongs to one goroutine. The zero value is a session
// that has just logged in.
type Session struct {
	// Options say how the next text is read; Apply follows SET sql_mode and SET
	// NAMES.
	Options Options
	// Schema is the default schema, or "" without one.
	Schema string
	// Level, MaxStaleness, Timeout and Node are what the session asked for with SET mysqlrw_x. They count if
	// HasLevel, HasMaxStaleness or HasTimeout says so, or if Node is not empty.
	Level           Level
	HasLevel        bool
	MaxStaleness    time.Duration
	HasMaxStaleness bool
	Timeout         time.Duration
	HasTimeout      bool
	Node            string
	// Token is the position of the session's own writes, united with Shown.
	Token gtid.Value
	// Shown are the positions that came with answers that showed it data.
	Shown gtid.Value
	// Arrived is when the statement arrived that is to be decided, for the methods that go by time.
	Arrived time.Time
	// AutocommitOff: every statement is in a transaction.
	AutocommitOff bool
	// Transaction is the one that is open.
	Transaction Transaction

	readCommitted, sessionReadOnly bool
	// next is what SET TRANSACTION says of the next transaction, current what it
	// said of the one that is open.
	next, current coming
	unreadable    bool       // nobody knows how the server reads the next text
	login         *Options   // what Options were before the session changed them
	last          string     // the server of the statement before
	home          string     // the read-only endpoint's replica
	primary       string     // the primary that positions came from
	there         gtid.Value // their union: what that server certainly has
	seen          seen
	changed       time.Time // when the primary answered to the last statement that may have changed something
	holds         []hold
	cands         []Candidate
}

// coming is what SET TRANSACTION without a scope says of one transaction.
type coming struct {
	readOnly                 bool
	isolation, readCommitted bool // isolation: the level is set
}

// Transaction is an open transaction. The zero value is none.
type Transaction struct {
	// Open: it has been started and not ended.
	Open bool
	// ReadOnly: START TRANSACTION READ ONLY.
	ReadOnly bool
	// Written: it has written or locked, so that reads stay with it.
	Written bool
	// Server is the one that runs it; "" until its first statement is sent.
	Server string
}

// hold is something that lives on a connection to a server.
type hold struct {
	kind   Holds
	name   string // of the table, variable, statement or lock; "" if it is not known
	schema string // of the table
	server string
	count  int // how often a lock was taken; 0 if that cannot be known
	starts Holds
}

// Held is one reason why a connection stays with its session.
type Held struct {
	// Kind is one kind of state.
	Kind Holds
	// Name is what is held, or "", and Server the name of the server whose connection has it.
	Name, Server string
}

// Holds lists what ties the session to connections, oldest first.
func (s *Session) Holds() []Held {
	held := make([]Held, len(s.holds))
	for i, h := range s.holds {
		held[i] = Held{Kind: h.kind, Name: h.name, Server: h.server}
	}
	return held
}

// Hold ties the session to a server for a reason that the caller found and the text does not tell:
// the server's own word about a variable, for one. A kind of Pins pins it. Release ends it.
func (s *Session) Hold(kind Holds, name, server string) {
	s.add(hold{kind: kind, name: name, server: server})
}

// Release ends what Hold with the same kind and name began.
func (s *Session) Release(kind Holds, name string) {
	s.dropIf(func(h *hold) bool { return h.kind == kind && h.name == name })
}

// Held tells whether anything ties the session to a connection.
func (s *Session) Held() bool { return len(s.holds) > 0 }

// HeldOn tells whether anything but some kinds ties the session to a connection of that server.
func (s *Session) HeldOn(server string, but Holds) bool {
	for i := range s.holds {
		if s.holds[i].server == server && s.holds[i].kind&but == 0 {
			return true
		}
	}
	return false
}

// Last returns the server that ran the statement before, or "".
func (s *Session) Last() string { return s.last }

// Forget takes out of what reads must see the transactions that a primary had
// and its successor, which had kept when it became that, has not. It tells
// whether there were any.
func (s *Session) Forget(lost, kept gtid.Value) bool {
	token, some := without(s.Token, lost, kept)
	s.Token = token
	s.Shown, _ = without(s.Shown, lost, kept)
	return some
}

// without returns v without what is lost.
func without(v, lost, kept gtid.Value) (rest gtid.Value, some bool) {
	if v.Kind() == gtid.KindLog {
		return v, false
	}
	set, isSet := v.Set()
	gone, _ := lost.Set()
	if isSet && !set.IsEmpty() {
		if !set.Overlaps(gone) {
			return v, false
		}
		return set.Subtract(gone).Value(), true
	}
	pos, _ := v.DomainPos()
	lostPos, _ := lost.DomainPos()
	keptPos, _ := kept.DomainPos()
	for bad := range lostPos.Domains() {
		have, ok := pos.Domain(bad.Domain)
		still, _ := keptPos.Domain(bad.Domain)
		if ok && have.Server == bad.Server && have.Seq > still.Seq && have.Seq <= bad.Seq {
			still.Domain = bad.Domain // which stands at 0 if there was nothing
			pos, some = pos.With(still), true
		}
	}
	return pos.Value(), some
}

// learn takes in the position that came with an answer.
func (s *Session) learn(position gtid.Value, server string, role Role) {
	if token, err := s.Token.Union(position); err == nil {
		s.Token = token
	}
	if role != Primary {
		return
	}
	if s.primary != server {
		s.primary, s.there = server, gtid.Value{}
	}
	if there, err := s.there.Union(position); err == nil {
		s.there = there
	}
}

// knowsOf says whether the session itself has seen that the server has the
// position.
func (s *Session) knowsOf(server string, position gtid.Value) bool {
	return server == s.primary && s.there.Has(position)
}

// SetReadCommitted tells the session its isolation level, where the server's
// default is not REPEATABLE READ.
func (s *Session) SetReadCommitted(is bool) { s.readCommitted = is }

// Candidates returns what the last decision found for each server, in the order
// of its snapshot; none if it asked no server. The slice is overwritten by the
// next decision.
func (s *Session) Candidates() []Candidate { return s.cands }

// Reset forgets what COM_RESET_CONNECTION ends: transaction, holds, settings, and
// how SET sql_mode and SET NAMES had texts read. The schema stays.
// The token stays if keepToken says so: a pool that resets a connection must
// not lose the guarantee for the one who borrows it next.
func (s *Session) Reset(keepToken bool) {
	fresh := Session{Options: s.Options, Schema: s.Schema, home: s.home, cands: s.cands}
	if s.login != nil {
		fresh.Options = *s.login
	}
	if keepToken {
		fresh.Token, fresh.Shown, fresh.seen, fresh.changed = s.Token, s.Shown, s.seen, s.changed
	}
	*s = fresh
}

// pinned returns the hold that pins the session, or nil.
func (s *Session) pinned() *hold {
	for i := range s.holds {
		if s.holds[i].kind&Pins != 0 {
			return &s.holds[i]
		}
	}
	return nil
}

// find returns the hold of that kind and name, or nil. An empty name finds any.
func (s *Session) find(kind Holds, name string) *hold {
	for i := range s.holds {
		if h := &s.holds[i]; h.kind == kind && (name == "" || strings.EqualFold(h.name, name)) {
			return h
		}
	}
	return nil
}

// touches returns the hold that a statement cannot do without, and why.
func (s *Session) touches(st *Statement, text string) (*hold, Reason) {
	if len(s.holds) == 0 {
		return nil, NoReason
	}
	var kinds Holds
	for i := range s.holds {
		kinds |= s.holds[i].kind
	}
	switch {
	case st.Class == Handler && st.Target == ToHolder && kinds&HoldHandler != 0:
		return s.find(HoldHandler, ""), HeldHandler
	case st.Facts.Any(FactRoutine) && kinds&HoldRoutine != 0:
		return s.find(HoldRoutine, ""), HeldRoutine
	case st.Facts.Any(FactExecutes|FactUnprepares) && kinds&HoldPrepared != 0:
		return s.find(HoldPrepared, ""), HeldStatement
	case kinds&HoldTemporaryTable == 0 && (kinds&HoldVariable == 0 || !st.Facts.Any(FactUserVariable|FactLastInsertID)):
		return nil, NoReason
	}
	return s.mentioned(text, st.Facts.Any(FactUserVariable|FactLastInsertID))
}

// mentioned looks for the name of a held table or variable in the text. A column
// of the same name is taken for the table: the holder can run it as well.
// variables says that the statement reads variables at all.
func (s *Session) mentioned(text string, variables bool) (*hold, Reason) {
	lex := sqltoken.New(text, &s.Options.Options)
	for t := lex.Next(); t.Kind != sqltoken.EOF; t = lex.Next() {
		kind, why := HoldTemporaryTable, HeldTemporaryTable
		name := text[t.Start:t.End]
		switch t.Kind {
		case sqltoken.UserVar:
			kind, why, name = HoldVariable, HeldVariable, unquote(name[1:])
		case sqltoken.Word:
		case sqltoken.Name:
			name = unquote(name)
		default:
			continue
		}
		for i := range s.holds {
			h := &s.holds[i]
			if h.kind == kind && (h.name == "" || strings.EqualFold(h.name, name)) {
				return h, why
			}
		}
	}
	for i := range s.holds { // LAST_INSERT_ID() after LAST_INSERT_ID(x)
		if h := &s.holds[i]; variables && h.kind == HoldVariable && h.name == "" {
			return h, HeldVariable
		}
	}
	return nil, NoReason
}

// unquote returns a name without its quotes and with doubled ones made single.
func unquote(name string) string {
	if len(name) < 2 || strings.IndexByte("'\"`", name[0]) < 0 {
		return name
	}
	q := name[:1]
	return strings.ReplaceAll(name[1:len(name)-1], q+q, q)
}
