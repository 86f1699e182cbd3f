package clients

import (
	"context"
	"flag"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

var (
	quick   = flag.Bool("clients.quick", false, "one or two runs of each client")
	all     = flag.Bool("clients.all", false, "all runs, not only the quick ones")
	only    = flag.String("clients.only", "", "only runs whose name contains this text")
	direct  = flag.Bool("clients.direct", false, "compare the primary with itself instead of with the proxy")
	update  = flag.Bool("clients.update", false, "write the rows of what was run and passed into docs/compatibility.md")
	keepOut = flag.String("clients.out", "", "folder for what each run printed")
)

// runLimit bounds one client's run on one side.
const runLimit = 5 * time.Minute

// The modes of a connection.
const (
	plain      = "plain"
	overTLS    = "TLS"
	compressed = "compressed"
	overZstd   = "zstd"
)

// account is a user of the servers.
type account struct{ user, password string }

// Both may do everything with the database; app may do everything else too.
var (
	app   = account{"app", "app-secret"}
	other = account{"other", "other-secret"}
)

const database = "clients"

// place is where a run connects to.
type place struct {
	flavor flavor.Flavor
	host   string
	port   int
	ca     string // path of the certificate that has signed the certificate there
	dir    string // for files of the run; it is removed after the test
}

func (p place) address() string { return net.JoinHostPort(p.host, strconv.Itoa(p.port)) }

// check is what came of one check. Text is all that the client said, so that
// a difference that the client itself does not notice is seen too.
type check struct {
	name string
	ok   bool
	text string
}

// run is one client in one mode.
type run struct {
	client string // with its version
	mode   string
	quick  flavor.Flavor // the server that it runs on with -clients.quick
	suite  bool          // the client's own tests: some may fail on the server itself
	do     func(ctx context.Context, t testing.TB, at place) []check
}

func (r run) name() string { return r.client + "/" + r.mode }

func TestClients(t *testing.T) {
	if testing.Short() {
		t.Skip("real servers are not started under -short")
	}
	if !*quick && !*all && *only == "" {
		t.Skip("other people's clients are run by hand, see docs/compatibility.md: -args -clients.quick or -clients.all")
	}
	known, err := parseKnown(knownList)
	if err != nil {
		t.Fatal(err)
	}
	m := findClients(t)
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		inst := sandboxtest.Installation(t, f)
		runs := selected(f, allRuns(t, m))
		cluster := startCluster(t, f)
		primary := place{flavor: f, host: cluster.Primary().Host, port: cluster.Primary().Port, ca: cluster.CA, dir: t.TempDir()}
		proxied := primary
		if !*direct {
			proxied.port = startProxy(t, cluster)
		}
		for _, r := range runs {
			t.Run(r.name(), func(t *testing.T) {
				left := doRun(t, r, cluster.Primary(), primary, "direct")
				right := doRun(t, r, cluster.Primary(), proxied, "proxy")
				row := compare(t, r, known, fmt.Sprintf("%s %s", serverName(f), inst.Version), left, right)
				if *update && !*direct && !t.Failed() {
					writeRow(t, known, row)
				}
			})
		}
	})
}

func serverName(f flavor.Flavor) string {
	if f == flavor.MariaDB {
		return "MariaDB"
	}
	return "MySQL"
}

// selected returns the runs that are wanted now, in the order of their names.
func selected(f flavor.Flavor, runs []run) []run {
	slices.SortFunc(runs, func(a, b run) int { return strings.Compare(a.name(), b.name()) })
	return slices.DeleteFunc(runs, func(r run) bool {
		return !*all && r.quick != f && *only == "" || !strings.Contains(r.name(), *only)
	})
}

// allRuns returns every run that this machine can do.
func allRuns(t testing.TB, m machine) []run {
	return slices.Concat(scriptRuns(t, m), commandLineRuns(t, m), sysbenchRuns(m), goDriverRuns(t), suiteRuns(t, m))
}

// startCluster starts a primary and a replica that take what clients send, and
// makes the accounts.
func startCluster(t *testing.T, f flavor.Flavor) *sandbox.Cluster {
	args := []string{
		"--max-allowed-packet=128M", "--local-infile=ON", "--log-bin-trust-function-creators=ON",
		"--innodb-buffer-pool-size=128M", "--innodb-log-buffer-size=8M", "--binlog-expire-logs-seconds=86400",
	}
	if f == flavor.MySQL {
		args = append(args, "--innodb-redo-log-capacity=512M")
	} else {
		args = append(args, "--innodb-log-file-size=512M")
	}
	c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 1, PrimaryArgs: args, ReplicaArgs: args})
	sandboxtest.Exec(t, c.Primary(),
		fmt.Sprintf("CREATE USER %s@'%%' IDENTIFIED BY '%s'", app.user, app.password),
		fmt.Sprintf("GRANT ALL ON *.* TO %s@'%%' WITH GRANT OPTION", app.user),
		fmt.Sprintf("CREATE USER %s@'%%' IDENTIFIED BY '%s'", other.user, other.password),
		fmt.Sprintf("GRANT ALL ON %s.* TO %s@'%%'", database, other.user),
	)
	return c
}

// doRun gives the run an empty database and lets it work.
func doRun(t *testing.T, r run, primary *sandbox.Server, at place, side string) []check {
	t.Helper()
	sandboxtest.Exec(t, primary, "DROP DATABASE IF EXISTS "+database, "CREATE DATABASE "+database+" CHARACTER SET utf8mb4 COLLATE utf8mb4_unicode_ci")
	ctx, cancel := context.WithTimeout(t.Context(), runLimit)
	defer cancel()
	checks := r.do(ctx, t, at)
	if len(checks) == 0 {
		t.Fatalf("%s: no check was done", side)
	}
	if *keepOut != "" {
		keep(t, r, at.flavor, side, checks)
	}
	return checks
}

// keep writes what a run said to a file for a person to compare.
func keep(t *testing.T, r run, f flavor.Flavor, side string, checks []check) {
	var b strings.Builder
	for _, c := range checks {
		fmt.Fprintf(&b, "%v %s: %s\n", c.ok, c.name, c.text)
	}
	name := strings.NewReplacer("/", "_", " ", "_").Replace(f.String() + "-" + r.name())
	if err := os.MkdirAll(*keepOut, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(*keepOut, name+"."+side), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

// row is one line of the page.
type row struct {
	client, server, mode string
	checks               int
	direct, proxied      int // how many passed
	known                int // how many differ for a known reason
}

// compare fails the test for each check whose two answers differ, unless it is
// a known difference, and for one that fails on the server itself.
func compare(t *testing.T, r run, known []difference, server string, left, right []check) row {
	t.Helper()
	result := row{client: r.client, server: server, mode: r.mode}
	answers := map[string]check{}
	for _, c := range right {
		answers[c.name] = c
		if c.ok {
			result.proxied++
		}
	}
	for _, c := range left {
		result.checks++
		if c.ok {
			result.direct++
		} else if !r.suite {
			t.Errorf("%s fails on the server itself: %s", c.name, clip(c.text))
		}
		through, done := answers[c.name]
		delete(answers, c.name)
		reason, explained := knownDifference(known, r.client, server, c.name)
		switch {
		case done && through == c:
		case explained:
			t.Logf("%s differs: %s", c.name, reason)
			result.known++
		case !done:
			t.Errorf("%s is not done through the proxy; directly: %s", c.name, clip(c.text))
		default:
			a, b := around(c.text, through.text)
			t.Errorf("%s differs\ndirectly: %v %s\n   proxy: %v %s", c.name, c.ok, a, through.ok, b)
		}
	}
	for name, c := range answers {
		t.Errorf("%s is done through the proxy only: %s", name, clip(c.text))
	}
	return result
}

// clip shortens a text for a message.
func clip(s string) string {
	if len(s) > 600 {
		return s[:600] + "..."
	}
	return s
}

// around returns the parts of two texts from a little before their first
// difference.
func around(a, b string) (string, string) {
	i := 0
	for i < len(a) && i < len(b) && a[i] == b[i] {
		i++
	}
	from := max(0, i-80)
	return clip(strings.ToValidUTF8(a[from:], "?")), clip(strings.ToValidUTF8(b[from:], "?"))
}
