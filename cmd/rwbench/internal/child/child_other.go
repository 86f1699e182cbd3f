//go:build !linux

package child

import (
	"errors"
	"os/exec"
)

func detach(*exec.Cmd) {}

// UsageOf fails: what a process costs is read from Linux's /proc.
func UsageOf(int) (Usage, error) {
	return Usage{}, errors.New("read the use of a process: rwbench needs Linux")
}
