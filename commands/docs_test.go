//go:build unix

package commands_test

import (
	"bytes"
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/lag"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

var updateDocs = flag.Bool("update-docs", false, "write the real output into the examples and the documents")

// TestExamples runs every command line that the help, the README and the
// documents show, on a real cluster, and compares what is printed there with
// what is printed here. Times, UUIDs, counters and ports are not compared.
//
// In a text, "$ " starts a command line and its output follows; a line of
// "..." stands for any output. A comment such as "# while replica2 is held up"
// brings the cluster into that state for the lines below it.
func TestExamples(t *testing.T) {
	s := newStage(t)
	files, err := filepath.Glob("examples/*.txt")
	if err != nil {
		t.Fatal(err)
	}
	documents, err := filepath.Glob("../docs/*.md")
	if err != nil {
		t.Fatal(err)
	}
	// One after the other, in a fixed order: they share a cluster, and sandbox
	// up comes before status and down.
	for _, f := range sandboxInOrder(files) {
		t.Run(filepath.Base(f), func(t *testing.T) { s.file(t, f, wholeText) })
	}
	for _, f := range append(documents, "../README.md") {
		t.Run(filepath.Base(f), func(t *testing.T) { s.file(t, f, consoleBlock) })
	}
}

var (
	wholeText    = regexp.MustCompile(`(?s)^(.*)$`)
	consoleBlock = regexp.MustCompile("(?s)```console\n(.*?)```")
)

func sandboxInOrder(files []string) []string {
	var out []string
	for _, f := range files {
		if !strings.Contains(f, "sandbox-down") && !strings.Contains(f, "sandbox-status") {
			out = append(out, f)
		}
	}
	return append(out, "examples/sandbox-status.txt", "examples/sandbox-down.txt")
}

// stage is the cluster and the shell in which examples run.
type stage struct {
	cluster *sandbox.Cluster
	home    string
	names   [][2]string // address, name in texts
	states  map[string]func(*testing.T) (undo func())
	admin   string // the URL of the proxy that runs
}

func newStage(t *testing.T) *stage {
	s := &stage{cluster: sandboxtest.Cluster(t, sandbox.Options{Flavor: flavor.MySQL}), home: t.TempDir()}
	primary := s.cluster.Primary()
	for _, server := range s.cluster.Servers {
		s.names = append(s.names, [2]string{server.Address(), server.Name + ":3306"})
	}
	s.write(t, ".my.cnf", 0o600, fmt.Sprintf("[client]\nuser=%s\npassword=%s\n", primary.User, primary.Password))
	s.mysqlClient(t)
	if err := os.MkdirAll(filepath.Join(s.home, ".config/fish/completions"), 0o700); err != nil {
		t.Fatal(err)
	}
	sandboxtest.Exec(t, primary, "CREATE DATABASE shop", "CREATE TABLE shop.item (id INT PRIMARY KEY, price INT)",
		"INSERT INTO shop.item VALUES (111, 96)")
	s.states = map[string]func(*testing.T) func(){
		"while replica2 is held up":                func(t *testing.T) func() { return s.holdUp(t) },
		"while the applier of replica2 is stopped": func(t *testing.T) func() { return s.stopApplier(t) },
		"while serve runs with --admin":            func(t *testing.T) func() { return s.serve(t) },
	}
	s.inSync(t)
	return s
}

func (s *stage) write(t *testing.T, name string, mode os.FileMode, text string) {
	t.Helper()
	path := filepath.Join(s.home, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(text), mode); err != nil {
		t.Fatal(err)
	}
}

// mysqlClient puts a command mysql on PATH that knows the servers by name.
func (s *stage) mysqlClient(t *testing.T) {
	argv, err := s.cluster.Installation().Argv("mysql")
	if err != nil {
		t.Fatal(err)
	}
	for i := range argv {
		argv[i] = "'" + argv[i] + "'"
	}
	s.write(t, "bin/mysql", 0o700, fmt.Sprintf("#!/bin/sh\nhost=$2; shift 2\nexec %s --defaults-file='%s'/$host.cnf \"$@\"\n",
		strings.Join(argv, " "), s.cluster.Dir))
}

func (s *stage) update(t *testing.T) {
	sandboxtest.Exec(t, s.cluster.Primary(), "UPDATE shop.item SET price = price + 1")
}

func (s *stage) inSync(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.cluster.WaitReplicated(ctx); err != nil {
		t.Fatal(err)
	}
}

// holdUp lets replica2 fall behind by more than a second.
func (s *stage) holdUp(t *testing.T) func() {
	replica := s.cluster.Replica(2)
	release, err := replica.HoldApplier(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	s.update(t)
	db := sandboxtest.Open(t, replica)
	for deadline := time.Now().Add(30 * time.Second); ; time.Sleep(20 * time.Millisecond) {
		samples, err := lag.Measure(t.Context(), db, lag.Options{})
		if err != nil {
			t.Fatal(err)
		}
		if d, _ := samples[0].Lag.Duration(); d > 1200*time.Millisecond {
			break
		}
		if time.Now().After(deadline) {
			t.Fatalf("replica2 does not fall behind: %+v", samples[0])
		}
	}
	return func() {
		if err := release(); err != nil {
			t.Error(err)
		}
		s.inSync(t)
	}
}

func (s *stage) stopApplier(t *testing.T) func() {
	replica := s.cluster.Replica(2)
	if err := replica.StopApplier(t.Context(), s.cluster.Flavor, ""); err != nil {
		t.Fatal(err)
	}
	s.update(t)
	return func() {
		if err := replica.StartApplier(t.Context(), s.cluster.Flavor, ""); err != nil {
			t.Error(err)
		}
		s.inSync(t)
	}
}

// file runs the examples of one file, and writes them anew with -update-docs.
func (s *stage) file(t *testing.T, path string, block *regexp.Regexp) {
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	text := string(data)
	var out strings.Builder
	last := 0
	for _, at := range block.FindAllStringSubmatchIndex(text, -1) {
		out.WriteString(text[last:at[2]])
		out.WriteString(s.play(t, text[at[2]:at[3]]))
		last = at[3]
	}
	out.WriteString(text[last:])
	if *updateDocs && out.String() != text {
		if err := os.WriteFile(path, []byte(out.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// play runs one block and returns it with the real output.
func (s *stage) play(t *testing.T, block string) string {
	lines := strings.Split(strings.TrimSuffix(block, "\n"), "\n")
	var out strings.Builder
	code := 0
	for i := 0; i < len(lines); {
		line := lines[i]
		i++
		out.WriteString(line + "\n")
		if state, ok := s.states[strings.TrimPrefix(line, "# ")]; ok {
			defer state(t)()
			continue
		}
		command, ok := strings.CutPrefix(line, "$ ")
		if !ok {
			continue
		}
		first := i
		for i < len(lines) && !strings.HasPrefix(lines[i], "$ ") && !strings.HasPrefix(lines[i], "# ") {
			i++
		}
		want := lines[first:i]
		got := strconv.Itoa(code) + "\n"
		if command != "echo $?" {
			got, code = s.shell(t, command)
		}
		if len(want) > 0 && want[len(want)-1] == "..." {
			out.WriteString(strings.Join(want, "\n") + "\n") // written by hand
		} else {
			out.WriteString(got)
		}
		if !*updateDocs && !matches(want, got) {
			t.Errorf("$ %s\nprints\n%sinstead of\n%s\n(go test ./commands -run TestExamples -update-docs writes the real output)",
				command, got, strings.Join(want, "\n"))
		}
	}
	return out.String()
}

// shell runs one command line and returns what a terminal shows, with the
// servers' names in place of their addresses.
func (s *stage) shell(t *testing.T, line string) (string, int) {
	t.Helper()
	for _, n := range s.names {
		line = strings.ReplaceAll(line, n[1], n[0])
	}
	ctx, cancel := context.WithTimeout(t.Context(), 90*time.Second)
	defer cancel()
	cmd := exec.CommandContext(ctx, "bash", "-c", strings.ReplaceAll(line, "/tmp/shop", filepath.Join(s.home, "shop")))
	cmd.WaitDelay = 5 * time.Second
	cmd.Env = []string{
		"HOME=" + s.home, "NO_COLOR=1", raceOptions + "=" + noSleep, "MYSQLRW_CACHE=" + sandboxtest.CacheDir(t),
		"PATH=" + filepath.Join(s.home, "bin") + ":" + os.Getenv("PATH"), "MYSQLRW_ADMIN=" + s.admin, "MYSQLRW_ADMIN_TOKEN=" + stageToken,
	}
	var both bytes.Buffer
	cmd.Stdout, cmd.Stderr = &both, &both
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("%s: %v", line, err)
	}
	text := aligned(both.String(), filepath.Join(s.home, "shop"), "/tmp/shop")
	for _, n := range s.names {
		text = aligned(text, n[0], n[1])
	}
	return readable(text), cmd.ProcessState.ExitCode()
}

// aligned replaces a text and keeps the columns of tables in their places. A
// tree has none.
func aligned(text, old, instead string) string {
	if strings.Contains(text, "├─ ") {
		return strings.ReplaceAll(text, old, instead)
	}
	gap := strings.Repeat(" ", max(0, len(old)-len(instead)))
	inTable := regexp.MustCompile(regexp.QuoteMeta(old) + `(\S*)(  )`)
	text = inTable.ReplaceAllString(text, instead+"${1}"+gap+"${2}")
	return strings.ReplaceAll(text, old, instead)
}

var (
	uuidText  = regexp.MustCompile(`[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}`)
	cachePath = regexp.MustCompile(`\S*/mysqlrw/`)
)

// readable gives every server's UUID the same value and drops the paths of
// this machine, so that the written output does not change from run to run.
func readable(text string) string {
	text = uuidText.ReplaceAllString(text, "3e11fa47-71ca-11e1-9e33-c80aa9429562")
	return cachePath.ReplaceAllString(text, "~/.cache/mysqlrw/")
}

// varying is what is different in every run.
var varying = []struct {
	pattern *regexp.Regexp
	instead string
}{
	{regexp.MustCompile(`\btime=[0-9T:.-]+Z`), "time=TIME"},
	{regexp.MustCompile(`(\s+[0-9]+){2}\s+(-|[0-9.]+ms)$`), " RATES P99"}, // of seconds in which nothing ran there is none
	{regexp.MustCompile(`(c80aa9429562):[0-9]+(-[0-9]+)?`), "$1:N"},
	{regexp.MustCompile(`\b[0-9]+\.([0-9]{3}){1,2}s`), "Ns"},
	{regexp.MustCompile(`127\.0\.0\.1:[0-9]+`), "ADDRESS"},
	{regexp.MustCompile(`(: |\} )[0-9.e-]+\b`), "${1}N"},
	{regexp.MustCompile(`\b[0-9]+\.[0-9]+\.[0-9]+\b`), "VERSION"},
	{regexp.MustCompile(`\(devel\)|v[0-9]\S*( \([0-9a-f]+\))?,`), "RELEASE"},
	{regexp.MustCompile(`go1\S+`), "GO"},
	{regexp.MustCompile(`\b[1-9][0-9]* (of|reads|writes|stale)\b`), "N $1"},
	{regexp.MustCompile(`\b(of|session|register|writes|reads) [0-9]+\b`), "$1 N"},
	{regexp.MustCompile(`\bin [0-9.]+ s\b`), "in N s"},
	{regexp.MustCompile(`\b[0-9]+(\.[0-9]+)?(ms|s)\b`), "Ns"},
	{regexp.MustCompile(`\b[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{8}\b`), "TIME"},
	{regexp.MustCompile(`[ \t]+`), " "},
}

func normal(line string) string {
	for _, v := range varying {
		line = v.pattern.ReplaceAllString(line, v.instead)
	}
	return strings.TrimSpace(line)
}

// matches compares an expected output with a real one.
func matches(want []string, got string) bool {
	real := strings.Split(strings.TrimSuffix(got, "\n"), "\n")
	if got == "" {
		real = nil
	}
	for i, w := range want {
		if w == "..." {
			return true
		}
		if i >= len(real) || normal(w) != normal(real[i]) {
			return false
		}
	}
	return len(real) == len(want)
}
