// Package clients answers: do real clients get through the proxy what they get
// from the server itself?
//
// It has tests only. Each run is one client in one mode (plain, TLS,
// compressed; text and prepared statements) that carries out named checks
// against an address. It is done on a primary, and then through the proxy; the
// answers must be the same to the letter. docs/compatibility.md is written by
// these tests and says what was run, which differences there are, and why.
//
// The clients come from the distribution's packages and from npm, and are kept
// below the cache folder, see package sandboxtest; root is not needed. A client
// that cannot be had is skipped with a line that says so.
package clients
