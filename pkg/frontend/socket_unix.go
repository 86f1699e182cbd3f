//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package frontend

import (
	"errors"
	"net"
	"syscall"
)

// socket reads the first bytes of what comes. What take needs stands here, so that it allocates
// nothing.
type socket struct {
	raw  syscall.RawConn // nil if the connection is no socket
	read func(fd uintptr) bool
	pool *Buffers
	b    *small
	n    int
	err  error
}

func newSocket(conn net.Conn, pool *Buffers) *socket {
	s := &socket{pool: pool}
	if real, ok := conn.(syscall.Conn); ok {
		s.raw, _ = real.SyscallConn() // fails on a closed connection only, which reading will find
	}
	s.read = func(fd uintptr) bool {
		b := s.pool.small()
		for {
			s.n, s.err = syscall.Read(int(fd), b[:])
			if !errors.Is(s.err, syscall.EINTR) {
				break
			}
		}
		if errors.Is(s.err, syscall.EAGAIN) {
			s.pool.smalls.Put(b)
			return false // called again when there is something
		}
		s.b = b
		return true
	}
	return s
}

// take waits until something can be read, and takes a buffer only then. n is 0 at the end. ok is false
// if the connection is no socket.
func (s *socket) take() (b *small, n int, ok bool, err error) {
	if s.raw == nil {
		return nil, 0, false, nil
	}
	s.b, s.n, s.err = nil, 0, nil
	if err := s.raw.Read(s.read); err != nil {
		return nil, 0, true, err // deadline, or closed here
	}
	b, s.b = s.b, nil
	if s.err != nil {
		s.pool.smalls.Put(b)
		return nil, 0, true, s.err
	}
	return b, max(s.n, 0), true, nil
}
