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
			if err := c.canProve(ctx, i); err != nil {
				why = append(why, err)
			}
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
	return errors.Join(all...)
}

// needsPositions tells whether a policy promises reads that take positions to be kept.
func needsPositions(p *route.Policy) bool {
	switch p.Level {
	case route.Weak, route.SessionLevel, route.Global, route.SCC:
		return p.Endpoint == route.ReadWrite
	}
	return p.Monotonic && p.Endpoint == route.ReadWrite
}

// canProve says what keeps a server from proving which transactions it has.
func (c *cluster) canProve(ctx context.Context, i int) error {
	s := c.servers[i]
	db, err := s.Monitor()
	if err != nil {
		return nil
	}
	defer db.Close()
	conn, err := db.Conn(ctx)
	if err != nil {
		return nil // whatever it is, the monitor tells
	}
	defer conn.Close()
	server, err := status.Identify(ctx, conn)
	if err != nil {
		return nil
	}
	if server.Flavor == flavor.MariaDB {
		row, err := status.QueryRow(ctx, conn, "SELECT @@GLOBAL.log_bin AS log_bin")
		if err == nil && row.Text("log_bin") == "0" && s.Role != topology.FixedReplica {
			return fmt.Errorf("server %s keeps no binary log (log_bin = OFF), so its writes have no GTIDs: set log_bin, "+
				"or give it the role replica if it never becomes the primary", s.Name)
		}
		return nil
	}
	at, err := status.AskStanding(ctx, conn, server.Flavor)
	if err == nil && at.NoGTIDs {
		return fmt.Errorf("server %s has no GTIDs: set gtid_mode = ON and enforce_gtid_consistency = ON there, or use level eventual or strong", s.Name)
	}
	return nil
}
