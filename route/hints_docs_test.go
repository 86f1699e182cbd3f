package route

import (
	"os"
	"strings"
	"testing"
)

// TestHintsPage holds docs/hints.md against what is decided.
func TestHintsPage(t *testing.T) {
	page, err := os.ReadFile("../docs/hints.md")
	if err != nil {
		t.Fatal(err)
	}
	hints, settings := 0, 0
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(strings.TrimSpace(line), " | ")
		text, isCode := strings.CutPrefix(strings.TrimPrefix(cells[0], "| "), "`")
		if !isCode || !strings.HasPrefix(line, "| ") {
			continue
		}
		text = strings.TrimSuffix(text, "`")
		p := newPlayer(t)
		if strings.HasPrefix(text, "SET ") {
			settings++
			st := Classify(strings.ReplaceAll(text, "...", firstUUID+":1-5"), &p.session.Options)
			if st.Target != Answer || !st.Facts.Any(FactProxy) {
				t.Errorf("%s is no setting of the proxy: %v", text, st.Target)
			}
			continue
		}
		hints++
		sql := "SELECT " + text + " * FROM t"
		if strings.HasPrefix(text, "--") {
			sql = "SELECT * FROM t " + text
		}
		st := Classify(sql, &p.session.Options)
		d := p.session.Decide(&st, sql, &p.policy, &p.snap, &p.rotation)
		var words []string
		for _, r := range d.Reasons() {
			words = append(words, r.String())
		}
		got := d.Target.String() + ": " + strings.Join(words, " ")
		if want := strings.TrimSuffix(cells[len(cells)-1], " |"); got != want {
			t.Errorf("%s: the page says %q, it is %q", text, want, got)
		}
	}
	if hints < 20 || settings < 5 {
		t.Errorf("found %d hints and %d settings on the page", hints, settings)
	}
}
