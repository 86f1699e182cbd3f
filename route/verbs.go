package route

import "github.com/mysqlrw/mysqlrw/pkg/sqltoken"

// accept steps over the keyword if it is there.
func (s *scan) accept(keyword string) bool {
	if !s.at(keyword) {
		return false
	}
	s.next()
	return true
}

// verb handles the statements that readVerb does not, by their first word. The
// switch is one of the words that a server takes; any other is Unknown.
func (s *scan) verb() {
	var buf [12]byte
	w := s.word(s.here())
	if len(w) > len(buf) {
		s.note(Unknown, ToPrimary, NotUnderstood, 0)
		return
	}
	lower := appendLower(buf[:0], w)
	switch string(lower) {
	case "insert", "update", "delete", "replace":
		s.simple(Write, ToPrimary, Writes, 0)
	case "create":
		s.create()
	case "alter":
		s.alter()
	case "drop":
		s.drop()
	case "rename":
		s.simple(DDL, ToPrimary, ChangesSchema, FactImplicitCommit|FactRenames)
	case "truncate", "grant", "revoke", "import":
		s.simple(DDL, ToPrimary, ChangesSchema, FactImplicitCommit)
	case "call":
		s.simple(Call, ToPrimary, RunsRoutine, 0)
		if !s.harmlessCall() {
			s.one.Facts |= FactRoutine
		}
	case "set":
		s.set()
	case "use":
		s.simple(Use, ToAll, ChangesSession, FactSession)
	case "show":
		s.show()
	case "explain", "describe", "desc":
		s.explain()
	case "help":
		s.simple(Show, ToPrimary, SystemSchema, FactSystemSchema)
	case "begin", "start":
		s.begin()
	case "commit", "rollback":
		s.end()
	case "savepoint", "release":
		s.simple(Savepoint, ToHolder, EndsTransaction, 0)
	case "xa":
		s.simple(XA, ToPrimary, Distributed, 0)
	case "prepare":
		s.simple(Prepare, ToPrimary, PreparesText, FactPreparesName)
	case "execute":
		s.execute()
	case "deallocate":
		s.simple(Deallocate, ToHolder, PreparesText, FactUnprepares)
	case "lock", "unlock":
		s.lockTables()
	case "handler":
		s.handler()
	case "load":
		s.load()
	case "get":
		s.simple(Diagnostics, ToLast, PreviousStatement, FactPrevious|FactAssigns)
	default:
		s.rareVerb(string(lower))
	}
}

// rareVerb is verb for the statements that applications hardly send.
func (s *scan) rareVerb(w string) {
	switch w {
	case "analyze":
		s.analyze()
	case "flush":
		s.flush()
	case "kill":
		s.kill()
	case "backup":
		s.backup()
	case "check", "checksum", "repair", "optimize", "cache", "reset", "shutdown", "restart", "purge", "change",
		"stop", "install", "uninstall", "clone", "binlog":
		facts := FactImplicitCommit
		if w == "binlog" || w == "clone" || w == "shutdown" || w == "restart" || w == "purge" || w == "checksum" {
			facts = 0
		}
		s.simple(Admin, ToPrimary, Administers, facts)
	case "signal", "resignal":
		s.simple(Call, ToPrimary, RunsRoutine, 0)
	case "if", "case", "loop", "while", "repeat", "for", "declare", "return":
		// Outside stored programs MariaDB takes some of these.
		s.simple(Call, ToPrimary, RunsRoutine, FactRoutine)
		s.body = true
	default:
		s.note(Unknown, ToPrimary, NotUnderstood, 0)
	}
}

// simple records a statement that its first word decides.
func (s *scan) simple(c Class, t Target, why Reason, facts Facts) {
	s.note(c, t, why, facts)
	s.names = true
	s.next()
}

// known looks at one token of a statement in which a name before a parenthesis
// may be a table with a column list: only functions known by name count.
func (s *scan) known() {
	switch s.tok.Kind {
	case sqltoken.UserVar:
		s.one.Facts |= FactUserVariable
		if s.one.Class == Call || s.one.Class == Load { // OUT parameters, LOAD DATA ... (a, @b)
			s.one.Facts |= FactAssigns
		}
	case sqltoken.Assign:
		s.one.Facts |= FactAssigns
	case sqltoken.Op:
		if s.text[s.tok.Start] != '(' || s.prev.kind != sqltoken.Word && s.prev.kind != sqltoken.Name || s.isOp(s.prev2, '.') {
			return
		}
		word := s.name(s.prev)
		switch info, _ := lookupFunction(word); info.Kind {
		case functionLock:
			s.lock(s.prev, word)
		case functionLastInsertID:
			s.lastInsertID(s.prev)
		case functionPrevious:
			s.one.Facts |= FactPrevious
		}
	case sqltoken.Word:
		// INSERT ... SELECT ... INTO @x does not exist; SELECT INTO in a body does.
		if s.is(s.prev, "into") && s.atOneOf("outfile dumpfile") {
			s.note(Write, ToPrimary, WritesFile, 0)
		}
	}
}

func (s *scan) harmlessCall() bool {
	if s.o.Harmless == nil {
		return false
	}
	name := s.here()
	s.next()
	if !s.op('.') {
		return s.harmless(name)
	}
	s.qualifier = name
	s.next()
	name = s.here()
	s.prev2, s.prev = s.prev, name
	return s.harmless(name)
}

// create tells temporary tables and stored programs from the rest.
func (s *scan) create() {
	const programs = "procedure function trigger event package view"
	const others = "table sequence database schema index user role server tablespace undo logfile unique fulltext spatial resource"
	facts := FactImplicitCommit
	start := s.here()
	s.next()
	s.seek(func() bool { // behind OR REPLACE, DEFINER = u@h, ALGORITHM = x, SQL SECURITY x
		if s.at("temporary") {
			facts = FactTemporary
		}
		s.body = s.atOneOf(programs)
		return s.body || s.atOneOf(others)
	})
	s.noteAt(start, DDL, ToPrimary, ChangesSchema, facts)
	s.names = true
}

// seek steps to the token that is looked for. It does not go far: what stands in
// front of an object's kind is short.
func (s *scan) seek(found func() bool) {
	for range 40 {
		if s.ended() || found() {
			return
		}
		s.next()
	}
}

func (s *scan) alter() {
	start := s.here()
	s.next()
	facts := FactImplicitCommit
	const others = "table view procedure function database schema user server tablespace instance sequence logfile resource"
	s.seek(func() bool { // behind ONLINE, IGNORE, DEFINER = u@h
		if s.at("table") {
			facts |= FactRenames
		}
		s.body = s.at("event")
		return s.body || s.atOneOf(others)
	})
	s.noteAt(start, DDL, ToPrimary, ChangesSchema, facts)
	s.names = true
}

func (s *scan) drop() {
	start := s.here()
	s.next()
	facts := FactImplicitCommit
	switch {
	case s.at("prepare"):
		s.noteAt(start, Deallocate, ToHolder, PreparesText, FactUnprepares)
		s.names = true
		return
	case s.accept("temporary"):
		facts = FactDropsTable
	case s.atOneOf("table tables"):
		facts |= FactDropsTable
	}
	s.noteAt(start, DDL, ToPrimary, ChangesSchema, facts)
	s.names = true
}

// begin handles BEGIN, START TRANSACTION and what else begins with START.
func (s *scan) begin() {
	start := s.here()
	begin := s.at("begin")
	s.next()
	switch {
	case begin && s.at("not"): // BEGIN NOT ATOMIC
		s.noteAt(start, Call, ToPrimary, RunsRoutine, FactRoutine)
		s.body = true
		return
	case !begin && !s.accept("transaction"):
		s.noteAt(start, Admin, ToPrimary, Administers, FactImplicitCommit)
		s.names = true
		return
	}
	s.noteAt(start, Begin, Answer, StartsTransaction, FactImplicitCommit)
	if begin {
		if s.accept("work"); !s.ended() {
			s.misread()
		}
		return
	}
	if !s.transactionList() {
		return
	}
	switch {
	case s.one.Facts.Has(FactSnapshot):
		s.noteAt(start, Begin, ToPrimary, TakesSnapshot, 0)
	case s.one.Facts.Has(FactReadWrite): // a server that is read-only refuses it
		s.noteAt(start, Begin, ToPrimary, StartsTransaction, 0)
	}
}

// transactionList reads what stands behind START TRANSACTION. Nobody but the one
// who answers it checks its form, so nothing is taken that the servers refuse.
func (s *scan) transactionList() bool {
	for more := !s.ended(); more; {
		switch {
		case s.accept("with"):
			if !s.accept("consistent") || !s.accept("snapshot") {
				return s.misread()
			}
			s.one.Facts |= FactSnapshot
		case !s.accept("read"):
			return s.misread()
		case s.accept("only"):
			s.one.Facts |= FactReadOnly
		case s.accept("write"):
			s.one.Facts |= FactReadWrite
		default:
			return s.misread()
		}
		if more = s.op(','); more {
			s.next()
		}
	}
	if !s.ended() || s.one.Facts.Has(FactReadOnly|FactReadWrite) {
		return s.misread()
	}
	return true
}

// characteristics reads what SET TRANSACTION sets, up to the end of the statement.
func (s *scan) characteristics() bool {
	for !s.ended() {
		switch {
		case s.op(','):
			s.next()
		case s.accept("read"):
			switch {
			case s.accept("only"):
				s.one.Facts |= FactReadOnly
			case s.accept("write"):
				s.one.Facts |= FactReadWrite
			default:
				return s.misread()
			}
		case s.accept("isolation"):
			s.one.Facts |= FactIsolation
			s.accept("level")
			for s.atOneOf("read uncommitted committed repeatable serializable") {
				s.next()
				if s.atOneOf("only write") { // READ ONLY without a comma before it
					return s.misread()
				}
			}
		default:
			return s.misread()
		}
	}
	return true
}

// misread records that the statement goes on in a way that is not known.
func (s *scan) misread() bool {
	s.note(Unknown, ToPrimary, NotUnderstood, 0)
	return false
}

// end handles COMMIT and ROLLBACK.
func (s *scan) end() {
	class := Commit
	if s.at("rollback") {
		class = Rollback
	}
	s.note(class, ToHolder, EndsTransaction, 0)
	s.names = true
	s.next()
	no := false
	for !s.ended() {
		switch {
		case s.at("chain") && no:
			s.one.Facts |= FactNoChain
		case s.at("chain"):
			s.one.Facts |= FactChain
		case s.at("release") && !no && !s.is(s.prev, "to"):
			s.one.Facts |= FactRelease
		case s.at("to"):
			s.one.Facts |= FactToSavepoint
		}
		no = s.at("no")
		s.next()
	}
}
