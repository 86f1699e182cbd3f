package suites

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const said = "=== RUN   TestA\n--- PASS: TestA (0.10s)\n    --- PASS: TestA/x (0.05s)\n    --- SKIP: TestA/y (0.00s)\nPASS\n"

func TestVerdicts(t *testing.T) {
	plain := verdicts(said)
	if len(plain) != 3 || plain["TestA"] != "PASS" || plain["TestA/y"] != "SKIP" {
		t.Fatalf("got %v", plain)
	}
	if got := leaves(plain); len(got) != 2 || got["TestA"] != "" {
		t.Errorf("without subtests are %v", got)
	}
	for _, tt := range []struct {
		name, said string
		want       []string
	}{
		{"same", said, nil},
		{"a subtest fails, and the test because of it", strings.NewReplacer("PASS: TestA (", "FAIL: TestA (", "PASS: TestA/x", "FAIL: TestA/x").Replace(said), []string{"TestA/x"}},
		{"the test alone fails", strings.Replace(said, "PASS: TestA (", "FAIL: TestA (", 1), []string{"TestA"}},
		{"a subtest is missing", strings.Replace(said, "    --- SKIP: TestA/y (0.00s)\n", "", 1), []string{"TestA/y"}},
		{"one more subtest", said + "    --- PASS: TestA/z (0.00s)\n", []string{"TestA/z"}},
	} {
		if got := compare(plain, verdicts(tt.said)); !slices.Equal(got, tt.want) {
			t.Errorf("%s: got %v, want %v", tt.name, got, tt.want)
		}
	}
}

func TestKnown(t *testing.T) {
	k, err := readKnown("# a comment\n= because\n* replicas TestA\nmysql * TestB/x\n", []string{"mysql", "mariadb"}, clusters)
	if err != nil {
		t.Fatal(err)
	}
	r := results{flavor: "mariadb", cluster: withTwo, differ: []string{"TestB/x"}}
	unexplained, idle := r.judge(k)
	if !slices.Equal(unexplained, []string{"TestB/x"}) || !slices.Equal(idle, []string{"TestA"}) {
		t.Errorf("unexplained %v, idle %v", unexplained, idle)
	}
	r = results{flavor: "mysql", cluster: primaryOnly, differ: []string{"TestB/x"}}
	if unexplained, idle = r.judge(k); len(unexplained)+len(idle) > 0 {
		t.Errorf("unexplained %v, idle %v", unexplained, idle)
	}
	for _, bad := range []string{"mysql replicas TestA", "= why\nmysql TestA", "= why\n* * TestA\nmysql replicas TestA"} {
		if _, err := readKnown(bad, []string{"mysql"}, clusters); err == nil {
			t.Errorf("%q is taken", bad)
		}
	}
}

func TestUpdatePage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(path, []byte("a\n<!-- x -->\nold\n<!-- end of x -->\nb\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := updatePage(path, "x", "new"); err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile(path)
	if want := "a\n<!-- x -->\n\nnew\n\n<!-- end of x -->\nb\n"; err != nil || string(got) != want {
		t.Errorf("%v, got %q, want %q", err, got, want)
	}
	if err := updatePage(path, "y", "new"); err == nil {
		t.Error("a page without the lines is taken")
	}
}
