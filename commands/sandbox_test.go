//go:build unix

package commands_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

// TestSandbox runs the scripts of testdata/sandbox, which start and end
// clusters of their own.
func TestSandbox(t *testing.T) {
	t.Parallel()
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		sandboxtest.Installation(t, f)
		cache := sandboxtest.CacheDir(t)
		setup := func(e *testscript.Env) error {
			e.Setenv("MYSQLRW_CACHE", cache)
			e.Setenv("FLAVOR", f.String())
			work := e.WorkDir
			e.Defer(func() { // for a script that has failed
				_, _, _ = callIn(e.Getenv, "sandbox", "down", "--dir", filepath.Join(work, "box"))
			})
			return nil
		}
		more := map[string]func(*testscript.TestScript, bool, []string){"norun": cmdNoRun}
		// One after the other: two cores cannot start many servers at once.
		testscript.RunT(inTurn{t}, scriptParams("sandbox", setup, more))
	})
}

// cmdNoRun is "norun TEXT": waits until no process has the text in its
// arguments. Servers are killed, and a killed process may take a moment to go.
func cmdNoRun(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: norun TEXT")
	}
	if runtime.GOOS != "linux" {
		return
	}
	ts.Check(poll(func() error {
		files, err := filepath.Glob("/proc/[0-9]*/cmdline")
		if err != nil {
			return err
		}
		for _, f := range files {
			if argv, _ := os.ReadFile(f); bytes.Contains(argv, []byte(args[0])) { // it may be gone by now
				return fmt.Errorf("still runs: %s", bytes.ReplaceAll(argv, []byte{0}, []byte{' '}))
			}
		}
		return nil
	}))
}
