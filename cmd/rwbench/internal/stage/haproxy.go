package stage

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"time"

	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/child"
)

// HAProxy starts it in TCP mode, which knows no SQL: one listener, and everything goes to address.
func (s *Stage) HAProxy(ctx context.Context, address string) (Candidate, error) {
	c := Candidate{Name: "haproxy", Host: "127.0.0.1"}
	program, err := find("haproxy", "/usr/sbin", "/usr/local/sbin")
	if err != nil {
		return c, &Missing{"haproxy", "install the package haproxy"}
	}
	if c.Port, err = freePort(); err != nil {
		return c, err
	}
	file := filepath.Join(s.Dir, "haproxy-"+strconv.Itoa(c.Port)+".cfg")
	// As many threads as there are cores is its own default; it is written down since figures depend on it.
	text := fmt.Sprintf(`global
    nbthread %d
    maxconn 4000
defaults
    mode tcp
    timeout connect 5s
    timeout client 1h
    timeout server 1h
listen mysql
    bind 127.0.0.1:%d
    server primary %s
`, cores(), c.Port, address)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		return c, freeError("haproxy", err)
	}
	p, err := child.Start(child.Options{Name: "haproxy"}, program, "-db", "-f", file)
	if err != nil {
		return c, err
	}
	s.Own(p)
	c.PID, c.Version = p.PID(), versionOf(ctx, "version", program, "-v")
	return c, p.Poll(ctx, func() error { return answers(ctx, c) })
}

// find looks for a program on PATH and where distributions put it.
func find(name string, dirs ...string) (string, error) {
	path, err := exec.LookPath(name)
	for _, dir := range dirs {
		if err != nil {
			path, err = exec.LookPath(filepath.Join(dir, name))
		}
	}
	return path, err
}

// versionOf is the word behind another one in what a program prints; "" if that cannot be had.
func versionOf(ctx context.Context, word string, argv ...string) string {
	out, _ := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
	return firstWordAfter(string(out), word)
}

// freePort is a port of the loopback that nobody has now.
func freePort() (int, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return 0, fmt.Errorf("find a free port: %w", err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port, nil
}

// answers is an error while nobody listens.
func answers(ctx context.Context, c Candidate) error {
	d := net.Dialer{Timeout: time.Second}
	conn, err := d.DialContext(ctx, "tcp", c.HostPort())
	if err != nil {
		return err
	}
	return conn.Close()
}
