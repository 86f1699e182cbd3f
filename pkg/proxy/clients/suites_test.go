package clients

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

// suite is the source of a driver, which has its own tests.
type suite struct {
	source string // the source package
	client string // without the version
	run    func(ctx context.Context, t testing.TB, r *root, dir string, at place) []check
}

var suites = []suite{
	{"libdbd-mysql-perl", "own tests of DBD::mysql", perlSuite("mysql")},
	{"libdbd-mariadb-perl", "own tests of DBD::MariaDB", perlSuite("MariaDB")},
	{"python-mysqldb", "own tests of mysqlclient", pythonSuite},
}

// suiteRuns returns the runs of the drivers' own tests. They are fetched for
// -clients.all only.
func suiteRuns(t testing.TB, m machine) []run {
	if m.packages == nil || !*all && *only == "" {
		return nil
	}
	var runs []run
	for _, s := range suites {
		dir := filepath.Join(sandboxtest.CacheDir(t), "clients-source-"+s.source)
		if err := once(dir, func(ctx context.Context, dir string) error { return fetchSource(ctx, dir, s.source) }); err != nil {
			t.Logf("CLIENTS MISSING: source of %s: %v", s.source, err)
			continue
		}
		unpacked, _ := filepath.Glob(filepath.Join(dir, "*", "t*s*")) // t or tests
		if len(unpacked) == 0 {
			unpacked, _ = filepath.Glob(filepath.Join(dir, "*", "t"))
		}
		if len(unpacked) == 0 {
			t.Errorf("%s has no tests", dir)
			continue
		}
		source := filepath.Dir(unpacked[0])
		_, version, _ := strings.Cut(filepath.Base(source), "-")
		version = version[strings.LastIndex(version, "-")+1:]
		runs = append(runs, run{
			client: s.client + " " + version, mode: plain, suite: true,
			do: func(ctx context.Context, t testing.TB, at place) []check {
				return s.run(ctx, t, m.packages, source, at)
			},
		})
	}
	return runs
}

// fetchSource unpacks what a package was made of. apt gets its lists of
// sources from the lists of packages that it has.
func fetchSource(ctx context.Context, dir, name string) error {
	apt := filepath.Join(dir, "apt")
	for _, sub := range []string{"lists/partial", "empty"} {
		if err := os.MkdirAll(filepath.Join(apt, sub), 0o755); err != nil {
			return err
		}
	}
	list, err := sourceList(ctx)
	if err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(apt, "sources.list"), []byte(list), 0o644); err != nil {
		return err
	}
	options := []string{
		"-q", "-o", "Dir::State::Lists=" + filepath.Join(apt, "lists"), "-o", "Dir::Cache=" + apt, "-o", "APT::Sandbox::User=root", "-o", "Debug::NoLocking=true",
		"-o", "Dir::Etc::sourcelist=" + filepath.Join(apt, "sources.list"), "-o", "Dir::Etc::sourceparts=" + filepath.Join(apt, "empty"), "-o", "Acquire::Languages=none",
	}
	for _, args := range [][]string{{"update"}, {"source", "--download-only", "--tar-only", name}} {
		cmd := exec.CommandContext(ctx, "apt-get", append(options, args...)...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			return fmt.Errorf("apt-get %s: %w: %s", args[0], err, tail(out))
		}
	}
	archives, err := filepath.Glob(filepath.Join(dir, "*.orig.tar.*"))
	if err != nil || len(archives) != 1 {
		return fmt.Errorf("%d archives, %w", len(archives), err)
	}
	if out, err := exec.CommandContext(ctx, "tar", "-xf", archives[0], "-C", dir).CombinedOutput(); err != nil {
		return fmt.Errorf("tar: %w: %s", err, tail(out))
	}
	return os.RemoveAll(apt)
}

// sourceList returns an apt list of the sources of the machine's distribution.
func sourceList(ctx context.Context) (string, error) {
	out, err := exec.CommandContext(ctx, "apt-get", "indextargets", "--format", "$(REPO_URI) $(RELEASE) $(COMPONENT)", "Created-By: Packages").Output()
	if err != nil {
		return "", fmt.Errorf("apt-get indextargets: %w", err)
	}
	keys, _ := filepath.Glob("/usr/share/keyrings/*-archive-keyring.gpg")
	signed := ""
	if len(keys) > 0 {
		signed = "[signed-by=" + strings.Join(keys, ",") + "] "
	}
	var list []string
	for line := range strings.Lines(string(out)) {
		if fields := strings.Fields(line); len(fields) == 3 && fields[2] == "main" {
			list = append(list, "deb-src "+signed+strings.Join(fields, " "))
		}
	}
	slices.Sort(list)
	return strings.Join(slices.Compact(list), "\n") + "\n", nil
}

// perlSuite runs each file of t.
func perlSuite(driver string) func(context.Context, testing.TB, *root, string, place) []check {
	return func(ctx context.Context, t testing.TB, r *root, dir string, at place) []check {
		files, err := filepath.Glob(filepath.Join(dir, "t", "*.t"))
		if err != nil || len(files) == 0 {
			t.Fatalf("no tests in %s: %v", dir, err)
		}
		env := append(environment(at, ""), perlScripts(r)[0].env...)
		env = append(env,
			fmt.Sprintf("DBI_DSN=DBI:%s:database=%s;host=%s;port=%d", driver, database, at.host, at.port), "DBI_USER="+app.user, "DBI_PASS="+app.password)
		var checks []check
		for _, file := range files {
			argv := with([]string{"env", "-C", dir}, r.argv("usr/bin/perl", "-I.", "-It", "t/"+filepath.Base(file))...)
			out, errs, err := command(ctx, env, "", argv...)
			checks = append(checks, check{name: filepath.Base(file), ok: err == nil, text: tap(out)})
			if err != nil {
				t.Logf("%s: %v: %s", filepath.Base(file), err, tail([]byte(errs)))
			}
		}
		return checks
	}
}

var tapPattern = regexp.MustCompile(`(?m)^((?:not )?ok) (\d+)`)

// tap shortens the output of a Perl test to which of its checks went well: the
// names of some depend on the moment.
func tap(out string) string {
	var failed []string
	all := tapPattern.FindAllStringSubmatch(out, -1)
	for _, m := range all {
		if m[1] != "ok" {
			failed = append(failed, m[2])
		}
	}
	text := strconv.Itoa(len(all)) + " checks"
	if len(failed) > 0 {
		text += ", not ok: " + strings.Join(failed, " ")
	}
	return text
}

func TestTap(t *testing.T) {
	for _, row := range [][2]string{
		{"1..3\nok 1 - a\n  ok 1\nnot ok 2 - b\n# diag\nok 3\n", "3 checks, not ok: 2"},
		{"1..0 # SKIP no\n", "0 checks"},
	} {
		if got := tap(row[0]); got != row[1] {
			t.Errorf("%q: got %q, want %q", row[0], got, row[1])
		}
	}
}

var pythonPattern = regexp.MustCompile(`(?m)^(\w+) \(([\w.]+)\).*?\.\.\. (ok|FAIL|ERROR|skipped.*|expected failure)$`)

// pythonSuite runs the tests that unittest finds.
func pythonSuite(ctx context.Context, t testing.TB, r *root, dir string, at place) []check {
	file := filepath.Join(at.dir, "python.cnf")
	text := fmt.Sprintf("[MySQLdb-tests]\nhost=%s\nport=%d\nuser=%s\npassword=%s\ndatabase=%s\ndefault-character-set=utf8mb4\nlocal-infile=1\n",
		at.host, at.port, app.user, app.password, database)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	env := append(environment(at, ""), pythonScripts(r)[1].env...)
	env = append(env, "TESTDB="+file)
	python := r.argv("usr/bin/python3.*[0-9]", "-B", "-m", "unittest", "discover", "-v", "-p", "test_*MySQLdb*.py")
	// In the folder above lies the module's own source, which is not compiled.
	out, errs, err := command(ctx, env, "", with([]string{"env", "-C", filepath.Join(dir, "tests")}, python...)...)
	var checks []check
	for _, m := range pythonPattern.FindAllStringSubmatch(out+errs, -1) {
		checks = append(checks, check{name: m[2] + "." + m[1], ok: m[3] != "FAIL" && m[3] != "ERROR", text: m[3]})
	}
	if len(checks) == 0 {
		return []check{{name: "exit", text: fmt.Sprintf("%v: %s", err, tail([]byte(out+errs)))}}
	}
	t.Logf("%s", failures(strings.ReplaceAll(errs, "FAIL:", "--- FAIL:")))
	return checks
}
