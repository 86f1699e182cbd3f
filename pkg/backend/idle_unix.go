//go:build linux || darwin || dragonfly || freebsd || netbsd || openbsd

package backend

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// socket is a view of what a connection has received. What look needs stands here, so that looking
// allocates nothing.
type socket struct {
	raw  syscall.RawConn // nil if the connection is no socket
	look func(fd uintptr)
	b    []byte
	n    int
	err  error
}

func newSocket(conn net.Conn) *socket {
	s := &socket{}
	if real, ok := conn.(syscall.Conn); ok {
		s.raw, _ = real.SyscallConn() // fails on a closed connection only, which reading will find
	}
	s.look = func(fd uintptr) {
		for {
			s.n, _, s.err = syscall.Recvfrom(int(fd), s.b, syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
			if !errors.Is(s.err, syscall.EINTR) {
				return
			}
		}
	}
	return s
}

// peek copies what came to b without taking it. It does not wait: n is 0 without an error if there
// is nothing, and io.EOF is the server's end.
func (s *socket) peek(b []byte) (n int, err error) {
	if s.raw == nil {
		return 0, nil
	}
	s.b = b
	err = s.raw.Control(s.look) // as its Read, but whatever the deadline
	s.b = nil
	switch {
	case err != nil:
		return 0, err
	case errors.Is(s.err, syscall.EAGAIN):
		return 0, nil
	case s.err != nil:
		return 0, s.err
	case s.n == 0:
		return 0, io.EOF
	}
	return s.n, nil
}
