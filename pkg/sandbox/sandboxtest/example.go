package sandboxtest

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Printed returns what f prints on standard output, without white space around it. It is for an Example that needs
// servers: one with an Output comment would fail where there are none, and one without is only compiled. The test
// that calls it must not be parallel: those that are wait until it is over.
func Printed(t testing.TB, f func()) string {
	t.Helper()
	name := filepath.Join(t.TempDir(), "stdout")
	file, err := os.Create(name)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	defer func(stdout *os.File) { os.Stdout = stdout }(os.Stdout)
	os.Stdout = file
	f()
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	return strings.TrimSpace(string(text))
}
