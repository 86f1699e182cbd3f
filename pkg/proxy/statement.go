package proxy

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"sync"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sessionstate"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
	"github.com/mysqlrw/mysqlrw/route"
)

// statement is a prepared statement of a client. It is prepared on a server when it is first run
// there.
type statement struct {
	id     uint32 // as the client knows it
	text   *preparedText
	st     route.Statement
	params int
	types  []byte // of the parameters, as the client sent them last
	// long are the pieces of COM_STMT_SEND_LONG_DATA since the last execution, as commands.
	long     [][]byte
	longSize int
	cursor   int // the server that has a cursor open, or -1
}

// preparedKey is what the meaning of a statement depends on when it is prepared.
type preparedKey struct {
	text, schema, mode, client, connection string
}

// preparedText is a preparedKey that all sessions share, so that one that a connection has prepared
// is found by its address.
type preparedText struct {
	preparedKey
	users int // under texts.mu
}

// texts are the texts of all prepared statements that clients have.
type texts struct {
	mu  sync.Mutex
	all map[preparedKey]*preparedText
}

// get returns the one of a key; put must follow.
func (t *texts) get(k preparedKey) *preparedText {
	t.mu.Lock()
	defer t.mu.Unlock()
	one := t.all[k]
	if one == nil {
		k.text = strings.Clone(k.text)
		one = &preparedText{preparedKey: k}
		if t.all == nil {
			t.all = map[preparedKey]*preparedText{}
		}
		t.all[k] = one
	}
	one.users++
	return one
}

func (t *texts) put(one *preparedText) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if one.users--; one.users == 0 {
		delete(t.all, one.preparedKey)
	}
}

// preparedOn is a statement as a connection knows it.
type preparedOn struct {
	id   uint32
	used uint64
}

// maxPrepared is how many statements a connection keeps; MySQL allows 16,382 on all of them.
const maxPrepared = 128

// keep notes that a connection has a statement, and gives up the one that was used longest ago if
// they are too many.
func (l *link) keep(t *preparedText, id uint32) {
	if old := l.prepared[t]; old != nil {
		l.unwanted = append(l.unwanted, old.id)
	}
	if len(l.prepared) >= maxPrepared {
		var oldest *preparedText
		for k, v := range l.prepared {
			if oldest == nil || v.used < l.prepared[oldest].used {
				oldest = k
			}
		}
		l.forget(oldest)
	}
	if l.prepared == nil {
		l.prepared = map[*preparedText]*preparedOn{}
	}
	l.uses++
	l.prepared[t] = &preparedOn{id: id, used: l.uses}
}

// forget closes a statement with the next write.
func (l *link) forget(t *preparedText) {
	if on := l.prepared[t]; on != nil {
		l.unwanted = append(l.unwanted, on.id)
		delete(l.prepared, t)
	}
}

// preparedKey returns the key of a text in the session's present state.
func (s *session) preparedKey(text string) preparedKey {
	k := preparedKey{text: text, schema: s.state.Schema()}
	k.mode, _ = s.state.Value("sql_mode")
	k.client, _ = s.state.Value("character_set_client")
	k.connection, _ = s.state.Value("collation_connection")
	return k
}

// maxStatements bounds the statements of one client, as a server bounds those of all.
const maxStatements = 16382

// prepareStatement runs a COM_STMT_PREPARE where the statement would run.
func (s *session) prepareStatement(payload []byte) error {
	if len(s.statements) >= maxStatements {
		return s.fail(1461, "42000", fmt.Sprintf("Can't create more than max_prepared_stmt_count statements (current value: %d)", maxStatements))
	}
	s.prepared = 0 // one that fails leaves no last one
	req := request{command: wire.ComStmtPrepare, payload: payload, text: unsafeText(payload[1:])}
	req.st = route.Classify(req.text, &s.route.Options)
	return s.run(&req)
}

// preparedOn takes in what a server said to COM_STMT_PREPARE, and gives the statement a number of
// the proxy's own. packet is what the client gets.
func (s *session) preparedOn(l *link, req *request, ok wire.PrepareOK, packet []byte) {
	s.lastID++
	for s.statements[s.lastID] != nil || s.lastID == 0 || s.lastID == wire.LastPrepared {
		s.lastID++
	}
	st := &statement{id: s.lastID, text: s.p.texts.get(s.preparedKey(req.text)), st: req.st, params: int(ok.Params), cursor: -1}
	if s.statements == nil {
		s.statements = map[uint32]*statement{}
	}
	s.statements[st.id] = st
	s.prepared = st.id
	l.keep(st.text, ok.StatementID)
	ok.StatementID = st.id
	ok.Append(packet[:wire.HeaderSize], l.conn.Capabilities()) // as long as it was
}

// findStatement returns the statement that a command names, nil if there is none.
func (s *session) findStatement(payload []byte) *statement {
	id, ok := wire.StatementID(payload)
	if !ok {
		return nil
	}
	if id == wire.LastPrepared {
		id = s.prepared
	}
	return s.statements[id]
}

func (s *session) unknownStatement(payload []byte, function string) error {
	id, ok := wire.StatementID(payload)
	if !ok {
		return s.fail(1835, "HY000", "Malformed communication packet.")
	}
	if s.first.Catalog().Server().Flavor == flavor.MySQL {
		function = "mysql_stmt_precheck"
	}
	return s.fail(1243, "HY000", fmt.Sprintf("Unknown prepared statement handler (%d) given to %s", id, function))
}

// executeStatement runs a COM_STMT_EXECUTE where the statement belongs now.
func (s *session) executeStatement(payload []byte) error {
	st := s.findStatement(payload)
	if st == nil {
		return s.unknownStatement(payload, "mysqld_stmt_execute")
	}
	types, err := s.sentTypes(payload, st)
	if err != nil {
		return s.fail(1835, "HY000", "Malformed communication packet.")
	}
	if len(types) > 0 && !bytes.Equal(st.types, types) {
		st.types = append(st.types[:0], types...)
	}
	if st.cursor >= 0 { // executing again closes it
		s.closeCursor(st)
	}
	req := request{command: wire.Command(payload[0]), payload: payload, text: st.text.text, st: st.st, stmt: st}
	err = s.run(&req)
	st.long, st.longSize = nil, 0
	return err
}

// sentTypes returns the types of parameters that an execution brings, if it does.
func (s *session) sentTypes(payload []byte, st *statement) ([]byte, error) {
	if wire.Command(payload[0]) == wire.ComStmtBulkExecute {
		var m wire.BulkExecute
		err := m.Decode(payload, st.params)
		return m.Types, err
	}
	var m wire.Execute
	err := m.Decode(payload, st.params, s.client.Capabilities())
	return m.Parameters.Types, err
}

// bulkExecute runs a COM_STMT_BULK_EXECUTE, if the client has agreed on it as a server wants.
func (s *session) bulkExecute(payload []byte) error {
	switch {
	case s.client.Capabilities().Has(wire.MariaDBBulk):
		return s.executeStatement(payload)
	case s.first.Catalog().Server().Flavor == flavor.MariaDB:
		return s.fail(1295, "HY000", "This command is not supported in the prepared statement protocol yet")
	}
	return s.fail(1047, "08S01", "Unknown command")
}

// appendExecute appends the execution for a connection that has the statement.
func (s *session) appendExecute(b []byte, l *link, req *request) ([]byte, error) {
	st := req.stmt
	on := l.prepared[st.text]
	l.uses++
	on.used = l.uses
	if req.command == wire.ComStmtBulkExecute {
		var m wire.BulkExecute
		if err := m.Decode(req.payload, st.params); err != nil {
			return nil, err
		}
		m.StatementID = on.id
		m.Remember(st.types)
		return m.Append(b), nil
	}
	var m wire.Execute
	if err := m.Decode(req.payload, st.params, s.client.Capabilities()); err != nil {
		return nil, err
	}
	m.StatementID = on.id
	m.Remember(st.types)
	var long func(i int) bool
	if len(st.long) > 0 {
		long = st.isLong
	}
	return m.Append(b, l.conn.Capabilities(), long)
}

// isLong tells whether a parameter came in pieces.
func (st *statement) isLong(i int) bool {
	for _, piece := range st.long {
		var d wire.SendLongData
		if d.Decode(piece) == nil && int(d.Param) == i {
			return true
		}
	}
	return false
}

// appendLongData appends the pieces of long data, which must come before the execution.
func (s *session) appendLongData(l *link, st *statement) {
	on := l.prepared[st.text]
	for _, piece := range st.long {
		start := len(s.packets)
		b := append(wire.Reserve(s.packets), piece...)
		wire.PutStatementID(b[start+wire.HeaderSize:], on.id)
		s.packets, _ = wire.Finish(b, start, 0)
	}
}

// prepareFirst prepares the statement on a connection that does not have it, in the state that it
// was prepared in first: schema, sql_mode and character sets decide what its text means. out says if
// that failed; the error is that the connection cannot be given the state.
func (s *session) prepareFirst(l *link, req *request, d *route.Decision, out *outcome) error {
	present := s.state
	s.state = s.stateOf(req.stmt.text)
	defer func() { s.state = present }()
	s.packets, s.steps = s.packets[:0], s.steps[:0]
	if _, err := s.prelude(l, &request{command: wire.ComStmtPrepare, st: route.Statement{Target: route.ToReplica}}, &route.Decision{}); err != nil {
		return err
	}
	start := len(s.packets)
	b := append(append(wire.Reserve(s.packets), byte(wire.ComStmtPrepare)), req.stmt.text.text...)
	s.packets, _ = wire.Finish(b, start, 0)
	if out.broken = l.conn.Write(s.packets); out.broken != nil {
		return nil
	}
	if out.broken = s.readSteps(l, req, d, 0, out); out.broken != nil {
		return nil
	}
	id, err := l.readPrepare()
	var e *wire.ServerError
	if err != nil && !errors.As(err, &e) {
		out.broken = err
		return nil
	}
	if err == nil && !out.failed {
		l.keep(req.stmt.text, id)
		l.noisy = true
		return nil
	}
	if !out.failed { // a replica may lack the table yet
		out.failed, out.code, out.behind = true, e.Code, true
		s.out, _ = wire.Finish(e.Append(wire.Reserve(s.out[:0])), 0, 1)
	}
	*out = s.stepsFailed(req, d, *out)
	return nil
}

// stateOf returns the session's state as it was, as far as it counts, when a statement was prepared.
func (s *session) stateOf(t *preparedText) *sessionstate.State {
	now := s.preparedKey(t.text)
	if now == t.preparedKey {
		return s.state
	}
	var block []byte
	add := func(name, then, now, standard string) {
		if then == "" {
			then = standard
		}
		if then != now && then != "" {
			block = wire.AppendVariable(block, name, then)
		}
	}
	add("sql_mode", t.mode, now.mode, s.defaults.mode)
	add("character_set_client", t.client, now.client, "")
	add("collation_connection", t.connection, now.connection, "")
	return s.state.WithSchema(t.schema).Track(block)
}

// readPrepare reads the answer to a COM_STMT_PREPARE that was written.
func (l *link) readPrepare() (id uint32, err error) {
	var a wire.Answer
	a.Start(wire.ComStmtPrepare, l.conn.Capabilities())
	for !a.Done() {
		n, step, err := a.Next(l.conn.Peek())
		if err != nil {
			return 0, err
		}
		switch step {
		case wire.StepMore:
			if _, err := l.conn.Fill(a.Need()); err != nil {
				return 0, err
			}
		case wire.StepHead:
			id = a.Prepared().StatementID
		case wire.StepError:
			var e wire.ServerError
			if err := e.Decode(a.ErrorPayload()); err != nil {
				return 0, err
			}
			l.conn.Advance(n)
			return 0, &e
		}
		l.conn.Advance(n)
	}
	return id, nil
}

// closeStatement runs a COM_STMT_CLOSE, which has no answer. Connections keep what they prepared:
// the next client may want the same.
func (s *session) closeStatement(payload []byte) error {
	st := s.findStatement(payload)
	if st == nil {
		return nil
	}
	if st.cursor >= 0 {
		s.closeCursor(st)
	}
	delete(s.statements, st.id)
	s.p.texts.put(st.text)
	return nil
}

// closeCursor closes the cursor of a statement, by closing the statement on that connection with
// the next write.
func (s *session) closeCursor(st *statement) {
	i := st.cursor
	s.setCursor(st, -1, false)
	if h := s.links[i].h; h != nil && s.links[i].have {
		h.Member.forget(st.text)
		s.releaseIdle()
	}
}

// closeStatements forgets all statements, as a reset of the session does.
func (s *session) closeStatements() {
	for _, st := range s.statements {
		if st.cursor >= 0 {
			s.closeCursor(st)
		}
		s.p.texts.put(st.text)
	}
	clear(s.statements)
	s.prepared = 0
}

// resetStatement runs a COM_STMT_RESET.
func (s *session) resetStatement(payload []byte) error {
	st := s.findStatement(payload)
	if st == nil {
		return s.unknownStatement(payload, "mysqld_stmt_reset")
	}
	st.long, st.longSize = nil, 0
	if st.cursor >= 0 {
		s.closeCursor(st)
	}
	return s.ok()
}

// longData keeps a piece of a parameter until the statement is executed, since nobody knows yet
// where that will be. It has no answer: an error is the execution's.
func (s *session) longData(payload []byte) error {
	st := s.findStatement(payload)
	if st == nil {
		return nil
	}
	if st.longSize += len(payload); st.longSize > s.p.conf.Load().maxPacket() {
		return s.fail(1153, "08S01", "Got a packet bigger than 'max_allowed_packet' bytes")
	}
	st.long = append(st.long, bytes.Clone(payload))
	return nil
}

// fetch runs a COM_STMT_FETCH on the connection that has the cursor.
func (s *session) fetch(payload []byte) error {
	st := s.findStatement(payload)
	if st == nil {
		return s.unknownStatement(payload, "mysqld_stmt_fetch")
	}
	if st.cursor < 0 || !s.links[st.cursor].have {
		return s.fail(1421, "HY000", fmt.Sprintf("The statement (%d) has no open cursor.", st.id))
	}
	i := st.cursor
	l := s.links[i].h.Member
	wire.PutStatementID(payload, l.prepared[st.text].id)
	req := request{command: wire.ComStmtFetch, payload: payload, stmt: st}
	d := route.Decision{Target: route.ToHolder, Server: i}
	_, err := s.try(&req, &d)
	return err
}
