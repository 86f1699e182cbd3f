package commands

import (
	"slices"
	"strings"
	"testing"
)

// completed returns the words that complete prints for a command line.
func completed(t *testing.T, words ...string) []string {
	t.Helper()
	out, stderr, code := ask(t, append([]string{completeWord, "--"}, words...)...)
	if code != exitYes || stderr != "" {
		t.Fatalf("%q: exit code %d, stderr %q", words, code, stderr)
	}
	var list []string
	for line := range strings.Lines(out) {
		word, _, ok := strings.Cut(line, "\t")
		if !ok {
			t.Errorf("%q: no tab in %q", words, line)
		}
		list = append(list, word)
	}
	return list
}

func TestComplete(t *testing.T) {
	t.Parallel()
	tests := []struct{ line, want string }{
		{"la", "lag"},
		{"wait-", "wait-gtid wait-pos wait-sync"},
		{"nosuch", ""},
		{"nosuch ", ""},
		{"gtid cont", "contains"},
		{"gtid co", "count contains"},
		{"sandbox ", "up down status install"},
		{"lag --ma", "--max"},
		{"lag r1 --ma", "--max"},
		{"lag r1 ", ""},
		{"lag --format ", "table json plain prometheus"},
		{"lag --format js", "json"},
		{"lag -o js", "json"},
		{"lag --format=js", "--format=json"},
		{"lag --format = js", "json"}, // as bash takes --format=js apart
		{"lag --format =", "table json plain prometheus"},
		{"status --format prom", ""},
		{"lag --ssl-mode VER", "VERIFY_CA VERIFY_IDENTITY"},
		{"lag --max ", ""},
		{"lag -- --ma", ""},
		{"lag --hel", "--help"},
		{"completion ", "bash zsh fish powershell"},
		{"completion z", "zsh"},
		{"completion bash ", ""},
		{"gtid nosuch ", ""},
	}
	for _, test := range tests {
		got := strings.Join(completed(t, strings.Split(test.line, " ")...), " ")
		if got != test.want {
			t.Errorf("%q: got %q, want %q", test.line, got, test.want)
		}
	}
}

// TestComplete_everything: every command that is shown and every flag of it
// can be completed, and nothing that is hidden.
func TestComplete_everything(t *testing.T) {
	t.Parallel()
	app := testApp()
	if got, want := completed(t, ""), splitNames(app.Commands); !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	for _, c := range app.Commands {
		if len(c.Subcommands) > 0 {
			continue
		}
		want := []string{}
		for _, f := range flagNames(c.Flags) {
			want = append(want, "--"+f)
		}
		if got := completed(t, c.Name, "-"); !slices.Equal(got, append(want, "--help")) {
			t.Errorf("%s: got %q, want %q", c.Name, got, want)
		}
	}
	for _, word := range append(completed(t, "lag", "--"), completed(t, "sandbox", "")...) {
		if word == "--ask-password" || word == "keep" {
			t.Errorf("%s is hidden", word)
		}
	}
}
