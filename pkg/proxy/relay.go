package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/topology"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
	"github.com/mysqlrw/mysqlrw/route"
)

// flushAt is how much of an answer is collected before it is written, when more is there already.
const flushAt = 32 << 10

// gatherAt is how much of one long message is collected for a client with compression. MySQL's clients
// copy all that they have of a message for each further frame: 50 MB in frames of flushAt take minutes.
const gatherAt = 1 << 20

// relay passes the answer of the server to the client, and learns from it.
func (s *session) relay(l *link, req *request, d *route.Decision, epoch topology.Epoch, out *outcome) {
	s.out = s.out[:0]
	conv := &s.answer
	if !conv.Start(req.command, l.conn.Capabilities(), s.client.Capabilities(), s.present(), s.tracks.keep) {
		out.end = s.fail(1047, "08S01", "Unknown command")
		return
	}
	conv.Begin(s.answerSeq, s.client.Seq())
	if (req.st.Class == route.Call || req.st.Count > 1) && !s.client.Capabilities().Has(wire.DeprecateEOF) {
		conv.Statements(route.Calls(req.text, &s.route.Options))
	}
	if s.begin != "" && !out.begun {
		conv.Set(s.present() & (wire.InTransaction | wire.InReadOnly))
	}
	a := conv.Answer()
	for !a.Done() {
		var n int
		var step wire.Step
		var err error
		start := len(s.out)
		s.out, n, step, err = conv.Append(s.out, l.conn.Peek())
		if err != nil {
			out.broken = err
			return
		}
		switch step {
		case wire.StepMore:
			if !s.more(l, a, out) {
				s.leftMidway(l, out)
				return
			}
			continue
		case wire.StepEnd:
			s.finished(l, d, a.Final(), epoch, out)
		case wire.StepError:
			if s.erred(l, req, d, a, out) {
				l.conn.Advance(n)
				s.out = s.out[:0]
				return
			}
			if start == 0 && !out.began { // a server that ends a connection numbers its last word from 0
				s.out[wire.HeaderSize-1] = s.client.Seq()
			}
		case wire.StepHead:
			if req.command == wire.ComStmtPrepare {
				s.preparedOn(l, req, a.Prepared(), s.out[start:])
				l.noisy = true
			}
		case wire.StepFile:
			l.conn.Advance(n)
			if !s.file(l, out) {
				return
			}
			continue
		case wire.StepAuth:
			out.broken = errors.New("the server asks for an authentication in the middle of a session")
			return
		}
		l.conn.Advance(n)
		if len(s.out) >= flushAt && !a.Done() && !s.gathers(a) && !s.flush(out) {
			s.leftMidway(l, out)
			return
		}
	}
	if s.misled(out) {
		out.misled, s.out = true, s.out[:0]
		return
	}
	s.after(l, req, d, out)
	s.flush(out)
}

// gathers tells whether what there is of a message waits for more of it.
func (s *session) gathers(a *wire.Answer) bool {
	return len(s.out) < gatherAt && !a.Between() && s.client.Capabilities()&(wire.Compress|wire.ZstdCompression) != 0
}

// more gets more of the answer. What there is goes to the client first: the rest may take long.
func (s *session) more(l *link, a *wire.Answer, out *outcome) bool {
	if len(s.out) > 0 && !s.gathers(a) && !s.flush(out) {
		return false
	}
	if _, err := l.conn.Fill(a.Need()); err != nil {
		out.broken = err
		return false
	}
	return true
}

// flush writes what is collected to the client.
func (s *session) flush(out *outcome) bool {
	if s.misled(out) {
		out.broken, s.out = errMisled, s.out[:0]
		return false
	}
	out.began = true
	err := s.client.Write(s.out)
	s.out = s.out[:0]
	if err != nil {
		out.end = errEnd
		return false
	}
	return true
}

// finished takes in the OK that ended a result.
func (s *session) finished(l *link, d *route.Decision, ok *wire.OK, epoch topology.Epoch, out *outcome) {
	out.failed = false
	out.status, out.statusKnown = ok.Status, true
	out.warnings, out.affected, out.info = ok.Warnings, ok.AffectedRows, ok.Info
	l.conn.SetStatus(ok.Status)
	if ok.LastInsertID != 0 && !ok.AfterRows {
		// The number may be one that the statement gave itself, which LAST_INSERT_ID() is not: only
		// the server knows.
		if s.insertOn != l || s.debt == nil || l.insertID.owed != s.debt {
			s.debt = newDebt()
		}
		l.insertID = insertID{owed: s.debt}
		s.insertID.known, s.insertOn, s.insertAt, s.insertOK = false, l, d.Server, ok.LastInsertID
	}
	if ok.Trackers != nil {
		s.track(l, d, ok.Trackers, epoch, out)
	}
}

// changesRights tells whether a statement may have changed accounts or privileges. One too many costs
// some logins.
func changesRights(st *route.Statement, text string) bool {
	switch st.Class {
	case route.DDL, route.Admin, route.Set, route.Call, route.Execute, route.Unknown:
	case route.Write, route.Load:
		return st.Facts.Any(route.FactSystemSchema)
	default:
		return false
	}
	if len(text) > maxRights {
		return false
	}
	text = strings.ToLower(text)
	for _, word := range [...]string{"user", "grant", "revoke", "role", "password", "privileges"} {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// maxRights is the length of a text over which it is no statement about accounts.
const maxRights = 64 << 10

// erred takes in an error. It returns true if the client does not get it: the server has done
// nothing, and another one can do it.
func (s *session) erred(l *link, req *request, d *route.Decision, a *wire.Answer, out *outcome) bool {
	var e wire.ServerError
	if e.Decode(a.ErrorPayload()) != nil {
		return false
	}
	out.failed, out.code = true, e.Code
	if out.began || out.statusKnown { // a part of the answer is out
		return false
	}
	switch e.Code {
	case 1290, 1792, 1836:
		if s.nothingDone(req, d, out, e.Message) {
			out.elsewhere, out.said = true, e
			return true
		}
	case 1049, 1054, 1146, 1305: // a replica may lack yet what the primary has
		if req.repeatable() && d.Target == route.ToReplica && s.mayMove(req, d) && !req.moved {
			out.behind = true
			return true
		}
	case 1615: // the statement has to be prepared anew
		if req.command == wire.ComStmtExecute {
			l.forget(req.stmt.text)
			out.anew = !req.piecemeal()
			return out.anew
		}
	case 1053, 1927, 3169: // the server closes behind it
		if req.repeatable() && s.lost(d.Server, out.begun) == "" && !s.wasKilled() {
			out.broken = &e
			return true
		}
	}
	return false
}

// nothingDone tells whether a server that refused a statement for being read-only has done nothing
// for this session that would be lost elsewhere. Error 1290 has other reasons as well.
func (s *session) nothingDone(req *request, d *route.Decision, out *outcome, message string) bool {
	if out.code == 1290 && !bytes.Contains([]byte(message), []byte("read")) {
		return false
	}
	if s.route.Transaction.Open || req.st.Count > 1 || s.route.Transaction.ReadOnly {
		return false
	}
	if s.policy.Endpoint == route.ReadOnly || req.piecemeal() {
		return false
	}
	switch d.Target {
	case route.ToPrimary:
		return out.code != 1792
	case route.ToReplica:
		return s.snap.Servers[d.Server].Role == route.Replica
	}
	return false
}

// after brings session and connection up to date when the answer is complete, before the client has
// the end of it.
func (s *session) after(l *link, req *request, d *route.Decision, out *outcome) {
	if out.begun {
		s.begin = ""
	}
	switch req.command {
	case wire.ComStmtPrepare:
		return
	case wire.ComStmtExecute, wire.ComStmtFetch:
		s.cursor(req, d, out)
		if req.command == wire.ComStmtFetch {
			return
		}
	}
	if req.command == wire.ComStmtExecute && req.st.Target == route.ToReplica {
		out.stateChanged = false // servers prepare anew for themselves, and call that a change
	}
	if out.stateChanged && s.snap.Servers[d.Server].Role == route.Replica { // which does not pin the session
		l.dirty = true
	}
	text := req.lasting(s, d)
	s.answered = s.p.now()
	s.route.Apply(&req.st, text, d, &s.snap, route.Outcome{
		Failed: out.failed, StatusKnown: out.statusKnown && !out.failed,
		InTransaction: out.status.Has(wire.InTransaction), AutocommitOff: !out.status.Has(wire.Autocommit),
		Position: out.position, Wrote: s.wrote(l, req, d, out), StateChanged: out.stateChanged, At: s.answered,
	})
	if req.st.Class == route.Set {
		s.follow() // the server's word counts over what the text may have meant
	}
	if t := &s.route.Transaction; out.begun && t.Open && t.Server == "" {
		t.Server = s.serverName(d.Server)
	}
	if out.statusKnown {
		s.status = out.status
	}
	if out.failed {
		s.lookAfter(l, req, d, out)
		return
	}
	if req.st.Class == route.Use {
		s.selected++ // the session's other connections have the privileges in the schema of when they selected it
		s.links[d.Server].selected = s.selected
	}
	if changesRights(&req.st, text) {
		for _, one := range s.cluster.servers {
			one.dialing.rights.Add(1)
		}
		s.p.accounts.doubt()
	}
	if req.st.Class == route.XA {
		l.spoiled = true // what XA PREPARE leaves outlives a reset, and goes with the connection
	}
	if req.st.Facts.Any(route.FactGlobal) || req.st.Class == route.Admin && containsFold(text, "optimizer_costs") {
		l.from.generation.Add(1)
		l.from.small.Store(false)
	}
	if s.p.conf.Load().ServerIDs && req.st.Facts.Any(route.FactConnectionState) && containsFold(text, "connection_id") {
		s.identity = l
		s.told.Store(uint64(l.conn.ID()))
	}
	if req.st.Class == route.Set && req.st.Facts.Any(route.FactSession) && strings.Contains(text, "@@") { // MariaDB does not tell of SET @@x
		if out.warnings == 0 && (!s.sole() || req.st.Facts.Any(route.FactMode)) {
			s.lookUp(l)
		} else {
			s.lookAfter(l, req, d, out)
		}
	}
	s.variables(l, req, text, s.serverName(d.Server))
	s.bind(d.Server)
	if req.st.Class == route.Set && containsFold(text, "session_track_") {
		s.retrack(l, text)
	}
	if !s.route.Transaction.Open {
		s.begin = ""
	}
}

// cursor follows whether a statement has one open.
func (s *session) cursor(req *request, d *route.Decision, out *outcome) {
	open := out.status.Has(wire.CursorExists) && !out.status.Has(wire.LastRowSent) && !out.failed
	s.setCursor(req.stmt, d.Server, open)
}

func (s *session) setCursor(st *statement, server int, open bool) {
	if st.cursor >= 0 {
		s.cursors--
		st.cursor = -1
	}
	if open {
		s.cursors++
		st.cursor = server
	}
}

// variables takes in user variables that were set to literals: every connection can be given them.
// Those that are too many or too large stay where they are.
func (s *session) variables(l *link, req *request, text, server string) {
	if !req.st.Facts.Any(route.FactSetsVariable) || req.st.Facts.Any(route.FactAssigns) {
		return
	}
	charset, _ := s.state.Value("character_set_client")
	collation, _ := s.state.Value("collation_connection")
	names, literals, ok := route.UserVariables(text, &s.route.Options, charset, collation)
	state := s.state
	for i := 0; ok && i < len(names); i++ {
		if state = state.WithUserVariable(names[i], literals[i]); state == nil {
			ok = false
		}
	}
	if !ok {
		s.route.Hold(route.HoldVariable, "", server)
		return
	}
	s.state, l.state = state, state
}

// file passes a file of LOAD DATA LOCAL from the client to the server.
func (s *session) file(l *link, out *outcome) bool {
	if !s.flush(out) {
		return false
	}
	shift := s.answer.Shift()
	for {
		payload, seq, err := s.client.ReadPacket()
		if err != nil {
			out.end = fmt.Errorf("in the middle of LOAD DATA LOCAL: %w", err)
			return false
		}
		var head [wire.HeaderSize]byte
		wire.PutHeader(head[:], len(payload), seq-shift)
		s.packets = append(append(s.packets[:0], head[:]...), payload...)
		if err := l.conn.Write(s.packets); err != nil {
			out.broken = err
			return false
		}
		if len(payload) == 0 {
			return true
		}
	}
}
