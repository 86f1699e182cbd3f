package suites

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
)

// packagesOf names the packages that hold a suite, its programs, and the
// programs and plugins that the server's own package leaves out.
func packagesOf(f flavor.Flavor) []string {
	if f == flavor.MySQL {
		return []string{"mysql-testsuite"}
	}
	return []string{"mariadb-test-data", "mariadb-test", "mariadb-client", "mariadb-server", "libpcre2-posix3"}
}

// fetchPackages returns the folders that the flavor's packages are unpacked
// in. They must be of the server's version: a suite's results are only its
// own server's.
func fetchPackages(ctx context.Context, o sandbox.InstallOptions, inst *sandbox.Installation) ([]string, error) {
	var roots []string
	for _, name := range packagesOf(inst.Flavor) {
		fetch := sandbox.FetchPackage
		if inst.Flavor == flavor.MariaDB {
			fetch = fetchStable
		}
		root, err := fetch(ctx, o, name)
		if err != nil {
			return nil, err
		}
		version := strings.TrimPrefix(filepath.Base(root), name+"_")
		if !strings.HasPrefix(name, "lib") && flavor.Parse(version).Version != inst.Version {
			return nil, fmt.Errorf("package %s is %s, the server %s", name, version, inst.Version)
		}
		roots = append(roots, root)
	}
	return roots, nil
}

// fetchStable unpacks a package of the machine's own release, which
// sandbox.FetchPackage does not do. The machine's lists of packages must have
// been fetched.
func fetchStable(ctx context.Context, o sandbox.InstallOptions, name string) (string, error) {
	dir := filepath.Join(o.CacheDir, "packages-stable")
	if found, _ := filepath.Glob(filepath.Join(dir, name+"_*")); len(found) > 0 { // the name holds no pattern
		return found[len(found)-1], nil
	}
	if err := os.MkdirAll(dir, 0o700); err != nil {
		return "", err
	}
	tmp, err := os.MkdirTemp(dir, "tmp-")
	if err != nil {
		return "", err
	}
	defer os.RemoveAll(tmp)
	if o.Progress != nil {
		o.Progress("downloading " + name)
	}
	download := exec.CommandContext(ctx, "apt-get", "-q", "download", name)
	download.Dir = tmp
	if out, err := download.CombinedOutput(); err != nil {
		return "", fmt.Errorf("download %s: %w: %s", name, err, out)
	}
	archives, err := filepath.Glob(filepath.Join(tmp, name+"_*.deb"))
	if err == nil && len(archives) != 1 {
		err = errors.New("apt-get fetched no single archive")
	}
	if err != nil {
		return "", fmt.Errorf("download %s: %w", name, err)
	}
	unpacked := filepath.Join(tmp, "root")
	if out, err := exec.CommandContext(ctx, "dpkg-deb", "-x", archives[0], unpacked).CombinedOutput(); err != nil {
		return "", fmt.Errorf("unpack %s: %w: %s", name, err, out)
	}
	_, version, _ := strings.Cut(strings.TrimSuffix(filepath.Base(archives[0]), ".deb"), "_")
	if _, rest, hasEpoch := strings.Cut(version, "%3a"); hasEpoch { // a colon, as in 1:10.11
		version = rest
	}
	root := filepath.Join(dir, name+"_"+version)
	return root, os.Rename(unpacked, root)
}
