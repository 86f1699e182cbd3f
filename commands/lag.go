package commands

import (
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mysqlrw/mysqlrw/lag"
	"github.com/mysqlrw/mysqlrw/pkg/status"
	"github.com/mysqlrw/mysqlrw/waitpos"
)

func lagCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:      "lag",
		Usage:     "how far behind is each channel of a replica, and how is that known",
		ArgsUsage: "TARGET...",
		Description: `Prints a row per replica and channel, the worst one last. LAG is what exceeds the
configured DELAY; a lag that cannot be known is shown as "-" with the reason, never as 0.

With --max D the command is a gate: exit code 0 if every channel is within D, 1 if one is
over it, 3 if that cannot be told (stopped, unreachable, no replica). With --nagios the codes
are 0 OK, 1 WARNING (over --max), 2 CRITICAL (over --critical, or not replicating), 3 UNKNOWN.`,
		UsageText: example("lag"),
		Flags: append(append([]cli.Flag{
			durationFlag("max", 0, "exit 1 if a lag is over D"),
			enumFlag("method", "auto", "how to measure (see docs/lag.md)", lag.Methods()...),
			&cli.StringFlag{Name: "source", Usage: "the replicas' source; auto uses it to see what is not received yet. " +
				"Methods that need a source and have none given ask the one each channel names"},
			durationFlag("timeout", 5*time.Second, "limit for each target; how long gtid and position wait at most"),
			durationFlag("watch", 0, "measure again every D until Ctrl-C"),
			&cli.StringFlag{Name: "heartbeat-table", Usage: "database.table with a heartbeat; auto uses it"},
			&cli.UintFlag{Name: "heartbeat-server-id", Usage: "whose row to read (default: the channel's source)"},
			&cli.BoolFlag{Name: "heartbeat-utc", Usage: "the heartbeat is in UTC, not in the server's time zone"},
			durationFlag("heartbeat-interval", 0, "how often it is written: an age up to this is no lag"),
			&cli.BoolFlag{Name: "nagios", Usage: "one status line with performance data, and its exit codes"},
			durationFlag("critical", 0, "with --nagios: exit 2 if a lag is over D"),
		}, outputFlags(true)...), connectionFlags()...),
		Action: action(func(c *cli.Context) error { return runLag(c.Context, env, c) }),
	}
}

// lagRow is one row of the result. Its JSON keys are a contract.
type lagRow struct {
	Target   string   `json:"target"`
	Channel  *string  `json:"channel"` // null if there is none to name
	Source   *string  `json:"source"`
	Seconds  *float64 `json:"lag_seconds"`
	AtLeast  *float64 `json:"lag_at_least_seconds"`
	Reason   *string  `json:"reason"`
	Detail   *string  `json:"detail"`
	Method   *string  `json:"method"`
	Receive  *float64 `json:"receive_lag_seconds"`
	Apply    *float64 `json:"apply_lag_seconds"`
	Behind   *uint64  `json:"transactions_behind"`
	Delay    *float64 `json:"delay_seconds"`
	Receiver string   `json:"receiver"`
	Applier  string   `json:"applier"`

	lag lag.Lag
	err error // why the target could not be asked
}

// lagRun is one invocation of the command.
type lagRun struct {
	env     *environment
	c       *cli.Context
	k       *connector
	servers []server
	timeout time.Duration
	options lag.Options
	print   *printer
}

func runLag(ctx context.Context, env *environment, c *cli.Context) error {
	method, err := lag.ParseMethod(enum(c, "method"))
	if err != nil {
		return usagef("--method: %w", err)
	}
	interval, _ := duration(c, "heartbeat-interval")
	r := &lagRun{env: env, c: c, print: newPrinter(env, c)}
	r.timeout, _ = duration(c, "timeout")
	if r.timeout <= 0 {
		return usagef("--timeout must be more than 0")
	}
	r.options = lag.Options{Method: method, Budget: r.timeout, HeartbeatTable: lag.HeartbeatTable{
		Name: c.String("heartbeat-table"), ServerID: uint32(c.Uint("heartbeat-server-id")),
		UTC: c.Bool("heartbeat-utc"), Interval: interval,
	}}
	if name := r.options.HeartbeatTable.Name; name != "" {
		if _, err := lag.QuoteTable(name); err != nil {
			return usagef("--heartbeat-table: %w", err)
		}
	}
	if method == lag.Heartbeat && r.options.HeartbeatTable.Name == "" {
		return usagef("--method heartbeat needs --heartbeat-table database.table (mysqlrw heartbeat writes one)")
	}
	if limit, set := duration(c, "max"); set {
		// Not reached within the limit is the answer; waiting longer tells nothing new.
		r.options.Budget = min(r.timeout, limit+200*time.Millisecond)
	}
	if r.k, err = newConnector(env, c); err != nil {
		return err
	}
	if r.servers, err = r.k.openAll(c.Args().Slice()); err != nil {
		return err
	}
	defer closeAll(r.servers)
	if source := c.String("source"); source != "" { // a typing error is no lag
		s, err := r.k.open(source)
		if err != nil {
			return err
		}
		defer s.db.Close()
	}
	if every, set := duration(c, "watch"); set {
		return r.watch(ctx, every)
	}
	rows := r.measure(ctx)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return r.finish(ctx, rows)
}

// finish prints the rows and turns them into an exit code.
func (r *lagRun) finish(ctx context.Context, rows []lagRow) error {
	if r.c.Bool("nagios") {
		return r.nagios(rows)
	}
	if err := r.print.print(lagDocument(rows)); err != nil {
		return err
	}
	r.complain(ctx, rows)
	limit, gate := duration(r.c, "max")
	return answer(lagCode(rows, limit, gate))
}

// lagCode is the exit code: 3 if a target or a lag is unknown, but 1 as soon
// as one lag is certainly over the limit.
func lagCode(rows []lagRow, limit time.Duration, gate bool) int {
	code := exitYes
	for _, row := range rows {
		over, known := row.lag.Exceeds(limit)
		if row.err != nil {
			over, known = false, false
		}
		if !gate {
			_, known = row.lag.Duration()
			over = false
		}
		switch {
		case over:
			return exitNo
		case !known:
			code = exitUnknown
		}
	}
	return code
}

// complain says on stderr why targets could not be asked.
func (r *lagRun) complain(ctx context.Context, rows []lagRow) {
	for i, row := range rows {
		if row.err != nil && (i == 0 || rows[i-1].err != row.err) {
			explain(ctx, r.env.stderr, "mysqlrw lag", r.serverNamed(row.Target), row.err)
		}
	}
}

func (r *lagRun) serverNamed(name string) server {
	for _, s := range r.servers {
		if s.name == name {
			return s
		}
	}
	return server{name: name}
}

// measure asks every target at once and returns the rows in their order.
func (r *lagRun) measure(ctx context.Context) []lagRow {
	perServer := make([][]lagRow, len(r.servers))
	inParallel(r.servers, func(i int, s server) {
		perServer[i] = r.measureOne(ctx, s)
	})
	var rows []lagRow
	for _, part := range perServer {
		rows = append(rows, part...)
	}
	return rows
}

func (r *lagRun) measureOne(ctx context.Context, s server) []lagRow {
	limit := r.timeout
	if r.waits() { // a wait for the source's position may take the whole budget by itself
		limit += r.options.Budget
	}
	ctx, cancel := within(ctx, limit)
	defer cancel()
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return []lagRow{failedRow(s.name, err)}
	}
	defer conn.Close()
	o := r.options
	o.Wait = func(ctx context.Context, t waitpos.Target, w waitpos.Options) (waitpos.Result, error) {
		return waitpos.Wait(ctx, s.db, t, w)
	}
	sources := &sourceDialer{run: r}
	defer sources.close()
	o.Source = sources.forMethod(o.Method)
	samples, err := lag.Measure(ctx, conn, o)
	if err != nil {
		return []lagRow{failedRow(s.name, err)}
	}
	rows := make([]lagRow, len(samples))
	for i, sample := range samples {
		rows[i] = sampleRow(s.name, sample)
	}
	return rows
}

// waits reports whether the method may wait until the replica catches up.
func (r *lagRun) waits() bool {
	return r.c.String("source") != "" || r.options.Method == lag.GTID || r.options.Method == lag.Position
}

// sourceDialer opens the sources of one replica's channels.
type sourceDialer struct {
	run  *lagRun
	open []server
}

// forMethod returns how the source is reached: the one that was named, else
// for a method that cannot do without it the one that the channel names.
func (d *sourceDialer) forMethod(m lag.Method) func(context.Context, *status.Channel) (status.Querier, error) {
	named := d.run.c.String("source")
	if named == "" && m != lag.GTID && m != lag.Position {
		return nil
	}
	return func(_ context.Context, c *status.Channel) (status.Querier, error) {
		address := named
		if address == "" {
			address = c.Source()
		}
		s, err := d.run.k.open(address)
		if err != nil {
			return nil, fmt.Errorf("source %s: %w", address, err)
		}
		d.open = append(d.open, s)
		return s.db, nil
	}
}

func (d *sourceDialer) close() { closeAll(d.open) }

func failedRow(name string, err error) lagRow {
	reason, detail := failure(err)
	return lagRow{Target: name, Reason: &reason, Detail: &detail, Receiver: "unknown", Applier: "unknown", err: err}
}

func sampleRow(name string, s lag.Sample) lagRow {
	method := s.Method.String()
	row := lagRow{
		Target: name, Method: &method, lag: s.Lag,
		Seconds: seconds(s.Lag), Receive: seconds(s.Receive), Apply: seconds(s.Apply),
		Behind: s.Behind, Receiver: s.Receiver.String(), Applier: s.Applier.String(),
	}
	if s.Source != "" {
		delay := s.Delay.Seconds()
		row.Channel, row.Source, row.Delay = &s.Channel, &s.Source, &delay
	}
	if reason := s.Lag.Reason(); reason != lag.NoReason {
		text := reason.String()
		row.Reason = &text
		if least := s.Lag.AtLeast().Seconds(); least > 0 {
			row.AtLeast = &least
		}
	}
	if s.Detail != "" {
		row.Detail = &s.Detail
	}
	return row
}

// seconds returns a lag for JSON: nil, which becomes null, if it is unknown.
func seconds(l lag.Lag) *float64 {
	d, known := l.Duration()
	if !known {
		return nil
	}
	s := d.Seconds()
	return &s
}

func lagDocument(rows []lagRow) document {
	d := document{
		header: []string{"TARGET", "CHANNEL", "LAG", "METHOD", "RECEIVE", "APPLY", "BEHIND", "DELAY", "RECEIVER", "APPLIER", "REASON"},
		json:   rows,
	}
	for _, row := range rows {
		reason := reasonText(row.Reason, row.Detail)
		d.rows = append(d.rows, []cell{
			{text: row.Target},
			{text: channelName(row.Channel)},
			{text: secondsText(row.Seconds, row.AtLeast), tone: lagTone(row)},
			{text: orDash(text(row.Method)), tone: faintTone},
			{text: secondsText(row.Receive, nil)},
			{text: secondsText(row.Apply, nil)},
			{text: countText(row.Behind)},
			{text: secondsText(row.Delay, nil)},
			{text: row.Receiver, tone: threadTone(row.Receiver)},
			{text: row.Applier, tone: threadTone(row.Applier)},
			{text: reason, tone: warnTone},
		})
	}
	d.metrics = lagMetrics(rows)
	return d
}

func lagMetrics(rows []lagRow) []metric {
	var known, lags, behind []metric
	for _, row := range rows {
		labels := []string{"target", row.Target, "channel", text(row.Channel), "source", text(row.Source)}
		isKnown := 0.0
		if row.Seconds != nil {
			isKnown = 1
			lags = append(lags, metric{"mysqlrw_lag_seconds", "Replication lag beyond the configured delay; absent if unknown.", labels, *row.Seconds})
		}
		if row.Behind != nil {
			behind = append(behind, metric{"mysqlrw_transactions_behind", "Transactions that are not applied yet.", labels, float64(*row.Behind)})
		}
		withReason := append(append([]string{}, labels...), "reason", text(row.Reason))
		known = append(known, metric{"mysqlrw_lag_known", "1 if the lag is known, 0 with the reason if not.", withReason, isKnown})
	}
	return append(append(known, lags...), behind...)
}

func channelName(name *string) string {
	switch {
	case name == nil:
		return "-"
	case *name == "":
		return "(default)"
	default:
		return *name
	}
}

func text(s *string) string {
	if s == nil {
		return ""
	}
	return *s
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}

// reasonText joins a reason and its detail for people, unless they are the
// same words.
func reasonText(reason, detail *string) string {
	switch {
	case detail == nil, strings.ReplaceAll(text(reason), "-", " ") == *detail:
		return text(reason)
	case reason == nil:
		return "note: " + *detail
	default:
		return *reason + ": " + *detail
	}
}

// secondsText shows milliseconds; an unknown value is a dash, or what it is not below.
func secondsText(s, atLeast *float64) string {
	switch {
	case s != nil:
		return strconv.FormatFloat(*s, 'f', 3, 64) + "s"
	case atLeast != nil:
		return ">" + strconv.FormatFloat(*atLeast, 'f', 3, 64) + "s"
	default:
		return "-"
	}
}

func countText(n *uint64) string {
	if n == nil {
		return "-"
	}
	return strconv.FormatUint(*n, 10)
}

func lagTone(row lagRow) tone {
	switch {
	case row.Seconds == nil:
		return badTone
	case *row.Seconds >= 1:
		return warnTone
	default:
		return goodTone
	}
}

func threadTone(state string) tone {
	if state == "running" {
		return goodTone
	}
	return badTone
}
