package route

import (
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
)

// Memory is what the reads of a session must not go behind: what it wrote and what it has been shown. It is a
// value, and all that one Session needs of another to go on in its place. The zero value asks for nothing.
type Memory struct {
	token, shown gtid.Value
	primary      string
	there        gtid.Value
	seen         seen
	changed      time.Time
	merged       uint64 // statements, by Merge
}

// Memory returns the session's.
func (s *Session) Memory() Memory {
	return Memory{token: s.Token, shown: s.Shown, primary: s.primary, there: s.there, seen: s.seen, changed: s.changed}
}

// Recall gives the session another memory in the place of its own.
func (s *Session) Recall(m Memory) {
	s.Token, s.Shown, s.primary, s.there, s.seen, s.changed = m.token, m.shown, m.primary, m.there, m.seen, m.changed
}

// Remembered returns the memory of a session that must see a position. Unless it is settled, it must also see
// whatever anybody can have seen when it is recalled.
func Remembered(position gtid.Value, settled bool) Memory {
	m := Memory{token: position, shown: position}
	if !settled {
		m.Unsettle()
	}
	return m
}

// Position returns the position that reads must see.
func (m *Memory) Position() gtid.Value { return m.token }

// Settled tells whether Position is all that they must see. Otherwise the session was shown something, or wrote
// it, that no position names: what it needs is known only when the primary has been asked.
func (m *Memory) Settled() bool { return m.seen.server == "" }

// Unsettle has reads see all that anybody can have seen: something was written of which nobody said what number
// it has.
func (m *Memory) Unsettle() { m.seen = seen{server: "-", many: true} }

// Wrote adds the position of a write that another session has made.
func (m *Memory) Wrote(position gtid.Value) {
	if both, err := m.token.Union(position); err == nil {
		m.token = both
	}
}

// Forget takes out what a failover has lost, as Session.Forget does.
func (m *Memory) Forget(lost, kept gtid.Value) bool {
	s := Session{Token: m.token, Shown: m.shown}
	some := s.Forget(lost, kept)
	m.token, m.shown = s.Token, s.Shown
	return some
}

// Merge takes in what a statement has added, for statements of one session that run at the same time: then is the
// memory with which it began, and now the one with which it ended.
func (m *Memory) Merge(then, now *Memory) {
	n := m.merged + 1
	if m.same(then) {
		*m = *now
		m.merged = n
		return
	}
	m.merged = n
	m.Wrote(now.token)
	if both, err := m.shown.Union(now.shown); err == nil {
		m.shown = both
	}
	if now.primary != "" && now.primary != m.primary {
		m.primary, m.there = now.primary, gtid.Value{}
	}
	if both, err := m.there.Union(now.there); err == nil && now.primary == m.primary {
		m.there = both
	}
	if now.changed.After(m.changed) {
		m.changed = now.changed
	}
	switch { // what others were shown meanwhile is not settled by what this one has
	case m.seen.server == "":
		m.seen = now.seen
	case now.seen.server != "" && m.seen != now.seen:
		m.seen.many = true
	}
}

// same tells whether nothing came between.
func (m *Memory) same(o *Memory) bool {
	return m.merged == o.merged && m.seen == o.seen && m.primary == o.primary && m.changed.Equal(o.changed) &&
		m.token.Equal(o.token) && m.shown.Equal(o.shown) && m.there.Equal(o.there)
}
