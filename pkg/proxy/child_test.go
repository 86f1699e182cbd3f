package proxy_test

import (
	"bufio"
	"encoding/json"
	"fmt"
	"log/slog"
	"os"
	osexec "os/exec"
	"runtime"
	"runtime/debug"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/backend"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
)

// childVariable has the servers of a proxy in a process of its own, whose memory can be measured.
const childVariable = "MYSQLRW_PROXY_CHILD"

// childOptions is what such a proxy is told.
type childOptions struct {
	Servers []sandbox.Server
	Sizes   struct{ Pool int }
	Check   time.Duration // of the servers
}

// childMemory is what a process says of itself, in bytes. Sys is what Go's runtime has from the
// system, which the race detector does not add to; Resident is what the system counts.
type childMemory struct {
	Sys, Resident, Peak int64
	Goroutines          int
	// What it has done since it began: allocations, and system calls that read or write.
	Mallocs, Reads, Writes int64
	CPU                    time.Duration
}

// child is a proxy in another process.
type child struct {
	t       testing.TB
	address string
	out     *bufio.Reader
	in      interface{ Write([]byte) (int, error) }
}

// startChild runs this test binary again, with TestChild alone.
func startChild(t testing.TB, c *sandbox.Cluster, poolSize int, check time.Duration) *child {
	t.Helper()
	if runtime.GOOS != "linux" {
		t.Skip("memory is read from /proc")
	}
	var o childOptions
	for _, s := range c.Servers {
		o.Servers = append(o.Servers, sandbox.Server{Name: s.Name, Host: s.Host, Port: s.Port, User: s.User, Password: s.Password}) //nolint:govet // not started
	}
	o.Sizes.Pool, o.Check = poolSize, check
	text, err := json.Marshal(&o)
	if err != nil {
		t.Fatal(err)
	}
	cmd := osexec.Command(os.Args[0], "-test.run=^TestChild$", "-test.count=1", "-test.timeout=20m") //nolint:gosec // itself
	cmd.Env = append(os.Environ(), childVariable+"="+string(text))
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("the proxy's process: %v", err)
		}
	})
	p := &child{t: t, in: in, out: bufio.NewReader(out)}
	p.address = p.line()
	return p
}

func (p *child) line() string {
	p.t.Helper()
	text, err := p.out.ReadString('\n')
	if err != nil {
		p.t.Fatalf("the proxy's process: %q, %v", text, err)
	}
	return strings.TrimSpace(text)
}

// memory asks for what the process uses now, with its garbage collected before or not.
func (p *child) memory(collect bool) childMemory {
	p.t.Helper()
	if _, err := fmt.Fprintln(p.in, collect); err != nil {
		p.t.Fatal(err)
	}
	var m childMemory
	if err := json.Unmarshal([]byte(p.line()), &m); err != nil {
		p.t.Fatal(err)
	}
	return m
}

// TestChild is the other process: it does nothing unless startChild began it.
func TestChild(t *testing.T) {
	text := os.Getenv(childVariable)
	if text == "" {
		t.Skip("only for other tests")
	}
	var o childOptions
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		t.Fatal(err)
	}
	c := &sandbox.Cluster{}
	for i := range o.Servers {
		c.Servers = append(c.Servers, &o.Servers[i])
	}
	po := options(t, c)
	for i := range po.Servers {
		po.Servers[i].TLSMode = backend.TLSDisabled // crypto/tls allocates for each record that it reads
	}
	po.Log = slog.New(slog.DiscardHandler)
	po.Pool.Max, po.Pool.MaxIdle, po.CheckInterval = o.Sizes.Pool, o.Sizes.Pool, o.Check
	r := start(t, c, po)
	fmt.Println(r.address)
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		if in.Text() == "true" {
			debug.FreeOSMemory()
		}
		var stats runtime.MemStats
		runtime.ReadMemStats(&stats)
		m := childMemory{Sys: int64(stats.Sys - stats.HeapReleased), Goroutines: runtime.NumGoroutine()}
		m.Resident, m.Peak = ofProcess("status", "VmRSS:")<<10, ofProcess("status", "VmHWM:")<<10
		m.Mallocs, m.Reads, m.Writes = int64(stats.Mallocs), ofProcess("io", "syscr:"), ofProcess("io", "syscw:")
		m.CPU = cpuTime()
		answer, err := json.Marshal(&m)
		if err != nil {
			t.Fatal(err)
		}
		fmt.Println(string(answer))
	}
}

// ofProcess reads one of the numbers that Linux keeps for this process in a file.
func ofProcess(file, name string) int64 {
	text, err := os.ReadFile("/proc/self/" + file)
	if err != nil {
		return 0
	}
	_, after, _ := strings.Cut(string(text), name)
	fields := strings.Fields(after)
	if len(fields) == 0 {
		return 0
	}
	n, _ := strconv.ParseInt(fields[0], 10, 64)
	return n
}

// cpuTime is what this process has had of processors until now.
func cpuTime() time.Duration {
	tasks, _ := os.ReadDir("/proc/self/task")
	var all time.Duration
	for _, task := range tasks {
		text, err := os.ReadFile("/proc/self/task/" + task.Name() + "/schedstat")
		if err != nil {
			continue
		}
		ran, _, _ := strings.Cut(string(text), " ")
		n, _ := strconv.ParseInt(ran, 10, 64)
		all += time.Duration(n)
	}
	return all
}
