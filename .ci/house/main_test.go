package main

import (
	"slices"
	"strings"
	"testing"
	"testing/fstest"
)

func TestCheck(t *testing.T) {
	long := func(n int) string { return strings.Repeat("\n", n) }
	tests := []struct {
		name, path, text string
		broken           []string
	}{
		{name: "clean", path: "lag/lag.go", text: "package lag\n"},
		{name: "500 lines", path: "lag/lag.go", text: "package lag" + long(500)},
		{
			name: "501 lines", path: "lag/lag.go", text: "package lag" + long(501),
			broken: []string{"lag/lag.go: 501 lines, want at most 500"},
		},
		{name: "function of 80 lines", path: "lag/lag.go", text: "package lag\nfunc f() {" + long(79) + "}\n"},
		{
			name: "function of 81 lines", path: "lag/lag.go", text: "package lag\n// f\nfunc f() {" + long(80) + "}\n",
			broken: []string{"lag/lag.go:3: f has 81 lines, want at most 80"},
		},
		{
			name: "word in a comment", path: "pkg/gtid/set.go", text: "package gtid\n\n// Gtid_Slave_Pos\n",
			broken: []string{`pkg/gtid/set.go:3: the word "Slave" may stand only in pkg/flavor`},
		},
		{name: "word at home", path: "pkg/flavor/words.go", text: "package flavor\n\nconst w = `SHOW SLAVE STATUS`\n"},
		{name: "word in a test", path: "pkg/gtid/set_test.go", text: "package gtid\n\n// Gtid_Slave_Pos\n"},
		{
			name: "library that uses the process", path: "lag/lag.go",
			text: "package lag\nimport (\n\"fmt\"\n\"log\"\nsystem \"os\"\n)\nfunc f() {\nfmt.Println(system.Getenv(\"X\"))\nprintln(1)\n}\n",
			broken: []string{
				"lag/lag.go:4: only commands may use package log",
				"lag/lag.go:8: only commands may use fmt.Println",
				"lag/lag.go:8: only commands may use os.Getenv",
				"lag/lag.go:9: println is for debugging",
			},
		},
		{
			name: "names of its own that are no package's", path: "lag/lag.go",
			text: "package lag\nfunc f(log, os file) {\nlog.Close()\nos.Exit(1)\n}\n",
		},
		{
			name: "command", path: "commands/env.go",
			text: "package commands\nimport \"os\"\nfunc f() {\nos.Exit(len(os.Args))\n}\n",
		},
		{
			name: "exception", path: "pkg/sandbox/install.go",
			text:   "package sandbox\nimport \"os\"\nvar a, b = os.UserCacheDir, os.Getenv\n",
			broken: []string{"pkg/sandbox/install.go:3: only commands may use os.Getenv"},
		},
		{
			name: "init", path: "lag/lag.go", text: "package lag\ntype t int\nfunc (t) init() {}\nfunc init() {}\n",
			broken: []string{"lag/lag.go:4: an init function runs in every program that imports the package"},
		},
		{name: "go statements", path: "lag/lag.go", text: goStatements(15)},
		{
			name: "too many go statements", path: "lag/lag.go", text: goStatements(16),
			broken: []string{"16 go statements, want at most 15: lag/lag.go:3" + strings.Repeat(" lag/lag.go:3", 15)},
		},
		{name: "dot folder", path: ".ci/tool/main.go", text: "package main\nfunc init() {}\n"},
		{name: "testdata", path: "lag/testdata/bad.go", text: "no Go"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r, err := check(fstest.MapFS{
				tt.path:         {Data: []byte(tt.text)},
				"cmd/x/main.go": {Data: []byte("package main\n")},
			})
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(r.broken, tt.broken) {
				t.Errorf("got %q, want %q", r.broken, tt.broken)
			}
		})
	}
}

func goStatements(n int) string {
	return "package lag\nfunc f() {\n" + strings.Repeat("go f();", n) + "\n}\n"
}

func TestCheck_cannotTell(t *testing.T) {
	for name, tree := range map[string]fstest.MapFS{
		"no file":  {"README.md": {}},
		"not Go":   {"lag/lag.go": {Data: []byte("packag")}},
		"only dot": {".ci/main.go": {Data: []byte("package main\n")}},
	} {
		if _, err := check(tree); err == nil {
			t.Errorf("%s: no error", name)
		}
	}
}

func TestSummary(t *testing.T) {
	r, err := check(fstest.MapFS{"lag/lag.go": {Data: []byte("package lag\n\nfunc f() {\n\tgo f()\n}\n")}})
	if err != nil {
		t.Fatal(err)
	}
	want := "1 files, median 5 lines, longest 5; 1 functions, median 3 lines, longest 3; 1 go statements: lag/lag.go:4"
	if got := r.summary(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
