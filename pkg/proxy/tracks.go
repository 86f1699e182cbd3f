package proxy

import (
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// tracks is what a client wants to be told of changes: its own session_track_ variables. The proxy
// has its own on every connection.
type tracks struct {
	keep func(wire.Tracker) bool // for wire.Converter; made once

	variables  []string
	all        bool // every variable
	schema     bool
	state      bool
	gtids      bool
	characters bool // characteristics
	info       bool // the transaction's state
}

// reset makes it what a server has by default.
func (t *tracks) reset() {
	keep := t.keep
	*t = tracks{
		keep: keep, schema: true,
		variables: []string{"time_zone", "autocommit", "character_set_client", "character_set_results", "character_set_connection"},
	}
	if t.keep == nil {
		t.keep = t.wants
	}
}

// wants tells whether the client gets a tracker.
func (t *tracks) wants(one wire.Tracker) bool {
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
			t.all = value == "*"
			t.variables = t.variables[:0]
			for one := range strings.SplitSeq(value, ",") {
				t.variables = append(t.variables, strings.TrimSpace(one))
			}
		}
	}
	l.spoiled = l.spoiled || !l.tell(s.ctx)
}

func containsFold(text, part string) bool {
	return strings.Contains(strings.ToLower(text), part)
}
