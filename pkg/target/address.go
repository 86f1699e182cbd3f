package target

import (
	"errors"
	"net"
	"net/netip"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// defaultPort is the port of a server that nothing else is said about.
const defaultPort = 3306

// localhost is the one host name that means the socket. The client compares
// it with its letter case, and so do we.
const localhost = "localhost"

// Errors of an address. They hold no part of it: where a '@' or a quote is
// missing, a password stands in the place of a host or a port.
var (
	errHost     = errors.New("host is empty or has a character that no host name has")
	errBrackets = errors.New("brackets hold no IPv6 address, or the closing one is missing")
)

// splitHostPort reads "host", "host:port", "[ipv6]:port" or an IPv6 address
// without brackets. port is 0 if there is none.
func splitHostPort(text string) (host string, port int, err error) {
	if rest, ok := strings.CutPrefix(text, "["); ok {
		host, rest, ok = strings.Cut(rest, "]")
		if !ok || !isIPv6(host) {
			return "", 0, errBrackets
		}
		if rest == "" {
			return host, 0, nil
		}
		text = rest // ":port"
		if !strings.HasPrefix(text, ":") {
			return "", 0, errBrackets
		}
		port, err = ParsePort(text[1:])
		return host, port, err
	}
	if isIPv6(text) {
		return text, 0, nil
	}
	host, portText, hasPort := strings.Cut(text, ":")
	if !isHostName(host) {
		return "", 0, errHost
	}
	if hasPort {
		port, err = ParsePort(portText)
	}
	return host, port, err
}

// isIPv6 accepts a zone of plain letters only.
func isIPv6(text string) bool {
	addr, err := netip.ParseAddr(text)
	if err != nil || !addr.Is6() {
		return false
	}
	return addr.Zone() == "" || isHostName(addr.Zone())
}

// isHostName is meant to find typing errors and other forms of TARGET, not to
// judge names: what it takes, the resolver refuses.
func isHostName(text string) bool {
	if text == "" || len(text) > 255 || !utf8.ValidString(text) {
		return false
	}
	for _, c := range text {
		switch {
		case c == '.', c == '-', c == '_', unicode.IsLetter(c), unicode.IsDigit(c), unicode.IsMark(c):
		default:
			return false
		}
	}
	return true
}

// joinHostPort is the address to dial, and the name that is printed.
func joinHostPort(host string, port int) string {
	if port == 0 {
		port = defaultPort
	}
	return net.JoinHostPort(host, strconv.Itoa(port))
}

// socketPlaces lists where distributions put the socket.
func socketPlaces() []string {
	return []string{
		"/var/run/mysqld/mysqld.sock", // Debian, Ubuntu, container images
		"/run/mysqld/mysqld.sock",
		"/tmp/mysql.sock",           // the default of the source, Homebrew
		"/var/lib/mysql/mysql.sock", // Red Hat and its kin
	}
}
