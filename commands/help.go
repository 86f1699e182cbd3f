package commands

import (
	"fmt"
	"io"
	"strings"

	"github.com/urfave/cli/v2"
)

// printHelp writes the help of the program, of a group of commands, or of one command.
func printHelp(w io.Writer, app *cli.App, inv invocation) {
	if inv.cmd == nil {
		fmt.Fprintf(w, "%s - %s\n\nUsage:\n  %s COMMAND [flags] [arguments]\n\nCommands:\n", app.Name, app.Usage, app.Name)
		printCommands(w, app.Commands)
		fmt.Fprint(w, "\nmysqlrw COMMAND --help shows a command's flags, an example and its exit codes.\n")
		return
	}
	name := strings.Join(append([]string{app.Name}, inv.path...), " ")
	fmt.Fprintf(w, "%s - %s\n\nUsage:\n", name, inv.cmd.Usage)
	if len(inv.cmd.Subcommands) > 0 {
		fmt.Fprintf(w, "  %s SUBCOMMAND [flags] [arguments]\n", name)
	} else {
		fmt.Fprintf(w, "  %s [flags] %s\n", name, inv.cmd.ArgsUsage)
	}
	if inv.cmd.Description != "" {
		fmt.Fprintf(w, "\n%s\n", strings.TrimSpace(inv.cmd.Description))
	}
	if len(inv.cmd.Subcommands) > 0 {
		fmt.Fprint(w, "\nSubcommands:\n")
		printCommands(w, inv.cmd.Subcommands)
	}
	if inv.cmd.UsageText != "" {
		fmt.Fprintf(w, "\nExample:\n%s\n", indent(inv.cmd.UsageText))
	}
	printFlags(w, inv.cmd.Flags)
}

func printCommands(w io.Writer, commands []*cli.Command) {
	width := 0
	for _, c := range commands {
		width = max(width, len(c.Name))
	}
	for _, c := range commands {
		if !c.Hidden {
			fmt.Fprintf(w, "  %-*s  %s\n", width, c.Name, c.Usage)
		}
	}
}

// printFlags writes the flags under their categories, a command's own first.
func printFlags(w io.Writer, flags []cli.Flag) {
	var categories []string
	byCategory := map[string][]cli.DocGenerationFlag{}
	for _, f := range flags {
		doc, ok := f.(cli.DocGenerationFlag)
		if !ok || !isVisible(f) {
			continue
		}
		category := ""
		if c, ok := f.(cli.CategorizableFlag); ok {
			category = c.GetCategory()
		}
		if byCategory[category] == nil {
			categories = append(categories, category)
		}
		byCategory[category] = append(byCategory[category], doc)
	}
	for _, category := range categories {
		title := category
		if title == "" {
			title = "Flags"
		}
		fmt.Fprintf(w, "\n%s:\n", title)
		for _, f := range byCategory[category] {
			left := flagLeft(f)
			usage := f.GetUsage()
			if text := defaultText(f); text != "" {
				usage += " (default " + text + ")"
			}
			if len(left) > 28 {
				fmt.Fprintf(w, "  %s\n", left)
				left = ""
			}
			for _, line := range wrap(usage, 68) {
				fmt.Fprintf(w, "  %-28s  %s\n", left, line)
				left = ""
			}
		}
	}
}

// wrap breaks a text between words into lines of at most width bytes; a longer
// word stays whole.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case len(line)+1+len(word) > width:
			lines = append(lines, line)
			line = word
		default:
			line += " " + word
		}
	}
	return append(lines, line)
}

// flagLeft is "-h, --host HOST".
func flagLeft(f cli.DocGenerationFlag) string {
	var names []string
	for _, n := range f.Names() {
		if len(n) == 1 {
			names = append([]string{"-" + n}, names...)
		} else {
			names = append(names, "--"+n)
		}
	}
	left := strings.Join(names, ", ")
	if len(f.Names()[0]) > 1 && len(f.Names()) == 1 {
		left = "    " + left
	}
	if f.TakesValue() {
		left += " " + valueName(f)
	}
	return left
}

func valueName(f cli.DocGenerationFlag) string {
	if e := enumOf(f); e != nil {
		return strings.Join(e.allowed, "|")
	}
	switch f.(type) {
	case *cli.IntFlag, *cli.UintFlag:
		return "N"
	case *cli.GenericFlag:
		return "D"
	}
	name := strings.ToUpper(f.Names()[0])
	switch {
	case strings.HasSuffix(name, "FILE"), strings.HasPrefix(name, "SSL-C"), strings.HasPrefix(name, "SSL-K"):
		return "FILE"
	case name == "SOURCE", name == "FROM", name == "WRITE":
		return "TARGET"
	case name == "DEFAULTS-GROUP-SUFFIX":
		return "TEXT"
	}
	return name[strings.LastIndexByte(name, '-')+1:]
}

func defaultText(f cli.DocGenerationFlag) string {
	if isBool(f) {
		return ""
	}
	text := strings.Trim(f.GetDefaultText(), `"`)
	if text == "0" || text == "[]" {
		return ""
	}
	return text
}

func isVisible(f cli.Flag) bool {
	v, ok := f.(cli.VisibleFlag)
	return !ok || v.IsVisible()
}

func indent(text string) string {
	return "  " + strings.ReplaceAll(strings.TrimSpace(text), "\n", "\n  ")
}
