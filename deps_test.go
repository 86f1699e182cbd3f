package mysqlrw_test

import (
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/mysqlrw/mysqlrw"

// rows lists every package directory, lowest first. A package may import only
// packages of lower rows, so that a change in a command can never break a
// library. docs/architecture.md shows the same list to people.
var rows = [][]string{
	{"completions", "pkg/deadline", "pkg/flavor", "pkg/near", "pkg/netloop", "route/internal/genfunctions"},
	{"pkg/gtid", "pkg/optionfile", "pkg/sqltoken", "pkg/wire"},
	{"pkg/compress"},
	{"route", "pkg/backend", "pkg/frontend", "pkg/pool"},
	{"pkg/sessionstate", "pkg/binlog"},
	{"pkg/target"},
	{"pkg/status"},
	{"pkg/status/statustest"},
	{"waitpos", "pkg/tracker"},
	{"lag"},
	{"pkg/topology", "pkg/config", "pkg/verify"},
	{"pkg/proxy", "pkg/rwdb"},
	{"pkg/admin"},
	{"pkg/sandbox"},
	{"pkg/sandbox/sandboxtest"},
	{"pkg/admin/pagetest", "pkg/proxy/clients"},
	{"commands"},
	{"cmd/mysqlrw", "cmd/rwbench/internal/child", "cmd/rwbench/internal/delay", "cmd/rwbench/internal/figures", "cmd/rwbench/internal/phases"},
	{"cmd/rwbench/internal/instant", "cmd/rwbench/internal/mixed", "cmd/rwbench/internal/stage", "cmd/rwbench/internal/sysbench"},
	{"cmd/rwbench"},
}

// testOnly are packages that only tests may import, from any row.
var testOnly = map[string]bool{
	"pkg/status/statustest": true, "pkg/sandbox": true, "pkg/sandbox/sandboxtest": true,
}

// TestImportDirection reads the import clauses itself: with "go list" the
// test cache would not notice a changed file.
func TestImportDirection(t *testing.T) {
	row := map[string]int{}
	for i, dirs := range rows {
		for _, dir := range dirs {
			row[dir] = i
		}
	}
	err := filepath.WalkDir(".", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		if d.IsDir() && path != "." {
			_, err := os.Stat(filepath.Join(path, "go.mod")) // a module of its own
			if err == nil || d.Name() == "testdata" || strings.HasPrefix(d.Name(), ".") {
				return filepath.SkipDir
			}
		}
		if filepath.Ext(path) != ".go" || path == "deps_test.go" || path == "api_test.go" {
			return nil
		}
		dir := filepath.ToSlash(filepath.Dir(path))
		own, known := row[dir]
		if !known {
			t.Errorf("%s: package %s has no row in deps_test.go", path, dir)
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.ImportsOnly)
		if err != nil {
			return err
		}
		for _, imp := range file.Imports {
			name, _ := strconv.Unquote(imp.Path.Value)
			rest, ours := strings.CutPrefix(name, module+"/")
			if !ours || rest == dir {
				continue
			}
			if strings.HasSuffix(path, "_test.go") && testOnly[rest] {
				continue
			}
			other, known := row[rest]
			if !known || other >= own {
				t.Errorf("%s imports %s, which is not in a lower row", path, rest)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
}
