package commands

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mysqlrw/mysqlrw/pkg/config"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/route"
)

func routeCommand(env *environment) *cli.Command {
	flags := append(inCategory("Servers", []cli.Flag{
		&cli.StringFlag{Name: "config", Usage: "file of the proxy: its policy, and its servers' names, weights and zones"},
		&cli.StringFlag{Name: "state", Usage: "file with what is known of the servers, one a line (see docs/routing.md)"},
		&cli.BoolFlag{Name: "live", Usage: "ask real servers instead; no statement is executed"},
		&cli.StringFlag{Name: "primary", Usage: "with --live: TARGET that takes writes"},
		&cli.StringSliceFlag{Name: "replica", Category: "Servers", Usage: "with --live: TARGET of a replica (may be repeated)"},
		durationFlag("timeout", 5*time.Second, "with --live: limit for each target"),
		&cli.BoolFlag{Name: "candidates", Usage: "a table of every server below each read"},
	}), policyFlags()...)
	flags = append(append(flags, statementFlags()...), outputFlags(false)...)
	return &cli.Command{
		Name:      "route",
		Usage:     "where each statement of a session would go, and why",
		ArgsUsage: "[SQL...]",
		Description: `The statements are those of one session, in order: each says where it goes, and what it
changes for the next ones. The servers are those of --state or --live, else those of --config
as if they had everything, else an example of a primary with two replicas. The policy is that
of the first listener of --config; flags override it. No time passes: what the session writes
is on no replica yet.

` + statementHelp + `

Exit codes: 0 done, 2 the input cannot be read, 3 with --live a server could not be asked.`,
		UsageText: example("route"),
		Flags:     append(flags, connectionFlags()...),
		Action:    action(func(c *cli.Context) error { return runRoute(c.Context, env, c) }),
	}
}

const versionInterval = "weak-read-version-refresh-interval"

// policyFlags are the settings of the proxy that decide where reads go.
func policyFlags() []cli.Flag {
	p := route.DefaultPolicy()
	levels := make([]string, 0, route.Strong+1)
	for l := route.Eventual; l <= route.Strong; l++ {
		levels = append(levels, l.String())
	}
	return inCategory("Policy", []cli.Flag{
		enumFlag("consistency", p.Level.String(), "what reads are promised", levels...),
		durationFlag("max-lag", p.MaxLag, "a replica with more lag, or an unknown one, is not read; 0 is no limit"),
		durationFlag("max-staleness", p.MaxStaleness, "the same for reads at level weak"),
		durationFlag("session-timeout", p.SessionTimeout, "how long a read at level session waits for a replica"),
		durationFlag("global-timeout", p.GlobalTimeout, "the same at the levels global and scc"),
		enumFlag("timeout-action", "primary", "what follows a wait in vain", "primary", "error"),
		enumFlag("causal-method", p.Method.String(), "how the levels are kept", "gtid", "position", "no-delay", "sleep", "primary"),
		durationFlag("causal-sleep", p.Sleep, "how long causal-method sleep has a read wait after a write"),
		enumFlag("monotonic", "off", "on: reads at level eventual do not go back either", "off", "on"),
		durationFlag(versionInterval, 0, "over 0, reads at level weak all run on one replica: route takes the first that can be read"),
		enumFlag("token-on-reset", "keep", "whether what a session wrote counts after COM_RESET_CONNECTION", "keep", "drop"),
		&cli.UintFlag{Name: "min-reserved", Category: "Policy", Usage: "replicas that eventual reads keep, however late or broken"},
		enumFlag("balancer", "least-active", "which of several servers takes a read", "least-active", "weighted-round-robin"),
		&cli.StringFlag{Name: "zone", Usage: "servers of this zone are preferred"},
		&cli.BoolFlag{Name: "read-only-endpoint", Usage: "replicas only, whatever is asked for"},
		enumFlag("transaction-splitting", "off", "reads of a transaction may leave it, at READ COMMITTED", "off", "reads-before-write"),
		enumFlag("system-schemas", "primary", "where information_schema and its like are read", "primary", "replica"),
	})
}

// routePolicy is the policy of a configuration, or the default one, with what
// flags say.
func routePolicy(c *cli.Context, p route.Policy) route.Policy {
	if c.IsSet("consistency") {
		p.Level, _ = route.ParseLevel(enum(c, "consistency"))
	}
	for name, to := range map[string]*time.Duration{
		"max-lag": &p.MaxLag, "max-staleness": &p.MaxStaleness,
		"session-timeout": &p.SessionTimeout, "global-timeout": &p.GlobalTimeout, "causal-sleep": &p.Sleep,
	} {
		if d, set := duration(c, name); set {
			*to = d
		}
	}
	if c.IsSet("timeout-action") {
		p.ErrorOnTimeout = enum(c, "timeout-action") == "error"
	}
	if c.IsSet("causal-method") {
		p.Method, _ = route.ParseMethod(enum(c, "causal-method"))
	}
	if c.IsSet("monotonic") {
		p.Monotonic = enum(c, "monotonic") == "on"
	}
	if c.IsSet("token-on-reset") {
		p.DropToken = enum(c, "token-on-reset") == "drop"
	}
	if c.IsSet("min-reserved") {
		p.MinReserved = int(min(c.Uint("min-reserved"), 1<<20))
	}
	if c.IsSet("balancer") {
		p.Balancer = route.LeastActive
		if enum(c, "balancer") == "weighted-round-robin" {
			p.Balancer = route.WeightedRoundRobin
		}
	}
	if c.IsSet("zone") {
		p.Zone = c.String("zone")
	}
	if c.Bool("read-only-endpoint") {
		p.Endpoint = route.ReadOnly
	}
	if c.IsSet("transaction-splitting") {
		p.Splitting = route.SplitOff
		if enum(c, "transaction-splitting") == "reads-before-write" {
			p.Splitting = route.SplitBeforeWrite
		}
	}
	if c.IsSet("system-schemas") {
		p.SystemSchemasOnReplicas = enum(c, "system-schemas") == "replica"
	}
	return p
}

// routeRun is one invocation of the command.
type routeRun struct {
	env      *environment
	c        *cli.Context
	world    world
	config   *config.Config // nil without --config
	policy   route.Policy
	chooses  bool // which server reads at level weak run on
	session  route.Session
	rotation route.Rotation
	failed   bool // a server could not be asked
}

func runRoute(ctx context.Context, env *environment, c *cli.Context) error {
	r := &routeRun{env: env, c: c}
	if err := r.settings(); err != nil {
		return err
	}
	o, err := statementOptions(c)
	if err != nil {
		return err
	}
	o.SystemSchemasOnReplicas = r.policy.SystemSchemasOnReplicas
	r.session.Options = o
	texts, err := statementTexts(env, c, &r.session.Options.Options)
	if err != nil {
		return err
	}
	if err := r.servers(ctx); err != nil {
		return err
	}
	r.choose()
	p := newPrinter(env, c)
	t := routeTable{printer: p, width: lineWidth(env), candidates: c.Bool("candidates"), servers: r.world.snap.Servers}
	if p.format == "table" { // as they are before the first statement
		t.servers = append([]route.Server{}, t.servers...)
	}
	rows := []routeRow{}
	for text, err := range texts {
		if ctx.Err() != nil {
			return context.Cause(ctx)
		}
		if err != nil {
			return err
		}
		row := r.statement(text)
		if p.format == "plain" {
			if err := p.print(document{rows: [][]cell{plainRoute(row)}}); err != nil {
				return err
			}
		} else if !p.quiet {
			rows = append(rows, row)
		}
	}
	switch {
	case p.quiet, p.format == "plain":
	case p.format == "table":
		err = t.print(rows)
	default:
		err = p.print(document{json: rows})
	}
	if err == nil && r.failed {
		return answer(exitUnknown)
	}
	return err
}

// settings reads --config and the flags of the policy.
func (r *routeRun) settings() (err error) {
	p := route.DefaultPolicy()
	if r.c.IsSet("config") {
		if r.config, err = routeConfig(r.env, r.c); err != nil {
			return err
		}
		if p, err = policyOf(r.config, r.c.Bool("read-only-endpoint")); err != nil {
			return err
		}
	}
	r.policy = routePolicy(r.c, p)
	every, set := duration(r.c, versionInterval)
	r.chooses = set && every > 0 || !set && r.config != nil && r.config.Policy.VersionInterval > 0
	return nil
}

// servers finds out what is known of the servers.
func (r *routeRun) servers(ctx context.Context) (err error) {
	c, live := r.c, r.c.Bool("live")
	switch {
	case live && c.String("state") != "":
		return usagef("--live and --state exclude each other")
	case live && c.String("primary") == "":
		return usagef("--live needs --primary TARGET and one --replica TARGET for each replica")
	case !live && (c.String("primary") != "" || len(c.StringSlice("replica")) > 0):
		return usagef("--primary and --replica need --live")
	case live:
		identities, err := r.ask(ctx)
		if err == nil && enum(c, "flavor") == "" && c.String("server-version") == "" {
			liveOptions(&r.session.Options, identities)
		}
		return err
	case c.String("state") != "":
		r.world.snap, err = readState(c.String("state"))
	default:
		r.world.snap, err = exampleServers(r.session.Options.Flavor)
		note := "the servers are an example"
		if r.config != nil && err == nil {
			r.world.snap, note = configServers(r.config, r.world.snap), "the servers are taken to have everything"
		}
		if !c.Bool("quiet") {
			fmt.Fprintln(r.env.stderr, "mysqlrw route: no --state, no --live: "+note)
		}
	}
	r.world.flavor = r.session.Options.Flavor
	r.world.settle()
	return err
}

// choose says which server the reads at level weak run on, if it is one only. The proxy goes by what the servers call
// themselves, which nobody knows here.
func (r *routeRun) choose() {
	if !r.chooses {
		return
	}
	snap, p := &r.world.snap, r.policy
	p.Zone = ""
	chosen := snap.Primary()
	for _, cand := range slices.Backward(route.Candidates(nil, snap, &p, route.Query{Level: route.Weak})) {
		if cand.Readable() && snap.Servers[cand.Server].Role == route.Replica {
			chosen = cand.Server
		}
	}
	snap.Choose, snap.Chosen = true, route.Chosen{Server: chosen}
}

// statement decides for one statement and brings session and servers up to
// date.
func (r *routeRun) statement(t sqlText) routeRow {
	s := &r.session
	st := route.Classify(t.text, &s.Options)
	row := routeRow{statementRow: newStatementRow(t, st, &s.Options)}
	d := s.Decide(&st, t.text, &r.policy, &r.world.snap, &r.rotation)
	row.decided(&d, &r.world.snap)
	row.Candidates = r.candidates()
	row.before = s.Holds()
	row.transaction = s.Transaction
	out := r.world.run(s, &st, &d)
	s.Apply(&st, t.text, &d, &r.world.snap, out)
	row.applied(s, out)
	return row
}

// candidates returns how each server stands to the read that has just been
// decided; a statement that chose among no servers has none.
func (r *routeRun) candidates() []candidateRow {
	rows := []candidateRow{}
	for _, cand := range r.session.Candidates() {
		sv := &r.world.snap.Servers[cand.Server]
		row := candidateRow{
			Name: sv.Name, Readable: cand.Readable(), Why: cand.Why.String(), Weight: sv.Weight,
			Position: nonEmpty(positionText(sv.Position)), Role: sv.Role.String(), State: sv.State.String(), Behind: cand.Behind,
			Detail: nonEmpty(sv.Why),
		}
		if sv.LagKnown {
			seconds := sv.Lag.Seconds()
			row.Lag = &seconds
		}
		rows = append(rows, row)
	}
	return rows
}

func (r *routeRun) ask(ctx context.Context) (identities []flavor.Server, err error) {
	r.world, identities, r.failed, err = liveWorld(ctx, r.env, r.c)
	if r.config != nil {
		configured(r.config, r.world.snap.Servers)
	}
	r.world.settle()
	return identities, err
}
