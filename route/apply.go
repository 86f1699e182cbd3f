package route

import "strings"

// Apply brings the session up to date after a statement. The server's own word
// in the outcome counts; what it does not say is read from the text.
func (s *Session) Apply(st *Statement, text string, d *Decision, snap *Snapshot, out Outcome) {
	if d.Target == Refuse {
		return
	}
	ran := applied{st: *st, d: *d, out: out}
	if d.Server >= 0 && d.Server < len(snap.Servers) {
		ran.server, ran.role = snap.Servers[d.Server].Name, snap.Servers[d.Server].Role
		s.last = ran.server
		if ran.role == Replica {
			s.home = ran.server
		}
	}
	s.learn(out.Position, ran.server, ran.role)
	if ran.role == Primary && ran.server != "" && st.Target != ToReplica {
		s.changed = out.At
	}
	if ran.server != "" {
		s.sees(&ran, &snap.Servers[d.Server])
	}
	s.holdsAfter(&ran, text)
	switch {
	case !out.Failed:
		s.settings(st, text)
	case st.Count > 1 && st.Facts.Any(FactMode):
		s.unreadable = true // the SET may have run, or not
	}
	s.transaction(&ran, text)
}

// applied is a statement that has run.
type applied struct {
	st     Statement // copied, so that the caller's need not live on the heap
	d      Decision
	out    Outcome
	server string // "" if the proxy answered
	role   Role
	unseen bool // a prepared text ran of which nobody knows what it did
}

// holdsAfter brings the holds up to date.
func (s *Session) holdsAfter(ran *applied, text string) {
	st := &ran.st
	if len(s.holds) > 0 && ran.server != "" && !st.Facts.Any(FactPrevious) {
		s.drop(HoldFoundRows, "")
	}
	const changes = FactUnlocksTables | FactUnlocksInstance | FactReleasesLock | FactReleasesAllLocks | FactDropsTable |
		FactUnprepares | FactHandlerClose | FactSetsVariable | FactRenames | FactOpens
	if ran.d.Starts == 0 && !st.Facts.Any(FactExecutes) && (len(s.holds) == 0 || !st.Facts.Any(changes)) {
		s.unexplained(ran)
		return
	}
	for _, w := range walk(text, &s.Options) {
		one := w.statement(st, &s.Options)
		if st.Count > 1 && one.Facts.Any(FactSetsVariable) {
			one.Facts |= FactAssigns
		}
		kinds := ^Holds(0)
		switch {
		case !ran.out.Failed:
			s.release(&one, w)
		case st.Count == 1: // what it did before it failed stays, on both families
			kinds = PinUserLock | HoldVariable
		}
		if ran.role == Replica { // what a function did there is of no use elsewhere
			kinds &^= HoldRoutine
		}
		s.start(&one, w, ran.server, kinds)
		s.executed(&one, w, ran, kinds)
	}
	if st.Facts.Any(FactUnseen) {
		s.add(hold{kind: PinUnknown, server: ran.server})
	}
	s.unexplained(ran)
}

// unexplained pins the session if the server says that the statement changed
// state, and nothing in the text says which. To a replica a read does not: the
// session could not write any more, and would read nothing newer. MariaDB says
// so of every view of another schema, since it goes there and back, of SHOW
// CREATE of what is in one, and of SET STATEMENT.
func (s *Session) unexplained(ran *applied) {
	if ran.role == Replica && ran.st.Target == ToReplica {
		return
	}
	const explained = FactSession | FactSetsVariable | FactUnprepares | FactDropsTable | FactOpens | FactConnection
	if ran.out.StateChanged && (ran.d.Starts&^HoldRoutine == 0 && !ran.st.Facts.Any(explained)) {
		s.add(hold{kind: PinUnknown, server: ran.server})
	}
}

// add notes a hold. One of a kind and name is enough, but a lock counts.
func (s *Session) add(h hold) {
	for i := range s.holds {
		old := &s.holds[i]
		if old.kind != h.kind || !strings.EqualFold(old.name, h.name) || old.schema != h.schema {
			continue
		}
		if old.count == 0 || h.count == 0 {
			old.count = 0
		} else {
			old.count += h.count
		}
		return
	}
	s.holds = append(s.holds, h)
}

// drop ends the holds of some kinds; an empty name ends all of them.
func (s *Session) drop(kinds Holds, name string) {
	s.dropIf(func(h *hold) bool {
		return h.kind&kinds != 0 && (name == "" || h.name != "" && strings.EqualFold(h.name, name))
	})
}

func (s *Session) dropIf(ends func(*hold) bool) {
	kept := s.holds[:0]
	for i := range s.holds {
		if !ends(&s.holds[i]) {
			kept = append(kept, s.holds[i])
		}
	}
	s.holds = kept
}

// dropTable ends the hold of a temporary table. The table of another schema is
// another table.
func (s *Session) dropTable(o object) {
	schema := s.in(o)
	s.dropIf(func(h *hold) bool {
		return h.kind == HoldTemporaryTable && strings.EqualFold(h.name, o.name) && strings.EqualFold(h.schema, schema)
	})
}

// in returns the schema that a name stands for.
func (s *Session) in(o object) string {
	if o.schema != "" {
		return o.schema
	}
	return s.Schema
}

// release ends what the statement ends.
func (s *Session) release(st *Statement, w *walker) {
	if len(s.holds) == 0 {
		return
	}
	f := st.Facts
	if f.Any(FactUnlocksTables) {
		s.drop(PinTableLocks|PinReadLock, "")
	}
	if f.Any(FactUnlocksInstance) {
		s.drop(PinInstanceLock, "")
	}
	if f.Any(FactOpens) { // START TRANSACTION ends LOCK TABLES, but no global read lock
		s.drop(PinTableLocks, "")
	}
	if f.Any(FactReleasesAllLocks) && w.plainCall() {
		s.drop(PinUserLock, "")
	}
	if f.Any(FactReleasesLock) && w.plainCall() {
		s.releaseLock(w)
	}
	if f.Any(FactDropsTable) {
		for _, o := range w.names("table", "tables") {
			s.dropTable(o)
		}
	}
	if f.Any(FactUnprepares) {
		s.drop(HoldPrepared, w.first("prepare"))
	}
	if f.Any(FactHandlerClose) {
		s.drop(HoldHandler, w.first("handler"))
	}
	if f.Has(FactSetsVariable) && !f.Any(FactAssigns) {
		for _, name := range w.assignedVariables() {
			s.drop(HoldVariable, name)
		}
	}
}

// releaseLock counts one lock down, if it is certain which and how often it was
// taken.
func (s *Session) releaseLock(w *walker) {
	name, sure := w.lock("release_lock")
	if !sure {
		return
	}
	if h := s.find(PinUserLock, name); h != nil && h.count > 0 {
		if h.count--; h.count == 0 {
			s.drop(PinUserLock, name)
		}
	}
}

// start notes what the statement leaves on the connection that ran it, of some
// kinds.
func (s *Session) start(st *Statement, w *walker, server string, kinds Holds) {
	starts := st.Starts() & kinds
	if st.Facts.Any(FactRenames) && kinds&HoldTemporaryTable != 0 {
		s.rename(w, server)
	}
	for _, kind := range AllHolds() {
		if starts&kind == 0 {
			continue
		}
		h := hold{kind: kind, server: server}
		switch kind {
		case HoldTemporaryTable:
			for _, o := range w.names("table", "sequence") {
				h.name, h.schema = o.name, s.in(o)
				s.add(h)
			}
		case HoldVariable:
			names := w.assignedVariables()
			if len(names) == 0 {
				s.add(h)
			}
			for _, h.name = range names {
				s.add(h)
			}
		case HoldHandler:
			h.name = w.handler()
			s.add(h)
		case HoldPrepared:
			h.name, h.starts = w.first("prepare"), preparedText(w, &s.Options)
			s.drop(HoldPrepared, h.name)
			s.add(h)
		case PinUserLock:
			sure := false
			if h.name, sure = w.lock("get_lock"); sure {
				h.count = 1
			}
			s.add(h)
		default:
			s.add(h)
		}
	}
}

// executed adds what an EXECUTE does to what is held, as the text that was
// prepared says.
func (s *Session) executed(st *Statement, w *walker, ran *applied, kinds Holds) {
	if !st.Facts.Any(FactExecutes) {
		return
	}
	h := s.find(HoldPrepared, w.first("execute"))
	if h == nil {
		if !ran.out.Failed {
			s.add(hold{kind: PinUnknown, server: ran.server})
		}
		return
	}
	ran.unseen = h.starts&PinUnknown != 0
	starts := h.starts & kinds
	for _, kind := range AllHolds() {
		if starts&kind != 0 && kind != HoldPrepared {
			s.add(hold{kind: kind, server: ran.server})
		}
	}
}

// rename follows a temporary table that gets another name.
func (s *Session) rename(w *walker, server string) {
	pairs := w.renamed()
	for i := 0; i+1 < len(pairs); i += 2 {
		from, to := pairs[i], pairs[i+1]
		n := len(s.holds)
		if s.dropTable(from); len(s.holds) < n {
			s.add(hold{kind: HoldTemporaryTable, name: to.name, schema: s.in(to), server: server})
		}
	}
}

// transaction brings the transaction's state up to date.
func (s *Session) transaction(ran *applied, text string) {
	t, st, d := &s.Transaction, &ran.st, &ran.d
	switch {
	case !ran.out.Failed:
		s.transactionByText(ran, text)
	case ran.server != "" && !ran.out.StatusKnown && (ran.unseen || st.mayLeaveOpen()):
		s.AutocommitOff = s.AutocommitOff || st.Facts.Any(FactAutocommitOff)
		// An error says nothing of the transaction that a procedure, or a
		// statement in front, may have begun. A COMMIT too many is harmless.
		*t = Transaction{Open: true, Written: true, Server: ran.server, ReadOnly: t.ReadOnly}
	}
	// A replica's word about a transaction counts only if one was open before:
	// a server's own default of autocommit must not bind the session to it.
	here := ran.role == Primary || t.Open || s.AutocommitOff
	if ran.out.StatusKnown && !d.Split && ran.server != "" {
		s.AutocommitOff = ran.out.AutocommitOff
		switch {
		case !ran.out.InTransaction && ran.server == t.Server:
			*t = Transaction{}
		case ran.out.InTransaction && here:
			t.Open, t.Server = true, ran.server
		}
	}
	if (t.Open || s.AutocommitOff) && !d.Split && here && ran.server != "" && d.Target != ToAll && !st.ends() {
		if t.Server == "" {
			t.Server = ran.server
		}
		t.Open = true
		t.Written = t.Written || !t.ReadOnly && st.Target == ToPrimary && st.Class.rank() >= LockingRead.rank()
	}
}

// mayLeaveOpen says whether a transaction may be open behind the statement though
// it failed.
func (st *Statement) mayLeaveOpen() bool {
	return st.Reason == RunsRoutine || st.Facts.Any(FactUnseen) || st.Count > 1 && st.Facts.Any(FactOpens|FactAutocommitOff)
}

// ends says whether the text ends the transaction that is open.
func (st *Statement) ends() bool {
	if st.Facts.Any(FactOpens) {
		return false
	}
	return (st.Class == Commit || st.Class == Rollback) && !st.Facts.Any(FactToSavepoint|FactChain) ||
		st.Facts.Any(FactImplicitCommit) && st.Class != Begin
}

// transactionByText reads what becomes of the transaction from the statement.
func (s *Session) transactionByText(ran *applied, text string) {
	t, st := &s.Transaction, &ran.st
	switch {
	case st.Facts.Any(FactOpens):
		readOnly := st.Facts.Any(FactReadOnly) || !st.Facts.Any(FactReadWrite) && (s.next.readOnly || s.sessionReadOnly)
		*t = Transaction{Open: true, ReadOnly: readOnly}
		t.Server = ran.server
		s.current, s.next = s.next, coming{}
	case st.Class == XA:
		s.distributed(walk(text, &s.Options), ran.server)
	case (st.Class == Commit || st.Class == Rollback) && st.Facts.Any(FactToSavepoint):
	case (st.Class == Commit || st.Class == Rollback) && st.Facts.Any(FactChain):
		*t = Transaction{Open: true, ReadOnly: t.ReadOnly, Server: ran.server}
	case st.ends():
		*t = Transaction{}
		s.current, s.next = coming{}, coming{}
	case st.Class != Set && st.Class != Use && ran.server != "" && !t.Open:
		s.current, s.next = s.next, coming{} // SET TRANSACTION held for this statement
	}
	switch f := st.Facts & (FactAutocommitOn | FactAutocommitOff); f {
	case FactAutocommitOn:
		if s.AutocommitOff {
			*t = Transaction{} // it commits
		}
		s.AutocommitOff = false
	case FactAutocommitOff, FactAutocommitOn | FactAutocommitOff:
		s.AutocommitOff = true
	}
}

// distributed follows an XA transaction. What XA PREPARE leaves stays with its
// connection until it is told to end, unless the server detaches it.
func (s *Session) distributed(statements []*walker, server string) {
	for _, w := range statements {
		switch {
		case !w.word(0, "xa"):
		case w.word(1, "start"), w.word(1, "begin"):
			s.Transaction = Transaction{Open: true, Written: true, Server: server}
		case w.word(1, "commit"), w.word(1, "rollback"):
			s.Transaction = Transaction{}
		}
	}
}
