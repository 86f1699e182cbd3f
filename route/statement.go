package route

import "github.com/mysqlrw/mysqlrw/pkg/sqltoken"

// Options say how a text is read and what the operator knows about it.
type Options struct {
	sqltoken.Options
	// IgnoreSpace is sql_mode IGNORE_SPACE: "COUNT (1)" is the built-in and
	// not a stored function.
	IgnoreSpace bool
	// Harmless lists stored functions and procedures that only read and leave
	// nothing behind on the connection, as name or schema.name in lower case.
	// Nil trusts none. One that writes after all makes a replica diverge: on
	// MariaDB a procedure whose definer has READ_ONLY ADMIN writes in spite of
	// read_only.
	Harmless map[string]bool
	// SystemSchemasOnReplicas is the policy of that name.
	SystemSchemasOnReplicas bool
}

// Statement is what a text is, without regard to any session. It is a value
// without pointers into the text.
type Statement struct {
	// Class is that of the text's strongest part.
	Class Class
	// Target is where it may run in a fresh session.
	Target Target
	// Reason is the strongest reason for Target; At and End are the bytes of
	// the text that gave it, 0 and 0 if it was no single place.
	Reason  Reason
	At, End int
	// Facts are what was found in any part of the text.
	Facts Facts
	// Count is the number of statements in the text that are not empty.
	Count int
	// Hint is what comments ask for.
	Hint Hint
}

// Facts is everything that was found in a text, as a set of bits.
type Facts uint64

// The facts. What they mean for a session is in Session.Apply.
const (
	// FactUserVariable: reads @x.
	FactUserVariable Facts = 1 << iota
	// FactAssigns: gives a user variable a value that only the server that ran
	// it knows.
	FactAssigns
	// FactSetsVariable: SET @x = literal.
	FactSetsVariable
	// FactTakesLock, FactReleasesLock, FactReleasesAllLocks: GET_LOCK, RELEASE_LOCK, RELEASE_ALL_LOCKS.
	FactTakesLock
	FactReleasesLock
	FactReleasesAllLocks
	// FactRoutine: runs code that nobody sees from here.
	FactRoutine
	// FactLastInsertID: LAST_INSERT_ID(), @@last_insert_id, @@identity.
	FactLastInsertID
	// FactPrevious: FOUND_ROWS(), ROW_COUNT(), @@warning_count.
	FactPrevious
	// FactCountsFoundRows: SQL_CALC_FOUND_ROWS.
	FactCountsFoundRows
	// FactSystemSchema: reads mysql, information_schema, performance_schema or sys.
	FactSystemSchema
	// FactServerState, FactConnectionState: asks about the server that runs it, or the connection to it.
	FactServerState
	FactConnectionState
	// FactUndecided: executable comments decide what it is.
	FactUndecided
	// FactTemporary: CREATE TEMPORARY TABLE; FactDropsTable: DROP TABLE, which
	// may be one; FactRenames: ALTER or RENAME TABLE, which may rename one.
	FactTemporary
	FactDropsTable
	FactRenames
	// FactImplicitCommit: commits an open transaction first.
	FactImplicitCommit
	// FactOpens: a transaction is open behind the text.
	FactOpens
	// FactReadOnly, FactReadWrite, FactSnapshot: characteristics of START
	// TRANSACTION and SET TRANSACTION.
	FactReadOnly
	FactReadWrite
	FactSnapshot
	// FactChain, FactNoChain, FactRelease: how COMMIT or ROLLBACK goes on.
	FactChain
	FactNoChain
	FactRelease
	// FactToSavepoint: ROLLBACK TO, which ends no transaction.
	FactToSavepoint
	// FactNextTransaction: SET TRANSACTION without a scope.
	FactNextTransaction
	// FactAutocommitOn, FactAutocommitOff: both, if it cannot be known.
	FactAutocommitOn
	FactAutocommitOff
	// FactIsolation: changes the isolation level.
	FactIsolation
	// FactGlobal: changes the server's own variables.
	FactGlobal
	// FactSession: changes session variables.
	FactSession
	// FactConnection: changes what cannot be carried to another connection, such
	// as the active roles.
	FactConnection
	// FactTableLocks, FactReadLock, FactInstanceLock: takes LOCK TABLES, FLUSH
	// TABLES WITH READ LOCK, LOCK INSTANCE or BACKUP; FactUnlocksTables and FactUnlocksInstance release them.
	FactTableLocks
	FactReadLock
	FactInstanceLock
	FactUnlocksTables
	FactUnlocksInstance
	// FactHandlerOpen, FactHandlerClose: HANDLER t OPEN, HANDLER t CLOSE.
	FactHandlerOpen
	FactHandlerClose
	// FactPreparesName: PREPARE; FactExecutes: EXECUTE; FactUnprepares:
	// DEALLOCATE.
	FactPreparesName
	FactExecutes
	FactUnprepares
	// FactUnseen: runs a text that is not in this one: EXECUTE IMMEDIATE @x.
	FactUnseen
	// FactProxy: a setting of the proxy: SET mysqlrw_x, SHOW MYSQLRW.
	FactProxy
	// FactMode: changes sql_mode or the character set, so that the next text is
	// read in another way.
	FactMode
)

// Has says whether all facts of f were found.
func (f Facts) Has(all Facts) bool { return f&all == all }

// Any says whether one of the facts was found.
func (f Facts) Any(some Facts) bool { return f&some != 0 }

// rank orders the classes by what a text with several statements is taken for;
// the strongest is the one that may change most.
func (c Class) rank() int {
	switch c {
	case Empty:
		return 0
	case Explain, Show:
		return 1
	case Read:
		return 2
	case Diagnostics:
		return 3
	case Savepoint, Begin, Commit, Rollback:
		return 4
	case Use:
		return 5
	case Set:
		return 6
	case Deallocate, Prepare:
		return 7
	case UnlockTables, Handler:
		return 8
	case LockingRead:
		return 9
	case LockTables:
		return 10
	case Admin:
		return 11
	case XA, Execute:
		return 12
	case Call:
		return 13
	case Load, Write:
		return 14
	case DDL:
		return 15
	}
	return 16 // Unknown
}
