package commands

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"time"
)

// history is how many samples a sparkline shows.
const history = 40

// watch measures again and again. On a terminal the table is drawn in place,
// with a sparkline for each row; elsewhere each round is printed below the
// last one, as one line of JSON if that is the format.
func (r *lagRun) watch(ctx context.Context, every time.Duration) error {
	if every < 10*time.Millisecond {
		return usagef("--watch must be at least 10ms")
	}
	lines := 0
	past := map[string][]*float64{}
	ticker := time.NewTicker(every)
	defer ticker.Stop()
	for {
		rows := r.measure(ctx)
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err := r.draw(rows, past, &lines); err != nil {
			return err
		}
		select {
		case <-ticker.C:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (r *lagRun) draw(rows []lagRow, past map[string][]*float64, lines *int) error {
	if r.print.quiet {
		return nil
	}
	if r.print.format == "json" {
		return printJSON(r.env.stdout, rows, "")
	}
	if r.print.format != "table" || !r.env.stdoutTerminal {
		return r.print.print(lagDocument(rows))
	}
	d := lagDocument(rows)
	d.header = append(d.header[:3:3], append([]string{"LAST " + fmt.Sprint(history)}, d.header[3:]...)...)
	for i, row := range rows {
		key := row.Target + "/" + text(row.Channel)
		past[key] = append(past[key], row.Seconds)
		if n := len(past[key]); n > history {
			past[key] = past[key][n-history:]
		}
		spark := cell{text: sparkline(past[key])}
		d.rows[i] = append(d.rows[i][:3:3], append([]cell{spark}, d.rows[i][3:]...)...)
	}
	var screen bytes.Buffer
	into := *r.print
	into.w = &screen
	if err := into.print(d); err != nil {
		return err
	}
	out := ""
	if *lines > 0 {
		out = fmt.Sprintf("\x1b[%dA\r\x1b[J", *lines)
	}
	*lines = strings.Count(screen.String(), "\n")
	_, err := r.env.stdout.Write([]byte(out + screen.String()))
	return err
}

// sparkline draws values from 0 to the largest of them, and an x for an unknown one.
func sparkline(values []*float64) string {
	bars := []rune("▁▂▃▄▅▆▇█")
	top := 0.0
	for _, v := range values {
		if v != nil {
			top = max(top, *v)
		}
	}
	var out strings.Builder
	for range history - len(values) {
		out.WriteByte(' ')
	}
	for _, v := range values {
		switch {
		case v == nil:
			out.WriteByte('x')
		case top == 0:
			out.WriteRune(bars[0])
		default:
			out.WriteRune(bars[int(*v/top*float64(len(bars)-1))])
		}
	}
	return out.String()
}
