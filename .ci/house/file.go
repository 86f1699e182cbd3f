package main

import (
	"bytes"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// oldWords may stand only in the package that knows how servers spell things.
var oldWords = regexp.MustCompile(`(?i)master|slave`)

const wordsPackage = "pkg/flavor"

// processNames are what only the commands may use: a library that reads the
// environment, prints or exits cannot be used in another program.
var processNames = map[string][]string{
	"fmt": {"Print", "Printf", "Println", "Scan", "Scanf", "Scanln"},
	"os": {
		"Args", "Environ", "Exit", "ExpandEnv", "Getenv", "LookupEnv", "Stderr", "Stdin", "Stdout",
		"UserCacheDir", "UserHomeDir",
	},
}

var processPackages = []string{"flag", "log"}

// exceptions are the names that a package may use all the same.
var exceptions = map[string][]string{
	"pkg/sandbox":             {"os.UserCacheDir"},        // DefaultCacheDir, which callers ask for by name
	"pkg/sandbox/sandboxtest": {"os.Getenv", "os.Stdout"}, // only tests import it
}

// source is one file that is looked at.
type source struct {
	*report
	path      string
	positions *token.FileSet
	imports   map[string]string // path by the name that the file uses
	command   bool              // the file may use the process
}

func (r *report) file(name string, text []byte) error {
	positions := token.NewFileSet()
	tree, err := parser.ParseFile(positions, name, text, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	dir := path.Dir(name)
	s := &source{
		report: r, path: name, positions: positions, imports: map[string]string{},
		command: dir == "commands" || strings.HasPrefix(dir, "cmd/"),
	}
	lines := bytes.Count(text, []byte("\n"))
	r.fileLines = append(r.fileLines, lines)
	if lines > maxFileLines {
		r.breaks("%s: %d lines, want at most %d", name, lines, maxFileLines)
	}
	if dir != wordsPackage && !ast.IsGenerated(tree) { // a generated file says what its source says
		for i, line := range strings.Split(string(text), "\n") {
			if word := oldWords.FindString(line); word != "" {
				r.breaks("%s:%d: the word %q may stand only in %s", name, i+1, word, wordsPackage)
			}
		}
	}
	s.readImports(tree)
	ast.Inspect(tree, s.node)
	return nil
}

func (s *source) readImports(tree *ast.File) {
	for _, spec := range tree.Imports {
		imported, _ := strconv.Unquote(spec.Path.Value) // the parser has checked it
		name := path.Base(imported)
		if spec.Name != nil {
			name = spec.Name.Name
		}
		s.imports[name] = imported
		if !s.command && slices.Contains(processPackages, imported) {
			s.breaks("%s: only commands may use package %s", s.place(spec.Pos()), imported)
		}
		if name == "." {
			s.breaks("%s: a dot import hides where names come from", s.place(spec.Pos()))
		}
	}
}

func (s *source) node(n ast.Node) bool {
	switch n := n.(type) {
	case *ast.GoStmt:
		s.started(n)
	case *ast.FuncDecl:
		s.function(n)
	case *ast.CallExpr:
		if called, ok := n.Fun.(*ast.SelectorExpr); ok && called.Sel.Name == "Go" { // of a group
			s.started(n)
		}
		if name, ok := n.Fun.(*ast.Ident); ok && (name.Name == "print" || name.Name == "println") {
			s.breaks("%s: %s is for debugging", s.place(n.Pos()), name.Name)
		}
	case *ast.SelectorExpr:
		s.selector(n)
	}
	return true
}

// started notes a goroutine, unless it is the benchmark's: that runs beside the product, and its clients and
// servers are goroutines by nature.
func (s *source) started(n ast.Node) {
	if !strings.HasPrefix(s.path, "cmd/rwbench/") {
		s.goStatements = append(s.goStatements, s.place(n.Pos()))
	}
}

func (s *source) function(f *ast.FuncDecl) {
	lines := s.line(f.End()) - s.line(f.Pos()) + 1
	s.funcLines = append(s.funcLines, lines)
	if lines > maxFuncLines {
		s.breaks("%s: %s has %d lines, want at most %d", s.place(f.Pos()), f.Name.Name, lines, maxFuncLines)
	}
	if f.Name.Name == "init" && f.Recv == nil {
		s.breaks("%s: an init function runs in every program that imports the package", s.place(f.Pos()))
	}
}

func (s *source) selector(e *ast.SelectorExpr) {
	left, ok := e.X.(*ast.Ident)
	if !ok || s.command {
		return
	}
	imported := s.imports[left.Name]
	name := imported + "." + e.Sel.Name
	if slices.Contains(processNames[imported], e.Sel.Name) && !slices.Contains(exceptions[path.Dir(s.path)], name) {
		s.breaks("%s: only commands may use %s", s.place(e.Pos()), name)
	}
}

func (s *source) line(p token.Pos) int { return s.positions.Position(p).Line }

func (s *source) place(p token.Pos) string { return s.path + ":" + strconv.Itoa(s.line(p)) }
