package clients

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
)

// readyLimit bounds how long the proxy takes to find its primary.
const readyLimit = time.Minute

// startProxy builds the program, starts `mysqlrw serve` in front of the cluster
// and returns its port. It shows the cluster's own certificate, so that clients
// can check it as they check the server's.
func startProxy(t *testing.T, c *sandbox.Cluster) int {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "mysqlrw")
	if out, err := exec.CommandContext(t.Context(), "go", "build", "-o", program, "../../../cmd/mysqlrw").CombinedOutput(); err != nil {
		t.Fatalf("build the proxy: %v: %s", err, out)
	}
	port := freePort(t)
	config := filepath.Join(dir, "serve.toml")
	if err := os.WriteFile(config, []byte(proxyConfig(c, port)), 0o600); err != nil {
		t.Fatal(err)
	}
	log := &watched{wanted: "msg=ready", seen: make(chan struct{})}
	cmd := exec.CommandContext(context.WithoutCancel(t.Context()), program, "serve", "--config", config)
	cmd.Stderr = log
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	t.Cleanup(func() { stopProxy(t, cmd, ended, log) })
	select {
	case <-log.seen:
	case err := <-ended:
		ended <- err
		t.Fatalf("the proxy ended: %v", err)
	case <-time.After(readyLimit):
		t.Fatal("the proxy does not get ready")
	}
	return port
}

// proxyConfig is the file of a proxy that sends reads where they cannot be
// stale: what clients see must be what they see on the primary.
func proxyConfig(c *sandbox.Cluster, port int) string {
	var b strings.Builder
	certificate := filepath.Join(filepath.Dir(c.CA), "server-cert.pem")
	key := filepath.Join(filepath.Dir(c.CA), "server-key.pem")
	fmt.Fprintf(&b, "[[listener]]\naddress = \"127.0.0.1:%d\"\nssl-cert = %q\nssl-key = %q\n", port, certificate, key)
	for _, s := range c.Servers {
		fmt.Fprintf(&b, "[[server]]\nname = %q\naddress = %q\n", s.Name, s.Address())
	}
	fmt.Fprintf(&b, "[monitor]\nuser = %q\npassword = %q\n", c.Primary().User, c.Primary().Password)
	b.WriteString("[policy]\nconsistency = \"strong\"\n")
	for _, a := range []account{app, other} {
		fmt.Fprintf(&b, "[[user]]\nname = %q\npassword = %q\n", a.user, a.password)
	}
	return b.String()
}

func freePort(t *testing.T) int {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	return l.Addr().(*net.TCPAddr).Port
}

// stopProxy ends the proxy as an administrator would; it must end well.
func stopProxy(t *testing.T, cmd *exec.Cmd, ended chan error, log *watched) {
	_ = cmd.Process.Signal(os.Interrupt)
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("the proxy ended with %v", err)
		}
	case <-time.After(readyLimit):
		_ = cmd.Process.Kill()
		t.Error("the proxy does not end")
	}
	if t.Failed() {
		t.Logf("end of the proxy's log:\n%s", tail([]byte(log.String())))
	}
	if *keepOut != "" {
		_ = os.WriteFile(filepath.Join(*keepOut, "serve.log"), []byte(log.String()), 0o644)
	}
}

// watched keeps what is written and tells when a text has been.
type watched struct {
	wanted string
	seen   chan struct{} // closed when wanted has been written

	mu   sync.Mutex
	text bytes.Buffer
	done bool
}

func (w *watched) Write(p []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(p)
	if !w.done && bytes.Contains(w.text.Bytes(), []byte(w.wanted)) {
		w.done = true
		close(w.seen)
	}
	return len(p), nil
}

func (w *watched) String() string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.text.String()
}
