package suites

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"
)

// serve is the proxy's program.
type serve struct {
	program string
}

// buildServe builds the program of this checkout.
func buildServe(ctx context.Context, dir string) (*serve, error) {
	program := filepath.Join(dir, "mysqlrw")
	cmd := exec.CommandContext(ctx, "go", "build", "-o", program, "./cmd/mysqlrw")
	cmd.Dir = filepath.Join("..", "..", "..")
	if out, err := cmd.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build mysqlrw: %w: %s", err, out)
	}
	return &serve{program: program}, nil
}

// startProxy starts the proxy in front of the worker's servers unless it runs.
func (w *worker) startProxy(ctx context.Context) error {
	if w.proxy != nil && !w.proxy.ended() {
		return nil
	}
	at := w.through()
	if err := os.RemoveAll(at.socket); err != nil {
		return err
	}
	log, err := os.Create(w.path("proxy.out"))
	if err != nil {
		return err
	}
	defer log.Close()
	w.counted = reads{}
	file := w.path("serve.toml")
	if err := os.WriteFile(file, []byte(w.serveConfig()), 0o600); err != nil {
		return err
	}
	if w.proxy, err = start([]string{w.serve.program, "serve", "--config", file}, cleanEnv(), w.dir, log); err != nil {
		return err
	}
	return w.awaitReady(ctx)
}

// serveConfig is the proxy's configuration. It shows the server's certificate,
// which is the one that tests know.
func (w *worker) serveConfig() string {
	std := filepath.Join(w.tree.tests(), "std_data")
	certificate := fmt.Sprintf("ssl-cert = %q\nssl-key = %q\n", w.option("ssl-cert", std+"/server-cert.pem"), w.option("ssl-key", std+"/server-key.pem"))
	servers := ""
	for i, n := range w.nodes() {
		role := []string{"primary", "replica"}[i]
		servers += fmt.Sprintf("[[server]]\naddress = \"127.0.0.1:%d\"\nrole = %q\nssl-mode = \"as-client\"\ncompression = \"as-client\"\n", n.port, role)
	}
	return fmt.Sprintf("[[listener]]\naddress = \"127.0.0.1:%d\"\n%s", w.through().port, certificate) +
		fmt.Sprintf("[[listener]]\nsocket = %q\n%s", w.through().socket, certificate) +
		servers +
		"[pool]\nconnection-id = \"server\"\nmultiplexing = \"off\"\nmax-connections = 1000\n[monitor]\nuser = \"root\"\n" +
		fmt.Sprintf("interval = %q\n[policy]\nconsistency = %q\nmax-lag = \"0s\"\n", w.level.interval(), string(w.level))
}

// option returns what the running server was told, or else what it has by itself.
func (w *worker) option(name, otherwise string) string {
	for _, arg := range w.started {
		key, value, _ := strings.Cut(strings.TrimPrefix(strings.TrimPrefix(arg, "--"), "loose-"), "=")
		if strings.ReplaceAll(key, "_", "-") == name {
			otherwise = value
		}
	}
	return otherwise
}

// awaitReady waits for the proxy's lines that it knows a primary, and what the
// replica is: it may be none because of the test's options.
func (w *worker) awaitReady(ctx context.Context) error {
	deadline := time.Now().Add(startLimit)
	for {
		out, err := os.ReadFile(w.path("proxy.out"))
		switch {
		case err != nil:
			return err
		case bytes.Contains(out, []byte("msg=ready")) && bytes.Count(out, []byte("old=unproven")) >= w.level.servers():
			return nil
		case ctx.Err() != nil:
			return context.Cause(ctx)
		case w.proxy.ended() || time.Now().After(deadline):
			return fmt.Errorf("start proxy: it is not ready: %s", out[max(0, len(out)-2000):])
		}
		time.Sleep(10 * time.Millisecond)
	}
}

func (w *worker) stopProxy() {
	w.proxy.kill()
	w.proxy = nil
}
