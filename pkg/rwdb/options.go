package rwdb

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/topology"
	"github.com/mysqlrw/mysqlrw/route"
)

// Server is one server of a cluster. Which one is the primary is found out, and followed.
type Server struct {
	// Name is unique, and appears in observations, hints and errors; "" is the address of the DSN.
	Name string
	// DSN is how go-sql-driver/mysql connects to the server, with all of that driver's parameters.
	DSN string
	// Config is taken in the place of DSN if it is not nil. It is copied.
	Config *mysql.Config
	// Weight is the server's share of the reads while it is a replica; 0 means 1, and less than 0 none.
	Weight int
	// PrimaryWeight is its share while it is the primary. With 0 that is read only when no replica can be.
	PrimaryWeight int
	// Role fixes what the server may be; the zero value finds it out.
	Role topology.Role
	// Zone is where it stands, if Policy.Zone says where the program does.
	Zone string
}

// Defaults of Options.
const (
	DefaultPrimaryWait    = 10 * time.Second
	DefaultMonitorTimeout = topology.DefaultTimeout
)

// Options describe a cluster and what is promised of reads. Only Servers must be given.
type Options struct {
	Servers []Server
	// Policy changes what holds for statements that ask for nothing, which is route.DefaultPolicy. It is called
	// once; nil changes nothing. Endpoint and Method are for the proxy: only their zero values are taken.
	Policy func(*route.Policy)
	// MonitorUser and MonitorPassword are the account that watches the servers, where that of the DSNs may not
	// see their replication (it takes REPLICATION CLIENT on MySQL, REPLICA MONITOR and BINLOG MONITOR on MariaDB).
	MonitorUser, MonitorPassword string
	// MonitorInterval is the time between two checks of a server; 0 is topology.DefaultInterval. MonitorTimeout
	// bounds one check; 0 is DefaultMonitorTimeout.
	MonitorInterval, MonitorTimeout time.Duration
	// PrimaryWait is how long a statement waits for a primary when there is none; 0 is DefaultPrimaryWait, and
	// less than 0 not at all. The statement's context can end it earlier.
	PrimaryWait time.Duration
	// Observe is told where each statement ran, and why, when that is certain and its answer has begun. It is
	// called on the caller's goroutine and must not use the connection. nil is nobody.
	Observe func(context.Context, Observation)
	// Logger is told what becomes of the servers; nil logs nothing. It is never given a password or a statement.
	Logger *slog.Logger

	policy route.Policy
}

// complete fills in defaults and refuses what cannot work.
func (o *Options) complete() error {
	o.Servers = slices.Clone(o.Servers)
	o.policy = route.DefaultPolicy()
	if o.Policy != nil {
		o.Policy(&o.policy)
	}
	switch p := &o.policy; {
	case len(o.Servers) == 0:
		return errors.New("rwdb: no server is given")
	case len(o.Servers) > maxServers:
		return fmt.Errorf("rwdb: %d servers are given, and at most %d can be used", len(o.Servers), maxServers)
	case p.Endpoint != route.ReadWrite:
		return errors.New("rwdb: Endpoint is for the proxy: open a pool of the replicas instead")
	case p.Method != route.ByGTID:
		return fmt.Errorf("rwdb: Method %s is for the proxy: use gtid, or level eventual or strong", p.Method)
	}
	if o.PrimaryWait == 0 {
		o.PrimaryWait = DefaultPrimaryWait
	}
	if o.MonitorTimeout <= 0 {
		o.MonitorTimeout = DefaultMonitorTimeout
	}
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	for i := range o.Servers {
		if err := o.Servers[i].complete(i); err != nil {
			return err
		}
	}
	return nil
}

// maxServers is how many a set of bits has room for.
const maxServers = 64

// complete reads the DSN. The driver's errors can quote it, with the password in it, so only the ones without a
// value are passed on.
func (s *Server) complete(i int) error {
	what := s.Name
	if what == "" {
		what = fmt.Sprintf("number %d", i+1)
	}
	if s.Config == nil {
		config, err := mysql.ParseDSN(s.DSN)
		if err != nil {
			why := "want user:password@tcp(host:port)/schema?name=value"
			if text := err.Error(); strings.HasPrefix(text, "invalid DSN: ") && !strings.ContainsAny(text, `"`) {
				why = strings.TrimPrefix(text, "invalid DSN: ")
			}
			return fmt.Errorf("rwdb: server %s: its DSN cannot be read: %s", what, why)
		}
		s.Config = config
	}
	s.Config = s.Config.Clone()
	if s.Name == "" {
		s.Name = s.Config.Addr
	}
	switch {
	case s.Weight == 0:
		s.Weight = 1
	case s.Weight < 0:
		s.Weight = 0
	}
	if s.PrimaryWeight < 0 {
		return fmt.Errorf("rwdb: server %s: PrimaryWeight is less than 0", what)
	}
	return nil
}

// client is how the program's own connections are made. A network that was registered with the driver is left to
// it: then nothing can be heard on the connection.
func (s *Server) client() *mysql.Config {
	c := s.Config.Clone()
	switch {
	case c.DialFunc != nil:
		c.DialFunc = listening(c.DialFunc)
	case c.Net == "tcp" || c.Net == "tcp4" || c.Net == "tcp6" || c.Net == "unix":
		c.DialFunc = listening((&net.Dialer{}).DialContext)
	}
	return c
}

// watcher is how the monitor connects.
func (s *Server) watcher(o *Options) *mysql.Config {
	c := s.Config.Clone()
	if o.MonitorUser != "" {
		c.User, c.Passwd = o.MonitorUser, o.MonitorPassword
	}
	c.DBName, c.Params, c.InterpolateParams, c.ParseTime, c.ClientFoundRows = "", nil, true, false, false
	c.Timeout, c.ReadTimeout, c.WriteTimeout = o.MonitorTimeout, 0, 0
	c.Collation = "" // for which the driver might not put arguments into texts
	c.MultiStatements, c.ColumnsWithAlias, c.RejectReadOnly = false, false, false
	c.MaxAllowedPacket = mysql.NewConfig().MaxAllowedPacket // its own statements are longer than a small one
	c.Logger = &mysql.NopLogger{}
	return c
}
