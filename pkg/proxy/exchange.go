package proxy

import (
	"errors"
	"strconv"
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/sessionstate"
	"github.com/mysqlrw/mysqlrw/pkg/topology"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
	"github.com/mysqlrw/mysqlrw/route"
)

// outcome is what became of a statement on a server.
type outcome struct {
	end    error // the client is gone
	broken error // the connection to the server is
	begun  bool  // a BEGIN went in front
	began  bool  // the client has a part of the answer

	elsewhere bool             // the server did nothing, and another one can do it
	misled    bool             // the server is not the one any more that reads at weak run on
	late      bool             // the server did not reach the position in time
	behind    bool             // the server lacks something that the primary may have, or refused the state
	anew      bool             // the same once more
	failed    bool             // the server's last word is an error
	code      uint16           // its number
	said      wire.ServerError // with elsewhere

	affected     uint64
	info         []byte // of an OK; aliases the connection's buffer
	warnings     uint16
	status       wire.Status
	statusKnown  bool
	stateChanged bool
	position     gtid.Value
}

// stepKind is what goes in front of a statement.
type stepKind uint8

const (
	stepState stepKind = iota // the session's variables
	stepSchema
	stepInsertID
	stepWait // until the server has what the statement must see
	stepBegin
	stepPosition // in front of none: where the primary stands, for the reads of several sessions
	stepKinds    = iota
)

type step struct {
	kind    stepKind
	command wire.Command
}

// exchange sends a statement with all that must go before it, and relays the answer.
func (s *session) exchange(l *link, req *request, d *route.Decision, epoch topology.Epoch) (out outcome) {
	if l.expired != nil && !s.renews(l, req, d, &out) {
		return out
	}
	if req.executes() && l.prepared[req.stmt.text] == nil {
		if err := s.prepareFirst(l, req, d, &out); err != nil {
			return s.notReady(l, err)
		}
		if out.broken != nil || out.end != nil || out.failed {
			return out
		}
	}
	s.packets, s.steps = s.packets[:0], s.steps[:0]
	sure, err := s.prelude(l, req, d)
	if err != nil {
		return s.notReady(l, err)
	}
	// What must not run in another state than the session's waits until the state is there. What may
	// run twice goes with it.
	if !sure && !req.repeatable() && !s.stepsFirst(l, req, d, epoch, &out) {
		return out
	}
	if s.begin != "" && !d.Split && opensTransaction(req) {
		s.addStep(l, stepBegin, wire.ComQuery, s.begin)
		out.begun = true
	}
	if err := s.addStatement(l, req); err != nil {
		out.failed = true
		out.end = s.fail(1835, "HY000", "Malformed communication packet.")
		return out
	}
	if out.broken = l.conn.Write(s.packets); out.broken != nil {
		return out
	}
	if len(s.steps) > 0 {
		if out.broken = s.readSteps(l, req, d, epoch, &out); out.broken != nil {
			return out
		}
		switch {
		case out.failed:
			return s.ranAstray(l, req, d, out)
		case out.late:
			s.tooLate(l, req, d, &out)
			return out
		}
	}
	s.follows(req, d, &out)
	s.relay(l, req, d, epoch, &out)
	l.conn.Release()
	return out
}

// renews tells whether a statement may run on a connection whose password has expired: it has not any
// more, or the statement may set another one. A replica may not have that yet.
func (s *session) renews(l *link, req *request, d *route.Decision, out *outcome) bool {
	out.broken = l.wasReset(s.ctx, l.state.Schema())
	if out.broken != nil || l.expired == nil || changesRights(&req.st, req.text) {
		return out.broken == nil
	}
	e := l.expired
	out.failed, out.code, out.behind = true, e.Code, true
	s.out, _ = wire.Finish(e.Append(wire.Reserve(s.out[:0])), 0, s.client.Seq())
	*out = s.stepsFailed(req, d, *out)
	return false
}

// notReady tells why a connection could not be given the session's state.
func (s *session) notReady(l *link, err error) (out outcome) {
	var move cannotMove
	var both cannotAnswer
	if errors.As(err, &move) || errors.As(err, &both) {
		out.failed = true
		l.spoiled = l.spoiled || len(s.packets) > 0 // it does not get what it is taken to have
		out.end = s.fail(1105, "HY000", "mysqlrw: "+err.Error())
		return out
	}
	out.broken = err
	return out
}

// stepsFirst sends what goes before the statement by itself. It returns false if out says how the
// statement ended.
func (s *session) stepsFirst(l *link, req *request, d *route.Decision, epoch topology.Epoch, out *outcome) bool {
	if out.broken = l.conn.Write(s.packets); out.broken != nil {
		return false
	}
	if out.broken = s.readSteps(l, req, d, epoch, out); out.broken != nil {
		return false
	}
	if out.failed {
		*out = s.stepsFailed(req, d, *out)
		return false
	}
	if out.late {
		return false
	}
	s.packets, s.steps = s.packets[:0], s.steps[:0]
	return true
}

// ranAstray goes on after a statement that ran in another state than the session's. Nobody sees its
// answer.
func (s *session) ranAstray(l *link, req *request, d *route.Decision, out outcome) outcome {
	_, err := l.conn.Answer(req.command)
	switch {
	case err != nil && l.conn.Err() != nil:
		out.broken = err
		return out
	case err == nil && !req.repeatable():
		s.out = s.out[:0]
		_ = s.fail(1105, "HY000", "mysqlrw: the transaction could not be begun, and the statement took effect outside of it")
		out.end = errEnd
		return out
	}
	return s.stepsFailed(req, d, out)
}

// stepsFailed tells the client why its statement did not run, unless another server may run it.
func (s *session) stepsFailed(req *request, d *route.Decision, out outcome) outcome {
	if out.behind && s.mayMove(req, d) && !(d.Chosen && req.moved) {
		s.out = s.out[:0]
		return out
	}
	out.behind = false
	if e := s.client.Write(s.out); e != nil {
		out.end = e
	}
	s.out = s.out[:0]
	return out
}

// mayMove tells whether a read that a replica has not the schema for can run elsewhere.
func (s *session) mayMove(req *request, d *route.Decision) bool {
	return d.Target == route.ToReplica && s.snap.Servers[d.Server].Role == route.Replica && req.repeatable() && s.snap.Primary() >= 0
}

// prelude puts into s.packets the wait for what the decision requires, and what makes the connection's
// session equal to the client's. sure says that none of it can fail. The wait goes first: with a schema the
// privileges of then are selected.
func (s *session) prelude(l *link, req *request, d *route.Decision) (sure bool, err error) {
	for _, id := range l.unwanted {
		m := wire.StmtClose{StatementID: id}
		start := len(s.packets)
		s.packets, _ = wire.Finish(m.Append(wire.Reserve(s.packets)), start, 0)
	}
	l.noisy = l.noisy || len(l.unwanted) > 0
	l.unwanted = l.unwanted[:0]
	if l.expired != nil {
		charset, _ := s.state.Value("character_set_client")
		if !isASCII(req.text) && !strings.HasPrefix(charset, "utf8") {
			return false, cannotMove("character_set_client")
		}
		return true, nil
	}
	if l.listed && !s.continues(l) {
		s.addStep(l, stepState, wire.ComQuery, emptyList)
		l.listed = false
	}
	sure = d.Wait <= 0
	differs := l.state != s.state || l.unselected
	var diff sessionstate.Diff
	if differs {
		if diff, err = s.align(l); err != nil {
			return false, err
		}
	}
	if !sure {
		s.addWait(l, d)
	}
	if differs {
		if l.unselected && diff.Schema == "" {
			diff.Schema = s.state.Schema()
		}
		l.unselected = false
		if diff.First != "" {
			s.addStep(l, stepState, wire.ComQuery, diff.First)
		}
		if diff.Schema != "" {
			s.addStep(l, stepSchema, wire.ComInitDB, diff.Schema)
		}
		if diff.Set != "" {
			s.addStep(l, stepState, wire.ComQuery, diff.Set)
		}
		sure = sure && diff.Schema == "" && (diff.Set == "" || l.from.sure(s.account, s.state))
		l.state = s.state
	}
	if own := s.tracks.gtids || l.from.large.Load(); own != l.ownGTIDs && !req.asksPrevious() && !l.conn.Status().Has(wire.InTransaction) && l.catalog.Server().Flavor == flavor.MySQL {
		set := "SET session_track_gtids=ALL_GTIDS"
		if own {
			set = "SET session_track_gtids=OWN_GTID"
		}
		s.addStep(l, stepState, wire.ComQuery, set)
		l.ownGTIDs = own
	}
	s.showTracks(l, req)
	may := mayHoldNext
	if s.sole() { // what a routine says about the next transaction is where that begins
		may = route.FactNextTransaction
	}
	if next := req.st.Facts.Any(may) || s.state.NextTransaction(); next != l.next && !req.asksPrevious() {
		if set := l.catalog.WatchNext(next); set != "" {
			s.addStep(l, stepState, wire.ComQuery, set)
		}
		l.next = next
	}
	if err := s.addInsertID(l, req); err != nil {
		return sure, err
	}
	if l.noisy && len(s.steps) == 0 && mayHide(&req.st) && !req.asksPrevious() {
		s.addStep(l, stepState, wire.ComQuery, "DO 0") // its answer has the report of what is known
	}
	return sure, nil
}

// mayHide tells whether a statement may change the session by what is not in its text: a procedure, a
// trigger.
func mayHide(st *route.Statement) bool {
	return st.Class == route.Write || st.Class == route.Load || st.Count > 1 || st.Reason == route.UnknownFunction ||
		st.Facts.Any(route.FactRoutine|route.FactExecutes|route.FactUnseen)
}

// emptyList ends what another session, or another statement of this one, has left in the list of
// warnings: it uses a table.
const emptyList = "DO (SELECT 1 FROM (SELECT 1) AS d)"

// mayHoldNext is what a statement with a SET TRANSACTION in it has: for the next one, or out of sight.
const mayHoldNext = route.FactNextTransaction | route.FactRoutine | route.FactExecutes | route.FactUnseen

// cannotMove is why a session's state cannot go to another connection.
type cannotMove string

func (v cannotMove) Error() string {
	return "the session has set " + string(v) + ", which cannot be carried to another connection"
}

// cannotAnswer is why a statement that asks two things of its connection gets neither.
type cannotAnswer string

func (v cannotAnswer) Error() string { return string(v) }

// align returns what the connection lacks of the session's state. What cannot be sent together with
// a statement is done here.
func (s *session) align(l *link) (sessionstate.Diff, error) {
	diff := s.state.Diff(l.state)
	if diff.Reset {
		if err := l.reset(s.ctx); err != nil {
			return diff, err
		}
		diff = s.state.Diff(l.state)
	}
	if diff.NoSchema { // only a login has none
		if err := l.conn.ChangeUser(s.ctx, s.account.user, s.account.password, ""); err != nil {
			return diff, err
		}
		l.state = l.catalog.New(0)
		if err := l.wasReset(s.ctx, ""); err != nil {
			return diff, err
		}
		diff = s.state.Diff(l.state)
	}
	if diff.Cannot != "" {
		return diff, cannotMove(diff.Cannot)
	}
	return diff, nil
}

// opensTransaction tells whether a command is one that a BEGIN has to go before.
func opensTransaction(req *request) bool {
	switch req.command {
	case wire.ComStmtPrepare, wire.ComInitDB, wire.ComStmtFetch:
		return false
	}
	// Whether the next transaction or the server may be changed in one, the server is to say; and a value
	// that is read has its snapshot.
	if req.st.Facts.Any(route.FactNextTransaction | route.FactGlobal | route.FactAssigns) {
		return true
	}
	return req.st.Class != route.Set && req.st.Class != route.Use
}

// addInsertID sets LAST_INSERT_ID() where the statement could see another session's. A SET ends what
// there is to be said of the statement before, but for FOUND_ROWS().
func (s *session) addInsertID(l *link, req *request) error {
	asks := req.st.Facts.Any(route.FactLastInsertID)
	if !asks && (req.st.Target == route.ToReplica || req.asksPrevious()) || !s.insertID.known && s.owes(l) {
		return nil
	}
	if !s.insertID.known {
		if !asks {
			return nil
		}
		s.collectInsertID()
	}
	if l.insertID.known && l.insertID.value == s.insertID.value {
		return nil
	}
	if req.asksPrevious() && (!containsFold(req.text, "found_rows") || containsFold(req.text, "_count")) {
		return cannotAnswer("LAST_INSERT_ID() is not known where the statement before ran, and asking for it would end what is known of that: " +
			"ask for it afterwards (previous-statement)")
	}
	s.addStep(l, stepInsertID, wire.ComQuery, "SET last_insert_id="+strconv.FormatUint(s.insertID.value, 10))
	l.insertID = insertID{value: s.insertID.value, known: true}
	return nil
}

// hasInsertOn tells whether the session has, or got back, the connection that knows LAST_INSERT_ID().
func (s *session) hasInsertOn() bool {
	return s.insertOn != nil && s.links[s.insertAt].h != nil && s.links[s.insertAt].h.Member == s.insertOn && s.regain(s.insertAt) &&
		s.owes(s.insertOn)
}

// owes tells whether a connection that the session has knows its LAST_INSERT_ID() still: another session
// may have had the connection meanwhile.
func (s *session) owes(l *link) bool {
	return s.insertOn == l && s.debt != nil && l.insertID.owed == s.debt
}

// collectInsertID learns LAST_INSERT_ID() from the connection that has it, or from whoever took that.
func (s *session) collectInsertID() {
	s.insertID = insertID{value: s.insertOK, known: true}
	defer func() { s.insertOn, s.debt = nil, nil }()
	l, asked := s.insertOn, false
	has := s.with(l, func() {
		if asked = s.owes(l); !asked {
			return
		}
		if value, err := l.lastInsertID(s.ctx); err == nil {
			s.insertID.value = value
			l.insertID = insertID{value: value, known: true}
		}
	})
	if asked || s.debt == nil {
		return
	}
	paid := func(value uint64, ok bool) {
		if ok {
			s.insertID.value = value
		}
	}
	s.aside()
	if has { // whoever had it meanwhile has paid
		select {
		case value, ok := <-s.debt.paid:
			paid(value, ok)
		default:
		}
		return
	}
	select {
	case value, ok := <-s.debt.paid:
		paid(value, ok)
	case <-s.ctx.Done():
	}
}

func (s *session) addStep(l *link, kind stepKind, command wire.Command, text string) {
	start := len(s.packets)
	b := wire.Reserve(s.packets)
	switch command {
	case wire.ComQuery:
		b = append(b, byte(wire.ComQuery))
		if l.conn.Capabilities().Has(wire.QueryAttributes) {
			b = append(b, 0, 1)
		}
		b = append(b, text...)
	default:
		b = append(append(b, byte(command)), text...)
	}
	s.packets, _ = wire.Finish(b, start, 0)
	s.steps = append(s.steps, step{kind: kind, command: command})
	l.from.station.tally.own[kind].Add(1)
}

// readSteps reads the answers to what went before the statement. One that failed is the statement's
// error, in s.out.
func (s *session) readSteps(l *link, req *request, d *route.Decision, epoch topology.Epoch, out *outcome) error {
	for _, st := range s.steps {
		if st.kind == stepWait {
			if err := s.waited(l, req, d, epoch, out); err != nil {
				return err
			}
			continue
		}
		_, err := l.conn.Answer(st.command)
		if err == nil {
			continue
		}
		var e *wire.ServerError
		if !errors.As(err, &e) || l.conn.Err() != nil {
			return err
		}
		l.spoiled = true // whatever it is in now
		if st.kind == stepSchema {
			s.account.noteSchema(s.state.Schema(), false)
		}
		if !out.failed {
			out.failed, out.code = true, e.Code
			out.behind = st.kind == stepSchema || st.kind == stepState
			start := len(s.out)
			s.out, _ = wire.Finish(e.Append(wire.Reserve(s.out)), start, 1)
		}
	}
	if !out.failed {
		l.from.prove(s.account, s.state)
	}
	l.noisy = l.noisy && len(s.steps) == 0 // the answers told of it
	return nil
}

// addStatement puts the statement itself into s.packets, for a connection with the proxy's
// capabilities.
func (s *session) addStatement(l *link, req *request) error {
	start := len(s.packets)
	b := wire.Reserve(s.packets)
	server, client := l.conn.Capabilities().Has(wire.QueryAttributes), s.client.Capabilities().Has(wire.QueryAttributes)
	switch {
	case req.executes():
		s.appendLongData(l, req.stmt)
		start = len(s.packets)
		b = wire.Reserve(s.packets)
		var err error
		if b, err = s.appendExecute(b, l, req); err != nil {
			return err
		}
	case req.command != wire.ComQuery || server == client:
		b = append(b, req.payload...)
	case server:
		b = wire.AppendQuery(b, req.text, wire.QueryAttributes)
	default:
		b = wire.AppendQuery(b, req.text, 0)
	}
	s.packets, s.answerSeq = wire.Finish(b, start, 0)
	return nil
}
