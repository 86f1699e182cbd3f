package commands

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/route"
)

// routeRow is what route says of a statement. Its JSON keys are a contract.
type routeRow struct {
	statementRow
	Node        *string        `json:"node"`
	Require     *string        `json:"require"`
	Candidates  []candidateRow `json:"candidates"`
	Reasons     []string       `json:"reasons"`
	Level       *string        `json:"level"`        // null of what is no read
	WaitSeconds float64        `json:"wait_seconds"` // 0: it need not wait
	Missing     *string        `json:"missing"`      // what the node lacks of require
	Fallback    *string        `json:"fallback"`     // null without a wait
	Error       *string        `json:"error"`
	Wrote       *string        `json:"wrote"`
	Transaction *string        `json:"transaction"` // "" if it has no server yet, null if none is open
	Held        []heldRow      `json:"session_holds"`

	decision    route.Decision
	before      []route.Held
	transaction route.Transaction // before the statement
	after       route.Transaction
	open        bool
}

// heldRow is something that ties the session to a connection.
type heldRow struct {
	Kind string  `json:"kind"`
	Name *string `json:"name"`
	Node string  `json:"node"`

	held route.Held
}

// candidateRow is a server as one read sees it.
type candidateRow struct {
	Name     string   `json:"name"`
	Readable bool     `json:"readable"`
	Why      string   `json:"why"`
	Lag      *float64 `json:"lag_seconds"`
	Position *string  `json:"position"` // null: nothing is known
	Weight   int      `json:"weight"`
	Role     string   `json:"role"`
	State    string   `json:"state"`
	Behind   bool     `json:"behind"` // it is not known to have what the read requires
	Detail   *string  `json:"detail"`
}

// positionText is a position on one line.
func positionText(v gtid.Value) string { return strings.ReplaceAll(v.String(), "\n", "") }

// decided fills in the decision.
func (row *routeRow) decided(d *route.Decision, snap *route.Snapshot) {
	row.decision = *d
	row.Target, row.Reason, row.Explanation = d.Target.String(), d.Reason().String(), d.Reason().Explanation()
	row.Reasons = []string{}
	for _, r := range d.Reasons() {
		row.Reasons = append(row.Reasons, r.String())
	}
	row.Error = nonEmpty(d.Error)
	row.Require = nonEmpty(positionText(d.Require))
	if row.st.Target == route.ToReplica && d.Target != route.ToHolder && d.Target != route.ToLast {
		level := d.Level.String()
		row.Level = &level
	}
	if d.Server < 0 {
		return
	}
	sv := &snap.Servers[d.Server]
	row.Node = &sv.Name
	if d.Wait > 0 {
		row.WaitSeconds = d.Wait.Seconds()
		fallback := d.Fallback.String()
		row.Fallback = &fallback
		if missing, err := sv.Position.Missing(d.Require); err == nil {
			row.Missing = nonEmpty(positionText(missing))
		}
	}
}

// applied fills in what the session is after the statement.
func (row *routeRow) applied(s *route.Session, out route.Outcome) {
	row.Wrote = nonEmpty(positionText(out.Position))
	row.Held = []heldRow{}
	for _, h := range s.Holds() {
		row.Held = append(row.Held, heldRow{Kind: h.Kind.String(), Name: nonEmpty(h.Name), Node: h.Server, held: h})
	}
	row.after, row.open = s.Transaction, s.Transaction.Open
	if row.open {
		row.Transaction = &row.after.Server
	}
}

func plainRoute(row routeRow) []cell {
	return []cell{
		{text: row.Statement},
		{text: row.Class},
		{text: row.Target},
		{text: text(row.Node)},
		{text: strings.Join(row.Reasons, ",")},
		{text: text(row.Require)},
	}
}

// routeTable prints the decisions for people.
type routeTable struct {
	*printer
	width      int
	candidates bool // a table of every server below each read
	servers    []route.Server
}

func (t *routeTable) print(rows []routeRow) error {
	if err := t.printServers(); err != nil {
		return err
	}
	header := []string{"STATEMENT", "CLASS", "TARGET", "NODE", "REASON"}
	lines := len(rows) > 0 && rows[0].Line != nil
	f := flexible{0, shorten}
	if lines {
		header, f.column = append([]string{"LINE"}, header...), 1
	}
	var words legend
	table := make([]noted, len(rows))
	for i, row := range rows {
		cells := []cell{
			{text: row.shown},
			{text: row.Class},
			{text: row.Target, tone: targetTone(row.Target)},
			{text: orDash(text(row.Node))},
			{text: row.Reason},
		}
		if lines {
			cells = append([]cell{{text: strconv.Itoa(*row.Line), tone: faintTone}}, cells...)
		}
		table[i] = noted{cells: cells, notes: t.routeNotes(row)}
		if t.candidates && len(row.Candidates) > 0 {
			var err error
			if table[i].block, err = t.candidateTable(row.Candidates); err != nil {
				return err
			}
		}
		for _, r := range shownReasons(row) {
			words.add(r.String(), r.Explanation())
		}
	}
	for _, row := range rows {
		for _, h := range row.Held {
			words.holds(h.held.Kind)
		}
	}
	if _, err := fmt.Fprintln(t.w); err != nil {
		return err
	}
	if err := t.printNoted(header, table, f, t.width); err != nil {
		return err
	}
	return t.printLegend(&words, t.width)
}

// printServers shows what is known of the servers at the start.
func (t *routeTable) printServers() error {
	header := []string{"SERVER", "ROLE", "STATE", "LAG", "WEIGHT"}
	active, zones := false, false
	for _, sv := range t.servers {
		active, zones = active || sv.Active != 0, zones || sv.Zone != ""
	}
	if active {
		header = append(header, "ACTIVE")
	}
	if zones {
		header = append(header, "ZONE")
	}
	f := flexible{len(header), shortenMiddle}
	header = append(header, "POSITION", "WHY")
	rows := make([]noted, len(t.servers))
	for i, sv := range t.servers {
		lag := cell{text: "-"}
		if sv.LagKnown {
			seconds := sv.Lag.Seconds()
			lag.text = secondsText(&seconds, nil)
		}
		state := cell{text: sv.State.String(), tone: goodTone}
		if sv.State != route.Online {
			state.tone = badTone
		}
		cells := []cell{{text: sv.Name}, {text: sv.Role.String()}, state, lag, {text: strconv.Itoa(sv.Weight)}}
		if active {
			cells = append(cells, cell{text: strconv.Itoa(sv.Active)})
		}
		if zones {
			cells = append(cells, cell{text: orDash(sv.Zone)})
		}
		rows[i] = noted{cells: append(cells, cell{text: orDash(positionText(sv.Position))}, cell{text: sv.Why, tone: warnTone})}
	}
	return t.printNoted(header, rows, f, t.width)
}

// routeNotes say what a statement waits for, what it changes for the session,
// and how the servers stand to it.
func (t *routeTable) routeNotes(row routeRow) []string {
	notes := statementNotes(row.statementRow)
	d := &row.decision
	if row.Error != nil {
		notes = append(notes, "error: "+*row.Error)
	}
	if d.Wait > 0 {
		instead := "then the primary"
		if d.Fallback == route.Refuse {
			instead = "then an error"
		}
		notes = append(notes, fmt.Sprintf("waits up to %s for %s, which %s lacks; %s", waitText(d.Wait), text(row.Missing), text(row.Node), instead))
	}
	if more := shownReasons(row); len(more) > 1 {
		names := make([]string, len(more)-1)
		for i, r := range more[1:] {
			names[i] = r.String()
		}
		notes = append(notes, "also "+strings.Join(names, ", "))
	}
	if len(row.Candidates) > 0 && !t.candidates {
		notes = append(notes, candidatesText(row.Candidates))
	}
	if row.Wrote != nil {
		notes = append(notes, "wrote "+*row.Wrote)
	}
	switch before, after := row.transaction, row.after; {
	case after.Open && after.Server != "" && (!before.Open || before.Server != after.Server):
		notes = append(notes, "+ transaction on "+after.Server)
	case before.Open && !after.Open:
		notes = append(notes, "- transaction")
	}
	after := make([]route.Held, len(row.Held))
	for i, h := range row.Held {
		after[i] = h.held
	}
	for _, h := range row.before {
		if !slices.Contains(after, h) {
			notes = append(notes, "- "+heldText(h))
		}
	}
	for _, h := range after {
		if !slices.Contains(row.before, h) {
			notes = append(notes, "+ "+heldText(h)+" on "+h.Server)
		}
	}
	return notes
}

func heldText(h route.Held) string { return strings.TrimSpace(h.Kind.String() + " " + h.Name) }

// shownReasons leaves out what the class says already: what the statement is by
// itself, unless that decides.
func shownReasons(row routeRow) []route.Reason {
	all := row.decision.Reasons()
	var shown []route.Reason
	for i, r := range all {
		if i == 0 || r != row.st.Reason {
			shown = append(shown, r)
		}
	}
	return shown
}

// candidatesText says in one line how each server stands to the read.
func candidatesText(rows []candidateRow) string {
	parts := make([]string, len(rows))
	for i, row := range rows {
		parts[i] = row.Name + " " + row.Why
	}
	return "candidates: " + strings.Join(parts, ", ")
}

// candidateTable is candidatesText with all that is known of the servers.
func (t *routeTable) candidateTable(rows []candidateRow) (string, error) {
	const indent = "    "
	table := make([]noted, len(rows))
	for i, row := range rows {
		readable := cell{text: "no", tone: badTone}
		if row.Readable {
			readable = cell{text: "yes", tone: goodTone}
		}
		table[i] = noted{cells: []cell{
			{text: row.Name},
			readable,
			{text: row.Why},
			{text: secondsText(row.Lag, nil)},
			{text: strconv.Itoa(row.Weight)},
			{text: orDash(text(row.Position))},
			{text: text(row.Detail), tone: warnTone},
		}}
	}
	var out strings.Builder
	inner := *t.printer
	inner.w = &out
	header := []string{"CANDIDATE", "READABLE", "WHY", "LAG", "WEIGHT", "POSITION", "DETAIL"}
	err := inner.printNoted(header, table, flexible{5, shortenMiddle}, t.width-len(indent))
	return indent + strings.ReplaceAll(strings.TrimSuffix(out.String(), "\n"), "\n", "\n"+indent) + "\n", err
}
