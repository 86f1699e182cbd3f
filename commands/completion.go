package commands

import (
	"fmt"
	"strings"

	"github.com/urfave/cli/v2"

	"github.com/mysqlrw/mysqlrw/completions"
)

// completeWord is the hidden command that the shells' scripts call. It is
// read before anything else, so that TAB can never run a command.
const completeWord = "__complete"

func completionCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:      "completion",
		Usage:     "print the completion script of a shell",
		ArgsUsage: "bash|zsh|fish|powershell",
		UsageText: example("completion"),
		Action: action(func(c *cli.Context) error {
			if c.NArg() != 1 {
				return usagef("name one shell: bash, zsh, fish or powershell")
			}
			script, err := completions.Script(c.Args().First())
			if err != nil {
				return usagef("no completion for %q: bash, zsh, fish and powershell have one", c.Args().First())
			}
			_, err = env.stdout.Write(script)
			return err
		}),
	}
}

// complete prints the words that can stand where the last argument stands,
// one a line, with a tab and a description behind it.
func complete(app *cli.App, env *environment) int {
	words := env.args[1:]
	if len(words) > 0 && words[0] == "--" {
		words = words[1:]
	}
	if len(words) == 0 {
		words = []string{""}
	}
	for _, c := range candidates(app.Commands, words) {
		fmt.Fprintf(env.stdout, "%s\t%s\n", c.word, c.about)
	}
	return exitYes
}

type candidate struct{ word, about string }

func candidates(commands []*cli.Command, words []string) []candidate {
	var cmd *cli.Command
	for len(words) > 1 && len(commands) > 0 {
		if cmd = findCommand(commands, words[0]); cmd == nil {
			return nil
		}
		commands, words = cmd.Subcommands, words[1:]
	}
	current := words[len(words)-1]
	if len(commands) > 0 {
		return commandCandidates(commands, current)
	}
	return flagCandidates(cmd, words[:len(words)-1], current)
}

func commandCandidates(commands []*cli.Command, prefix string) []candidate {
	var out []candidate
	for _, c := range commands {
		if !c.Hidden && strings.HasPrefix(c.Name, prefix) {
			out = append(out, candidate{c.Name, c.Usage})
		}
	}
	return out
}

// flagCandidates completes a flag, or the value of one: as --name=VALUE, as
// --name VALUE, and as the three words "--name" "=" "VALUE" that bash makes of it.
func flagCandidates(cmd *cli.Command, before []string, current string) []candidate {
	if len(before) > 0 && current == "=" {
		before, current = append(before, current), ""
	}
	if n := len(before); n > 1 && before[n-1] == "=" {
		return valueCandidates(cmd, before[n-2], "", current)
	}
	for _, w := range before {
		if w == "--" {
			return nil
		}
	}
	if name, value, ok := strings.Cut(current, "="); ok && strings.HasPrefix(name, "-") {
		return valueCandidates(cmd, name, name+"=", value)
	}
	if n := len(before); n > 0 {
		if values := valueCandidates(cmd, before[n-1], "", current); values != nil {
			return values
		}
	}
	if !strings.HasPrefix(current, "-") {
		return argumentCandidates(cmd, before, current)
	}
	var out []candidate
	for _, f := range cmd.Flags {
		doc, ok := f.(cli.DocGenerationFlag)
		if name := "--" + f.Names()[0]; ok && isVisible(f) && strings.HasPrefix(name, current) {
			out = append(out, candidate{name, doc.GetUsage()})
		}
	}
	if strings.HasPrefix("--help", current) {
		out = append(out, candidate{"--help", "show the command's help"})
	}
	return out
}

func valueCandidates(cmd *cli.Command, flag, prefix, value string) []candidate {
	f := findFlag(cmd.Flags, strings.TrimLeft(flag, "-"))
	if f == nil || !strings.HasPrefix(flag, "-") {
		return nil
	}
	e := enumOf(f)
	if e == nil {
		return nil
	}
	var out []candidate
	for _, a := range e.allowed {
		if strings.HasPrefix(a, value) {
			out = append(out, candidate{prefix + a, ""})
		}
	}
	return out
}

// argumentCandidates completes the one command whose arguments are words.
func argumentCandidates(cmd *cli.Command, before []string, prefix string) []candidate {
	if cmd.Name != "completion" || len(before) > 0 {
		return nil
	}
	var out []candidate
	for _, shell := range strings.Split(cmd.ArgsUsage, "|") {
		if strings.HasPrefix(shell, prefix) {
			out = append(out, candidate{shell, ""})
		}
	}
	return out
}
