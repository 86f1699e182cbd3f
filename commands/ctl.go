package commands

import (
	"context"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mysqlrw/mysqlrw/pkg/admin"
)

func ctlCommand(env *environment) *cli.Command {
	table := func(name, usage string, flags []cli.Flag, run func(context.Context, *ctl) error) *cli.Command {
		return ctlPart(env, name, "", usage, append(flags, outputFlags(false)...), run)
	}
	return &cli.Command{
		Name:  "ctl",
		Usage: "see and steer a running proxy",
		Description: `The proxy is the one at --admin, MYSQLRW_ADMIN or else http://127.0.0.1:6460: serve has such an
address with [admin] in its file, or with --admin. What changes something takes the token of
--token-file or MYSQLRW_ADMIN_TOKEN.

Exit codes: 0 done, 1 drain ended with something still running, 2 it was refused, 3 the proxy
cannot be reached.`,
		Subcommands: []*cli.Command{
			table("status", "the proxy as a whole", nil, ctlStatus),
			table("servers", "the servers: role, state, lag, weight, load", nil, ctlServers),
			table("sessions", "the clients, what they run and what they hold", []cli.Flag{
				&cli.StringFlag{Name: "user", Usage: "only those of one account"},
				&cli.StringFlag{Name: "server", Usage: "only those that a server is needed for"},
				&cli.IntFlag{Name: "limit", Value: 100, Usage: "at most so many, the oldest ones"},
			}, ctlSessions),
			table("route", "where statements ran, and why", nil, ctlRoute),
			table("config", "the configuration in force", []cli.Flag{
				&cli.BoolFlag{Name: "changed", Usage: "only what is not the default"},
			}, ctlConfig),
			ctlPart(env, "drain", "NAME", "take a replica out of reads, and wait until nothing needs it", []cli.Flag{
				durationFlag("timeout", time.Minute, "for how long is waited; it stays out of reads after that"),
				durationFlag("kill-after", 0, "kill what still needs it after D (default: never)"),
			}, ctlDrain),
			ctlPart(env, "resume", "NAME", "give a server the weights of the configuration again", nil, ctlResume),
			ctlPart(env, "weight", "NAME N", "give a server another share of reads, until resume or the end of the process", []cli.Flag{
				&cli.BoolFlag{Name: "as-primary", Usage: "its share while it is the primary"},
			}, ctlWeight),
			ctlPart(env, "set", "KEY=VALUE...", "set values over those of the file, such as policy.session-timeout=20ms", []cli.Flag{
				&cli.BoolFlag{Name: "apply-now", Usage: "also for sessions that are there, between two of their statements"},
			}, ctlSet),
			ctlPart(env, "unset", "KEY...", "go by the file again", nil, ctlUnset),
			ctlPart(env, "reload", "", "read the file again, all of it or nothing", nil, ctlReload),
			ctlPart(env, "kill", "ID...", "end clients", []cli.Flag{
				&cli.BoolFlag{Name: "query", Usage: "only the statement that runs"},
			}, ctlKill),
		},
	}
}

func ctlPart(env *environment, name, args, usage string, flags []cli.Flag, run func(context.Context, *ctl) error) *cli.Command {
	return &cli.Command{
		Name: name, Usage: usage, ArgsUsage: args, UsageText: example("ctl-" + name),
		Flags: append([]cli.Flag{
			&cli.StringFlag{Name: "admin", Usage: "URL of the proxy (default: MYSQLRW_ADMIN, or http://127.0.0.1:6460)"},
			&cli.StringFlag{Name: "token-file", Usage: "file whose first line is the token (default: MYSQLRW_ADMIN_TOKEN)"},
		}, flags...),
		Action: action(func(c *cli.Context) error {
			k, err := newCtl(env, c)
			if err != nil {
				return err
			}
			if want := len(strings.Fields(args)); !strings.HasSuffix(args, "...") && c.NArg() != want || want > 0 && c.NArg() == 0 {
				if args == "" {
					return usagef("takes no arguments")
				}
				return usagef("needs %s", args)
			}
			return run(c.Context, k)
		}),
	}
}

func ctlStatus(ctx context.Context, k *ctl) error {
	var s admin.Status
	if err := k.get(ctx, "status", &s); err != nil {
		return err
	}
	ready := cell{"yes", goodTone}
	if !s.Ready {
		ready = cell{"no: " + s.Why, badTone}
	}
	return newPrinter(k.env, k.c).print(document{
		header: []string{"READY", "PRIMARY", "CLIENTS", "ENDPOINTS", "VERSION", "STARTED"},
		rows: [][]cell{{
			ready,
			{text: dash(s.Primary)},
			{text: strconv.Itoa(s.Clients)},
			{text: strings.Join(s.Endpoint, " ")},
			{text: s.Version},
			{text: s.Started.UTC().Format(time.DateTime)},
		}},
		json: s,
	})
}

func ctlServers(ctx context.Context, k *ctl) error {
	var all []admin.ServerState
	if err := k.get(ctx, "servers", &all); err != nil {
		return err
	}
	d := document{
		header: []string{"SERVER", "ROLE", "STATE", "LAG", "MISSING", "WEIGHT", "ACTIVE", "CONNS", "READS/S", "OTHER/S", "P99", "WHY"},
		json:   all,
	}
	for i := range all {
		s := &all[i]
		active := strconv.Itoa(s.Active)
		if s.MaxConcurrent > 0 {
			active += fmt.Sprintf(" of %d, %d wait", s.MaxConcurrent, s.Queued)
		}
		p99 := s.ReadMilliseconds.P99
		if p99 == nil {
			p99 = s.OtherMilliseconds.P99
		}
		d.rows = append(d.rows, []cell{
			{text: s.Name},
			{text: s.Role},
			{s.State, stateTone(s.State)},
			{text: secondsText(s.LagSeconds, nil)},
			{text: countText(s.Missing)},
			weightCell(s),
			{text: active},
			{text: strconv.Itoa(s.Connections) + "/" + strconv.Itoa(s.MaxConnections)},
			{text: rateText(s.ReadsPerSecond)},
			{text: rateText(s.OthersPerSecond)},
			{text: millisText(p99)},
			{s.Why, faintTone},
		})
	}
	return newPrinter(k.env, k.c).print(d)
}

// weightCell tells what share a server has, and why not that of the configuration.
func weightCell(s *admin.ServerState) cell {
	own := s.ReplicaWeight
	if s.Role == "primary" {
		own = s.PrimaryWeight
	}
	text := strconv.Itoa(s.Weight)
	switch {
	case s.WeightChanged && own == 0 && s.Role == "replica":
		return cell{text + " drained", warnTone}
	case s.SlowStartSeconds > 0 && own > 0:
		return cell{text + " of " + strconv.Itoa(own), warnTone}
	case s.WeightChanged:
		return cell{text + " set", warnTone}
	}
	return cell{text: text}
}

func stateTone(state string) tone {
	switch state {
	case "online":
		return goodTone
	case "lagging", "unproven":
		return warnTone
	}
	return badTone
}

func ctlSessions(ctx context.Context, k *ctl) error {
	q := url.Values{"limit": {strconv.Itoa(k.c.Int("limit"))}}
	for _, name := range []string{"user", "server"} {
		if v := k.c.String(name); v != "" {
			q.Set(name, v)
		}
	}
	var all []admin.SessionState
	if err := k.get(ctx, "sessions?"+q.Encode(), &all); err != nil {
		return err
	}
	return newPrinter(k.env, k.c).print(sessionTable(all))
}

func sessionTable(all []admin.SessionState) document {
	d := document{
		header: []string{"ID", "USER", "CLIENT", "SCHEMA", "LEVEL", "AGE", "RUNS ON", "FOR", "TRANSACTION", "HOLDS", "LAST", "REASON"},
		json:   all,
	}
	for i := range all {
		s := &all[i]
		var holds []string
		for _, h := range s.Holds {
			holds = append(holds, strings.TrimSpace(h.Kind+" "+h.Name)+" on "+h.Server)
		}
		running := "-"
		if s.RunningSeconds > 0 {
			running = shortDuration(time.Duration(s.RunningSeconds * float64(time.Second)).Round(time.Millisecond))
		}
		d.rows = append(d.rows, []cell{
			{text: strconv.FormatUint(uint64(s.ID), 10)},
			{text: s.User},
			{text: s.Client},
			{text: dash(s.Schema)},
			{text: s.Level},
			{text: shortDuration(time.Duration(s.AgeSeconds) * time.Second)},
			{text: dash(s.Running)},
			{text: running},
			{text: dash(s.Transaction)},
			{text: dash(strings.Join(holds, ", "))},
			{text: dash(s.Last)},
			{s.Reason, faintTone},
		})
	}
	return d
}

func ctlRoute(ctx context.Context, k *ctl) error {
	var r admin.RouteState
	if err := k.get(ctx, "routes", &r); err != nil {
		return err
	}
	d := document{header: []string{"ENDPOINT", "SERVER", "ROLE", "LEVEL", "REASON", "STATEMENTS"}, json: r}
	for _, s := range r.Statements {
		d.rows = append(d.rows, []cell{
			{text: s.Endpoint}, {text: s.Server}, {text: s.Role}, {text: dash(s.Level)}, {text: s.Reason}, {text: strconv.FormatUint(s.Count, 10)},
		})
	}
	return newPrinter(k.env, k.c).print(d)
}

func ctlConfig(ctx context.Context, k *ctl) error {
	var all []admin.ConfigValue
	if err := k.get(ctx, "config", &all); err != nil {
		return err
	}
	d := document{header: []string{"KEY", "VALUE", "FROM"}}
	shown := []admin.ConfigValue{}
	for _, v := range all {
		if k.c.Bool("changed") && v.From == "default" {
			continue
		}
		shown = append(shown, v)
		t := plainTone
		if v.From == "set" {
			t = warnTone
		}
		d.rows = append(d.rows, []cell{{text: v.Key}, {text: v.Value}, {v.From, t}})
	}
	d.json = shown
	return newPrinter(k.env, k.c).print(d)
}

func dash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}

func millisText(v *float64) string {
	if v == nil {
		return "-"
	}
	return strconv.FormatFloat(*v, 'f', 2, 64) + "ms"
}

func rateText(v float64) string { return strconv.FormatFloat(v, 'f', 0, 64) }
