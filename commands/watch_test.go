package commands

import (
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/lag"
)

// TestDraw: on a terminal a round is drawn over the last one, and each row has
// its history; elsewhere rounds stand below each other.
func TestDraw(t *testing.T) {
	t.Parallel()
	round := func(l lag.Lag) []lagRow { return []lagRow{sampleRow("r1", lag.Sample{Source: "p", Lag: l})} }
	rounds := [][]lagRow{round(lag.Known(0)), round(lag.Known(time.Second)), round(lag.Unknown(lag.ApplierStopped))}
	draw := func(format string, terminal bool) []string {
		var out strings.Builder
		env := &environment{stdout: &out, stdoutTerminal: terminal}
		r := &lagRun{env: env, print: &printer{w: &out, format: format}}
		past, lines := map[string][]*float64{}, 0
		var frames []string
		for _, rows := range rounds {
			out.Reset()
			if err := r.draw(rows, past, &lines); err != nil {
				t.Fatal(err)
			}
			frames = append(frames, out.String())
		}
		return frames
	}
	frames := draw("table", true)
	if strings.Contains(frames[0], "\x1b") || !strings.Contains(frames[0], "LAST 40") {
		t.Errorf("the first frame: %q", frames[0])
	}
	for i, history := range []string{"▁", "▁█", "▁█x"} {
		if !strings.Contains(frames[i], history+" ") {
			t.Errorf("frame %d has no %q: %q", i, history, frames[i])
		}
		if i > 0 && !strings.HasPrefix(frames[i], "\x1b[2A\r\x1b[J") {
			t.Errorf("frame %d does not go up by two lines: %q", i, frames[i])
		}
	}
	for _, frame := range draw("table", false) {
		if strings.Contains(frame, "\x1b") || !strings.HasPrefix(frame, "TARGET") || strings.Contains(frame, "LAST") {
			t.Errorf("not on a terminal: %q", frame)
		}
	}
	for _, frame := range draw("json", true) {
		if strings.Count(frame, "\n") != 1 || !strings.HasPrefix(frame, `[{"target":"r1"`) {
			t.Errorf("JSON is not one line: %q", frame)
		}
	}
}
