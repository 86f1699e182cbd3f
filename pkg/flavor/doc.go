// Package flavor answers which kind of server is spoken to, MySQL or MariaDB,
// which version it is, and how a thing is spelled there.
//
// Both families renamed their replication words, at different times and in
// different ways: MariaDB answers SHOW REPLICA STATUS with the columns of the
// old words, MySQL 8.4 refuses the old statements. Code outside this package
// knows the new word only and asks here for the server's spelling; it is the
// only package in which the old words stand.
//
// Statements with two spellings are ladders, newest first. The caller tries
// them in order and goes on only after error 1064 (the server does not know
// the statement): every cut-off by version number has been wrong somewhere.
//
//	server := flavor.Parse("5.5.5-10.11.19-MariaDB-log")
//	server.Flavor                      // MariaDB
//	server.Version.AtLeast(10, 11, 0)  // true
//	flavor.Column("Slave_IO_Running")  // "Replica_IO_Running"
package flavor
