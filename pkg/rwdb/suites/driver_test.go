package suites

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	_ "github.com/mysqlrw/mysqlrw/pkg/rwdb" // so that go.mod has what it needs
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

var (
	only   = flag.String("suites.run", ".", "regular expression of the tests to run")
	race   = flag.Bool("suites.race", false, "with the race detector")
	update = flag.Bool("update", false, "write the results to docs/library-suite.md")
)

// The clusters that rwdb is given, as the table and the list of differences name them.
const (
	primaryOnly = "primary"
	withTwo     = "replicas"
)

var clusters = []string{primaryOnly, withTwo}

const (
	user     = "gotest"
	password = "gotest-secret"
	schema   = "gotest"
)

// TestDriver runs the driver's tests on it and through rwdb.
func TestDriver(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes servers")
	}
	list, err := os.ReadFile(differencesFile)
	if err != nil {
		t.Fatal(err)
	}
	k, err := readKnown(string(list), []string{flavor.MySQL.String(), flavor.MariaDB.String()}, clusters)
	if err != nil {
		t.Fatal(err)
	}
	d, err := copyDriver(t.Context(), t.TempDir(), *race)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("tests of %s %s", driverModule, d.version)
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		s := start(t, f, d)
		s.runAll(t)
		part := markdown(s.results, len(d.alone), k)
		t.Log("\n" + part)
		for _, r := range s.results {
			unexplained, idle := r.judge(k)
			for _, name := range unexplained {
				t.Errorf("%s differs with %s, and %s does not say why", name, r.cluster, differencesFile)
			}
			if *only == "." && len(idle) > 0 {
				t.Errorf("in %s and the same now, with %s: %v", differencesFile, r.cluster, idle)
			}
			if len(r.once) > 0 {
				t.Logf("differed with %s, and did not when run again: %v", r.cluster, r.once)
			}
		}
		if *update && *only == "." && !t.Failed() {
			if err := updatePage(filepath.Join("..", "..", "..", "docs", "library-suite.md"), f.String(), part); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// suite is the tests on one flavor's servers.
type suite struct {
	d       *driver
	cluster *sandbox.Cluster
	plain   place
	results []*results
}

// start starts a cluster with an account like that of a program, which may see what the monitor looks at.
func start(t *testing.T, f flavor.Flavor, d *driver) *suite {
	t.Helper()
	args := []string{"--local-infile=ON"}
	c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, PrimaryArgs: args, ReplicaArgs: args})
	rights := "REPLICATION CLIENT"
	if f == flavor.MariaDB {
		rights = "REPLICA MONITOR, BINLOG MONITOR"
	}
	sandboxtest.Exec(t, c.Primary(), "CREATE USER "+user+"@'%' IDENTIFIED BY '"+password+"'",
		"GRANT ALL ON "+schema+".* TO "+user+"@'%'", "GRANT PROCESS, "+rights+" ON *.* TO "+user+"@'%'",
		"GRANT SELECT ON performance_schema.* TO "+user+"@'%'")
	s := &suite{d: d, cluster: c, plain: place{user: user, password: password, schema: schema}}
	s.plain.primary = where(c.Primary())
	version := f.String() + " " + sandboxtest.Installation(t, f).Version.String()
	for _, name := range clusters {
		s.results = append(s.results, &results{flavor: f.String(), version: version, cluster: name})
	}
	return s
}

func where(s *sandbox.Server) endpoint { return endpoint{Address: s.Address(), Socket: s.Socket} }

// through is the place of a cluster that rwdb is given.
func (s *suite) through(cluster string) *place {
	p := s.plain
	for _, server := range s.cluster.Servers {
		if server == s.cluster.Primary() || cluster == withTwo {
			p.rwdb = append(p.rwdb, where(server))
		}
	}
	return &p
}

func (s *suite) runAll(t *testing.T) {
	pattern, err := regexp.Compile(*only)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range s.d.tests {
		if !pattern.MatchString(name) {
			continue
		}
		plain := s.run(t, name, &s.plain)
		for _, r := range s.results {
			s.one(t, name, r, plain)
		}
	}
}

// one runs a test through rwdb, and both ways again if it differs: servers that were slow once make no difference.
func (s *suite) one(t *testing.T, name string, r *results, plain *outcome) {
	p := s.through(r.cluster)
	other := s.run(t, name, p)
	if len(compare(plain.verdicts, other.verdicts)) > 0 {
		said := other.said
		plain, other = s.run(t, name, &s.plain), s.run(t, name, p)
		if differ := compare(plain.verdicts, other.verdicts); len(differ) > 0 {
			t.Logf("%v differ with %s; plain:\n%s\nrwdb:\n%s", differ, r.cluster, plain.said, other.said)
		} else {
			r.once = append(r.once, name)
			t.Logf("%s differed once with %s:\n%s", name, r.cluster, said)
		}
	}
	r.add(plain, other)
}

// run runs a test in an empty schema that all servers have.
func (s *suite) run(t *testing.T, name string, p *place) *outcome {
	t.Helper()
	sandboxtest.Exec(t, s.cluster.Primary(), "DROP SCHEMA IF EXISTS "+schema, "CREATE SCHEMA "+schema)
	if err := s.cluster.WaitReplicated(t.Context()); err != nil {
		t.Fatal(err)
	}
	o, err := s.d.run(t.Context(), name, p)
	if err != nil {
		t.Fatal(err)
	}
	return o
}
