package commands_test

import (
	"os"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/lag"
	"github.com/mysqlrw/mysqlrw/waitpos"
)

// TestReasonsAreDocumented: a reason that a script may meet stands in the
// documents, and a new one cannot be forgotten there.
func TestReasonsAreDocumented(t *testing.T) {
	t.Parallel()
	document := func(path string) string {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	lagPage, outputPage := document("../docs/lag.md"), document("../docs/output.md")
	for r := lag.NotAReplica; r.String() != "unknown"; r++ {
		if !strings.Contains(lagPage, "`"+r.String()+"`") {
			t.Errorf("docs/lag.md does not know the reason %s", r)
		}
	}
	for r := waitpos.Timeout; r.String() != ""; r++ {
		if !strings.Contains(outputPage, "`"+r.String()+"`") {
			t.Errorf("docs/output.md does not know the reason %s", r)
		}
	}
	for _, m := range lag.Methods() {
		if m != "auto" && !strings.Contains(lagPage, "| `"+m+"` |") {
			t.Errorf("docs/lag.md does not know the method %s", m)
		}
	}
}
