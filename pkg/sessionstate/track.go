package sessionstate

import (
	"slices"
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// Track returns the state behind an answer with these trackers, the block of an OK packet: s itself
// if they change nothing. Trackers of other things are passed over, and so is what cannot be read.
func (s *State) Track(trackers []byte) *State { return s.track(trackers, false) }

// Suspect is Track for the answer of every statement that is not a plain SET. MariaDB reports what
// SET STATEMENT sets for the time of a statement and not that it is over, also when a routine does
// it; so Ask asks for what was reported.
func (s *State) Suspect(trackers []byte) *State {
	return s.track(trackers, s.c.server.Flavor == flavor.MariaDB)
}

func (s *State) track(trackers []byte, suspect bool) *State {
	if len(trackers) == 0 {
		return s
	}
	d := draft{s: s, suspect: suspect, block: trackers}
	all := wire.ReadTrackers(trackers)
	for t, ok := all.Next(); ok; t, ok = all.Next() {
		switch t.Type {
		case wire.TrackVariables:
			list := t.Variables()
			for name, value, ok := list.Next(); ok; name, value, ok = list.Next() {
				d.variable(name, value)
			}
		case wire.TrackSchema:
			if schema, err := t.Text(); err == nil && string(schema) != d.s.schema {
				d.own().schema = string(schema)
			}
		case wire.TrackCharacteristics:
			if text, err := t.Text(); err == nil {
				d.characteristics(text)
			}
		}
	}
	if d.s == s {
		return s
	}
	return d.s.interned()
}

// draft is a State on the way to the next one.
type draft struct {
	s       *State
	owned   bool // s is a copy
	suspect bool
	block   []byte
}

// own returns a State that may be changed.
func (d *draft) own() *State {
	if !d.owned {
		next := *d.s
		next.vars = slices.Clone(next.vars)
		d.s, d.owned = &next, true
	}
	return d.s
}

// variable takes the report of one in.
func (d *draft) variable(name, value []byte) {
	v := d.s.c.variables[string(name)]
	if v == nil { // not wanted, or wsrep_OSU_method
		if v = d.s.c.variables[strings.ToLower(string(name))]; v == nil {
			return
		}
	}
	switch v.use {
	case flavor.Ignored:
		return
	case flavor.Part:
		d.doubt(v.other)
		return
	case flavor.Affects:
		d.doubt(v.other)
	case flavor.Alias:
		v = v.other
	}
	i, found := d.s.find(v.name)
	doubt := d.suspect && v.use != flavor.Bound
	switch {
	case !found:
		s := d.own()
		s.vars = slices.Insert(s.vars, i, setting{v: v, value: string(value), doubt: doubt})
	case d.s.vars[i].doubt != doubt || d.s.vars[i].value != string(value):
		d.own().vars[i] = setting{v: v, value: string(value), doubt: doubt}
	}
}

// doubt notes that a variable may have changed, unless the block reports it too: both servers
// report the values at the end of the statement.
func (d *draft) doubt(v *variable) {
	if reports(d.block, v.name) {
		return
	}
	i, found := d.s.find(v.name)
	switch {
	case !found:
		s := d.own()
		s.vars = slices.Insert(s.vars, i, setting{v: v, doubt: true})
	case !d.s.vars[i].doubt:
		d.own().vars[i].doubt = true
	}
}

func reports(block []byte, variable string) bool {
	all := wire.ReadTrackers(block)
	for t, ok := all.Next(); ok; t, ok = all.Next() {
		if t.Type != wire.TrackVariables {
			continue
		}
		list := t.Variables()
		for name, _, ok := list.Next(); ok; name, _, ok = list.Next() {
			if string(name) == variable {
				return true
			}
		}
	}
	return false
}

// characteristics reads "SET TRANSACTION ISOLATION LEVEL SERIALIZABLE; SET TRANSACTION READ ONLY;",
// which waits for the next transaction. With another statement behind them, such as START
// TRANSACTION, it is about the present one, which is not followed here.
func (d *draft) characteristics(list []byte) {
	var next transaction
	for one := range strings.SplitSeq(string(list), ";") {
		one = strings.TrimSpace(one)
		if level, ok := strings.CutPrefix(one, "SET TRANSACTION ISOLATION LEVEL "); ok {
			next.isolation = strings.ReplaceAll(level, " ", "-")
			continue
		}
		switch one {
		case "":
		case "SET TRANSACTION READ ONLY":
			next.readOnly = "ON"
		case "SET TRANSACTION READ WRITE":
			next.readOnly = "OFF"
		default:
			next = transaction{}
		}
	}
	if next != d.s.next {
		d.own().next = next
	}
}

// Ask returns a SET to run on the connection that the session is on, before its state goes to
// another, or "" if all is known. Its trackers go to Track.
func (s *State) Ask() string {
	var b strings.Builder
	for i := range s.vars {
		if one := &s.vars[i]; one.doubt {
			assign(&b, one.v.name, "@@"+one.v.name)
		}
	}
	return b.String()
}
