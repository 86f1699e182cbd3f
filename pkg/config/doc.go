// Package config answers: what does the operator want the proxy to do? It turns
// a TOML file into a Config whose every value has been checked, or into all that
// is wrong with the file, each with line and column.
//
// Keys have the names of the commands' flags, and what decides where reads go
// has the defaults of route.DefaultPolicy. Nothing here opens a connection or
// reads the environment by itself. A Config is not changed after it was made:
// a reload makes a new one, and Diff says what that takes.
package config
