package sandboxtest

import (
	"context"
	"database/sql"
	"os"
	"runtime/debug"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
)

// startLimit bounds the start of a cluster on a machine that is busy with
// other packages' tests; installing is bounded by installLimit.
const (
	startLimit   = 3 * time.Minute
	installLimit = 10 * time.Minute
)

// Flavors runs body as a subtest for MySQL and one for MariaDB.
func Flavors(t *testing.T, body func(t *testing.T, f flavor.Flavor)) {
	t.Helper()
	for _, f := range []flavor.Flavor{flavor.MySQL, flavor.MariaDB} {
		t.Run(f.String(), func(t *testing.T) { body(t, f) })
	}
}

// Cluster starts a cluster and closes it when the test ends. Options need no
// cache folder. A test of a flavor whose server cannot be had is skipped or
// failed as the package comment says.
func Cluster(t testing.TB, o sandbox.Options) *sandbox.Cluster {
	t.Helper()
	Installation(t, o.Flavor)
	if o.CacheDir == "" {
		o.CacheDir = CacheDir(t)
	}
	ctx, cancel := context.WithTimeout(t.Context(), startLimit)
	defer cancel()
	c, err := sandbox.Start(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if t.Failed() {
			showLogs(t, c)
		}
		if err := c.Close(); err != nil {
			t.Errorf("close sandbox: %v", err)
		}
	})
	return c
}

// Installation returns the flavor's programs. The test is skipped or failed
// if there are none, and skipped under -short.
func Installation(t testing.TB, f flavor.Flavor) *sandbox.Installation {
	t.Helper()
	if testing.Short() {
		t.Skip("real servers are not started under -short")
	}
	find := installMySQL
	if f == flavor.MariaDB {
		find = installMariaDB
	}
	inst, err := find()
	switch {
	case err != nil && f == flavor.MySQL:
		t.Skipf("MYSQL MISSING: %v", err)
	case err != nil:
		t.Fatal(err)
	}
	return inst
}

// Each flavor is looked for once in a process: where the packages cannot be
// fetched, every further try would take as long again.
var (
	installMySQL   = sync.OnceValues(func() (*sandbox.Installation, error) { return install(flavor.MySQL) })
	installMariaDB = sync.OnceValues(func() (*sandbox.Installation, error) { return install(flavor.MariaDB) })
)

func install(f flavor.Flavor) (*sandbox.Installation, error) {
	dir, err := cacheDir()
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(context.Background(), installLimit)
	defer cancel()
	return sandbox.Install(ctx, sandbox.InstallOptions{Flavor: f, CacheDir: dir})
}

// CacheDir returns the folder in which tests keep programs and templates.
func CacheDir(t testing.TB) string {
	t.Helper()
	dir, err := cacheDir()
	if err != nil {
		t.Fatal(err)
	}
	return dir
}

func cacheDir() (string, error) {
	if dir := os.Getenv("MYSQLRW_CACHE"); dir != "" {
		return dir, nil
	}
	return sandbox.DefaultCacheDir()
}

// Open returns a pool of connections to the server that is closed when the
// test ends.
func Open(t testing.TB, s *sandbox.Server) *sql.DB {
	t.Helper()
	db, err := s.Open()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = db.Close() })
	return db
}

// Exec runs statements on the server, each on its own, and ends the test if
// one fails.
func Exec(t testing.TB, s *sandbox.Server, statements ...string) {
	t.Helper()
	db, err := s.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	db.SetMaxOpenConns(1) // so that SET and USE hold for what follows
	for _, statement := range statements {
		if _, err := db.ExecContext(t.Context(), statement); err != nil {
			t.Fatalf("%s: %s: %v", s.Name, statement, err)
		}
	}
}

// UnderRace tells whether the race detector is in this binary: what is measured of time and memory means nothing then.
func UnderRace() bool {
	info, ok := debug.ReadBuildInfo()
	return ok && slices.Contains(info.Settings, debug.BuildSetting{Key: "-race", Value: "true"})
}

// showLogs prints the end of every server's error log.
func showLogs(t testing.TB, c *sandbox.Cluster) {
	for _, s := range c.Servers {
		text, err := os.ReadFile(s.ErrorLog())
		if err != nil {
			t.Logf("%s: %v", s.Name, err)
			continue
		}
		lines := strings.Split(strings.TrimSpace(string(text)), "\n")
		t.Logf("end of the error log of %s:\n%s", s.Name, strings.Join(lines[max(0, len(lines)-30):], "\n"))
	}
}
