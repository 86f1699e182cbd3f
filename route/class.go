package route

// Class is what kind of statement a text is. A text with several statements has
// the class of its strongest part. The zero value is Unknown, which goes to the
// primary.
type Class uint8

// The classes.
const (
	// Unknown may be anything: the text is not understood.
	Unknown Class = iota
	// Read certainly changes nothing and depends on nothing that lives on one
	// connection.
	Read
	// LockingRead takes row locks: FOR UPDATE, FOR SHARE.
	LockingRead
	// Write changes data, a file, or something that only the primary has.
	Write
	// DDL changes schemas, accounts or privileges.
	DDL
	// Begin opens a transaction: BEGIN, START TRANSACTION.
	Begin
	// Commit ends a transaction and keeps what it wrote.
	Commit
	// Rollback ends a transaction and drops what it wrote, or goes back to a savepoint in it.
	Rollback
	// Savepoint sets or releases one; going back to it is a Rollback.
	Savepoint
	// XA is any step of a distributed transaction.
	XA
	// Set changes session or server variables.
	Set
	// Use changes the default schema.
	Use
	// Show reads names, definitions or the server's state.
	Show
	// Explain describes a table or a plan; it runs the statement only if its
	// class is another one.
	Explain
	// Prepare names a statement in SQL, for Execute to run on the same connection until Deallocate.
	Prepare
	Execute
	Deallocate
	// Call runs a procedure or a compound statement.
	Call
	// Load reads a file into a table.
	Load
	// LockTables is LOCK TABLES, and UnlockTables ends the locks of it and of FLUSH TABLES WITH READ LOCK.
	LockTables
	UnlockTables
	// Handler opens, reads or closes a cursor of HANDLER, which lives on one connection.
	Handler
	// Admin steers a server: FLUSH, KILL, replication, plugins, table checks.
	Admin
	// Diagnostics asks about the statement before: SHOW WARNINGS.
	Diagnostics
	// Empty is no statement at all: nothing, comments, semicolons.
	Empty
)

var classNames = [...]string{
	"unknown", "read", "locking-read", "write", "ddl", "begin", "commit", "rollback", "savepoint", "xa", "set", "use",
	"show", "explain", "prepare", "execute", "deallocate", "call", "load", "lock-tables", "unlock-tables", "handler",
	"admin", "diagnostics", "empty",
}

// String returns the class in kebab-case, as output has it.
func (c Class) String() string {
	if int(c) < len(classNames) {
		return classNames[c]
	}
	return classNames[Unknown]
}

// Classes lists every class in the order of the constants.
func Classes() []Class {
	all := make([]Class, len(classNames))
	for i := range all {
		all[i] = Class(i)
	}
	return all
}

// Target is where a statement may run.
type Target uint8

// The targets.
const (
	// ToPrimary is the zero value: what nobody decided goes there.
	ToPrimary Target = iota
	// ToReplica is a readable server; which one is for the balancer. That may
	// be the primary, if it takes reads or nothing else can.
	ToReplica
	// ToHolder is the connection that something of the session lives on.
	ToHolder
	// ToLast is the connection of the previous statement.
	ToLast
	// ToAll is session state: it holds on every connection that the session
	// uses from now on.
	ToAll
	// Answer is for the proxy itself.
	Answer
	// Refuse is an error: nothing may run it.
	Refuse
)

var targetNames = [...]string{"primary", "replica", "holder", "last", "all", "answer", "refuse"}

// String returns the target's name, as output has it.
func (t Target) String() string {
	if int(t) < len(targetNames) {
		return targetNames[t]
	}
	return targetNames[ToPrimary]
}
