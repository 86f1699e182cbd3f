package clients

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

// wanted are the packages with the clients; what they need comes with them,
// down to the C library, so that it does not matter what is installed here.
var wanted = []string{
	"mariadb-client", "sysbench", "php-cli", "php-mysql", "libdbd-mysql-perl", "libdbd-mariadb-perl",
	"libtest-deep-perl", // for the drivers' own tests
	"python3-pymysql", "python3-cryptography", "python3-mysqldb",
}

// fetchLimit bounds what is downloaded once.
const fetchLimit = 10 * time.Minute

// root is a folder in which the packages are unpacked.
type root struct {
	dir      string
	loader   []string // what goes before a program's path
	versions map[string]string
}

// machine is what this machine has of clients.
type machine struct {
	packages *root  // nil if there are none
	modules  string // folder with the drivers of npm; "" if there are none
}

// findClients fetches what is not there yet. What cannot be had is told in a
// line of the log.
func findClients(t testing.TB) machine {
	var m machine
	cache := sandboxtest.CacheDir(t)
	dir := filepath.Join(cache, "clients-"+sum(strings.Join(wanted, " ")))
	err := once(dir, fetchPackages)
	if err == nil {
		m.packages, err = openRoot(dir)
	}
	if err != nil {
		t.Logf("CLIENTS MISSING: %v: %v", wanted, err)
	}
	lock, err := os.ReadFile("testdata/node/package-lock.json")
	if err != nil {
		t.Fatal(err)
	}
	dir = filepath.Join(cache, "clients-node-"+sum(string(lock)))
	if err := once(dir, fetchModules); err != nil {
		t.Logf("CLIENTS MISSING: npm: %v", err)
	} else {
		m.modules = filepath.Join(dir, "node_modules")
	}
	return m
}

func sum(s string) string { return fmt.Sprintf("%x", sha256.Sum256([]byte(s)))[:8] }

// once fills the folder unless that has been done. It gets its name when it is
// complete; of two processes the slower one's work is thrown away.
func once(dir string, fill func(ctx context.Context, dir string) error) error {
	if _, err := os.Stat(dir); err == nil {
		return nil
	}
	if err := os.MkdirAll(filepath.Dir(dir), 0o700); err != nil {
		return err
	}
	tmp, err := os.MkdirTemp(filepath.Dir(dir), "tmp-clients-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	ctx, cancel := context.WithTimeout(context.Background(), fetchLimit)
	defer cancel()
	if err := fill(ctx, tmp); err != nil {
		return err
	}
	if err := os.Rename(tmp, dir); err != nil && !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

// fetchPackages unpacks the packages below dir/root. apt gets folders of its
// own, and an empty list of what is installed, so it neither needs root nor
// leaves out what this machine happens to have.
func fetchPackages(ctx context.Context, dir string) error {
	apt := filepath.Join(dir, "apt")
	for _, sub := range []string{"state/lists/partial", "cache/archives/partial"} {
		if err := os.MkdirAll(filepath.Join(apt, sub), 0o755); err != nil {
			return err
		}
	}
	options := []string{
		"-q", "-o", "Dir::State=" + filepath.Join(apt, "state"), "-o", "Dir::State::status=" + filepath.Join(apt, "status"),
		"-o", "Dir::Cache=" + filepath.Join(apt, "cache"), "-o", "APT::Sandbox::User=root", "-o", "Debug::NoLocking=true",
		"-o", "APT::Install-Recommends=false", "-o", "Acquire::Languages=none", "-o", "Acquire::Retries=2",
		"-o", "APT::Update::Post-Invoke-Success::=true", "-o", "APT::Keep-Downloaded-Packages=true",
	}
	if err := os.WriteFile(filepath.Join(apt, "status"), nil, 0o644); err != nil {
		return err
	}
	install := append([]string{"-y", "--download-only", "install"}, wanted...)
	for _, args := range [][]string{{"update"}, install} {
		if out, err := exec.CommandContext(ctx, "apt-get", append(options, args...)...).CombinedOutput(); err != nil {
			return fmt.Errorf("apt-get %s: %w: %s", args[0], err, tail(out))
		}
	}
	archives, err := filepath.Glob(filepath.Join(apt, "cache/archives/*.deb"))
	if err != nil {
		return err
	}
	names := make([]string, 0, len(archives))
	for _, archive := range archives {
		if out, err := exec.CommandContext(ctx, "dpkg-deb", "-x", archive, filepath.Join(dir, "root")).CombinedOutput(); err != nil {
			return fmt.Errorf("dpkg-deb: %w: %s", err, tail(out))
		}
		names = append(names, filepath.Base(archive))
	}
	if err := os.WriteFile(filepath.Join(dir, "archives"), []byte(strings.Join(names, "\n")+"\n"), 0o644); err != nil {
		return err
	}
	return os.RemoveAll(apt)
}

func tail(out []byte) string {
	text := strings.TrimSpace(string(out))
	return text[max(0, len(text)-400):]
}

var upstream = regexp.MustCompile(`^(?:\d+:)?([0-9.]+)`)

func openRoot(dir string) (*root, error) {
	text, err := os.ReadFile(filepath.Join(dir, "archives"))
	if err != nil {
		return nil, err
	}
	r := &root{dir: filepath.Join(dir, "root"), versions: map[string]string{}}
	for name := range strings.Lines(string(text)) {
		parts := strings.Split(strings.TrimSpace(name), "_")
		if m := upstream.FindStringSubmatch(strings.ReplaceAll(parts[1], "%3a", ":")); m != nil {
			r.versions[parts[0]] = strings.TrimSuffix(m[1], ".")
		}
	}
	loaders, _ := filepath.Glob(filepath.Join(r.dir, "lib/*-linux-*/ld-linux*.so.*"))
	if len(loaders) == 0 {
		loaders, _ = filepath.Glob(filepath.Join(r.dir, "usr/lib/*-linux-*/ld-linux*.so.*"))
	}
	if len(loaders) == 0 {
		return nil, fmt.Errorf("no loader of programs below %s", r.dir)
	}
	libs := strings.Join([]string{r.glob("lib/*-linux-*"), r.glob("usr/lib/*-linux-*")}, ":")
	r.loader = []string{loaders[0], "--library-path", libs}
	return r, nil
}

// glob returns the first path below the root that the pattern matches, or the
// pattern's.
func (r *root) glob(pattern string) string {
	found, _ := filepath.Glob(filepath.Join(r.dir, pattern)) // the patterns are well-formed
	if len(found) == 0 {
		return filepath.Join(r.dir, pattern)
	}
	return found[0]
}

// argv returns the arguments that run a program of the packages.
func (r *root) argv(program string, args ...string) []string {
	argv := append([]string{}, r.loader...)
	return append(append(argv, r.glob(program)), args...)
}

// plugins is the folder with what libmariadb needs to log in to MySQL.
func (r *root) plugins() string { return r.glob("usr/lib/*/libmariadb3/plugin") }

func fetchModules(ctx context.Context, dir string) error {
	for _, name := range []string{"package.json", "package-lock.json"} {
		text, err := os.ReadFile(filepath.Join("testdata/node", name))
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, name), text, 0o644); err != nil {
			return err
		}
	}
	if out, err := exec.CommandContext(ctx, "node", "--version").Output(); err != nil || len(out) < 2 {
		return fmt.Errorf("node: %w", err)
	}
	cmd := exec.CommandContext(ctx, "npm", "ci", "--no-audit", "--no-fund", "--ignore-scripts")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		return fmt.Errorf("npm ci: %w: %s", err, tail(out))
	}
	return nil
}
