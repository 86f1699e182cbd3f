package clients

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// script is a program in a client's language. It prints a line for each check.
type script struct {
	client string
	argv   []string
	env    []string
	modes  []string
	quick  flavor.Flavor // the server on which its first mode is a quick run
}

// scriptRuns returns the runs of the scripts in testdata.
func scriptRuns(t testing.TB, m machine) []run {
	var scripts []script
	if r := m.packages; r != nil {
		scripts = append(scripts, pythonScripts(r)...)
		scripts = append(scripts, phpScript(r))
		scripts = append(scripts, perlScripts(r)...)
	}
	if dir := m.modules; dir != "" {
		for name, own := range map[string]flavor.Flavor{"mysql2": flavor.MySQL, "mariadb": flavor.MariaDB} {
			scripts = append(scripts, script{
				client: "node " + name + " " + moduleVersion(t, dir, name),
				argv:   []string{"node", "testdata/node/" + name + ".js"},
				env:    []string{"NODE_PATH=" + dir},
				modes:  []string{plain, overTLS, compressed},
				quick:  own,
			})
		}
	}
	var runs []run
	for _, s := range scripts {
		for i, mode := range s.modes {
			quick := flavor.Unknown
			if i == 0 {
				quick = s.quick
			}
			runs = append(runs, run{
				client: s.client, mode: mode, quick: quick,
				do: func(ctx context.Context, t testing.TB, at place) []check { return s.run(ctx, t, at, mode) },
			})
		}
	}
	return runs
}

func pythonScripts(r *root) []script {
	python := r.argv("usr/bin/python3.*[0-9]", "-B", "testdata/check.py")
	env := []string{
		"PYTHONHOME=" + filepath.Join(r.dir, "usr"), "PYTHONPATH=" + filepath.Join(r.dir, "usr/lib/python3/dist-packages"),
		"PYTHONUTF8=1", "MARIADB_PLUGIN_DIR=" + r.plugins(),
	}
	return []script{
		{client: "PyMySQL " + r.versions["python3-pymysql"], argv: with(python, "pymysql"), env: env, modes: []string{plain, overTLS}, quick: flavor.MySQL},
		{client: "mysqlclient " + r.versions["python3-mysqldb"], argv: with(python, "MySQLdb"), env: env, modes: []string{overTLS, plain, compressed}},
	}
}

func phpScript(r *root) script {
	settings := []string{"-n", "-d", "memory_limit=1G", "-d", "mysqli.allow_local_infile=1", "-d", "extension_dir=" + r.glob("usr/lib/php/2*")}
	for _, name := range []string{"mysqlnd", "mysqli", "pdo", "pdo_mysql"} {
		settings = append(settings, "-d", "extension="+name)
	}
	return script{
		client: "PHP mysqli and PDO " + r.versions["php8.2-mysql"],
		argv:   r.argv("usr/bin/php*[0-9]", with(settings, "testdata/check.php")...),
		modes:  []string{plain, overTLS, compressed}, quick: flavor.MySQL,
	}
}

func perlScripts(r *root) []script {
	var folders []string
	for _, pattern := range []string{
		"usr/lib/*/perl5/5*", "usr/share/perl5", "usr/lib/*/perl-base", "usr/lib/*/perl/5*[0-9]", "usr/share/perl/5*[0-9]",
	} {
		folders = append(folders, r.glob(pattern))
	}
	env := []string{"PERL5LIB=" + strings.Join(folders, ":"), "MARIADB_PLUGIN_DIR=" + r.plugins()}
	perl := r.argv("usr/bin/perl", "testdata/check.pl")
	return []script{
		{client: "Perl DBD::mysql " + r.versions["libdbd-mysql-perl"], argv: with(perl, "mysql"), env: env, modes: []string{compressed, plain}, quick: flavor.MariaDB},
		{client: "Perl DBD::MariaDB " + r.versions["libdbd-mariadb-perl"], argv: with(perl, "MariaDB"), env: env, modes: []string{overTLS, plain, compressed}},
	}
}

// with returns a new slice.
func with(args []string, more ...string) []string {
	return append(append([]string{}, args...), more...)
}

func moduleVersion(t testing.TB, modules, name string) string {
	var module struct{ Version string }
	text, err := os.ReadFile(filepath.Join(modules, name, "package.json"))
	if err == nil {
		err = json.Unmarshal(text, &module)
	}
	if err != nil {
		t.Fatal(err)
	}
	return module.Version
}

// environment tells a script where to connect to and as whom.
func environment(at place, mode string) []string {
	return []string{
		"PATH=" + os.Getenv("PATH"), "HOME=" + at.dir, "TMPDIR=" + at.dir, "LC_ALL=C.UTF-8", "TZ=UTC",
		"CLIENTS_HOST=" + at.host, "CLIENTS_PORT=" + strconv.Itoa(at.port), "CLIENTS_DATABASE=" + database, "CLIENTS_CA=" + at.ca,
		"CLIENTS_USER=" + app.user, "CLIENTS_PASSWORD=" + app.password, "CLIENTS_OTHER_USER=" + other.user, "CLIENTS_OTHER_PASSWORD=" + other.password,
		"CLIENTS_FLAVOR=" + at.flavor.String(), "CLIENTS_MODE=" + strings.ToLower(mode),
	}
}

func (s script) run(ctx context.Context, t testing.TB, at place, mode string) []check {
	out, errs, err := command(ctx, with(environment(at, mode), s.env...), "", s.argv...)
	var checks []check
	for line := range strings.Lines(out) {
		if c, ok := parseCheck(strings.TrimRight(line, "\n")); ok {
			checks = append(checks, c)
		} else {
			t.Logf("%s: %s", s.client, line)
		}
	}
	if err != nil {
		checks = append(checks, check{name: "exit", text: fmt.Sprintf("%v: %s", err, tail([]byte(errs)))})
	}
	return checks
}

// parseCheck reads "ok NAME: TEXT" or "not ok NAME: TEXT".
func parseCheck(line string) (check, bool) {
	rest, failed := strings.CutPrefix(line, "not ok ")
	if !failed {
		var ok bool
		if rest, ok = strings.CutPrefix(line, "ok "); !ok {
			return check{}, false
		}
	}
	name, text, ok := strings.Cut(rest, ": ")
	return check{name: name, ok: !failed, text: text}, ok
}

func TestParseCheck(t *testing.T) {
	for _, row := range []struct {
		line string
		want check
		ok   bool
	}{
		{"ok login: (('app@%'))", check{"login", true, "(('app@%'))"}, true},
		{"not ok types: Error: no", check{"types", false, "Error: no"}, true},
		{"ok none: ", check{"none", true, ""}, true},
		{"Warning: ok or not", check{}, false},
		{"ok", check{}, false},
	} {
		if got, ok := parseCheck(row.line); got != row.want && row.ok || ok != row.ok {
			t.Errorf("%q: got %v, %v, want %v, %v", row.line, got, ok, row.want, row.ok)
		}
	}
}

// command runs a program to its end and returns what it wrote.
func command(ctx context.Context, env []string, input string, argv ...string) (out, errs string, err error) {
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = env
	cmd.Stdin = strings.NewReader(input)
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	cmd.WaitDelay = 5 * time.Second
	err = cmd.Run()
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return stdout.String(), stderr.String(), err
}
