package delay

import (
	"syscall"
	"time"
)

// sleep is exact to some 50 microseconds, while the timers of Go's runtime come up to a millisecond late when nothing
// else runs. It keeps a thread.
func sleep(d time.Duration) {
	left := syscall.NsecToTimespec(int64(d))
	for syscall.Nanosleep(&left, &left) == syscall.EINTR {
		continue
	}
}
