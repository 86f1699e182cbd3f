package config

import (
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"testing"
)

var updateDocs = flag.Bool("update-docs", false, "write the table of keys into docs/config.md")

const page = "../../docs/config.md"

// TestDocs: the table of keys in the document is made of the types, their
// defaults and the sample's comments.
func TestDocs(t *testing.T) {
	t.Parallel()
	data, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	block := regexp.MustCompile(`(?s)(<!-- keys: [^>]*-->\n)(.*?)(<!-- end -->)`)
	if !block.MatchString(string(data)) {
		t.Fatalf("%s has no place for the keys", page)
	}
	text := block.ReplaceAllString(string(data), "${1}"+strings.ReplaceAll(keyTables(), "$", "$$")+"${3}")
	if text == string(data) {
		return
	}
	if !*updateDocs {
		t.Errorf("%s does not have the keys as they are: go test ./pkg/config -run TestDocs -update-docs", page)
	} else if err := os.WriteFile(page, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
}

func keyTables() string {
	effects := map[Effect]string{Now: "at once", NewSessions: "new sessions", Restart: "restart"}
	var out strings.Builder
	section := ""
	for _, k := range Keys() {
		if k.Section != section {
			section = k.Section
			fmt.Fprintf(&out, "\n### %s\n\n| key | value | default | after a reload | meaning |\n|---|---|---|---|---|\n", k.header())
		}
		value := k.Values[0]
		if len(k.Values) > 1 {
			value = "`" + strings.Join(k.Values, "` `") + "`"
		}
		given := k.Default
		if given != "" && !strings.Contains(given, " ") {
			given = "`" + given + "`"
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s | %s | %s |\n", k.Name, value, given, effects[k.Effect], k.Meaning)
	}
	return out.String() + "\n"
}
