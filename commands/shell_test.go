//go:build unix

package commands_test

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// tab is a command line at whose end TAB is pressed, with what must be offered
// and what must not.
type tab struct {
	line string
	want []string
	not  []string
}

func tabs() []tab {
	return []tab{
		{"mysqlrw la", []string{"lag"}, []string{"status"}},
		{"mysqlrw ", []string{"lag", "status", "gtid", "wait-gtid", "sandbox", "completion", "version"}, nil},
		{"mysqlrw gtid cont", []string{"contains"}, []string{"count"}},
		{"mysqlrw gtid ", []string{"contains", "count", "union"}, []string{"lag"}},
		{"mysqlrw lag --ma", []string{"--max"}, []string{"--method"}},
		{"mysqlrw lag db1 --me", []string{"--method"}, []string{"--max"}},
		{"mysqlrw lag --format js", []string{"json"}, []string{"table"}},
		{"mysqlrw lag --format ", []string{"json", "table", "plain", "prometheus"}, nil},
		{"mysqlrw sandbox up --", []string{"--replicas", "--dir"}, nil},
		{"mysqlrw heartbeat db1 --cr", []string{"--create"}, nil},
	}
}

// shell runs a script in a real shell, in an empty folder, with mysqlrw on
// PATH, and returns its output. The test is skipped if there is no such shell.
func shell(t *testing.T, argv []string, script string) (output, dir string) {
	t.Helper()
	path, err := exec.LookPath(argv[0])
	if err != nil {
		t.Skipf("%s is not installed", argv[0])
	}
	scripts, err := filepath.Abs("../completions")
	if err != nil {
		t.Fatal(err)
	}
	dir = t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 2*patience)
	defer cancel()
	cmd := exec.CommandContext(ctx, path, append(argv[1:], script)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "HOME="+dir, "XDG_CONFIG_HOME="+dir, "XDG_DATA_HOME="+dir, "XDG_CACHE_HOME="+dir,
		"ZDOTDIR="+dir, "TERM=dumb", "COMPLETIONS="+scripts, "MYSQLRW_CACHE="+filepath.Join(dir, "cache"))
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%s: %v\n%s", argv[0], err, out)
	}
	return string(out), dir
}

// check compares what a shell has offered: for each case one part of its
// output, the part's words up to a tab, and the line "==".
func check(t *testing.T, cases []tab, output string) {
	t.Helper()
	parts := strings.Split(output, "==\n")
	if len(parts) != len(cases)+1 {
		t.Fatalf("%d answers for %d cases:\n%s", len(parts)-1, len(cases), output)
	}
	for i, c := range cases {
		var got []string
		for line := range strings.Lines(parts[i]) {
			word, _, _ := strings.Cut(strings.TrimSpace(line), "\t")
			got = append(got, word)
		}
		for _, w := range c.want {
			if !slices.Contains(got, w) {
				t.Errorf("%q TAB: got %q, want %q among them", c.line, got, w)
			}
		}
		for _, w := range c.not {
			if slices.Contains(got, w) {
				t.Errorf("%q TAB: got %q, and %q does not begin so", c.line, got, w)
			}
		}
	}
}

// quoted puts a text into single quotes, as all of these shells read them.
func quoted(text string) string { return "'" + strings.ReplaceAll(text, "'", `'\''`) + "'" }

// bashDriver defines a function that does what bash does at TAB: it takes the
// line apart at the usual break characters, calls the function that is
// registered for the command, and prints what that leaves in COMPREPLY.
const bashDriver = `
set -u
source "$COMPLETIONS/mysqlrw.bash"
registered=$(complete -p mysqlrw)
function=${registered#*-F }; function=${function%% *}
press_tab() {
	COMP_WORDS=("$@"); COMP_CWORD=$(( $# - 1 )); COMPREPLY=()
	COMP_LINE="$*"; COMP_POINT=${#COMP_LINE}
	"$function" mysqlrw "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD-1]}"
	(( ${#COMPREPLY[@]} == 0 )) || printf '%s\n' "${COMPREPLY[@]}"
}
`

func TestBash(t *testing.T) {
	t.Parallel()
	// Bash makes three words of --format=js, and two of --format=.
	cases := append(tabs(),
		tab{"mysqlrw lag --format = js", []string{"json"}, []string{"table", "--format=json"}},
		tab{"mysqlrw lag --format =", []string{"json", "table"}, nil})
	script := bashDriver
	for _, c := range cases {
		script += "press_tab"
		for word := range strings.SplitSeq(c.line, " ") {
			script += " " + quoted(word)
		}
		script += "; echo ==\n"
	}
	out, dir := shell(t, []string{"bash", "--norc", "--noprofile", "-c"}, script)
	check(t, cases, out)
	entries, err := os.ReadDir(dir)
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries { // heartbeat and sandbox up stood on the line
		t.Errorf("TAB has made %s", e.Name())
	}
}

func TestFish(t *testing.T) {
	t.Parallel()
	cases := append(tabs(), tab{"mysqlrw lag --format=js", []string{"--format=json"}, nil})
	script := "source $COMPLETIONS/mysqlrw.fish\n"
	for _, c := range cases {
		script += "complete -C" + quoted(c.line) + "; echo ==\n"
	}
	out, _ := shell(t, []string{"fish", "--no-config", "-c"}, script)
	check(t, cases, out)
}

// zshDriver presses TAB in an interactive zsh on a terminal of its own. There,
// compadd is asked for what it would add, and that is written to a file.
const zshDriver = `
zmodload zsh/zpty
zpty inner zsh -f -i
zpty -w inner "PS1=; autoload -Uz compinit; compinit -u -D; source $COMPLETIONS/mysqlrw.zsh"
zpty -w inner '
capture() {
	compadd() {
		local -a hits
		if [[ ${*[(r)-[OAD]*]} == "" ]]; then
			builtin compadd -O hits "$@"
			(( ${#hits} )) && print -rl -- $hits >> hits
		fi
		builtin compadd "$@"
	}
	_main_complete
	unfunction compadd
	print -r -- END >> hits
}
zle -C capture complete-word capture
bindkey "^I" capture
print READY > ready'
until [[ -s ready ]]; do zpty -r -t inner _; sleep 0.02; done
for line in "${lines[@]}"; do
	rm -f hits
	zpty -w -n inner $'\C-u'"$line"$'\t'
	until [[ -f hits && "$(<hits)" == *END ]]; do zpty -r -t inner _; sleep 0.02; done
	sed s/END/==/ hits
done
zpty -d inner
`

func TestZsh(t *testing.T) {
	t.Parallel()
	if testing.Short() {
		t.Skip("compinit takes seconds")
	}
	cases := append(tabs(), tab{"mysqlrw lag --format=js", []string{"--format=json"}, nil})
	script := "lines=("
	for _, c := range cases {
		script += quoted(c.line) + " "
	}
	out, _ := shell(t, []string{"zsh", "-f", "-c"}, script+")\n"+zshDriver)
	check(t, cases, out)
}
