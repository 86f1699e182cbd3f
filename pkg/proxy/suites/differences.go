package suites

import (
	"fmt"
	"maps"
	"os"
	"slices"
	"strings"
)

// differencesFile is the list of the differences that are known, with why.
const differencesFile = "differences.txt"

// difference is a reason for which tests print something else through the
// proxy.
type difference struct {
	reason string
	// "mysql alias", "mysql/replica alias" for what differs at every level that has one, or
	// "mysql/session alias" for what differs at this level only.
	tests []string
}

// readDifferences reads the list: a line that begins with "= " is a reason,
// and the lines below it name a flavor, perhaps with where it differs, and the tests.
func readDifferences(text string) ([]difference, error) {
	var list []difference
	seen := map[string]bool{}
	for n, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
		case words[0] == "=":
			list = append(list, difference{reason: strings.Join(words[1:], " ")})
		case len(list) == 0 || len(words) == 1:
			return nil, fmt.Errorf("%s:%d: want a reason first, and a flavor and tests below it", differencesFile, n+1)
		default:
			last := &list[len(list)-1]
			for _, name := range words[1:] {
				key := words[0] + " " + name
				if seen[key] {
					return nil, fmt.Errorf("%s:%d: %s stands there twice", differencesFile, n+1, key)
				}
				seen[key] = true
				last.tests = append(last.tests, key)
			}
		}
	}
	return list, nil
}

// results are the verdicts on one suite.
type results struct {
	flavor, version string
	level           level
	tests           int // in the suite
	records         []*record
	differences     []difference
}

func (r *results) count(v verdict) int {
	n := 0
	for _, rec := range r.records {
		if rec.Verdict == v {
			n++
		}
	}
	return n
}

// skips counts the reasons for which tests are skipped.
func (r *results) skips() map[string]int {
	counts := map[string]int{}
	for _, rec := range r.records {
		if rec.Verdict == skipped {
			counts[rec.Reason]++
		}
	}
	return counts
}

// names returns the tests of a verdict.
func (r *results) names(v verdict) []string {
	var names []string
	for _, rec := range r.records {
		if rec.Verdict == v {
			names = append(names, rec.Name)
		}
	}
	slices.Sort(names)
	return names
}

// known returns the tests of a reason that are this suite's.
func (r *results) known(d difference) []string {
	var names []string
	for _, key := range d.tests {
		where, name, _ := strings.Cut(key, " ")
		if f, at, limited := strings.Cut(where, "/"); f == r.flavor &&
			(!limited || at == string(r.level) || at == "replica" && r.level.replicated()) {
			names = append(names, name)
		}
	}
	return names
}

// unexplained returns the tests that differ and are not in the list.
func (r *results) unexplained() []string {
	names := r.names(differs)
	for _, d := range r.differences {
		known := r.known(d)
		names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(known, name) })
	}
	return names
}

// idle returns the tests of the list that do not differ.
func (r *results) idle() []string {
	differing := r.names(differs)
	var names []string
	for _, d := range r.differences {
		for _, name := range r.known(d) {
			if !slices.Contains(differing, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// reads sums up where the reads of the counted tests ran.
func (r *results) reads() (all reads) {
	for _, rec := range r.records {
		if rec.Verdict == same || rec.Verdict == differs {
			all.Replica += rec.Reads.Replica
			all.Primary += rec.Reads.Primary
		}
	}
	return all
}

// share is what part of the tests whose direct output repeats print the same
// through the proxy, in percent.
func (r *results) share() float64 {
	n := r.count(same) + r.count(differs)
	return 100 * float64(r.count(same)) / float64(max(n, 1))
}

// markdown is the part of docs/suites.md about one suite.
func (r *results) markdown() string {
	var b strings.Builder
	ended, passed := 0, 0
	for _, rec := range r.records {
		if rec.Verdict == same || rec.Verdict == differs {
			if rec.Ends {
				ended++
			}
			if rec.Passes {
				passed++
			}
		}
	}
	counted := r.count(same) + r.count(differs)
	at := ""
	if r.level.replicated() {
		at = " at level `" + string(r.level) + "`"
	}
	fmt.Fprintf(&b, "### %s %s%s\n\n| | tests |\n|---|---|\n", r.flavor, r.version, at)
	for _, row := range []struct {
		what string
		n    int
	}{
		{"in the suite", r.tests},
		{"skipped", r.count(skipped)},
		{"direct output does not repeat", r.count(unstable)},
		{"counted", counted},
		{"of these: come to their end directly", ended},
		{"of these: print the suite's own result directly", passed},
		{"**the same through the proxy**", r.count(same)},
		{"different, all with a known reason", r.count(differs) - len(r.unexplained())},
		{"different for an unknown reason", len(r.unexplained())},
		{"print the suite's own result through the proxy, not yet run directly", r.count(expected)},
		{"not yet run through the proxy", r.tests - len(r.records) + r.count(direct)},
	} {
		if row.n > 0 {
			fmt.Fprintf(&b, "| %s | %d |\n", row.what, row.n)
		}
	}
	if swept := r.count(expected); swept > 0 || r.tests > len(r.records) || r.count(direct) > 0 {
		fmt.Fprintf(&b, "\nThe run is not complete. Of the tests that have run through the proxy %d of %d print what they print directly "+
			"or the suite's own result.\n", r.count(same)+swept, counted+swept)
	}
	fmt.Fprintf(&b, "\n%.1f %% of the counted tests print the same.", r.share())
	if n := r.reads(); r.level.replicated() {
		fmt.Fprintf(&b, " Of their %d reads that a replica may have %d ran on it, %.1f %%.",
			n.Replica+n.Primary, n.Replica, 100*float64(n.Replica)/float64(max(n.Replica+n.Primary, 1)))
	}
	fmt.Fprint(&b, "\n\n| skipped because | tests |\n|---|---|\n")
	counts := r.skips()
	reasons := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		if counts[a] != counts[b] {
			return counts[b] - counts[a]
		}
		return strings.Compare(a, b)
	})
	for _, reason := range reasons {
		fmt.Fprintf(&b, "| %s | %d |\n", reason, counts[reason])
	}
	r.differencesMarkdown(&b)
	if names := r.names(unstable); len(names) > 0 {
		fmt.Fprintf(&b, "\nThe direct output does not repeat: %s.\n", strings.Join(names, ", "))
	}
	return b.String()
}

func (r *results) differencesMarkdown(b *strings.Builder) {
	differing := r.names(differs)
	fmt.Fprint(b, "\n| differs because | tests |\n|---|---|\n")
	for _, d := range r.differences {
		names := slices.DeleteFunc(r.known(d), func(name string) bool { return !slices.Contains(differing, name) })
		if len(names) > 0 {
			fmt.Fprintf(b, "| %s | %s |\n", d.reason, strings.Join(names, ", "))
		}
	}
	if names := r.unexplained(); len(names) > 0 {
		fmt.Fprintf(b, "| unknown | %s |\n", strings.Join(names, ", "))
	}
}

// resultsMark begins the line before and after what a run writes.
const resultsMark = "<!-- results of "

// section is what the page calls the place of these results.
func (r *results) section() string {
	if r.level.replicated() {
		return r.flavor + " " + string(r.level)
	}
	return r.flavor
}

// replaceResults puts a suite's part in the place of the one that the page
// has.
func replaceResults(page, section, part string) (string, error) {
	begin, end := resultsMark+section+" -->\n", "<!-- end of "+section+" -->\n"
	before, rest, found := strings.Cut(page, begin)
	_, after, ended := strings.Cut(rest, end)
	if !found || !ended {
		return "", fmt.Errorf("the page has no place for the results of %s", section)
	}
	return before + begin + "\n" + part + "\n" + end + after, nil
}

func updatePage(path, section, part string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	text, err := replaceResults(string(page), section, part)
	if err != nil {
		return err
	}
	return os.WriteFile(path, []byte(text), 0o644)
}
