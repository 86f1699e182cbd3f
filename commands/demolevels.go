package commands

import (
	"database/sql"
	"fmt"
	"log/slog"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/config"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/proxy"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/verify"
	"github.com/mysqlrw/mysqlrw/route"
)

// demoProxy is the proxy of the showing. A nil one is none.
type demoProxy struct {
	proxy   *proxy.Proxy
	serving *serving
	address string
	cnf     string // for the mysql client
	ended   chan struct{}
}

const (
	demoDelay   = time.Second // of replica2
	demoLasts   = 3 * time.Second
	demoClients = 16
)

// levels shows what each level gives with one replica that is late.
func (d *demo) levels() error {
	replica2 := d.cluster.Replica(2)
	if err := d.say("A proxy in front of the three. replica2 is one second late from now on."); err != nil {
		return err
	}
	f := d.cluster.Flavor
	delay := flavor.DelayApplier(f, "", demoDelay)
	for _, step := range []func() error{
		func() error { return replica2.StopApplier(d.ctx, f, "") },
		func() error { return d.sql(replica2, delay) },
		func() error { return replica2.StartApplier(d.ctx, f, "") },
		func() (err error) { d.proxy, err = startDemoProxy(d.env, d.cluster); return err },
		func() error { return d.proxy.ready(d) },
	} {
		if err := step(); err != nil {
			return err
		}
	}
	fmt.Fprintf(d.env.stdout, "# %d clients write and read through it, %v at each level, one write to nine reads:\n", demoClients, demoLasts)
	var rows [][]cell
	for _, level := range []route.Level{route.Eventual, route.SessionLevel, route.Global, route.Strong} {
		row, err := d.level(level)
		if err != nil {
			return fmt.Errorf("level %s: %w", level, err)
		}
		cells := make([]cell, len(row))
		for i, text := range row {
			cells[i].text = text
		}
		rows = append(rows, cells)
	}
	header := []string{"LEVEL", "READS", "OWN WRITE MISSED", "WENT BACK", "STALE", "ON REPLICAS", "P50", "P99", "WAITS", "FALL-BACKS"}
	return (&printer{w: d.env.stdout}).printTable(header, rows)
}

// level has clients work at one level. The table that they use is on the servers already: it is made
// anew for each level, and dropped.
func (d *demo) level(level route.Level) ([]string, error) {
	db, err := d.proxy.open(d.cluster.Primary())
	if err != nil {
		return nil, err
	}
	defer db.Close()
	before := d.proxy.counters()
	r, err := verify.Run(d.ctx, verify.Options{
		Read: db, Write: db, Clients: demoClients, Duration: demoLasts, Statements: []string{verify.Setting("consistency", level.String())},
	})
	if err != nil {
		return nil, err
	}
	after := d.proxy.counters()
	grown := func(name string) uint64 { return after[name] - before[name] }
	onReplicas, onPrimary := grown("reads-"+level.String()+"-replica"), grown("reads-"+level.String()+"-primary")
	number := func(n int64) string { return strconv.FormatInt(n, 10) }
	return []string{
		level.String(), number(r.Reads), number(r.OwnWrites.Found), number(r.MonotonicReads.Found), number(r.CrossSession.Found),
		fmt.Sprintf("%d %%", 100*onReplicas/max(onReplicas+onPrimary, 1)),
		fmt.Sprintf("%.1f ms", ms(r.ReadTime.P50)), fmt.Sprintf("%.1f ms", ms(r.ReadTime.P99)),
		strconv.FormatUint(grown("waits"), 10),
		strconv.FormatUint(grown("fall-backs-nothing-caught-up")+grown("fall-backs-no-replica"), 10),
	}, nil
}

func ms(d time.Duration) float64 { return float64(d.Microseconds()) / 1000 }

// startDemoProxy starts a proxy on free ports, as serve does, and writes an option file for it beside those of the
// servers.
func startDemoProxy(env *environment, c *sandbox.Cluster) (*demoProxy, error) {
	primary := c.Primary()
	flags := config.Flags{
		Listen: []string{"127.0.0.1:0"}, Admin: "127.0.0.1:0", AdminToken: config.NewSecret(env.getenv(adminToken)), Primary: primary.Address(),
		User: primary.User, Password: config.NewSecret(primary.Password), SSLMode: config.Disabled, Policy: route.DefaultPolicy(),
	}
	for _, r := range c.Replicas() {
		flags.Replicas = append(flags.Replicas, r.Address())
	}
	named := func(conf *config.Config) {
		for i := range conf.Servers {
			conf.Servers[i].Name = c.Servers[i].Name
		}
	}
	s := &serving{env: env, source: &serveSource{flags: flags, more: named}, log: slog.New(slog.DiscardHandler)}
	conf, _, err := s.source.load(nil)
	if err != nil {
		return nil, err
	}
	if err := s.open(conf); err != nil {
		return nil, err
	}
	d := &demoProxy{proxy: s.proxy, serving: s, address: s.proxy.Addresses()[0].String(), cnf: filepath.Join(c.Dir, "proxy.cnf"), ended: make(chan struct{})}
	go func() {
		defer close(d.ended)
		end := s.serveAdmin()
		s.proxy.Run()
		end()
	}()
	host, port, err := net.SplitHostPort(d.address)
	if err == nil {
		text := fmt.Sprintf("[client]\nhost=%s\nport=%s\nuser=%s\npassword=%s\n", host, port, primary.User, primary.Password)
		err = os.WriteFile(d.cnf, []byte(text), 0o600)
	}
	if err != nil {
		d.end()
		return nil, err
	}
	return d, nil
}

// ready waits until the proxy knows its servers.
func (p *demoProxy) ready(d *demo) error {
	if err := p.proxy.Ready(d.ctx); err != nil {
		return err
	}
	p.serving.isReady.Store(true)
	return p.proxy.Wait(d.ctx, func(s *route.Snapshot) bool {
		for i := range s.Servers {
			if s.Servers[i].State != route.Online {
				return false
			}
		}
		return true
	})
}

func (p *demoProxy) open(account *sandbox.Server) (*sql.DB, error) {
	conf := account.Config()
	conf.Addr = p.address
	c, err := mysql.NewConnector(conf)
	if err != nil {
		return nil, err
	}
	return sql.OpenDB(c), nil
}

func (p *demoProxy) counters() map[string]uint64 {
	all := map[string]uint64{}
	for _, c := range p.proxy.Counters() {
		all[c.Name] = c.Value
	}
	return all
}

// end ends the proxy, if there is one.
func (p *demoProxy) end() {
	if p == nil {
		return
	}
	p.proxy.Close()
	<-p.ended
}
