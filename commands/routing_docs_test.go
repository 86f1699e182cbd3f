//go:build unix

package commands_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/route"
)

const routingPage = "../docs/routing.md"

// TestRoutingPage: every word that classify and route print stands in the
// document with its meaning, and no other does.
func TestRoutingPage(t *testing.T) {
	data, err := os.ReadFile(routingPage)
	if err != nil {
		t.Fatal(err)
	}
	page := string(data)
	for name, table := range map[string]string{"reasons": reasonTable(), "holds": holdTable()} {
		block := regexp.MustCompile(`(?s)(<!-- ` + name + `: [^>]*-->\n)(.*?)(<!-- end -->)`)
		if !block.MatchString(page) {
			t.Fatalf("the page has no part %s", name)
		}
		page = block.ReplaceAllString(page, "${1}"+strings.ReplaceAll(table, "$", "$$")+"${3}")
	}
	if page != string(data) {
		if !*updateDocs {
			t.Errorf("%s is not what package route says: go test ./commands -run TestRoutingPage -update-docs", routingPage)
		} else if err := os.WriteFile(routingPage, []byte(page), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	for header, want := range map[string][]string{
		"| class | ": names(route.Classes()), "| target | ": names(targets()), "| why | ": names(exclusions()),
	} {
		got := wordsOfTable(page, header)
		for _, w := range want {
			if !slices.Contains(got, w) {
				t.Errorf("the table %q lacks %s", header, w)
			}
		}
		if len(got) != len(want) {
			t.Errorf("the table %q has %q, package route has %q", header, got, want)
		}
	}
}

func reasonTable() string {
	var out strings.Builder
	out.WriteString("| reason | meaning |\n|---|---|\n")
	for _, r := range route.AllReasons() {
		fmt.Fprintf(&out, "| `%s` | %s |\n", r, r.Explanation())
	}
	return out.String()
}

func holdTable() string {
	var out strings.Builder
	out.WriteString("| state | kind | until |\n|---|---|---|\n")
	for _, h := range route.AllHolds() {
		kind := "hold"
		if h&route.Pins != 0 {
			kind = "pin"
		}
		fmt.Fprintf(&out, "| `%s` | %s | %s |\n", h, kind, h.Until())
	}
	return out.String()
}

func targets() []route.Target {
	var all []route.Target
	for target := route.ToPrimary; target <= route.Refuse; target++ {
		all = append(all, target)
	}
	return all
}

func exclusions() []route.Exclusion {
	var all []route.Exclusion
	for e := route.WhyUnproven; e.String() != "unknown"; e++ {
		all = append(all, e)
	}
	return all
}

func names[T fmt.Stringer](values []T) []string {
	all := make([]string, len(values))
	for i, v := range values {
		all[i] = v.String()
	}
	return all
}

// wordsOfTable returns the words in the first column of the table that begins
// so.
func wordsOfTable(page, header string) []string {
	_, rest, _ := strings.Cut(page, "\n"+header)
	table, _, _ := strings.Cut(rest, "\n\n")
	var words []string
	for _, line := range strings.Split(table, "\n")[2:] {
		first, _, _ := strings.Cut(strings.TrimPrefix(line, "| "), " | ")
		for _, w := range regexp.MustCompile("`([^`]+)`").FindAllStringSubmatch(first, -1) {
			words = append(words, w[1])
		}
	}
	return words
}
