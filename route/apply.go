package route

import "strings"

// Apply brings the session up to date after a statement. The server's own word
// in the outcome counts; what it does not say is read from the text.
func (s *Session) Apply(st *Statement, text string, d *Decision, snap *Snapshot, out Outcome) {
	if d.Target == Refuse {
		return
	}
	server := ""
	if d.Server >= 0 && d.Server < len(snap.Servers) {
		server = snap.Servers[d.Server].Name
	}
	if server != "" {
		s.last = server
		if s.home == "" && snap.Servers[d.Server].Role == Replica {
			s.home = server
		}
	}
	if token, err := s.Token.Union(out.Position); err == nil {
		s.Token = token
	}
	if !out.Failed {
		s.release(st, text, server)
		s.start(st, text, d, server)
		s.settings(st, text)
		s.executed(st, text, server)
	}
	if out.StateChanged && st.Facts.Any(FactRoutine) {
		s.add(hold{kind: PinUnknown, server: server})
	}
	s.transaction(st, d, server, out)
}

// add notes a hold. One of a kind and name is enough, but a lock counts.
func (s *Session) add(h hold) {
	if h.kind&PinUserLock == 0 {
		if s.find(h.kind, h.name) != nil && h.name != "" || h.name == "" && s.unnamed(h.kind) {
			return
		}
		s.holds = append(s.holds, h)
		return
	}
	if old := s.find(PinUserLock, h.name); old != nil && old.name == h.name {
		if old.count == 0 || h.count == 0 {
			old.count = 0
		} else {
			old.count += h.count
		}
		return
	}
	s.holds = append(s.holds, h)
}

func (s *Session) unnamed(kind Holds) bool {
	for i := range s.holds {
		if s.holds[i].kind == kind && s.holds[i].name == "" {
			return true
		}
	}
	return false
}

// drop ends the holds of some kinds; an empty name ends all of them.
func (s *Session) drop(kinds Holds, name string) {
	kept := s.holds[:0]
	for _, h := range s.holds {
		if h.kind&kinds == 0 || name != "" && !strings.EqualFold(h.name, name) {
			kept = append(kept, h)
		}
	}
	s.holds = kept
}

// release ends what the statement ends.
func (s *Session) release(st *Statement, text, server string) {
	if len(s.holds) == 0 {
		return
	}
	if d := st.Facts; !d.Any(FactPrevious) && st.Class != Empty && server != "" {
		s.drop(HoldFoundRows, "")
	}
	if st.Facts.Any(FactUnlocksTables) {
		s.drop(PinTableLocks|PinReadLock, "")
	}
	if st.Facts.Any(FactUnlocksInstance) {
		s.drop(PinInstanceLock, "")
	}
	if st.Class == Begin { // START TRANSACTION ends LOCK TABLES, but no global read lock
		s.drop(PinTableLocks, "")
	}
	if st.Facts.Any(FactReleasesAllLocks) {
		s.drop(PinUserLock, "")
	}
	if st.Facts.Any(FactReleasesLock) {
		s.releaseLock(text)
	}
	w := walk(text, &s.Options)
	switch {
	case st.Facts.Any(FactDropsTable):
		for _, name := range w.names("table", "tables") {
			s.drop(HoldTemporaryTable, name)
		}
	case st.Facts.Any(FactUnprepares):
		for _, name := range w.names("prepare", "prepare") {
			s.drop(HoldPrepared, name)
		}
	case st.Facts.Any(FactHandlerClose):
		for _, name := range w.names("handler", "handler") {
			s.drop(HoldHandler, name)
		}
	case st.Facts.Any(FactSetsVariable):
		for _, name := range w.assignedVariables() {
			s.drop(HoldVariable, name)
		}
	}
}

// releaseLock counts one lock down, if it is certain which and how often it was
// taken.
func (s *Session) releaseLock(text string) {
	name, sure := walk(text, &s.Options).lock("release_lock")
	if !sure || name == "" {
		return
	}
	if h := s.find(PinUserLock, name); h != nil && h.count > 0 {
		if h.count--; h.count == 0 {
			s.drop(PinUserLock, name)
		}
	}
}

// start notes what the statement leaves on the connection that ran it.
func (s *Session) start(st *Statement, text string, d *Decision, server string) {
	if d.Starts == 0 {
		return
	}
	w := walk(text, &s.Options)
	for _, kind := range AllHolds() {
		if d.Starts&kind == 0 {
			continue
		}
		h := hold{kind: kind, server: server}
		switch kind {
		case HoldTemporaryTable:
			s.addNames(h, w.names("table", "sequence"))
		case HoldVariable:
			s.addNames(h, w.assignedVariables())
		case HoldHandler:
			s.addNames(h, w.names("handler", "handler"))
		case HoldPrepared:
			h.starts = preparedText(w, &s.Options)
			s.drop(HoldPrepared, first(w.names("prepare", "prepare")))
			s.addNames(h, w.names("prepare", "prepare"))
		case PinUserLock:
			name, sure := w.lock("get_lock")
			if h.name = name; sure && name != "" {
				h.count = 1
			}
			s.add(h)
		default:
			s.add(h)
		}
	}
	if st.Facts.Any(FactRenames) {
		s.rename(w, server)
	}
}

func first(names []string) string {
	if len(names) == 0 {
		return ""
	}
	return names[0]
}

// addNames adds one hold for each name, or one without a name if there is none.
func (s *Session) addNames(h hold, names []string) {
	if len(names) == 0 {
		s.add(h)
		return
	}
	for _, h.name = range names {
		s.add(h)
	}
}

// executed adds what an EXECUTE does to what is held, as the text that was
// prepared says.
func (s *Session) executed(st *Statement, text, server string) {
	if st.Facts.Any(FactRenames) && len(s.holds) > 0 {
		s.rename(walk(text, &s.Options), server)
	}
	if !st.Facts.Any(FactExecutes) {
		return
	}
	h := s.find(HoldPrepared, first(walk(text, &s.Options).names("execute", "execute")))
	if h == nil {
		s.add(hold{kind: PinUnknown, server: server})
		return
	}
	starts := h.starts
	for _, kind := range AllHolds() {
		if starts&kind != 0 && kind != HoldPrepared {
			s.add(hold{kind: kind, server: server})
		}
	}
}

// rename follows a temporary table that gets another name: whatever name stands
// behind RENAME or TO is held too.
func (s *Session) rename(w *walker, server string) {
	if s.find(HoldTemporaryTable, "") == nil {
		return
	}
	renamed := false
	names := w.all()
	for _, name := range names {
		renamed = renamed || s.find(HoldTemporaryTable, name) != nil
	}
	if !renamed {
		return
	}
	for _, name := range w.behind("to", "rename", "as") {
		s.add(hold{kind: HoldTemporaryTable, name: name, server: server})
	}
}

// transaction brings the transaction's state up to date.
func (s *Session) transaction(st *Statement, d *Decision, server string, out Outcome) {
	t := &s.Transaction
	if !out.Failed {
		s.transactionByText(st, d, server)
	}
	if out.StatusKnown {
		s.AutocommitOff = out.AutocommitOff
		switch {
		case !out.InTransaction && server == t.Server:
			*t = Transaction{}
		case out.InTransaction && !d.Split:
			t.Open, t.Server = true, server
		}
	}
	if (t.Open || s.AutocommitOff) && !d.Split && server != "" && d.Target != ToAll {
		if t.Server == "" {
			t.Server = server
		}
		t.Open = true
		t.Written = t.Written || st.Target == ToPrimary && st.Class.rank() >= LockingRead.rank()
	}
	if s.AutocommitOff && st.ends() && !out.Failed {
		*t = Transaction{}
	}
}

// ends says whether the statement ends the transaction that is open.
func (st *Statement) ends() bool {
	return (st.Class == Commit || st.Class == Rollback) && !st.Facts.Any(FactToSavepoint|FactChain) ||
		st.Facts.Any(FactImplicitCommit) && st.Class != Begin
}

// transactionByText reads what becomes of the transaction from the statement.
func (s *Session) transactionByText(st *Statement, d *Decision, server string) {
	t := &s.Transaction
	switch {
	case st.Class == Begin && st.Count == 1:
		readOnly := st.Facts.Any(FactReadOnly) || !st.Facts.Any(FactReadWrite) && (s.next.ReadOnly || s.sessionReadOnly)
		*t = Transaction{Open: true, ReadOnly: readOnly}
		if d.Server >= 0 {
			t.Server = server
		}
		s.next = Transaction{}
	case (st.Class == Commit || st.Class == Rollback) && st.Facts.Any(FactToSavepoint):
	case (st.Class == Commit || st.Class == Rollback) && st.Facts.Any(FactChain):
		*t = Transaction{Open: true, ReadOnly: t.ReadOnly, Server: server}
	case st.ends():
		*t = Transaction{}
		s.nextReadCommitted = false
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
