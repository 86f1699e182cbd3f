// Package sessionstate knows what a client's session has set on its connection to a server, and
// how another connection gets the same.
//
// Servers tell each change by the trackers in their OK packets. A State is what they told: a map,
// not a history, so that it does not grow with what a session does. It is immutable. Sessions that
// set the same have the same State of a Catalog, so that a connection which one of them left suits
// the other, and comparing two pointers tells so.
//
// What trackers do not tell (MySQL 9.7, MariaDB 10.11):
//
//   - The collation of SET NAMES and of SET character_set_connection: State.Ask.
//   - On MariaDB, what SET @@x changed, and a statement that ended in an error, such as CALL: Catalog.Look.
//     MySQL reports it with the next OK.
//   - On MariaDB, that SET STATEMENT x = y FOR has taken y back, also one inside of a routine:
//     State.Suspect.
//   - User variables: State.WithUserVariable.
//   - That a client has changed session_track_system_variables itself, as MariaDB Connector/J does at
//     each login: behind every SET whose text has session_track_ in it, Catalog.Watch is to be run.
//   - A write outside of a transaction: the W of a transaction's state is reported only while one is
//     open. A GTID (MySQL) or last_gtid (MariaDB) tracker tells of it.
//
// They do tell what SET NAMES, USE, SET TRANSACTION, routines, triggers and prepared statements
// change, and DROP of the schema in use; a SET_VAR hint is reported with the value that holds behind
// the statement.
package sessionstate
