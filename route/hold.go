package route

import "strings"

// Holds is a set of kinds of state that lives on one connection and cannot be
// given to another.
type Holds uint16

// The kinds. The first ones hold a connection: it stays with the session, only
// statements that touch the state must go there, and other reads still split.
// The last ones pin the session: they are about excluding others, or changed
// what nobody can name, so that everything goes to that connection.
const (
	// HoldTemporaryTable: CREATE TEMPORARY TABLE.
	HoldTemporaryTable Holds = 1 << iota
	// HoldVariable: a user variable with a value that only a server computed.
	HoldVariable
	// HoldHandler: a cursor of HANDLER is open.
	HoldHandler
	// HoldPrepared: a statement prepared by PREPARE in SQL.
	HoldPrepared
	// HoldRoutine: a procedure or function ran, and may have left something.
	HoldRoutine
	// HoldFoundRows: FOUND_ROWS() of a statement with SQL_CALC_FOUND_ROWS.
	HoldFoundRows

	// PinUserLock: GET_LOCK.
	PinUserLock
	// PinTableLocks, PinReadLock, PinInstanceLock: LOCK TABLES, FLUSH TABLES WITH READ LOCK, LOCK INSTANCE or BACKUP.
	PinTableLocks
	PinReadLock
	PinInstanceLock
	// PinConnection: SET ROLE, gtid_next and the like.
	PinConnection
	// PinUnknown: a prepared statement ran whose text nobody saw.
	PinUnknown

	holdsEnd
)

// Pins are the kinds that pin the whole session.
const Pins = PinUserLock | PinTableLocks | PinReadLock | PinInstanceLock | PinConnection | PinUnknown

var holdNames = [...]string{
	"temporary-table", "user-variable", "handler", "prepared-statement", "routine", "found-rows",
	"user-lock", "table-locks", "read-lock", "instance-lock", "connection-state", "unknown-state",
}

var holdEnds = [...]string{
	"DROP TABLE", "SET to a literal", "HANDLER CLOSE", "DEALLOCATE PREPARE", "a reset", "the next statement",
	"RELEASE_LOCK or RELEASE_ALL_LOCKS", "UNLOCK TABLES", "UNLOCK TABLES", "UNLOCK INSTANCE or BACKUP UNLOCK",
	"a reset", "a reset",
}

// String returns the kinds in kebab-case, separated by commas.
func (h Holds) String() string { return h.join(holdNames[:]) }

// Until says what ends them, for people.
func (h Holds) Until() string { return h.join(holdEnds[:]) }

func (h Holds) join(names []string) string {
	var b strings.Builder
	for i, name := range names {
		if h&(1<<i) == 0 || strings.Contains(b.String(), name) {
			continue
		}
		if b.Len() > 0 {
			b.WriteString(", ")
		}
		b.WriteString(name)
	}
	return b.String()
}

// AllHolds lists every kind.
func AllHolds() []Holds {
	var all []Holds
	for h := Holds(1); h < holdsEnd; h <<= 1 {
		all = append(all, h)
	}
	return all
}

// Starts says which kinds of state the statement leaves on the connection that
// runs it.
func (st *Statement) Starts() Holds {
	var h Holds
	for _, x := range [...]struct {
		fact Facts
		hold Holds
	}{
		{FactTemporary, HoldTemporaryTable},
		{FactAssigns, HoldVariable},
		{FactHandlerOpen, HoldHandler},
		{FactPreparesName, HoldPrepared},
		{FactRoutine, HoldRoutine},
		{FactCountsFoundRows, HoldFoundRows},
		{FactTakesLock, PinUserLock},
		{FactTableLocks, PinTableLocks},
		{FactReadLock, PinReadLock},
		{FactInstanceLock, PinInstanceLock},
		{FactConnection, PinConnection},
		{FactUnseen, PinUnknown},
	} {
		if st.Facts.Any(x.fact) {
			h |= x.hold
		}
	}
	return h
}
