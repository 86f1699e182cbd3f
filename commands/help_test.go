package commands

import (
	"regexp"
	"strings"
	"testing"

	"github.com/urfave/cli/v2"
)

// allCommands calls visit with every command that help shows, and its path.
func allCommands(commands []*cli.Command, path []string, visit func(*cli.Command, []string)) {
	for _, c := range commands {
		if c.Hidden {
			continue
		}
		own := append(append([]string{}, path...), c.Name)
		visit(c, own)
		allCommands(c.Subcommands, own, visit)
	}
}

// ask runs a command line that must need nothing but its output.
func ask(t *testing.T, args ...string) (stdout, stderr string, code int) {
	t.Helper()
	var out, messages strings.Builder
	code = Call(t.Context(), args, &out, &messages, func(string) string { return "" })
	return out.String(), messages.String(), code
}

// TestHelp: the help of every command has a sentence, a real example and each
// of its flags, and fits the width of a terminal.
func TestHelp(t *testing.T) {
	t.Parallel()
	allCommands(testApp().Commands, nil, func(c *cli.Command, path []string) {
		name := strings.Join(path, " ")
		help, stderr, code := ask(t, append(path, "--help")...)
		if code != exitYes || stderr != "" {
			t.Errorf("%s: exit code %d, stderr %q", name, code, stderr)
		}
		if c.Usage == "" || !strings.HasPrefix(help, "mysqlrw "+name+" - "+c.Usage+"\n") {
			t.Errorf("%s: the help does not begin with what it does:\n%s", name, help)
		}
		if len(c.Subcommands) == 0 && !regexp.MustCompile(`\n  \$ .*mysqlrw `+name).MatchString(help) {
			t.Errorf("%s: the help has no example", name)
		}
		for _, f := range flagNames(c.Flags) {
			if !strings.Contains(help, "--"+f) {
				t.Errorf("%s: the help does not show --%s", name, f)
			}
		}
		_, rest, _ := strings.Cut(help, "\nFlags:\n")
		for _, line := range strings.Split(rest, "\n") {
			if strings.TrimRight(line, " ") != line {
				t.Errorf("%s: blanks at the end of %q", name, line)
			}
		}
		before, _, _ := ask(t, append([]string{"help"}, path...)...)
		if before != help {
			t.Errorf("%s: help in front prints something else", name)
		}
	})
}

// TestHelp_letters: no command has two flags of one name or letter.
func TestHelp_letters(t *testing.T) {
	t.Parallel()
	allCommands(testApp().Commands, nil, func(c *cli.Command, path []string) {
		seen := map[string]bool{"help": true}
		for _, f := range c.Flags {
			for _, n := range f.Names() {
				if seen[n] {
					t.Errorf("%s: two flags are called %s", strings.Join(path, " "), n)
				}
				seen[n] = true
			}
		}
	})
}

func TestNoCommand(t *testing.T) {
	t.Parallel()
	out, stderr, code := ask(t)
	if code != exitUsage || stderr != "" || !strings.Contains(out, "Usage:\n  mysqlrw COMMAND") {
		t.Errorf("got code %d, stderr %q, stdout %q", code, stderr, out)
	}
	if help, _, code := ask(t, "--help"); help != out || code != exitYes {
		t.Errorf("--help: code %d, and it differs: %q", code, help)
	}
}
