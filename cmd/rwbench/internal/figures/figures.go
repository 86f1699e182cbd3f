// Package figures answers: what was measured, which middle and ratio does it have, and how is it shown?
package figures

import (
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"sort"
)

// Document is docs/performance.json: every round that was measured, so that what is shown can be computed again.
type Document struct {
	Machine Machine `json:"machine"`
	Tables  []Table `json:"tables"`
	Reads   []Reads `json:"reads_after_writes"`
	Mixed   []Mixed `json:"many_tables"`
}

// Machine is what everything ran on: figures of two machines are not comparable.
type Machine struct {
	Cores  int    `json:"cores"`
	Memory int64  `json:"memory_mb"`
	Kernel string `json:"kernel"`
	Go     string `json:"go"`
}

// Setting is what all figures of a table have in common.
type Setting struct {
	Flavor  string            `json:"flavor"`
	Load    string            `json:"load"`
	Mode    string            `json:"mode"` // text or prepared
	TLS     bool              `json:"tls"`
	Threads int               `json:"threads"`
	Rounds  int               `json:"rounds"`
	Seconds float64           `json:"seconds"` // of each
	Taken   string            `json:"taken"`   // the day
	Version map[string]string `json:"versions"`
}

// Table is candidates that were measured round by round, one after the other in each.
type Table struct {
	Setting
	Candidates []Candidate `json:"candidates"`
}

// Candidate is what one of them did; a round that failed is nil.
type Candidate struct {
	Name   string    `json:"name"`
	Rounds []*Sample `json:"rounds"`
	Failed string    `json:"failed,omitempty"` // what went wrong last, if something did
}

// Sample is one round of one candidate.
type Sample struct {
	QPS   float64   `json:"qps"`
	P50   float64   `json:"p50_ms"`
	P95   float64   `json:"p95_ms"`
	P99   float64   `json:"p99_ms"`
	Proxy *ProxyUse `json:"proxy,omitempty"` // nil if there is none between client and server
}

// ProxyUse is what the proxy's process used.
type ProxyUse struct {
	CPU float64 `json:"cpu_s_per_mq"` // user and system seconds for a million queries
	RSS float64 `json:"rss_mb"`       // at the end of the round
}

// Spread is the middle of some values, and how far they lie apart.
type Spread struct{ Median, Min, Max float64 }

// SpreadOf computes it; ok is false without values.
func SpreadOf(values []float64) (s Spread, ok bool) {
	if len(values) == 0 {
		return s, false
	}
	sorted := slices.Sorted(slices.Values(values))
	n := len(sorted)
	return Spread{Median: (sorted[(n-1)/2] + sorted[n/2]) / 2, Min: sorted[0], Max: sorted[n-1]}, true
}

// Over is the spread of one figure over a candidate's rounds; ok of the figure is false where there is none.
func (c *Candidate) Over(figure func(*Sample) (v float64, ok bool)) (Spread, bool) {
	var values []float64
	for _, r := range c.Rounds {
		if r == nil {
			continue
		}
		if v, ok := figure(r); ok {
			values = append(values, v)
		}
	}
	return SpreadOf(values)
}

// RatioTo is the spread of the ratios to another candidate, of the figures of the same round: what the machine
// did in a round befell both.
func (c *Candidate) RatioTo(base *Candidate, figure func(*Sample) (v float64, ok bool)) (Spread, bool) {
	var ratios []float64
	for i := range min(len(c.Rounds), len(base.Rounds)) {
		if c.Rounds[i] == nil || base.Rounds[i] == nil {
			continue
		}
		own, ok := figure(c.Rounds[i])
		other, too := figure(base.Rounds[i])
		if ok && too && other != 0 {
			ratios = append(ratios, own/other)
		}
	}
	return SpreadOf(ratios)
}

// The figures of a sample.

func QPS(s *Sample) (float64, bool) { return s.QPS, true }

// P50 is the median of the latencies.
func P50(s *Sample) (float64, bool) { return s.P50, true }

// P95 is what 95 of 100 events take at most.
func P95(s *Sample) (float64, bool) { return s.P95, true }

// P99 is what 99 of 100 events take at most.
func P99(s *Sample) (float64, bool) { return s.P99, true }

// CPU is there if a proxy was measured.
func CPU(s *Sample) (float64, bool) {
	if s.Proxy == nil {
		return 0, false
	}
	return s.Proxy.CPU, true
}

// RSS is there if a proxy was measured.
func RSS(s *Sample) (float64, bool) {
	if s.Proxy == nil {
		return 0, false
	}
	return s.Proxy.RSS, true
}

// Candidate finds one by its name.
func (t *Table) Candidate(name string) *Candidate {
	for i := range t.Candidates {
		if t.Candidates[i].Name == name {
			return &t.Candidates[i]
		}
	}
	return nil
}

// key says which tables are the same one, measured again.
func (s *Setting) key() string {
	return fmt.Sprintf("%s/%s/%s/%t/%05d", s.Flavor, s.Load, s.Mode, s.TLS, s.Threads)
}

// Merge takes over the tables of a newer document and keeps the others, unless they are of another machine:
// kept tells which it was.
func (d *Document) Merge(newer *Document) (kept bool) {
	if d.Machine != newer.Machine {
		kept = len(d.Tables)+len(d.Reads)+len(d.Mixed) == 0
		*d = *newer
		return kept
	}
	for _, t := range newer.Tables {
		d.Tables = slices.DeleteFunc(d.Tables, func(old Table) bool { return old.key() == t.key() })
	}
	for _, r := range newer.Reads {
		d.Reads = slices.DeleteFunc(d.Reads, func(old Reads) bool { return old.Flavor == r.Flavor })
	}
	for _, m := range newer.Mixed {
		d.Mixed = slices.DeleteFunc(d.Mixed, func(old Mixed) bool { return old.key() == m.key() })
	}
	d.Tables, d.Reads, d.Mixed = append(d.Tables, newer.Tables...), append(d.Reads, newer.Reads...), append(d.Mixed, newer.Mixed...)
	d.sort()
	return true
}

// sort puts the tables in the order in which they are shown.
func (d *Document) sort() {
	sort.SliceStable(d.Tables, func(i, j int) bool {
		a, b := &d.Tables[i].Setting, &d.Tables[j].Setting
		if x, y := slices.Index(Loads, a.Load), slices.Index(Loads, b.Load); x != y {
			return x < y
		}
		if a.Flavor != b.Flavor {
			return a.Flavor > b.Flavor // mysql first
		}
		if a.Mode != b.Mode {
			return a.Mode > b.Mode // text first
		}
		if a.TLS != b.TLS {
			return b.TLS
		}
		return a.Threads < b.Threads
	})
	sort.SliceStable(d.Mixed, func(i, j int) bool { return d.Mixed[i].Flavor > d.Mixed[j].Flavor })
	sort.SliceStable(d.Reads, func(i, j int) bool { return d.Reads[i].Flavor > d.Reads[j].Flavor })
}

// Read reads a document; one that is not there is empty.
func Read(path string) (*Document, error) {
	d := &Document{}
	text, err := os.ReadFile(path)
	if os.IsNotExist(err) {
		return d, nil
	}
	if err == nil {
		err = json.Unmarshal(text, d)
	}
	if err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return d, nil
}

// Write writes the document, with one line for each candidate, so that a difference can be read.
func (d *Document) Write(path string) error {
	text, err := d.text()
	if err != nil {
		return fmt.Errorf("write %s: %w", path, err)
	}
	return os.WriteFile(path, text, 0o644)
}
