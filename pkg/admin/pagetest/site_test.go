//go:build linux

package pagetest

import (
	"context"
	"database/sql"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/admin"
	"github.com/mysqlrw/mysqlrw/pkg/config"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/pool"
	"github.com/mysqlrw/mysqlrw/pkg/proxy"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/topology"
	"github.com/mysqlrw/mysqlrw/route"
)

const (
	checkInterval = 200 * time.Millisecond
	maxLag        = time.Second
	token         = "a-token-that-nobody-guesses"
)

// site is a cluster behind a proxy with an admin server.
type site struct {
	t       testing.TB
	cluster *sandbox.Cluster
	listen  string // of the proxy
	address string // of the admin server
	config  *config.Config

	proxy *proxy.Proxy
	admin atomic.Pointer[admin.Server]
	stop  func()
}

// newSite starts all of it. address is that of the admin server.
func newSite(t testing.TB, f flavor.Flavor, address string) *site {
	t.Helper()
	s := &site{t: t, cluster: sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 2}), listen: "127.0.0.1:0", address: address}
	sandboxtest.Exec(t, s.cluster.Primary(), "CREATE DATABASE shop", "CREATE TABLE shop.item (id INT PRIMARY KEY, price INT)",
		"INSERT INTO shop.item VALUES (1, 1), (2, 2), (3, 3)")
	if err := s.cluster.WaitReplicated(t.Context()); err != nil {
		t.Fatal(err)
	}
	s.start()
	t.Cleanup(func() { s.stop() })
	return s
}

// start runs the proxy and the admin server, after a stop at the same addresses.
func (s *site) start() {
	s.t.Helper()
	var text strings.Builder
	fmt.Fprintf(&text, "[[listener]]\naddress = %q\n[monitor]\nuser = %q\npassword-env = \"P\"\n[policy]\nmax-lag = %q\n[admin]\naddress = %q\ntoken-env = \"T\"\n",
		"127.0.0.1:6446", s.cluster.Primary().User, maxLag, s.address)
	for _, one := range s.cluster.Servers {
		fmt.Fprintf(&text, "[[server]]\nname = %q\naddress = %q\n", one.Name, one.Address())
	}
	conf, _, err := config.Parse("test.toml", []byte(text.String()), config.Options{Getenv: func(name string) (string, bool) {
		return map[string]string{"P": s.cluster.Primary().Password, "T": token}[name], true
	}})
	if err != nil {
		s.t.Fatal(err)
	}
	s.config = conf
	o := proxy.Options{
		Listeners:     []proxy.Listener{{Network: "tcp", Address: s.listen, Policy: conf.RoutePolicy(conf.Listeners[0])}},
		CheckInterval: checkInterval, CheckTimeout: 2 * time.Second, Pool: pool.Limits{Max: 50, MaxIdle: 50, Idle: time.Minute},
		ConnectTimeout: 5 * time.Second, LoginTimeout: 10 * time.Second, PrimaryWait: 10 * time.Second,
		Events: func(e topology.Event) {
			if one := s.admin.Load(); one != nil {
				one.Event(e)
			}
		},
	}
	for _, one := range s.cluster.Servers {
		o.Servers = append(o.Servers, proxy.Server{Name: one.Name, Network: "tcp", Address: one.Address(), Weight: 100, Monitor: one.Open})
	}
	if s.proxy, err = proxy.New(o); err != nil {
		s.t.Fatal(err)
	}
	if err := s.proxy.Listen(); err != nil {
		s.t.Fatal(err)
	}
	s.listen = s.proxy.Addresses()[0].String()
	one, err := admin.New(admin.Options{Address: s.address, Proxy: s.proxy, Control: control{s}, Version: "1.2.3"})
	if err != nil {
		s.t.Fatal(err)
	}
	s.address = one.Address()
	s.admin.Store(one)
	var running sync.WaitGroup
	running.Go(s.proxy.Run)
	running.Go(one.Run)
	s.stop = func() {
		one.Close()
		s.proxy.Close()
		running.Wait()
	}
	for end := time.Now().Add(time.Minute); ; time.Sleep(5 * time.Millisecond) {
		online := 0
		for _, one := range s.proxy.Servers() {
			if one.State == route.Online {
				online++
			}
		}
		switch {
		case online == len(s.cluster.Servers):
			return
		case time.Now().After(end):
			s.stop()
			s.t.Fatal("waited a minute for all servers to be online")
		}
	}
}

func (s *site) url() string { return "http://" + s.address + "/" }

// control is the process around the proxy; these tests only look.
type control struct{ s *site }

func (c control) Config() *config.Config     { return c.s.config }
func (c control) Settings() []config.Setting { return nil }
func (c control) Change([]config.Setting, []string, bool) ([]config.Change, error) {
	return nil, config.Errors{{Message: "nothing is changed here"}}
}

func (c control) Ready() string {
	if c.s.proxy.Snapshot().Primary() < 0 {
		return "no primary is known: writes wait for one"
	}
	return ""
}

// open returns a pool of connections through the proxy.
func (s *site) open(user, password, schema string) *sql.DB {
	s.t.Helper()
	c := mysql.NewConfig()
	c.Net, c.Addr, c.User, c.Passwd, c.DBName = "tcp", s.listen, user, password, schema
	c.AllowNativePasswords, c.AllowCleartextPasswords, c.InterpolateParams = true, true, true
	connector, err := mysql.NewConnector(c)
	if err != nil {
		s.t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	s.t.Cleanup(func() { _ = db.Close() })
	return db
}

// load has clients read and write until end is called.
func (s *site) load() (end func()) {
	p := s.cluster.Primary()
	db := s.open(p.User, p.Password, "shop")
	ctx, cancel := context.WithCancel(s.t.Context())
	var clients sync.WaitGroup
	for client := range 3 {
		clients.Go(func() {
			tick := time.NewTicker(20 * time.Millisecond)
			defer tick.Stop()
			conn, err := db.Conn(ctx)
			if err != nil {
				return
			}
			defer conn.Close()
			for n := 0; ctx.Err() == nil; n++ {
				<-tick.C
				if client == 0 && n%5 == 0 {
					_, _ = conn.ExecContext(ctx, "UPDATE item SET price = price + 1 WHERE id = ?", client+1)
				}
				var price int
				_ = conn.QueryRowContext(ctx, "SELECT price FROM item WHERE id = ?", client+1).Scan(&price)
			}
		})
	}
	return func() {
		cancel()
		clients.Wait()
	}
}

// tie has a client hold what ties it to the primary, until leave is called or the test ends.
func (s *site) tie(user, password, schema string) (leave func()) {
	s.t.Helper()
	db := s.open(user, password, schema)
	conn, err := db.Conn(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	leave = func() { _, _ = conn.Close(), db.Close() }
	s.t.Cleanup(leave)
	for _, q := range []string{
		"CREATE TEMPORARY TABLE basket (n INT)", "SET @n = FOUND_ROWS()", "SELECT GET_LOCK('till', 1)", "BEGIN", "UPDATE shop.item SET price = 5 WHERE id = 3",
	} {
		if _, err := conn.ExecContext(s.t.Context(), q); err != nil {
			s.t.Fatalf("%s: %v", q, err)
		}
	}
	return leave
}

// hold keeps a replica from applying; release must be called before anything stops its applier.
func (s *site) hold(name string) (release func()) {
	s.t.Helper()
	let, err := s.cluster.Server(name).HoldApplier(s.t.Context())
	if err != nil {
		s.t.Fatal(err)
	}
	release = sync.OnceFunc(func() {
		if err := let(); err != nil {
			s.t.Error(err)
		}
	})
	s.t.Cleanup(release)
	return release
}
