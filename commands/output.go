package commands

import (
	"encoding/json"
	"fmt"
	"io"
	"strconv"
	"strings"

	"github.com/fatih/color"
	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"
	"github.com/urfave/cli/v2"
)

// tone says how a cell is meant; only a table on a terminal shows it.
type tone uint8

const (
	plainTone tone = iota
	goodTone
	warnTone
	badTone
	faintTone
)

// cell is one value of a table. The text is the same with and without colour.
type cell struct {
	text string
	tone tone
}

// metric is one sample in the Prometheus text format.
type metric struct {
	name, help string
	labels     []string // name, value, name, value, ...
	value      float64
}

// document is a command's result in every form it can be asked for in.
type document struct {
	header  []string
	rows    [][]cell
	json    any
	metrics []metric // nil if the command has no Prometheus form
}

// printer writes documents in the format that the flags chose.
type printer struct {
	w      io.Writer
	format string
	quiet  bool
	colour bool
}

// outputFlags are --format, --color and --quiet. A command without metrics
// does not offer the prometheus format.
func outputFlags(prometheus bool) []cli.Flag {
	formats := []string{"table", "json", "plain"}
	if prometheus {
		formats = append(formats, "prometheus")
	}
	format := enumFlag("format", "table", "form of the output: plain is tab-separated without a header", formats...)
	format.Aliases = []string{"o"}
	colour := enumFlag("color", "auto", "colour in tables; auto means on a terminal, unless NO_COLOR is set", "auto", "always", "never")
	flags := []cli.Flag{
		format, colour,
		&cli.BoolFlag{Name: "quiet", Aliases: []string{"q"}, Usage: "print no result, only set the exit code"},
	}
	return inCategory("Output", flags)
}

func newPrinter(env *environment, c *cli.Context) *printer {
	p := &printer{w: env.stdout, format: enum(c, "format"), quiet: c.Bool("quiet")}
	p.colour = wantColour(env, c)
	return p
}

func wantColour(env *environment, c *cli.Context) bool {
	switch enum(c, "color") {
	case "always":
		return true
	case "never":
		return false
	default:
		return env.stdoutTerminal && env.getenv("NO_COLOR") == ""
	}
}

// print writes one whole document.
func (p *printer) print(d document) error {
	if p.quiet {
		return nil
	}
	switch p.format {
	case "json":
		return printJSON(p.w, d.json, "  ")
	case "plain":
		return printPlain(p.w, d.rows)
	case "prometheus":
		return printMetrics(p.w, d.metrics)
	default:
		return p.printTable(d.header, d.rows)
	}
}

// printJSON writes one document and a line end. Text keeps its < and &.
func printJSON(w io.Writer, v any, indent string) error {
	enc := json.NewEncoder(w)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", indent)
	return enc.Encode(v)
}

// printPlain writes a line per row. Tabs and line ends inside a value become
// spaces, so that a row is always one line with the same number of fields.
func printPlain(w io.Writer, rows [][]cell) error {
	oneLine := strings.NewReplacer("\t", " ", "\r", "", "\n", " ")
	var out strings.Builder
	for _, row := range rows {
		for i, c := range row {
			if i > 0 {
				out.WriteByte('\t')
			}
			out.WriteString(oneLine.Replace(c.text))
		}
		out.WriteByte('\n')
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// printMetrics writes samples in the Prometheus text format; samples of one
// name must follow each other.
func printMetrics(w io.Writer, metrics []metric) error {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	var out strings.Builder
	last := ""
	for _, m := range metrics {
		if m.name != last {
			fmt.Fprintf(&out, "# HELP %s %s\n# TYPE %s gauge\n", m.name, m.help, m.name)
			last = m.name
		}
		out.WriteString(m.name)
		for i := 0; i+1 < len(m.labels); i += 2 {
			separator := ","
			if i == 0 {
				separator = "{"
			}
			fmt.Fprintf(&out, `%s%s="%s"`, separator, m.labels[i], escape.Replace(m.labels[i+1]))
		}
		if len(m.labels) > 0 {
			out.WriteByte('}')
		}
		out.WriteByte(' ')
		out.WriteString(strconv.FormatFloat(m.value, 'g', -1, 64))
		out.WriteByte('\n')
	}
	_, err := io.WriteString(w, out.String())
	return err
}

// printTable writes a table for people: no lines, columns two spaces apart.
func (p *printer) printTable(header []string, rows [][]cell) error {
	var out strings.Builder
	header, rows = withoutEmpty(header, rows)
	table := tablewriter.NewTable(&out,
		tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
			Borders: tw.BorderNone,
			Symbols: tw.NewSymbols(tw.StyleNone),
			Settings: tw.Settings{
				Separators: tw.Separators{BetweenColumns: tw.Off, BetweenRows: tw.Off, ShowHeader: tw.Off},
				Lines:      tw.LinesNone,
			},
		})),
		tablewriter.WithHeaderAutoFormat(tw.Off),
		tablewriter.WithRowAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAutoWrap(tw.WrapNone),
		tablewriter.WithHeaderAlignment(tw.AlignLeft),
		tablewriter.WithRowAlignment(tw.AlignLeft),
		tablewriter.WithPadding(tw.Padding{Left: "", Right: "  ", Overwrite: true}),
		tablewriter.WithTrimSpace(tw.Off),
	)
	head := make([]string, len(header))
	for i, h := range header {
		head[i] = p.paint(cell{h, faintTone})
	}
	table.Header(head)
	for _, row := range rows {
		texts := make([]string, len(row))
		for i, c := range row {
			texts[i] = p.paint(c)
		}
		if err := table.Append(texts); err != nil {
			return err
		}
	}
	if err := table.Render(); err != nil {
		return err
	}
	for line := range strings.Lines(out.String()) {
		if _, err := io.WriteString(p.w, strings.TrimRight(line, " \n")+"\n"); err != nil {
			return err
		}
	}
	return nil
}

// withoutEmpty leaves out the last column if it says nothing in any row: a
// healthy replica needs no reason.
func withoutEmpty(header []string, rows [][]cell) ([]string, [][]cell) {
	last := len(header) - 1
	for _, row := range rows {
		if row[last].text != "" {
			return header, rows
		}
	}
	short := make([][]cell, len(rows))
	for i, row := range rows {
		short[i] = row[:last]
	}
	return header[:last], short
}

// paint colours a cell if colours are wanted.
func (p *printer) paint(c cell) string {
	if !p.colour || c.text == "" {
		return c.text
	}
	var attribute color.Attribute
	switch c.tone {
	case goodTone:
		attribute = color.FgGreen
	case warnTone:
		attribute = color.FgYellow
	case badTone:
		attribute = color.FgRed
	case faintTone:
		attribute = color.Faint
	default:
		return c.text
	}
	paint := color.New(attribute)
	paint.EnableColor()
	return paint.Sprint(c.text)
}
