// Package suites answers what the servers' own regression suites say about
// the lexer and the classes of statements: it fetches the suites of MySQL and
// MariaDB, takes the SQL statements out of them, and its test holds
// pkg/sqltoken and route against each one.
//
// It is a module of its own, so that the TiDB parser, to which classes are
// compared, is no dependency of the program.
package suites
