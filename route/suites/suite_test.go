package suites

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

func TestSuite_statements(t *testing.T) {
	root := t.TempDir()
	dir := filepath.Join(root, "usr/share/tests")
	for name, text := range map[string]string{
		"include/a.inc":          "SELECT 2;",
		"t/a.test":               "SELECT 1;",
		"t/a-replica.opt":        "--sql-mode=ANSI_QUOTES\n",
		"suite/x/t/b.test":       "SELECT 3; SELECT 4;\n--character_set sjis\nSET NAMES sjis;\nsource include/b.inc;",
		"suite/x/include/b.inc":  "SELECT 8;\nsource suite/x/include/c.inc;",
		"suite/x/include/c.inc":  "SELECT '\x83\x5c';\nSELECT 9;",
		"suite/x/t/b.opt":        "--big-tables --loose_sql_mode=no_backslash_escapes",
		"suite/x/t/b.result":     "SELECT 5;",
		"r/c.test":               "SELECT 6;",
		"suite/x/std_data/c.inc": "SELECT 7;",
	} {
		path := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	found, err := testsBelow(root)
	if err != nil || found != dir {
		t.Fatalf("got %s, %v, want %s", found, err, dir)
	}
	var got []string
	var counts Counts
	for s, err := range (Suite{Flavor: flavor.MariaDB, Dir: dir}).Statements(&counts) {
		if err != nil {
			t.Fatal(err)
		}
		got = append(got, fmt.Sprintf("%v %s %d %s %s", s.Flavor, s.File, s.Mode, s.Charset, s.Text))
	}
	want := []string{
		"mariadb suite/x/t/b.test 2  SELECT 3",
		"mariadb suite/x/t/b.test 2  SELECT 4",
		"mariadb suite/x/t/b.test 2  SET NAMES sjis",
		"mariadb t/a.test 1  SELECT 1",
		"mariadb suite/x/include/b.inc 2 sjis SELECT 8",
		"mariadb suite/x/include/c.inc 2 sjis SELECT '\x83\x5c'",
		"mariadb suite/x/include/c.inc 2 sjis SELECT 9",
		"mariadb include/a.inc 0  SELECT 2",
	}
	if !slices.Equal(got, want) || counts.Files != 5 {
		t.Errorf("got %q in %d files, want %q in 5", got, counts.Files, want)
	}
}

func TestTestsBelow_none(t *testing.T) {
	if dir, err := testsBelow(t.TempDir()); err == nil {
		t.Errorf("got %s, want an error", dir)
	}
}

func TestSuite_noFolder(t *testing.T) {
	var counts Counts
	n := 0
	for _, err := range (Suite{Dir: filepath.Join(t.TempDir(), "none")}).Statements(&counts) {
		if err == nil {
			t.Error("got a statement, want an error")
		}
		n++
	}
	if n != 1 {
		t.Errorf("got %d results, want the error only", n)
	}
}
