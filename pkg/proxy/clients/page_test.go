package clients

import (
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"
	"strings"
	"testing"
)

const pagePath = "../../../docs/compatibility.md"

//go:embed testdata/known.txt
var knownList string

// difference is a line of known.txt: CLIENT | SERVER | CHECK | REASON. The
// first three are patterns as path.Match knows them.
type difference struct{ client, server, check, reason string }

func parseKnown(text string) ([]difference, error) {
	var known []difference
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		parts := strings.Split(line, " | ")
		if len(parts) != 4 {
			return nil, fmt.Errorf("line %q has not the form CLIENT | SERVER | CHECK | REASON", line)
		}
		for _, pattern := range parts[:3] {
			if _, err := path.Match(pattern, ""); err != nil {
				return nil, fmt.Errorf("line %q: pattern %s: %w", line, pattern, err)
			}
		}
		known = append(known, difference{parts[0], parts[1], parts[2], parts[3]})
	}
	return known, nil
}

// knownDifference returns why a check's answer differs.
func knownDifference(known []difference, client, server, name string) (reason string, ok bool) {
	// A slash is no separator here.
	flat := strings.NewReplacer("/", ":").Replace
	for _, d := range known {
		matches := true
		for _, pair := range [][2]string{{d.client, client}, {d.server, server}, {d.check, name}} {
			match, _ := path.Match(flat(pair[0]), flat(pair[1])) // parseKnown has tried the pattern
			matches = matches && match
		}
		if matches {
			return d.reason, true
		}
	}
	return "", false
}

func TestKnown(t *testing.T) {
	if _, err := parseKnown(knownList); err != nil {
		t.Error(err)
	}
	known, err := parseKnown("# comment\n\nPyMySQL* | MySQL* | kill* | the reason\n")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range []struct {
		client, server, check string
		want                  bool
	}{
		{"PyMySQL 1.0.2", "MySQL 9.7.4", "kill_method", true},
		{"PyMySQL 1.0.2", "MySQL 9.7.4", "kill/method", true},
		{"PyMySQL 1.0.2", "MariaDB 10.11.19", "kill_method", false},
		{"mysql 9.7.4", "MySQL 9.7.4", "kill_method", false},
	} {
		if _, got := knownDifference(known, row.client, row.server, row.check); got != row.want {
			t.Errorf("%v: got %v", row, got)
		}
	}
	for _, text := range []string{"a | b | c\n", "[ | b | c | d\n"} {
		if _, err := parseKnown(text); err == nil {
			t.Errorf("%q is no error", text)
		}
	}
}

// writeRow writes docs/compatibility.md. The other rows stay as they are, but
// for those of another version of the client.
func writeRow(t testing.TB, known []difference, r row) {
	old, err := os.ReadFile(pagePath)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	lines := pageRows(string(old))
	family := "| " + r.client[:strings.LastIndex(r.client, " ")+1]
	maps.DeleteFunc(lines, func(_, line string) bool {
		return strings.HasPrefix(line, family) && !strings.HasPrefix(line, "| "+r.client+" |")
	})
	line := fmt.Sprintf("| %s | %s | %s | %s | %s | %d |\n", r.client, r.server, r.mode, share(r.direct, r.checks), share(r.proxied, r.checks), r.known)
	lines[rowKey(line)] = line
	var b strings.Builder
	b.WriteString(pageHead)
	for _, key := range slices.Sorted(maps.Keys(lines)) {
		b.WriteString(lines[key])
	}
	b.WriteString(pageKnown)
	for _, d := range known {
		fmt.Fprintf(&b, "| `%s` | `%s` | `%s` | %s |\n", d.client, d.server, d.check, d.reason)
	}
	if err := os.WriteFile(pagePath, []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func share(passed, all int) string { return fmt.Sprintf("%d of %d", passed, all) }

// pageRows finds the lines of the table of runs.
func pageRows(page string) map[string]string {
	rows := map[string]string{}
	for line := range strings.Lines(page) {
		if strings.Count(line, " of ") >= 2 && strings.Count(line, "|") == 7 {
			rows[rowKey(line)] = line
		}
	}
	return rows
}

// rowKey is the client, server and mode of a line.
func rowKey(line string) string {
	return strings.Join(strings.SplitN(line, "|", 5)[1:4], "|")
}

func TestPageRows(t *testing.T) {
	line := "| mysql 9.7.4 | MySQL 9.7.4 | TLS | 56 of 56 | 56 of 56 | 0 |\n"
	got := pageRows(pageHead + line + pageKnown + "| `a` | `b` | `c` | of or of |\n")
	if len(got) != 1 || got[rowKey(line)] != line || rowKey(line) != " mysql 9.7.4 | MySQL 9.7.4 | TLS " {
		t.Errorf("got %q", got)
	}
}

const pageHead = `# Compatibility

Real clients, each in several modes, run named checks on a primary and then through ` + "`mysqlrw serve`" + ` at level
strong. What they print must be the same to the letter: values, types and flags of columns, messages, warnings, ids,
counts. This page is written by the runs themselves:

` + "```sh" + `
go test ./pkg/proxy/clients -timeout 20m -args -clients.quick                 # one or two runs of each client
go test ./pkg/proxy/clients -timeout 90m -args -clients.all -clients.update   # everything, and write this page
go test ./pkg/proxy/clients -timeout 30m -args -clients.only mysql2 -clients.out /tmp/out   # one client; keep what it prints
go test ./pkg/proxy/clients -timeout 90m -args -clients.all -clients.direct   # the primary twice: do the checks repeat?
` + "```" + `

The checks of the scripts are in [pkg/proxy/clients/testdata](../pkg/proxy/clients/testdata); for go-sql-driver/mysql,
DBD::mysql, DBD::MariaDB and mysqlclient the drivers' own tests are run, some of which fail on the server itself, as the
column "directly" shows. Passing is not all that counts: a check that fails must fail in the same words.

| client | server | mode | directly | through the proxy | known differences |
|---|---|---|---|---|---|
`

const pageKnown = `
## Known differences

What the runs find is mended or listed here, from [testdata/known.txt](../pkg/proxy/clients/testdata/known.txt); any
other difference fails the test.

| client | server | check | reason |
|---|---|---|---|
`
