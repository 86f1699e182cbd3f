package route

import (
	"slices"
	"testing"

	"pgregory.net/rapid"
)

// sessionModel is what one server would know of a session that sent it all of
// its statements. It is written from the manuals, not from the code.
type sessionModel struct {
	autocommitOff   bool
	open            bool   // a transaction is open
	server          string // what runs it, "" until something was sent
	readOnly        bool
	locks           int // of GET_LOCK('a')
	tableLocks      bool
	temporary       bool // table x
	variable        bool // @a has a value that was computed
	prepared, other bool // statement s; HANDLER t
}

// modelStatement is a statement of the model's language.
type modelStatement struct {
	text string
	// kind is what it is: read, write, release, ddl, begin, end, savepoint, set.
	kind string
	// touches says whether it needs what only the holder has.
	touches func(m *sessionModel) bool
	// effect is what it changes besides transactions; nil for nothing.
	effect func(m *sessionModel)
}

func modelStatements() []modelStatement {
	never := func(*sessionModel) bool { return false }
	table := func(m *sessionModel) bool { return m.temporary }
	return []modelStatement{
		{"SELECT * FROM t", "read", never, nil},
		{"SELECT * FROM x", "read", table, nil},
		{"SELECT @a", "read", func(m *sessionModel) bool { return m.variable }, nil},
		{"INSERT INTO t VALUES (1)", "write", never, nil},
		{"INSERT INTO t SELECT * FROM x", "write", table, nil},
		{"SELECT * FROM t FOR UPDATE", "write", never, nil},
		{"CREATE TABLE z (a INT)", "ddl", never, nil},
		{"BEGIN", "begin", never, nil},
		{"START TRANSACTION READ ONLY", "begin", never, nil},
		{"COMMIT", "end", never, nil},
		{"ROLLBACK", "end", never, nil},
		{"SAVEPOINT s", "savepoint", never, nil},
		{"ROLLBACK TO s", "savepoint", never, nil},
		{"SET autocommit = 0", "set", never, func(m *sessionModel) { m.autocommitOff = true }},
		{"SET autocommit = 1", "set", never, func(m *sessionModel) {
			if m.autocommitOff {
				m.open, m.server = false, ""
			}
			m.autocommitOff = false
		}},
		{"SET NAMES utf8mb4", "set", never, nil},
		{"SET @a = 1", "set", never, func(m *sessionModel) { m.variable = false }},
		{"SET @a = (SELECT 1)", "write", never, func(m *sessionModel) { m.variable = true }},
		{"SELECT GET_LOCK('a', 1)", "write", never, func(m *sessionModel) { m.locks++ }},
		{"DO RELEASE_LOCK('a')", "release", never, func(m *sessionModel) { m.locks = max(m.locks-1, 0) }},
		{"SELECT RELEASE_ALL_LOCKS()", "release", never, func(m *sessionModel) { m.locks = 0 }},
		{"LOCK TABLES t READ", "ddl", never, func(m *sessionModel) { m.tableLocks = true }},
		{"UNLOCK TABLES", "release", never, func(m *sessionModel) { m.tableLocks = false }},
		{"CREATE TEMPORARY TABLE IF NOT EXISTS x (a INT)", "write", table, func(m *sessionModel) { m.temporary = true }},
		{"DROP TEMPORARY TABLE IF EXISTS x", "write", table, func(m *sessionModel) { m.temporary = false }},
		{"PREPARE s FROM 'SELECT 1'", "write", never, func(m *sessionModel) { m.prepared = true }},
		{"DEALLOCATE PREPARE s", "release", never, func(m *sessionModel) { m.prepared = false }},
		{"HANDLER t OPEN", "write", never, func(m *sessionModel) { m.other = true }},
		{"HANDLER t CLOSE", "release", never, func(m *sessionModel) { m.other = false }},
	}
}

func (m *sessionModel) pinned() bool { return m.locks > 0 || m.tableLocks }

func (m *sessionModel) holds() bool { return m.temporary || m.variable || m.prepared || m.other }

// allowed returns where the statement may go: servers, "answer", "all" and
// "refuse".
func (m *sessionModel) allowed(st *modelStatement) []string {
	replicas := []string{"replica1", "replica2"}
	switch {
	case m.pinned():
		return []string{"primary"}
	case m.open && m.server == "primary":
		return []string{"primary"}
	case m.open && m.server != "": // READ ONLY, on a replica
		switch st.kind {
		case "read", "end", "savepoint", "set":
			return []string{m.server}
		case "begin":
			return []string{m.server, "answer"}
		case "release": // there is nothing to release, as any server says
			return []string{m.server, "refuse"}
		case "ddl":
			return []string{"primary"}
		}
		return []string{"refuse"}
	case st.kind == "begin", st.kind == "end":
		return []string{"answer"}
	case st.kind == "set":
		return []string{"all"}
	case st.kind != "read", st.touches(m):
		return []string{"primary"}
	case m.open && m.readOnly && m.holds():
		return []string{"primary"}
	case m.open && m.readOnly:
		return replicas
	case m.open, m.autocommitOff:
		return []string{"primary"}
	}
	return replicas
}

// apply is what the statement does on the server that it went to.
func (m *sessionModel) apply(st *modelStatement, server string) {
	if server == "refuse" {
		return
	}
	if server == "answer" || server == "all" {
		server = ""
	}
	switch st.kind {
	case "begin":
		wasReplica := m.server != "" && m.server != "primary"
		m.tableLocks = false
		m.open, m.readOnly, m.server = true, st.text != "BEGIN", server
		if wasReplica && !m.readOnly {
			m.server = ""
		}
	case "end":
		m.open, m.server = false, ""
	case "ddl":
		m.open, m.server = false, ""
	default:
		if (m.open || m.autocommitOff) && server != "" && st.kind != "set" {
			if !m.open {
				m.open, m.readOnly = true, false
			}
			m.server = server
		}
	}
	if st.effect != nil {
		st.effect(m)
	}
}

// outcome is the server's word: its status flags.
func (m *sessionModel) outcome(server string) Outcome {
	return Outcome{StatusKnown: true, InTransaction: m.open && m.server == server, AutocommitOff: m.autocommitOff}
}

// TestSessionModel holds a session against the model, with and without status
// flags: what must be on one connection is there, and what need not be is not.
func TestSessionModel(t *testing.T) {
	statements := modelStatements()
	rapid.Check(t, func(t *rapid.T) {
		policy, snap := threeServers()
		policy.Level = Eventual // no positions here
		tells := rapid.Bool().Draw(t, "the server tells its status")
		var session Session
		var model sessionModel
		for range rapid.IntRange(1, 30).Draw(t, "statements") {
			ms := rapid.SampledFrom(statements).Draw(t, "statement")
			st := Classify(ms.text, &session.Options)
			d := session.Decide(&st, ms.text, policy, snap, nil)
			got := d.Target.String()
			if d.Server >= 0 {
				got = snap.Servers[d.Server].Name
			}
			if want := model.allowed(&ms); !slices.Contains(want, got) {
				t.Fatalf("%s goes to %s because of %v, want %v\nmodel %+v\nsession %+v", ms.text, got, d.Reasons(), want, model, session.Holds())
			}
			model.apply(&ms, got)
			var out Outcome
			if tells && d.Server >= 0 {
				out = model.outcome(got)
			}
			session.Apply(&st, ms.text, &d, snap, out)
		}
	})
}
