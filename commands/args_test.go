package commands

import (
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/urfave/cli/v2"
)

// testApp is the command tree with nothing behind it.
func testApp() *cli.App {
	return newApp(&environment{
		stdin: strings.NewReader(""), stdout: &strings.Builder{}, stderr: &strings.Builder{},
		getenv: func(string) string { return "" }, now: time.Now,
	})
}

// sharedApp is one testApp for all: parsing changes nothing in it.
var sharedApp = sync.OnceValue(testApp)

func TestParseArgs(t *testing.T) {
	t.Parallel()
	tests := []struct{ line, want string }{
		{"lag", "lag --"},
		{"lag r1 r2", "lag -- r1 r2"},
		{"lag r1 --max 5s", "lag --max=5s -- r1"},
		{"lag r1 --max=5s r2", "lag --max=5s -- r1 r2"},
		{"lag -uroot -P3306 -h127.0.0.1", "lag --user=root --port=3306 --host=127.0.0.1 --"},
		{"lag -u root r1 -P 3306", "lag --user=root --port=3306 -- r1"},
		{"lag -qo json r1", "lag --quiet --format=json -- r1"},
		{"lag -qojson r1", "lag --quiet --format=json -- r1"},
		{"lag -pword r1", "lag --password=word -- r1"},
		{"lag -p r1", "lag --ask-password -- r1"},
		{"lag --password r1", "lag --ask-password -- r1"},
		{"lag --password=word r1", "lag --password=word -- r1"},
		{"lag --password= r1", "lag --password= -- r1"},
		{"lag --defaults_file x", "lag --defaults-file=x --"},
		{"lag -- -x --max", "lag -- -x --max"},
		{"lag --max -- r1", "lag --max=-- -- r1"}, // as the mysql client: a value is a value
		{"lag r1 -- --max", "lag -- r1 --max"},
		{"lag --format=a=b", "lag --format=a=b --"},
		{"gtid union a - b", "gtid union -- a - b"},
		{"gtid union --from r1 --from r2 a", "gtid union --from=r1 --from=r2 -- a"},
		{"--version", "version --"},
	}
	for _, test := range tests {
		inv, err := parseArgs(sharedApp(), strings.Fields(test.line))
		if err != nil {
			t.Errorf("%s: %v", test.line, err)
		}
		if got := strings.Join(inv.argv, " "); got != test.want {
			t.Errorf("%s: got %q, want %q", test.line, got, test.want)
		}
	}
}

func TestParseArgs_help(t *testing.T) {
	t.Parallel()
	for _, line := range []string{
		"", "--help", "help", "lag --help", "help lag", "--help lag", "gtid --help", "gtid count --help", "help gtid count",
		"lag r1 --help", "lag --max 5s --help --nonsense",
	} {
		if inv, err := parseArgs(sharedApp(), strings.Fields(line)); err != nil || !inv.help {
			t.Errorf("%q: got help %v, error %v", line, inv.help, err)
		}
	}
	if inv, err := parseArgs(sharedApp(), []string{"lag", "--", "--help"}); err != nil || inv.help {
		t.Errorf("behind --: got help %v, error %v", inv.help, err)
	}
}

const secret = "hunter2"

func FuzzParseArgs(f *testing.F) {
	for _, line := range []string{
		"", "lag r1 --max 5s", "lag -qojson -P3306 r1 r2", "gtid contains a -", "gtid", "sandbox up --dir=x --delay 1 --delay=2",
		"wait-pos bin.1 4 r1 --any", "lag --mx 1", "lag --max", "-h x lag", "lag -q=x", "lag - -- -", "help lag", "lag --=", "lag -",
		"lag ---", "lag --p=x", "lag -vp", "completion bash", "lag -\xff", "lga", "heartbeat --interval 1s --table a.b x",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		words := strings.Split(line, " ")
		checkSecret(t, words)
		inv, err := parseArgs(sharedApp(), words)
		if err != nil {
			var coded *codeError
			if !errors.As(err, &coded) || coded.code != exitUsage {
				t.Errorf("error %v is none of usage", err)
			}
			return
		}
		if inv.help {
			return
		}
		flags, positional := canonical(t, inv)
		checkTerminator(t, words, flags)
		if !slices.Contains(words, "--") {
			checkOrder(t, inv.path, flags, positional)
		}
	})
}

// canonical takes the order apart that parseArgs promises.
func canonical(t *testing.T, inv invocation) (flags, positional []string) {
	t.Helper()
	rest := inv.argv[len(inv.path):]
	if !slices.Equal(inv.argv[:len(inv.path)], inv.path) {
		t.Fatalf("%q does not begin with the path %q", inv.argv, inv.path)
	}
	end := slices.Index(rest, "--")
	if end < 0 {
		t.Fatalf("%q has no --", inv.argv)
	}
	for _, f := range rest[:end] {
		name, _, _ := strings.Cut(f, "=")
		if !strings.HasPrefix(f, "--") || findFlag(inv.cmd.Flags, name[2:]) == nil {
			t.Errorf("%q is no flag of %q", f, inv.path)
		}
	}
	return rest[:end], rest[end+1:]
}

// checkTerminator: what stands behind -- is an argument, whatever it looks like.
func checkTerminator(t *testing.T, words, flags []string) {
	t.Helper()
	tail := []string{"-x", "--help", "--max=1", "-p" + secret}
	inv, err := parseArgs(sharedApp(), slices.Concat(words, []string{"--"}, tail))
	if err != nil || inv.help {
		t.Fatalf("%q with arguments behind --: help %v, error %v", words, inv.help, err)
	}
	got, positional := canonical(t, inv)
	if !slices.Equal(got, flags) || len(positional) < len(tail) || !slices.Equal(positional[len(positional)-len(tail):], tail) {
		t.Errorf("%q with %q behind --: got flags %q, arguments %q", words, tail, got, positional)
	}
}

// checkOrder: a flag means the same wherever it stands.
func checkOrder(t *testing.T, path, flags, positional []string) {
	t.Helper()
	for _, p := range positional {
		if strings.HasPrefix(p, "-") && p != "-" {
			t.Fatalf("%q is no argument, and there was no --", p)
		}
	}
	want := slices.Concat(path, flags, []string{"--"}, positional)
	for at := range len(positional) + 1 {
		words := slices.Concat(path, positional[:at], flags, positional[at:])
		if inv, err := parseArgs(sharedApp(), words); err != nil || !slices.Equal(inv.argv, want) {
			t.Errorf("%q: got %q (%v), want %q", words, inv.argv, err, want)
		}
	}
}

// checkSecret: no error repeats a password, wherever it was typed.
func checkSecret(t *testing.T, words []string) {
	t.Helper()
	if strings.Contains(strings.Join(words, " "), secret) {
		return
	}
	for _, flag := range []string{"-p" + secret, "--password=" + secret, "-qp" + secret, "-vp" + secret} {
		for at := range len(words) + 1 {
			_, err := parseArgs(sharedApp(), slices.Insert(slices.Clone(words), at, flag))
			if err != nil && strings.Contains(err.Error(), secret) {
				t.Errorf("%q with %s at %d: the error shows the password: %v", words, flag, at, err)
			}
		}
	}
}
