package proxy

import (
	"bytes"
	"strconv"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/topology"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
	"github.com/mysqlrw/mysqlrw/route"
)

// track takes in what a server tells of changes.
func (s *session) track(l *link, d *route.Decision, block []byte, epoch topology.Epoch, out *outcome) {
	changed, server, plain := false, d.Server, d.Class == route.Set
	r := wire.ReadTrackers(block)
	for {
		t, ok := r.Next()
		if !ok {
			break
		}
		switch t.Type {
		case wire.TrackGTIDs:
			if text, err := t.GTIDs(); err == nil {
				s.position(l, server, text, epoch, out)
			}
		case wire.TrackVariables:
			v := t.Variables()
			for {
				name, value, ok := v.Next()
				if !ok {
					break
				}
				if string(name) == "last_gtid" {
					s.position(l, server, value, epoch, out)
				} else {
					changed = true
				}
			}
		case wire.TrackSchema, wire.TrackCharacteristics:
			changed = true
		case wire.TrackStateChange:
			out.stateChanged = !l.noisy
			l.noisy = false
		}
	}
	if !changed {
		return
	}
	if plain {
		s.state = s.state.Track(block)
	} else {
		s.state = s.state.Suspect(block)
	}
	l.state = s.state
	s.follow()
}

// lookAfter sees to it that what a statement has changed before it failed is found out: an error tells
// nothing of it. The client may ask for its warnings first.
func (s *session) lookAfter(l *link, req *request, d *route.Decision, out *outcome) {
	if l.state != s.state || l.conn.Err() != nil {
		return
	}
	maria := l.catalog.Server().Flavor == flavor.MariaDB
	hides := out.failed && hidesChange(&req.st, out.code)
	switch {
	case !hides && (!maria || !req.st.Facts.Any(route.FactSession) && req.st.Count < 2):
		return
	case s.sole() && !req.st.Facts.Any(route.FactMode): // the next text is read as before
		s.unasked = s.unasked || maria
		return
	}
	s.unseen, s.unseenAt, l.dirty = l, d.Server, true
	if hides && maria && s.mayBeTied(d.Server) { // it never tells of user variables
		s.route.Hold(route.HoldVariable, "", s.serverName(d.Server))
	}
}

// hidesChange tells whether a statement that failed may have changed the session by what is not in its text.
// Triggers fail by SIGNAL, and most writes that fail have none.
func hidesChange(st *route.Statement, code uint16) bool {
	const signal = 1644
	return st.Facts.Any(route.FactRoutine|route.FactUnseen|route.FactExecutes) ||
		(st.Class == route.Write || st.Class == route.Load) && code == signal
}

// mayBeTied tells whether the session can do with being tied to a server.
func (s *session) mayBeTied(server int) bool {
	return s.snap.Servers[server].Role == route.Primary || s.policy.Endpoint == route.ReadOnly
}

// lookNow does what lookAfter has put off, if the connection is still there.
func (s *session) lookNow() {
	l := s.unseen
	s.unseen = nil
	s.with(l, func() {
		if l.state != s.state {
			return
		}
		if l.catalog.Server().Flavor == flavor.MariaDB {
			s.lookUp(l)
		} else {
			s.hearAfter(l)
		}
		l.dirty = false
	})
}

// hearAfter has MySQL tell in the answer to a statement of the proxy what changed behind an error.
func (s *session) hearAfter(l *link) {
	trackers, ok := l.answerTo(s.ctx, "DO 0")
	if !ok {
		return
	}
	s.state = s.state.Track(trackers)
	l.state = s.state
	s.follow()
	r := wire.ReadTrackers(trackers)
	for t, more := r.Next(); more; t, more = r.Next() {
		if t.Type == wire.TrackStateChange && s.mayBeTied(s.unseenAt) {
			s.route.Hold(route.PinUnknown, "", s.serverName(s.unseenAt))
		}
	}
}

// lookUp reads the variables themselves, on a server that does not tell of every change.
func (s *session) lookUp(l *link) {
	if l.catalog.Server().Flavor != flavor.MariaDB || l.state != s.state || l.conn.Err() != nil {
		return
	}
	var values [][]byte
	for _, query := range l.catalog.Look() {
		r, err := l.conn.Query(s.ctx, query)
		if err != nil || len(r.Rows) != 1 {
			l.spoiled = true
			return
		}
		values = append(values, r.Rows[0]...)
	}
	if _, err := l.conn.Exec(s.ctx, "DO 0"); err != nil { // the row that was read last is in the text of warnings
		l.spoiled = true
		return
	}
	s.state = s.state.Looked(values)
	l.state = s.state
	s.follow()
}

// bind pins the session to the connection while it has a variable that cannot go to another one, such
// as timestamp. A record of what runs is no reason to be tied to a server that takes no writes.
func (s *session) bind(server int) {
	name := s.state.Bound()
	if name == s.bound {
		return
	}
	if s.bound != "" {
		s.route.Release(route.PinConnection, s.bound)
		s.bound = ""
	}
	use, _ := flavor.SessionVariable(s.state.Catalog().Server().Flavor, name)
	if use == flavor.Recording && !s.mayBeTied(server) {
		return
	}
	if s.bound = name; name != "" {
		s.route.Hold(route.PinConnection, name, s.serverName(server))
	}
}

// follow tells package route what it reads texts by.
func (s *session) follow() {
	s.route.Schema = s.state.Schema()
	mode, ok := s.state.Value("sql_mode")
	if !ok {
		mode = s.defaults.mode
	}
	charset, _ := s.state.Value("character_set_client")
	s.route.Follow(mode, charset)
	s.wait = 0
	if text, ok := s.state.Value("wait_timeout"); ok {
		if seconds, err := strconv.Atoi(text); err == nil {
			s.wait = time.Duration(seconds) * time.Second
		}
	}
}

// position takes in a position that came with an answer. Most often it is the one before.
func (s *session) position(l *link, server int, text []byte, epoch topology.Epoch, out *outcome) {
	if len(text) == 0 || s.cluster.byLog {
		return
	}
	if bytes.Equal(l.position, text) {
		out.position = l.at
		return
	}
	if len(text) > s.p.conf.Load().positionPiggyback() && l.catalog.Server().Flavor == flavor.MySQL {
		l.from.large.Store(true)
	}
	v, err := gtid.ParseValue(string(text))
	if err != nil {
		return
	}
	l.position, l.at = append(l.position[:0], text...), v
	s.cluster.monitor.Learn(server, epoch, v)
	out.position = v
}
