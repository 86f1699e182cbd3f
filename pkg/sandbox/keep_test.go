//go:build unix

package sandbox_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

// The test program runs itself with these variables to have a process that
// keeps a sandbox and can be killed.
const (
	helperVariable = "MYSQLRW_TEST_SANDBOX_DIR" // the folder, or "temporary"
	helperFlavor   = "MYSQLRW_TEST_SANDBOX_FLAVOR"
	helperCache    = "MYSQLRW_TEST_SANDBOX_CACHE"
)

// helper keeps a sandbox until SIGTERM, as the hidden command of the program
// does, and prints its description when it runs.
func helper(dir string) int {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	f, err := flavor.ParseFlavor(os.Getenv(helperFlavor))
	o := sandbox.Options{Flavor: f, Replicas: 1, CacheDir: os.Getenv(helperCache), Dir: dir}
	show := func(info sandbox.Info) { _ = json.NewEncoder(os.Stdout).Encode(info) }
	switch {
	case err != nil:
	case dir == "temporary":
		o.Dir = ""
		var c *sandbox.Cluster
		if c, err = sandbox.Start(ctx, o); err == nil {
			show(c.Info())
			<-ctx.Done()
			err = c.Close()
		}
	default:
		err = sandbox.Keep(ctx, o, 0, show)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return 0
}

// keeper is a running helper.
type keeper struct {
	cmd  *exec.Cmd
	info sandbox.Info
}

// startKeeper starts a helper and waits until its sandbox runs.
func startKeeper(t *testing.T, f flavor.Flavor, dir string) *keeper {
	t.Helper()
	k, out := runKeeper(t, f, dir)
	if err := json.NewDecoder(out).Decode(&k.info); err != nil {
		t.Fatalf("read description: %v", err)
	}
	return k
}

// runKeeper starts a helper and returns where it prints its description.
func runKeeper(t *testing.T, f flavor.Flavor, dir string) (*keeper, io.Reader) {
	t.Helper()
	sandboxtest.Installation(t, f)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	k := &keeper{cmd: exec.Command(exe)}
	k.cmd.Env = append(os.Environ(),
		helperVariable+"="+dir, helperFlavor+"="+f.String(), helperCache+"="+sandboxtest.CacheDir(t))
	k.cmd.Stderr = t.Output()
	sandbox.Detach(k.cmd)
	out, err := k.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := k.cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = k.cmd.Process.Kill()
		_ = k.cmd.Wait()
	})
	return k, out
}

// pids returns the processes of the servers, which must run.
func (k *keeper) pids(t *testing.T) []int {
	t.Helper()
	info, err := sandbox.Status(k.info.Dir)
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, s := range info.Servers {
		if s.Alive == nil || !*s.Alive || s.PID < 2 {
			t.Fatalf("%s does not run: %+v", s.Name, s)
		}
		pids = append(pids, s.PID)
	}
	return pids
}

// TestGuard kills the owner of a temporary cluster in the way that leaves it
// no time for anything.
func TestGuard(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		k := startKeeper(t, f, "temporary")
		pids := k.pids(t)
		if err := k.cmd.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		for _, pid := range pids {
			waitUntil(t, fmt.Sprintf("process %d is gone", pid), func() bool {
				return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH)
			})
		}
		waitUntil(t, "the temporary folder is gone", func() bool {
			_, err := os.Stat(k.info.Dir)
			return errors.Is(err, os.ErrNotExist)
		})
		waitUntil(t, "the guard is gone", func() bool { return len(processesOf(k.info.Dir)) == 0 })
	})
}

func TestKeep(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		dir := filepath.Join(t.TempDir(), "c")
		k := startKeeper(t, f, dir)
		pids := k.pids(t)
		if k.info.Flavor != f.String() || k.info.Dir != dir || len(k.info.Servers) != 2 {
			t.Errorf("unexpected description %+v", k.info)
		}
		_, err := sandbox.Start(t.Context(), sandbox.Options{Flavor: f, CacheDir: sandboxtest.CacheDir(t), Dir: dir})
		if !errors.Is(err, sandbox.ErrExists) {
			t.Errorf("second sandbox in one folder: got %v, want %v", err, sandbox.ErrExists)
		}
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		if err := sandbox.Down(ctx, dir); err != nil {
			t.Fatal(err)
		}
		for _, pid := range pids {
			if err := syscall.Kill(pid, 0); !errors.Is(err, syscall.ESRCH) {
				t.Errorf("process %d after Down: %v", pid, err)
			}
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("folder after Down: %v", err)
		}
		if err := k.cmd.Wait(); err != nil {
			t.Errorf("the keeper ended with %v", err)
		}
		if err := sandbox.Down(ctx, dir); !errors.Is(err, sandbox.ErrNoSandbox) {
			t.Errorf("second Down: got %v, want %v", err, sandbox.ErrNoSandbox)
		}
	})
}

// TestDown_deadKeeper cleans up after a keeper that was killed.
func TestDown_deadKeeper(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	k := startKeeper(t, flavor.MariaDB, dir)
	if err := k.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = k.cmd.Wait()
	waitUntil(t, "the guard has killed the servers", func() bool {
		info, err := sandbox.Status(dir)
		return err == nil && !*info.Servers[0].Alive && !*info.Servers[1].Alive
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	o := sandbox.Options{Flavor: flavor.MariaDB, CacheDir: sandboxtest.CacheDir(t), Dir: dir}
	if _, err := sandbox.Start(ctx, o); !errors.Is(err, sandbox.ErrExists) {
		t.Errorf("start over the remains: got %v, want %v", err, sandbox.ErrExists)
	}
	if err := sandbox.Down(ctx, dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("folder after Down: %v", err)
	}
}

// TestDown_starting asks for the end while the servers are being started.
func TestDown_starting(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "c")
	k, _ := runKeeper(t, flavor.MariaDB, dir)
	waitUntil(t, "a server is started", func() bool {
		found, _ := filepath.Glob(filepath.Join(dir, "*", "error.log"))
		return len(found) > 0
	})
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := sandbox.Down(ctx, dir); err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("folder after Down: %v", err)
	}
	if pids := processesOf(dir); len(pids) > 0 {
		t.Errorf("processes %v are left", pids)
	}
	_ = k.cmd.Wait()
}

// TestDown_noSandbox must touch nothing, not even in a folder whose files are
// called like a sandbox's.
func TestDown_noSandbox(t *testing.T) {
	t.Parallel()
	empty, foreign := t.TempDir(), t.TempDir()
	for name, text := range map[string]string{"sandbox.lock": "12345\n", "sandbox.json": "{}", "precious": ""} {
		if err := os.WriteFile(filepath.Join(foreign, name), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	for _, dir := range []string{empty, foreign, filepath.Join(empty, "none")} {
		if err := sandbox.Down(t.Context(), dir); !errors.Is(err, sandbox.ErrNoSandbox) {
			t.Errorf("%s: got %v, want %v", dir, err, sandbox.ErrNoSandbox)
		}
	}
	if _, err := os.Stat(filepath.Join(foreign, "precious")); err != nil {
		t.Error(err)
	}
	if _, err := sandbox.Status(empty); !errors.Is(err, sandbox.ErrNoSandbox) {
		t.Errorf("status: got %v, want %v", err, sandbox.ErrNoSandbox)
	}
}

func TestKeep_ttl(t *testing.T) {
	sandboxtest.Installation(t, flavor.MariaDB)
	dir := filepath.Join(t.TempDir(), "c")
	o := sandbox.Options{Flavor: flavor.MariaDB, Replicas: -1, CacheDir: sandboxtest.CacheDir(t), Dir: dir}
	var got sandbox.Info
	if err := sandbox.Keep(t.Context(), o, time.Millisecond, func(info sandbox.Info) { got = info }); err != nil {
		t.Fatal(err)
	}
	if len(got.Servers) != 1 || got.Servers[0].Role != sandbox.Primary {
		t.Errorf("unexpected servers %+v", got.Servers)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("folder after Keep: %v", err)
	}
	o.Dir = ""
	if err := sandbox.Keep(t.Context(), o, 0, nil); err == nil || !strings.Contains(err.Error(), "folder") {
		t.Errorf("no folder: got %v", err)
	}
}
