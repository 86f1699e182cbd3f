package sandbox

import (
	"context"
	"errors"
	"os"
	"time"
)

// errLocked is returned by openLock while another process holds the lock.
var errLocked = errors.New("locked by another process")

// fileLock is a lock that the kernel gives back when its owner dies.
type fileLock struct{ file *os.File }

// release gives the lock back. The file stays: to remove it would let two
// processes hold locks on two files of one name.
func (l *fileLock) release() { _ = l.file.Close() }

// openLock opens the file of a lock and takes it, or returns errLocked at
// once.
func openLock(path string, flags int) (*fileLock, error) {
	file, err := os.OpenFile(path, os.O_RDWR|flags, 0o600)
	if err != nil {
		return nil, err
	}
	if err := flock(file); err != nil {
		_ = file.Close()
		return nil, err
	}
	return &fileLock{file: file}, nil
}

// waitLock takes the lock on a file, which it makes if there is none. waiting
// is called once if another process holds the lock.
//
// The kernel's own waiting cannot be ended by a context, so this asks again
// and again.
func waitLock(ctx context.Context, path string, waiting func()) (*fileLock, error) {
	lock, err := openLock(path, os.O_CREATE)
	if !errors.Is(err, errLocked) {
		return lock, err
	}
	waiting()
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-tick.C:
		}
		if lock, err = openLock(path, os.O_CREATE); !errors.Is(err, errLocked) {
			return lock, err
		}
	}
}
