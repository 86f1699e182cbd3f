package suites

import (
	"fmt"
	"os"
	"slices"
	"strings"
)

// differencesFile is the list of the differences that are known, with why.
const differencesFile = "differences.txt"

// known are reasons, by flavor, cluster and name of a test: "mysql replicas TestX/y".
type known map[string]string

// readKnown reads the list: a line that begins with "= " is a reason, and each line below it has a flavor, a cluster
// and the name of a test, where * stands for any flavor or cluster.
func readKnown(text string, flavors, clusters []string) (known, error) {
	all, reason := known{}, ""
	for n, line := range strings.Split(text, "\n") {
		words := strings.Fields(line)
		switch {
		case len(words) == 0 || words[0] == "#":
			continue
		case words[0] == "=":
			reason = strings.Join(words[1:], " ")
			continue
		case reason == "" || len(words) != 3:
			return nil, fmt.Errorf("%s:%d: want a reason first, and below it a flavor, a cluster and a test", differencesFile, n+1)
		}
		for _, f := range flavors {
			for _, c := range clusters {
				if words[0] != "*" && words[0] != f || words[1] != "*" && words[1] != c {
					continue
				}
				key := f + " " + c + " " + words[2]
				if all[key] != "" {
					return nil, fmt.Errorf("%s:%d: %s stands there twice", differencesFile, n+1, key)
				}
				all[key] = reason
			}
		}
	}
	return all, nil
}

// results are what came of all tests through rwdb on one cluster.
type results struct {
	flavor, version, cluster          string
	tests                             int // with a pool
	passed, failed, skipped           int // with both, counted without tests that have subtests
	bothFail                          []string
	differ                            []string
	once                              []string // differed, and did not when both were run again
	statements, onReplicas, onPrimary uint64
}

// add takes in one test.
func (r *results) add(plain, other *outcome) {
	r.tests++
	differ := compare(plain.verdicts, other.verdicts)
	r.differ = append(r.differ, differ...)
	for name, v := range leaves(plain.verdicts) {
		switch {
		case other.verdicts[name] != v:
		case v == "PASS":
			r.passed++
		case v == "FAIL":
			r.failed++
			r.bothFail = append(r.bothFail, name)
		default:
			r.skipped++
		}
	}
	slices.Sort(r.bothFail)
	r.statements += other.report.Statements
	r.onReplicas += other.report.OnReplicas
	r.onPrimary += other.report.OnPrimary
}

// judge returns the differences without a reason, and the names that have a reason and do not differ.
func (r *results) judge(k known) (unexplained, idle []string) {
	prefix := r.flavor + " " + r.cluster + " "
	for _, name := range r.differ {
		if k[prefix+name] == "" {
			unexplained = append(unexplained, name)
		}
	}
	for key := range k {
		if name, ok := strings.CutPrefix(key, prefix); ok && !slices.Contains(r.differ, name) {
			idle = append(idle, name)
		}
	}
	slices.Sort(idle)
	return unexplained, idle
}

// row is a row of the table.
func (r *results) row() string {
	return fmt.Sprintf("| %s | %s | %d | %d | %d | %d | %d | %d, %d |", r.version, r.cluster, r.tests, r.passed, r.failed,
		r.skipped, len(r.differ), r.onReplicas, r.onPrimary)
}

// markdown is what the page says of the runs on one flavor.
func markdown(all []*results, alone int, k known) string {
	var b strings.Builder
	fmt.Fprintf(&b, "| server | rwdb has | tests | pass with both | fail with both | skip with both | differ | reads on replicas, on the primary |\n")
	fmt.Fprintf(&b, "|---|---|---|---|---|---|---|---|\n")
	for _, r := range all {
		fmt.Fprintln(&b, r.row())
	}
	fmt.Fprintf(&b, "\n%d more tests open no pool: they are of the driver's inside, which stays.\n", alone)
	for _, r := range all {
		if len(r.bothFail) > 0 {
			fmt.Fprintf(&b, "\nFail with both, %s: `%s`.\n", r.cluster, strings.Join(r.bothFail, "`, `"))
		}
	}
	if lines := reasons(all, k); len(lines) > 0 {
		fmt.Fprintf(&b, "\n| differs | with | why |\n|---|---|---|\n%s\n", strings.Join(lines, "\n"))
	}
	return strings.TrimSuffix(b.String(), "\n")
}

// reasons are the rows of the differences, with the clusters that each is on.
func reasons(all []*results, k known) []string {
	on := map[string][]string{}
	why := map[string]string{}
	var names []string
	for _, r := range all {
		for _, name := range r.differ {
			if on[name] == nil {
				names = append(names, name)
			}
			on[name] = append(on[name], r.cluster)
			why[name] = k[r.flavor+" "+r.cluster+" "+name]
		}
	}
	slices.Sort(names)
	var lines []string
	for _, name := range names {
		lines = append(lines, fmt.Sprintf("| `%s` | %s | %s |", name, strings.Join(on[name], ", "), why[name]))
	}
	return lines
}

// updatePage writes a part into the page, between the two lines that name it.
func updatePage(path, name, part string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	begin, end := "<!-- "+name+" -->\n", "<!-- end of "+name+" -->"
	before, rest, ok := strings.Cut(string(page), begin)
	_, after, has := strings.Cut(rest, end)
	if !ok || !has {
		return fmt.Errorf("write %s: it has no lines %q and %q", path, strings.TrimSpace(begin), end)
	}
	return os.WriteFile(path, []byte(before+begin+"\n"+part+"\n\n"+end+after), 0o644)
}
