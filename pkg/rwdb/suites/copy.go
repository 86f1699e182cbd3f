package suites

import (
	"bytes"
	"context"
	_ "embed"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
)

const driverModule = "github.com/go-sql-driver/mysql"

// The two files that are put beside the driver's tests: the first is of its package and has the functions that open
// pools, the second is outside of it, so that it can import rwdb, and sets them.
var (
	//go:embed testdata/hooks_test.go
	hooksFile []byte
	//go:embed testdata/rwdb_test.go
	rwdbFile []byte
)

// driver is a copy of the driver whose tests can be pointed at something else.
type driver struct {
	version string
	dir     string
	program string   // of the tests
	tests   []string // in their order; alone are those that open no pool
	alone   []string
}

// copyDriver copies the driver into dir, changes its tests and builds them, with the race detector if that is asked
// for.
func copyDriver(ctx context.Context, dir string, race bool) (*driver, error) {
	out, err := output(ctx, "go", "list", "-m", "-f", "{{.Version}}\t{{.Dir}}", driverModule)
	if err != nil {
		return nil, err
	}
	version, from, _ := strings.Cut(strings.TrimSpace(out), "\t")
	d := &driver{version: version, dir: filepath.Join(dir, "mysql"), program: filepath.Join(dir, "mysql.test")}
	if err := os.MkdirAll(d.dir, 0o755); err != nil {
		return nil, err
	}
	if err := d.fill(from); err != nil {
		return nil, err
	}
	return d, d.build(ctx, dir, race)
}

// fill copies the driver's files, and sorts its tests.
func (d *driver) fill(from string) error {
	entries, err := os.ReadDir(from)
	if err != nil {
		return err
	}
	var all calls
	for _, e := range entries {
		if e.IsDir() {
			continue
		}
		text, err := os.ReadFile(filepath.Join(from, e.Name()))
		if err != nil {
			return err
		}
		if strings.HasSuffix(e.Name(), "_test.go") {
			if text, err = redirect(e.Name(), text); err != nil {
				return err
			}
			if err := all.add(e.Name(), text); err != nil {
				return err
			}
		}
		if err := os.WriteFile(filepath.Join(d.dir, e.Name()), text, 0o644); err != nil {
			return err
		}
	}
	d.tests, d.alone = all.tests()
	return errors.Join(
		os.WriteFile(filepath.Join(d.dir, "rwdb_hooks_test.go"), hooksFile, 0o644),
		os.WriteFile(filepath.Join(d.dir, "rwdb_main_test.go"), rwdbFile, 0o644),
	)
}

// build makes the program of the tests, in which rwdb stands over the copy.
func (d *driver) build(ctx context.Context, dir string, race bool) error {
	mod, err := os.ReadFile("go.mod")
	if err != nil {
		return err
	}
	sum, err := os.ReadFile("go.sum")
	if err != nil {
		return err
	}
	file := filepath.Join(dir, "go.mod")
	mod = fmt.Appendf(mod, "\nreplace %s => %s\n", driverModule, d.dir)
	err = errors.Join(os.WriteFile(file, mod, 0o644), os.WriteFile(filepath.Join(dir, "go.sum"), sum, 0o644))
	if err != nil {
		return err
	}
	_, err = output(ctx, "go", "test", "-c", fmt.Sprintf("-race=%v", race), "-vet=off", "-modfile", file, "-o", d.program,
		driverModule)
	return err
}

// The functions of hooksFile that open pools.
const (
	openPool      = "OpenPool"
	poolConnector = "PoolConnector"
)

// redirect has a file of tests open its pools with OpenPool and PoolConnector.
func redirect(name string, text []byte) ([]byte, error) {
	fset := token.NewFileSet()
	file, err := parser.ParseFile(fset, name, text, parser.SkipObjectResolution)
	if err != nil {
		return nil, err
	}
	type place struct {
		at, end int
		by      string
	}
	var all []place
	ast.Inspect(file, func(n ast.Node) bool {
		call, ok := n.(*ast.CallExpr)
		if !ok {
			return true
		}
		at, end := fset.Position(call.Fun.Pos()).Offset, fset.Position(call.Fun.End()).Offset
		switch string(text[at:end]) {
		case "sql.Open":
			all = append(all, place{at, end, openPool})
		case "NewConnector":
			all = append(all, place{at, end, poolConnector})
		}
		return true
	})
	slices.SortFunc(all, func(a, b place) int { return b.at - a.at }) // from the end, so that offsets stay
	text = slices.Clone(text)
	for _, p := range all {
		text = slices.Replace(text, p.at, p.end, []byte(p.by)...)
	}
	return text, nil
}

// calls are which functions of the driver's tests name which others.
type calls struct {
	order []string
	named map[string][]string
}

func (c *calls) add(name string, text []byte) error {
	file, err := parser.ParseFile(token.NewFileSet(), name, text, parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	if c.named == nil {
		c.named = map[string][]string{}
	}
	for _, d := range file.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok || f.Recv != nil {
			continue
		}
		c.order = append(c.order, f.Name.Name)
		ast.Inspect(f, func(n ast.Node) bool {
			if id, ok := n.(*ast.Ident); ok {
				c.named[f.Name.Name] = append(c.named[f.Name.Name], id.Name)
			}
			return true
		})
	}
	return nil
}

// tests returns the tests that open a pool, by themselves or by a function that they name, and the others.
func (c *calls) tests() (with, alone []string) {
	opens := map[string]bool{openPool: true, poolConnector: true}
	for more := true; more; {
		more = false
		for _, name := range c.order {
			if !opens[name] && slices.ContainsFunc(c.named[name], func(n string) bool { return opens[n] }) {
				opens[name], more = true, true
			}
		}
	}
	for _, name := range c.order {
		switch {
		case !strings.HasPrefix(name, "Test"):
		case opens[name]:
			with = append(with, name)
		default:
			alone = append(alone, name)
		}
	}
	return with, alone
}

// output runs a program and returns what it prints; the error has what it prints as an error.
func output(ctx context.Context, name string, args ...string) (string, error) {
	var out, trouble bytes.Buffer
	cmd := exec.CommandContext(ctx, name, args...)
	cmd.Stdout, cmd.Stderr = &out, &trouble
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("run %s: %w: %s", strings.Join(cmd.Args, " "), err, bytes.TrimSpace(trouble.Bytes()))
	}
	return out.String(), nil
}
