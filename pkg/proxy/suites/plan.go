package suites

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// plan is what the suite's runner does in its extern mode.
type plan struct {
	Dir   string            // the worker's whose folders stand in it
	Env   map[string]string // of every test
	Tests []test
}

// test is one that the runner knows.
type test struct {
	Name string
	Args []string          // of mysqltest; nil if the runner skips it
	Env  map[string]string // where it differs from the plan's
	Skip string            // why the runner skips it
}

// file is the path of the test itself, or "".
func (t *test) file() string {
	for _, arg := range t.Args {
		if path, found := strings.CutPrefix(arg, "--test-file="); found {
			return path
		}
	}
	return ""
}

// stub stands in for mysqltest: it writes down how it is called and reports
// that the test skips itself.
const stub = `#!/bin/sh
for arg in "$@"; do
	case "$arg" in --test-file=*) name=$(basename -- "$arg" .test) ;; esac
done
[ -n "$name" ] || exit 0
env -0 >"%[1]s/$name.env"
printf '%%s\0' "$@" >"%[1]s/$name.args"
exit 62
`

var skipPattern = regexp.MustCompile(`(?m)^(?:\[ *\d+%\] )?main\.(\S+).*\[ (?:skipped|disabled) \]\s*(.*)$`)

// makePlan has the suite's own runner go through its main suite on a running
// server with a stub in the place of mysqltest. What it made is kept in file.
func makePlan(ctx context.Context, w *worker, file string) (*plan, error) {
	if p, err := readPlan(file); !errors.Is(err, fs.ErrNotExist) {
		return p, err
	}
	release, err := w.lock()
	if err != nil {
		return nil, err
	}
	defer release()
	if err := w.fresh(ctx, nil, cleanEnv()); err != nil {
		return nil, err
	}
	defer w.close()
	dir := w.path("plan")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	program := w.path("stub")
	if err := os.WriteFile(program, fmt.Appendf(nil, stub, dir), 0o755); err != nil {
		return nil, err
	}
	argv := []string{
		"perl", "mysql-test-run.pl",
		"--extern", "socket=" + w.direct().socket, "--extern", fmt.Sprintf("port=%d", w.direct().port),
		"--suite=main", "--force", "--max-test-fail=0", "--nowarnings", "--nocheck-testcases",
		"--vardir=" + w.vardir(), "--tmpdir=" + w.tmp(),
	}
	env := append(cleanEnv(), "MYSQL_TEST="+program)
	f, err := run(ctx, time.Hour, argv, env, w.tree.tests(), nil)
	if err != nil {
		return nil, err
	}
	tests, common, err := readRecords(dir)
	if err == nil && len(tests) == 0 {
		err = fmt.Errorf("the runner ran nothing: %s%s", f.stdout[max(0, len(f.stdout)-2000):], f.stderr)
	}
	if err != nil {
		return nil, err
	}
	recorded := map[string]bool{}
	for _, t := range tests {
		recorded[t.Name] = true
	}
	for _, m := range skipPattern.FindAllStringSubmatch(string(f.stdout), -1) {
		if !recorded[m[1]] {
			recorded[m[1]] = true
			tests = append(tests, test{Name: m[1], Skip: strings.TrimSpace(m[2])})
		}
	}
	slices.SortFunc(tests, func(a, b test) int { return strings.Compare(a.Name, b.Name) })
	p := &plan{Dir: w.dir, Env: common, Tests: tests}
	text, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		return nil, err
	}
	return p, os.WriteFile(file, text, 0o644)
}

func readPlan(file string) (*plan, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var p plan
	return &p, json.Unmarshal(text, &p)
}

// readRecords reads what the stub has written.
func readRecords(dir string) ([]test, map[string]string, error) {
	files, err := filepath.Glob(filepath.Join(dir, "*.args"))
	if err != nil {
		return nil, nil, err
	}
	var tests []test
	var common map[string]string
	for _, file := range files {
		args, err := readZeros(file)
		if err != nil {
			return nil, nil, err
		}
		lines, err := readZeros(strings.TrimSuffix(file, ".args") + ".env")
		if err != nil {
			return nil, nil, err
		}
		env := map[string]string{}
		for _, line := range lines {
			name, value, _ := strings.Cut(line, "=")
			env[name] = value
		}
		for _, name := range []string{"PWD", "OLDPWD", "SHLVL", "_", "MYSQL_TEST"} {
			delete(env, name)
		}
		if common == nil {
			common = env
		}
		t := test{Name: strings.TrimSuffix(filepath.Base(file), ".args"), Args: args, Env: map[string]string{}}
		for name, value := range env {
			if common[name] != value {
				t.Env[name] = value
			}
		}
		tests = append(tests, t)
	}
	return tests, common, nil
}

func readZeros(file string) ([]string, error) {
	text, err := os.ReadFile(file)
	return slices.DeleteFunc(strings.Split(string(text), "\x00"), func(s string) bool { return s == "" }), err
}

// environment returns the variables of a test that a worker runs.
func (p *plan) environment(t *test, w *worker, at endpoint) []string {
	values := map[string]string{}
	for _, from := range []map[string]string{p.Env, t.Env} {
		for name, value := range from {
			values[name] = strings.ReplaceAll(value, p.Dir, w.dir)
		}
	}
	values["MASTER_MYPORT"], values["MASTER_MYSOCK"] = fmt.Sprint(at.port), at.socket
	values["HOME"] = w.tmp()
	values["MYSQL_TEST"] = strings.Join(append([]string{w.tree.mysqltest()}, p.arguments(t, w, false)...), " ")
	var env []string
	for name, value := range values {
		env = append(env, name+"="+value)
	}
	slices.Sort(env)
	return env
}

// arguments returns mysqltest's, without the file of expected results: so it
// prints everything, and compares nothing.
func (p *plan) arguments(t *test, w *worker, all bool) []string {
	var args []string
	for _, arg := range t.Args {
		name, _, _ := strings.Cut(arg, "=")
		switch {
		case name == "--result-file" || name == "--tail-lines":
		case name == "--test-file" && !all:
		default:
			args = append(args, strings.ReplaceAll(arg, p.Dir, w.dir))
		}
	}
	return args
}

// expected returns the path of the suite's own result, or "".
func (t *test) expected() string {
	for _, arg := range t.Args {
		if path, found := strings.CutPrefix(arg, "--result-file="); found {
			return path
		}
	}
	return ""
}

func (t *tree) mysqltest() string {
	if t.inst.Flavor == flavor.MariaDB {
		return t.bin("mariadb-test")
	}
	return t.bin("mysqltest")
}
