package sandbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ErrNoSandbox is returned by Down and Status for a folder without a sandbox.
var ErrNoSandbox = errors.New("there is no sandbox")

// Keep starts a cluster in o.Dir, which must be given, calls ready and then
// keeps the cluster until ctx ends, ttl has passed (0 is for ever) or Down
// asks for its end by SIGTERM, which the calling program must turn into the
// end of ctx. The cluster is closed when Keep returns. The end of ctx or ttl
// after ready is no error.
//
// It is the body of the process that outlives `sandbox up`.
func Keep(ctx context.Context, o Options, ttl time.Duration, ready func(Info)) error {
	if o.Dir == "" {
		return errors.New("keep sandbox: no folder given")
	}
	c, err := Start(ctx, o)
	if err != nil {
		return err
	}
	ready(c.Info())
	if ttl > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, ttl)
		defer cancel()
	}
	<-ctx.Done()
	return c.Close()
}

// Detach prepares a command that has not been started to outlive the process
// that starts it: it gets a session of its own, so neither the terminal's
// signals nor its end reach it. Its output must not be a pipe to the caller.
func Detach(cmd *exec.Cmd) { ownSession(cmd) }

// Status returns the description of the sandbox in a folder. For each server
// it tells whether it accepts connections and which process it is. The error
// is ErrNoSandbox if there is none.
func Status(dir string) (Info, error) {
	info, err := readInfo(dir)
	if err != nil {
		return info, fmt.Errorf("read sandbox: %w", err)
	}
	for i := range info.Servers {
		s := &info.Servers[i]
		alive := accepts(s.Socket)
		s.Alive = &alive
		if alive {
			s.PID = readPID(filepath.Join(info.Dir, s.Name, "pid"))
		}
	}
	return info, nil
}

func readInfo(dir string) (Info, error) {
	var info Info
	text, err := os.ReadFile(filepath.Join(dir, infoFile))
	if errors.Is(err, fs.ErrNotExist) {
		return info, fmt.Errorf("%s: %w", dir, ErrNoSandbox)
	}
	if err != nil {
		return info, err
	}
	if err := json.Unmarshal(text, &info); err != nil {
		return info, fmt.Errorf("%s: %w", filepath.Join(dir, infoFile), err)
	}
	info.Dir, err = filepath.Abs(dir)
	return info, err
}

// accepts reports whether a server listens on the socket. A process id would
// be no proof: it may belong to another process by this time.
func accepts(socket string) bool {
	conn, err := net.DialTimeout("unix", socket, time.Second)
	if err != nil {
		return false
	}
	return conn.Close() == nil
}

func readPID(path string) int {
	text, err := os.ReadFile(path)
	if err != nil {
		return 0
	}
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil || pid < 1 {
		return 0
	}
	return pid
}

// Down ends the sandbox in a folder and returns when its servers and files
// are gone. The process that keeps it is asked by SIGTERM to take it down; if
// that process is dead, Down removes what it left. The error is ErrNoSandbox
// if there is none.
func Down(ctx context.Context, dir string) error {
	lock, err := disown(ctx, dir)
	if errors.Is(err, errGone) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("take down sandbox: %w", err)
	}
	defer lock.release()
	info, err := readInfo(dir)
	if err != nil && !errors.Is(err, ErrNoSandbox) { // it may have died before it wrote the file
		return fmt.Errorf("take down sandbox: %w", err)
	}
	if err := removeRemains(ctx, dir, info); err != nil {
		return fmt.Errorf("take down sandbox: %w", err)
	}
	return nil
}

// removeRemains removes what a keeper left. Its guard kills the servers of a
// keeper that died, but may not have come to it yet.
func removeRemains(ctx context.Context, dir string, info Info) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for _, s := range info.Servers {
		for accepts(s.Socket) {
			select {
			case <-ctx.Done():
				return fmt.Errorf("%s still runs: %w", s.Name, context.Cause(ctx))
			case <-tick.C:
			}
		}
	}
	return errors.Join(removeContent(dir), os.Remove(dir))
}
