package config

import (
	"net/netip"
	"time"

	"github.com/mysqlrw/mysqlrw/route"
)

// Mode is what a listener is for.
type Mode string

// The modes of listeners.
const (
	ReadWrite Mode = "read-write"
	ReadOnly  Mode = "read-only"
)

// Role says who decides whether a server is the primary: the servers
// themselves, by read_only and replication, or the operator.
type Role string

// The roles of servers.
const (
	Auto    Role = "auto"
	Primary Role = "primary"
	Replica Role = "replica"
)

// SSLMode has the meaning of the mysql client's --ssl-mode.
type SSLMode string

// The modes of TLS. A listener knows all but VerifyIdentity.
const (
	Disabled       SSLMode = "disabled"
	Preferred      SSLMode = "preferred"
	Required       SSLMode = "required"
	VerifyCA       SSLMode = "verify-ca"
	VerifyIdentity SSLMode = "verify-identity"
	AsClient       SSLMode = "as-client" // with a server: as the client has it
)

// Config is a whole file. The tags are what the decoder, the table of keys and
// Diff go by: toml is the key, effect when a changed value holds, enum the
// words allowed, min and max the range, default what stands in the table where
// another value gives the default.
type Config struct {
	Listeners []Listener `toml:"listener"`
	Servers   []Server   `toml:"server"`
	Monitor   Monitor    `toml:"monitor"`
	Policy    Policy     `toml:"policy"`
	Pool      Pool       `toml:"pool"`
	Timeouts  Timeouts   `toml:"timeouts"`
	Limits    Limits     `toml:"limits"`
	Admin     Admin      `toml:"admin"`
	Log       Log        `toml:"log"`
	Users     []User     `toml:"user"`
}

// Listener is an address that clients connect to: Address or Socket, never both.
type Listener struct {
	Address string `toml:"address" effect:"restart"`
	Socket  string `toml:"socket" effect:"restart"`
	Mode    Mode   `toml:"mode" enum:"read-write|read-only" effect:"session"`
	// Consistency is that of the policy where the listener has none.
	Consistency route.Level `toml:"consistency" effect:"session" default:"as in [policy]"`
	SSLMode     SSLMode     `toml:"ssl-mode" enum:"disabled|preferred|required|verify-ca" effect:"session"`
	// SSLCert and SSLKey are files; with neither the proxy makes a certificate.
	SSLCert string `toml:"ssl-cert" effect:"session"`
	SSLKey  string `toml:"ssl-key" effect:"session"`
	// SSLCA signs the certificates of clients, for VerifyCA.
	SSLCA string `toml:"ssl-ca" effect:"session"`
	// ProxyProtocol are the networks whose connections begin with a PROXY
	// header; from others it is never read.
	ProxyProtocol []netip.Prefix `toml:"proxy-protocol" effect:"session"`
	// MaxConnections is a number of clients; 0 is no limit of its own.
	MaxConnections int `toml:"max-connections" effect:"now"`

	loaded certificates
}

// Where returns the address or the path of the socket.
func (l Listener) Where() string {
	if l.Socket != "" {
		return l.Socket
	}
	return l.Address
}

// Server is one of the servers behind the proxy.
type Server struct {
	// Name is unique; it is the address as it was written if the file has none.
	Name string `toml:"name" effect:"now" default:"the address"`
	// Address is host:port, or the absolute path of a socket.
	Address string `toml:"address" effect:"now"`
	Role    Role   `toml:"role" enum:"auto|primary|replica" effect:"now"`
	// Weight is its share of reads while it is a replica, PrimaryWeight while
	// it is the primary. See route.Server for 0.
	Weight        int     `toml:"weight" max:"1000000" effect:"now"`
	PrimaryWeight int     `toml:"primary-weight" max:"1000000" effect:"now"`
	Zone          string  `toml:"zone" effect:"now"`
	SSLMode       SSLMode `toml:"ssl-mode" enum:"disabled|preferred|required|verify-ca|verify-identity|as-client" effect:"session"`
	SSLCA         string  `toml:"ssl-ca" effect:"session"`
	SSLCert       string  `toml:"ssl-cert" effect:"session"`
	SSLKey        string  `toml:"ssl-key" effect:"session"`
	Compression   string  `toml:"compression" enum:"off|as-client" effect:"session"`
	// MaxConcurrentQueries is a number of statements; 0 is no limit.
	MaxConcurrentQueries int `toml:"max-concurrent-queries" effect:"now"`

	loaded certificates
}

// WeightAs returns the share of reads that the server takes in that role.
func (s Server) WeightAs(r route.Role) int {
	if r == route.Primary {
		return s.PrimaryWeight
	}
	return s.Weight
}

// Monitor is the account that asks the servers for role, lag and position, and
// how often it does.
type Monitor struct {
	User string `toml:"user" effect:"now"`
	Credentials
	Interval time.Duration `toml:"interval" min:"10ms" max:"1h" effect:"now"`
	Timeout  time.Duration `toml:"timeout" min:"10ms" max:"1h" effect:"now"`
	// HeartbeatTable is database.table; "" is none.
	HeartbeatTable string `toml:"heartbeat-table" effect:"now"`
	// HeartbeatZone is that of the times in it, HeartbeatInterval how often it is written.
	HeartbeatZone     string        `toml:"heartbeat-zone" enum:"server|utc" effect:"now"`
	HeartbeatInterval time.Duration `toml:"heartbeat-interval" effect:"now"`
	// TrackTables says at which levels reads wait only for their tables, for which the primary's binary log is read.
	TrackTables string `toml:"track-tables" enum:"off|scc|session" effect:"now"`
}

// Credentials are a password by one of three ways. After loading, Password has
// it, whichever it was.
type Credentials struct {
	Password     Secret `toml:"password" effect:"now"`
	PasswordFile string `toml:"password-file" effect:"now"`
	PasswordEnv  string `toml:"password-env" effect:"now"`
}

// Policy is route.Policy as a file has it; Config.RoutePolicy translates.
type Policy struct {
	Consistency    route.Level   `toml:"consistency" effect:"session"`
	MaxLag         time.Duration `toml:"max-lag" effect:"now"`
	MaxStaleness   time.Duration `toml:"max-staleness" effect:"now"`
	SessionTimeout time.Duration `toml:"session-timeout" max:"1m" effect:"now"`
	GlobalTimeout  time.Duration `toml:"global-timeout" max:"1m" effect:"now"`
	TimeoutAction  string        `toml:"timeout-action" enum:"primary|error" effect:"now"`
	CausalMethod   string        `toml:"causal-method" enum:"gtid|position|no-delay|sleep|primary" effect:"now"`
	CausalSleep    time.Duration `toml:"causal-sleep" max:"1m" effect:"now"`
	Monotonic      string        `toml:"monotonic" enum:"off|on" effect:"session"`
	// VersionInterval is proxy.Options.VersionInterval; 0 is off.
	VersionInterval      time.Duration `toml:"weak-read-version-refresh-interval" effect:"now"`
	TokenOnReset         string        `toml:"token-on-reset" enum:"keep|drop" effect:"session"`
	MinReserved          int           `toml:"min-reserved" effect:"now"`
	Balancer             string        `toml:"balancer" enum:"least-active|weighted-round-robin" effect:"now"`
	Zone                 string        `toml:"zone" effect:"now"`
	TransactionSplitting string        `toml:"transaction-splitting" enum:"off|reads-before-write" effect:"session"`
	SystemSchemas        string        `toml:"system-schemas" enum:"primary|replica" effect:"session"`
}

// Pool is how many connections to each server there are.
type Pool struct {
	MaxConnections int `toml:"max-connections" min:"1" effect:"now"`
	MaxIdle        int `toml:"max-idle" effect:"now"`
	// IdleTimeout is how long a connection is kept that nobody uses.
	IdleTimeout time.Duration `toml:"idle-timeout" effect:"now"`
	// AcquireTimeout is how long a statement waits for a connection.
	AcquireTimeout time.Duration `toml:"acquire-timeout" min:"1ms" effect:"now"`
	// MaxLifetime is the age over which a connection is given to no other client, and ProveAgain that
	// of a password's proof over which a server is asked again.
	MaxLifetime time.Duration `toml:"max-lifetime" min:"1s" effect:"now"`
	ProveAgain  time.Duration `toml:"prove-again" min:"1ms" effect:"now"`
	// Multiplexing says whether clients share connections.
	Multiplexing string `toml:"multiplexing" enum:"on|off" effect:"session"`
	// ConnectionID says whose number CONNECTION_ID() is.
	ConnectionID string `toml:"connection-id" enum:"proxy|server" effect:"now"`
}

// Timeouts are the limits of time; 0 is none.
type Timeouts struct {
	ConnectTimeout time.Duration `toml:"connect-timeout" min:"1ms" effect:"now"`
	LoginTimeout   time.Duration `toml:"login-timeout" min:"1ms" effect:"session"`
	IdleTimeout    time.Duration `toml:"idle-timeout" effect:"session"`
	PrimaryWait    time.Duration `toml:"primary-wait" effect:"now"`
	DrainTimeout   time.Duration `toml:"drain-timeout" effect:"now"`
	SlowStart      time.Duration `toml:"slow-start" max:"1h" effect:"now"`
}

// Limits are the limits of numbers; 0 is none.
type Limits struct {
	MaxConnections        int           `toml:"max-connections" effect:"now"`
	MaxConnectionsPerUser int           `toml:"max-connections-per-user" effect:"now"`
	PrimaryReadLimit      int           `toml:"primary-read-limit" effect:"now"`
	QueueLength           int           `toml:"queue-length" effect:"now"`
	QueueTimeout          time.Duration `toml:"queue-timeout" effect:"now"`
	MaxPacket             Size          `toml:"max-packet" min:"1K" max:"1G" effect:"session"`
	// PositionPiggyback is the length of a server's GTID set over which answers do not carry it.
	PositionPiggyback Size `toml:"position-piggyback-max" min:"1" max:"1M" effect:"now"`
}

// Admin is the HTTP address for operators. Without the table there is none.
type Admin struct {
	// Address is host:port; "" is that there is none.
	Address   string `toml:"address" effect:"restart" default:"127.0.0.1:6460"`
	TokenFile string `toml:"token-file" effect:"now"`
	TokenEnv  string `toml:"token-env" effect:"now"`
	Pprof     string `toml:"pprof" enum:"off|on" effect:"restart"`

	token Secret
}

// Token returns what a caller must know to change anything; not set, nobody can.
func (a Admin) Token() Secret { return a.token }

// Log is what is written to stderr.
type Log struct {
	Format string `toml:"format" enum:"text|json" effect:"restart"`
	Level  string `toml:"level" enum:"debug|info|warn|error" effect:"now"`
	// SlowQuery logs statements that took at least as long; 0 is off.
	SlowQuery time.Duration `toml:"slow-query" effect:"now"`
}

// User is an account whose clients need no full authentication to begin with.
type User struct {
	Name string `toml:"name" effect:"session"`
	Credentials
}

func defaultListener() Listener {
	return Listener{Mode: ReadWrite, Consistency: route.DefaultPolicy().Level, SSLMode: Preferred}
}

func defaultServer() Server {
	return Server{Role: Auto, Weight: 100, SSLMode: Preferred, Compression: "off"}
}

// defaults is a file without a line.
func defaults() *Config {
	return &Config{
		Monitor: Monitor{Interval: time.Second, Timeout: 2 * time.Second, HeartbeatZone: "server", TrackTables: "off"},
		Policy:  policyFrom(route.DefaultPolicy()),
		Pool: Pool{
			MaxConnections: 100, MaxIdle: 50, IdleTimeout: time.Minute, AcquireTimeout: 30 * time.Second,
			MaxLifetime: 10 * time.Minute, ProveAgain: 10 * time.Second, Multiplexing: "on", ConnectionID: "proxy",
		},
		Timeouts: Timeouts{
			ConnectTimeout: 5 * time.Second, LoginTimeout: 10 * time.Second, IdleTimeout: 8 * time.Hour,
			PrimaryWait: 10 * time.Second, DrainTimeout: 30 * time.Second, SlowStart: 10 * time.Second,
		},
		Limits: Limits{MaxConnections: 10000, QueueLength: 1000, QueueTimeout: time.Second, MaxPacket: 1 << 30, PositionPiggyback: 512},
		Admin:  Admin{Pprof: "off"},
		Log:    Log{Format: "text", Level: "info"},
	}
}

// policyFrom is the way back of Config.RoutePolicy.
func policyFrom(p route.Policy) Policy {
	return Policy{
		Consistency: p.Level, MaxLag: p.MaxLag, MaxStaleness: p.MaxStaleness,
		SessionTimeout: p.SessionTimeout, GlobalTimeout: p.GlobalTimeout,
		CausalMethod: p.Method.String(), CausalSleep: p.Sleep,
		TimeoutAction: word(p.ErrorOnTimeout, "error", "primary"), Monotonic: word(p.Monotonic, "on", "off"), MinReserved: p.MinReserved,
		TokenOnReset: word(p.DropToken, "drop", "keep"),
		Balancer:     word(p.Balancer == route.WeightedRoundRobin, "weighted-round-robin", "least-active"),
		Zone:         p.Zone, TransactionSplitting: word(p.Splitting == route.SplitBeforeWrite, "reads-before-write", "off"),
		SystemSchemas: word(p.SystemSchemasOnReplicas, "replica", "primary"),
	}
}

func word(yes bool, ifYes, ifNo string) string {
	if yes {
		return ifYes
	}
	return ifNo
}

// RoutePolicy returns what decides about the sessions of a listener.
func (c *Config) RoutePolicy(l Listener) route.Policy {
	p := route.Policy{
		Level: l.Consistency, MaxLag: c.Policy.MaxLag, MaxStaleness: c.Policy.MaxStaleness,
		SessionTimeout: c.Policy.SessionTimeout, GlobalTimeout: c.Policy.GlobalTimeout,
		ErrorOnTimeout: c.Policy.TimeoutAction == "error", Monotonic: c.Policy.Monotonic == "on", DropToken: c.Policy.TokenOnReset == "drop",
		MinReserved: c.Policy.MinReserved, Zone: c.Policy.Zone,
		SystemSchemasOnReplicas: c.Policy.SystemSchemas == "replica", TrackTables: c.Monitor.TrackTables == "session", Sleep: c.Policy.CausalSleep,
	}
	if l.Mode == ReadOnly {
		p.Endpoint = route.ReadOnly
	}
	if c.Policy.Balancer == "weighted-round-robin" {
		p.Balancer = route.WeightedRoundRobin
	}
	if c.Policy.TransactionSplitting == "reads-before-write" {
		p.Splitting = route.SplitBeforeWrite
	}
	p.Method, _ = route.ParseMethod(c.Policy.CausalMethod) // which the enum has checked
	return p
}
