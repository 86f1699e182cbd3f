package child

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Usage is what a process has used so far.
type Usage struct {
	CPU time.Duration // user and system
	RSS int64         // bytes in memory now
}

// tick is the unit of times in /proc/PID/stat, which Linux has at 100 a second for every program (time(7)).
const tick = time.Second / 100

// parseStat reads user and system time of /proc/PID/stat, proc_pid_stat(5). The name in parentheses may hold
// anything, so fields are counted from its end.
func parseStat(text string) (time.Duration, error) {
	at := strings.LastIndexByte(text, ')')
	fields := strings.Fields(text[at+1:])
	const utime, stime = 14 - 3, 15 - 3 // the first field behind the name is number 3
	if at < 0 || len(fields) <= stime {
		return 0, fmt.Errorf("read /proc/PID/stat: %q has no times", text)
	}
	user, err := strconv.ParseInt(fields[utime], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read /proc/PID/stat: %w", err)
	}
	system, err := strconv.ParseInt(fields[stime], 10, 64)
	if err != nil {
		return 0, fmt.Errorf("read /proc/PID/stat: %w", err)
	}
	return time.Duration(user+system) * tick, nil
}

// parseRSS reads the resident size of /proc/PID/status.
func parseRSS(text string) (int64, error) {
	for line := range strings.Lines(text) {
		value, ok := strings.CutPrefix(line, "VmRSS:")
		if !ok {
			continue
		}
		kb, err := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
		if err != nil {
			return 0, fmt.Errorf("read /proc/PID/status: %w", err)
		}
		return kb << 10, nil
	}
	return 0, fmt.Errorf("read /proc/PID/status: it has no VmRSS")
}
