package optionfile_test

import (
	"bytes"
	"errors"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"github.com/mysqlrw/mysqlrw/pkg/optionfile"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

// The flavors by number: a test of this package must not import pkg/flavor,
// which lies beside it.
const (
	mySQL   = 1
	mariaDB = 2
)

// TestRead_againstProgram makes nasty files and compares Read with the
// my_print_defaults of the installed servers. No includes: releases differ in
// how they complain of them.
func TestRead_againstProgram(t *testing.T) {
	t.Parallel()
	t.Run("mysql", func(t *testing.T) {
		t.Parallel()
		// MySQL hides passwords unless it is told to show them.
		compare(t, sandboxtest.Installation(t, mySQL), "--show")
	})
	t.Run("mariadb", func(t *testing.T) {
		t.Parallel()
		compare(t, sandboxtest.Installation(t, mariaDB))
	})
}

// compare runs the installation's my_print_defaults on made-up files.
func compare(t *testing.T, inst *sandbox.Installation, flags ...string) {
	t.Helper()
	if !strings.HasSuffix(t.Name(), "/"+inst.Flavor.String()) {
		t.Fatalf("got an installation of %s", inst.Flavor)
	}
	path := filepath.Join(t.TempDir(), "my.cnf")
	args := append([]string{"--defaults-file=" + path, "client", "mysqlrw"}, flags...)
	argv, err := inst.Argv("my_print_defaults", args...)
	if err != nil {
		t.Skipf("no my_print_defaults: %v", err)
	}
	rapid.Check(t, func(r *rapid.T) {
		content := "[client]\n" + strings.Join(rapid.SliceOfN(nastyLine(), 1, 30).Draw(r, "lines"), "\n")
		write(t, filepath.Dir(path), "my.cnf", content)
		cmd := exec.CommandContext(t.Context(), argv[0], argv[1:]...)
		cmd.Env = []string{"MYSQL_TEST_LOGIN_FILE=/nonexistent"}
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		runErr := cmd.Run()
		var exit *exec.ExitError
		if runErr != nil && !errors.As(runErr, &exit) {
			r.Fatalf("run my_print_defaults: %v", runErr)
		}
		res, err := optionfile.Read(optionfile.Options{DefaultsFile: path, Groups: []string{"client", "mysqlrw"}})
		if (err != nil) != (runErr != nil) {
			r.Fatalf("%q: got error %v, want as in %v %s", content, err, runErr, stderr.String())
		}
		if err != nil {
			checkFailure(t, err, path, stderr.String())
			return
		}
		if got, want := dashed(printed(res)), dashed(stdout.String()); got != want {
			r.Fatalf("%q:\ngot  %q\nwant %q", content, got, want)
		}
	})
}

// dashed brings names into one spelling, and values in the same way.
func dashed(out string) string { return strings.ReplaceAll(out, "_", "-") }

// nastyLine is a line of the letters that mean something in an option file.
// It never begins with '=': there the client reads what stands before the
// line in memory.
func nastyLine() *rapid.Generator[string] {
	start := rapid.SampledFrom([]string{
		"k", "k=", "k =", "_k-", " k", "'k", "\"k", "k\\", "#", ";", "", "[client]", "[Mysqlrw]", "[ client]", "[client \t]x", "[cli", "[x]", "]", "k='", "k=\"",
	})
	rest := rapid.SliceOfN(rapid.SampledFrom([]string{
		"=", " ", "\t", "\"", "'", "\\", "\\\\", "#", ";", "x", "n", "t", "r", "b", "s", "0", "[", "]", "\r", "\v", "\f", "\xa0", "à", "é", "!", "-",
	}), 0, 12)
	return rapid.Custom(func(r *rapid.T) string {
		first, more := start.Draw(r, "start"), strings.Join(rest.Draw(r, "rest"), "")
		if first == "" {
			first, more = "\t", "k"+more
		}
		return first + more
	})
}
