package suites

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
)

//go:embed skipped.txt
var skippedList string

// Suite is one server's regression suite as its package holds it.
type Suite struct {
	Flavor  flavor.Flavor
	Version string // of the package, such as 9.7.4-2
	Dir     string // holds folders with .test and .inc files
}

// Fetch returns both suites, from the cache or from Debian's newest packages.
func Fetch(ctx context.Context, o sandbox.InstallOptions) ([]Suite, error) {
	var found []Suite
	for _, wanted := range []struct {
		f    flavor.Flavor
		name string
	}{{flavor.MySQL, "mysql-testsuite"}, {flavor.MariaDB, "mariadb-test-data"}} {
		root, err := sandbox.FetchPackage(ctx, o, wanted.name)
		if err != nil {
			return nil, err
		}
		dir, err := testsBelow(root)
		if err != nil {
			return nil, err
		}
		version, _, _ := strings.Cut(strings.TrimPrefix(filepath.Base(root), wanted.name+"_"), "_")
		found = append(found, Suite{Flavor: wanted.f, Version: version, Dir: dir})
	}
	return found, nil
}

// testsBelow finds the folder of tests: packages have moved it over the years.
func testsBelow(root string) (string, error) {
	found := ""
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil || !d.IsDir() {
			return err
		}
		_, errInclude := os.Stat(filepath.Join(path, "include"))
		_, errSuite := os.Stat(filepath.Join(path, "suite"))
		if errInclude == nil && errSuite == nil {
			found = path
			return fs.SkipAll
		}
		return nil
	})
	if err == nil && found == "" {
		err = errors.New("no folder has tests")
	}
	if err != nil {
		return "", fmt.Errorf("find tests below %s: %w", root, err)
	}
	return found, nil
}

// files returns the names below the suite's folder of the tests and of what
// they include, in order. Links would have the same file read twice.
func (s Suite) files() ([]string, error) {
	patterns := skippedFiles()
	var files []string
	err := filepath.WalkDir(s.Dir, func(name string, d fs.DirEntry, err error) error {
		ext := filepath.Ext(name)
		if err != nil || !d.Type().IsRegular() || ext != ".test" && ext != ".inc" {
			return err
		}
		below, err := filepath.Rel(s.Dir, name)
		if err != nil {
			return err
		}
		below = filepath.ToSlash(below)
		for _, pattern := range patterns {
			if skip, err := path.Match(pattern, below); err != nil || skip {
				return err
			}
		}
		files = append(files, below)
		return nil
	})
	slices.Sort(files)
	return files, err
}

// skippedFiles reads the patterns of skipped.txt.
func skippedFiles() []string {
	var patterns []string
	for line := range strings.Lines(skippedList) {
		if pattern, _, found := strings.Cut(line, ": "); found && pattern[0] != '#' {
			patterns = append(patterns, pattern)
		}
	}
	return patterns
}
