package suites

import (
	"bytes"
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// endpoint is where clients connect to: the server or the proxy.
type endpoint struct {
	socket string
	port   int
}

// worker runs one test at a time on a server of its own.
type worker struct {
	tree     *tree
	template string // a data directory that nothing may change
	dir      string
	number   int
	serve    *serve // nil: there is no proxy
	level    level

	servers   []*process // the second one is the replica
	proxy     *process
	counted   reads      // of the running proxy
	started   []string   // what the running servers were started with
	baselines [][32]byte // what the runner's own check said of each server when it was new
	inOrder   bool       // the replica follows
}

// lock makes sure that no other run uses the worker's folder and ports. The
// lock is free when this process ends.
func (w *worker) lock() (release func(), err error) {
	if err := os.MkdirAll(filepath.Dir(w.dir), 0o755); err != nil {
		return nil, err
	}
	file, err := os.Create(w.dir + ".lock")
	if err != nil {
		return nil, err
	}
	if err := syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB); err != nil {
		_ = file.Close()
		return nil, fmt.Errorf("another run uses %s: %w", w.dir, err)
	}
	return func() { _ = file.Close() }, nil
}

const startLimit = 60 * time.Second

func (w *worker) path(name string) string { return filepath.Join(w.dir, name) }
func (w *worker) vardir() string          { return w.path("var") }
func (w *worker) tmp() string             { return w.path("tmp") }

// node is one of a worker's servers: 1 is the one that tests run on, 2 its replica. Their folders and
// files are those of the runner's servers of these numbers: tests name files relative to the data.
type node struct {
	number int
	endpoint
	data, tmp, pid, log, out string
}

func (w *worker) node(number int) node {
	name := fmt.Sprintf("mysqld.%d", number)
	return node{
		number: number, endpoint: endpoint{filepath.Join(w.tmp(), name+".sock"), w.port() + number - 1},
		data: filepath.Join(w.vardir(), name, "data"), tmp: filepath.Join(w.tmp(), name),
		pid: filepath.Join(w.vardir(), "run", name+".pid"), log: filepath.Join(w.vardir(), "log", name+".err"),
		out: w.path(name + ".out"),
	}
}

func (w *worker) nodes() []node { return []node{w.node(1), w.node(2)}[:w.level.servers()] }

func (w *worker) port() int {
	if w.tree.inst.Flavor == flavor.MariaDB {
		return 23500 + 10*w.number
	}
	return 23300 + 10*w.number
}

// The two addresses differ in nothing that takes another place in a line.
func (w *worker) direct() endpoint {
	return w.node(1).endpoint
}

func (w *worker) through() endpoint {
	return endpoint{filepath.Join(w.tmp(), "mysqlrw1.sock"), w.port() + 5}
}

// fresh starts new servers on copies of the template, with what the test
// wants besides, and a new proxy in front of them.
func (w *worker) fresh(ctx context.Context, args, env []string) error {
	w.close()
	w.killLeft()
	if err := w.makeDirs(); err != nil {
		return err
	}
	for _, n := range w.nodes() {
		if err := w.startServer(n, args, env); err != nil {
			return err
		}
	}
	for i, n := range w.nodes() {
		if err := awaitGreeting(ctx, n.socket, w.servers[i], startLimit); err != nil {
			return fmt.Errorf("start server: %w: %s", err, n.errors())
		}
	}
	w.started, w.baselines, w.inOrder = slices.Concat(args, env), nil, true
	if err := w.replicate(ctx); err != nil {
		return err
	}
	for _, n := range w.nodes() {
		sum, err := w.check(ctx, n)
		if err != nil {
			return err
		}
		w.baselines = append(w.baselines, sum)
	}
	return nil
}

func (w *worker) startServer(n node, args, env []string) error {
	// CopyFS gives what it copies the modes of the template.
	if err := os.CopyFS(n.data, os.DirFS(w.template)); err != nil {
		return err
	}
	log, err := os.Create(n.out)
	if err != nil {
		return err
	}
	defer log.Close()
	argv := slices.Concat([]string{w.tree.bin("mysqld")}, w.tree.serverArgs(w, n), n.argsOf(args))
	p, err := start(argv, env, w.dir, log)
	if err == nil {
		w.servers = append(w.servers, p)
	}
	return err
}

func (n node) errors() string {
	var all []byte
	for _, name := range []string{n.out, n.log} {
		text, _ := os.ReadFile(name) // there may be none yet
		for line := range strings.Lines(string(text)) {
			if strings.Contains(line, "ERROR") {
				all = append(all, line...)
			}
		}
	}
	return string(all[:min(len(all), 2000)])
}

// makeDirs makes the folders that the runner makes.
func (w *worker) makeDirs() error {
	std := filepath.Join(w.vardir(), "std_data")
	for _, parent := range []string{w.dir, w.vardir()} {
		entries, err := os.ReadDir(parent)
		if err != nil && !errors.Is(err, os.ErrNotExist) {
			return err
		}
		for _, entry := range entries {
			if path := filepath.Join(parent, entry.Name()); path != w.vardir() && path != std {
				if err := os.RemoveAll(path); err != nil {
					return err
				}
			}
		}
	}
	dirs := []string{w.vardir() + "/log", w.vardir() + "/run", w.vardir() + "/tmp"}
	for _, n := range w.nodes() {
		dirs = append(dirs, filepath.Dir(n.data), n.tmp)
	}
	for _, dir := range dirs {
		if err := os.MkdirAll(dir, 0o777); err != nil {
			return err
		}
	}
	if err := w.copyStandardData(std); err != nil {
		return err
	}
	text, err := w.tree.serverOptions(w)
	if err != nil {
		return err
	}
	return os.WriteFile(w.path("server.cnf"), []byte(text), 0o644)
}

// largeData is the size in bytes of folders that hold whole data directories
// and are not for servers to read single files of.
const largeData = 16 << 20

// copyStandardData makes the copy that servers may read files of. It is made
// once, and with links to the large folders.
func (w *worker) copyStandardData(to string) error {
	if _, err := os.Stat(to); err == nil {
		return nil
	}
	from := filepath.Join(w.tree.tests(), "std_data")
	entries, err := os.ReadDir(from)
	failed := []error{err, os.Mkdir(to, 0o777)}
	for _, entry := range entries {
		// The entries are links into the package.
		source, err := filepath.EvalSymlinks(filepath.Join(from, entry.Name()))
		if err != nil {
			continue // a link that leads nowhere
		}
		target := filepath.Join(to, entry.Name())
		size, isDir := sizeOf(source)
		switch {
		case size > largeData:
			failed = append(failed, os.Symlink(source, target))
		case isDir:
			failed = append(failed, os.CopyFS(target, os.DirFS(source)))
		default:
			text, err := os.ReadFile(source)
			failed = append(failed, err, os.WriteFile(target, text, 0o644))
		}
	}
	return errors.Join(failed...)
}

func sizeOf(path string) (size int64, isDir bool) {
	_ = filepath.WalkDir(path, func(name string, d fs.DirEntry, err error) error {
		if info, infoErr := os.Stat(name); err == nil && infoErr == nil && info.Mode().IsRegular() {
			size += info.Size()
		}
		isDir = isDir || name == path && err == nil && d.IsDir()
		return nil
	})
	return size, isDir
}

// clean says whether the running servers are in the state of new ones that were
// started with the same arguments, as the runner tells: by its procedure
// mtr.check_testcase, which reads variables, accounts, databases and tables.
func (w *worker) clean(ctx context.Context, args, env []string) bool {
	if !w.inOrder || !slices.Equal(w.started, slices.Concat(args, env)) || slices.ContainsFunc(w.servers, (*process).ended) {
		return false
	}
	for i, n := range w.nodes() {
		if now, err := w.check(ctx, n); err != nil || now != w.baselines[i] {
			return false
		}
	}
	return true
}

func (w *worker) check(ctx context.Context, n node) ([32]byte, error) {
	client := w.tree.bin("mysql")
	argv := []string{client, "--no-defaults", "-uroot", "--socket=" + n.socket, "-e", "CALL mtr.check_testcase()"}
	f, err := run(ctx, startLimit, argv, cleanEnv(), w.dir, nil)
	if err != nil {
		return [32]byte{}, err
	}
	if f.exit != 0 {
		return [32]byte{}, fmt.Errorf("check the server's state: %s", f.stderr)
	}
	if n.number > 1 {
		f.stdout = withoutReplication(f.stdout)
	}
	return sha256.Sum256(f.stdout), nil
}

// tidy removes files that a test has left where the next one would find them.
func (w *worker) tidy() error {
	var failed []error
	for _, dir := range []string{w.vardir() + "/tmp", w.tmp()} {
		entries, err := os.ReadDir(dir)
		failed = append(failed, err)
		for _, entry := range entries {
			name := entry.Name()
			if strings.HasPrefix(name, "mysqld.") || strings.HasPrefix(name, "mysqlrw1") {
				continue
			}
			failed = append(failed, os.RemoveAll(filepath.Join(dir, name)))
		}
	}
	return errors.Join(failed...)
}

// killLeft ends servers that a run which was killed has left: one that runs
// as another account than it was started by outlives its parent.
func (w *worker) killLeft() {
	for _, n := range []node{w.node(1), w.node(2)} {
		text, err := os.ReadFile(n.pid)
		pid, convErr := strconv.Atoi(strings.TrimSpace(string(text)))
		if err != nil || convErr != nil {
			continue
		}
		line, err := os.ReadFile(fmt.Sprintf("/proc/%d/cmdline", pid))
		if err == nil && bytes.Contains(line, []byte(n.data)) {
			_ = syscall.Kill(pid, syscall.SIGKILL) // it may have just ended
		}
	}
}

// close ends the servers and the proxy.
func (w *worker) close() {
	w.stopProxy()
	for _, p := range w.servers {
		p.kill()
	}
	w.servers, w.inOrder = nil, false
}

// makeTemplate makes the data directory that every server starts with.
func makeTemplate(ctx context.Context, t *tree, dir string) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	sql, err := t.templateSQL()
	if err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "tmp-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	data, file := filepath.Join(tmp, "data"), filepath.Join(tmp, "bootstrap.sql")
	if err := os.WriteFile(file, []byte(sql), 0o644); err != nil {
		return err
	}
	argv := append([]string{t.bin("mysqld"), "--no-defaults"}, t.commonArgs(data, tmp)...)
	var stdin *bytes.Reader
	if t.inst.Flavor == flavor.MySQL {
		argv = append(argv, "--initialize-insecure", "--init-file="+file,
			"--innodb_buffer_pool_size=24M", "--innodb-redo-log-capacity=10M", "--innodb_autoextend_increment=8",
			"--loose-auto_generate_certs=OFF", "--loose-sha256_password_auto_generate_rsa_keys=OFF",
			"--loose-caching_sha2_password_auto_generate_rsa_keys=OFF")
		stdin = bytes.NewReader(nil)
	} else {
		if err := os.MkdirAll(filepath.Join(data, "mysql"), 0o755); err != nil {
			return err
		}
		argv = append(argv, "--bootstrap", "--disable-getopt-prefix-matching", "--default-storage-engine=myisam",
			"--innodb-log-file-size=10M", "--character-set-server=latin1", "--max-allowed-packet=8M",
			"--loose-disable-performance-schema")
		stdin = bytes.NewReader([]byte(sql))
	}
	f, err := run(ctx, 5*time.Minute, argv, cleanEnv(), tmp, stdin)
	if err != nil {
		return err
	}
	if f.exit != 0 || bytes.Contains(f.stderr, []byte("[ERROR]")) && t.inst.Flavor == flavor.MySQL {
		return fmt.Errorf("make a data directory: exit code %d: %s%s", f.exit, f.stdout, f.stderr)
	}
	if err := os.Remove(filepath.Join(data, "auto.cnf")); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return os.Rename(data, dir)
}
