package target

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/optionfile"
)

var (
	errNeedsValue = errors.New("option needs a value")
	errBool       = errors.New("value is none of 0, 1, off, on, false, true")
	errSeconds    = errors.New("value is not a number of seconds")
)

// FromOptions takes from option files what is about connections. Names that
// are not known are passed over in [client], which all programs share; in
// [mysqlrw] each gives a warning, unless it is written with "loose-". An
// error names the file and the line.
//
// Of MariaDB's switches, ssl means REQUIRED, skip-ssl DISABLED and
// ssl-verify-server-cert VERIFY_IDENTITY; ssl-mode wins over all of them.
func FromOptions(r optionfile.Result) (Settings, []string, error) {
	var c collector
	for _, o := range r.Options() {
		known, err := c.option(o)
		if err != nil {
			return Settings{}, nil, fmt.Errorf("%s: %s: %w", o.Source(), o.Name, err)
		}
		if !known {
			c.unknown(o)
		}
	}
	c.settings.SSLMode = c.sslMode()
	return c.settings, c.warnings, nil
}

// collector is the state of FromOptions.
type collector struct {
	settings  Settings
	ssl       *bool // MariaDB's ssl
	verifySSL *bool // and its ssl-verify-server-cert
	warnings  []string
}

// option takes one option and reports whether it knows the name.
func (c *collector) option(o optionfile.Option) (bool, error) {
	value, hasValue := o.Value()
	name, on, err := switched(o.Name, value, hasValue)
	switch name {
	case "ssl":
		c.ssl = &on
		return true, err
	case "ssl-verify-server-cert":
		c.verifySSL = &on
		return true, err
	case "password":
		s := &c.settings
		s.Password, s.PasswordSet, s.AskPassword = "", true, false
		if name == o.Name {
			s.Password, s.PasswordSet, s.AskPassword = Secret(value), hasValue, !hasValue
		}
		return true, nil
	}
	known, err := c.settings.set(o.Name, value)
	if known && !hasValue {
		err = errNeedsValue
	}
	return known, err
}

// switched reads a name that may begin with skip-, disable- or enable- as a
// switch: "skip-ssl" and "ssl=0" are both ssl, off. The error is about a
// value that is neither yes nor no, for names to which that matters.
func switched(name, value string, hasValue bool) (string, bool, error) {
	for _, prefix := range []string{"skip-", "disable-"} {
		if rest, ok := strings.CutPrefix(name, prefix); ok {
			return rest, value == "0", nil // skip-x=0 is x, as with the client
		}
	}
	if rest, ok := strings.CutPrefix(name, "enable-"); ok {
		return rest, value != "0", nil
	}
	if !hasValue {
		return name, true, nil
	}
	switch strings.ToLower(value) {
	case "1", "on", "true":
		return name, true, nil
	case "0", "off", "false":
		return name, false, nil
	}
	return name, false, errBool
}

// set puts the value of an option with a value. It reports whether it knows
// the name; the names are those that a URL may have in its query, and a few.
func (s *Settings) set(name, value string) (known bool, err error) {
	switch name {
	case "host":
		s.Host = value
	case "user":
		s.User = value
	case "port":
		s.Port = 0
		if value != "0" { // the client's word for the default
			s.Port, err = ParsePort(value)
		}
	default:
		return s.setParameter(name, value)
	}
	return true, err
}

// setParameter is set for what a URL may have in its query.
func (s *Settings) setParameter(name, value string) (known bool, err error) {
	switch name {
	case "socket":
		s.Socket = value
	case "protocol":
		s.Protocol, err = ParseProtocol(value)
	case "ssl-mode":
		s.SSLMode, err = ParseSSLMode(value)
	case "ssl-ca":
		s.SSLCA = value
	case "ssl-capath":
		s.SSLCAPath = value
	case "ssl-cert":
		s.SSLCert = value
	case "ssl-key":
		s.SSLKey = value
	case "connect-timeout":
		s.ConnectTimeout, err = parseSeconds(value)
	default:
		return false, nil
	}
	return true, err
}

// parseSeconds reads a whole number of seconds, as the client writes it.
func parseSeconds(text string) (time.Duration, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, errSeconds
	}
	return time.Duration(n) * time.Second, nil
}

// sslMode joins the three ways to speak of encryption in option files. An
// explicit "do not verify" leaves the mode below VERIFY_CA, which a CA file
// would otherwise mean.
func (c *collector) sslMode() SSLMode {
	said := func(b *bool, value bool) bool { return b != nil && *b == value }
	ca := c.settings.SSLCA != "" || c.settings.SSLCAPath != ""
	switch {
	case c.settings.SSLMode != SSLUnset:
		return c.settings.SSLMode
	case said(c.ssl, false):
		return SSLDisabled
	case said(c.verifySSL, true):
		return SSLVerifyIdentity
	case said(c.verifySSL, false) && (ca || said(c.ssl, true)):
		return SSLRequired
	case said(c.ssl, true) && !ca:
		return SSLRequired
	}
	return SSLUnset
}

// unknown warns of names that only mysqlrw can have been meant with, and
// everywhere of a line that looks as if it lacks its '='.
func (c *collector) unknown(o optionfile.Option) {
	switch {
	case o.Loose:
	case strings.ContainsAny(o.Name, " \t"):
		c.warnings = append(c.warnings, fmt.Sprintf("unknown option %s: is a '=' missing?", o))
	case strings.HasPrefix(strings.ToLower(o.Group), "mysqlrw"):
		c.warnings = append(c.warnings, fmt.Sprintf("unknown option %s", o))
	}
}
