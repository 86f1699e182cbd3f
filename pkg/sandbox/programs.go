package sandbox

import (
	"context"
	"fmt"
	"path/filepath"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// FetchProgram returns the arguments that run a program of the named package, and the folder in the cache that the
// package lies in with all that it depends on. It is downloaded first if it is not there, from Debian's newest
// suite, as MySQL is: MySQL Router comes this way. What is there stays until its folder is removed.
//
// CacheDir must be given and Flavor does not count. Root is not needed, and processes that fetch at the same time
// wait for each other.
func FetchProgram(ctx context.Context, o InstallOptions, name, program string) (argv []string, root string, err error) {
	o.Flavor = flavor.MySQL
	if o, err = o.check(); err != nil {
		return nil, "", err
	}
	root = filepath.Join(o.CacheDir, "programs", name)
	if argv, err := programBelow(root, name, program); err == nil {
		return argv, root, nil
	}
	unlock, err := lockCache(ctx, o)
	if err != nil {
		return nil, "", err
	}
	defer unlock()
	if argv, err := programBelow(root, name, program); err == nil {
		return argv, root, nil
	}
	pick := func(context.Context, *apt) ([]string, error) { return []string{name}, nil }
	if err := fetchPackages(ctx, o, root, pick, func(string) error { return nil }); err != nil {
		return nil, "", fmt.Errorf("fetch package %s: %w", name, err)
	}
	argv, err = programBelow(root, name, program)
	return argv, root, err
}

// programBelow starts a program with the C library that lies beside it. Libraries of its own are where Debian has
// those that nobody else uses, in a folder of the package's name.
func programBelow(root, name, program string) ([]string, error) {
	root, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, err
	}
	path := filepath.Join(root, "usr", "bin", program)
	loader, err := ownLoader(root, path)
	if err != nil {
		return nil, err
	}
	loader[len(loader)-1] += ":" + filepath.Join(root, "usr", "lib", name) // of --library-path
	return append(loader, path), nil
}
