package commands

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mysqlrw/mysqlrw/pkg/status"
)

func statusCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:      "status",
		Usage:     "role, GTID sets and replication channels of servers, the same for every version",
		ArgsUsage: "TARGET...",
		Description: `Prints a record per server. --fields adds every column of the replica status under its newest
name; --format json has them all. --topology follows sources and replicas and draws the tree.
With --source, ERRANT is what a server has and its source has not.

Exit codes: 0 every server was read, 3 one was not.`,
		UsageText: example("status"),
		Flags: append(append([]cli.Flag{
			&cli.BoolFlag{Name: "topology", Usage: "walk sources and replicas and draw the tree"},
			&cli.BoolFlag{Name: "fields", Usage: "every field of every channel"},
			&cli.StringFlag{Name: "source", Usage: "compare with this server to find errant transactions"},
			durationFlag("timeout", 5*time.Second, "limit for each target"),
		}, outputFlags(false)...), connectionFlags()...),
		Action: action(func(c *cli.Context) error { return runStatus(c.Context, env, c) }),
	}
}

// statusRow is one record of the result. Its JSON keys are a contract.
type statusRow struct {
	Target        string       `json:"target"`
	Flavor        *string      `json:"flavor"`
	Version       *string      `json:"version"`
	Role          *string      `json:"role"`
	ReadOnly      *bool        `json:"read_only"`
	SuperReadOnly *bool        `json:"super_read_only"`
	ServerID      *uint32      `json:"server_id"`
	ServerUUID    *string      `json:"server_uuid"`
	GTIDMode      *string      `json:"gtid_mode"`
	Executed      *string      `json:"executed"`
	Purged        *string      `json:"purged"`
	BinaryLog     *string      `json:"binary_log"`
	SemiSync      semiSyncRow  `json:"semi_sync"`
	Channels      []channelRow `json:"channels"`
	Errant        *string      `json:"errant"`
	Reason        *string      `json:"reason"`
	Detail        *string      `json:"detail"`
	server        *status.Server
	err           error
}

type semiSyncRow struct {
	Source  *bool `json:"source"`
	Replica *bool `json:"replica"`
}

// channelRow is a channel as a JSON object: what is derived, then every
// column of the server's row in snake_case.
type channelRow struct{ channel *status.Channel }

// MarshalJSON keeps the columns in the server's order.
func (r channelRow) MarshalJSON() ([]byte, error) {
	var out bytes.Buffer
	c := r.channel
	pairs := []struct {
		key   string
		value any
	}{
		{"channel", c.Name},
		{"source", c.Source()},
		{"receiver", c.Receiver},
		{"applier", c.Applier},
		{"delay_seconds", c.Delay.Seconds()},
	}
	for _, f := range c.Fields {
		pairs = append(pairs, struct {
			key   string
			value any
		}{strings.ToLower(f.Name), fieldValue(f)})
	}
	out.WriteByte('{')
	for i, p := range pairs {
		if i > 0 {
			out.WriteByte(',')
		}
		data, err := json.Marshal(map[string]any{p.key: p.value})
		if err != nil {
			return nil, err
		}
		out.Write(data[1 : len(data)-1])
	}
	out.WriteByte('}')
	return out.Bytes(), nil
}

// fieldValue is null for NULL, and a number for a column that counts.
func fieldValue(f status.Field) any {
	if f.Value == nil {
		return nil
	}
	switch strings.ToLower(f.Name) {
	case "channel_name", "source_host", "source_user", "source_uuid":
		return *f.Value
	}
	if n, err := strconv.ParseInt(*f.Value, 10, 64); err == nil && strconv.FormatInt(n, 10) == *f.Value {
		return n
	}
	return *f.Value
}

// statusRun is one invocation of the command.
type statusRun struct {
	env     *environment
	c       *cli.Context
	k       *connector
	timeout time.Duration
}

func runStatus(ctx context.Context, env *environment, c *cli.Context) error {
	k, err := newConnector(env, c)
	if err != nil {
		return err
	}
	r := &statusRun{env: env, c: c, k: k}
	if r.timeout, _ = duration(c, "timeout"); r.timeout <= 0 {
		return usagef("--timeout must be more than 0")
	}
	if c.Bool("topology") {
		return r.topology(ctx)
	}
	servers, err := k.openAll(c.Args().Slice())
	if err != nil {
		return err
	}
	defer closeAll(servers)
	rows := make([]statusRow, len(servers))
	inParallel(servers, func(i int, s server) { rows[i] = r.read(ctx, s) })
	if err := r.errant(ctx, rows); err != nil {
		return err
	}
	return r.finish(ctx, servers, rows)
}

// finish prints the records and says which servers could not be read.
func (r *statusRun) finish(ctx context.Context, servers []server, rows []statusRow) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	p := newPrinter(r.env, r.c)
	if err := p.print(statusDocument(rows)); err != nil {
		return err
	}
	if r.c.Bool("fields") && p.format == "table" && !p.quiet {
		printFields(r.env, rows)
	}
	code := exitYes
	for i, row := range rows {
		if row.err != nil {
			code = exitUnknown
			explain(ctx, r.env.stderr, "mysqlrw status", servers[i], row.err)
		} else if len(row.server.Denied) > 0 {
			explainDenied(ctx, r.env.stderr, "mysqlrw status", servers[i], row.server)
		}
	}
	return answer(code)
}

func (r *statusRun) read(ctx context.Context, s server) statusRow {
	ctx, cancel := within(ctx, r.timeout)
	defer cancel()
	record, err := status.Read(ctx, s.db)
	return newStatusRow(s.name, record, err)
}

func newStatusRow(name string, s *status.Server, err error) statusRow {
	row := statusRow{Target: name, server: s, err: err, Channels: []channelRow{}}
	if err != nil {
		reason, detail := failure(err)
		row.Reason, row.Detail = &reason, &detail
		return row
	}
	kind, version, role := s.Flavor.String(), s.Text, s.Role().String()
	executed, purged := s.Executed.String(), s.Purged.String()
	row.Flavor, row.Version, row.Role = &kind, &version, &role
	row.ReadOnly, row.SuperReadOnly = &s.ReadOnly, s.SuperReadOnly
	row.ServerID, row.Executed, row.Purged = &s.ServerID, &executed, &purged
	row.SemiSync = semiSyncRow{s.SemiSync.Source, s.SemiSync.Replica}
	if s.UUID != "" {
		row.ServerUUID, row.GTIDMode = &s.UUID, &s.GTIDMode
	}
	if log := s.BinaryLog.String(); log != "" {
		row.BinaryLog = &log
	}
	for i := range s.Channels {
		row.Channels = append(row.Channels, channelRow{&s.Channels[i]})
	}
	return row
}

// errant asks --source after the targets: what it commits meanwhile must not
// look errant on them.
func (r *statusRun) errant(ctx context.Context, rows []statusRow) error {
	if r.c.String("source") == "" {
		return nil
	}
	source, err := askSource(ctx, r.c, r.k, status.Read)
	if err != nil {
		return err
	}
	for i := range rows {
		if rows[i].err != nil {
			continue
		}
		extra, err := errantOn(rows[i].server.Executed, source.Executed, source.UUID)
		if err != nil {
			return usagef("%s and --source: %w", rows[i].Target, err)
		}
		text := extra.String()
		rows[i].Errant = &text
	}
	return nil
}

func statusDocument(rows []statusRow) document {
	d := document{
		header: []string{"TARGET", "VERSION", "ROLE", "READ-ONLY", "CHANNEL", "SOURCE", "RECEIVER", "APPLIER", "DELAY", "SEMI-SYNC", "EXECUTED"},
		json:   rows,
	}
	compared := false
	for _, row := range rows {
		compared = compared || row.Errant != nil
	}
	if compared {
		d.header = append(d.header, "ERRANT")
	}
	for _, row := range rows {
		for i, cells := range statusCells(row) {
			if compared && i == 0 {
				cells = append(cells, errantCell(row.Errant))
			} else if compared {
				cells = append(cells, cell{})
			}
			d.rows = append(d.rows, cells)
		}
	}
	return d
}

func errantCell(errant *string) cell {
	switch {
	case errant == nil:
		return cell{text: "-"}
	case *errant == "":
		return cell{text: "none", tone: goodTone}
	default:
		return cell{text: *errant, tone: badTone}
	}
}

// statusCells returns a line per channel; what belongs to the server stands
// in the first one only.
func statusCells(row statusRow) [][]cell {
	if row.err != nil {
		line := []cell{{text: row.Target}, {text: *row.Reason, tone: badTone}}
		return [][]cell{append(line, make([]cell, 9)...)}
	}
	s := row.server
	server := []cell{
		{text: row.Target},
		{text: s.Flavor.String() + " " + s.Version.String()},
		{text: s.Role().String()},
		{text: readOnlyText(s)},
	}
	executed := cell{text: orDash(s.Executed.String())}
	semi := cell{text: semiSyncText(s.SemiSync)}
	if len(s.Channels) == 0 {
		return [][]cell{append(server, cell{text: "-"}, cell{text: "-"}, cell{text: "-"}, cell{text: "-"}, cell{text: "-"}, semi, executed)}
	}
	var lines [][]cell
	for i := range s.Channels {
		c := &s.Channels[i]
		line := append(append([]cell{}, server...),
			cell{text: channelName(&c.Name)},
			cell{text: c.Source()},
			cell{text: c.Receiver.String(), tone: threadTone(c.Receiver.String())},
			cell{text: c.Applier.String(), tone: threadTone(c.Applier.String())},
			cell{text: shortDuration(c.Delay)},
			semi, executed)
		lines = append(lines, line)
		server = []cell{{text: row.Target}, {}, {}, {}}
		semi, executed = cell{}, cell{}
	}
	return lines
}

func readOnlyText(s *status.Server) string {
	switch {
	case s.SuperReadOnly != nil && *s.SuperReadOnly:
		return "super"
	case s.ReadOnly:
		return "yes"
	default:
		return "no"
	}
}

func semiSyncText(s status.SemiSync) string {
	var parts []string
	if s.Source != nil && *s.Source {
		parts = append(parts, "source")
	}
	if s.Replica != nil && *s.Replica {
		parts = append(parts, "replica")
	}
	if parts == nil {
		return "off"
	}
	return strings.Join(parts, "+")
}

// printFields writes every column of every channel, as the client's \G does.
func printFields(env *environment, rows []statusRow) {
	for _, row := range rows {
		if row.server == nil {
			continue
		}
		for i := range row.server.Channels {
			c := &row.server.Channels[i]
			fmt.Fprintf(env.stdout, "\n%s, channel %s\n", row.Target, channelName(&c.Name))
			for _, f := range c.Fields {
				value := "NULL"
				if f.Value != nil {
					value = *f.Value
				}
				fmt.Fprintf(env.stdout, "%30s: %s\n", f.Name, value)
			}
		}
	}
}
