package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mysqlrw/mysqlrw/lag"
)

func heartbeatCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:      "heartbeat",
		Usage:     "write a heartbeat row on the primary, for lag --method heartbeat",
		ArgsUsage: "TARGET",
		Description: `Writes the server's clock into its own row of a table that pt-heartbeat can read too, at
an interval, until Ctrl-C. It never writes on a read-only server. A lost connection is tried
again at the next beat.`,
		UsageText: example("heartbeat"),
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "table", Value: "mysqlrw.heartbeat", Usage: "database.table to write"},
			durationFlag("interval", time.Second, "time between two beats"),
			&cli.BoolFlag{Name: "create", Usage: "create the database and the table if they are not there"},
			&cli.BoolFlag{Name: "utc", Usage: "write UTC instead of the server's time zone"},
			&cli.BoolFlag{Name: "standby", Usage: "on a read-only server wait until it becomes writable"},
			&cli.BoolFlag{Name: "once", Usage: "write one beat and end"},
		}, connectionFlags()...),
		Action: action(func(c *cli.Context) error { return runHeartbeat(c.Context, env, c) }),
	}
}

func runHeartbeat(ctx context.Context, env *environment, c *cli.Context) error {
	if c.NArg() > 1 {
		return usagef("a heartbeat is written on one server, not on %d", c.NArg())
	}
	interval, _ := duration(c, "interval")
	if interval < 10*time.Millisecond {
		return usagef("--interval must be at least 10ms")
	}
	table := lag.HeartbeatTable{Name: c.String("table"), UTC: c.Bool("utc")}
	if _, err := lag.QuoteTable(table.Name); err != nil {
		return usagef("--table: %w", err)
	}
	k, err := newConnector(env, c)
	if err != nil {
		return err
	}
	s, err := k.open(c.Args().First())
	if err != nil {
		return err
	}
	defer s.db.Close()
	b := &beater{env: env, c: c, s: s, table: table, interval: interval}
	if err := b.first(ctx); err != nil || c.Bool("once") {
		return err
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		select {
		case <-ticker.C:
			b.beat(ctx)
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

// beater writes one server's beats and tells each change of its luck once.
type beater struct {
	env      *environment
	c        *cli.Context
	s        server
	table    lag.HeartbeatTable
	interval time.Duration
	trouble  string
}

// first makes the table and writes the first beat: what fails there is an
// error of the command, and not something to wait for.
func (b *beater) first(ctx context.Context) error {
	ctx, cancel := within(ctx, 10*time.Second)
	defer cancel()
	err := lag.Beat(ctx, b.s.db, b.table)
	if errors.Is(err, lag.ErrReadOnly) && b.c.Bool("standby") {
		b.tell(err)
		return nil
	}
	if err != nil && !errors.Is(err, lag.ErrReadOnly) && b.c.Bool("create") {
		if err = lag.CreateHeartbeatTable(ctx, b.s.db, b.table.Name); err == nil {
			err = lag.Beat(ctx, b.s.db, b.table)
		}
	}
	if err != nil {
		return explained(ctx, b.s, err)
	}
	return nil
}

func (b *beater) beat(ctx context.Context) {
	ctx, cancel := within(ctx, max(b.interval, 5*time.Second))
	defer cancel()
	err := lag.Beat(ctx, b.s.db, b.table)
	if ctx.Err() == nil || errors.Is(context.Cause(ctx), errNotAnswered) {
		b.tell(err)
	}
}

func (b *beater) tell(err error) {
	text := ""
	if err != nil {
		_, text = failure(err)
	}
	if text == b.trouble {
		return
	}
	b.trouble = text
	if text == "" {
		text = "writing again"
	}
	fmt.Fprintf(b.env.stderr, "mysqlrw heartbeat: %s: %s\n", b.s.name, text)
}
