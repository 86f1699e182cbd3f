package commands

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/urfave/cli/v2"

	"github.com/mysqlrw/mysqlrw/lag"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/status"
	"github.com/mysqlrw/mysqlrw/route"
)

// asked is what a server said.
type asked struct {
	server   route.Server
	identity flavor.Server
	record   *status.Server // of the primary
	err      error
}

// liveWorld asks the servers that --primary and --replica name. A server that
// cannot be asked is part of it as offline; failed says that there is one, and
// stderr says why.
func liveWorld(ctx context.Context, env *environment, c *cli.Context) (w world, identities []flavor.Server, failed bool, err error) {
	limit, _ := duration(c, "timeout")
	if limit <= 0 {
		return w, nil, false, usagef("--timeout must be more than 0")
	}
	k, err := newConnector(env, c)
	if err != nil {
		return w, nil, false, err
	}
	servers, err := k.openAll(append([]string{c.String("primary")}, c.StringSlice("replica")...))
	if err != nil {
		return w, nil, false, err
	}
	defer closeAll(servers)
	answers := make([]asked, len(servers))
	inParallel(servers[1:], func(i int, s server) { answers[i+1] = askReplica(ctx, s, limit) })
	// After its replicas: they have nothing then that it has not.
	answers[0] = askPrimary(ctx, servers[0], limit)
	if ctx.Err() != nil {
		return w, nil, false, context.Cause(ctx)
	}
	for i, a := range answers {
		if w.snap.Find(a.server.Name) >= 0 {
			return w, nil, false, usagef("%s is named twice", a.server.Name)
		}
		if a.err != nil {
			failed = true
			explain(ctx, env.stderr, "mysqlrw route", servers[i], a.err)
		} else {
			identities = append(identities, a.identity)
		}
		w.snap.Servers = append(w.snap.Servers, a.server)
	}
	return w, identities, failed, w.primaryRecord(env, answers[0])
}

// primaryRecord keeps what the primary's next transaction will be called.
func (w *world) primaryRecord(env *environment, primary asked) error {
	r := primary.record
	if r == nil {
		return nil
	}
	w.flavor, w.server = r.Flavor, r.ServerID
	if r.UUID != "" {
		uuid, err := gtid.ParseUUID(r.UUID)
		if err != nil {
			return fmt.Errorf("read server_uuid: %w", err)
		}
		w.source = gtid.Source{UUID: uuid}
	}
	if r.ReadOnly {
		fmt.Fprintf(env.stderr, "mysqlrw route: %s: is read-only: as a primary it takes no writes\n", primary.server.Name)
	}
	return nil
}

func askPrimary(ctx context.Context, s server, limit time.Duration) asked {
	ctx, cancel := within(ctx, limit)
	defer cancel()
	a := asked{server: route.Server{Name: s.name, Role: route.Primary, State: route.Offline}}
	if a.record, a.err = status.Read(ctx, s.db); a.err != nil {
		_, a.server.Why = failure(a.err)
		return a
	}
	a.server.State, a.server.Position, a.identity = route.Online, a.record.Executed, a.record.Server
	return a
}

func askReplica(ctx context.Context, s server, limit time.Duration) asked {
	ctx, cancel := within(ctx, limit)
	defer cancel()
	a := asked{server: route.Server{Name: s.name, State: route.Offline, Weight: defaultWeight}}
	if a.err = a.askReplica(ctx, s, limit); a.err != nil {
		a.server.Why = problemText(a.err)
		var denied *status.PrivilegeError
		if errors.As(a.err, &denied) {
			a.server.State = route.Unproven
		}
	}
	return a
}

func (a *asked) askReplica(ctx context.Context, s server, limit time.Duration) (err error) {
	conn, err := s.db.Conn(ctx)
	if err != nil {
		return err
	}
	defer conn.Close()
	if a.identity, err = status.Identify(ctx, conn); err != nil {
		return err
	}
	// The position first: it is a lower bound.
	if a.server.Position, err = status.Executed(ctx, conn, a.identity.Flavor); err != nil {
		return err
	}
	samples, err := lag.Measure(ctx, conn, lag.Options{Budget: limit})
	if err != nil {
		return err
	}
	a.replication(samples)
	return nil
}

// replication makes one state and one lag of all channels: the worst of each.
func (a *asked) replication(samples []lag.Sample) {
	sv := &a.server
	sv.State, sv.LagKnown = route.Online, true
	for _, sample := range samples {
		d, known := sample.Lag.Duration()
		if !known {
			sv.LagKnown = false
			if reason := sample.Lag.Reason().String(); sv.Why == "" {
				sv.Why = reasonText(&reason, nonEmpty(sample.Detail))
			}
		}
		switch {
		case sample.Lag.Reason() == lag.NotAReplica:
			sv.State = route.Unproven
		case sample.Receiver != status.Running || sample.Applier != status.Running:
			sv.State = route.Broken
		}
		sv.Lag = max(sv.Lag, d+sample.Delay) // what a reader sees is older by both
	}
}

func nonEmpty(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// liveOptions fills in what the flags leave open about how the servers read a
// text.
func liveOptions(o *route.Options, identities []flavor.Server) {
	for i, s := range identities {
		version := versionNumber(s.Version)
		if i == 0 {
			o.Flavor, o.Oldest, o.Newest = s.Flavor, version, version
			continue
		}
		if s.Flavor != o.Flavor {
			o.Flavor = flavor.Unknown
		}
		o.Oldest, o.Newest = min(o.Oldest, version), max(o.Newest, version)
	}
}
