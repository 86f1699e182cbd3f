package commands

import (
	"database/sql"
	"fmt"
	"path/filepath"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/lag"
	"github.com/mysqlrw/mysqlrw/pkg/backend"
	"github.com/mysqlrw/mysqlrw/pkg/config"
	"github.com/mysqlrw/mysqlrw/pkg/pool"
	"github.com/mysqlrw/mysqlrw/pkg/proxy"
	"github.com/mysqlrw/mysqlrw/pkg/target"
	"github.com/mysqlrw/mysqlrw/pkg/topology"
)

// optionsFor translates a configuration. What has not changed since the one that is in force is the
// very same, so that the connections that were made with it stay.
func (s *serving) optionsFor(c *config.Config) (proxy.Options, error) {
	o := proxy.Options{
		CheckInterval: c.Monitor.Interval, CheckTimeout: c.Monitor.Timeout,
		Pool:           pool.Limits{Max: c.Pool.MaxConnections, MaxIdle: c.Pool.MaxIdle, Idle: c.Pool.IdleTimeout},
		ConnectTimeout: c.Timeouts.ConnectTimeout, LoginTimeout: c.Timeouts.LoginTimeout,
		IdleTimeout: c.Timeouts.IdleTimeout, PrimaryWait: c.Timeouts.PrimaryWait, QueueTimeout: c.Limits.QueueTimeout,
		MaxConnections: c.Limits.MaxConnections, MaxConnectionsPerUser: c.Limits.MaxConnectionsPerUser,
		PositionPiggyback: int(c.Limits.PositionPiggyback),
		PrimaryReadLimit:  c.Limits.PrimaryReadLimit, MaxPacket: int(c.Limits.MaxPacket), QueueLength: c.Limits.QueueLength,
		AcquireTimeout: c.Pool.AcquireTimeout, MaxLifetime: c.Pool.MaxLifetime, ProveAgain: c.Pool.ProveAgain, ServerIDs: c.Pool.ConnectionID == "server", Unshared: c.Pool.Multiplexing == "off",
		Heartbeat: lag.HeartbeatTable{
			Name: c.Monitor.HeartbeatTable, UTC: c.Monitor.HeartbeatZone == "utc", Interval: c.Monitor.HeartbeatInterval,
		},
		Log: s.log, SlowQuery: c.Log.SlowQuery, SlowStart: c.Timeouts.SlowStart, VersionInterval: c.Policy.VersionInterval,
	}
	if levels := c.Monitor.TrackTables; levels == "scc" || levels == "session" {
		o.Tracker = &proxy.Account{Name: c.Monitor.User, Password: c.Monitor.Password.Reveal()}
	}
	for i := range c.Servers {
		sv, err := s.server(&c.Servers[i], &c.Monitor)
		if err != nil {
			return o, err
		}
		o.Servers = append(o.Servers, sv)
	}
	for i := range c.Listeners {
		l := &c.Listeners[i]
		o.Listeners = append(o.Listeners, proxy.Listener{
			Network: networkOf(l.Where()), Address: l.Where(), Policy: c.RoutePolicy(*l), TLS: l.TLS(s.made),
			RequireTLS:    l.SSLMode == config.Required || l.SSLMode == config.VerifyCA,
			ProxyProtocol: l.ProxyProtocol, MaxConnections: l.MaxConnections,
		})
	}
	for _, u := range c.Users {
		o.Accounts = append(o.Accounts, proxy.Account{Name: u.Name, Password: u.Password.Reveal()})
	}
	return o, nil
}

// networkOf tells the path of a socket from an address.
func networkOf(address string) string {
	if filepath.IsAbs(address) {
		return "unix"
	}
	return "tcp"
}

func (s *serving) server(c *config.Server, monitor *config.Monitor) (proxy.Server, error) {
	sv := proxy.Server{
		Name: c.Name, Network: networkOf(c.Address), Address: c.Address, Weight: c.Weight, PrimaryWeight: c.PrimaryWeight,
		Zone: c.Zone, MaxConcurrent: c.MaxConcurrentQueries, TLS: c.TLS(),
	}
	switch c.Role {
	case config.Primary:
		sv.Role = topology.FixedPrimary
	case config.Replica:
		sv.Role = topology.FixedReplica
	}
	switch c.SSLMode {
	case config.Disabled:
		sv.TLSMode = backend.TLSDisabled
	case config.Required, config.VerifyCA, config.VerifyIdentity:
		sv.TLSMode = backend.TLSRequired
	case config.AsClient:
		sv.TLSAsClient = true
	}
	sv.CompressAsClient = c.Compression == "as-client"
	if was := s.config.Load(); was != nil {
		for i := range was.Servers { // of which the options in force were made, in the same order
			if before := &was.Servers[i]; before.Name == c.Name && before.SameTLS(c) {
				sv.TLS = s.options.Servers[i].TLS
			}
		}
	}
	var err error
	sv.Monitor, err = monitorOf(&sv, monitor)
	return sv, err
}

// monitorOf returns what opens the monitor's connections to a server, with the same TLS as those of
// clients.
func monitorOf(sv *proxy.Server, m *config.Monitor) (func() (*sql.DB, error), error) {
	t, err := target.Parse(sv.Address, target.Settings{
		User: m.User, Password: target.Secret(m.Password.Reveal()), PasswordSet: true, ConnectTimeout: m.Timeout,
		SSLMode: target.SSLDisabled, // what it knows of TLS is in files
	})
	if err != nil {
		return nil, fmt.Errorf("server %s: %w", sv.Name, err)
	}
	conf, err := t.Config()
	if err != nil {
		return nil, fmt.Errorf("server %s: %w", sv.Name, err)
	}
	if sv.TLSMode == backend.TLSRequired || sv.TLSMode == backend.TLSPreferred && sv.Network != "unix" {
		conf.TLS, conf.AllowFallbackToPlaintext = sv.TLS, sv.TLSMode == backend.TLSPreferred
		conf.AllowCleartextPasswords = !conf.AllowFallbackToPlaintext || sv.Network == "unix"
	}
	return func() (*sql.DB, error) {
		c, err := mysql.NewConnector(conf)
		if err != nil {
			return nil, err
		}
		return sql.OpenDB(c), nil
	}, nil
}
