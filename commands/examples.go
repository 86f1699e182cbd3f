package commands

import "embed"

// examples are what the help of each command shows: command lines with their
// real output. TestExamples runs them on real servers and compares.
//
//go:embed examples/*.txt
var examples embed.FS

// example returns a command's example; its name is the command's path with
// dashes between the words.
func example(name string) string {
	text, err := examples.ReadFile("examples/" + name + ".txt")
	if err != nil {
		return "" // TestHelp fails for a command without one
	}
	return string(text)
}
