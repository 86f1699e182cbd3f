package commands

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"sync"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/status"
	"github.com/mysqlrw/mysqlrw/waitpos"
)

const waitCodes = `Exit codes: 0 every target has it (with --any: one has); 1 not in time; 3 it cannot arrive or
cannot be told: the applier is stopped, the source has purged it, no source has it, a server
does not answer. A wait that is interrupted leaves no query on the server.`

func waitFlags(own ...cli.Flag) []cli.Flag {
	own = append(own,
		durationFlag("timeout", time.Minute, "how long to wait; 0 looks once"),
		&cli.BoolFlag{Name: "any", Usage: "one target is enough"},
	)
	return append(append(own, outputFlags(false)...), connectionFlags()...)
}

func waitGTIDCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:        "wait-gtid",
		Usage:       "wait until replicas have applied a GTID set, or all of their source",
		ArgsUsage:   "TARGET...",
		Description: waitCodes,
		UsageText:   example("wait-gtid"),
		Flags: waitFlags(
			&cli.StringFlag{Name: "gtid", Usage: "the set or position to wait for; @FILE or - reads it"},
			&cli.StringFlag{Name: "source", Usage: "wait for what this server has now; with --gtid, only ask it what can arrive"},
		),
		Action: action(func(c *cli.Context) error {
			if c.String("source") == "" && !c.IsSet("gtid") {
				return usagef("say what to wait for: --gtid SET or --source TARGET")
			}
			return runWait(c.Context, env, c, c.Args().Slice(), gtidGoal)
		}),
	}
}

func waitPosCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:        "wait-pos",
		Usage:       "wait until replicas have applied their source's binary log up to a position",
		ArgsUsage:   "FILE POS TARGET...",
		Description: waitCodes,
		UsageText:   example("wait-pos"),
		Flags: waitFlags(&cli.StringFlag{
			Name:  "channel",
			Usage: "replication channel, if a replica has several",
		}),
		Action: action(func(c *cli.Context) error {
			if c.NArg() < 2 {
				return usagef("needs a file and a position, as in mysqlrw wait-pos bin.000042 1337 TARGET")
			}
			return runWait(c.Context, env, c, c.Args().Slice()[2:], fileGoal)
		}),
	}
}

func waitSyncCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:        "wait-sync",
		Usage:       "wait for all of a source, by GTID if it has them, else by position",
		ArgsUsage:   "TARGET...",
		Description: waitCodes,
		UsageText:   example("wait-sync"),
		Flags: waitFlags(
			&cli.StringFlag{Name: "source", Usage: "wait for what this server has now"},
			&cli.StringFlag{Name: "channel", Usage: "replication channel, if a replica has several and no GTIDs"},
		),
		Action: action(func(c *cli.Context) error {
			if c.String("source") == "" {
				return usagef("name the source: --source TARGET")
			}
			return runWait(c.Context, env, c, c.Args().Slice(), syncGoal)
		}),
	}
}

// goal is what a command waits for.
type goal struct {
	target waitpos.Target
	source *waitpos.SourceState // nil: not asked
}

// gtidGoal reads --gtid, and asks --source.
func gtidGoal(ctx context.Context, env *environment, c *cli.Context, k *connector) (goal, error) {
	var g goal
	var v gtid.Value
	if c.IsSet("gtid") {
		text, err := readOperand(env, c.String("gtid"))
		if err != nil {
			return g, err
		}
		if v, err = gtid.ParseValue(text); err != nil {
			return g, usagef("--gtid: %w", err)
		}
		if log, ok := v.LogPos(); ok {
			return g, usagef("--gtid: %s is a place in a binary log: use wait-pos %s %d", text, log.File, log.Offset)
		}
		if v.IsEmpty() {
			return g, usagef("--gtid is empty: there is nothing to wait for")
		}
	}
	if c.String("source") != "" {
		state, err := askSource(ctx, c, k, waitpos.ReadSource)
		if err != nil {
			return g, err
		}
		g.source = state
		if !c.IsSet("gtid") {
			v = state.Executed
		}
	}
	g.target = waitpos.GTIDs(v)
	return g, nil
}

func fileGoal(_ context.Context, _ *environment, c *cli.Context, _ *connector) (goal, error) {
	offset, err := strconv.ParseUint(c.Args().Get(1), 10, 64)
	if err != nil {
		return goal{}, usagef("position %q is not a number", c.Args().Get(1))
	}
	target, err := waitpos.FilePosition(gtid.FilePos{File: c.Args().First(), Offset: offset})
	if err != nil {
		return goal{}, usagef("%w", err)
	}
	return goal{target: target}, nil
}

// syncGoal takes GTIDs unless the source is a MySQL server without them.
func syncGoal(ctx context.Context, _ *environment, c *cli.Context, k *connector) (goal, error) {
	return askSource(ctx, c, k, func(ctx context.Context, q status.Querier) (goal, error) {
		s, err := status.Read(ctx, q)
		if err != nil {
			return goal{}, err
		}
		if s.Flavor == flavor.MySQL && s.GTIDMode != "ON" {
			if s.BinaryLog.IsZero() {
				return goal{}, errors.New("the source has neither GTIDs nor a binary log position that may be read")
			}
			target, err := waitpos.FilePosition(s.BinaryLog)
			return goal{target: target}, err
		}
		state, err := waitpos.SourceOf(ctx, q, s)
		if err != nil {
			return goal{}, err
		}
		return goal{target: waitpos.GTIDs(state.Executed), source: state}, nil
	})
}

// askSource opens --source for one question.
func askSource[T any](ctx context.Context, c *cli.Context, k *connector, ask func(context.Context, status.Querier) (T, error)) (answer T, err error) {
	s, err := k.open(c.String("source"))
	if err != nil {
		return answer, err
	}
	defer s.db.Close()
	ctx, cancel := within(ctx, 10*time.Second)
	defer cancel()
	if answer, err = ask(ctx, s.db); err != nil {
		return answer, explained(ctx, s, err)
	}
	return answer, nil
}

// waitRow is one row of the result. Its JSON keys are a contract.
type waitRow struct {
	Target  string  `json:"target"`
	Reached bool    `json:"reached"`
	Waited  float64 `json:"waited_seconds"`
	Missing string  `json:"missing"`
	Count   *uint64 `json:"transactions_missing"`
	Reason  *string `json:"reason"`
	Detail  *string `json:"detail"`

	reason waitpos.Reason
	err    error
}

func runWait(ctx context.Context, env *environment, c *cli.Context, arguments []string,
	find func(context.Context, *environment, *cli.Context, *connector) (goal, error),
) error {
	k, err := newConnector(env, c)
	if err != nil {
		return err
	}
	servers, err := k.openAll(arguments)
	if err != nil {
		return err
	}
	defer closeAll(servers)
	g, err := find(ctx, env, c, k)
	if err != nil {
		return err
	}
	rows := waitAll(ctx, env, c, servers, g)
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	if err := newPrinter(env, c).print(waitDocument(rows)); err != nil {
		return err
	}
	for i, row := range rows {
		if row.err != nil {
			explain(ctx, env.stderr, "mysqlrw "+c.Command.Name, servers[i], row.err)
		}
	}
	return answer(waitCode(rows, c.Bool("any")))
}

// errSettled is the cause of a wait that ended because another target's
// result has decided the answer.
var errSettled = errors.New("the answer is known without this target")

// waitAll waits on every target at once. As soon as the answer is certain (one
// target can never have it, or with --any one has it) the others end too.
// Those are looked at once more, so that their rows tell the truth too.
func waitAll(ctx context.Context, env *environment, c *cli.Context, servers []server, g goal) []waitRow {
	whole := ctx
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	timeout, _ := duration(c, "timeout")
	bar := newProgress(env, c, len(servers))
	defer bar.clear()
	rows := make([]waitRow, len(servers))
	var settled sync.Mutex
	inParallel(servers, func(i int, s server) {
		result, err := waitpos.Wait(ctx, s.db, g.target, waitpos.Options{
			Timeout: timeout, Channel: c.String("channel"), Source: g.source,
			Progress: func(p waitpos.Progress) { bar.update(i, s.name, p) },
		})
		if err != nil && errors.Is(context.Cause(ctx), errSettled) {
			o := waitpos.Options{Channel: c.String("channel"), Source: g.source}
			if result, err = waitpos.Wait(whole, s.db, g.target, o); err == nil && result.Reason == waitpos.Timeout {
				err = errSettled
			}
		}
		settled.Lock()
		defer settled.Unlock()
		rows[i] = newWaitRow(s, g, result, err)
		never := !result.Reached && (err != nil || result.Reason != waitpos.Timeout)
		if c.Bool("any") && result.Reached || !c.Bool("any") && never {
			cancel(errSettled)
		}
	})
	return rows
}

func newWaitRow(s server, g goal, r waitpos.Result, err error) waitRow {
	row := waitRow{Target: s.name, Reached: r.Reached, Waited: r.Waited.Seconds(), Missing: r.Missing, reason: r.Reason, err: err}
	if r.Count > 0 {
		row.Count = &r.Count
	}
	reason, detail := r.Reason.String(), r.Detail
	switch {
	case errors.Is(err, errSettled):
		reason, detail, row.err = "not-needed", errSettled.Error(), nil
	case err != nil:
		reason, detail = failure(err)
		row.Missing = g.target.String()
	}
	if reason != "" {
		row.Reason = &reason
	}
	if detail != "" {
		row.Detail = &detail
	}
	return row
}

// waitCode is the exit code: what can never be reached, or cannot be told,
// outweighs what was late.
func waitCode(rows []waitRow, anyIsEnough bool) int {
	code, reached := exitYes, false
	for _, row := range rows {
		reached = reached || row.Reached
		switch {
		case row.Reached, text(row.Reason) == "not-needed":
		case waitpos.Misplaced(row.err):
			return exitUsage
		case row.err != nil || row.reason != waitpos.Timeout:
			code = exitUnknown
		case code == exitYes:
			code = exitNo
		}
	}
	if anyIsEnough && reached {
		return exitYes
	}
	return code
}

func waitDocument(rows []waitRow) document {
	d := document{header: []string{"TARGET", "REACHED", "WAITED", "MISSING", "REASON"}, json: rows}
	for _, row := range rows {
		reached := cell{text: "yes", tone: goodTone}
		if !row.Reached {
			reached = cell{text: "no", tone: badTone}
		}
		d.rows = append(d.rows, []cell{
			{text: row.Target},
			reached,
			{text: fmt.Sprintf("%.3fs", row.Waited)},
			{text: orDash(row.Missing)},
			{text: reasonText(row.Reason, row.Detail), tone: warnTone},
		})
	}
	return d
}
