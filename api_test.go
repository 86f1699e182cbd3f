package mysqlrw_test

import (
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// public are the packages that other programs are meant to use.
var public = []string{"lag", "pkg/gtid", "pkg/verify", "route", "waitpos"}

// explainedElsewhere are types whose constants have only their word beside them: Explanation has the sentence.
var explainedElsewhere = map[string]string{"route": "Reason"}

// TestPublicPackagesAreExplained: `go doc` of a public package reads as a manual. Every exported name has a comment
// that says more than the name, or is named in the comment above it; the package comment says what can be relied on,
// and there are examples.
func TestPublicPackagesAreExplained(t *testing.T) {
	for _, dir := range public {
		paths, err := filepath.Glob(dir + "/*.go")
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: %d files, %v", dir, len(paths), err)
		}
		e := &explained{t: t, dir: dir, positions: token.NewFileSet()}
		var tests []*ast.File
		for _, path := range paths {
			file, err := parser.ParseFile(e.positions, path, nil, parser.ParseComments)
			if err != nil {
				t.Fatal(err)
			}
			if strings.HasSuffix(path, "_test.go") {
				tests = append(tests, file)
				continue
			}
			e.stable = e.stable || strings.Contains(file.Doc.Text(), "\n# Stability\n")
			for _, decl := range file.Decls {
				e.decl(decl)
			}
		}
		if !e.stable {
			t.Errorf("%s: the package comment has no section Stability", dir)
		}
		if len(doc.Examples(tests...)) == 0 {
			t.Errorf("%s: no examples", dir)
		}
	}
}

// explained looks at the comments of one package.
type explained struct {
	t         *testing.T
	dir       string
	positions *token.FileSet
	stable    bool
}

func (e *explained) decl(decl ast.Decl) {
	switch d := decl.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil || ast.IsExported(receiver(d.Recv.List[0].Type)) {
			e.names([]*ast.Ident{d.Name}, d.Doc.Text(), "")
		}
	case *ast.GenDecl:
		above, kind := d.Doc.Text(), ""
		for _, spec := range d.Specs {
			switch s := spec.(type) {
			case *ast.TypeSpec:
				e.names([]*ast.Ident{s.Name}, d.Doc.Text()+s.Doc.Text(), "")
				if list, ok := s.Type.(*ast.StructType); ok && s.Name.IsExported() {
					e.fields(list.Fields.List)
				}
			case *ast.ValueSpec:
				if s.Type != nil || s.Values != nil {
					kind = receiver(s.Type)
				}
				own := s.Doc.Text() + s.Comment.Text()
				if own != "" {
					above = own
				} else if len(d.Specs) == 1 {
					own = above
				}
				if kind == "" || explainedElsewhere[e.dir] != kind {
					e.names(s.Names, own, above)
				}
			}
		}
	}
}

func (e *explained) fields(list []*ast.Field) {
	above := ""
	for _, f := range list {
		own := f.Doc.Text() + f.Comment.Text()
		if own != "" {
			above = own
		}
		e.names(f.Names, own, above)
	}
}

// names looks for words about names in a comment of their own, and for the names in the one above them.
func (e *explained) names(names []*ast.Ident, own, above string) {
	for _, name := range names {
		if !name.IsExported() || saysMore(name.Name, own) || slices.Contains(words.FindAllString(above, -1), name.Name) {
			continue
		}
		e.t.Errorf("%s: %s is not explained", e.positions.Position(name.Pos()), name.Name)
	}
}

var (
	words   = regexp.MustCompile(`\w+`)
	parts   = regexp.MustCompile(`[A-Z]?[a-z0-9]+|[A-Z]+`)
	fillers = strings.Fields("a an and are as by for has if in is it its of or return returns tell tells that the this to whether with")
)

// saysMore tells whether a comment has a word that is neither in the name nor in every comment.
func saysMore(name, comment string) bool {
	known := slices.Clone(fillers)
	for _, part := range parts.FindAllString(name, -1) {
		known = append(known, strings.ToLower(part), strings.ToLower(part)+"s")
	}
	return slices.ContainsFunc(parts.FindAllString(comment, -1), func(word string) bool {
		return !slices.Contains(known, strings.ToLower(word))
	})
}

// receiver returns the name of a type or of what a pointer points to, "" for no plain name.
func receiver(e ast.Expr) string {
	if star, ok := e.(*ast.StarExpr); ok {
		e = star.X
	}
	if name, ok := e.(*ast.Ident); ok {
		return name.Name
	}
	return ""
}
