//go:build unix

package commands_test

import (
	"flag"
	"fmt"
	"os"
	"syscall"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mysqlrw/mysqlrw/commands"
)

// update rewrites the expected output in the scripts: go test ./commands -update.
var update = flag.Bool("update", false, "rewrite the files of the scripts that cmp compares with")

const raceOptions, noSleep = "GORACE", "atexit_sleep_ms=0"

// TestMain puts two programs on the PATH of scripts and shells, which are this
// test binary: mysqlrw, and notty, which is mysqlrw without a terminal.
//
// A program with the race detector in it sleeps for a second before it ends,
// so as not to miss a race at the very end. These end hundreds of times.
func TestMain(m *testing.M) {
	if err := os.Setenv(raceOptions, noSleep); err != nil {
		panic(err)
	}
	testscript.Main(m, map[string]func(){
		"mysqlrw": func() { os.Exit(commands.Main()) },
		"notty":   withoutTerminal,
	})
}

// withoutTerminal leaves the session, so that a password cannot be asked for
// on the terminal of whoever runs the tests.
func withoutTerminal() {
	if _, err := syscall.Setsid(); err != nil {
		fmt.Fprintln(os.Stderr, "setsid:", err)
		os.Exit(99)
	}
	os.Exit(commands.Main())
}
