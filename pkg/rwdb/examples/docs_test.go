package examples

import (
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"regexp"
	"strings"
	"testing"
)

var updateDocs = flag.Bool("update-docs", false, "write the code into docs/library.md")

const page = "../../../docs/library.md"

// TestDocs: the code in the document is that of the files, which run. The mark
// before a block names the file and its declarations.
func TestDocs(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile(`(?s)<!-- code: (\S+) ([^>]*) -->\n(.*?)<!-- end -->`)
	blocks := 0
	text := block.ReplaceAllStringFunc(string(data), func(b string) string {
		blocks++
		m := block.FindStringSubmatch(b)
		code, err := declarations(m[1], strings.Fields(m[2]))
		if err != nil {
			t.Errorf("%s: %v", page, err)
			return b
		}
		return fmt.Sprintf("<!-- code: %s %s -->\n```go\n%s```\n<!-- end -->", m[1], m[2], code)
	})
	if marks := strings.Count(string(data), "<!-- code:"); blocks != marks || blocks < 4 {
		t.Errorf("%s has %d marks and %d blocks of code", page, marks, blocks)
	}
	if text == string(data) || t.Failed() {
		return
	}
	if !*updateDocs {
		t.Errorf("%s does not have the code as it is: go test . -run TestDocs -update-docs", page)
	} else if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

// declarations returns the text of functions and methods of a file, with their
// comments, in the order of names.
func declarations(path string, names []string) (string, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	positions := token.NewFileSet()
	tree, err := parser.ParseFile(positions, path, text, parser.ParseComments)
	if err != nil {
		return "", err
	}
	found := map[string]string{}
	for _, d := range tree.Decls {
		f, ok := d.(*ast.FuncDecl)
		if !ok {
			continue
		}
		from := f.Pos()
		if f.Doc != nil {
			from = f.Doc.Pos()
		}
		found[f.Name.Name] = string(text[positions.Position(from).Offset:positions.Position(f.End()).Offset]) + "\n"
	}
	var all []string
	for _, name := range names {
		if found[name] == "" {
			return "", fmt.Errorf("%s has no %s", path, name)
		}
		all = append(all, found[name])
	}
	return strings.Join(all, "\n"), nil
}
