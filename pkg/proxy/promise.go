package proxy

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/status"
	"github.com/mysqlrw/mysqlrw/pkg/topology"
	"github.com/mysqlrw/mysqlrw/route"
)

// Promise asks the servers that answer now whether they can give the levels that the listeners
// promise. The error says which one cannot, why, and what to change. A server that does not answer is
// not judged.
func (p *Proxy) Promise(ctx context.Context) error {
	conf := p.conf.Load()
	c := p.cluster.Load()
	var all []error
	unable := sync.OnceValue(func() (why []error) { // they are asked once, for all listeners
		for i := range c.servers {
			c.servers[i].ask(ctx, func(q status.Querier) {
				if err := c.servers[i].canProve(ctx, q, c.byLog); err != nil {
					why = append(why, err)
				}
			})
		}
		return why
	})
	for i := range conf.Listeners {
		l := &conf.Listeners[i]
		if !needsPositions(&l.Policy) {
			continue
		}
		if len(c.servers) < 2 {
			all = append(all, fmt.Errorf("listener %s: level %s is about replicas, and there is none: add one, or use level strong", l.Address, l.Policy.Level))
			continue
		}
		for _, err := range unable() {
			all = append(all, fmt.Errorf("listener %s: level %s cannot be given: %w", l.Address, l.Policy.Level, err))
		}
	}
	if len(all) == 0 && conf.VersionInterval > 0 {
		for _, err := range unable() {
			all = append(all, fmt.Errorf("weak-read-version-refresh-interval: there is no version: %w", err))
		}
	}
	if len(all) == 0 {
		p.warn(ctx, c, conf.Listeners[0].Policy.Method)
	}
	return errors.Join(all...)
}

// warn says what a method is not worth.
func (p *Proxy) warn(ctx context.Context, c *cluster, m route.Method) {
	switch m {
	case route.BySleep:
		p.log.Warn("causal-method sleep proves nothing: a replica that is later than causal-sleep gives stale reads")
	case route.ByNoDelay:
		if len(c.servers) == 2 && c.semiSync(ctx) {
			return
		}
		p.log.Warn("causal-method no-delay is sound only with semi-synchronous replication and one replica: " +
			"what the primary has not sent yet is no delay")
	}
}

// semiSync tells whether the primary waits for a replica at every commit.
func (c *cluster) semiSync(ctx context.Context) (on bool) {
	for _, s := range c.servers {
		s.ask(ctx, func(q status.Querier) {
			server, err := status.Read(ctx, q)
			on = on || err == nil && server.SemiSync.Source != nil && *server.SemiSync.Source
		})
	}
	return on
}

// ask calls do with a connection to the server, unless there is none to be had: what that means the
// monitor tells.
func (s *server) ask(ctx context.Context, do func(status.Querier)) {
	db, err := s.Monitor()
	if err != nil {
		return
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return
	}
	defer conn.Close()
	do(conn)
}

// needsPositions tells whether a policy promises reads that take positions to be kept.
func needsPositions(p *route.Policy) bool {
	if p.Endpoint == route.ReadOnly {
		return false
	}
	switch p.Level {
	case route.Weak:
		return true
	case route.SessionLevel, route.Global, route.SCC:
		return p.Method.Proves()
	}
	return p.Monotonic
}

// canProve says what keeps a server from proving which transactions it has.
func (s *server) canProve(ctx context.Context, q status.Querier, byLog bool) error {
	server, err := status.Identify(ctx, q)
	switch {
	case err != nil:
		return nil
	case server.Flavor == flavor.MariaDB:
		return s.canProveMariaDB(ctx, q, byLog)
	case byLog:
		return s.canProveByLog(ctx, q)
	}
	at, err := status.AskStanding(ctx, q, server.Flavor)
	if err == nil && at.NoGTIDs {
		return fmt.Errorf("server %s has no GTIDs: set gtid_mode = ON and enforce_gtid_consistency = ON there, "+
			"or use causal-method position, or level eventual or strong", s.Name)
	}
	return nil
}

func (s *server) canProveMariaDB(ctx context.Context, q status.Querier, byLog bool) error {
	if byLog {
		return fmt.Errorf("server %s is a MariaDB, which has GTIDs: use causal-method gtid", s.Name)
	}
	row, err := status.QueryRow(ctx, q, "SELECT @@GLOBAL.log_bin AS log_bin")
	if err == nil && row.Text("log_bin") == "0" && s.Role != topology.FixedReplica {
		return fmt.Errorf("server %s keeps no binary log (log_bin = OFF), so its writes have no GTIDs: set log_bin, "+
			"or give it the role replica if it never becomes the primary", s.Name)
	}
	return nil
}

// canProveByLog says what keeps a MySQL server from telling its place in a binary log.
func (s *server) canProveByLog(ctx context.Context, q status.Querier) error {
	channels, err := status.Channels(ctx, q, flavor.MySQL)
	switch {
	case err != nil:
		return fmt.Errorf("server %s: %w", s.Name, err)
	case len(channels) > 1:
		return fmt.Errorf("server %s has %d sources, and a place in one binary log says nothing of the other: use causal-method gtid", s.Name, len(channels))
	case len(channels) == 1 && channels[0].Receiver == status.Running && channels[0].Exec.IsZero():
		return fmt.Errorf("server %s keeps no binary log positions (GTID_ONLY = 1): use causal-method gtid", s.Name)
	case len(channels) == 0 && s.Role != topology.FixedReplica:
		if _, err := status.BinaryLog(ctx, q, flavor.MySQL); errors.Is(err, status.ErrNoBinaryLog) {
			return fmt.Errorf("server %s keeps no binary log: set log_bin, or give it the role replica if it never becomes the primary", s.Name)
		}
	}
	return nil
}
