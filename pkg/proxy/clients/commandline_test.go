package clients

import (
	"context"
	"crypto/sha256"
	"database/sql"
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

// commandLine is one family of command line clients.
type commandLine struct {
	name     string
	own      flavor.Flavor                          // whose clients these are
	argv     func(program string) ([]string, error) // of "client", "admin", "dump", ...
	modes    map[string][]string                    // options of the client for each mode
	options  []string                               // in every mode
	settings string                                 // of the client alone, in its option file
}

//go:embed testdata/commandline.txt
var commandLineChecks string

// commandLineRuns returns the runs of both command line clients; each is put
// to both servers.
func commandLineRuns(t testing.TB, m machine) []run {
	var runs []run
	for _, c := range []*commandLine{mysqlClient(t), mariadbClient(m)} {
		if c == nil {
			continue
		}
		for _, mode := range []string{plain, overTLS, compressed, overZstd} {
			options, ok := c.modes[mode]
			if !ok {
				continue
			}
			quick := flavor.Unknown
			if mode == overTLS {
				quick = c.own
			}
			runs = append(runs, run{
				client: c.name, mode: mode, quick: quick,
				do: func(ctx context.Context, t testing.TB, at place) []check { return c.run(ctx, t, at, options) },
			})
		}
	}
	return runs
}

// mysqlClient returns MySQL's clients, which come with the sandbox's server,
// or nil.
func mysqlClient(t testing.TB) *commandLine {
	inst, err := sandbox.Find(t.Context(), sandbox.InstallOptions{Flavor: flavor.MySQL, CacheDir: sandboxtest.CacheDir(t)})
	if err != nil {
		t.Logf("CLIENTS MISSING: MySQL's: %v", err)
		return nil
	}
	names := map[string]string{
		"client": "mysql", "admin": "mysqladmin", "dump": "mysqldump", "import": "mysqlimport", "show": "mysqlshow", "check": "mysqlcheck", "slap": "mysqlslap",
	}
	native := filepath.Join(filepath.Dir(filepath.Dir(inst.Server)), "lib/mysql/plugin")
	return &commandLine{
		name: "mysql " + inst.Version.String(),
		own:  flavor.MySQL,
		argv: func(program string) ([]string, error) { return inst.Argv(names[program]) },
		modes: map[string][]string{
			plain:      {"--ssl-mode=DISABLED", "--get-server-public-key"},
			overTLS:    {"--ssl-mode=VERIFY_IDENTITY", "--ssl-ca=CA"},
			compressed: {"--ssl-mode=DISABLED", "--get-server-public-key", "--compression-algorithms=zlib"},
			overZstd:   {"--ssl-mode=VERIFY_CA", "--ssl-ca=CA", "--compression-algorithms=zstd", "--zstd-compression-level=7"},
		},
		options:  []string{"--plugin-dir=" + native},
		settings: "commands", // as \\G and \\r; they are off where the client reads from a pipe
	}
}

func mariadbClient(m machine) *commandLine {
	r := m.packages
	if r == nil {
		return nil
	}
	return &commandLine{
		name: "mariadb " + r.versions["mariadb-client"],
		own:  flavor.MariaDB,
		argv: func(program string) ([]string, error) {
			return r.argv("usr/bin/mariadb" + strings.TrimSuffix("-"+program, "-client")), nil
		},
		modes: map[string][]string{
			plain:      {"--skip-ssl"},
			overTLS:    {"--ssl-ca=CA", "--ssl-verify-server-cert"},
			compressed: {"--skip-ssl", "--compress"},
		},
		options: []string{"--plugin-dir=" + r.plugins()},
	}
}

// call is one call of one program.
type call struct {
	name    string
	family  string // "mysql" or "mariadb", which alone has what is called; "" for both
	program string
	args    []string
	fails   bool // it should end with an error
	filter  bool // what it prints depends on the moment, but for its words
	input   string
}

// callPattern is the head line of a check: == NAME [FAMILY:]PROGRAM [!][~] ARGS.
var callPattern = regexp.MustCompile(`^== (\S+) (?:(\w+):)?(\w+)( !)?( ~)?(.*)$`)

// parseCalls reads the checks of commandline.txt.
func parseCalls(text string) ([]call, error) {
	var calls []call
	for line := range strings.Lines(text) {
		m := callPattern.FindStringSubmatch(strings.TrimRight(line, "\n"))
		switch {
		case m != nil:
			calls = append(calls, call{name: m[1], family: m[2], program: m[3], fails: m[4] != "", filter: m[5] != "", args: strings.Fields(m[6])})
		case len(calls) > 0:
			calls[len(calls)-1].input += line
		case !strings.HasPrefix(line, "#") && strings.TrimSpace(line) != "":
			return nil, fmt.Errorf("line %q belongs to no check", line)
		}
	}
	return calls, nil
}

func TestParseCalls(t *testing.T) {
	calls, err := parseCalls("# comment\n\n== a mysql:client ! ~ -t --force\nSELECT 1;\n\n== b dump DB\n")
	if err != nil || len(calls) != 2 {
		t.Fatalf("got %v, %v", calls, err)
	}
	a, b := calls[0], calls[1]
	if a.name != "a" || a.family != "mysql" || a.program != "client" || !a.fails || !a.filter || len(a.args) != 2 || a.input != "SELECT 1;\n\n" || b.program != "dump" || b.fails || b.input != "" {
		t.Errorf("got %+v", calls)
	}
	if _, err := parseCalls("SELECT 1;\n"); err == nil {
		t.Error("a statement without a check is no error")
	}
}

// run makes every call of commandline.txt, and what needs more than a call.
func (c *commandLine) run(ctx context.Context, t testing.TB, at place, options []string) []check {
	calls, err := parseCalls(commandLineChecks)
	if err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(at.dir, "client.cnf")
	text := fmt.Sprintf("[client]\nhost=%s\nport=%d\nprotocol=TCP\nuser=%s\npassword=%s\n[mysql]\ndefault-character-set=utf8mb4\n%s\n", at.host, at.port, app.user, app.password, c.settings)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(at.dir, "ld.txt"), lines(20000), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(at.dir, "source.sql"), []byte("SELECT 'from a file';\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	argv := func(call call) []string {
		program, err := c.argv(call.program)
		if err != nil {
			t.Fatal(err)
		}
		args := with(program, "--defaults-file="+file)
		args = append(args, c.options...)
		args = append(args, options...)
		args = append(args, call.args...)
		for i, arg := range args {
			args[i] = strings.NewReplacer("=CA", "="+at.ca, "DIR", at.dir).Replace(arg)
		}
		return args
	}
	var checks []check
	for _, call := range calls {
		if call.family == "" || call.family == c.own.String() {
			checks = append(checks, call.do(ctx, at, argv(call)))
		}
	}
	return append(checks,
		bigStatement(ctx, at, argv(call{program: "client", args: []string{"-N", "--max-allowed-packet=128M", database}})),
		c.roundTrip(ctx, at, argv),
		interrupt(ctx, at, argv(call{program: "client", args: []string{"-N", database}})),
	)
}

func lines(n int) []byte {
	var b []byte
	for i := range n {
		b = fmt.Appendf(b, "%d\tline %d\n", i, i)
	}
	return b
}

func (c call) do(ctx context.Context, at place, argv []string) check {
	out, errs, err := command(ctx, environment(at, ""), strings.ReplaceAll(c.input, "DIR", at.dir), argv...)
	out += errs
	if c.filter {
		out = digits.ReplaceAllString(uptime.ReplaceAllString(out, ""), "N")
	}
	out = strings.NewReplacer(at.dir, "DIR", filepath.Dir(argv[0]), "BIN").Replace(out)
	if len(out) > 100_000 {
		out = fmt.Sprintf("%d bytes, %x", len(out), sha256.Sum256([]byte(out)))
	}
	ok := (err != nil) == c.fails
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		ok, out = false, err.Error()+out
	}
	return check{name: c.name, ok: ok, text: out}
}

var (
	digits = regexp.MustCompile(`[0-9][0-9.]*`)
	uptime = regexp.MustCompile(`(?m)^Uptime:.*$`) // its words change too
)

// bigStatement sends 20 MB as a statement and has them sent back.
func bigStatement(ctx context.Context, at place, argv []string) check {
	c := call{name: "big_statement", input: "SELECT '" + strings.Repeat("b", 20<<20) + "', LENGTH('" + strings.Repeat("c", 1<<24) + "');\nSELECT 'next';\n"}
	return c.do(ctx, at, argv)
}

// roundTrip dumps the database, loads the dump and dumps what came of it.
func (c *commandLine) roundTrip(ctx context.Context, at place, argv func(call) []string) check {
	dump := call{name: "dump_and_load", program: "dump", args: []string{"--skip-dump-date", "--skip-comments", "--hex-blob", "--routines", "--triggers", database}}
	if c.own == flavor.MySQL {
		dump.args = append(dump.args, "--set-gtid-purged=OFF", "--column-statistics=0")
	}
	first, errs, err := command(ctx, environment(at, ""), "", argv(dump)...)
	if err != nil {
		return check{name: dump.name, text: err.Error() + errs}
	}
	if out, errs, err := command(ctx, environment(at, ""), first, argv(call{program: "client", args: []string{database}})...); err != nil {
		return check{name: dump.name, text: err.Error() + out + errs}
	}
	second, errs, err := command(ctx, environment(at, ""), "", argv(dump)...)
	return check{name: dump.name, ok: err == nil && len(first) > 1000, text: first + second + errs}
}

// interrupt presses Ctrl-C while a statement runs.
func interrupt(ctx context.Context, at place, argv []string) check {
	result := check{name: "interrupt"}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = environment(at, "")
	var out strings.Builder
	cmd.Stdout, cmd.Stderr = &out, &out
	cmd.Stdin = strings.NewReader("SELECT 'begin';\nSELECT SLEEP(100), 'to be interrupted';\n")
	cmd.WaitDelay = 5 * time.Second
	start := time.Now()
	if err := cmd.Start(); err != nil {
		result.text = err.Error()
		return result
	}
	if err := whileRunning(ctx, at, "%to be interrupted%"); err != nil {
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		result.text = err.Error()
		return result
	}
	_ = cmd.Process.Signal(os.Interrupt)
	err := cmd.Wait()
	result.ok = time.Since(start) < 60*time.Second
	result.text = fmt.Sprintf("%v %s", err, out.String())
	return result
}

// whileRunning waits until the server runs a statement like the pattern.
func whileRunning(ctx context.Context, at place, pattern string) error {
	cfg := mysql.NewConfig()
	cfg.Net, cfg.Addr, cfg.User, cfg.Passwd = "tcp", at.address(), app.user, app.password
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		return err
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	ctx, cancel := context.WithTimeout(ctx, 30*time.Second)
	defer cancel()
	const query = "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE ? AND command <> 'Prepare' AND id <> CONNECTION_ID()"
	for n := 0; n == 0; {
		if err := db.QueryRowContext(ctx, query, pattern).Scan(&n); err != nil {
			return fmt.Errorf("wait for a statement like %s: %w", pattern, err)
		}
	}
	return nil
}
