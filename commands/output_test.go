package commands

import (
	"bytes"
	"strings"
	"testing"
)

func TestPrintPlain(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	rows := [][]cell{
		{{text: "a"}, {text: "uuid:1,\nuuid:2"}, {text: ""}},
		{{text: "tab\there", tone: badTone}, {text: "crlf\r\n"}, {text: "\x1b"}},
	}
	if err := printPlain(&out, rows); err != nil {
		t.Fatal(err)
	}
	want := "a\tuuid:1, uuid:2\t\ntab here\tcrlf \t\x1b\n"
	if got := out.String(); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPrintMetrics(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	err := printMetrics(&out, []metric{
		{"a", "help of a", []string{"target", `C:\x "y"` + "\n", "channel", ""}, 0.25},
		{"a", "help of a", []string{"target", "b"}, 1e9},
		{"b", "help of b", nil, 3},
	})
	if err != nil {
		t.Fatal(err)
	}
	want := `# HELP a help of a
# TYPE a gauge
a{target="C:\\x \"y\"\n",channel=""} 0.25
a{target="b"} 1e+09
# HELP b help of b
# TYPE b gauge
b 3
`
	if got := out.String(); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestPrintJSON(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	if err := printJSON(&out, map[string]any{"a": "<&>", "b": nil}, ""); err != nil {
		t.Fatal(err)
	}
	if got, want := out.String(), `{"a":"<&>","b":null}`+"\n"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestPrinter_table(t *testing.T) {
	t.Parallel()
	d := document{
		header: []string{"NAME", "STATE", "NOTE"},
		rows:   [][]cell{{{text: "a"}, {text: "running", tone: goodTone}, {}}, {{text: "längst"}, {text: "no", tone: badTone}, {}}},
	}
	draw := func(p printer) string {
		var out bytes.Buffer
		p.w, p.format = &out, "table"
		if err := p.print(d); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	plain := draw(printer{})
	if want := "NAME    STATE\na       running\nlängst  no\n"; plain != want {
		t.Errorf("got\n%s\nwant\n%s", plain, want)
	}
	coloured := draw(printer{colour: true})
	if !strings.Contains(coloured, "\x1b[32mrunning") || !strings.Contains(coloured, "\x1b[31mno") {
		t.Errorf("no colours: %q", coloured)
	}
	if draw(printer{quiet: true}) != "" {
		t.Error("quiet prints")
	}
	d.rows[1][2] = cell{text: "broken"}
	if got, want := draw(printer{}), "NAME    STATE    NOTE\na       running\nlängst  no       broken\n"; got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

func TestWantColour(t *testing.T) {
	t.Parallel()
	tests := []struct {
		flag     string
		terminal bool
		noColor  string
		want     bool
	}{
		{"auto", true, "", true},
		{"auto", true, "1", false},
		{"auto", false, "", false},
		{"always", false, "1", true},
		{"never", true, "", false},
	}
	for _, test := range tests {
		var out strings.Builder
		env := &environment{
			args: []string{"lag", "--color", test.flag, "--timeout=1s", "./no.sock"}, stdin: strings.NewReader(""),
			stdout: &out, stderr: &strings.Builder{}, stdoutTerminal: test.terminal,
			getenv: func(name string) string { return map[string]string{"NO_COLOR": test.noColor}[name] },
		}
		if code := run(t.Context(), env); code != exitUnknown {
			t.Fatalf("exit code %d", code)
		}
		if got := strings.Contains(out.String(), "\x1b["); got != test.want {
			t.Errorf("%+v: got %v: %q", test, got, out.String())
		}
	}
}

func TestReasonText(t *testing.T) {
	t.Parallel()
	word := func(s string) *string { return &s }
	tests := []struct {
		reason, detail *string
		want           string
	}{
		{nil, nil, ""},
		{word("applier-stopped"), nil, "applier-stopped"},
		{word("applier-stopped"), word("error 1062"), "applier-stopped: error 1062"},
		{word("connection-refused"), word("connection refused"), "connection-refused"},
		{nil, word("whole seconds"), "note: whole seconds"},
	}
	for _, test := range tests {
		if got := reasonText(test.reason, test.detail); got != test.want {
			t.Errorf("got %q, want %q", got, test.want)
		}
	}
}
