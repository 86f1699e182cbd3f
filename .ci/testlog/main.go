// Command testlog reads the output of "go test -json" and prints what a person
// wants to know of it: a line for each package, every test that was skipped with
// its reason, and all that a failed test has printed. It fails if a test failed.
package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
)

func main() {
	failed, err := read(os.Stdin, os.Stdout)
	if err != nil {
		fmt.Fprintln(os.Stderr, "testlog:", err)
		os.Exit(2)
	}
	if failed {
		os.Exit(1)
	}
}

// event is described by "go doc test2json".
type event struct {
	Action     string
	Package    string
	ImportPath string // of a package that does not compile
	Test       string // "" for an event of the package
	Output     string
}

// reader keeps what tests print until it is known how they end.
type reader struct {
	out     io.Writer
	printed map[string]map[string][]string // by package and test
	failed  bool
	ended   int // packages
}

func read(in io.Reader, out io.Writer) (failed bool, err error) {
	r := &reader{out: out, printed: map[string]map[string][]string{}}
	decoder := json.NewDecoder(in)
	for {
		var e event
		err := decoder.Decode(&e)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return false, fmt.Errorf("read go test's output: %w", err)
		}
		r.event(e)
	}
	if r.ended == 0 && !r.failed {
		return false, errors.New("go test ran no package")
	}
	return r.failed, nil
}

func (r *reader) event(e event) {
	switch e.Action {
	case "build-output":
		fmt.Fprint(r.out, e.Output)
	case "build-fail":
		r.failed = true
	case "output":
		if r.printed[e.Package] == nil {
			r.printed[e.Package] = map[string][]string{}
		}
		r.printed[e.Package][e.Test] = append(r.printed[e.Package][e.Test], e.Output)
	case "pass", "skip", "fail":
		if e.Test == "" {
			r.packageEnds(e)
		} else {
			r.testEnds(e)
		}
	}
}

func (r *reader) testEnds(e event) {
	lines := r.printed[e.Package][e.Test]
	delete(r.printed[e.Package], e.Test)
	switch e.Action {
	case "skip":
		reason := ""
		for _, line := range lines {
			if !frame(line) {
				reason = strings.TrimSpace(line)
			}
		}
		fmt.Fprintf(r.out, "skipped: %s: %s\n", e.Test, reason)
	case "fail":
		r.failed = true
		r.show(lines)
	}
}

// packageEnds prints what a test that never ended has printed, as after a
// panic, and what belongs to no test.
func (r *reader) packageEnds(e event) {
	tests := r.printed[e.Package]
	delete(r.printed, e.Package)
	r.ended++
	if e.Action == "fail" {
		r.failed = true
		names := make([]string, 0, len(tests))
		for name := range tests {
			names = append(names, name)
		}
		slices.Sort(names)
		for _, name := range names {
			r.show(tests[name])
		}
		return
	}
	for _, line := range tests[""] {
		if strings.HasPrefix(line, "ok ") || strings.HasPrefix(line, "? ") {
			fmt.Fprint(r.out, line)
		}
	}
}

func (r *reader) show(lines []string) {
	for _, line := range lines {
		if !strings.HasPrefix(line, "=== ") {
			fmt.Fprint(r.out, line)
		}
	}
}

// frame reports whether a line is written by the testing package itself.
func frame(line string) bool {
	line = strings.TrimSpace(line)
	return line == "" || strings.HasPrefix(line, "=== ") || strings.HasPrefix(line, "--- ")
}
