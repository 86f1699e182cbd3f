package suites

import (
	"flag"
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/route"
)

var update = flag.Bool("update", false, "write what was found to disagreements.txt")

// disagreements is the list that people read. A disagreement that no rule
// explains is in no list: the test fails.
const disagreements = "disagreements.txt"

const (
	maxExamples    = 4  // of a group
	maxUnexplained = 40 // that are shown
)

// group is what one rule has explained.
type group struct {
	count    map[flavor.Flavor]int
	examples []string
}

// TestSuites holds the lexer and the classifier against every statement of
// both suites. It takes minutes; without a network and a filled cache it is
// skipped, for nothing can be said then.
func TestSuites(t *testing.T) {
	if testing.Short() {
		t.Skip("nothing is downloaded under -short")
	}
	all, err := Fetch(t.Context(), sandbox.InstallOptions{
		CacheDir: sandboxtest.CacheDir(t), Progress: func(line string) { t.Log(line) },
	})
	if err != nil {
		t.Skipf("SUITES MISSING: %v", err)
	}
	groups := map[string]*group{}
	var head []string
	unexplained := 0
	report := func(f *finding) {
		if name, known := explain(f); known {
			groups[name] = groups[name].add(f)
			return
		}
		if unexplained++; unexplained <= maxUnexplained {
			t.Errorf("no group explains %s", f)
		}
	}
	for _, s := range all {
		start := time.Now()
		c := newCheck(s, report)
		for st, err := range s.Statements(&c.counts) {
			if err != nil {
				t.Fatal(err)
			}
			c.statement(&st)
		}
		for _, name := range c.audit.called() {
			report(&finding{Statement: c.audit.calls[name], problem: "calls", word: name + "("})
		}
		head = append(head, c.summary()...)
		t.Logf("%s took %.0f s", s.Flavor, time.Since(start).Seconds())
	}
	t.Log(strings.Join(head, "\n"))
	for _, r := range rules() { // an idle one would hide the next mistake
		if groups[r.name] == nil {
			t.Errorf("group %s explains nothing: remove it", r.name)
		}
	}
	if unexplained > maxUnexplained {
		t.Errorf("no group explains %d more", unexplained-maxUnexplained)
	}
	compareList(t, all, list(head, groups))
}

func (g *group) add(f *finding) *group {
	if g == nil {
		g = &group{count: map[flavor.Flavor]int{}}
	}
	g.count[f.Flavor]++
	if len(g.examples) < maxExamples {
		g.examples = append(g.examples, f.String())
	}
	return g
}

// summary says what was checked.
func (c *check) summary() []string {
	n := &c.counts
	skipped := 0
	for _, k := range n.Skipped {
		skipped += k
	}
	var classes []string
	for _, class := range route.Classes() {
		if k := c.classes[class]; k > 0 {
			classes = append(classes, fmt.Sprintf("%s %d", class, k))
		}
	}
	return []string{
		fmt.Sprintf("%s %s: %d files, %d statements (%d with variables replaced, %d of these guessed; %d for values), %d skipped",
			c.suite.Flavor, c.suite.Version, n.Files, n.Statements, n.Sources[Evaluated], n.Guessed, n.Sources[Quoted], skipped),
		fmt.Sprintf("  lexer: all scanned; in %d the suite expects the syntax error that the lexer meets", c.excused),
		fmt.Sprintf("  classes: %s", strings.Join(classes, ", ")),
		fmt.Sprintf("  %d may run on a replica", c.replica),
		fmt.Sprintf("  oracle: %d of %d distinct texts accepted and compared, %d agree", c.accepted, c.distinct, c.agreed),
	}
}

// list is the text of the checked-in file.
func list(head []string, groups map[string]*group) string {
	var b strings.Builder
	b.WriteString("Where the suites, TiDB's parser and this project do not agree, and why.\n" +
		"Written by: go test -timeout 30m -run TestSuites . -update\n\n")
	for _, line := range head {
		b.WriteString(line + "\n")
	}
	for _, r := range rules() {
		g := groups[r.name]
		if g == nil {
			continue
		}
		fmt.Fprintf(&b, "\n%s: %s\n  MySQL %d, MariaDB %d\n", r.name, r.why, g.count[flavor.MySQL], g.count[flavor.MariaDB])
		for _, example := range g.examples {
			b.WriteString("  " + example + "\n")
		}
	}
	return b.String()
}

// compareList compares what was found with the checked-in file, which holds
// for the versions that its head names.
func compareList(t *testing.T, all []Suite, got string) {
	if *update {
		if t.Failed() {
			t.Fatal("not written: something is not explained")
		}
		if err := os.WriteFile(disagreements, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	text, err := os.ReadFile(disagreements)
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range all {
		if !strings.Contains(string(text), fmt.Sprintf("\n%s %s: ", s.Flavor, s.Version)) {
			t.Logf("%s is not of %s %s: counts are not compared", disagreements, s.Flavor, s.Version)
			return
		}
	}
	want, have := lineSet(string(text)), lineSet(got)
	for _, line := range slices.Sorted(maps.Keys(have)) {
		if !want[line] {
			t.Errorf("%s does not have this line:\n%s", disagreements, line)
		}
	}
	for _, line := range slices.Sorted(maps.Keys(want)) {
		if !have[line] {
			t.Errorf("%s has this line, which does not hold any more:\n%s", disagreements, line)
		}
	}
}

func lineSet(text string) map[string]bool {
	lines := map[string]bool{}
	for line := range strings.Lines(text) {
		lines[line] = true
	}
	return lines
}
