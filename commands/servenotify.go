package commands

import (
	"net"
	"strconv"
	"time"
)

// notifier is the socket that systemd listens on, $NOTIFY_SOCKET; "" if it does not. A name that
// begins with @ is of the abstract namespace, as it is for package net.
type notifier string

// send tells a state as sd_notify(3) has it. The datagram is in the socket's queue when it returns.
func (n notifier) send(state string) error {
	if n == "" {
		return nil
	}
	conn, err := net.Dial("unixgram", string(n))
	if err != nil {
		return err
	}
	defer conn.Close()
	_, err = conn.Write([]byte(state))
	return err
}

// watchdogEvery returns how often systemd is told that this process is alive, 0 for never: twice in
// the time after which it is killed, as sd_watchdog_enabled(3) advises. A process that was started by
// the one that is watched has these variables too.
func watchdogEvery(getenv func(string) string, pid int) time.Duration {
	usec, err := strconv.ParseInt(getenv("WATCHDOG_USEC"), 10, 64)
	if err != nil || usec <= 0 || usec > int64(maxWatchdog/time.Microsecond) {
		return 0
	}
	if of := getenv("WATCHDOG_PID"); of != "" && of != strconv.Itoa(pid) {
		return 0
	}
	return time.Duration(usec) * time.Microsecond / 2
}

// maxWatchdog is more than anybody waits; what is longer says that there is none.
const maxWatchdog = 365 * 24 * time.Hour
