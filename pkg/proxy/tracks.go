package proxy

import (
	"fmt"
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/wire"
	"github.com/mysqlrw/mysqlrw/route"
)

// tracks is what a client wants to be told of changes: its own session_track_ variables. The proxy
// has its own on every connection.
type tracks struct {
	keep func(wire.Tracker) bool // for wire.Converter; made once

	list       string // of variables, as the client sees it
	variables  []string
	all        bool // every variable
	schema     bool
	state      bool
	gtids      bool
	characters bool // characteristics
	info       bool // the transaction's state
	own        bool // the server has the client's own settings now: what it reports is right
}

// reset makes it what a new session has, of variables the list.
func (t *tracks) reset(list string) {
	keep := t.keep
	*t = tracks{keep: keep, schema: true}
	t.listed(list)
	if t.keep == nil {
		t.keep = t.wants
	}
}

// listed takes in a list of variables.
func (t *tracks) listed(list string) {
	if t.list == list {
		return
	}
	t.list, t.all, t.variables = list, list == "*", t.variables[:0]
	for one := range strings.SplitSeq(list, ",") {
		t.variables = append(t.variables, strings.TrimSpace(one))
	}
}

// set returns the SET that makes a server show what the client has set.
func (t *tracks) set() string {
	state := "OFF"
	switch {
	case t.characters:
		state = "CHARACTERISTICS"
	case t.info:
		state = "STATE"
	}
	return fmt.Sprintf("SET session_track_system_variables='%s', session_track_schema=%t, session_track_state_change=%t,"+
		" session_track_transaction_info='%s'", strings.ReplaceAll(t.list, "'", "''"), t.schema, t.state, state)
}

// readsTracks tells whether a statement may show what is set of session_track_ variables. One that sets
// variables shows it by what is reported, but then no change of another variable is.
func (s *session) readsTracks(req *request) bool {
	if len(req.text) > maxRights {
		return false
	}
	asks := strings.Contains(req.text, "@@") || req.st.Class == route.Show
	if sets := req.st.Facts; sets.Any(route.FactSession) {
		asks = s.sole() && !sets.Any(route.FactMode) && !strings.Contains(req.text, ",")
	}
	return asks && containsFold(req.text, "track")
}

// showTracks has the server show the client's own settings to a statement that may read them, and then report
// to the proxy again.
func (s *session) showTracks(l *link, req *request) {
	set := ""
	if s.readsTracks(req) {
		set = s.tracks.set()
	}
	if req.asksPrevious() {
		set = l.shows
	}
	if s.tracks.own = set != ""; set == l.shows {
		return
	}
	if l.shows, l.next = set, false; s.tracks.own {
		s.addStep(l, stepState, wire.ComQuery, set)
		return
	}
	s.addStep(l, stepState, wire.ComQuery, l.catalog.Watch())
	if set := l.catalog.WatchNext(false); set != "" {
		s.addStep(l, stepState, wire.ComQuery, set)
	}
}

// wants tells whether the client gets a tracker.
func (t *tracks) wants(one wire.Tracker) bool {
	if t.own && one.Type != wire.TrackGTIDs {
		return true
	}
	switch one.Type {
	case wire.TrackVariables:
		if t.all {
			return true
		}
		v := one.Variables()
		name, _, _ := v.Next()
		for _, want := range t.variables {
			if string(name) == want {
				return true
			}
		}
	case wire.TrackSchema:
		return t.schema
	case wire.TrackStateChange:
		return t.state
	case wire.TrackGTIDs:
		return t.gtids
	case wire.TrackCharacteristics:
		return t.characters
	case wire.TrackTransaction:
		return t.info
	}
	return false
}

// retrack finds out what the client wants now, behind a SET of a session_track_ variable, and tells
// the server again what the proxy wants. What the text does not name is the proxy's own still.
func (s *session) retrack(l *link, text string) {
	r, err := l.conn.Query(s.ctx, "SHOW SESSION VARIABLES LIKE 'session\\_track\\_%'")
	if err != nil {
		return // the connection is lost, which the next statement finds
	}
	t := &s.tracks
	for _, row := range r.Rows {
		name, value := string(row[0]), string(row[1])
		if !containsFold(text, name) {
			continue
		}
		on := value != "OFF" && value != "0"
		switch strings.TrimPrefix(name, "session_track_") {
		case "schema":
			t.schema = on
		case "state_change":
			t.state = on
		case "gtids":
			t.gtids = on
		case "transaction_info":
			t.info, t.characters = on, value == "CHARACTERISTICS"
		case "system_variables":
			t.listed(value)
		}
	}
	l.spoiled = l.spoiled || !l.tell(s.ctx)
}

func containsFold(text, part string) bool {
	return strings.Contains(strings.ToLower(text), part)
}
