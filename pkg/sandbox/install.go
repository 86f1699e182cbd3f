package sandbox

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// InstallOptions says which server is looked for and where one may be
// installed.
type InstallOptions struct {
	Flavor   flavor.Flavor
	CacheDir string       // must be given; DefaultCacheDir is a good choice
	Mirror   string       // archive of Debian's to use in place of the one in the machine's sources
	Progress func(string) // called with a line of text before each long step; may be nil
}

// DefaultCacheDir returns the folder in the user's cache folder in which
// programs and templates of data directories are kept.
func DefaultCacheDir() (string, error) {
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("find cache folder: %w", err)
	}
	return filepath.Join(dir, "mysqlrw"), nil
}

func (o InstallOptions) check() (InstallOptions, error) {
	switch {
	case o.Flavor != flavor.MySQL && o.Flavor != flavor.MariaDB:
		return o, fmt.Errorf("find server: no flavor given")
	case o.CacheDir == "":
		return o, fmt.Errorf("find server: no cache folder given")
	}
	if o.Progress == nil {
		o.Progress = func(string) {}
	}
	var err error
	o.CacheDir, err = filepath.Abs(o.CacheDir)
	return o, err
}

// Find returns the server that Start would use, without installing one: from
// PATH, else from the cache folder. If there is none the error is
// ErrNotInstalled.
func Find(ctx context.Context, o InstallOptions) (*Installation, error) {
	o, err := o.check()
	if err != nil {
		return nil, err
	}
	inst, err := findOnPath(ctx, o.Flavor)
	if err == nil || ctx.Err() != nil {
		return inst, err
	}
	cached, cacheErr := findCached(ctx, o)
	if cacheErr == nil {
		return cached, nil
	}
	return nil, fmt.Errorf("find %s server: %w", o.Flavor, errors.Join(err, cacheErr))
}

// Install returns what Find finds; if that is nothing, it downloads the
// server's packages from the machine's distribution (MySQL: from Debian's
// newest) and unpacks them in the cache folder. Processes that install at the
// same time wait for each other. Root is not needed.
func Install(ctx context.Context, o InstallOptions) (*Installation, error) {
	o, err := o.check()
	if err != nil {
		return nil, err
	}
	inst, err := Find(ctx, o)
	if !errors.Is(err, ErrNotInstalled) {
		return inst, err
	}
	unlock, err := lockCache(ctx, o)
	if err != nil {
		return nil, err
	}
	defer unlock()
	if inst, err := findCached(ctx, o); !errors.Is(err, ErrNotInstalled) {
		return inst, err
	}
	if err := installPackages(ctx, o); err != nil {
		return nil, fmt.Errorf("install %s server: %w", o.Flavor, err)
	}
	return findCached(ctx, o)
}

func (o InstallOptions) root() string { return filepath.Join(o.CacheDir, o.Flavor.String()) }

func findCached(ctx context.Context, o InstallOptions) (*Installation, error) {
	root, err := filepath.EvalSymlinks(o.root())
	if errors.Is(err, fs.ErrNotExist) {
		return nil, ErrNotInstalled
	}
	if err != nil {
		return nil, err
	}
	return inspectRoot(ctx, o.Flavor, root)
}

// lockCache takes the lock of the cache folder and removes what interrupted
// runs left: whoever holds the lock is the only one that writes there.
func lockCache(ctx context.Context, o InstallOptions) (unlock func(), err error) {
	if err := os.MkdirAll(o.CacheDir, 0o700); err != nil {
		return nil, fmt.Errorf("make cache folder: %w", err)
	}
	lock, err := waitLock(ctx, filepath.Join(o.CacheDir, "lock"), func() {
		o.Progress("waiting for another process that uses " + o.CacheDir)
	})
	if err != nil {
		return nil, fmt.Errorf("lock cache folder: %w", err)
	}
	stale, _ := filepath.Glob(filepath.Join(o.CacheDir, "tmp-*"))
	for _, dir := range stale {
		_ = os.RemoveAll(dir) // a leftover that cannot be removed does no harm
	}
	return lock.release, nil
}

// installPackages fetches the server's packages. The lock of the cache folder must be held.
func installPackages(ctx context.Context, o InstallOptions) error {
	pick := func(ctx context.Context, a *apt) ([]string, error) {
		names, err := a.names(ctx, o.Flavor.String()+"-server-core")
		if err != nil {
			return nil, err
		}
		return pickServer(o.Flavor, names)
	}
	return fetchPackages(ctx, o, o.root(), pick, func(root string) error {
		_, err := inspectRoot(ctx, o.Flavor, root)
		return err
	})
}

// fetchPackages unpacks the packages that pick names, and what they need, into a folder. It does all work in
// a temporary one and renames that at the end, so that a folder under the final name is complete and has
// passed check. The lock of the cache folder must be held.
func fetchPackages(ctx context.Context, o InstallOptions, to string, pick func(context.Context, *apt) ([]string, error), check func(root string) error) error {
	tmp, err := os.MkdirTemp(o.CacheDir, "tmp-")
	if err != nil {
		return err
	}
	defer os.RemoveAll(tmp)
	sources, err := packageSources(ctx, o, tmp)
	if err != nil {
		return err
	}
	a, err := newApt(tmp, sources, o.Progress)
	if err != nil {
		return err
	}
	archives, err := a.download(ctx, func(ctx context.Context) ([]string, error) { return pick(ctx, a) })
	if err != nil {
		return err
	}
	root := filepath.Join(tmp, "root")
	if err := a.unpack(ctx, archives, root); err != nil {
		return err
	}
	if err := check(root); err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(to), 0o700); err != nil {
		return err
	}
	if err := os.RemoveAll(to); err != nil { // a broken one would be in the way
		return err
	}
	return os.Rename(root, to)
}

// packageSources returns the file of sources that the flavor's packages come
// from, written below dir, or "" for the system's own. MySQL is in no release
// of Debian's but in its newest suite; Ubuntu's releases have it.
func packageSources(ctx context.Context, o InstallOptions, dir string) (string, error) {
	if o.Flavor == flavor.MariaDB && o.Mirror == "" {
		return "", nil
	}
	rel := machineRelease()
	suite, uri := "sid", o.Mirror
	found, signedBy, ok := debianArchive(systemSources(ctx), rel)
	switch {
	case uri == "" && !ok:
		return "", nil
	case uri == "":
		uri = found
	case o.Flavor == flavor.MariaDB && rel.id == "debian" && rel.codename != "":
		suite = rel.codename
	case o.Flavor == flavor.MariaDB:
		suite = "stable"
	}
	text := sourcesText(uri, suite, signedBy)
	path := filepath.Join(dir, "mysqlrw.sources")
	return path, os.WriteFile(path, []byte(text), 0o644)
}

// sourcesText returns a deb822 entry. A key that is given as text has several
// lines, which must be indented.
func sourcesText(uri, suite, signedBy string) string {
	text := "Types: deb\nURIs: " + uri + "\nSuites: " + suite + "\nComponents: main\n"
	if signedBy != "" {
		text += "Signed-By: " + strings.ReplaceAll(signedBy, "\n", "\n ") + "\n"
	}
	return text
}

// debianArchive finds the archive of Debian's among the system's sources. A
// release of another distribution has none, whatever its suites are called.
func debianArchive(sources []aptSource, rel release) (uri, signedBy string, ok bool) {
	suites := []string{"stable", "testing", "unstable", "sid", "oldstable"}
	if rel.id != "debian" {
		return "", "", false
	}
	if rel.codename != "" {
		suites = append(suites, rel.codename)
	}
	return archiveOf(sources, suites...)
}

func machineRelease() release {
	for _, path := range []string{"/etc/os-release", "/usr/lib/os-release"} {
		if text, err := os.ReadFile(path); err == nil {
			return parseRelease(string(text))
		}
	}
	return release{}
}

// systemSources reads the files that apt itself reads. Its lists of packages
// may never have been fetched, as in a fresh container, so they are of no
// use.
func systemSources(ctx context.Context) []aptSource {
	list, parts := "/etc/apt/sources.list", "/etc/apt/sources.list.d"
	ask := exec.CommandContext(ctx, "apt-config", "shell",
		"LIST", "Dir::Etc::sourcelist/f", "PARTS", "Dir::Etc::sourceparts/d")
	if out, err := ask.Output(); err == nil {
		list, parts = shellValue(string(out), "LIST", list), shellValue(string(out), "PARTS", parts)
	}
	files := []string{list}
	for _, pattern := range []string{"*.list", "*.sources"} {
		found, _ := filepath.Glob(filepath.Join(parts, pattern)) // the pattern is well-formed
		files = append(files, found...)
	}
	var sources []aptSource
	for _, file := range files {
		if text, err := os.ReadFile(file); err == nil {
			sources = append(sources, parseSources(file, string(text))...)
		}
	}
	return sources
}

// shellValue reads one of the lines NAME='value' that apt-config prints.
func shellValue(out, name, fallback string) string {
	for line := range strings.Lines(out) {
		value, ok := strings.CutPrefix(strings.TrimSpace(line), name+"=")
		if value = strings.Trim(value, "'"); ok && value != "" {
			return value
		}
	}
	return fallback
}
