package sandbox

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// FetchPackage returns the folder in the cache that the named package is
// unpacked in, and downloads it first if it is not there. It comes from
// Debian's newest suite, as MySQL does, and without what it depends on: it is
// for data, such as the servers' regression suites, not for programs. The
// last element of the path is NAME_VERSION_ARCHITECTURE, the version without
// an epoch; what is there stays until its folder is removed.
//
// CacheDir must be given and Flavor does not count. Root is not needed, and
// processes that fetch at the same time wait for each other.
func FetchPackage(ctx context.Context, o InstallOptions, name string) (string, error) {
	o.Flavor = flavor.MySQL
	o, err := o.check()
	if err != nil {
		return "", err
	}
	if root, ok := o.fetched(name); ok {
		return root, nil
	}
	unlock, err := lockCache(ctx, o)
	if err != nil {
		return "", err
	}
	defer unlock()
	if root, ok := o.fetched(name); ok {
		return root, nil
	}
	root, err := fetchPackage(ctx, o, name)
	if err != nil {
		return "", fmt.Errorf("fetch package %s: %w", name, err)
	}
	return root, nil
}

func (o InstallOptions) packagesDir() string { return filepath.Join(o.CacheDir, "packages") }

// fetched looks for the package in the cache folder. The newest that was
// fetched is the last by name, or nearly so.
func (o InstallOptions) fetched(name string) (string, bool) {
	found, _ := filepath.Glob(filepath.Join(o.packagesDir(), name+"_*")) // a package's name holds no pattern
	if len(found) == 0 {
		return "", false
	}
	return found[len(found)-1], true
}

// fetchPackage renames the folder when it is complete, as installPackages
// does. The lock of the cache folder must be held.
func fetchPackage(ctx context.Context, o InstallOptions, name string) (string, error) {
	tmp, err := os.MkdirTemp(o.CacheDir, "tmp-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	sources, err := packageSources(ctx, o, tmp)
	if err != nil {
		return "", err
	}
	a, err := newApt(tmp, sources, o.Progress)
	if err != nil {
		return "", err
	}
	archive, err := a.downloadOne(ctx, name)
	if err != nil {
		return "", err
	}
	unpacked := filepath.Join(tmp, "root")
	if err := a.unpack(ctx, []string{archive}, unpacked); err != nil {
		return "", err
	}
	if err := os.MkdirAll(o.packagesDir(), 0o700); err != nil {
		return "", err
	}
	base := strings.TrimSuffix(filepath.Base(archive), ".deb")
	if _, version, hasEpoch := strings.Cut(base, "%3a"); hasEpoch { // a colon, as in 1:11.8
		base = name + "_" + version
	}
	root := filepath.Join(o.packagesDir(), base)
	return root, os.Rename(unpacked, root)
}

// downloadOne fetches one package without what it depends on and returns the
// path of the archive. apt-get writes it to the current folder.
func (a *apt) downloadOne(ctx context.Context, name string) (string, error) {
	a.progress("reading the lists of packages")
	if _, err := a.run(ctx, "apt-get", "update"); err != nil {
		return "", err
	}
	dir := filepath.Join(a.dir, "cache/archives")
	a.progress("downloading " + name)
	if _, err := runTool(ctx, "env", "-C", dir, "apt-get", "-q", "-c", a.conf, "download", name); err != nil {
		return "", err
	}
	archives, err := filepath.Glob(filepath.Join(dir, name+"_*.deb"))
	if err == nil && len(archives) != 1 {
		err = fmt.Errorf("download %s: apt-get fetched %d archives", name, len(archives))
	}
	if err != nil {
		return "", err
	}
	return archives[0], nil
}
