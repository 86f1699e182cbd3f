package sysbench

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"time"

	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/child"
)

// The data that all loads run on.
const (
	Database  = "sbtest"
	tables    = "--tables=4"
	tableSize = "--table_size=10000"
)

// Target is what is measured.
type Target struct {
	Host           string
	Port           int
	User, Password string
	PID            int // of the proxy, whose use is read; 0 if there is none

	// TLSDir, an absolute path, has client-cert.pem, client-key.pem and cacert.pem, names that sysbench looks for in the folder
	// that it runs in.
	TLSDir string
}

// Load is what is done with it.
type Load struct {
	Script       string // oltp_point_select and so on
	SkipTrx      bool
	Prepared     bool
	TLS          bool
	Threads      int
	Warmup, Time time.Duration // whole seconds; Time is without the warm-up
}

// Result is a report, and what the proxy used while it was made.
type Result struct {
	Report
	CPU time.Duration
	RSS int64
}

// Find returns the program's path, or an error that says how it is got.
func Find() (string, error) {
	path, err := exec.LookPath("sysbench")
	if err != nil {
		return "", fmt.Errorf("sysbench is not here: install the package sysbench, or choose --loads without it")
	}
	return path, nil
}

// Prepare makes and fills the tables.
func Prepare(ctx context.Context, t Target) error {
	p, remove, err := start(t, tables, tableSize, "oltp_read_write", "prepare")
	if err != nil {
		return err
	}
	defer remove()
	_, err = p.Wait(ctx)
	return err
}

// Run runs one load. The warm-up is the part before sysbench's checkpoint, with the same connections: the logins
// and the preparing of statements stay out of what is counted.
func Run(ctx context.Context, t Target, l Load) (*Result, error) {
	args := []string{
		tables, tableSize, "--histogram=on", "--threads=" + strconv.Itoa(l.Threads),
		"--time=" + seconds(l.Warmup+l.Time), "--report-checkpoints=" + seconds(l.Warmup),
		"--db-ps-mode=" + map[bool]string{true: "auto", false: "disable"}[l.Prepared],
	}
	if l.TLS {
		args = append(args, "--mysql-ssl=on")
	}
	if l.SkipTrx {
		args = append(args, "--skip_trx=on")
	}
	p, remove, err := start(t, append(args, l.Script, "run")...)
	if err != nil {
		return nil, err
	}
	defer remove()
	result, failed := measure(ctx, p, t.PID)
	if failed != nil && ctx.Err() == nil {
		_ = p.Stop() // it has ended, unless the proxy's use could not be read
	}
	text, err := p.Wait(ctx)
	if fatal := firstFatal(text); fatal != "" && ctx.Err() == nil {
		return nil, fmt.Errorf("sysbench: %s", fatal)
	}
	if failed != nil {
		return nil, failed
	}
	if err != nil {
		return nil, err
	}
	report, err := parse(text)
	if err != nil {
		return nil, err
	}
	result.Report = *report
	return result, nil
}

// firstFatal is what sysbench stumbled over first: what it says last is what followed from that.
func firstFatal(text string) string {
	for line := range strings.Lines(text) {
		if _, what, ok := strings.Cut(line, "FATAL: "); ok && !strings.HasPrefix(what, "unable to connect") { // the next line says why
			return strings.TrimSpace(what)
		}
	}
	return ""
}

// measure reads the use at both ends of the measured part.
func measure(ctx context.Context, p *child.Process, pid int) (*Result, error) {
	r := &Result{}
	use := func() (u child.Usage, err error) {
		if pid != 0 {
			u, err = child.UsageOf(pid)
		}
		return u, err
	}
	if err := p.Await(ctx, func(line string) bool { return strings.Contains(line, "Checkpoint report:") }); err != nil {
		return nil, err
	}
	before, err := use()
	if err != nil {
		return nil, err
	}
	if err := p.Await(ctx, func(line string) bool { return strings.HasPrefix(line, "Latency histogram") }); err != nil {
		return nil, err
	}
	after, err := use()
	r.CPU, r.RSS = after.CPU-before.CPU, after.RSS
	return r, err
}

func seconds(d time.Duration) string { return strconv.Itoa(int(d.Seconds())) }

// start runs sysbench with the account in a file: everybody on the machine can read arguments.
func start(t Target, args ...string) (*child.Process, func(), error) {
	program, err := Find()
	if err != nil {
		return nil, nil, err
	}
	file, err := os.CreateTemp(t.TLSDir, "sysbench-*.cnf")
	if err != nil {
		return nil, nil, err
	}
	_, err = fmt.Fprintf(file, "mysql-host=%s\nmysql-port=%d\nmysql-user=%s\nmysql-password=%s\nmysql-db=%s\n", t.Host, t.Port, t.User, t.Password, Database)
	if closed := file.Close(); err == nil {
		err = closed
	}
	remove := func() { _ = os.Remove(file.Name()) }
	if err != nil {
		remove()
		return nil, nil, err
	}
	p, err := child.Start(child.Options{Name: "sysbench", Dir: t.TLSDir}, append([]string{program, "--config-file=" + file.Name()}, args...)...)
	if err != nil {
		remove()
		return nil, nil, err
	}
	return p, func() {
		_ = p.Stop()
		remove()
	}, nil
}
