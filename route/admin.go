package route

import "github.com/mysqlrw/mysqlrw/pkg/sqltoken"

// shown are the words behind SHOW of what is replicated with the data, so that
// a replica can answer. All else that SHOW knows is a server's own.
const shown = "tables columns fields index indexes keys databases schemas create triggers procedure function " +
	"package character charset collation extended library"

// show handles SHOW. Its WHERE clause is an expression like any other.
func (s *scan) show() {
	start := s.here()
	s.next()
	s.accept("full")
	s.locking = true
	switch {
	case s.at("mysqlrw"):
		s.noteAt(start, Show, Answer, AsksProxy, FactProxy)
		s.names = true
	case s.atOneOf("warnings errors"):
		s.noteAt(start, Diagnostics, ToLast, PreviousStatement, FactPrevious)
		s.names = true
	case s.at("count"):
		s.noteAt(start, Diagnostics, ToLast, PreviousStatement, FactPrevious)
		s.names = true
	case s.at("create") && (s.followedBy("user") || s.followedBy("event")):
		s.noteAt(start, Show, ToPrimary, ServerState, FactServerState)
	case s.atOneOf(shown):
		s.noteAt(start, Show, ToReplica, ReadOnlyStatement, 0)
		s.next()
		if s.atOneOf("code") { // SHOW PROCEDURE CODE p
			s.next()
		}
	default:
		s.noteAt(start, Show, ToPrimary, ServerState, FactServerState)
	}
}

// explain handles EXPLAIN, DESCRIBE and DESC. ANALYZE runs the statement, so
// that its class counts.
func (s *scan) explain() {
	start := s.here()
	s.next()
	analyze := false
	for {
		switch {
		case s.accept("analyze"):
			analyze = true
		case s.atOneOf("extended partitions"):
			s.next()
		case s.at("format"):
			s.next()
			s.next() // =
			s.next() // TREE
		case s.at("into"): // EXPLAIN FORMAT=JSON INTO @x
			s.next()
			s.note(Write, ToPrimary, AssignsVariable, FactAssigns)
			s.next()
		case s.at("for"):
			s.next()
			if s.accept("connection") {
				s.noteAt(start, Explain, ToPrimary, ServerState, FactServerState)
				s.names = true
				return
			}
			s.next() // SCHEMA or DATABASE
			s.next() // its name
		default:
			s.explained(start, analyze)
			return
		}
	}
}

// explained looks at what is explained: a query, a write, or a table.
func (s *scan) explained(start place, runs bool) {
	parenthesis := s.op('(')
	for s.op('(') {
		s.next()
	}
	switch {
	case s.atOneOf("insert update delete replace"):
		if runs {
			s.noteAt(start, Write, ToPrimary, Writes, 0)
		} else {
			s.noteAt(start, Explain, ToPrimary, ExplainsWrite, 0)
		}
		s.names = true
	case s.atOneOf("select with values table"), !parenthesis && (s.tok.Kind == sqltoken.Word || s.tok.Kind == sqltoken.Name):
		s.noteAt(start, Explain, ToReplica, ReadOnlyStatement, 0)
	case parenthesis && s.at("select"):
		s.noteAt(start, Explain, ToReplica, ReadOnlyStatement, 0)
	default:
		s.misread()
	}
}

// analyze handles ANALYZE TABLE and MariaDB's ANALYZE SELECT, UPDATE, DELETE,
// which run the statement.
func (s *scan) analyze() {
	start := s.here()
	s.next()
	if s.atOneOf("table tables local no_write_to_binlog persistent") {
		s.noteAt(start, Admin, ToPrimary, Administers, FactImplicitCommit)
		s.names = true
		return
	}
	if s.at("format") {
		s.next()
		s.next()
		s.next()
	}
	s.explained(start, true)
}

func (s *scan) flush() {
	s.simple(Admin, ToPrimary, Administers, FactImplicitCommit)
	named := false
	for ; !s.ended(); s.next() {
		switch {
		case (s.is(s.prev, "table") || s.is(s.prev, "tables")) && !s.at("with"):
			named = true
		case s.is(s.prev, "read") && s.at("lock"), s.is(s.prev, "for") && s.at("export"):
			s.one.Reason = TableLocks
			if named { // the locks of LOCK TABLES, which a transaction ends
				s.one.Facts |= FactTableLocks
			} else {
				s.one.Facts |= FactReadLock
			}
		}
	}
}

// kill handles KILL. A number is one that the proxy gave out.
func (s *scan) kill() {
	start := s.here()
	s.next()
	for s.atOneOf("hard soft connection query") {
		s.next()
	}
	if s.tok.Kind == sqltoken.Number {
		s.noteAt(start, Admin, Answer, KillsByID, FactProxy)
	} else {
		s.noteAt(start, Admin, ToPrimary, Administers, 0)
	}
	s.names = true
}

// backup handles MariaDB's BACKUP STAGE, LOCK and UNLOCK.
func (s *scan) backup() {
	start := s.here()
	s.next()
	fact := FactInstanceLock
	if s.at("unlock") {
		fact = FactUnlocksInstance
	} else if s.accept("stage") && s.at("end") {
		fact = FactUnlocksInstance
	}
	s.noteAt(start, Admin, ToPrimary, Administers, fact)
	s.names = true
}

// lockTables handles LOCK and UNLOCK, TABLES and INSTANCE.
func (s *scan) lockTables() {
	start, lock := s.here(), s.at("lock")
	s.next()
	instance := s.at("instance")
	switch {
	case !instance && !s.atOneOf("table tables"):
		s.misread()
	case instance && lock:
		s.noteAt(start, Admin, ToPrimary, TableLocks, FactInstanceLock)
	case instance:
		s.noteAt(start, Admin, ToHolder, TableLocks, FactUnlocksInstance)
	case lock:
		s.noteAt(start, LockTables, ToPrimary, TableLocks, FactTableLocks|FactImplicitCommit)
	default:
		s.noteAt(start, UnlockTables, ToHolder, TableLocks, FactUnlocksTables)
	}
	s.names = true
}

// handler handles HANDLER t OPEN, READ and CLOSE.
func (s *scan) handler() {
	start := s.here()
	s.next()
	for !s.ended() && !s.atOneOf("open read close") || s.isOp(s.prev, '.') || s.prev == start {
		if s.ended() {
			break
		}
		s.next()
	}
	switch {
	case s.at("open"):
		s.noteAt(start, Handler, ToPrimary, UsesHandler, FactHandlerOpen)
	case s.at("close"):
		s.noteAt(start, Handler, ToHolder, UsesHandler, FactHandlerClose)
	default:
		s.noteAt(start, Handler, ToHolder, UsesHandler, 0)
	}
	s.names = true
}

func (s *scan) execute() {
	start := s.here()
	s.next()
	if s.at("immediate") {
		s.noteAt(start, Execute, ToPrimary, RunsRoutine, FactRoutine|FactUnseen)
	} else {
		s.noteAt(start, Execute, ToHolder, PreparesText, FactExecutes)
	}
	s.names = true
}

// load handles LOAD DATA, LOAD XML and LOAD INDEX INTO CACHE.
func (s *scan) load() {
	start := s.here()
	s.next()
	if s.at("index") {
		s.noteAt(start, Admin, ToPrimary, Administers, FactImplicitCommit)
	} else {
		s.noteAt(start, Load, ToPrimary, LoadsFile, 0)
	}
	s.names = true
}
