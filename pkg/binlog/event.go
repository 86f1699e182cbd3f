package binlog

import "github.com/mysqlrw/mysqlrw/pkg/gtid"

// Kind says what an Event tells.
type Kind uint8

// The kinds.
const (
	// Begin is the first event of a transaction, with its GTID, or Anonymous.
	Begin Kind = iota + 1
	// Table is a table of which rows are changed: Schema and Table. It may come several times in one
	// transaction, and for a table that a statement only might have changed. Those that a foreign key's
	// action changes come as well, but not from MySQL if InnoDB does that by itself: always before 9.6,
	// and with innodb_native_foreign_keys.
	Table
	// Statement is what is logged as Text, with the Schema that was selected: DDL, a write that is not
	// logged as rows, XA COMMIT. What only marks a transaction's parts is not told. A Text may have a
	// password in it, in the clear on MariaDB.
	Statement
	// Lost says that something cannot be told, for a Reason: the transaction may have changed any table.
	Lost
	// End is the last event of a transaction: it is committed or, with changes that cannot be, rolled back.
	// Servers log before they commit, so it may come a moment before the server itself shows the changes.
	// Prepared says that the transaction waits for its XA COMMIT instead.
	End
	// Heartbeat is the server's sign of life, when it has nothing to send.
	Heartbeat
)

// String returns the kind's name in lower case.
func (k Kind) String() string {
	switch k {
	case Begin:
		return "begin"
	case Table:
		return "table"
	case Statement:
		return "statement"
	case Lost:
		return "lost"
	case End:
		return "end"
	case Heartbeat:
		return "heartbeat"
	}
	return "unknown"
}

// Event is what Next found. Its slices are good until the next Next.
type Event struct {
	Kind Kind

	// Of Begin.
	GTID      gtid.GTID       // MySQL's
	Domain    gtid.DomainGTID // MariaDB's
	Anonymous bool            // there is neither

	// Alone says that a Statement is all that there is of its transaction, as DDL is. The Begin has it
	// too on MariaDB, which knows beforehand. An End follows all the same.
	Alone bool

	// Of Table, and of Statement.
	Schema []byte // of a Statement: the one that was selected, maybe empty
	Table  []byte
	Text   []byte // in Charset

	// How a server has to read Text.
	Charset uint16 // the id of a collation of character_set_client; 0 if it is not known
	SQLMode uint64 // the bits of sql_mode

	// Prepared says, of an End, that the transaction was prepared by XA PREPARE: its changes are seen when
	// a later one has the Statement XA COMMIT XID, the XID being written as there.
	Prepared bool
	XID      []byte

	Reason string // of Lost
}
