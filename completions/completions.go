// Package completions holds the completion scripts of the shells, which ask
// the program itself for the words: there is one list of commands and flags,
// and it cannot go stale.
package completions

import "embed"

// scripts are named mysqlrw.SHELL.
//
//go:embed mysqlrw.*
var scripts embed.FS

// Script returns the script for bash, zsh, fish or powershell. The error for
// any other name is an fs.ErrNotExist.
func Script(shell string) ([]byte, error) { return scripts.ReadFile("mysqlrw." + shell) }
