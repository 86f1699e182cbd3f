//go:build darwin || dragonfly || freebsd || netbsd || openbsd

package frontend

import (
	"errors"
	"syscall"
)

// gone finds the other side's end if nothing stands before it.
func (s *socket) gone() bool {
	if s.raw == nil {
		return false
	}
	end := false
	err := s.raw.Control(func(fd uintptr) {
		var b [1]byte
		for {
			n, _, err := syscall.Recvfrom(int(fd), b[:], syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
			if errors.Is(err, syscall.EINTR) {
				continue
			}
			end = n == 0 && err == nil || errors.Is(err, syscall.ECONNRESET)
			return
		}
	})
	return end || err != nil // an error is that it is closed here
}
