package commands

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mysqlrw/mysqlrw/pkg/status"
	"github.com/mysqlrw/mysqlrw/pkg/target"
	"github.com/mysqlrw/mysqlrw/pkg/verify"
)

func verifyCommand(env *environment) *cli.Command {
	return &cli.Command{
		Name:      "verify",
		Usage:     "does what is behind an address keep what a consistency level promises",
		ArgsUsage: "TARGET...",
		Description: `Clients write numbers and read them, and every read is compared with what it had to see:
the session's own writes, nothing older than the session has read, nothing of which something
later was seen, everything that anybody had written. TARGET is a proxy or a server, of this
project or not; it sees statements of a usual client. The table that it takes is made, and
dropped at the end.

--consistency L is asked of every session if TARGET is mysqlrw, and judged in any case:
eventual promises nothing, weak monotonic reads, session own writes and order besides, global,
scc and strong linearizable reads. --max-staleness D goes with any of them. Without both it is
told what was kept.

With --library each TARGET is a server of one cluster, and what is checked is package rwdb, by which
Go programs read without a proxy.

A run without violations may have had nothing to find. With --negative-control it is repeated
at level eventual, or on the server of --control, and must find what the level excludes.

Exit codes: 0 kept, or nothing was promised; 1 not kept, or the control found nothing; 3 it
cannot be told; 130 interrupted, with the result so far.`,
		UsageText: example("verify"),
		Flags: append(append([]cli.Flag{
			&cli.BoolFlag{Name: "library", Usage: "check the Go library on the servers of a cluster"},
			&cli.StringFlag{Name: "write", Usage: "who takes the writes, if not TARGET"},
			enumFlag("consistency", "", "what is promised", "eventual", "weak", "session", "global", "scc", "strong"),
			durationFlag("max-staleness", 0, "promised besides: no read misses what was written longer ago than D"),
			&cli.BoolFlag{Name: "negative-control", Usage: "repeat it where violations must be found"},
			&cli.StringFlag{Name: "control", Usage: "server to repeat it on; it implies --negative-control"},
			enumFlag("workload", "registers", "what clients do (see docs/consistency.md)", verify.Workloads()...),
			&cli.IntFlag{Name: "clients", Value: 16, Usage: "sessions at the same time"},
			&cli.IntFlag{Name: "registers", Value: 16, Usage: "rows of the workload registers"},
			&cli.Float64Flag{Name: "write-ratio", Value: 0.1, Usage: "share of writes in the workload registers"},
			durationFlag("duration", 10*time.Second, "how long; without an end if only --reads is given"),
			&cli.Int64Flag{Name: "reads", Usage: "end after so many reads"},
			durationFlag("timeout", 10*time.Second, "limit for one statement"),
			&cli.StringFlag{Name: "schema", Value: "mysqlrw_verify", Usage: "where the table is made; it is dropped unless it was there"},
			&cli.StringSliceFlag{Name: "init", Usage: "statement at the beginning of every session, such as another proxy's setting"},
			&cli.Uint64Flag{Name: "seed", Usage: "of what the clients choose"},
			&cli.IntFlag{Name: "show", Value: 3, Usage: "violations of each kind that are shown"},
		}, outputFlags(false)...), connectionFlags()...),
		Action: action(func(c *cli.Context) error { return runVerify(c.Context, env, c) }),
	}
}

// verifying is one invocation of the command.
type verifying struct {
	env      *environment
	c        *cli.Context
	print    *printer
	progress *progress
	level    string // "" if none is promised
	promise  verify.Promise
	bound    time.Duration // of staleness, if bounded
	bounded  bool

	read, write server
	library     bool
}

const (
	control  = "control"  // how the negative control's column is called
	eventual = "eventual" // the level at which it runs
)

func runVerify(ctx context.Context, env *environment, c *cli.Context) error {
	v := &verifying{env: env, c: c, print: newPrinter(env, c), progress: newProgress(env, c, 0), level: enum(c, "consistency")}
	v.promise, _ = verify.PromiseOf(v.level)
	v.bound, v.bounded = duration(c, "max-staleness")
	v.library = c.Bool("library")
	switch {
	case v.library && (c.NArg() < 2 || c.String("write") != ""):
		return usagef("--library takes the servers of a cluster, the primary and its replicas, and finds out who takes the writes")
	case !v.library && c.NArg() > 1:
		return usagef("takes one TARGET; who takes the writes is named by --write")
	}
	o, err := v.options()
	if err != nil {
		return err
	}
	k, err := newConnector(env, c)
	if err != nil {
		return err
	}
	servers, err := v.open(k)
	if err != nil {
		return err
	}
	defer closeAll(servers)
	for _, s := range servers {
		s.db.SetMaxOpenConns(0)
	}
	v.read, v.write = servers[0], servers[0]
	if c.String("write") != "" {
		v.write = servers[1]
	}
	on, err := v.controlServer(servers)
	if err != nil {
		return err
	}
	results, err := v.both(ctx, o, on)
	if err != nil {
		return err
	}
	if err := v.show(results); err != nil {
		return err
	}
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	return v.judge(results)
}

// open opens what is checked, and the servers that flags name.
func (v *verifying) open(k *connector) ([]server, error) {
	if !v.library {
		return k.openAll(append([]string{v.c.Args().First()}, given(v.c, "write", control)...))
	}
	cluster, err := k.library(v.c.Args().Slice())
	if err != nil {
		return nil, err
	}
	servers := []server{cluster}
	if v.c.String(control) == "" {
		return servers, nil
	}
	named, err := k.openAll(given(v.c, control))
	if err != nil {
		closeAll(servers)
		return nil, err
	}
	return append(servers, named...), nil
}

// given returns the flags' values that are not empty.
func given(c *cli.Context, flags ...string) []string {
	var values []string
	for _, f := range flags {
		if text := c.String(f); text != "" {
			values = append(values, text)
		}
	}
	return values
}

// options are those of the run that is judged, but for the servers.
func (v *verifying) options() (verify.Options, error) {
	c := v.c
	o := verify.Options{
		Clients: c.Int("clients"), Registers: c.Int("registers"), WriteRatio: c.Float64("write-ratio"),
		Reads: c.Int64("reads"), Schema: c.String("schema"), Statements: c.StringSlice("init"),
		Seed: c.Uint64("seed"), Show: c.Int("show"), Now: v.env.now, Progress: v.progress.verify,
	}
	for i, name := range verify.Workloads() {
		if name == enum(c, "workload") {
			o.Workload = verify.Workload(i)
		}
	}
	var set bool
	if o.Duration, set = duration(c, "duration"); !set && o.Reads > 0 {
		o.Duration = 0
	}
	o.Timeout, _ = duration(c, "timeout")
	switch {
	case o.Timeout <= 0:
		return o, usagef("--timeout must be more than 0")
	case o.Duration <= 0 && o.Reads <= 0:
		return o, usagef("neither --duration nor --reads ends it")
	case o.Clients < 1 || o.Registers < 1 || o.Show < 1 || o.Reads < 0:
		return o, usagef("--clients, --registers, --show and --reads must be more than 0")
	case o.WriteRatio <= 0 || o.WriteRatio > 1:
		return o, usagef("--write-ratio must be more than 0 and not more than 1")
	}
	return o, nil
}

// controlServer returns the server of the negative control, nil without one.
func (v *verifying) controlServer(servers []server) (*server, error) {
	switch {
	case v.c.String(control) != "":
		return &servers[len(servers)-1], nil
	case v.c.Bool("negative-control"):
		return &v.read, nil
	}
	return nil, nil
}

// verified is one run and what it ran at.
type verified struct {
	name, level string
	result      *verify.Result
}

// both makes the run, and its control if there is to be one.
func (v *verifying) both(ctx context.Context, o verify.Options, on *server) ([]verified, error) {
	first, err := v.run(ctx, o, v.read, v.level, v.settings(v.level, v.bounded))
	if err != nil {
		return nil, err
	}
	first.name = firstOf(v.level, "found")
	results := []verified{first}
	if on == nil || ctx.Err() != nil {
		return results, nil
	}
	second, err := v.run(ctx, o, *on, eventual, v.settings(eventual, false))
	if err != nil {
		return nil, err
	}
	second.name = control
	return append(results, second), nil
}

// settings are what sessions of mysqlrw are asked for.
func (v *verifying) settings(level string, bounded bool) []string {
	var out []string
	if level != "" {
		out = append(out, verify.Setting("consistency", level))
	}
	if bounded {
		out = append(out, verify.Setting("max_staleness", v.bound.String()))
	}
	return out
}

// run makes one run on a server, with settings if it is mysqlrw.
func (v *verifying) run(ctx context.Context, o verify.Options, on server, level string, settings []string) (verified, error) {
	out := verified{}
	switch {
	case v.library && on.db == v.read.db:
		out.level = level
		ctx = v.asking(ctx, level)
	case len(settings) > 0:
		asking, cancel := within(ctx, o.Timeout)
		knows, err := verify.KnowsSetting(asking, on.db, settings[0])
		cancel()
		if err != nil {
			return out, explained(ctx, on, err)
		}
		if knows {
			out.level = level
			o.Statements = append(settings, o.Statements...)
		} else if on.db == v.read.db && v.level != level {
			return out, usagef("%s has no level eventual for the control: name a server with --control", on.name)
		}
	}
	o.Read, o.Write = on.db, v.write.db
	result, err := verify.Run(ctx, o)
	v.progress.clear()
	out.result = result
	if result == nil {
		return out, v.explained(ctx, on, err)
	}
	if err != nil { // the table is still there
		fmt.Fprintf(v.env.stderr, "mysqlrw verify: %s\n", err)
	}
	return out, nil
}

// explained says what is wrong, and for lack of a privilege what mends it.
func (v *verifying) explained(ctx context.Context, on server, err error) error {
	s := v.write
	if errors.Is(err, verify.ErrNotReadable) {
		s = on
	}
	if errors.Is(err, verify.ErrReadOnly) {
		err = fmt.Errorf("%w: name it with --write", err)
	}
	if target.Explain(err).Kind == target.NoPrivilege {
		if account, unknown := status.Account(ctx, s.db); unknown == nil {
			err = fmt.Errorf("%s; as an administrator: GRANT CREATE, DROP, SELECT, INSERT, UPDATE ON `%s`.* TO %s",
				target.Explain(err), v.c.String("schema"), account)
		}
	}
	return explained(ctx, s, err)
}

// judge turns the results into an exit code, and says why.
func (v *verifying) judge(results []verified) error {
	r := results[0].result
	var reasons []string
	if v.level != "" && !r.Keeps(v.promise) {
		reasons = append(reasons, fmt.Sprintf("%s is not kept: %s", v.level, broken(r)))
	}
	if v.bounded && r.Staleness.Max > v.bound {
		reasons = append(reasons, fmt.Sprintf("a read was stale by %s, which is over %s", shortDuration(r.Staleness.Max), shortDuration(v.bound)))
	}
	if len(results) > 1 && !v.shows(results[1].result) {
		reasons = append(reasons, "the control found nothing either: this run has proved nothing")
	}
	for _, text := range reasons {
		fmt.Fprintf(v.env.stderr, "mysqlrw verify: %s: %s\n", v.read.name, text)
	}
	switch {
	case len(reasons) > 0:
		return answer(exitNo)
	case !r.Tested(v.promise):
		return cannotTell(&serverError{v.read.name, errors.New("too little was read or written to tell")})
	}
	return nil
}

// shows reports whether a control has found what the promise excludes.
func (v *verifying) shows(r *verify.Result) bool {
	if v.bounded && r.Staleness.Max <= v.bound {
		return false
	}
	return v.bounded && v.level == "" || r.Breaks(v.promise)
}

// broken names what was found.
func broken(r *verify.Result) string {
	var out []string
	add := func(n int64, text string) {
		if n > 0 {
			out = append(out, fmt.Sprintf("%d %s", n, text))
		}
	}
	add(r.OwnWrites.Found, "reads without the session's own write")
	add(r.MonotonicReads.Found, "reads that went back")
	add(r.WriteOrder.Found, "reads out of order")
	add(r.CrossSession.Found, "stale reads")
	add(r.Inversions, "reads older than another session's")
	add(r.Invented, "reads of what nobody wrote")
	if len(out) == 0 {
		return "the history is not linearizable"
	}
	return strings.Join(out, ", ")
}
