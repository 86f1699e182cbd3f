package commands

import (
	"strings"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/mysqlrw/mysqlrw/pkg/near"
)

// invocation is a command line taken apart: the command's path and its
// arguments in the one order that the cli package reads without surprises.
type invocation struct {
	path []string // command and subcommand, as typed
	cmd  *cli.Command
	argv []string // path, flags as --name=value, "--", positional arguments
	help bool
}

// parseArgs puts a command line in order.
//
// The cli package stops reading flags at the first positional argument and
// ignores the rest silently; it knows no attached values (-uroot) and no flag
// with an optional value (-p). Operators type all three, so the line is read
// here as the mysql client would, and what is left for the cli package cannot
// be misunderstood. An unknown flag is an error wherever it stands.
func parseArgs(app *cli.App, args []string) (invocation, error) {
	inv := invocation{}
	commands := app.Commands
	rest := args
	for len(rest) > 0 && len(commands) > 0 {
		word := rest[0]
		if word == "--help" || word == "help" {
			inv.help = true
			rest = rest[1:]
			continue
		}
		if word == "--version" && inv.cmd == nil {
			word = "version"
		}
		if strings.HasPrefix(word, "-") {
			return inv, usagef("flag %s stands before the command: write it after", flagName(word))
		}
		cmd := findCommand(commands, word)
		if cmd == nil {
			return inv, unknownCommand(inv.path, commands, word)
		}
		inv.path = append(inv.path, cmd.Name)
		inv.cmd = cmd
		commands = cmd.Subcommands
		rest = rest[1:]
	}
	if len(commands) > 0 || inv.help {
		inv.help = inv.help || len(args) == 0
		if !inv.help {
			return inv, usagef("needs a subcommand: %s", commandNames(commands))
		}
		return inv, nil
	}
	flags, positional, err := inv.sortFlags(rest)
	if err != nil || inv.help {
		return inv, err
	}
	inv.argv = append(append([]string{}, inv.path...), flags...)
	inv.argv = append(append(inv.argv, "--"), positional...)
	return inv, nil
}

// sortFlags parts the words behind a command into flags and positional arguments.
func (inv *invocation) sortFlags(words []string) (flags, positional []string, err error) {
	for i := 0; i < len(words); i++ {
		word := words[i]
		switch {
		case word == "--":
			return flags, append(positional, words[i+1:]...), nil
		case word == "--help":
			inv.help = true
			return nil, nil, nil
		case word == "-" || !strings.HasPrefix(word, "-"):
			positional = append(positional, word)
			continue
		}
		next := ""
		hasNext := i+1 < len(words)
		if hasNext {
			next = words[i+1]
		}
		read := inv.shortFlag
		if strings.HasPrefix(word, "--") {
			read = inv.longFlag
		}
		canonical, usedNext, err := read(word, next, hasNext)
		if err != nil {
			return nil, nil, err
		}
		if usedNext {
			i++
		}
		flags = append(flags, canonical...)
	}
	return flags, positional, nil
}

// longFlag reads --name, --name=value or --name value.
func (inv *invocation) longFlag(word, next string, hasNext bool) (out []string, usedNext bool, err error) {
	name, value, hasValue := strings.Cut(word[2:], "=")
	flag := findFlag(inv.cmd.Flags, strings.ReplaceAll(name, "_", "-"))
	if rest, joined := strings.CutPrefix(name, passwordFlag); flag == nil && joined && rest != "" {
		return nil, false, usagef("unknown flag that begins with --%s: a password is written behind a =", passwordFlag)
	}
	if flag == nil || len(name) < 2 {
		return nil, false, inv.unknownFlag("--"+name, name)
	}
	name = flag.Names()[0]
	switch {
	case hasValue:
		return []string{"--" + name + "=" + value}, false, nil
	case isBool(flag):
		return []string{"--" + name}, false, nil
	case name == passwordFlag:
		return []string{"--" + askPasswordFlag}, false, nil
	case !hasNext:
		return nil, false, usagef("flag --%s needs a value", name)
	}
	return []string{"--" + name + "=" + next}, true, nil
}

// shortFlag reads -x, -xVALUE, -x VALUE and joined switches such as -qv.
func (inv *invocation) shortFlag(word, next string, hasNext bool) (out []string, usedNext bool, err error) {
	for at := 1; at < len(word); at++ {
		letter := word[at : at+1]
		flag := findFlag(inv.cmd.Flags, letter)
		if flag == nil {
			return nil, false, inv.unknownFlag(flagName("-"+word[at:]), strings.TrimLeft(word, "-"))
		}
		name := flag.Names()[0]
		attached := word[at+1:]
		switch {
		case isBool(flag):
			out = append(out, "--"+name)
			continue
		case attached != "":
			return append(out, "--"+name+"="+attached), false, nil
		case name == passwordFlag:
			return append(out, "--"+askPasswordFlag), false, nil
		case !hasNext:
			return nil, false, usagef("flag -%s needs a value", letter)
		}
		return append(out, "--"+name+"="+next), true, nil
	}
	return out, false, nil
}

// typos is how many edits a word may be away to be proposed.
const typos = 2

// unknownFlag names the flag and not its value, which may be a password.
func (inv *invocation) unknownFlag(shown, typed string) error {
	hint := ""
	typed, _, _ = strings.Cut(typed, "=")
	if meant := near.Word(typed, flagNames(inv.cmd.Flags), typos); meant != "" {
		hint = "; did you mean --" + meant + "?"
	}
	return usagef("unknown flag %s%s (see mysqlrw %s --help)", shown, hint, strings.Join(inv.path, " "))
}

func unknownCommand(path []string, commands []*cli.Command, word string) error {
	hint := ""
	if meant := near.Word(word, splitNames(commands), typos); meant != "" {
		hint = "; did you mean " + meant + "?"
	}
	under := strings.Join(append([]string{"mysqlrw"}, path...), " ")
	return usagef("unknown command %q%s (see %s --help)", word, hint, under)
}

func findCommand(commands []*cli.Command, name string) *cli.Command {
	for _, c := range commands {
		if c.HasName(name) {
			return c
		}
	}
	return nil
}

func findFlag(flags []cli.Flag, name string) cli.Flag {
	for _, f := range flags {
		for _, n := range f.Names() {
			if n == name {
				return f
			}
		}
	}
	return nil
}

func isBool(f cli.Flag) bool {
	_, ok := f.(*cli.BoolFlag)
	return ok
}

// flagName is what messages show of a word that begins with a dash: neither
// the value of a long flag nor what follows a letter, which may be a password.
func flagName(word string) string {
	if strings.HasPrefix(word, "--") {
		name, _, _ := strings.Cut(word, "=")
		return name
	}
	_, size := utf8.DecodeRuneInString(word[1:])
	return word[:1+size]
}

func flagNames(flags []cli.Flag) []string {
	var names []string
	for _, f := range flags {
		if v, ok := f.(cli.VisibleFlag); !ok || v.IsVisible() {
			names = append(names, f.Names()[0])
		}
	}
	return names
}

func splitNames(commands []*cli.Command) []string {
	var names []string
	for _, c := range commands {
		if !c.Hidden {
			names = append(names, c.Name)
		}
	}
	return names
}

func commandNames(commands []*cli.Command) string { return strings.Join(splitNames(commands), ", ") }
