// Package rwdb answers: how does a Go program read from replicas without ever reading what is staler than it asked
// for, and without a proxy? It is a driver.Connector for database/sql over the connections of go-sql-driver/mysql.
//
//	cluster, err := rwdb.New(rwdb.Options{Servers: []rwdb.Server{
//		{DSN: "shop:secret@tcp(db1:3306)/shop"},
//		{DSN: "shop:secret@tcp(db2:3306)/shop"},
//	}})
//	if err != nil { ... }
//	db := sql.OpenDB(cluster)
//	defer db.Close() // which closes cluster, too
//
// Each statement is classified by its text, as the proxy does it: what certainly only reads runs on a replica, the
// rest on the primary, which is found out and followed. Package route decides, and waitpos waits.
//
// # What is promised
//
// By default the level session: a read sees every write of the same pool that had returned before it began, and on
// one connection (sql.Conn, sql.Tx) nothing older than what that has been shown. WithSession makes statements on
// any connections one session, whose token another process can go on with. WithLevel, Options.Policy and the hints
// of the proxy ask for another level: eventual, weak, session, global or strong.
//
// A read that no replica can have in time runs on the primary or gets error 1205, as Policy.ErrorOnTimeout says.
// It never returns a stale row.
//
// # What it costs
//
// At level eventual nothing but a look at the text. On connections without TLS and compression the positions of
// writes and reads come with the servers' answers, and where a read has to wait for a replica, the wait leaves with
// it: no level but global takes a round trip more. With TLS or compression a write is followed by a question for its
// position, and a wait is a round trip of its own. At level global the primary is asked for its position before each
// read, with at most one question at a time for all of them.
//
// # What differs from a pool of one server
//
//   - One connection of the pool is up to one to each server: SetMaxOpenConns bounds the connections to each.
//   - Session variables that a statement sets are set on each of these connections when it is used next. What lives
//     on one connection (temporary tables, GET_LOCK, user variables from a SELECT) keeps its statements there.
//   - A read that loses its server before its first row runs again on another one. A write never does, unless the
//     server certainly did nothing.
//   - A transaction begins on a server with its first statement.
//   - DB.Ping looks at the primary.
//
// # Stability
//
// The exported names and what their comments promise stay as they are within a major version. Which server a read
// gets among several that may have it can change, and so can the numbers of round trips, downwards.
package rwdb
