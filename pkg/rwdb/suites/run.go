package suites

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// endpoint is where one server can be reached.
type endpoint struct{ Address, Socket string }

// place is a cluster as the tests are told of it, and how they use it.
type place struct {
	user, password, schema string
	primary                endpoint
	rwdb                   []endpoint // the primary first; none: the plain driver
}

// report is what a process tells of itself.
type report struct {
	Statements, OnReplicas, OnPrimary uint64
}

// outcome is what came of one test and its subtests.
type outcome struct {
	verdicts map[string]string // PASS, FAIL or SKIP, by name; a test that ended its process FAILs
	said     string            // all that it printed
	report   report            // zero if it ended its process
}

// testLimit is how long one test may take: the longest take some seconds.
const testLimit = 3 * time.Minute

// run runs one test in a process of its own, so that one that ends the process ends no other test.
func (d *driver) run(ctx context.Context, name string, p *place) (*outcome, error) {
	ctx, cancel := context.WithTimeout(ctx, testLimit)
	defer cancel()
	file := filepath.Join(filepath.Dir(d.dir), "report.json")
	if err := os.Remove(file); err != nil && !errors.Is(err, os.ErrNotExist) {
		return nil, err
	}
	var said bytes.Buffer
	cmd := exec.CommandContext(ctx, d.program, "-test.run", "^"+name+"$", "-test.v", "-test.timeout", "0")
	cmd.Dir, cmd.Stdout, cmd.Stderr = d.dir, &said, &said
	cmd.Env = append(os.Environ(), "RWDB_REPORT="+file, "MYSQL_TEST_PROT=tcp",
		"MYSQL_TEST_USER="+p.user, "MYSQL_TEST_PASS="+p.password, "MYSQL_TEST_ADDR="+p.primary.Address,
		"MYSQL_TEST_DBNAME="+p.schema)
	if p.rwdb != nil {
		text, err := json.Marshal(p.rwdb)
		if err != nil {
			return nil, err
		}
		cmd.Env = append(cmd.Env, "RWDB_SERVERS="+string(text))
	}
	failed := cmd.Run()
	var exit *exec.ExitError
	if failed != nil && !errors.As(failed, &exit) {
		return nil, failed
	}
	o := &outcome{verdicts: verdicts(said.String()), said: said.String()}
	if failed != nil && o.verdicts[name] != "FAIL" { // it never came to say so
		o.verdicts[name] = "FAIL"
	}
	if text, err := os.ReadFile(file); err == nil {
		if err := json.Unmarshal(text, &o.report); err != nil {
			return nil, err
		}
	}
	return o, nil
}

var verdictLine = regexp.MustCompile(`(?m)^\s*--- (PASS|FAIL|SKIP): (\S+) \(`)

func verdicts(said string) map[string]string {
	all := map[string]string{}
	for _, m := range verdictLine.FindAllStringSubmatch(said, -1) {
		all[m[2]] = m[1]
	}
	return all
}

// compare returns the tests and subtests of which the verdicts differ, without those that differ because a subtest
// does.
func compare(plain, other map[string]string) []string {
	var all []string
	for name, v := range plain {
		if other[name] != v {
			all = append(all, name)
		}
	}
	for name := range other {
		if _, ok := plain[name]; !ok {
			all = append(all, name)
		}
	}
	slices.Sort(all)
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool {
		return slices.ContainsFunc(all, func(other string) bool { return strings.HasPrefix(other, name+"/") })
	})
}

// leaves returns the verdicts of tests that have no subtests.
func leaves(verdicts map[string]string) map[string]string {
	all := map[string]string{}
	for name, v := range verdicts {
		parent := false
		for other := range verdicts {
			parent = parent || strings.HasPrefix(other, name+"/")
		}
		if !parent {
			all[name] = v
		}
	}
	return all
}
