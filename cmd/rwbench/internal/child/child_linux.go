package child

import (
	"fmt"
	"os"
	"os/exec"
	"syscall"
)

// detach keeps the terminal's signals away, and has the kernel kill the process with its parent.
func detach(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Pdeathsig: syscall.SIGKILL}
}

// UsageOf reads what a process has used.
func UsageOf(pid int) (Usage, error) {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return Usage{}, err
	}
	status, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return Usage{}, err
	}
	cpu, err := parseStat(string(stat))
	if err != nil {
		return Usage{}, err
	}
	rss, err := parseRSS(string(status))
	return Usage{CPU: cpu, RSS: rss}, err
}
