package clients

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

const goDriver = "github.com/go-sql-driver/mysql"

// goDriverRuns returns the runs of go-sql-driver/mysql's own tests, which lie
// in the module cache.
func goDriverRuns(t testing.TB) []run {
	out, err := exec.CommandContext(t.Context(), "go", "list", "-m", "-f", "{{.Version}} {{.Dir}}", goDriver).Output()
	version, dir, ok := strings.Cut(strings.TrimSpace(string(out)), " ")
	if err != nil || !ok {
		t.Fatalf("find the tests of %s: %v: %s", goDriver, err, out)
	}
	program := filepath.Join(t.TempDir(), "driver.test")
	if out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-o", program, goDriver).CombinedOutput(); err != nil {
		t.Fatalf("build the tests of %s: %v: %s", goDriver, err, tail(out))
	}
	var runs []run
	for mode, quick := range map[string]flavor.Flavor{plain: flavor.MySQL, overTLS: flavor.Unknown} {
		runs = append(runs, run{
			client: "go-sql-driver/mysql " + strings.TrimPrefix(version, "v"), mode: mode, quick: quick, suite: true,
			do: func(ctx context.Context, t testing.TB, at place) []check {
				return goDriverTests(ctx, t, at, program, dir, mode)
			},
		})
	}
	return runs
}

func goDriverTests(ctx context.Context, t testing.TB, at place, program, dir, mode string) []check {
	name := database
	if mode == overTLS {
		// The tests have no variable for TLS. They put "?timeout=30s" behind the
		// name, which becomes a part of the last attribute.
		name += "?tls=skip-verify&connectionAttributes=a:b"
	}
	env := append(os.Environ(),
		"MYSQL_TEST_USER="+app.user, "MYSQL_TEST_PASS="+app.password, "MYSQL_TEST_PROT=tcp", "MYSQL_TEST_ADDR="+at.address(), "MYSQL_TEST_DBNAME="+name)
	// One test dials an address of the internet and expects that nobody answers.
	cmd := exec.CommandContext(ctx, program, "-test.v", "-test.skip=^TestConnectorReturnsTimeout$")
	cmd.Dir, cmd.Env = dir, env
	out, err := cmd.CombinedOutput()
	checks := goTests(string(out))
	if len(checks) == 0 {
		return []check{{name: "exit", text: fmt.Sprintf("%v: %s", err, tail(out))}}
	}
	t.Logf("%s", failures(string(out)))
	return checks
}

var goTestPattern = regexp.MustCompile(`(?m)^ *--- (PASS|FAIL|SKIP): (\S+) `)

// goTests reads the output of go test -v. Only the results are compared: the
// tests' names of tables and their times change.
func goTests(out string) []check {
	var checks []check
	for _, m := range goTestPattern.FindAllStringSubmatch(out, -1) {
		c := check{name: m[2], ok: m[1] != "FAIL", text: m[1]}
		if c.ok && strings.HasPrefix(c.name, "TestContextCancel") {
			c.text = "PASS" // they are skipped where the machine is slow
		}
		checks = append(checks, c)
	}
	return checks
}

// failures returns the parts of the output that tell of failures.
func failures(out string) string {
	var b strings.Builder
	left := 0
	for line := range strings.Lines(out) {
		if strings.Contains(line, "--- FAIL") || strings.HasPrefix(line, "panic:") {
			left = 6
		}
		if left > 0 {
			b.WriteString(line)
			left--
		}
	}
	return clip(b.String())
}

func TestGoTests(t *testing.T) {
	got := goTests("=== RUN   TestA\n--- PASS: TestA (0.00s)\n    --- FAIL: TestA/b (0.10s)\n        x.go:1: no\n--- SKIP: TestC (0.00s)\nFAIL\n")
	want := []check{{"TestA", true, "PASS"}, {"TestA/b", false, "FAIL"}, {"TestC", true, "SKIP"}}
	if fmt.Sprint(got) != fmt.Sprint(want) {
		t.Errorf("got %v, want %v", got, want)
	}
}
