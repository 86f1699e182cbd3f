package proxy

import (
	"crypto/tls"
	"database/sql"
	"errors"
	"fmt"
	"log/slog"
	"net/netip"
	"slices"
	"time"

	"github.com/mysqlrw/mysqlrw/lag"
	"github.com/mysqlrw/mysqlrw/pkg/backend"
	"github.com/mysqlrw/mysqlrw/pkg/pool"
	"github.com/mysqlrw/mysqlrw/pkg/topology"
	"github.com/mysqlrw/mysqlrw/route"
)

// Options are everything that a Proxy is told. A Proxy keeps its own copy of the lists in them, so a caller may
// change its own for the next Reload; what they point to is read only once given.
type Options struct {
	Servers   []Server
	Listeners []Listener
	// Accounts are optional: the proxy learns a password when a client sends it in full.
	Accounts []Account

	// Tracker is who follows the primary's binary log for level scc and Policy.TrackTables: an account with the
	// privileges that tracker.Options names. Nil is nobody: scc waits as global does.
	Tracker *Account

	// CheckInterval and CheckTimeout are the monitor's; see topology.Options for 0.
	CheckInterval, CheckTimeout time.Duration

	// Heartbeat is the table that lag is measured by; without a name it is measured by what the
	// servers tell.
	Heartbeat lag.HeartbeatTable

	Pool pool.Limits // of each server

	ConnectTimeout time.Duration // to a server; 0 is no bound
	LoginTimeout   time.Duration // of a client; 0 is no bound
	IdleTimeout    time.Duration // of a client; 0 is no bound
	PrimaryWait    time.Duration // for how long a write waits for a primary
	// ProveAgain is how old the proof of a password may be for a login that costs no server anything; 0
	// is DefaultProveAgain.
	ProveAgain time.Duration
	// MaxLifetime is the age over which a connection is given to no further session, which may have
	// other privileges than the one that it was opened for; 0 is DefaultMaxLifetime.
	MaxLifetime time.Duration
	// AcquireTimeout is how long a statement waits for a connection; 0 is DefaultAcquireTimeout.
	AcquireTimeout time.Duration

	// PrimaryReadLimit is how many reads that no replica can have run on the primary at a time; more of
	// them get an error. 0 is no limit.
	PrimaryReadLimit      int
	MaxConnections        int // clients; 0 is no limit
	MaxConnectionsPerUser int // 0 is no limit
	// PositionPiggyback is how many bytes a MySQL server's GTID set may have for its answers to carry it,
	// which costs the server more than a check now and then if it is large; 0 is DefaultPositionPiggyback.
	PositionPiggyback int
	MaxPacket         int // bytes of a command; 0 is 1 GB, as the servers' own limit
	// QueueLength is how many statements may wait for a server with MaxConcurrent, and QueueTimeout for
	// how long; 0 is no limit of its own.
	QueueLength  int
	QueueTimeout time.Duration
	// SlowStart is how long a replica that comes back takes to get its whole share of reads; 0 is at once.
	SlowStart time.Duration

	// VersionInterval is how often the version is computed that all replicas have reached, and has reads at level
	// weak all run on one replica, which every proxy in front of the same servers chooses alike. 0 does neither.
	VersionInterval time.Duration

	// Unshared gives each client connections of its own to the servers, from its login on, which end with
	// it and have its connection attributes.
	Unshared bool
	// ServerIDs has CONNECTION_ID() be that of the connection to the primary, which the session then
	// keeps: what it finds in the process list is itself. Otherwise it is the proxy's own number.
	ServerIDs bool

	// Applied has sessions that are there follow a listener's whole policy, as soon as nothing ties them to a server,
	// if it is another number than before. Otherwise they keep the level, and what else a session is
	// promised from its beginning to its end.
	Applied uint64
	// Events is told what happens to the servers, beside Log; nil is nobody. It must not wait. A reload does not
	// change it.
	Events func(topology.Event)
	// Log is told what an operator needs to know, a line an event. Nil drops it.
	Log *slog.Logger
	// SlowQuery logs statements that took at least as long; 0 logs none.
	SlowQuery time.Duration
}

// Server is one of the servers.
type Server struct {
	Name    string // unique
	Network string // "tcp" or "unix"
	Address string
	Role    topology.Role
	// Weight and PrimaryWeight are its share of reads as a replica and as the primary.
	Weight, PrimaryWeight int
	Zone                  string
	TLSMode               backend.TLSMode
	TLS                   *tls.Config // see backend.Options
	// TLSAsClient has a client's connections encrypted if and only if its own is; TLSMode is for the
	// proxy's own then. CompressAsClient has them compressed as its own is, if the server can.
	TLSAsClient, CompressAsClient bool
	// MaxConcurrent is a number of statements; 0 is no limit.
	MaxConcurrent int
	// Monitor opens a pool of connections for the monitor, which closes it.
	Monitor func() (*sql.DB, error)
}

// Listener is an address for clients.
type Listener struct {
	Network string // "tcp" or "unix"
	Address string
	Policy  route.Policy
	// TLS is nil for a listener without. RequireTLS refuses clients in the clear; a unix socket needs
	// none.
	TLS        *tls.Config
	RequireTLS bool
	// ProxyProtocol are the networks whose connections begin with a PROXY header.
	ProxyProtocol  []netip.Prefix
	MaxConnections int // 0 is no limit of its own
}

// Account is a user whose password is known from the start.
type Account struct {
	Name     string
	Password string
}

// own takes the lists out of the caller's hands, who may change them while sessions read.
func (o *Options) own() {
	o.Servers, o.Listeners, o.Accounts = slices.Clone(o.Servers), slices.Clone(o.Listeners), slices.Clone(o.Accounts)
}

// check says what cannot work.
func (o *Options) check() error {
	if len(o.Servers) == 0 {
		return errors.New("no server is given")
	}
	if len(o.Listeners) == 0 {
		return errors.New("no listener is given")
	}
	if o.Pool.Max < 1 {
		return fmt.Errorf("the pool may have %d connections: at least 1 is needed", o.Pool.Max)
	}
	for i := range o.Listeners[1:] {
		if a, b := o.Listeners[0].Policy.Method, o.Listeners[i+1].Policy.Method; a != b {
			return fmt.Errorf("one listener goes by method %s and another one by %s: positions are all of one kind", a, b)
		}
	}
	names := map[string]bool{}
	for _, s := range o.Servers {
		if names[s.Name] {
			return fmt.Errorf("two servers have the name %q", s.Name)
		}
		names[s.Name] = true
	}
	return nil
}

// DefaultAcquireTimeout is Options.AcquireTimeout when that is 0.
const DefaultAcquireTimeout = 30 * time.Second

// Defaults of Options.
const (
	DefaultPositionPiggyback = 512
	DefaultProveAgain        = 10 * time.Second
	DefaultMaxLifetime       = 10 * time.Minute
)

// byLog tells whether positions of MySQL servers are places in their binary logs.
func (o *Options) byLog() bool { return o.Listeners[0].Policy.Method == route.ByLogPosition }

func (o *Options) proveAgain() time.Duration {
	if o.ProveAgain > 0 {
		return o.ProveAgain
	}
	return DefaultProveAgain
}

func (o *Options) maxLifetime() time.Duration {
	if o.MaxLifetime > 0 {
		return o.MaxLifetime
	}
	return DefaultMaxLifetime
}

func (o *Options) checkTimeout() time.Duration {
	if o.CheckTimeout > 0 {
		return o.CheckTimeout
	}
	return topology.DefaultTimeout
}

func (o *Options) acquireTimeout() time.Duration {
	if o.AcquireTimeout > 0 {
		return o.AcquireTimeout
	}
	return DefaultAcquireTimeout
}

func (o *Options) positionPiggyback() int {
	if o.PositionPiggyback > 0 {
		return o.PositionPiggyback
	}
	return DefaultPositionPiggyback
}

func (o *Options) queueTimeout() time.Duration {
	if o.QueueTimeout > 0 {
		return o.QueueTimeout
	}
	return o.acquireTimeout()
}

func (o *Options) maxPacket() int {
	if o.MaxPacket > 0 {
		return o.MaxPacket
	}
	return 1 << 30
}
