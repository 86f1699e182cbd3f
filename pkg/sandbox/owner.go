package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// ownerMark is the first line of the lock file, up to the owner's process id.
// Without it a folder is not taken for a sandbox and nothing in it is removed.
const ownerMark = "mysqlrw sandbox "

// errGone is returned by disown when the owner has removed the sandbox.
var errGone = errors.New("sandbox is gone")

// own makes this process the owner of a folder for as long as it lives: it
// takes the lock on a file that says who it is.
func own(dir string) (*fileLock, error) {
	lock, err := openLock(filepath.Join(dir, lockFile), os.O_CREATE|os.O_EXCL)
	if errors.Is(err, fs.ErrExist) || errors.Is(err, errLocked) {
		return nil, fmt.Errorf("%s: %w", dir, ErrExists) // another process came first
	}
	if err != nil {
		return nil, err
	}
	if err := sign(lock, os.Getpid()); err != nil {
		lock.release()
		return nil, err
	}
	return lock, nil
}

// sign writes who holds a lock into its file. The width is fixed, so that the
// text can be written over.
func sign(lock *fileLock, pid int) error {
	_, err := lock.file.WriteAt(fmt.Appendf(nil, "%s%10d\n", ownerMark, pid), 0)
	return err
}

// disown takes the folder of a sandbox over from its owner: at once if that
// is dead, else after it was asked to go. The error is ErrNoSandbox if the
// folder has none, and errGone if the owner has cleaned up behind itself.
//
// The file is opened once: an owner that cleans up removes it, and gives the
// lock on it back when all the rest is gone too.
func disown(ctx context.Context, dir string) (*fileLock, error) {
	path := filepath.Join(dir, lockFile)
	file, err := os.OpenFile(path, os.O_RDWR, 0)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("%s: %w", dir, ErrNoSandbox)
	}
	if err != nil {
		return nil, err
	}
	lock := &fileLock{file: file}
	if err := lock.takeOver(ctx); err != nil {
		lock.release()
		return nil, err
	}
	if !exists(path) {
		lock.release()
		return nil, errGone
	}
	// Whoever else comes must not signal the id of an owner that is dead.
	return lock, sign(lock, 0)
}

// takeOver takes the lock, which its owner gives back when it ends.
func (l *fileLock) takeOver(ctx context.Context) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for asked := false; ; {
		locked := flock(l.file)
		if locked != nil && !errors.Is(locked, errLocked) {
			return locked
		}
		pid, err := readOwner(l.file)
		switch {
		case err != nil || locked == nil:
			return err
		case pid == os.Getpid():
			return fmt.Errorf("%s is this process's own", l.file.Name())
		case pid != 0 && !asked:
			if err := askOwner(pid); err != nil {
				return err
			}
			asked = true
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("wait for process %d: %w", pid, context.Cause(ctx))
		case <-tick.C:
		}
	}
}

// readOwner reads the owner's process id from a lock file. It is 0 while the
// remains of a dead owner are removed.
func readOwner(file *os.File) (int, error) {
	text, err := io.ReadAll(io.NewSectionReader(file, 0, 64))
	if err != nil {
		return 0, err
	}
	number, ok := strings.CutPrefix(string(text), ownerMark)
	pid, err := strconv.Atoi(strings.TrimSpace(number))
	if !ok || err != nil || pid < 0 {
		return 0, fmt.Errorf("%s is not a sandbox's: %w", file.Name(), ErrNoSandbox)
	}
	return pid, nil
}

// askOwner signals the process that keeps a sandbox. The caller has found the
// lock held, so the process lives and the id is still its own.
func askOwner(pid int) error {
	p, err := os.FindProcess(pid)
	if err != nil {
		return err
	}
	if err := terminate(p); err != nil && !errors.Is(err, os.ErrProcessDone) {
		return fmt.Errorf("signal process %d: %w", pid, err)
	}
	return nil
}
