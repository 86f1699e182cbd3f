package suites

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestSplitWords(t *testing.T) {
	for _, tt := range []struct{ line, want string }{
		{"--a --b=1\t--c", "--a|--b=1|--c"},
		{`--init-connect="set @a='x y'"  --d`, `--init-connect=set @a='x y'|--d`},
		{`'--a b'`, "--a b"},
		{"", ""},
	} {
		if got := strings.Join(splitWords(tt.line), "|"); got != tt.want {
			t.Errorf("%s: got %s, want %s", tt.line, got, tt.want)
		}
	}
}

func TestWishes_read(t *testing.T) {
	env := map[string]string{"PLUGIN_OPT": "--plugin-dir=/p", "VARDIR": "/v"}
	for _, tt := range []struct{ text, args, timezone, skip string }{
		{"# c\n$PLUGIN_OPT\n--tmpdir=$VARDIR/tmp --sql-mode=\n", "--plugin-dir=/p --tmpdir=/v/tmp --sql-mode=", "", ""},
		{"--timezone=GMT-8 --force-restart --testcase-timeout=60", "", "GMT-8", ""},
		{"--initialize --innodb_page_size=16k $NONE", "", "", ""},
		{"--initialize --innodb-page-size=4k", "", "", "wants a data directory of its own"},
		{"--lower_case_table_names=1", "", "", "wants a data directory of its own"},
		{"--loose-skip-grant-tables", "", "", "wants another address or no accounts"},
		{"--config-file-template=x.cnf", "", "", "wants servers of its own"},
	} {
		var w wishes
		w.read(tt.text, env)
		if got := strings.Join(w.args, " "); got != tt.args || w.timezone != tt.timezone || w.skip != tt.skip {
			t.Errorf("%s: got %+v, want %+v", tt.text, w, tt)
		}
	}
}

// writeFiles writes files below a folder of the test's.
func writeFiles(t *testing.T, files map[string]string) string {
	t.Helper()
	dir := t.TempDir()
	for name, text := range files {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return dir
}

func TestFacts(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"include/restart.inc": "--exec echo restart > $VARDIR/tmp/mysqld.1.expect\n",
		"include/loop.inc":    "source include/loop.inc;\n",
		"t/a.test":            "SELECT 1;\n--source include/restart.inc\n",
		"t/b.test":            "# shutdown_server\nSELECT 'shutdown;';\nsource include/loop.inc;\n--source $file\n",
		"t/c.test":            "  --shutdown_server 10\n",
		"t/d.test":            "SHUTDOWN;\n",
		"t/e.test":            "source f.inc;\n",
		"t/f.inc":             "write_file $d/mysqld.1.expect;\n",
		"t/g.test":            "--source include/force_myisam_default.inc\n-- source include/rpl/init_source_replica.inc\n",
	})
	for name, want := range map[string]facts{
		"a": {ends: true}, "b": {}, "c": {ends: true}, "d": {ends: true}, "e": {ends: true},
		"g": {replica: true, myisam: true},
	} {
		f := facts{seen: map[string]bool{}}
		f.scan(filepath.Join(dir, "t", name+".test"), dir)
		if f.ends != want.ends || f.replica != want.replica || f.myisam != want.myisam {
			t.Errorf("%s: got %+v", name, f)
		}
	}
}

func TestWishesOf(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"t/a.test": "", "t/a-master.opt": "--big-tables=$X\n", "t/a.opt": "--sort-buffer-size=1\n",
		"t/b.test": "", "t/b.cnf": "", "t/c.test": "", "t/c-slave.opt": "", "t/d.test": "", "t/d-master.sh": "",
	})
	for name, want := range map[string]wishes{
		"a": {args: []string{"--sort-buffer-size=1", "--big-tables=1"}},
		"b": {skip: "wants servers of its own"},
		"c": {skip: "wants a replica of its own"},
		"d": {skip: "wants files made before the server starts"},
	} {
		of := test{Args: []string{"--test-file=" + filepath.Join(dir, "t", name+".test")}}
		got, err := wishesOf(&of, dir, map[string]string{"X": "1"})
		if err != nil || !slices.Equal(got.args, want.args) || got.skip != want.skip {
			t.Errorf("%s: got %+v, %v, want %+v", name, got, err, want)
		}
	}
}

func TestSkipPattern(t *testing.T) {
	const text = `[ 33%] main.a-b                     [ skipped ]  Test needs debug binaries.
main.c 'x'                               [ skipped ]  Requires debug build
main.d                                   [ disabled ]   BUG#1 2010 name
main.e                                   [ pass ]
`
	var got []string
	for _, m := range skipPattern.FindAllStringSubmatch(text, -1) {
		got = append(got, m[1]+": "+m[2])
	}
	want := []string{"a-b: Test needs debug binaries.", "c: Requires debug build", "d: BUG#1 2010 name"}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

func TestReadRecords(t *testing.T) {
	dir := writeFiles(t, map[string]string{
		"a.args": "--x\x00--test-file=/s/a.test\x00", "a.env": "A=1\x00TZ=GMT-3\x00PWD=/\x00",
		"b.args": "--y\x00", "b.env": "A=1\x00TZ=GMT-8\x00",
	})
	tests, common, err := readRecords(dir)
	if err != nil || len(tests) != 2 || common["A"] != "1" || common["PWD"] != "" {
		t.Fatalf("got %+v, %v, %v", tests, common, err)
	}
	if tests[0].file() != "/s/a.test" || len(tests[0].Env) != 0 || tests[1].Env["TZ"] != "GMT-8" {
		t.Errorf("got %+v", tests)
	}
}

func TestForBootstrap(t *testing.T) {
	const text = "-- c\ndelimiter ||;\nuse mtr||\nCREATE PROCEDURE p()\nBEGIN\n  -- d\n  SELECT 1;\nEND||\ndelimiter ;||\nSELECT 2;\n"
	const want = "use mtr;\nCREATE PROCEDURE p() BEGIN SELECT 1; END;\nSELECT 2;\n"
	if got := forBootstrap(text); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// TestLinkTree has a folder that two packages fill.
func TestLinkTree(t *testing.T) {
	a := writeFiles(t, map[string]string{"one/x": "ax", "both/x": "ax", "both/deep/x": "ax"})
	b := writeFiles(t, map[string]string{"two": "b", "both/y": "by", "both/deep/y": "by"})
	to := filepath.Join(t.TempDir(), "to")
	for _, from := range []string{a, b, filepath.Join(a, "none")} {
		if err := linkTree(from, to); err != nil {
			t.Fatal(err)
		}
	}
	for name, want := range map[string]string{
		"one/x": "ax", "two": "b", "both/x": "ax", "both/y": "by", "both/deep/x": "ax", "both/deep/y": "by",
	} {
		if got, err := os.ReadFile(filepath.Join(to, name)); err != nil || string(got) != want {
			t.Errorf("%s: got %q, %v", name, got, err)
		}
	}
	if entries, err := os.ReadDir(filepath.Join(a, "both")); err != nil || len(entries) != 2 {
		t.Errorf("the package has changed: %v, %v", entries, err)
	}
}

func TestDifferences(t *testing.T) {
	list, err := readDifferences("# c\n= thread ids\nmysql a b\nmariadb a\n\n= processlist\nmysql c\n")
	if err != nil {
		t.Fatal(err)
	}
	r := results{flavor: "mysql", version: "9.7.4", tests: 7, differences: list, records: []*record{
		{Name: "a", Verdict: differs, Ends: true},
		{Name: "b", Verdict: same, Ends: true, Passes: true},
		{Name: "c", Verdict: same},
		{Name: "d", Verdict: differs},
		{Name: "e", Verdict: skipped, Reason: "big"},
		{Name: "f", Verdict: unstable},
	}}
	if got := r.unexplained(); !slices.Equal(got, []string{"d"}) {
		t.Errorf("unexplained: got %v", got)
	}
	if got := r.idle(); !slices.Equal(got, []string{"b", "c"}) {
		t.Errorf("idle: got %v", got)
	}
	if r.share() != 50 {
		t.Errorf("share: got %v", r.share())
	}
	text := r.markdown()
	for _, want := range []string{
		"| counted | 4 |", "| **the same through the proxy** | 2 |", "| different for an unknown reason | 1 |",
		"| big | 1 |", "| thread ids | a |", "| unknown | d |", "does not repeat: f.",
		"| in the suite | 7 |", "| not yet run through the proxy | 1 |",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	// Of a level's own list only that level knows.
	list, err = readDifferences("= order\nmysql/session a\nmysql/replica d\nmariadb/session b\nmysql/global b\n")
	if err != nil {
		t.Fatal(err)
	}
	r.differences, r.level = list, "session"
	r.records[0].Reads, r.records[1].Reads, r.records[4].Reads = reads{Replica: 5, Primary: 1}, reads{Replica: 1, Primary: 1}, reads{Primary: 9}
	if got := r.unexplained(); len(got) > 0 || r.section() != "mysql session" {
		t.Errorf("at session: unexplained %v, section %s", got, r.section())
	}
	if got := r.markdown(); !strings.Contains(got, "### mysql 9.7.4 at level `session`\n") || !strings.Contains(got, "Of their 8 reads that a replica may have 6 ran on it, 75.0 %.") {
		t.Errorf("at session: got\n%s", got)
	}
	r.level = "global"
	if got := r.unexplained(); !slices.Equal(got, []string{"a"}) {
		t.Errorf("at global: unexplained %v", got)
	}
	r.level = strong
	if got := r.unexplained(); !slices.Equal(got, []string{"a", "d"}) {
		t.Errorf("at strong: unexplained %v", got)
	}
	for _, bad := range []string{"mysql a\n", "= r\nmysql\n", "= r\nmysql a a\n"} {
		if _, err := readDifferences(bad); err == nil {
			t.Errorf("%q: got no error", bad)
		}
	}
}

func TestReplaceResults(t *testing.T) {
	const page = "a\n<!-- results of mysql -->\nold\n<!-- end of mysql -->\nb\n"
	got, err := replaceResults(page, "mysql", "new")
	if err != nil || got != "a\n<!-- results of mysql -->\n\nnew\n<!-- end of mysql -->\nb\n" {
		t.Errorf("got %q, %v", got, err)
	}
	if _, err := replaceResults(page, "mariadb", "new"); err == nil {
		t.Error("got no error for a page without a place")
	}
}

// TestDifferencesFile holds the list that is checked in to its form.
func TestDifferencesFile(t *testing.T) {
	text, err := os.ReadFile(differencesFile)
	if err != nil {
		t.Fatal(err)
	}
	list, err := readDifferences(string(text))
	if err != nil {
		t.Fatal(err)
	}
	for _, d := range list {
		if d.reason == "" || len(d.tests) == 0 {
			t.Errorf("a reason without tests, or tests without a reason: %+v", d)
		}
	}
}
