package proxy

import (
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
)

// TestWithoutLiterals: what is logged of a statement tells what it was, and none of its values.
func TestWithoutLiterals(t *testing.T) {
	for text, want := range map[string]string{
		"SELECT a FROM t WHERE b = 'secret' AND c=5":               "SELECT a FROM t WHERE b = ? AND c=?",
		"ALTER USER u IDENTIFIED BY 'p''w' /* secret */":           "ALTER USER u IDENTIFIED BY ?",
		"SET @x := _utf8'secret', @@session.sql_mode = \"secret\"": "SET @x := _utf8?, @@session.sql_mode = ?",
		"SELECT 'secret": "SELECT ?",
		"SELECT /*!50000 'secret' */ 1 -- secret": "",
	} {
		got := withoutLiterals(text, &sqltoken.Options{})
		if want != "" && got != want {
			t.Errorf("%s: %s", text, got)
		}
		if strings.Contains(got, "secret") {
			t.Errorf("%s: %s", text, got)
		}
	}
	if got := withoutLiterals(strings.Repeat("SELECT x, ", 10_000), &sqltoken.Options{}); len(got) > 2*maxLogged {
		t.Errorf("%d bytes", len(got))
	}
}
