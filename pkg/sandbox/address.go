package sandbox

import (
	"fmt"
	"math/rand/v2"
	"net"
	"os"
	"path/filepath"
	"strconv"
)

const loopback = "127.0.0.1"

// Ports are taken below the range from which systems give ports to outgoing
// connections, so that a server finds its port free again after a restart.
const (
	firstPort = 15000
	lastPort  = 31999
)

// freePort returns a port on which nothing listens at the moment.
func freePort() (int, error) {
	for range 100 {
		port := firstPort + rand.IntN(lastPort-firstPort+1)
		if portFree(port) {
			return port, nil
		}
	}
	return 0, fmt.Errorf("find free port on %s: none of a hundred was", loopback)
}

func portFree(port int) bool {
	l, err := net.Listen("tcp", net.JoinHostPort(loopback, strconv.Itoa(port)))
	if err != nil {
		return false
	}
	return l.Close() == nil
}

// maxSocketPath is what fits into an address of every Unix: macOS has room for
// 103 bytes, Linux for 107.
const maxSocketPath = 103

// socketDir returns the folder for the sockets of a cluster in dir, whose
// longest file name has so many bytes: dir itself, or a new temporary folder
// if the path would be too long.
func socketDir(dir string, nameLen int) (path string, made bool, err error) {
	if len(dir)+1+nameLen <= maxSocketPath {
		return dir, false, nil
	}
	for _, parent := range []string{os.TempDir(), "/tmp"} {
		path, err = os.MkdirTemp(parent, "rw")
		if err != nil {
			continue
		}
		if len(path)+1+nameLen <= maxSocketPath {
			return path, true, nil
		}
		_ = os.Remove(path)
	}
	if err == nil {
		err = fmt.Errorf("no short enough folder for sockets")
	}
	return "", false, fmt.Errorf("make folder for sockets: %w", err)
}

// prepareDir returns the absolute path of an empty folder for a cluster: dir,
// or a temporary one if dir is "". made tells whether it was not there before.
func prepareDir(dir string) (path string, made bool, err error) {
	if dir == "" {
		path, err = os.MkdirTemp("", "mysqlrw-sandbox-")
		return path, true, err
	}
	if path, err = filepath.Abs(dir); err != nil {
		return "", false, err
	}
	entries, err := os.ReadDir(path)
	switch {
	case os.IsNotExist(err):
		return path, true, os.MkdirAll(path, 0o700)
	case err != nil:
		return "", false, err
	case exists(filepath.Join(path, lockFile)):
		return "", false, fmt.Errorf("%s: %w", path, ErrExists)
	case len(entries) > 0:
		return "", false, fmt.Errorf("%s is not empty", path)
	default:
		return path, false, os.Chmod(path, 0o700)
	}
}
