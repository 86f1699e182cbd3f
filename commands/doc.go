// Package commands is the command line of mysqlrw: each command parses its
// arguments, calls one library and prints the result.
//
// It is the only package that reads the environment, writes to standard
// output or error, and maps errors to exit codes.
package commands
