package commands

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/urfave/cli/v2"

	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
	"github.com/mysqlrw/mysqlrw/route"
)

func classifyCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:      "classify",
		Usage:     "what is a statement, which server may run it, and why",
		ArgsUsage: "[SQL...]",
		Description: statementHelp + `

AT are the words that gave the reason, and their offset in bytes. HOLDS is what the statement
leaves on its connection. docs/routing.md lists classes, targets and reasons.

Exit codes: 0 done, 2 the input cannot be read.`,
		UsageText: example("classify"),
		Flags:     append(statementFlags(), outputFlags(false)...),
		Action:    action(func(c *cli.Context) error { return runClassify(c.Context, env, c) }),
	}
}

// statementRow is what classify says of a text. Its JSON keys are a contract.
type statementRow struct {
	Statement   string  `json:"statement"`
	Class       string  `json:"class"`
	Target      string  `json:"target"`
	Reason      string  `json:"reason"`
	Holds       *string `json:"holds"`
	Hint        *string `json:"hint"`
	Line        *int    `json:"line"`   // null for an argument
	At          *string `json:"at"`     // null if no single place gave the reason
	Offset      *int    `json:"offset"` // of At, in bytes
	Explanation string  `json:"explanation"`
	Until       *string `json:"until"`

	shown string // the statement on one line
	st    route.Statement
}

func newStatementRow(t sqlText, st route.Statement, o *route.Options) statementRow {
	row := statementRow{
		Statement: t.text, Class: st.Class.String(), Target: st.Target.String(), Reason: st.Reason.String(),
		Explanation: st.Reason.Explanation(), shown: oneLine(t.text, &o.Options), st: st,
	}
	if holds := st.Starts(); holds != 0 {
		names, until := holds.String(), holds.Until()
		row.Holds, row.Until = &names, &until
	}
	if hint := st.Hint.Text(t.text); hint != "" {
		row.Hint = &hint
	}
	if t.line > 0 {
		row.Line = &t.line
	}
	if st.End > st.At {
		words, offset := t.text[st.At:st.End], st.At
		row.At, row.Offset = &words, &offset
	}
	return row
}

func runClassify(ctx context.Context, env *environment, c *cli.Context) error {
	o, err := statementOptions(c)
	if err != nil {
		return err
	}
	session := route.Session{Options: o}
	texts, err := statementTexts(env, c, &session.Options.Options)
	if err != nil {
		return err
	}
	p := newPrinter(env, c)
	rows := []statementRow{}
	for t, err := range texts {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		st := route.Classify(t.text, &session.Options)
		row := newStatementRow(t, st, &session.Options)
		if st.Facts.Any(route.FactMode) { // the next text is read in another way
			d := route.Decision{Class: st.Class, Target: st.Target, Server: -1}
			session.Apply(&st, t.text, &d, &route.Snapshot{}, route.Outcome{})
		}
		if p.quiet {
			continue
		}
		if p.format == "plain" { // a line each, however many there are
			if err := p.print(document{rows: [][]cell{plainStatement(row)}}); err != nil {
				return err
			}
			continue
		}
		rows = append(rows, row)
	}
	if p.format == "table" && !p.quiet {
		return p.printStatements(rows, lineWidth(env))
	}
	return p.print(document{json: rows})
}

func plainStatement(row statementRow) []cell {
	return []cell{{text: row.Statement}, {text: row.Class}, {text: row.Target}, {text: row.Reason}}
}

// printStatements prints the table, and below it what its words mean.
func (p *printer) printStatements(rows []statementRow, width int) error {
	header := []string{"STATEMENT", "CLASS", "TARGET", "REASON", "AT", "HOLDS"}
	lines := len(rows) > 0 && rows[0].Line != nil
	if lines {
		header = append([]string{"LINE"}, header...)
	}
	var words legend
	table := make([]noted, len(rows))
	for i, row := range rows {
		cells := statementCells(row)
		if lines {
			cells = append([]cell{{text: strconv.Itoa(*row.Line), tone: faintTone}}, cells...)
		}
		table[i] = noted{cells: cells, notes: statementNotes(row)}
		if row.At != nil && row.st.Reason != route.ReadOnlyStatement {
			table[i].words, table[i].around = oneLine(*row.At, &sqltoken.Options{}), aroundText(row)
		}
		words.add(row.Reason, row.Explanation)
	}
	for _, row := range rows {
		words.holds(row.st.Starts())
	}
	f := flexible{0, shorten}
	if lines {
		f.column = 1
	}
	if err := p.printNoted(header, table, f, width); err != nil {
		return err
	}
	return p.printLegend(&words, width)
}

func statementCells(row statementRow) []cell {
	return []cell{
		{text: row.shown},
		{text: row.Class},
		{text: row.Target, tone: targetTone(row.Target)},
		{text: row.Reason},
		{text: placeText(row)},
		{text: text(row.Holds), tone: warnTone},
	}
}

// longestPlace is how much is shown of the words that gave a reason.
const longestPlace = 20

// placeText shows the words that gave the reason. A read has none.
func placeText(row statementRow) string {
	if row.At == nil || row.st.Reason == route.ReadOnlyStatement {
		return ""
	}
	words := shorten(strings.Join(strings.Fields(strings.ToValidUTF8(*row.At, string(utf8.RuneError))), " "), longestPlace)
	if *row.Offset == 0 {
		return words
	}
	return fmt.Sprintf("%s at %d", words, *row.Offset)
}

// aroundText shows the words that gave the reason with what stands around them.
func aroundText(row statementRow) string {
	const around = 30
	before, behind := row.Statement[:row.st.At], row.Statement[row.st.End:]
	if n := len(before) - around; n > 0 {
		before = "…" + before[n:]
	}
	if len(behind) > around {
		behind = behind[:around] + "…"
	}
	return strings.Join(strings.Fields(strings.ToValidUTF8(before+*row.At+behind, "")), " ")
}

func targetTone(target string) tone {
	switch target {
	case "replica":
		return goodTone
	case "refuse":
		return badTone
	}
	return plainTone
}

// statementNotes are what a person wants to know besides.
func statementNotes(row statementRow) []string {
	var notes []string
	if row.st.Count > 1 {
		notes = append(notes, fmt.Sprintf("%d statements in one text: one server runs all, and the strongest decides", row.st.Count))
	}
	if row.Hint != nil {
		notes = append(notes, "hint "+strings.Join(strings.Fields(*row.Hint), " ")+": "+hintText(&row.st.Hint, row.Statement))
	}
	return notes
}

// hintText says what a hint asks for.
func hintText(h *route.Hint, text string) string {
	if h.Malformed {
		return "cannot be read and is ignored"
	}
	var asks []string
	switch h.Route {
	case route.HintToPrimary:
		asks = append(asks, "the primary")
	case route.HintToReplica:
		asks = append(asks, "a replica")
		if h.Only {
			asks = append(asks, "never the primary")
		}
	case route.HintToNode:
		asks = append(asks, "server "+h.Node(text))
	case route.HintToLast:
		asks = append(asks, "the server of the statement before")
	}
	if h.HasLevel {
		asks = append(asks, "level "+h.Level.String())
	}
	if h.HasMaxStaleness {
		asks = append(asks, "a lag of at most "+h.MaxStaleness.String())
	}
	if h.HasTimeout {
		asks = append(asks, "a wait of at most "+waitText(h.Timeout))
	}
	if after := h.After(text); after != "" {
		asks = append(asks, "a server that has "+after)
	}
	return "asks for " + strings.Join(asks, ", ")
}

func waitText(d time.Duration) string {
	if d == 0 {
		return "0"
	}
	return shortDuration(d)
}

// holds adds what each kind of state on a connection means.
func (l *legend) holds(h route.Holds) {
	for _, kind := range route.AllHolds() {
		if h&kind != 0 {
			l.add(kind.String(), holdMeaning(kind))
		}
	}
}

func holdMeaning(kind route.Holds) string {
	if kind&route.Pins != 0 {
		return "pins the session: everything goes to that connection, until " + kind.Until()
	}
	return "lives on that connection: what touches it goes there, until " + kind.Until()
}
