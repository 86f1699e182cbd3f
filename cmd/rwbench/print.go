package main

import (
	"fmt"
	"io"
	"math"
	"strings"
	"time"

	"github.com/olekukonko/tablewriter"
	"github.com/olekukonko/tablewriter/renderer"
	"github.com/olekukonko/tablewriter/tw"

	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/figures"
)

// printGrids prints the tables as the product's commands print theirs: no lines, columns two spaces apart.
func printGrids(w io.Writer, d *figures.Document) error {
	for _, g := range d.Grids() {
		if _, err := fmt.Fprintf(w, "\n%s\n%s\n\n", g.Title, strings.Join(g.Notes, "\n")); err != nil {
			return err
		}
		var out strings.Builder
		table := tablewriter.NewTable(&out,
			tablewriter.WithRenderer(renderer.NewBlueprint(tw.Rendition{
				Borders: tw.BorderNone,
				Symbols: tw.NewSymbols(tw.StyleNone),
				Settings: tw.Settings{
					Separators: tw.Separators{BetweenColumns: tw.Off, BetweenRows: tw.Off, ShowHeader: tw.Off},
					Lines:      tw.LinesNone,
				},
			})),
			tablewriter.WithHeaderAutoFormat(tw.Off), tablewriter.WithRowAutoWrap(tw.WrapNone), tablewriter.WithHeaderAutoWrap(tw.WrapNone),
			tablewriter.WithHeaderAlignment(tw.AlignLeft), tablewriter.WithRowAlignment(tw.AlignLeft),
			tablewriter.WithPadding(tw.Padding{Left: "", Right: "  ", Overwrite: true}), tablewriter.WithTrimSpace(tw.Off),
		)
		table.Header(g.Header)
		for _, row := range g.Rows {
			if err := table.Append(row); err != nil {
				return err
			}
		}
		if err := table.Render(); err != nil {
			return err
		}
		for line := range strings.Lines(out.String()) {
			if _, err := io.WriteString(w, strings.TrimRight(line, " \n")+"\n"); err != nil {
				return err
			}
		}
	}
	return nil
}

// round keeps a hundredth: more digits are noise that makes the file of figures long.
func round(v float64) float64 { return math.Round(v*100) / 100 }

// round3 keeps a microsecond of what is in ms.
func round3(v float64) float64 { return math.Round(v*1000) / 1000 }

// use is what a proxy used for so many queries.
func use(cpu time.Duration, rss, queries int64) *figures.ProxyUse {
	return &figures.ProxyUse{CPU: round(cpu.Seconds() / float64(queries) * 1e6), RSS: round(float64(rss) / (1 << 20))}
}
