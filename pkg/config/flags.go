package config

import (
	"cmp"
	"path/filepath"
	"time"

	"github.com/mysqlrw/mysqlrw/route"
)

// Flags is what a start without a file is given. What it has no field for has
// its default.
type Flags struct {
	// Listen are addresses, or absolute paths of sockets.
	Listen []string
	// Primary and Replicas are addresses; their roles are fixed.
	Primary  string
	Replicas []string
	// User and Password are the account of the monitor.
	User     string
	Password Secret
	// SSLMode, SSLCA, SSLCert and SSLKey are those of all servers; no mode is the
	// default one. ReadFile reads the files.
	SSLMode                SSLMode
	SSLCA, SSLCert, SSLKey string
	ReadFile               func(path string) ([]byte, error)
	// Admin is the address for operators, "" for none, and AdminToken what changes are made with.
	Admin      string
	AdminToken Secret
	// Set has values that are stronger than the flags.
	Set []Setting
	// Policy decides for all listeners, of which its Endpoint is the mode.
	Policy route.Policy
	// VersionInterval is that of Config.Policy.
	VersionInterval time.Duration
}

// Config makes and checks the configuration. Its errors are of type Errors and
// have no place.
func (f Flags) Config() (c *Config, warnings Errors, err error) {
	c = defaults()
	c.Policy = policyFrom(f.Policy)
	c.Policy.VersionInterval = f.VersionInterval
	c.Monitor.User, c.Monitor.Password = f.User, f.Password
	c.Admin.Address, c.Admin.token = f.Admin, f.AdminToken
	for _, where := range f.Listen {
		l := defaultListener()
		l.Mode = Mode(word(f.Policy.Endpoint == route.ReadOnly, string(ReadOnly), string(ReadWrite)))
		if filepath.IsAbs(where) {
			l.Socket = where
		} else {
			l.Address = where
		}
		c.Listeners = append(c.Listeners, l)
	}
	add := func(address string, role Role) {
		s := defaultServer()
		s.Address, s.Role = address, role
		s.SSLMode = cmp.Or(f.SSLMode, s.SSLMode)
		s.SSLCA, s.SSLCert, s.SSLKey = f.SSLCA, f.SSLCert, f.SSLKey
		c.Servers = append(c.Servers, s)
	}
	if f.Primary != "" {
		add(f.Primary, Primary)
	}
	for _, address := range f.Replicas {
		add(address, Replica)
	}
	r := &reporter{}
	d := &decoder{reporter: r}
	d.set(c, f.Set)
	check := &checker{decoder: d, config: c, options: Options{ReadFile: f.ReadFile}}
	check.all()
	if len(r.errors) > 0 {
		return nil, r.warnings, r.errors
	}
	return c, r.warnings, nil
}
