package proxy

import (
	"errors"
	"strconv"
	"strings"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/frontend"
	"github.com/mysqlrw/mysqlrw/pkg/pool"
	"github.com/mysqlrw/mysqlrw/pkg/sessionstate"
	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
	"github.com/mysqlrw/mysqlrw/route"
)

// answerItself answers what no server needs to.
func (s *session) answerItself(req *request, d *route.Decision) error {
	s.note(req, d, -1)
	text := strings.Clone(req.text)
	switch req.st.Class {
	case route.Admin:
		return s.killStatement(text)
	case route.Show:
		return s.showOwn(req, text)
	}
	before := s.route
	s.route.Apply(&req.st, text, d, &s.snap, route.Outcome{})
	if req.st.Class == route.Set && !s.route.Token.Equal(before.Token) {
		if why := s.doubted(req, s.route.Token); why != "" {
			s.route = before
			return s.fail(1231, "42000", "mysqlrw: SET mysqlrw_token: "+why)
		}
	}
	switch req.st.Class {
	case route.Begin:
		s.begin = text
	case route.Commit, route.Rollback:
		s.begin = ""
	}
	s.releaseIdle()
	return s.ok()
}

// initDB selects a schema, on a server that says whether there is one.
func (s *session) initDB(payload []byte) error {
	req := request{command: wire.ComInitDB, payload: payload, st: route.Statement{
		Class: route.Use, Target: route.ToAll, Reason: route.ChangesSession, Facts: route.FactSession, Count: 1,
	}}
	return s.run(&req)
}

// onPrimary passes an old command on as the statement that it is.
func (s *session) onPrimary(payload []byte) error {
	req := request{command: wire.Command(payload[0]), payload: payload, st: route.Statement{
		Class: route.Admin, Target: route.ToPrimary, Reason: route.Administers, Count: 1,
	}}
	return s.run(&req)
}

// onPrimaryText runs a statement that the proxy thought was for itself on the primary.
func (s *session) onPrimaryText(text string) error {
	payload := wire.AppendQuery(nil, text, s.client.Capabilities())
	req := request{command: wire.ComQuery, payload: payload, text: text, st: route.Statement{
		Class: route.Admin, Target: route.ToPrimary, Reason: route.Administers, Count: 1,
	}}
	return s.run(&req)
}

// resetConnection makes the session as it was after the login. The schema stays, and so does the
// position that reads must not be older than: a pool that resets its connections relies on it.
func (s *session) resetConnection() error {
	s.resetLinks()
	s.route.Reset(!s.policy.DropToken)
	if cat := s.first.Catalog(); cat.Server().Flavor == flavor.MySQL {
		s.first = cat.New(0) // it takes the server's character set then, not that of the login
	}
	s.restart(s.first.WithSchema(s.state.Schema()))
	return s.ok()
}

// resetLinks resets the connections that the session has, and leaves them in the pool as its own.
func (s *session) resetLinks() {
	s.closeStatements()
	for i := range s.links {
		one := &s.links[i]
		if !s.regain(i) {
			*one = held{}
			continue
		}
		l := one.h.Member
		l.insertID.owed = nil
		if l.conn.Err() != nil || l.spoiled || l.reset(s.ctx) != nil {
			s.discard(i)
			continue
		}
		l.unselected = false // as the server leaves it
		if one.at = s.p.now(); !s.needs(i) {
			s.letGo(i, pool.Soft)
		}
	}
	s.insertOn, s.last = nil, -1
}

// restart begins the session anew in a state.
func (s *session) restart(state *sessionstate.State) {
	s.closeStatements()
	s.state = state
	s.begin, s.bound = "", ""
	s.question, s.askedOn, s.identity, s.unseen, s.unasked = nil, nil, nil, nil, false
	s.told.Store(0)
	s.insertID, s.insertOn = insertID{known: true}, nil
	s.tracks.reset(s.defaults.tracked)
	s.status = wire.Autocommit
	if s.defaults.autocommitOff {
		s.route.AutocommitOff, s.status = true, 0
	}
	s.route.SetReadCommitted(s.defaults.readCommitted)
	s.follow()
}

// changeUser is a login on the same connection. MariaDB goes on with the user of before, in a new
// session, if it refuses the other one; it answers the fourth such refusal, and what follows, without
// looking.
func (s *session) changeUser(payload []byte) error {
	stays := s.first.Catalog().Server().Flavor == flavor.MariaDB
	s.dropLinks()
	if stays && s.refusals >= maxRefusals {
		s.goOn()
		return s.fail(1047, "08S01", "Unknown command")
	}
	user, account, want, first, standard, options, state := s.user, s.account, s.want, s.first, s.defaults, s.route.Options, s.state
	login, err := s.client.ChangeUser(s.ctx, payload)
	denied := errors.Is(err, frontend.ErrDenied)
	if err == nil {
		s.p.log.Debug("change user", "session", s.id, "user", login.User)
		s.route.Reset(s.user == login.User)
		err = s.admit(login)
		var refused *wire.ServerError
		denied = errors.As(err, &refused)
	}
	switch {
	case err == nil:
		return nil
	case !stays || !denied || s.client.Err() != nil:
		return errEnd
	}
	s.user, s.account, s.want, s.first, s.defaults, s.route.Options, s.state = user, account, want, first, standard, options, state
	s.p.sessions.add(s)
	s.goOn()
	s.refusals++
	s.aside()
	select { // as the server does, against guessing
	case <-time.After(time.Second):
	case <-s.ctx.Done():
		return s.cut()
	}
	return nil
}

// maxRefusals is after how many MariaDB refuses every change of the user.
const maxRefusals = 3

// goOn makes the session a new one of the same user, with its schema.
func (s *session) goOn() {
	s.route.Reset(true)
	s.restart(s.first.WithSchema(s.state.Schema()))
}

// setOption runs a COM_SET_OPTION: whether several statements may come in one text.
func (s *session) setOption(payload []byte) error {
	if len(payload) < 3 || payload[2] != 0 || payload[1] > 1 {
		return s.fail(1047, "08S01", "Unknown command")
	}
	on := payload[1] == 0
	s.client.SetCapability(wire.MultiStatements, on)
	s.want &^= wire.MultiStatements
	if on {
		s.want |= wire.MultiStatements
	}
	for i := range s.links { // connections of the other kind are of no use
		one := &s.links[i]
		if !s.regain(i) {
			s.lose(i)
			continue
		}
		if !s.ties(i) {
			s.giveBack(i, one.h)
			s.lose(i)
			continue
		}
		l := one.h.Member
		l.spoiled = true
		start := append(make([]byte, 0, 8), 3, 0, 0, 0)
		if err := l.conn.Write(append(start, payload...)); err == nil {
			_, _ = l.conn.Answer(wire.ComSetOption) // a failure shows with the next statement
		}
	}
	ok := wire.OK{AfterRows: true, EOF: !s.client.Capabilities().Has(wire.DeprecateEOF), Status: s.present()}
	return s.client.WriteOK(&ok)
}

// asksConnectionID tells whether a text is SELECT CONNECTION_ID() and nothing else, and what its
// column is called. The server's own number would be of no use for KILL.
func asksConnectionID(text string, o *sqltoken.Options) (column string, ok bool) {
	lex := sqltoken.New(text, o)
	want := [...]string{"select", "connection_id", "(", ")"}
	from, to := 0, 0
	for i := range want {
		t := lex.Next()
		if !strings.EqualFold(text[t.Start:t.End], want[i]) {
			return "", false
		}
		if i == 1 {
			from = t.Start
		}
		to = t.End
	}
	column = text[from:to]
	t := lex.Next()
	if t.Kind == sqltoken.Word && strings.EqualFold(text[t.Start:t.End], "as") {
		t = lex.Next()
		if t.Kind != sqltoken.Word && t.Kind != sqltoken.Name {
			return "", false
		}
	}
	if t.Kind == sqltoken.Word || t.Kind == sqltoken.Name {
		column = strings.Trim(text[t.Start:t.End], "`\"'")
		t = lex.Next()
	}
	for t.Kind == sqltoken.Semicolon {
		t = lex.Next()
	}
	return column, t.Kind == sqltoken.EOF
}

func (s *session) connectionID(column string) error {
	return s.result([]resultColumn{{name: column, number: true}}, [][]string{{strconv.FormatUint(uint64(s.id), 10)}})
}
