package target

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"runtime"
	"strings"
)

// Errors of Parse. A TARGET may hold a password in any place, if a quote or
// an escape is missing, so none of them quotes it.
var (
	errPasswordHere = errors.New("a password can stand in mysql://user:password@host and in a DSN only")
	errURL          = errors.New("malformed URL: want mysql://user:password@host:port/?ssl-mode=..., with " +
		"all but letters and digits of the password written as %XX")
	errURLParameter = errors.New("unknown parameter of the URL")
	errScheme       = errors.New("URL has a scheme other than mysql://")
)

// Parse reads a TARGET argument:
//
//	db1  db1:3307  [::1]:3307  user@db1:3307    default port 3306 or the one in defaults
//	/run/mysqld/mysqld.sock  ./mysqld.sock      a path that begins with / or .
//	mysql://user:password@db1:3307/?ssl-mode=REQUIRED
//	user:password@tcp(db1:3307)/?timeout=5s     a DSN of go-sql-driver
//
// The empty argument means the server of defaults. What the argument does not
// say is taken from defaults, the password too if it names another user.
// "localhost" is the socket, and TCP as soon as the argument has a port.
//
// The query of a URL takes ssl-mode, ssl-ca, ssl-capath, ssl-cert, ssl-key,
// connect-timeout (seconds), socket and protocol. The parameters of a DSN are
// the driver's and win over defaults. Three have no effect: parseTime and
// columnsWithAlias, which change how rows look to Go code, and
// allowCleartextPasswords, which Config decides.
//
// Parse looks for the socket of localhost in the file system, and reads
// nothing else. Its errors hold no part of the argument.
func Parse(arg string, defaults Settings) (Target, error) {
	p := parser{noSocket: runtime.GOOS == "windows", exists: func(path string) bool {
		_, err := os.Stat(path)
		return err == nil
	}}
	t, err := p.parse(arg, defaults)
	if err != nil {
		return Target{}, fmt.Errorf("parse target: %w", err)
	}
	return t, nil
}

// parser has what Parse finds in the system.
type parser struct {
	exists   func(path string) bool
	noSocket bool // localhost is TCP
}

func (p parser) parse(arg string, s Settings) (Target, error) {
	scheme, rest, isURL := strings.Cut(arg, "://")
	switch {
	case arg == "":
		return p.resolve(s)
	case strings.HasPrefix(arg, "/"), strings.HasPrefix(arg, "./"), strings.HasPrefix(arg, "../"):
		s.Socket, s.Protocol = arg, ProtocolSocket
		return p.resolve(s)
	case isURL && (strings.EqualFold(scheme, "mysql") || strings.EqualFold(scheme, "mariadb")):
		s, err := fromURL("mysql://"+rest, s)
		if err != nil {
			return Target{}, err
		}
		return p.resolve(s)
	case isURL && isHostName(scheme) && !strings.Contains(arg, "("):
		return Target{}, errScheme
	case strings.ContainsAny(arg, "/("):
		return p.parseDSN(arg, s)
	}
	if at := strings.LastIndex(arg, "@"); at >= 0 {
		s.User = arg[:at]
		if strings.Contains(s.User, ":") {
			return Target{}, errPasswordHere
		}
		arg = arg[at+1:]
	}
	host, port, err := splitHostPort(arg)
	if err != nil {
		return Target{}, err
	}
	return p.resolve(s.at(host, port))
}

// at puts the address of a TARGET into the settings.
func (s Settings) at(host string, port int) Settings {
	s.Host = host
	if port != 0 {
		s.Port = port
	}
	if port != 0 || host != localhost {
		s.Protocol = ProtocolTCP
	}
	return s
}

// fromURL reads a mysql:// URL on top of s. The errors of net/url are left
// out because they quote the URL.
func fromURL(text string, s Settings) (Settings, error) {
	u, err := url.Parse(text)
	if err != nil || u.Opaque != "" || u.Fragment != "" || strings.HasSuffix(text, "#") {
		return s, errURL
	}
	if u.User != nil {
		put(&s.User, u.User.Username())
		if password, ok := u.User.Password(); ok {
			s.Password, s.PasswordSet, s.AskPassword = Secret(password), true, false
		}
	}
	// What looks like a path or a query may be the rest of a password with a
	// '/' or '?' in it; such a rest has the '@' that stands before the host.
	path := strings.TrimPrefix(u.EscapedPath(), "/")
	if strings.ContainsAny(path, "/@") || strings.Contains(u.RawQuery, "@") {
		return s, errURL
	}
	if s.Database, err = url.PathUnescape(path); err != nil {
		return s, errURL
	}
	if s, err = s.atURL(u); err != nil {
		return s, err
	}
	return s.withQuery(u.RawQuery)
}

// atURL puts the host and port of a URL into the settings, if it has any.
func (s Settings) atURL(u *url.URL) (Settings, error) {
	switch {
	case u.Host == "":
		return s, nil
	case strings.HasPrefix(u.Host, ":"):
		port, err := ParsePort(u.Port())
		host := s.Host
		if host == "" {
			host = localhost
		}
		return s.at(host, port), err
	}
	host, port, err := splitHostPort(u.Host)
	if err != nil {
		return s, err
	}
	return s.at(host, port), nil
}

// withQuery puts the parameters of a URL into the settings.
func (s Settings) withQuery(query string) (Settings, error) {
	values, err := url.ParseQuery(query)
	if err != nil {
		return s, errURL
	}
	for name, all := range values {
		name = strings.ReplaceAll(name, "_", "-")
		known, err := s.setParameter(name, all[len(all)-1])
		switch {
		case !known:
			return s, errURLParameter
		case err != nil:
			return s, err
		case name == "socket":
			s.Protocol = ProtocolSocket
		}
	}
	return s, nil
}

// resolve finds the address that the settings mean.
func (p parser) resolve(s Settings) (Target, error) {
	host := s.Host
	if host == "" {
		host = localhost
	}
	socket := s.Protocol == ProtocolSocket ||
		s.Protocol == ProtocolDefault && host == localhost && !p.noSocket
	if socket {
		path := s.Socket
		if path == "" {
			path = p.findSocket()
		}
		return newTarget("unix", path, localhost, s), nil
	}
	if s.Port < 0 || s.Port > 65535 {
		return Target{}, errPort
	}
	if !isIPv6(host) && !isHostName(host) {
		return Target{}, errHost
	}
	return newTarget("tcp", joinHostPort(host, s.Port), host, s), nil
}

// findSocket returns the first usual place of the socket that exists, and the
// first of all if none does: the error of the connection then names it.
func (p parser) findSocket() string {
	places := socketPlaces()
	for _, path := range places {
		if p.exists(path) {
			return path
		}
	}
	return places[0]
}
