package sandbox

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// apt runs the distribution's package tools in a folder of their own. The
// system's package database is never read or written: with an empty one of
// our own, apt fetches every library that a program needs, down to libc.
type apt struct {
	dir      string // holds everything; exists
	conf     string // path of the configuration that is read after the system's
	progress func(string)
}

// errNoApt says what a person can do instead.
var errNoApt = errors.New("this system has no apt-get to install servers with; " +
	"put mysqld, or mariadbd and its SQL files, on PATH")

func newApt(dir string, sources string, progress func(string)) (*apt, error) {
	for _, program := range []string{"apt-get", "apt-cache", "dpkg-deb"} {
		if _, err := exec.LookPath(program); err != nil {
			return nil, errNoApt
		}
	}
	for _, sub := range []string{"state/lists/partial", "cache/archives/partial", "empty"} {
		if err := os.MkdirAll(filepath.Join(dir, sub), 0o755); err != nil {
			return nil, err
		}
	}
	a := &apt{dir: dir, conf: filepath.Join(dir, "apt.conf"), progress: progress}
	if err := os.WriteFile(filepath.Join(dir, "status"), nil, 0o644); err != nil {
		return nil, err
	}
	if err := os.WriteFile(a.conf, []byte(a.config(sources)), 0o644); err != nil {
		return nil, err
	}
	return a, nil
}

// config returns the text of the private configuration. If sources is not
// empty it is a file that replaces the system's lists of sources, and the
// system's pins, which may forbid its packages, do not count.
func (a *apt) config(sources string) string {
	var b strings.Builder
	set := func(name, value string) { fmt.Fprintf(&b, "%s %s;\n", name, strconv.Quote(value)) }
	set("Dir::State", filepath.Join(a.dir, "state"))
	set("Dir::State::status", filepath.Join(a.dir, "status"))
	set("Dir::Cache", filepath.Join(a.dir, "cache"))
	set("APT::Sandbox::User", "root") // the folder may be closed to apt's own user
	set("APT::Install-Recommends", "false")
	set("APT::Install-Suggests", "false")
	set("APT::Default-Release", "")
	set("APT::Keep-Downloaded-Packages", "true")
	set("Acquire::Languages", "none")
	set("Acquire::Retries", "1")
	set("Acquire::http::Timeout", "30")
	set("Acquire::https::Timeout", "30")
	// The system's hooks are for changes of the system, and DEP-11 and
	// Contents are large lists that only desktop programs read.
	for _, name := range []string{
		"APT::Update::Pre-Invoke", "APT::Update::Post-Invoke", "APT::Update::Post-Invoke-Success",
		"DPkg::Pre-Invoke", "DPkg::Post-Invoke", "DPkg::Pre-Install-Pkgs",
		"Acquire::IndexTargets::deb::DEP-11", "Acquire::IndexTargets::deb::DEP-11-icons",
		"Acquire::IndexTargets::deb::DEP-11-icons-small", "Acquire::IndexTargets::deb::DEP-11-icons-hidpi",
		"Acquire::IndexTargets::deb::DEP-11-icons-large", "Acquire::IndexTargets::deb::DEP-11-icons-large-hidpi",
		"Acquire::IndexTargets::deb::Contents-deb",
	} {
		fmt.Fprintf(&b, "#clear %s;\n", name)
	}
	if sources != "" {
		set("Dir::Etc::sourcelist", sources)
		set("Dir::Etc::sourceparts", filepath.Join(a.dir, "empty"))
		set("Dir::Etc::preferences", "/dev/null")
		set("Dir::Etc::preferencesparts", filepath.Join(a.dir, "empty"))
	}
	return b.String()
}

// download fetches the packages and all that they need and returns the paths
// of the archives. A failure is tried once more, since mirrors are often
// updated while they are read.
func (a *apt) download(ctx context.Context, choose func(context.Context) ([]string, error)) ([]string, error) {
	err := a.fetch(ctx, choose)
	if err != nil && ctx.Err() == nil {
		a.progress("trying again: " + firstLine(err.Error()))
		err = a.fetch(ctx, choose)
	}
	if err != nil {
		return nil, err
	}
	archives, err := filepath.Glob(filepath.Join(a.dir, "cache/archives/*.deb"))
	if err == nil && len(archives) == 0 {
		err = errors.New("download packages: apt-get fetched none")
	}
	return archives, err
}

func (a *apt) fetch(ctx context.Context, choose func(context.Context) ([]string, error)) error {
	a.progress("reading the lists of packages")
	if _, err := a.run(ctx, "apt-get", "update"); err != nil {
		return err
	}
	packages, err := choose(ctx)
	if err != nil {
		return err
	}
	a.progress("downloading " + strings.Join(packages, " "))
	args := append([]string{"-y", "--download-only", "install"}, packages...)
	_, err = a.run(ctx, "apt-get", args...)
	return err
}

// names returns the packages whose name begins with prefix.
func (a *apt) names(ctx context.Context, prefix string) ([]string, error) {
	out, err := a.run(ctx, "apt-cache", "pkgnames", prefix)
	return strings.Fields(out), err
}

// run runs one of apt's programs and returns what it printed. The error holds
// the program's last lines.
func (a *apt) run(ctx context.Context, program string, args ...string) (string, error) {
	return runTool(ctx, program, append([]string{"-q", "-c", a.conf}, args...)...)
}

func runTool(ctx context.Context, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	var out, all bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &all
	ownGroup(cmd)
	cmd.Cancel = func() error { return killGroup(cmd.Process.Pid) } // apt has its downloads done by children
	cmd.WaitDelay = 5 * time.Second
	err := cmd.Run()
	switch {
	case ctx.Err() != nil:
		return "", context.Cause(ctx)
	case err != nil:
		text := lastLines(all.String(), 5)
		if text == "" {
			text = lastLines(out.String(), 5)
		}
		return "", fmt.Errorf("run %s: %w: %s", program, err, text)
	default:
		return out.String(), nil
	}
}

// unpack extracts archives below root, except for those that only scripts
// need: Perl is half of what mysql-server-core depends on.
func (a *apt) unpack(ctx context.Context, archives []string, root string) error {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return err
	}
	a.progress(fmt.Sprintf("unpacking %d packages", len(archives)))
	for _, archive := range archives {
		if onlyForScripts(filepath.Base(archive)) {
			continue
		}
		if _, err := runTool(ctx, "dpkg-deb", "-x", archive, root); err != nil {
			return err
		}
	}
	return prune(root)
}

func onlyForScripts(archive string) bool {
	return slices.ContainsFunc([]string{"perl", "libperl", "debconf"}, func(prefix string) bool {
		return strings.HasPrefix(archive, prefix)
	})
}

// prune removes what no server reads.
func prune(root string) error {
	for _, pattern := range []string{
		"usr/share/doc", "usr/share/man", "usr/share/locale", "usr/share/perl*", "usr/lib/*/perl*", "usr/lib/*/gconv",
	} {
		found, err := filepath.Glob(filepath.Join(root, pattern))
		if err != nil {
			return err
		}
		for _, path := range found {
			if err := os.RemoveAll(path); err != nil {
				return err
			}
		}
	}
	return nil
}

// pickServer returns the packages that hold the flavor's server and client,
// given the names that begin with "<flavor>-server-core". Ubuntu has the
// version in the name; the newest is taken.
func pickServer(f flavor.Flavor, names []string) ([]string, error) {
	prefix := f.String() + "-server-core"
	best, version := "", flavor.Version{}
	for _, name := range names {
		suffix := strings.TrimPrefix(name, prefix)
		v := flavor.Parse(strings.TrimPrefix(suffix, "-")).Version
		switch {
		case suffix == "":
			return []string{name, f.String() + "-client-core"}, nil
		case best == "" || v.AtLeast(version.Major, version.Minor, version.Patch):
			best, version = name, v
		}
	}
	if best == "" {
		return nil, fmt.Errorf("find package %s: the sources of packages have none", prefix)
	}
	return []string{best, strings.Replace(best, "-server-", "-client-", 1)}, nil
}
