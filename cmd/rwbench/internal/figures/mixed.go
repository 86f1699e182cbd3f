package figures

import (
	"fmt"
	"strconv"
	"strings"
)

// Mixed is what sessions got done that read and write many tables, at each level.
type Mixed struct {
	MixedSetting
	Levels []MixedLevel `json:"levels"`
}

// MixedSetting is what all of its levels have in common.
type MixedSetting struct {
	Flavor   string            `json:"flavor"`
	Sessions int               `json:"sessions"`
	Writes   float64           `json:"share_of_writes"`
	Tables   int               `json:"tables"`
	Skew     float64           `json:"skew"` // the n-th table is chosen as often as the first one divided by n to this power
	Lag      float64           `json:"lag_ms"`
	Pace     float64           `json:"pace_ms"` // what a server takes for a request, one after the other; 0 is as long as it takes
	Rounds   int               `json:"rounds"`
	Seconds  float64           `json:"seconds"` // of each
	Taken    string            `json:"taken"`
	Version  map[string]string `json:"versions"`
}

// MixedLevel is what was found at one of them; a round that failed is nil.
type MixedLevel struct {
	Level  string         `json:"level"`
	Rounds []*MixedSample `json:"rounds"`
	Failed string         `json:"failed,omitempty"` // what went wrong last, if something did
}

// MixedSample is one round at one level. Times are in ms.
type MixedSample struct {
	QPS      float64    `json:"qps"`
	Replicas float64    `json:"share_on_replicas"` // of the reads, from 0 to 1
	Reads    [3]float64 `json:"reads_p50_p95_p99_ms"`
	Writes   [3]float64 `json:"writes_p50_p95_p99_ms"`
	Stale    int64      `json:"stale"`      // reads of less than was acknowledged before
	Behind   float64    `json:"behind_ms"`  // how long the last replica took to have what the primary had; the median of some tries
	Driver   float64    `json:"driver_cpu"` // the client's share of all processors
	Proxy    *ProxyUse  `json:"proxy"`
}

// over is the spread of one figure over the rounds.
func (l *MixedLevel) over(figure func(*MixedSample) float64) (Spread, bool) {
	var values []float64
	for _, r := range l.Rounds {
		if r != nil {
			values = append(values, figure(r))
		}
	}
	return SpreadOf(values)
}

// to is the spread of the ratios to another level, of the figures of the same round.
func (l *MixedLevel) to(other *MixedLevel, figure func(*MixedSample) float64) (Spread, bool) {
	var ratios []float64
	for i := range min(len(l.Rounds), len(other.Rounds)) {
		if a, b := l.Rounds[i], other.Rounds[i]; a != nil && b != nil && figure(b) != 0 {
			ratios = append(ratios, figure(a)/figure(b))
		}
	}
	return SpreadOf(ratios)
}

func (m *Mixed) level(name string) *MixedLevel {
	for i := range m.Levels {
		if m.Levels[i].Level == name {
			return &m.Levels[i]
		}
	}
	return &MixedLevel{}
}

// key says which ones are the same, measured again.
func (m *MixedSetting) key() string {
	return fmt.Sprintf("%s/%d/%g/%d/%g/%g/%g", m.Flavor, m.Sessions, m.Writes, m.Tables, m.Skew, m.Lag, m.Pace)
}

// Title says what was done.
func (m *MixedSetting) Title() string {
	often := "each as often"
	if m.Skew != 0 {
		often = "the n-th 1/n^" + strconv.FormatFloat(m.Skew, 'g', -1, 64) + " as often as the first"
	}
	title := fmt.Sprintf("Reads and writes of %d tables, %s, %s", m.Tables, often, flavorName(m.Flavor))
	if m.Pace > 0 {
		title += fmt.Sprintf(", servers that do %.0f requests/s", 1000/m.Pace)
	}
	return title
}

func (m *Mixed) grid() Grid {
	g := Grid{
		Title: m.Title(),
		Notes: []string{fmt.Sprintf("%s; %d sessions, %g %% writes; replicas %g ms behind; %d rounds of %s s; %s",
			m.Taken, m.Sessions, m.Writes*100, m.Lag, m.Rounds, strconv.FormatFloat(m.Seconds, 'g', -1, 64), versions(m.Version))},
		Header: []string{
			"level", "queries/s", "on replicas", "reads p50, p95, p99 ms", "writes p50, p95, p99 ms", "stale", "behind ms", "CPU s/Mq", "client CPU",
			"queries/s to global", "on replicas to global", "queries/s to eventual",
		},
	}
	global, eventual := m.level("global"), m.level("eventual")
	for i := range m.Levels {
		l := &m.Levels[i]
		row := []string{
			l.Level, withSpread(l.over(mixedQPS)), percent(l.over(onReplicas)), l.three(func(s *MixedSample) [3]float64 { return s.Reads }),
			l.three(func(s *MixedSample) [3]float64 { return s.Writes }), l.stale(), median(l.over(func(s *MixedSample) float64 { return s.Behind })),
			withSpread(l.over(func(s *MixedSample) float64 { return s.Proxy.CPU })), percent(l.over(func(s *MixedSample) float64 { return s.Driver })),
			"", "", "",
		}
		if l != global {
			row[9], row[10] = withSpread(l.to(global, mixedQPS)), withSpread(l.to(global, onReplicas))
		}
		if l != eventual {
			row[11] = withSpread(l.to(eventual, mixedQPS))
		}
		if l.Failed != "" {
			row[1] = strings.TrimSpace(row[1] + " failed: " + l.Failed)
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

func mixedQPS(s *MixedSample) float64 { return s.QPS }

func onReplicas(s *MixedSample) float64 { return s.Replicas }

func percent(s Spread, ok bool) string {
	if !ok {
		return ""
	}
	return fmt.Sprintf("%.0f %%", s.Median*100)
}

// three writes three figures as medians of the rounds.
func (l *MixedLevel) three(of func(*MixedSample) [3]float64) string {
	var all []string
	for p := range 3 {
		if s, ok := l.over(func(s *MixedSample) float64 { return of(s)[p] }); ok {
			all = append(all, number(s.Median))
		}
	}
	return strings.Join(all, ", ")
}

// stale is the sum of all rounds.
func (l *MixedLevel) stale() string {
	sum, measured := int64(0), false
	for _, r := range l.Rounds {
		if r != nil {
			sum, measured = sum+r.Stale, true
		}
	}
	if !measured {
		return ""
	}
	return group(strconv.FormatInt(sum, 10))
}
