package figures

import (
	"fmt"
	"strconv"
)

// Reads is what a read behind a write costs at each level.
type Reads struct {
	ReadsSetting
	Cells []ReadsCell `json:"cells"`
}

// ReadsSetting is what all of its cells have in common.
type ReadsSetting struct {
	Flavor  string            `json:"flavor"`
	Pairs   int               `json:"pairs"` // of a write and a read, for each cell
	Taken   string            `json:"taken"`
	Version map[string]string `json:"versions"`
}

// ReadsCell is one candidate at one level, lag and round trip. Times are in ms.
type ReadsCell struct {
	Candidate string  `json:"candidate"`
	Level     string  `json:"level"`
	Lag       float64 `json:"lag_ms"`
	RoundTrip float64 `json:"round_trip_ms"`
	Plain     float64 `json:"plain_ms"`          // median of a read that nothing was written before
	Median    float64 `json:"median_ms"`         // of the read behind a write
	P95       float64 `json:"p95_ms"`            //
	Replicas  float64 `json:"share_on_replicas"` // of the reads behind a write, from 0 to 1
	Stale     int     `json:"stale"`             // of these
	Pairs     int     `json:"pairs"`
	Failed    string  `json:"failed,omitempty"`
}

func (r *Reads) grid() Grid {
	g := Grid{
		Title: "A read behind a write, " + flavorName(r.Flavor),
		Notes: []string{fmt.Sprintf("%s; %s", r.Taken, versions(r.Version))},
		Header: []string{
			"candidate", "level", "lag ms", "round trip ms", "a read alone ms", "added median ms", "added p95 ms", "on replicas", "stale",
		},
	}
	for _, c := range r.Cells {
		row := []string{
			c.Candidate, c.Level, strconv.FormatFloat(c.Lag, 'g', -1, 64), strconv.FormatFloat(c.RoundTrip, 'g', -1, 64),
			number(c.Plain), signed(c.Median - c.Plain), signed(c.P95 - c.Plain),
			fmt.Sprintf("%.0f %%", c.Replicas*100), fmt.Sprintf("%d of %d", c.Stale, c.Pairs),
		}
		if c.Failed != "" {
			row[4] = "failed: " + c.Failed
			row[5], row[6], row[7], row[8] = "", "", "", ""
		}
		g.Rows = append(g.Rows, row)
	}
	return g
}

func signed(v float64) string {
	if v < 0 {
		return "-" + number(-v)
	}
	return number(v)
}
