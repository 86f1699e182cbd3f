package commands

import (
	"strconv"
	"syscall"
	"time"
	"unsafe"
)

// fileLimit returns how many files this process may have open.
func fileLimit() (uint64, bool) {
	var r syscall.Rlimit
	err := syscall.Getrlimit(syscall.RLIMIT_NOFILE, &r)
	return r.Cur, err == nil
}

// reloading is what systemd is told before a reload. Units of Type=notify-reload need the time, by
// systemd's clock, to tell it from one that came before their signal.
func reloading() string {
	const clockMonotonic = 1
	var t syscall.Timespec
	if _, _, e := syscall.Syscall(syscall.SYS_CLOCK_GETTIME, clockMonotonic, uintptr(unsafe.Pointer(&t)), 0); e != 0 {
		return "RELOADING=1"
	}
	return "RELOADING=1\nMONOTONIC_USEC=" + strconv.FormatInt(t.Nano()/int64(time.Microsecond), 10)
}
