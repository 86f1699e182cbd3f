// Command house checks the numbers and rules of CONTRIBUTING.md that no linter
// knows, in every Go file below the folder it is started in. It prints each
// place that breaks one, and a summary.
package main

import (
	"fmt"
	"io/fs"
	"os"
	"slices"
	"strings"
)

func main() {
	report, err := check(os.DirFS("."))
	if err != nil {
		fmt.Fprintln(os.Stderr, "house:", err)
		os.Exit(2)
	}
	fmt.Println(report.summary())
	for _, line := range report.broken {
		fmt.Println(line)
	}
	if len(report.broken) > 0 {
		os.Exit(1)
	}
}

const (
	maxFileLines    = 500
	maxFuncLines    = 80
	maxGoStatements = 24
)

// report is what check found, in the files that are not tests.
type report struct {
	broken       []string // a line for each place that breaks a rule
	goStatements []string // their places
	fileLines    []int    // one for each file
	funcLines    []int    // one for each function
}

func check(tree fs.FS) (*report, error) {
	r := &report{}
	err := fs.WalkDir(tree, ".", func(path string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (d.Name() == "testdata" || path != "." && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.IsDir() && path != "." && isModule(tree, path):
			return fs.SkipDir // a module of its own: tests that need what go.mod shall not have
		case !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go"):
			return nil
		}
		text, err := fs.ReadFile(tree, path)
		if err != nil {
			return err
		}
		return r.file(path, text)
	})
	if err != nil {
		return nil, err
	}
	if len(r.fileLines) == 0 {
		return nil, fmt.Errorf("no Go file is here")
	}
	if n := len(r.goStatements); n > maxGoStatements {
		r.breaks("%d go statements, want at most %d: %s", n, maxGoStatements, strings.Join(r.goStatements, " "))
	}
	return r, nil
}

// isModule tells whether a folder has a go.mod.
func isModule(tree fs.FS, dir string) bool {
	_, err := fs.Stat(tree, dir+"/go.mod")
	return err == nil
}

func (r *report) breaks(format string, args ...any) {
	r.broken = append(r.broken, fmt.Sprintf(format, args...))
}

func (r *report) summary() string {
	slices.Sort(r.fileLines)
	slices.Sort(r.funcLines)
	return fmt.Sprintf("%s; %s; %d go statements: %s",
		describe("files", r.fileLines), describe("functions", r.funcLines), len(r.goStatements), strings.Join(r.goStatements, " "))
}

// describe tells of sorted lengths.
func describe(what string, lines []int) string {
	if len(lines) == 0 {
		return "no " + what
	}
	return fmt.Sprintf("%d %s, median %d lines, longest %d", len(lines), what, lines[len(lines)/2], lines[len(lines)-1])
}
