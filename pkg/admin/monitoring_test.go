package admin

import (
	"encoding/json"
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const monitoring = "../../packaging/monitoring/"

var (
	// A metric, and what it is asked for by.
	usePattern     = regexp.MustCompile(`\bmysqlrw_(\w+)(\{[^}]*\})?`)
	labelPattern   = regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)`)
	runbookPattern = regexp.MustCompile(`runbook: "docs/operations.md: (.*)"`)
)

// TestMonitoring: the alerts and the dashboard ask for metrics and labels that there are, and for all but a few; and
// what an alert says is to be done stands in the run book.
func TestMonitoring(t *testing.T) {
	t.Parallel()
	metrics := map[string]Metric{}
	for _, m := range Metrics() {
		metrics[m.Name] = m
	}
	used := map[string]bool{}
	check := func(where, expression string) {
		for _, use := range usePattern.FindAllStringSubmatch(expression, -1) {
			name := "mysqlrw_" + use[1]
			if _, ok := metrics[name]; !ok {
				for _, part := range []string{"_bucket", "_count", "_sum"} {
					if base, is := strings.CutSuffix(name, part); is && metrics[base].Kind == "histogram" {
						name = base
					}
				}
			}
			m, ok := metrics[name]
			if !ok {
				t.Errorf("%s: there is no %s", where, name)
			}
			used[name] = true
			for _, label := range labelPattern.FindAllStringSubmatch(use[2], -1) {
				if l := label[1]; l != "instance" && l != "le" && !slices.Contains(m.Labels, l) {
					t.Errorf("%s: %s has no label %s", where, name, l)
				}
			}
		}
	}
	rules, err := os.ReadFile(monitoring + "alerts.yml")
	if err != nil {
		t.Fatal(err)
	}
	check("alerts.yml", string(rules))
	book, err := os.ReadFile("../../docs/operations.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, section := range runbookPattern.FindAllStringSubmatch(string(rules), -1) {
		if !strings.Contains(string(book), "\n### "+section[1]+"\n") {
			t.Errorf("the run book has no section %q", section[1])
		}
	}
	text, err := os.ReadFile(monitoring + "grafana.json")
	if err != nil {
		t.Fatal(err)
	}
	var dashboard struct {
		Panels []struct {
			Title   string
			Targets []struct{ Expr, LegendFormat string }
		}
	}
	if err := json.Unmarshal(text, &dashboard); err != nil {
		t.Fatal(err)
	}
	for _, p := range dashboard.Panels {
		for _, target := range p.Targets {
			check("grafana.json: "+p.Title, target.Expr)
		}
	}
	for name := range metrics {
		if !used[name] && name != "mysqlrw_build_info" && name != "mysqlrw_prepares_total" {
			t.Errorf("nobody looks at %s", name)
		}
	}
}
