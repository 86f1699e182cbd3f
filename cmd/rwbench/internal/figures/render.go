package figures

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// base is the candidate that the others are compared with: it forwards bytes and knows no SQL.
const base = "haproxy"

// Grid is a table for people, in whatever form it is printed.
type Grid struct {
	Title  string
	Notes  []string // below the title
	Header []string
	Rows   [][]string
}

// Grids are all tables of the document, with one for all numbers of threads.
func (d *Document) Grids() []Grid {
	var all []Grid
	last := ""
	for i := range d.Tables {
		t := &d.Tables[i]
		if title := t.title(); title != last {
			all = append(all, Grid{Title: title, Notes: []string{t.note()}, Header: []string{
				"threads", "candidate", "queries/s", "p50 ms", "p95 ms", "p99 ms", "CPU s/Mq", "RSS MB", "queries/s to " + base, "CPU to " + base,
			}})
			last = title
		}
		g := &all[len(all)-1]
		g.Rows = append(g.Rows, t.rows()...)
	}
	for i := range d.Reads {
		all = append(all, d.Reads[i].grid())
	}
	for i := range d.Mixed {
		all = append(all, d.Mixed[i].grid())
	}
	return all
}

func (t *Table) title() string {
	what := map[string]string{
		"point_select": "oltp_point_select", "read_only": "oltp_read_only, `--skip_trx=on`", "read_write": "oltp_read_write",
		"instant": "point selects, a backend that answers at once",
	}[t.Load]
	secure := "plain"
	if t.TLS {
		secure = "TLS"
	}
	return fmt.Sprintf("%s, %s, %s, %s", what, flavorName(t.Flavor), t.Mode, secure)
}

func flavorName(f string) string {
	if f == "mariadb" {
		return "MariaDB"
	}
	return "MySQL"
}

func (s *Setting) note() string {
	return fmt.Sprintf("%s; %d rounds of %s s; %s", s.Taken, s.Rounds, strconv.FormatFloat(s.Seconds, 'g', -1, 64), versions(s.Version))
}

func versions(all map[string]string) string {
	var parts []string
	for _, name := range slices.Sorted(maps.Keys(all)) {
		parts = append(parts, name+" "+all[name])
	}
	return strings.Join(parts, ", ")
}

func (t *Table) rows() [][]string {
	var rows [][]string
	to := t.Candidate(base)
	for i := range t.Candidates {
		c := &t.Candidates[i]
		row := []string{
			strconv.Itoa(t.Threads), c.Name, withSpread(c.Over(QPS)), median(c.Over(P50)), median(c.Over(P95)), median(c.Over(P99)),
			withSpread(c.Over(CPU)), median(c.Over(RSS)), "", "",
		}
		if to != nil && to != c {
			row[8], row[9] = withSpread(c.RatioTo(to, QPS)), withSpread(c.RatioTo(to, CPU))
		}
		if c.Failed != "" {
			row[2] = strings.TrimSpace(row[2] + " failed: " + c.Failed)
		}
		rows = append(rows, row)
	}
	return rows
}

// Markdown is the generated part of docs/performance.md.
func (d *Document) Markdown() string {
	var b strings.Builder
	if m := d.Machine; len(d.Tables)+len(d.Reads)+len(d.Mixed) > 0 {
		fmt.Fprintf(&b, "\nTaken on %d cores with %s MB of memory, Linux %s, %s.\n", m.Cores, group(strconv.FormatInt(m.Memory, 10)), m.Kernel, m.Go)
	}
	for _, g := range d.Grids() {
		fmt.Fprintf(&b, "\n### %s\n\n", g.Title)
		for _, n := range g.Notes {
			fmt.Fprintf(&b, "%s\n\n", n)
		}
		writeRow(&b, g.Header)
		align := make([]string, len(g.Header))
		for i := range align {
			align[i] = "---"
		}
		writeRow(&b, align)
		for _, row := range g.Rows {
			writeRow(&b, row)
		}
	}
	if b.Len() > 0 {
		b.WriteByte('\n')
	}
	return b.String()
}

func writeRow(b *strings.Builder, cells []string) {
	b.WriteByte('|')
	for _, c := range cells {
		b.WriteString(" " + strings.ReplaceAll(c, "|", "\\|") + " |")
	}
	b.WriteByte('\n')
}

// Label names a setting in a line about what goes on.
func (s *Setting) Label() string {
	secure := "plain"
	if s.TLS {
		secure = "tls"
	}
	return fmt.Sprintf("%s %s %s %d threads", s.Load, s.Mode, secure, s.Threads)
}
