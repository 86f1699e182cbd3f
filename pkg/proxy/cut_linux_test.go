package proxy_test

import (
	"net"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// writeCut writes b in pieces, each when the other side has read the one before: so that it sees every
// one by itself.
func writeCut(c net.Conn, b []byte, cuts []int) error {
	from := 0
	for _, to := range append(cuts[:len(cuts):len(cuts)], len(b)) {
		if to = min(to, len(b)); to <= from {
			continue
		}
		if _, err := c.Write(b[from:to]); err != nil {
			return err
		}
		if from = to; from < len(b) {
			awaitRead(c)
		}
	}
	return nil
}

// awaitRead waits until everything that was written to a unix socket is read. What the other side does
// when it is gone is for the next write to find out.
func awaitRead(c net.Conn) {
	raw, err := c.(syscall.Conn).SyscallConn()
	if err != nil {
		return
	}
	for end := time.Now().Add(rawLimit); time.Now().Before(end); {
		left := 0
		if raw.Control(func(fd uintptr) { left, err = unix.IoctlGetInt(int(fd), unix.TIOCOUTQ) }) != nil || err != nil || left == 0 {
			return
		}
		time.Sleep(5 * time.Microsecond)
	}
}
