package frontend

import (
	"errors"

	"golang.org/x/sys/unix"
)

// gone asks for the other side's end even behind bytes that nobody has read yet.
func (s *socket) gone() bool {
	if s.raw == nil {
		return false
	}
	end := false
	err := s.raw.Control(func(fd uintptr) {
		fds := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLRDHUP}}
		for {
			n, err := unix.Poll(fds, 0)
			if errors.Is(err, unix.EINTR) {
				continue
			}
			end = n == 1 && fds[0].Revents&(unix.POLLRDHUP|unix.POLLHUP|unix.POLLERR) != 0
			return
		}
	})
	return end || err != nil // an error is that it is closed here
}
