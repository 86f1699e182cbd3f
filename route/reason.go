package route

// Reason is one reason of a decision. Its word, which String returns, is part of the output contract; Explanation
// is the same in a sentence. The order of the constants is the order in which reasons are listed.
type Reason uint8

// The reasons, each with its word: first what the statement is, then what the session, a hint or a setting makes of
// it, then which servers there are.
const (
	NoReason Reason = iota // the zero value: nothing has been decided

	// What the statement is.

	ReadOnlyStatement // read
	LocksRows         // locks-rows
	Writes            // writes
	ChangesSchema     // changes-schema
	WritesFile        // writes-file
	AssignsVariable   // assigns-variable
	TakesLock         // takes-lock
	ReleasesLock      // releases-lock
	ChecksLock        // checks-lock
	UnknownFunction   // unknown-function
	UsesSequence      // uses-sequence
	LastInsertID      // last-insert-id
	PreviousStatement // previous-statement
	CountsFoundRows   // counts-found-rows
	UserVariable      // user-variable
	ConnectionState   // connection-state
	ServerState       // server-state
	SystemSchema      // system-schema
	RunsRoutine       // runs-routine
	LoadsFile         // loads-file
	TableLocks        // table-locks
	UsesHandler       // uses-handler
	PreparesText      // prepares-text
	Distributed       // distributed-transaction
	StartsTransaction // starts-transaction
	TakesSnapshot     // takes-snapshot
	EndsTransaction   // ends-transaction
	ChangesSession    // changes-session
	ChangesServer     // changes-server
	ChangesConnection // changes-connection
	Administers       // administers
	KillsByID         // kills-by-id
	ExplainsWrite     // explains-write
	AsksProxy         // asks-proxy
	Nothing           // nothing
	Undecided         // executable-comment
	NotUnderstood     // not-understood
	Unreadable        // unreadable

	// What the session is.

	EndpointReadOnly      // read-only-endpoint
	Pinned                // pinned
	InTransaction         // in-transaction
	AutocommitOff         // autocommit-off
	InReadOnlyTransaction // read-only-transaction
	TransactionSplit      // transaction-split
	NoTransaction         // no-transaction
	HeldTemporaryTable    // temporary-table
	HeldVariable          // held-variable
	HeldHandler           // held-handler
	HeldStatement         // held-statement
	HeldRoutine           // held-routine
	NoHolder              // no-holder
	NoPrevious            // no-previous

	// What was asked for.

	HintPrimary      // hint-primary
	HintReplica      // hint-replica
	HintNode         // hint-node
	HintLevel        // hint-level
	HintIgnored      // hint-ignored
	HintMalformed    // hint-malformed
	SettingMalformed // malformed-setting
	NodePinned       // node-pinned
	NodeNotFound     // node-not-found
	NodeNotReadable  // node-not-readable
	LevelStrong      // level-strong
	WeakNotPossible  // weak-not-possible

	// What the servers are.

	AnyReplica      // any-replica
	CaughtUp        // caught-up
	TablesCaughtUp  // tables-caught-up
	WaitForReplica  // wait-for-replica
	NothingCaughtUp // nothing-caught-up
	NoReplica       // no-replica
	PositionUnknown // position-unknown
	MethodSleep     // method-sleep
	MethodNoDelay   // method-no-delay
	MethodPrimary   // method-primary
	ChosenServer    // chosen-server
	ChoiceChanging  // choice-changing
	NoPrimary       // no-primary
	TwoPrimaries    // two-primaries
)

// reasonTexts holds the name and the explanation of each reason.
var reasonTexts = [...]struct{ name, explanation string }{
	NoReason:              {"", ""},
	ReadOnlyStatement:     {"read", "changes nothing and depends on no connection"},
	LocksRows:             {"locks-rows", "takes row locks: FOR UPDATE, FOR SHARE or LOCK IN SHARE MODE"},
	Writes:                {"writes", "changes data"},
	ChangesSchema:         {"changes-schema", "changes schemas, accounts or privileges"},
	WritesFile:            {"writes-file", "INTO OUTFILE or DUMPFILE writes a file on the server"},
	AssignsVariable:       {"assigns-variable", "assigns a user variable: INTO @x or :="},
	TakesLock:             {"takes-lock", "GET_LOCK or a lock function of a plugin: the lock lives on one connection"},
	ReleasesLock:          {"releases-lock", "releases a lock of GET_LOCK, where it was taken"},
	ChecksLock:            {"checks-lock", "asks about a lock of GET_LOCK, which only the primary knows"},
	UnknownFunction:       {"unknown-function", "calls a function that is not known to be harmless"},
	UsesSequence:          {"uses-sequence", "takes or sets a value of a sequence"},
	LastInsertID:          {"last-insert-id", "asks for the session's last insert id"},
	PreviousStatement:     {"previous-statement", "asks about the statement before, on the connection that ran it"},
	CountsFoundRows:       {"counts-found-rows", "SQL_CALC_FOUND_ROWS: FOUND_ROWS() must ask the same connection"},
	UserVariable:          {"user-variable", "reads a user variable"},
	ConnectionState:       {"connection-state", "asks about the connection to the server itself"},
	ServerState:           {"server-state", "asks about one server's own state"},
	SystemSchema:          {"system-schema", "reads a schema that each server keeps for itself"},
	RunsRoutine:           {"runs-routine", "calls a procedure or runs a compound statement"},
	LoadsFile:             {"loads-file", "reads a file into a table"},
	TableLocks:            {"table-locks", "LOCK TABLES, UNLOCK TABLES or FLUSH TABLES WITH READ LOCK"},
	UsesHandler:           {"uses-handler", "HANDLER keeps a cursor open on one connection"},
	PreparesText:          {"prepares-text", "PREPARE, EXECUTE or DEALLOCATE in SQL: the statement lives on one connection"},
	Distributed:           {"distributed-transaction", "XA transactions run on the primary"},
	StartsTransaction:     {"starts-transaction", "opens a transaction; the first statement in it decides where"},
	TakesSnapshot:         {"takes-snapshot", "WITH CONSISTENT SNAPSHOT starts on a server at once"},
	EndsTransaction:       {"ends-transaction", "ends a transaction, or sets or releases a savepoint in it"},
	ChangesSession:        {"changes-session", "session state: every connection of the session gets it"},
	ChangesServer:         {"changes-server", "SET GLOBAL or PERSIST changes the server"},
	ChangesConnection:     {"changes-connection", "changes the connection in a way that no other can be given: SET ROLE, gtid_next, sql_log_bin"},
	Administers:           {"administers", "steers the server"},
	KillsByID:             {"kills-by-id", "KILL names a connection by a number that the proxy gave out"},
	ExplainsWrite:         {"explains-write", "explains a statement that is not a read"},
	AsksProxy:             {"asks-proxy", "is meant for the proxy itself"},
	Nothing:               {"nothing", "there is no statement"},
	Undecided:             {"executable-comment", "an executable comment makes it another statement on servers of another version"},
	NotUnderstood:         {"not-understood", "the statement is not known"},
	Unreadable:            {"unreadable", "a string, name or comment has no end, or a byte stands where no server reads it"},
	EndpointReadOnly:      {"read-only-endpoint", "the endpoint has replicas only"},
	Pinned:                {"pinned", "the session is pinned to a connection"},
	InTransaction:         {"in-transaction", "a transaction is open"},
	AutocommitOff:         {"autocommit-off", "with autocommit off every statement is in a transaction"},
	InReadOnlyTransaction: {"read-only-transaction", "a READ ONLY transaction runs whole on one server"},
	TransactionSplit:      {"transaction-split", "reads before the first write of the transaction may leave it"},
	NoTransaction:         {"no-transaction", "no transaction is open: nothing to do"},
	HeldTemporaryTable:    {"temporary-table", "names a temporary table of the session"},
	HeldVariable:          {"held-variable", "reads a user variable whose value only one connection knows"},
	HeldHandler:           {"held-handler", "reads a HANDLER that is open on one connection"},
	HeldStatement:         {"held-statement", "the statement was prepared on one connection"},
	HeldRoutine:           {"held-routine", "a routine ran there that may have left state behind"},
	NoHolder:              {"no-holder", "nothing of the session lives on a connection: it runs on the primary"},
	NoPrevious:            {"no-previous", "the session has run nothing yet: it runs on the primary"},
	HintPrimary:           {"hint-primary", "a hint asks for the primary"},
	HintReplica:           {"hint-replica", "a hint asks for a replica"},
	HintNode:              {"hint-node", "a hint names the server"},
	HintLevel:             {"hint-level", "a hint sets the consistency level"},
	HintIgnored:           {"hint-ignored", "a hint is only advice: the statement must not follow it"},
	HintMalformed:         {"hint-malformed", "a hint could not be read and is ignored"},
	SettingMalformed:      {"malformed-setting", "a setting of the proxy cannot be read, or there is none of that name"},
	NodePinned:            {"node-pinned", "the session asked for one server"},
	NodeNotFound:          {"node-not-found", "there is no such server"},
	NodeNotReadable:       {"node-not-readable", "the server that was asked for cannot be read"},
	LevelStrong:           {"level-strong", "level strong reads on the primary"},
	WeakNotPossible:       {"weak-not-possible", "the isolation level cannot hold a weak read: it runs strong"},
	AnyReplica:            {"any-replica", "the level asks for no position"},
	CaughtUp:              {"caught-up", "a readable server has what the read needs"},
	TablesCaughtUp:        {"tables-caught-up", "a readable server has all changes of the tables that the read names, if not of others"},
	WaitForReplica:        {"wait-for-replica", "no server has it yet; the nearest may get there in time"},
	NothingCaughtUp:       {"nothing-caught-up", "no readable replica will have it in time"},
	NoReplica:             {"no-replica", "no replica can be read"},
	PositionUnknown:       {"position-unknown", "the primary's position must be asked for first"},
	MethodSleep:           {"method-sleep", "causal-method sleep: the read is held back for a while after a write, which proves nothing"},
	MethodNoDelay:         {"method-no-delay", "causal-method no-delay: the replica has applied what it had received when it was asked"},
	MethodPrimary:         {"method-primary", "causal-method primary reads on the primary"},
	ChosenServer:          {"chosen-server", "weak-read-version-refresh-interval has reads at weak all run on one server, which every proxy chooses alike"},
	ChoiceChanging:        {"choice-changing", "the server that reads at weak run on is changing, or cannot be read at this moment"},
	NoPrimary:             {"no-primary", "no server takes writes"},
	TwoPrimaries:          {"two-primaries", "two servers take writes: none is trusted with one"},
}

// String returns the reason in kebab-case, "" for NoReason.
func (r Reason) String() string {
	if int(r) < len(reasonTexts) {
		return reasonTexts[r].name
	}
	return ""
}

// Explanation says the reason in a sentence for people, without a full stop.
func (r Reason) Explanation() string {
	if int(r) < len(reasonTexts) {
		return reasonTexts[r].explanation
	}
	return ""
}

// AllReasons lists every reason in order, without NoReason.
func AllReasons() []Reason {
	all := make([]Reason, 0, len(reasonTexts)-1)
	for r := range reasonTexts[1:] {
		all = append(all, Reason(r+1))
	}
	return all
}
