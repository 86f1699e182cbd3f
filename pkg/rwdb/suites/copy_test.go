package suites

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

// TestRedirect holds the changes of the driver's tests against a small one.
func TestRedirect(t *testing.T) {
	const text = "package mysql\n\nfunc f() {\n\tdb, _ := sql.Open(driverNameTest, dsn) // sql.Open\n" +
		"\tc, _ := NewConnector(newConfig(sql.Open))\n\tsql.OpenDB(c)\n\tx.NewConnector(c)\n}\n"
	const want = "package mysql\n\nfunc f() {\n\tdb, _ := OpenPool(driverNameTest, dsn) // sql.Open\n" +
		"\tc, _ := PoolConnector(newConfig(sql.Open))\n\tsql.OpenDB(c)\n\tx.NewConnector(c)\n}\n"
	got, err := redirect("a_test.go", []byte(text))
	if err != nil || string(got) != want {
		t.Errorf("%v, got\n%s", err, got)
	}
}

// TestCalls tells tests that open a pool from the others.
func TestCalls(t *testing.T) {
	var c calls
	err := c.add("a_test.go", []byte("package mysql\n\nfunc TestA(t *testing.T) { run(func() {}) }\nfunc TestB(t *testing.T) { x() }\n"+
		"func run(f func()) { g := open; g() }\nfunc open() { OpenPool() }\nfunc TestC() { PoolConnector(nil) }\n"))
	if err != nil {
		t.Fatal(err)
	}
	with, alone := c.tests()
	if got, want := fmt.Sprint(with, alone), "[TestA TestC] [TestB]"; got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestCopy builds the changed tests of the driver, without running them.
func TestCopy(t *testing.T) {
	d, err := copyDriver(t.Context(), t.TempDir(), false)
	if err != nil {
		t.Fatal(err)
	}
	out, err := output(t.Context(), d.program, "-test.list", "^Test")
	if err != nil {
		t.Fatal(err)
	}
	got, want := slices.Sorted(slices.Values(strings.Fields(out))), slices.Sorted(slices.Values(slices.Concat(d.tests, d.alone)))
	if !slices.Equal(got, want) || len(d.tests) < 50 {
		t.Errorf("%d tests, %d of them with a pool; the program has %d", len(want), len(d.tests), len(got))
	}
}
