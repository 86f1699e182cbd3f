package commands

import (
	"crypto/tls"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/lag"
	"github.com/mysqlrw/mysqlrw/pkg/backend"
	"github.com/mysqlrw/mysqlrw/pkg/config"
	"github.com/mysqlrw/mysqlrw/pkg/frontend"
	"github.com/mysqlrw/mysqlrw/pkg/proxy"
	"github.com/mysqlrw/mysqlrw/pkg/topology"
	"github.com/mysqlrw/mysqlrw/route"
)

const serveFile = `[[listener]]
address = "127.0.0.1:1"
max-connections = 7
proxy-protocol = ["10.0.0.0/8"]
[[listener]]
socket = "/run/x.sock"
mode = "read-only"
consistency = "weak"
ssl-mode = "disabled"
[[listener]]
address = "127.0.0.1:2"
ssl-mode = "required"
[[server]]
name = "db1"
address = "10.0.0.1"
role = "primary"
primary-weight = 3
ssl-mode = "required"
[[server]]
name = "db2"
address = "10.0.0.2:3307"
weight = 50
zone = "a"
max-concurrent-queries = 9
ssl-mode = "as-client"
compression = "as-client"
[[server]]
name = "db3"
address = "/run/db3.sock"
role = "replica"
ssl-mode = "disabled"
[monitor]
user = "m"
password-env = "PW"
interval = "2s"
timeout = "3s"
heartbeat-table = "ops.beat"
heartbeat-zone = "utc"
heartbeat-interval = "1s"
[policy]
zone = "a"
weak-read-version-refresh-interval = "28ms"
[pool]
max-connections = 11
max-idle = 10
idle-timeout = "12s"
acquire-timeout = "23s"
connection-id = "server"
multiplexing = "off"
max-lifetime = "24s"
prove-again = "25s"
[timeouts]
connect-timeout = "13s"
login-timeout = "14s"
idle-timeout = "15s"
primary-wait = "16s"
slow-start = "27s"
[limits]
max-connections = 17
max-connections-per-user = 18
primary-read-limit = 26
position-piggyback-max = "1K"
queue-length = 19
queue-timeout = "20s"
max-packet = "21M"
[log]
slow-query = "22s"
[[user]]
name = "shop"
password-env = "PW"
`

func loadServe(t *testing.T, text string) *config.Config {
	t.Helper()
	path := filepath.Join(t.TempDir(), "serve.toml")
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	c, _, err := config.Load(path, func(string) (string, bool) { return "hunter2", true })
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func newServing(t *testing.T) *serving {
	t.Helper()
	made, err := frontend.SelfSigned()
	if err != nil {
		t.Fatal(err)
	}
	return &serving{made: &made}
}

// TestOptionsFor: every value of the file arrives where it belongs.
func TestOptionsFor(t *testing.T) {
	t.Parallel()
	o, err := newServing(t).optionsFor(loadServe(t, serveFile))
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, s := range o.Servers {
		got = append(got, fmt.Sprint(s.Name, " ", s.Network, " ", s.Address, " ", s.Role, " ", s.Weight, " ", s.PrimaryWeight, " ", s.Zone,
			" ", s.TLSMode, " ", s.TLS != nil, " ", s.TLSAsClient, " ", s.CompressAsClient, " ", s.MaxConcurrent))
	}
	for _, l := range o.Listeners {
		got = append(got, fmt.Sprint(l.Network, " ", l.Address, " ", l.Policy.Level, " ", l.Policy.Endpoint == route.ReadOnly, " ", l.Policy.Zone,
			" ", l.TLS != nil, " ", l.RequireTLS, " ", l.ProxyProtocol, " ", l.MaxConnections))
	}
	for _, a := range o.Accounts {
		got = append(got, a.Name+" "+a.Password)
	}
	want := []string{
		fmt.Sprint("db1 tcp 10.0.0.1:3306 ", topology.FixedPrimary, " 100 3  ", backend.TLSRequired, " true false false 0"),
		fmt.Sprint("db2 tcp 10.0.0.2:3307 ", topology.Auto, " 50 0 a ", backend.TLSPreferred, " true true true 9"),
		fmt.Sprint("db3 unix /run/db3.sock ", topology.FixedReplica, " 100 0  ", backend.TLSDisabled, " false false false 0"),
		"tcp 127.0.0.1:1 session false a true false [10.0.0.0/8] 7",
		"unix /run/x.sock weak true a false false [] 0",
		"tcp 127.0.0.1:2 session false a true true [] 0",
		"shop hunter2",
	}
	if g, w := strings.Join(got, "\n"), strings.Join(want, "\n"); g != w {
		t.Errorf("got\n%s\nwant\n%s", g, w)
	}
	rest := o
	rest.Servers, rest.Listeners, rest.Accounts = nil, nil, nil
	numbers := proxy.Options{
		CheckInterval: 2 * time.Second, CheckTimeout: 3 * time.Second, ConnectTimeout: 13 * time.Second, LoginTimeout: 14 * time.Second,
		IdleTimeout: 15 * time.Second, PrimaryWait: 16 * time.Second, QueueTimeout: 20 * time.Second, MaxConnections: 17,
		MaxConnectionsPerUser: 18, QueueLength: 19, MaxPacket: 21 << 20, PrimaryReadLimit: 26, PositionPiggyback: 1024, SlowQuery: 22 * time.Second,
		AcquireTimeout: 23 * time.Second, MaxLifetime: 24 * time.Second, ProveAgain: 25 * time.Second, ServerIDs: true, Unshared: true, SlowStart: 27 * time.Second, VersionInterval: 28 * time.Millisecond, Heartbeat: lag.HeartbeatTable{Name: "ops.beat", UTC: true, Interval: time.Second},
	}
	numbers.Pool.Max, numbers.Pool.MaxIdle, numbers.Pool.Idle = 11, 10, 12*time.Second
	if !reflect.DeepEqual(rest, numbers) {
		t.Errorf("got\n%+v\nwant\n%+v", rest, numbers)
	}
}

// TestOptionsFor_again: a reload keeps the TLS of servers that did not change, by which the proxy
// knows that their connections are still right.
func TestOptionsFor_again(t *testing.T) {
	t.Parallel()
	s := newServing(t)
	before := loadServe(t, serveFile)
	o, err := s.optionsFor(before)
	if err != nil {
		t.Fatal(err)
	}
	s.config.Store(before)
	s.options = o
	o, err = s.optionsFor(loadServe(t, strings.Replace(serveFile, "10.0.0.2:3307", "10.0.0.2:3308", 1)))
	if err != nil {
		t.Fatal(err)
	}
	same := func(a, b *tls.Config) bool { return a == b }
	if !same(o.Servers[0].TLS, s.options.Servers[0].TLS) {
		t.Error("db1 is the same, and its TLS another one")
	}
	if same(o.Servers[1].TLS, s.options.Servers[1].TLS) {
		t.Error("db2 has another address, and the same TLS")
	}
}
