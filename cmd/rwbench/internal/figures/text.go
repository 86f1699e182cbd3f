package figures

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"strconv"
	"strings"
)

// Loads are the names of all loads whose candidates are compared, in the order in which they are shown.
var Loads = []string{"point_select", "read_only", "read_write", "instant"}

// text is JSON with a line for each thing that somebody would look for.
func (d *Document) text() ([]byte, error) {
	var out bytes.Buffer
	var failed error
	put := func(before string, v any, after string) {
		b, err := json.Marshal(v)
		if err != nil && failed == nil {
			failed = err
		}
		out.WriteString(before)
		out.Write(b)
		out.WriteString(after)
	}
	comma := func(i, n int) string {
		if i+1 < n {
			return ",\n"
		}
		return "\n"
	}
	put("{\n\"machine\": ", d.Machine, ",\n\"tables\": [\n")
	for i := range d.Tables {
		t := &d.Tables[i]
		b, err := json.Marshal(t.Setting)
		if err != nil {
			return nil, err
		}
		out.Write(bytes.TrimSuffix(b, []byte("}")))
		out.WriteString(",\n  \"candidates\": [\n")
		for j := range t.Candidates {
			put("    ", &t.Candidates[j], comma(j, len(t.Candidates)))
		}
		out.WriteString("  ]}" + comma(i, len(d.Tables)))
	}
	out.WriteString("],\n\"reads_after_writes\": [\n")
	for i := range d.Reads {
		r := &d.Reads[i]
		b, err := json.Marshal(r.ReadsSetting)
		if err != nil {
			return nil, err
		}
		out.Write(bytes.TrimSuffix(b, []byte("}")))
		out.WriteString(",\n  \"cells\": [\n")
		for j := range r.Cells {
			put("    ", &r.Cells[j], comma(j, len(r.Cells)))
		}
		out.WriteString("  ]}" + comma(i, len(d.Reads)))
	}
	out.WriteString("],\n\"many_tables\": [\n")
	for i := range d.Mixed {
		m := &d.Mixed[i]
		b, err := json.Marshal(m.MixedSetting)
		if err != nil {
			return nil, err
		}
		out.Write(bytes.TrimSuffix(b, []byte("}")))
		out.WriteString(",\n  \"levels\": [\n")
		for j := range m.Levels {
			put("    ", &m.Levels[j], comma(j, len(m.Levels)))
		}
		out.WriteString("  ]}" + comma(i, len(d.Mixed)))
	}
	out.WriteString("]\n}\n")
	return out.Bytes(), failed
}

// The part of a page that Update writes stands between these two lines.
const (
	begin = "<!-- begin: rwbench --update writes this from performance.json -->"
	end   = "<!-- end of what rwbench writes -->"
)

// Split cuts a page before and behind its generated part; the markers stay with the ends.
func Split(page string) (before, generated, after string, err error) {
	before, rest, ok := strings.Cut(page, begin+"\n")
	generated, after, closed := strings.Cut(rest, end)
	if !ok || !closed {
		return "", "", "", fmt.Errorf("the page has no lines %q and %q", begin, end)
	}
	return before + begin + "\n", generated, end + after, nil
}

// UpdatePage writes the generated part of a page anew and keeps the rest.
func (d *Document) UpdatePage(path string) error {
	page, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	before, _, after, err := Split(string(page))
	if err != nil {
		return fmt.Errorf("update %s: %w", path, err)
	}
	return os.WriteFile(path, []byte(before+d.Markdown()+after), 0o644)
}

// number writes a figure with three digits that count, as the measurement has no more, and thousands in groups.
func number(v float64) string {
	switch {
	case v >= 1000:
		return group(strconv.FormatFloat(v, 'f', 0, 64))
	case v >= 100:
		return strconv.FormatFloat(v, 'f', 0, 64)
	case v >= 10:
		return strconv.FormatFloat(v, 'f', 1, 64)
	default:
		return strconv.FormatFloat(v, 'f', 2, 64)
	}
}

func group(digits string) string {
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// withSpread is "median (min..max)".
func withSpread(s Spread, ok bool) string {
	if !ok {
		return ""
	}
	if s.Min == s.Max {
		return number(s.Median)
	}
	return number(s.Median) + " (" + number(s.Min) + ".." + number(s.Max) + ")"
}

func median(s Spread, ok bool) string {
	if !ok {
		return ""
	}
	return number(s.Median)
}
