package sandbox

import (
	"context"
	"debug/elf"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// ErrNotInstalled is returned by Find when neither PATH nor the cache folder
// has a usable server of the flavor.
var ErrNotInstalled = errors.New("no server found")

// Installation is a set of programs that can run servers. It is immutable.
type Installation struct {
	Flavor  flavor.Flavor
	Version flavor.Version
	Server  string // path of mysqld or mariadbd
	Cached  bool   // in the cache folder, not on PATH

	base   string   // the folder that holds bin, share and lib
	loader []string // what goes before a program's path; empty if it can be run as it is
}

// Argv returns the arguments that run one of the installation's programs,
// such as "mysqld" or "mysql", which MariaDB's installations have under the
// same names. Programs in the cache folder are started through the dynamic
// loader that was unpacked with them, since their C library is newer than the
// machine's may be.
func (i *Installation) Argv(program string, args ...string) ([]string, error) {
	path := i.Server
	if program != "mysqld" && program != "mariadbd" {
		var err error
		if path, err = i.program(program); err != nil {
			return nil, err
		}
	}
	argv := append([]string{}, i.loader...)
	return append(append(argv, path), args...), nil
}

func (i *Installation) program(name string) (string, error) {
	names := []string{name}
	if i.Flavor == flavor.MariaDB {
		names = []string{strings.Replace(name, "mysql", "mariadb", 1), name}
	}
	for _, dir := range []string{"bin", "sbin", "libexec"} {
		for _, n := range names {
			path := filepath.Join(i.base, dir, n)
			if isProgram(path) {
				return path, nil
			}
		}
	}
	return "", fmt.Errorf("find program %s below %s: %w", name, i.base, ErrNotInstalled)
}

func isProgram(path string) bool {
	info, err := os.Stat(path)
	return err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0
}

// serverNames are the names under which a flavor's server is looked for. A
// MariaDB server may also be called mysqld.
func serverNames(f flavor.Flavor) []string {
	if f == flavor.MariaDB {
		return []string{"mariadbd", "mysqld"}
	}
	return []string{"mysqld"}
}

// findOnPath looks for a server on PATH and in the folders where
// distributions put it, which are not on every user's PATH.
func findOnPath(ctx context.Context, f flavor.Flavor) (*Installation, error) {
	var problems []error
	for _, name := range serverNames(f) {
		var paths []string
		if path, err := exec.LookPath(name); err == nil {
			paths = append(paths, path)
		}
		for _, dir := range []string{"/usr/sbin", "/usr/local/sbin", "/usr/libexec"} {
			paths = append(paths, filepath.Join(dir, name))
		}
		for _, path := range paths {
			if !isProgram(path) {
				continue
			}
			inst, err := inspect(ctx, f, path)
			if err == nil {
				return inst, nil
			}
			problems = append(problems, err)
		}
	}
	return nil, fmt.Errorf("%w", errors.Join(append(problems, ErrNotInstalled)...))
}

// inspect makes an Installation of a server that lies in a folder of the
// system.
func inspect(ctx context.Context, f flavor.Flavor, path string) (*Installation, error) {
	resolved, err := filepath.EvalSymlinks(path)
	if err != nil {
		return nil, fmt.Errorf("find server: %w", err)
	}
	inst := &Installation{Flavor: f, Server: resolved, base: filepath.Dir(filepath.Dir(resolved))}
	if confined(resolved) {
		if inst.loader, err = systemLoader(resolved); err != nil {
			return nil, err
		}
	}
	return inst, inst.readVersion(ctx)
}

// inspectRoot makes an Installation of packages that were unpacked below root.
func inspectRoot(ctx context.Context, f flavor.Flavor, root string) (*Installation, error) {
	for _, name := range serverNames(f) {
		path := filepath.Join(root, "usr", "sbin", name)
		if !isProgram(path) {
			continue
		}
		loader, err := ownLoader(root, path)
		if err != nil {
			return nil, err
		}
		inst := &Installation{
			Flavor: f, Server: path, Cached: true,
			base: filepath.Join(root, "usr"), loader: loader,
		}
		return inst, inst.readVersion(ctx)
	}
	return nil, fmt.Errorf("find server below %s: %w", root, ErrNotInstalled)
}

// confined reports whether an AppArmor profile would stop the server from
// using folders other than the distribution's. The profile is bound to the
// path that is executed, so the loader's path escapes it.
func confined(server string) bool {
	name := strings.ReplaceAll(strings.TrimPrefix(server, "/"), "/", ".")
	_, err := os.Stat(filepath.Join("/etc/apparmor.d", name))
	return err == nil && runtime.GOOS == "linux"
}

func systemLoader(program string) ([]string, error) {
	interpreter, err := interpreterOf(program)
	if err != nil {
		return nil, err
	}
	return []string{interpreter}, nil
}

// ownLoader returns the arguments that start a program with the C library
// that lies beside it below root.
func ownLoader(root, program string) ([]string, error) {
	interpreter, err := interpreterOf(program)
	if err != nil {
		return nil, err
	}
	libs := libraryDirs(root)
	for _, dir := range libs {
		// The link in lib64 may be absolute and would lead out of root.
		path, err := filepath.EvalSymlinks(filepath.Join(dir, filepath.Base(interpreter)))
		if err == nil && strings.HasPrefix(path, root+string(filepath.Separator)) {
			return []string{path, "--library-path", strings.Join(libs, ":")}, nil
		}
	}
	return nil, fmt.Errorf("find loader %s below %s: %w", filepath.Base(interpreter), root, ErrNotInstalled)
}

func libraryDirs(root string) []string {
	var dirs []string
	for _, pattern := range []string{
		"usr/lib/*-linux-*", "lib/*-linux-*", "usr/lib64", "lib64", "usr/lib", "lib",
	} {
		found, _ := filepath.Glob(filepath.Join(root, pattern)) // the patterns are well-formed
		dirs = append(dirs, found...)
	}
	return dirs
}

// interpreterOf reads the path of the dynamic loader from a program.
func interpreterOf(program string) (string, error) {
	file, err := elf.Open(program)
	if err != nil {
		return "", fmt.Errorf("read %s: %w", program, err)
	}
	defer file.Close()
	for _, p := range file.Progs {
		if p.Type != elf.PT_INTERP || p.Filesz > 4096 {
			continue
		}
		text := make([]byte, p.Filesz)
		if _, err := p.ReadAt(text, 0); err != nil {
			return "", fmt.Errorf("read interpreter of %s: %w", program, err)
		}
		return strings.TrimRight(string(text), "\x00"), nil
	}
	return "", fmt.Errorf("read interpreter of %s: none named", program)
}

var versionPattern = regexp.MustCompile(`\bVer\s+(\d+\.\d+\.\d+\S*)`)

// readVersion asks the program itself, which also proves that it can be run:
// a mysqld on PATH may be MariaDB's.
func (i *Installation) readVersion(ctx context.Context) error {
	argv, err := i.Argv("mysqld", "--no-defaults", "--version")
	if err != nil {
		return err
	}
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Env = serverEnv()
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("run %s --version: %w: %s", i.Server, err, lastLines(string(out), 3))
	}
	match := versionPattern.FindSubmatch(out)
	if match == nil {
		return fmt.Errorf("read version of %s: unknown answer %q", i.Server, firstLine(string(out)))
	}
	found := flavor.Parse(string(match[1]))
	if strings.Contains(strings.ToLower(string(out)), "mariadb") {
		found.Flavor = flavor.MariaDB
	}
	if found.Flavor != i.Flavor {
		return fmt.Errorf("%s is %s: %w", i.Server, found.Flavor, ErrNotInstalled)
	}
	i.Version = found.Version
	return i.checkVersion()
}

// checkVersion refuses servers that do not know the words that the sandbox
// speaks.
func (i *Installation) checkVersion() error {
	least := flavor.Version{Major: 8, Minor: 0, Patch: 26}
	if i.Flavor == flavor.MariaDB {
		least = flavor.Version{Major: 10, Minor: 5}
	}
	if !i.Version.AtLeast(least.Major, least.Minor, least.Patch) {
		return fmt.Errorf("%s is %s, which is older than %s: %w", i.Server, i.Version, least, ErrNotInstalled)
	}
	return nil
}

// shareDir returns the folder with the server's messages and SQL files. The
// name differs between distributions.
func (i *Installation) shareDir() string {
	for _, name := range []string{"mariadb", "mysql", ""} {
		if i.Flavor == flavor.MySQL && name == "mariadb" {
			continue
		}
		dir := filepath.Join(i.base, "share", name)
		if _, err := os.Stat(filepath.Join(dir, "english", "errmsg.sys")); err == nil {
			return dir
		}
	}
	return filepath.Join(i.base, "share", "mysql")
}

// serverEnv is the whole environment of a server: nothing of the caller's
// settings may change what it does.
func serverEnv() []string {
	return []string{"PATH=/usr/local/bin:/usr/bin:/bin:/usr/sbin:/sbin", "LC_ALL=C"}
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(strings.TrimSpace(s), "\n")
	return line
}

// lastLines returns the last n lines of s that are not blank.
func lastLines(s string, n int) string {
	var lines []string
	for line := range strings.Lines(s) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-n):], "\n")
}
