package stage

import (
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/figures"
)

func cores() int { return runtime.NumCPU() }

// Machine describes this one.
func Machine() figures.Machine {
	m := figures.Machine{Cores: cores(), Go: runtime.Version()}
	if release, err := os.ReadFile("/proc/sys/kernel/osrelease"); err == nil {
		m.Kernel = strings.TrimSpace(string(release))
	}
	text, _ := os.ReadFile("/proc/meminfo")
	for line := range strings.Lines(string(text)) {
		if value, ok := strings.CutPrefix(line, "MemTotal:"); ok {
			kb, _ := strconv.ParseInt(strings.TrimSuffix(strings.TrimSpace(value), " kB"), 10, 64)
			m.Memory = kb >> 10
		}
	}
	return m
}
