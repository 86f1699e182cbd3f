package config

import (
	"fmt"
	"net"
	"path/filepath"
	"reflect"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/mysqlrw/mysqlrw/route"
)

// checker looks at a whole decoded file.
type checker struct {
	*decoder
	config  *Config
	options Options
}

func (c *checker) all() {
	for i := range c.config.Listeners {
		c.listener(element("listener", i), &c.config.Listeners[i])
	}
	for i := range c.config.Servers {
		c.server(element("server", i), &c.config.Servers[i])
	}
	for i := range c.config.Users {
		path := element("user", i)
		c.credentials(path, &c.config.Users[i].Credentials)
		if c.config.Users[i].Name == "" {
			c.missing(path, "name", "[[user]] needs a name")
		}
	}
	c.credentials("monitor", &c.config.Monitor.Credentials)
	if c.config.Monitor.User == "" {
		c.missing("monitor", "user", "[monitor] needs a user: the account that asks the servers for role, lag and position")
	}
	c.admin()
	c.counts()
	c.duplicates()
	c.roles()
	c.untracked()
	c.version()
	c.unused()
}

// missing reports a key that must be there; one that is there and could not
// be read has been reported.
func (c *checker) missing(table, key, message string) {
	if path := join(table, key); !c.failed[path] && !c.failed[table] {
		c.errorAt(c.keyOf(path), "%s", message)
	}
}

// maxSocketPath is what fits into a socket's address on every system.
const maxSocketPath = 103

func (c *checker) listener(path string, l *Listener) {
	if !c.has(join(path, "consistency")) {
		l.Consistency = c.config.Policy.Consistency
	}
	switch {
	case l.Address != "" && l.Socket != "":
		c.errorAt(c.keyOf(join(path, "socket")), "a listener has an address or a socket: write a second [[listener]] for the other")
	case l.Socket != "" && (!filepath.IsAbs(l.Socket) || len(l.Socket) > maxSocketPath):
		c.errorAt(c.valueOf(join(path, "socket")), "socket: want an absolute path of at most %d bytes, not %q", maxSocketPath, l.Socket)
	case l.Address == "" && l.Socket == "":
		if !c.has(join(path, "socket")) {
			c.missing(path, "address", `a listener needs an address, such as "127.0.0.1:6446", or a socket`)
		}
	case l.Address != "":
		if err := hostPort(l.Address); err != "" {
			c.errorAt(c.valueOf(join(path, "address")), `address: %s: write "host:port", or ":port" for all addresses`, err)
		}
	}
	if l.Mode == ReadOnly && l.Consistency == route.Strong {
		c.errorAt(c.keyOf(join(path, "consistency")),
			"a read-only listener never reaches the primary, which level strong reads: give it another consistency")
	}
	c.certificates(path, l.SSLMode, l.SSLCA, l.SSLCert, l.SSLKey, &l.loaded)
	if most := c.config.Limits.MaxConnections; most > 0 && l.MaxConnections > most {
		c.warnAt(c.valueOf(join(path, "max-connections")), "max-connections: never reached, since that of [limits] is %d", most)
	}
}

// hostPort says what is wrong with an address, nothing if it can be used.
func hostPort(address string) string {
	_, port, err := net.SplitHostPort(address)
	if err != nil {
		return fmt.Sprintf("%q has no port", address)
	}
	if _, err := strconv.ParseUint(port, 10, 16); err != nil {
		return fmt.Sprintf("%q is not a port from 0 to 65535", port)
	}
	if strings.ContainsAny(address, " \t\r\n/@\"'") {
		return fmt.Sprintf("%q has characters that no host has", address)
	}
	return ""
}

// nameText is what a hint or a command can name without quotes.
var nameText = regexp.MustCompile(`^[\pL\pN_.:/\[\]-]+$`)

func (c *checker) server(path string, s *Server) {
	given := s.Address
	if s.Address == "" {
		c.missing(path, "address", `a server needs an address, such as "10.0.0.1:3306"`)
	} else if !filepath.IsAbs(s.Address) {
		s.Address = withPort(s.Address)
		err := hostPort(s.Address)
		if host, port, _ := net.SplitHostPort(s.Address); err == "" && (host == "" || port == "0") {
			err = fmt.Sprintf("%q names no server", given)
		}
		if err != "" {
			c.errorAt(c.valueOf(join(path, "address")), `address: %s: write "host:port" or the absolute path of a socket`, err)
		}
	}
	if s.Name == "" {
		s.Name = given
	} else if !nameText.MatchString(s.Name) {
		c.errorAt(c.valueOf(join(path, "name")), "name: %q has blanks or signs in it, so that no hint could name it", s.Name)
	}
	c.certificates(path, s.SSLMode, s.SSLCA, s.SSLCert, s.SSLKey, &s.loaded)
}

// withPort adds the port of MySQL to a host that has none.
func withPort(address string) string {
	if _, _, err := net.SplitHostPort(address); err == nil {
		return address
	}
	if host := strings.Trim(address, "[]"); !strings.Contains(host, ":") || net.ParseIP(host) != nil {
		return net.JoinHostPort(host, "3306")
	}
	return address
}

func (c *checker) counts() {
	if len(c.config.Listeners) == 0 && !c.has("listener") {
		c.errorAt(0, "there is no [[listener]]: add one with an address for clients")
	}
	if len(c.config.Servers) == 0 && !c.has("server") {
		c.errorAt(0, "there is no [[server]]: add one for the primary and for each replica")
	}
	if p := c.config.Pool; p.MaxIdle > p.MaxConnections {
		path := "pool.max-idle"
		if !c.has(path) {
			path = "pool.max-connections"
		}
		c.errorAt(c.valueOf(path), "max-idle is %d: it cannot be over max-connections, which is %d", p.MaxIdle, p.MaxConnections)
	}
}

// version checks what the version that all replicas have reached is kept by.
func (c *checker) version() {
	every, p := c.config.Policy.VersionInterval, c.config.Policy
	if every <= 0 {
		return
	}
	const path = "policy.weak-read-version-refresh-interval"
	if p.MaxStaleness > 0 && every > p.MaxStaleness {
		c.errorAt(c.valueOf(path), "weak-read-version-refresh-interval: %s is more than max-staleness, which is %s: a version would be older than what it is for",
			shortDuration(every), shortDuration(p.MaxStaleness))
	}
	m, wait := c.config.Monitor, c.config.Timeouts.PrimaryWait
	if change := m.Interval + min(m.Interval, time.Second) + 2*m.Timeout; change > wait { // as package topology has it
		c.warnAt(c.valueOf(path), "weak-read-version-refresh-interval: when the replica that reads at weak run on is lost, they wait for %s, "+
			"by interval and timeout of [monitor], and get an error after primary-wait, which is %s", shortDuration(change), shortDuration(wait))
	}
}

// duplicates looks for things that must be there once.
func (c *checker) duplicates() {
	once := func(what string, seen map[string]bool, value string, path string) {
		if value != "" && seen[value] {
			c.errorAt(c.valueOf(path), "%s %q stands there twice", what, value)
		}
		seen[value] = true
	}
	listeners, names, addresses, users := map[string]bool{}, map[string]bool{}, map[string]bool{}, map[string]bool{}
	for i, l := range c.config.Listeners {
		path, key := element("listener", i), word(l.Socket != "", "socket", "address")
		if _, port, _ := net.SplitHostPort(l.Address); port != "0" { // any free port
			once("the "+key, listeners, l.Where(), join(path, key))
		}
	}
	for i, s := range c.config.Servers {
		path := element("server", i)
		if !addresses[s.Address] { // else one mistake would be told twice
			once("the name", names, s.Name, join(path, "name"))
		}
		once("the address", addresses, s.Address, join(path, "address"))
	}
	for i, u := range c.config.Users {
		once("the user", users, u.Name, join(element("user", i), "name"))
	}
}

// roles checks that each listener has servers to send its clients to.
func (c *checker) roles() {
	fixed, replicas := -1, 0
	primaryPossible := false
	for i, s := range c.config.Servers {
		switch {
		case s.Role != Primary:
			replicas++
			primaryPossible = primaryPossible || s.Role == Auto
		case fixed >= 0:
			c.errorAt(c.valueOf(join(element("server", i), "role")),
				"role: there is a second primary, the first is %s: two writers is a fault that nobody may write into", c.config.Servers[fixed].Name)
		default:
			fixed, primaryPossible = i, true
		}
	}
	if fixed < 0 && primaryPossible {
		replicas-- // one of them is the primary
	}
	if len(c.config.Servers) == 0 {
		return
	}
	for i, l := range c.config.Listeners {
		at := c.keyOf(element("listener", i))
		switch {
		case l.Mode == ReadOnly && replicas < 1:
			c.errorAt(c.keyOf(join(element("listener", i), "mode")), "a read-only listener needs a replica: add another [[server]]")
		case l.Mode == ReadOnly && !primaryPossible && (l.Consistency == route.Global || l.Consistency == route.SCC):
			c.errorAt(at, "level %s needs the primary's position, and every server's role is replica: make one auto or primary", l.Consistency)
		case l.Mode == ReadWrite && !primaryPossible:
			c.errorAt(at, "a read-write listener needs a primary, and every server's role is replica: make one auto or primary")
		case l.Mode == ReadWrite && replicas < 1 && i == 0:
			c.warnAt(c.keyOf("server[0]"), "there is no replica: all reads run on the primary")
		}
	}
	if kept := c.config.Policy.MinReserved; kept > replicas && replicas > 0 {
		c.warnAt(c.valueOf("policy.min-reserved"), "min-reserved: there are only %d replicas to keep", replicas)
	}
}

// untracked warns of what waits for all tables, since nobody knows which have changed.
func (c *checker) untracked() {
	if c.config.Monitor.TrackTables != "off" {
		return
	}
	for i, l := range c.config.Listeners {
		if l.Consistency == route.SCC {
			c.warnAt(c.keyOf(element("listener", i)), "level scc waits as global does: write track-tables = \"scc\" into [monitor]")
			break
		}
	}
}

// unused warns of settings that nothing will ever look at.
func (c *checker) unused() {
	zones, own, weights, limited := false, false, 0, false
	for i, s := range c.config.Servers {
		path := element("server", i)
		if s.Role == Primary && c.has(join(path, "weight")) {
			c.warnAt(c.keyOf(join(path, "weight")), "weight: never used, since the server is always the primary: its share of reads is primary-weight")
		}
		if s.Role == Replica && c.has(join(path, "primary-weight")) {
			c.warnAt(c.keyOf(join(path, "primary-weight")), "primary-weight: never used, since the server is never the primary")
		}
		if s.Role != Primary {
			weights += s.Weight
		}
		zones, own = zones || s.Zone != "", own || s.Zone == c.config.Policy.Zone
		limited = limited || s.MaxConcurrentQueries > 0
	}
	if len(c.config.Servers) > 1 && weights == 0 {
		c.warnAt(c.keyOf("server[0]"), "every replica has weight 0: all reads run on the primary")
	}
	switch zone := c.config.Policy.Zone; {
	case zone != "" && !own && len(c.config.Servers) > 0:
		c.warnAt(c.valueOf("policy.zone"), "zone: never used, since no server is in %q", zone)
	case zone == "" && zones:
		for i, s := range c.config.Servers {
			if s.Zone != "" {
				c.warnAt(c.keyOf(join(element("server", i), "zone")), "zone: never used, since [policy] does not say in which zone the proxy is")
				break
			}
		}
	}
	p := c.config.Policy
	if c.has("policy.max-staleness") && p.MaxLag > 0 && p.MaxStaleness > p.MaxLag {
		c.warnAt(c.valueOf("policy.max-staleness"), "max-staleness: never used, since max-lag is less and holds for every read")
	}
	for _, key := range []string{"limits.queue-length", "limits.queue-timeout"} {
		if !limited && c.has(key) && !c.isDefault(key) {
			c.warnAt(c.keyOf(key), "%s: never used, since no server has max-concurrent-queries", strings.TrimPrefix(key, "limits."))
		}
	}
}

// isDefault says whether a key of a section has the value it would have anyway.
func (c *checker) isDefault(path string) bool {
	value := func(of *Config) any {
		section, key, _ := strings.Cut(path, ".")
		for _, s := range fieldsOf(reflect.ValueOf(of).Elem()) {
			if s.key != section {
				continue
			}
			for _, f := range fieldsOf(s.value) {
				if f.key == key {
					return f.value.Interface()
				}
			}
		}
		return nil
	}
	return value(c.config) == value(defaults())
}
