package main

import (
	"context"
	"errors"
	"os"

	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/figures"
	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/instant"
	"github.com/mysqlrw/mysqlrw/cmd/rwbench/internal/stage"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// instantLoad measures the proxies before servers that answer at once, so that they are what a statement waits
// for: a primary, and for mysqlrw, which wants one at level session, a replica that gets all the reads.
func (b *bench) instantLoad(ctx context.Context) (err error) {
	s, err := b.newStage(ctx, b.stageOptions(1))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	self, err := os.Executable()
	if err != nil {
		return err
	}
	servers, err := b.scripted(ctx, s, self)
	if err != nil {
		return err
	}
	all, err := b.candidates(ctx, b.instantStarters(s, servers))
	if err != nil {
		return err
	}
	if len(all) == 0 {
		return errNobody
	}
	for _, mode := range b.modes {
		for _, threads := range b.threads {
			client := instant.ClientOptions{
				User: stage.Account, Password: s.Password, Schema: stage.Database, Threads: threads, Prepared: mode == "prepared",
				Warmup: b.warmup, Time: b.seconds,
			}
			err := b.turns(ctx, figures.Setting{Load: "instant", Mode: mode, Threads: threads}, all,
				func(ctx context.Context, c stage.Candidate) (*figures.Sample, error) {
					one := client
					one.Address = c.HostPort()
					return instantTurn(ctx, self, &one, c.PID)
				})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// scripted starts a server for each of the cluster that looks as that one does. They stand for the whole
// cluster, the primary first.
func (b *bench) scripted(ctx context.Context, s *stage.Stage, self string) ([]stage.Server, error) {
	primary := s.Cluster.Primary()
	o := &instant.ServerOptions{
		Plugin: wire.SHA2Plugin, Accounts: map[string]string{stage.Account: s.Password, primary.User: primary.Password},
	}
	db := s.Open(s.Direct())
	defer db.Close()
	if err := db.QueryRowContext(ctx, "SELECT VERSION()").Scan(&o.Version); err != nil {
		return nil, err
	}
	if b.flavor == flavor.MariaDB {
		o.Plugin = wire.NativePlugin
		o.Version = "5.5.5-" + o.Version // as the servers up to 10.11 greet
	}
	servers := s.Servers()
	for i := range servers {
		o.Real = servers[i].Address
		p, address, err := instant.StartServer(ctx, self, o)
		if err != nil {
			return nil, err
		}
		s.Own(p)
		servers[i].Address = address
	}
	return servers, nil
}

func (b *bench) instantStarters(s *stage.Stage, servers []stage.Server) []starter {
	return []starter{
		{"direct", func(context.Context) (stage.Candidate, error) { return at("direct", servers[0].Address) }},
		{"haproxy", func(ctx context.Context) (stage.Candidate, error) { return s.HAProxy(ctx, servers[0].Address) }},
		{"mysqlrw", func(ctx context.Context) (stage.Candidate, error) {
			return s.MySQLRW(ctx, "mysqlrw", "session", servers)
		}},
	}
}

func instantTurn(ctx context.Context, self string, o *instant.ClientOptions, pid int) (*figures.Sample, error) {
	ctx, cancel := context.WithTimeout(ctx, 2*(o.Warmup+o.Time)+spare)
	defer cancel()
	r, used, err := instant.Run(ctx, self, o, pid)
	if err != nil {
		return nil, err
	}
	sample := &figures.Sample{QPS: round(float64(r.Queries) / r.Seconds), P50: round3(r.P50), P95: round3(r.P95), P99: round3(r.P99)}
	if pid != 0 {
		sample.Proxy = use(used.CPU, used.RSS, r.Queries)
	}
	return sample, nil
}
