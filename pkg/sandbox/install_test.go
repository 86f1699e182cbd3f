package sandbox

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// realMariaDB returns the programs that the tests with clusters use.
func realMariaDB(t *testing.T) *Installation {
	t.Helper()
	if testing.Short() {
		t.Skip("real servers are not started under -short")
	}
	dir := os.Getenv("MYSQLRW_CACHE")
	if dir == "" {
		var err error
		if dir, err = DefaultCacheDir(); err != nil {
			t.Fatal(err)
		}
	}
	inst, err := Install(t.Context(), InstallOptions{Flavor: flavor.MariaDB, CacheDir: dir})
	if err != nil {
		t.Fatal(err)
	}
	return inst
}

// TestTemplate_race has several processes' worth of callers make one template
// at once. The lock is on open files, so goroutines see it as processes do.
func TestTemplate_race(t *testing.T) {
	inst := realMariaDB(t)
	cache := t.TempDir()
	made := 0
	o, err := InstallOptions{Flavor: flavor.MariaDB, CacheDir: cache, Progress: func(line string) {
		if strings.HasPrefix(line, "initialising") {
			made++ // only ever called under the lock
		}
	}}.check()
	if err != nil {
		t.Fatal(err)
	}
	stale := filepath.Join(cache, "tmp-left-by-a-killed-process")
	if err := os.Mkdir(stale, 0o700); err != nil {
		t.Fatal(err)
	}
	var group errgroup.Group
	paths := make([]string, 3)
	for i := range paths {
		group.Go(func() (err error) {
			paths[i], err = template(t.Context(), inst, o)
			return err
		})
	}
	if err := group.Wait(); err != nil {
		t.Fatal(err)
	}
	if made != 1 || paths[0] != paths[1] || paths[0] != paths[2] {
		t.Errorf("got %d templates: %v, want one", made, paths)
	}
	if !exists(filepath.Join(paths[0], "mysql")) || exists(stale) {
		t.Error("the template is not complete, or leftovers were not removed")
	}
}

// TestTemplate_cancelled must leave nothing that a later run takes for a
// template.
func TestTemplate_cancelled(t *testing.T) {
	inst := realMariaDB(t)
	cache := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	o, err := InstallOptions{Flavor: flavor.MariaDB, CacheDir: cache, Progress: func(string) { cancel() }}.check()
	if err != nil {
		t.Fatal(err)
	}
	if path, err := template(ctx, inst, o); !errors.Is(err, context.Canceled) {
		t.Errorf("got %q, %v, want %v", path, err, context.Canceled)
	}
	left, err := filepath.Glob(filepath.Join(cache, "*[^k]")) // all but the lock
	if err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestInstallPackages_noMirror shows what apt said, and leaves nothing.
func TestInstallPackages_noMirror(t *testing.T) {
	if _, err := newApt(t.TempDir(), "", nil); errors.Is(err, errNoApt) {
		t.Skip(err)
	}
	cache := t.TempDir()
	var lines []string
	o, err := InstallOptions{
		Flavor: flavor.MySQL, CacheDir: cache, Mirror: "file:" + filepath.Join(cache, "no-archive"),
		Progress: func(line string) { lines = append(lines, line) },
	}.check()
	if err != nil {
		t.Fatal(err)
	}
	err = installPackages(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "no-archive") {
		t.Errorf("got %v, want an error that names the archive", err)
	}
	if text := strings.Join(lines, "\n"); strings.Count(text, "reading the lists") != 2 {
		t.Errorf("got %q, want a second try", text)
	}
	if left, err := os.ReadDir(cache); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

func TestInstallPackages_cancelled(t *testing.T) {
	cache := t.TempDir()
	ctx, cancel := context.WithCancel(t.Context())
	o, err := InstallOptions{Flavor: flavor.MySQL, CacheDir: cache, Progress: func(string) { cancel() }}.check()
	if err != nil {
		t.Fatal(err)
	}
	err = installPackages(ctx, o)
	if errors.Is(err, errNoApt) {
		t.Skip(err)
	}
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	if left, err := os.ReadDir(cache); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestInspect_wrongFlavor: a mysqld on PATH may be MariaDB's. It is not
// parallel: a process started by another test at the wrong moment would
// inherit the script while it is written, and it could not be run then.
func TestInspect_wrongFlavor(t *testing.T) {
	for _, c := range []struct {
		name, says string
		flavor     flavor.Flavor
		want       string // version, or empty if it must be refused
	}{
		{"MySQL", "/usr/sbin/mysqld  Ver 9.7.4 for Linux on x86_64 (MySQL Community Server - GPL)", flavor.MySQL, "9.7.4"},
		{"Debian's MySQL", "/usr/sbin/mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))", flavor.MySQL, "9.7.4"},
		{"year as a version", "mysqld  Ver 26.7.0 for Linux on x86_64", flavor.MySQL, "26.7.0"},
		{"MariaDB", "mysqld  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)", flavor.MariaDB, "10.11.19"},
		{"MariaDB as mysqld", "mysqld  Ver 10.11.19-MariaDB-0+deb12u1 for debian-linux-gnu on x86_64 (Debian 12)", flavor.MySQL, ""},
		{"MySQL as MariaDB", "mysqld  Ver 9.7.4 for Linux on x86_64", flavor.MariaDB, ""},
		{"too old", "mysqld  Ver 5.7.44 for Linux on x86_64", flavor.MySQL, ""},
		{"something else", "hello", flavor.MySQL, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "sbin", "mysqld")
			if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
				t.Fatal(err)
			}
			script := "#!/bin/sh\necho '" + c.says + "'\n"
			if err := os.WriteFile(path, []byte(script), 0o755); err != nil {
				t.Fatal(err)
			}
			inst, err := inspect(t.Context(), c.flavor, path)
			if c.want == "" {
				if err == nil {
					t.Errorf("accepted as %s %s", inst.Flavor, inst.Version)
				}
				return
			}
			if err != nil || inst.Version.String() != c.want {
				t.Errorf("got %+v, %v, want version %s", inst, err, c.want)
			}
		})
	}
}

// TestInterpreterOf reads a program that every Linux has.
func TestInterpreterOf(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("programs of this system are not ELF files")
	}
	got, err := interpreterOf("/bin/sh")
	if err != nil || !filepath.IsAbs(got) {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := interpreterOf("/etc/passwd"); err == nil {
		t.Error("a text file was read as a program")
	}
}

func TestWaitLock(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "lock")
	first, err := waitLock(t.Context(), path, func() { t.Error("had to wait for nobody") })
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	if _, err := waitLock(ctx, path, cancel); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want %v", err, context.Canceled)
	}
	second, err := waitLock(t.Context(), path, first.release)
	if err != nil {
		t.Fatal(err)
	}
	second.release()
}

// TestGuard_remove checks that the guard lets a process alone whose end it was
// told, and ends without doing anything when it is dismissed.
func TestGuard_remove(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	g, err := startGuard(filepath.Join(dir, "a folder"))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(dir, "a folder"), 0o700); err != nil {
		t.Fatal(err)
	}
	stays, err := startProcess(g, []string{"/bin/sleep", "600"}, dir, filepath.Join(dir, "stays.log"))
	if err != nil {
		t.Fatal(err)
	}
	ends, err := startProcess(g, []string{"/bin/sh", "-c", "echo out; exit 3"}, dir, filepath.Join(dir, "ends.log"))
	if err != nil {
		t.Fatal(err)
	}
	<-ends.exited
	if text, err := os.ReadFile(filepath.Join(dir, "ends.log")); err != nil || string(text) != "out\n" || ends.state == nil {
		t.Errorf("got log %q, %v and end %v", text, err, ends.state)
	}
	g.end()
	if !stays.running() || !exists(filepath.Join(dir, "a folder")) {
		t.Error("a dismissed guard acted")
	}
	if err := g.add(os.Getpid()); err == nil {
		t.Error("a dismissed guard took an order")
	}
	stays.kill()
}

// TestGuard_acts closes the pipe as the kernel does for a dead owner.
func TestGuard_acts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	folder := filepath.Join(dir, "it's a folder")
	if err := os.MkdirAll(filepath.Join(folder, "deep"), 0o700); err != nil {
		t.Fatal(err)
	}
	g, err := startGuard(folder)
	if err != nil {
		t.Fatal(err)
	}
	p, err := startProcess(g, []string{"/bin/sleep", "600"}, dir, filepath.Join(dir, "log"))
	if err != nil {
		t.Fatal(err)
	}
	if err := g.in.Close(); err != nil {
		t.Fatal(err)
	}
	select {
	case <-p.exited:
	case <-time.After(30 * time.Second):
		t.Error("the process lives")
		p.kill()
	}
	_ = g.cmd.Wait()
	if exists(folder) {
		t.Error("the folder is still there")
	}
}

// TestRedact: a server that does not understand a statement repeats it.
func TestRedact(t *testing.T) {
	t.Parallel()
	c := &Cluster{}
	c.replication.password = "S3CRET"
	s := &Server{Password: "ROOTPW", cluster: c}
	cause := errors.New("near 'SOURCE_PASSWORD = 'S3CRET'' or 'ROOTPW'")
	err := s.redact(cause)
	if text := err.Error(); strings.Contains(text, "S3CRET") || strings.Contains(text, "ROOTPW") || !strings.Contains(text, "near") {
		t.Errorf("got %q", text)
	}
	if !errors.Is(err, cause) {
		t.Error("the cause is lost")
	}
}
