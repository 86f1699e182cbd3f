// Command vulncheck reads the output of "govulncheck -format json" and fails if
// a module that go.mod names has a known vulnerability, called or not. Those of
// the Go that is installed are printed and allowed: the machine's owner mends
// them, not a change of this repository.
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

// message is one object of the stream; all but findings are of no interest.
type message struct {
	Finding *finding `json:"finding"`
}

// finding is reported up to three times for a vulnerability: for the module,
// for a package that is imported, and for a function that is called.
type finding struct {
	OSV          string  `json:"osv"`
	FixedVersion string  `json:"fixed_version"`
	Trace        []frame `json:"trace"` // the vulnerable thing comes first
}

type frame struct {
	Module   string `json:"module"`
	Version  string `json:"version"`
	Package  string `json:"package"`
	Function string `json:"function"`
}

// partsOfGo are the database's names for Go itself.
var partsOfGo = []string{"stdlib", "toolchain"}

func main() {
	allowed, refused, err := read(os.Stdin)
	if err != nil {
		fmt.Fprintln(os.Stderr, "vulncheck:", err)
		os.Exit(2)
	}
	for _, line := range allowed {
		fmt.Println("allowed, mended by a newer Go:", line)
	}
	for _, line := range refused {
		fmt.Println("vulnerable:", line)
	}
	if len(refused) > 0 {
		os.Exit(1)
	}
}

// read returns a line for each vulnerability that is used of Go, and for each of a module.
func read(r io.Reader) (allowed, refused []string, err error) {
	worst := map[string]finding{} // by module and vulnerability
	messages := 0
	decoder := json.NewDecoder(r)
	for {
		var m message
		err := decoder.Decode(&m)
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			return nil, nil, fmt.Errorf("read govulncheck's output: %w", err)
		}
		messages++
		if m.Finding == nil {
			continue
		}
		if len(m.Finding.Trace) == 0 {
			return nil, nil, fmt.Errorf("finding %s names no module", m.Finding.OSV)
		}
		key := m.Finding.Trace[0].Module + " " + m.Finding.OSV
		if old, ok := worst[key]; !ok || m.Finding.level() > old.level() {
			worst[key] = *m.Finding
		}
	}
	if messages == 0 {
		return nil, nil, errors.New("govulncheck printed nothing")
	}
	for _, f := range worst {
		switch ofGo := slices.Contains(partsOfGo, f.Trace[0].Module); {
		case !ofGo:
			refused = append(refused, f.String())
		case f.level() > 0: // a package of Go's that no program imports is of no interest
			allowed = append(allowed, f.String())
		}
	}
	slices.Sort(allowed)
	slices.Sort(refused)
	return allowed, refused, nil
}

func (f finding) level() int {
	switch vulnerable := f.Trace[0]; {
	case vulnerable.Function != "":
		return 2
	case vulnerable.Package != "":
		return 1
	default:
		return 0
	}
}

func (f finding) String() string {
	vulnerable := f.Trace[0]
	how := [...]string{"required", "imported", "called"}[f.level()]
	fixed := "not fixed"
	if f.FixedVersion != "" {
		fixed = "fixed in " + f.FixedVersion
	}
	what := strings.TrimSpace(vulnerable.Module + " " + vulnerable.Version)
	if vulnerable.Package != "" && vulnerable.Package != vulnerable.Module {
		what += " " + vulnerable.Package
	}
	return fmt.Sprintf("%s %s, %s, %s", f.OSV, what, how, fixed)
}
