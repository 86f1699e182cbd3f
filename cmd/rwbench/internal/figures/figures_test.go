package figures

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

var update = flag.Bool("update", false, "write the golden file")

func TestSpreadOf(t *testing.T) {
	for _, tt := range []struct {
		values []float64
		want   Spread
		ok     bool
	}{
		{nil, Spread{}, false},
		{[]float64{7}, Spread{7, 7, 7}, true},
		{[]float64{9, 1, 2}, Spread{2, 1, 9}, true},
		{[]float64{4, 1, 2, 9}, Spread{3, 1, 9}, true},
	} {
		if got, ok := SpreadOf(tt.values); got != tt.want || ok != tt.ok {
			t.Errorf("%v: got %v %v, want %v %v", tt.values, got, ok, tt.want, tt.ok)
		}
	}
}

// TestRatioTo: ratios are of the same round, so that a slow round of both changes nothing, and a round that one of
// them failed in has none.
func TestRatioTo(t *testing.T) {
	a := Candidate{Rounds: []*Sample{{QPS: 50}, {QPS: 5}, {QPS: 80}, nil}}
	b := Candidate{Rounds: []*Sample{{QPS: 100}, {QPS: 10}, nil, {QPS: 1}}}
	got, ok := a.RatioTo(&b, QPS)
	if want := (Spread{0.5, 0.5, 0.5}); got != want || !ok {
		t.Errorf("got %v %v, want %v", got, ok, want)
	}
	if got, ok := a.RatioTo(&b, CPU); ok {
		t.Errorf("got %v of candidates without a proxy", got)
	}
	if got, _ := a.Over(QPS); got != (Spread{50, 5, 80}) {
		t.Errorf("got %v", got)
	}
}

func sample(qps, cpu float64) *Sample {
	return &Sample{QPS: qps, P50: 0.5, P95: 1.25, P99: 12.34, Proxy: &ProxyUse{CPU: cpu, RSS: 14.7}}
}

func mixedSample(qps, replicas float64, stale int64) *MixedSample {
	return &MixedSample{
		QPS: qps, Replicas: replicas, Reads: [3]float64{1, 2.5, 10}, Writes: [3]float64{2, 3, 4}, Stale: stale, Behind: 52.4, Driver: 0.034,
		Proxy: &ProxyUse{CPU: 80, RSS: 30},
	}
}

func document() *Document {
	set := func(load, mode string, tls bool, threads int) Setting {
		return Setting{
			Flavor: "mysql", Load: load, Mode: mode, TLS: tls, Threads: threads, Rounds: 3, Seconds: 4, Taken: "2026-11-30",
			Version: map[string]string{"mysql": "9.7.4", "haproxy": "2.6.12"},
		}
	}
	return &Document{
		Machine: Machine{Cores: 2, Memory: 24105, Kernel: "6.1", Go: "go1.26"},
		Tables: []Table{
			{set("point_select", "text", false, 8), []Candidate{
				{Name: "direct", Rounds: []*Sample{{QPS: 28708.4}, {QPS: 28000}, {QPS: 29000}}},
				{Name: "haproxy", Rounds: []*Sample{sample(16000, 40), sample(15000, 41), sample(17000, 39)}},
				{Name: "mysqlrw", Rounds: []*Sample{sample(12000, 60), nil, sample(17000, 58.5)}, Failed: "sysbench: exit status 1"},
			}},
			{set("point_select", "text", false, 64), []Candidate{{Name: "haproxy", Rounds: []*Sample{sample(900, 40)}}}},
			{set("instant", "prepared", true, 8), []Candidate{{Name: "a|b", Rounds: []*Sample{nil}, Failed: "no"}}},
		},
		Reads: []Reads{{ReadsSetting{Flavor: "mariadb", Pairs: 200, Taken: "2026-11-30", Version: map[string]string{"mariadb": "10.11.19"}}, []ReadsCell{
			{Candidate: "mysqlrw", Level: "session", Lag: 1000, RoundTrip: 5, Plain: 5.2, Median: 5.1, P95: 15.3, Replicas: 0.25, Pairs: 200},
			{Candidate: "router-split", Level: "session", Failed: "2027"},
		}}},
		Mixed: []Mixed{{MixedSetting{
			Flavor: "mysql", Sessions: 64, Writes: 0.2, Tables: 500, Skew: 1, Lag: 50, Pace: 2, Rounds: 2, Seconds: 4, Taken: "2026-11-30",
			Version: map[string]string{"mysql": "9.7.4"},
		}, []MixedLevel{
			{Level: "eventual", Rounds: []*MixedSample{mixedSample(1000, 1, 12345), mixedSample(900, 1, 0)}},
			{Level: "session", Rounds: []*MixedSample{nil, nil}, Failed: "no"},
			{Level: "global", Rounds: []*MixedSample{mixedSample(400, 0.1, 0), nil}, Failed: "gone"},
			{Level: "scc", Rounds: []*MixedSample{mixedSample(900, 0.9, 0), mixedSample(890, 0.8, 0)}},
		}}},
	}
}

func TestMarkdown(t *testing.T) {
	got := document().Markdown()
	path := filepath.Join("testdata", "tables.md")
	if *update {
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}

// TestMerge: a table that was measured again is replaced, what was not is kept, and nothing of another machine is.
func TestMerge(t *testing.T) {
	d, newer := document(), document()
	newer.Tables = newer.Tables[1:2]
	newer.Tables[0].Taken = "2026-12-01"
	newer.Reads[0].Flavor = "mysql"
	other := newer.Mixed[0]
	other.Skew, other.Flavor = 0, "mariadb"
	newer.Mixed = []Mixed{other, newer.Mixed[0]}
	if !d.Merge(newer) || len(d.Tables) != 3 || len(d.Reads) != 2 || d.Reads[0].Flavor != "mysql" || len(d.Mixed) != 2 || d.Mixed[0].Flavor != "mysql" {
		t.Fatalf("got %+v", d)
	}
	if d.Tables[0].Taken != "2026-11-30" || d.Tables[1].Taken != "2026-12-01" || d.Tables[1].Threads != 64 || d.Tables[2].Load != "instant" {
		t.Errorf("got %+v", d.Tables)
	}
	newer.Machine.Cores = 4
	if d.Merge(newer) || len(d.Tables) != 1 || d.Machine.Cores != 4 {
		t.Errorf("got %+v", d)
	}
	if empty := (&Document{}); !empty.Merge(newer) {
		t.Error("nothing was lost, but it says so")
	}
}

// TestFile: a document is read as it was written.
func TestFile(t *testing.T) {
	path := filepath.Join(t.TempDir(), "figures.json")
	if d, err := Read(path); err != nil || d.Markdown() != "" {
		t.Fatalf("got %v, %v of a file that is not there", d, err)
	}
	if err := document().Write(path); err != nil {
		t.Fatal(err)
	}
	got, err := Read(path)
	if err != nil {
		t.Fatal(err)
	}
	if got, want := got.Markdown(), document().Markdown(); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if err := os.WriteFile(path, []byte("{"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := Read(path); err == nil {
		t.Error("half a file was read")
	}
}

// TestUpdatePage: what stands around the generated part is kept.
func TestUpdatePage(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	if err := os.WriteFile(path, []byte("before\n"+begin+"\nold\n"+end+"\nafter\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for range 2 {
		if err := document().UpdatePage(path); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	if want := "before\n" + begin + "\n" + document().Markdown() + end + "\nafter\n"; string(got) != want {
		t.Errorf("got %s, want %s", got, want)
	}
	if err := os.WriteFile(path, []byte("no marker"), 0o600); err != nil {
		t.Fatal(err)
	}
	if err := document().UpdatePage(path); err == nil || !strings.Contains(err.Error(), "has no lines") {
		t.Errorf("got %v", err)
	}
}

// TestDocs: the tables of docs/performance.md are those of docs/performance.json.
func TestDocs(t *testing.T) {
	docs := filepath.Join("..", "..", "..", "..", "docs")
	d, err := Read(filepath.Join(docs, "performance.json"))
	if err != nil {
		t.Fatal(err)
	}
	page, err := os.ReadFile(filepath.Join(docs, "performance.md"))
	if err != nil {
		t.Fatal(err)
	}
	_, got, _, err := Split(string(page))
	if err != nil {
		t.Fatal(err)
	}
	if want := d.Markdown(); got != want {
		t.Errorf("docs/performance.md is not what docs/performance.json says; rwbench --update writes both. Got\n%s\nwant\n%s", got, want)
	}
}
