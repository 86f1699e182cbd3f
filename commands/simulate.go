package commands

import (
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/route"
)

// world is the servers as one session finds them. Nothing is executed and no
// time passes: what the session writes gives the primary the next position, and
// no replica has it yet.
type world struct {
	snap   route.Snapshot
	flavor flavor.Flavor
	source gtid.Source // MySQL: the primary's, the zero value if it is not known
	server uint32      // MariaDB: the primary's server_id, 0 if it is not known
	dirty  bool        // the open transaction has written
}

// settle makes the primary's position the one that reads at level global need.
func (w *world) settle() {
	if p := w.snap.Primary(); p >= 0 {
		w.snap.Current, w.snap.CurrentKnown = w.snap.Servers[p].Position, true
	}
}

// run says what the servers would answer to the statement.
func (w *world) run(s *route.Session, st *route.Statement, d *route.Decision) route.Outcome {
	primary := w.snap.Primary()
	open := s.Transaction.Open || s.AutocommitOff
	commits := st.Class == route.Commit && !st.Facts.Any(route.FactToSavepoint) ||
		st.Facts.Any(route.FactImplicitCommit) || s.AutocommitOff && st.Facts.Any(route.FactAutocommitOn)
	writes := primary >= 0 && d.Server == primary && writesData(st)
	var done bool
	switch {
	case st.Class == route.Rollback && !st.Facts.Any(route.FactToSavepoint):
		w.dirty = false
	case open && !commits:
		w.dirty = w.dirty || writes
	default:
		done = writes || w.dirty && commits
		w.dirty = false
	}
	if !done || primary < 0 {
		return route.Outcome{}
	}
	sv := &w.snap.Servers[primary]
	own := w.next(sv.Position)
	position, err := sv.Position.Union(own)
	if err != nil { // both are of the primary's kind
		return route.Outcome{}
	}
	sv.Position = position
	w.settle()
	return route.Outcome{Position: own, Wrote: true}
}

// writesData says whether the statement leaves a transaction in the binary log.
// What cannot be seen from here is taken for one that does.
func writesData(st *route.Statement) bool {
	switch st.Class {
	case route.Write:
		return st.Reason != route.AssignsVariable && st.Reason != route.WritesFile
	case route.DDL:
		temporary := st.Facts.Any(route.FactTemporary) || st.Facts.Any(route.FactDropsTable) && !st.Facts.Any(route.FactImplicitCommit)
		return !temporary
	case route.Load, route.Call, route.Execute, route.XA, route.Unknown:
		return true
	}
	return false
}

// next is the transaction that follows a position, by its most advanced source
// if the primary's own is not known.
func (w *world) next(v gtid.Value) gtid.Value {
	if log, ok := v.LogPos(); ok {
		log.Offset++
		return log.Value()
	}
	if position, ok := v.DomainPos(); ok || w.flavor == flavor.MariaDB {
		last := gtid.DomainGTID{Server: 1}
		for g := range position.Domains() {
			if g.Seq > last.Seq {
				last = g
			}
		}
		if w.server != 0 {
			last.Server = w.server
		}
		last.Seq++
		return gtid.DomainPos{}.With(last).Value()
	}
	set, _ := v.Set()
	source := w.source
	if source == (gtid.Source{}) {
		most := int64(0)
		for s := range set.Sources() {
			if n := set.Last(s); n > most {
				source, most = s, n
			}
		}
	}
	return gtid.Set{}.Add(gtid.GTID{UUID: source.UUID, Tag: source.Tag, Seq: set.Last(source) + 1}).Value()
}
