package commands

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/verify"
)

// verifyRow is one run in JSON. Its keys are a contract.
type verifyRow struct {
	Found        *string          `json:"consistency_found"`
	Promised     *string          `json:"consistency_promised"`
	Level        *string          `json:"level"` // that sessions asked for
	Reads        int64            `json:"reads"`
	Writes       int64            `json:"writes"`
	OwnReads     int64            `json:"own_write_reads"`
	Stale        int64            `json:"stale_reads"`
	Back         int64            `json:"non_monotonic_reads"`
	Order        int64            `json:"out_of_order_reads"`
	CrossReads   int64            `json:"cross_session_reads"`
	Cross        int64            `json:"cross_session_stale"`
	Inversions   int64            `json:"inversions"`
	Invented     int64            `json:"invented"`
	Linearizable *bool            `json:"linearizable"`
	Checked      int64            `json:"linearizable_checked"`
	GivenUp      int64            `json:"linearizable_given_up"`
	ByServer     map[string]int64 `json:"reads_by_server"`
	Staleness    spreadRow        `json:"staleness_ms"`
	Read         spreadRow        `json:"read_ms"`
	First        spreadRow        `json:"first_read_after_write_ms"`
	Write        spreadRow        `json:"write_ms"`
	Absent       int64            `json:"reads_without_table"`
	Errors       map[string]int64 `json:"errors"`
	Clients      int              `json:"clients"`
	Sessions     int64            `json:"sessions"`
	Registers    int              `json:"registers"`
	Seconds      float64          `json:"seconds"`
	Violations   []violationRow   `json:"violations"`
	Control      *verifyRow       `json:"control,omitempty"`
}

// spreadRow is null where nothing was measured.
type spreadRow struct {
	P50 *float64 `json:"p50"`
	P99 *float64 `json:"p99"`
	Max *float64 `json:"max"`
}

type violationRow struct {
	Kind    string  `json:"kind"`
	History []opRow `json:"history"`
}

type opRow struct {
	Operation string   `json:"operation"`
	Session   int      `json:"session"`
	Register  int      `json:"register"`
	Value     *int64   `json:"value"` // null: no table or row
	Server    *int     `json:"server"`
	Began     float64  `json:"began_ms"`
	Returned  *float64 `json:"returned_ms"`
}

func milliseconds(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

func newSpreadRow(s verify.Spread) spreadRow {
	if s.Count == 0 {
		return spreadRow{}
	}
	p50, p99, longest := milliseconds(s.P50), milliseconds(s.P99), milliseconds(s.Max)
	return spreadRow{&p50, &p99, &longest}
}

func newVerifyRow(v verified) verifyRow {
	r := v.result
	row := verifyRow{
		Reads: r.Reads, Writes: r.Writes,
		OwnReads: r.OwnWrites.Of, Stale: r.OwnWrites.Found, Back: r.MonotonicReads.Found, Order: r.WriteOrder.Found,
		CrossReads: r.CrossSession.Of, Cross: r.CrossSession.Found, Inversions: r.Inversions, Invented: r.Invented,
		Checked: r.Checked, GivenUp: r.GivenUp, ByServer: r.ByServer, Staleness: newSpreadRow(r.Staleness), Read: newSpreadRow(r.ReadTime),
		First: newSpreadRow(r.FirstReadTime), Write: newSpreadRow(r.WriteTime), Absent: r.Absent, Errors: r.Errors,
		Clients: r.Clients, Sessions: r.Sessions, Registers: r.Registers, Seconds: r.Elapsed.Seconds(),
		Violations: []violationRow{},
	}
	if v.level != "" {
		row.Level = &v.level
	}
	if r.Tested(verify.None) {
		found := r.Found().String()
		row.Found = &found
	}
	if r.Linearizable != verify.Unknown {
		yes := r.Linearizable == verify.Yes
		row.Linearizable = &yes
	}
	if row.Errors == nil {
		row.Errors = map[string]int64{}
	}
	for _, violation := range r.Violations {
		one := violationRow{Kind: violation.Kind.String()}
		for _, op := range violation.Ops {
			one.History = append(one.History, newOpRow(op))
		}
		row.Violations = append(row.Violations, one)
	}
	return row
}

func newOpRow(op verify.Op) opRow {
	row := opRow{Operation: "read", Session: op.Session, Register: op.Register, Began: milliseconds(op.Began)}
	if op.Write {
		row.Operation = "write"
	}
	if op.Number >= 0 {
		row.Value = &op.Number
	}
	if op.Server != 0 {
		row.Server = &op.Server
	}
	if !op.Unfinished {
		returned := milliseconds(op.Returned)
		row.Returned = &returned
	}
	return row
}

// show prints the runs side by side, and below them what was found.
func (v *verifying) show(results []verified) error {
	d := document{header: []string{""}}
	rows := make([]verifyRow, len(results))
	for i, r := range results {
		rows[i] = newVerifyRow(r)
		d.header = append(d.header, strings.ToUpper(r.name))
		for at, line := range verifyLines(r.result) {
			if i == 0 {
				d.rows = append(d.rows, []cell{{text: line.name, tone: faintTone}})
			}
			d.rows[at] = append(d.rows[at], line.value)
		}
	}
	if v.level != "" {
		rows[0].Promised = &v.level
	}
	if len(rows) > 1 {
		rows[0].Control = &rows[1]
	}
	d.json = rows[0]
	if err := v.print.print(d); err != nil || v.print.quiet || v.print.format != "table" {
		return err
	}
	for _, violation := range results[0].result.Violations {
		if _, err := fmt.Fprintf(v.print.w, "\n%s\n", violation); err != nil {
			return err
		}
	}
	return nil
}

type verifyLine struct {
	name  string
	value cell
}

// verifyLines are the rows of the table for one run.
func verifyLines(r *verify.Result) []verifyLine {
	linearizable := map[verify.Answer]cell{
		verify.Yes: {"yes", goodTone}, verify.No: {"no", badTone}, verify.Unknown: {"-", warnTone},
	}[r.Linearizable]
	done := fmt.Sprintf("%d reads, %d writes in %.1f s", r.Reads, r.Writes, r.Elapsed.Seconds())
	return []verifyLine{
		{"own writes missed", countCell(r.OwnWrites)},
		{"reads that went back", countCell(r.MonotonicReads)},
		{"reads out of order", countCell(r.WriteOrder)},
		{"cross-session stale", countCell(r.CrossSession)},
		{"linearizable", linearizable},
		{"staleness", spreadCell(r.Staleness)},
		{"read", spreadCell(r.ReadTime)},
		{"first read after write", spreadCell(r.FirstReadTime)},
		{"write", spreadCell(r.WriteTime)},
		{"reads by server", cell{text: shares(r.ByServer, r.Reads)}},
		{"done", cell{text: done}},
		{"errors", cell{text: errorsText(r.Errors), tone: warnTone}},
	}
}

func countCell(c verify.Count) cell {
	if c.Found > 0 {
		return cell{fmt.Sprintf("%d of %d", c.Found, c.Of), badTone}
	}
	return cell{fmt.Sprintf("0 of %d", c.Of), goodTone}
}

func spreadCell(s verify.Spread) cell {
	if s.Count == 0 {
		return cell{text: "-"}
	}
	return cell{text: fmt.Sprintf("p50: %.1f p99: %.1f max: %.1f ms", milliseconds(s.P50), milliseconds(s.P99), milliseconds(s.Max))}
}

// shares is "1: 40 % 2: 60 %".
func shares(byServer map[string]int64, all int64) string {
	var out []string
	for _, name := range slices.Sorted(maps.Keys(byServer)) {
		out = append(out, fmt.Sprintf("%s: %.0f %%", name, 100*float64(byServer[name])/float64(max(1, all))))
	}
	return orDash(strings.Join(out, " "))
}

func errorsText(counts map[string]int64) string {
	var out []string
	for _, text := range slices.Sorted(maps.Keys(counts)) {
		out = append(out, fmt.Sprintf("%d %s", counts[text], text))
	}
	return orDash(strings.Join(out, "; "))
}
