package target

import (
	"errors"
	"strings"

	"github.com/go-sql-driver/mysql"
)

// Errors of a DSN. Those of the driver are left out because they quote it.
var (
	errDSN = errors.New("malformed DSN: want user:password@tcp(host:port)/database?parameter=value; " +
		"a socket path begins with / or ., a URL with mysql://")
	errDSNNetwork = errors.New("network of the DSN is neither tcp nor unix")
	errDSNTLS     = errors.New("tls of the DSN is none of true, false, skip-verify, preferred")
	errDSNStrict  = errors.New("parameter strict of the DSN does not exist any more")
)

// parseDSN reads a DSN of the driver on top of s.
func (p parser) parseDSN(dsn string, s Settings) (Target, error) {
	names := dsnParameters(dsn)
	if names["strict"] { // the driver panics
		return Target{}, errDSNStrict
	}
	cfg, err := mysql.ParseDSN(dsn)
	if err != nil {
		return Target{}, errDSN
	}
	if names["tls"] {
		if s.SSLMode, err = dsnSSLMode(cfg.TLSConfig); err != nil {
			return Target{}, err
		}
	}
	if cfg.User != "" {
		// The driver cannot tell "user:@" from "user@": both leave the password
		// of the settings.
		s.User = cfg.User
		if cfg.Passwd != "" {
			s.Password, s.PasswordSet, s.AskPassword = Secret(cfg.Passwd), true, false
		}
	}
	// A '@' here is the one before an address whose closing slash is missing,
	// after a password with a slash.
	if strings.ContainsAny(cfg.DBName, "@(") {
		return Target{}, errDSN
	}
	s.Database = cfg.DBName
	if s, err = s.atDSN(cfg); err != nil {
		return Target{}, err
	}
	t, err := p.resolve(s)
	if err != nil {
		return Target{}, err
	}
	cfg.Passwd = ""
	t.to.dsn, t.to.named = cfg, names
	return t, nil
}

// atDSN puts the address of a DSN into the settings. The driver has filled in
// its defaults: 127.0.0.1:3306 and /tmp/mysql.sock.
func (s Settings) atDSN(cfg *mysql.Config) (Settings, error) {
	switch cfg.Net {
	case "unix":
		s.Socket, s.Protocol = cfg.Addr, ProtocolSocket
		return s, nil
	case "tcp":
		host, port, err := splitHostPort(cfg.Addr)
		if err != nil {
			return s, err
		}
		if port == 0 {
			return s, errPort
		}
		return s.at(host, port), nil
	}
	return s, errDSNNetwork
}

// dsnParameters returns the names of the parameters that a DSN sets, split as
// the driver splits them.
func dsnParameters(dsn string) map[string]bool {
	names := map[string]bool{}
	_, query, _ := strings.Cut(dsn[strings.LastIndex(dsn, "/")+1:], "?")
	for part := range strings.SplitSeq(query, "&") {
		if name, _, found := strings.Cut(part, "="); found {
			names[name] = true
		}
	}
	return names
}

// dsnSSLMode translates the driver's tls parameter.
func dsnSSLMode(tls string) (SSLMode, error) {
	switch tls {
	case "false":
		return SSLDisabled, nil
	case "preferred":
		return SSLPreferred, nil
	case "skip-verify":
		return SSLRequired, nil
	case "true":
		return SSLVerifyIdentity, nil
	}
	return SSLUnset, errDSNTLS
}
