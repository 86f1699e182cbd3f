package proxy

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/topology"
	"github.com/mysqlrw/mysqlrw/route"
)

// Reload goes over to other options, or returns an error and changes nothing. Listeners must be the
// same addresses in the same order.
func (p *Proxy) Reload(o Options) error {
	p.reload.Lock()
	defer p.reload.Unlock()
	if err := o.check(); err != nil {
		return err
	}
	o.own()
	before := p.conf.Load()
	if len(o.Listeners) != len(before.Listeners) {
		return errors.New("the listeners are others: that takes a restart")
	}
	for i := range o.Listeners {
		if o.Listeners[i].Network != before.Listeners[i].Network || o.Listeners[i].Address != before.Listeners[i].Address {
			return fmt.Errorf("listener %s is another one: that takes a restart", o.Listeners[i].Address)
		}
	}
	old := p.cluster.Load()
	next, err := p.newCluster(&o, old)
	if err != nil {
		return err
	}
	o.Log, o.Events = before.Log, before.Events
	p.conf.Store(&o)
	p.accounts.setGiven(o.Accounts)
	next.run(p.ctx)
	// Sessions go on with what the old monitor knows until the new one knows as much.
	ctx, cancel := context.WithTimeout(p.ctx, reloadWait)
	defer cancel()
	was := old.monitor.Snapshot()
	_ = next.monitor.Wait(ctx, func(s *route.Snapshot) bool { return knowsAsMuch(s, was) })
	next.succeed(old, p.now())
	next.present.Store(true)
	p.cluster.Store(next)
	for _, s := range next.servers {
		s.dialing.pool.SetLimits(o.Pool)
	}
	old.leave(p)
	p.sessions.each((*session).wake)
	return nil
}

// knowsAsMuch tells whether a list has a primary if there was one, and has asked every server that was online.
func knowsAsMuch(is, was *route.Snapshot) bool {
	if was.Primary() >= 0 && is.Primary() < 0 {
		return false
	}
	for i := range was.Servers {
		if was.Servers[i].State != route.Online {
			continue
		}
		if now := is.Find(was.Servers[i].Name); now >= 0 && is.Servers[now].State == route.Unproven {
			return false
		}
	}
	return true
}

// reloadWait bounds how long a reload waits for the new list's servers.
const reloadWait = 5 * time.Second

// newCluster makes a cluster, with the connections of old that stay the same. It asks nobody yet.
func (p *Proxy) newCluster(o *Options, old *cluster) (*cluster, error) {
	c := &cluster{done: make(chan struct{}), byLog: o.byLog(), policy: o.Listeners[0].Policy}
	c.users.Store(1)
	c.present.Store(old == nil)
	if o.VersionInterval > 0 {
		c.chosen, c.reached = newChosen(topology.Notice(o.CheckInterval, o.CheckTimeout)), &version{every: o.VersionInterval}
	}
	watched := make([]topology.Server, 0, len(o.Servers))
	for _, s := range o.Servers {
		one := &server{Server: s, station: p.stations.of(&s, o)}
		if old != nil {
			for _, before := range old.servers {
				if sameConnections(&before.Server, &s) {
					one.dialing = before.dialing
				}
			}
		}
		if one.dialing == nil {
			one.dialing = p.newDialing(one.station, s, o.Pool)
		}
		c.servers = append(c.servers, one)
		watched = append(watched, topology.Server{Name: s.Name, Open: s.Monitor, Role: s.Role, Weight: s.Weight, Zone: s.Zone})
	}
	var err error
	c.monitor, err = topology.New(topology.Options{
		Servers: watched, Interval: o.CheckInterval, Timeout: o.CheckTimeout, Heartbeat: o.Heartbeat, Now: p.now,
		ByLog: c.byLog, Events: func(e topology.Event) { p.event(c, e) }, Checked: func() { c.checked(p) },
	})
	if err != nil {
		return nil, err
	}
	c.tracker = c.newTracker(p, o.Tracker)
	for _, s := range c.servers {
		s.dialing.users.Add(1)
		s.station.configure(&s.Server, o)
	}
	return c, nil
}

func sameConnections(a, b *Server) bool {
	return a.Name == b.Name && a.Network == b.Network && a.Address == b.Address && a.TLSMode == b.TLSMode && a.TLS == b.TLS &&
		a.TLSAsClient == b.TLSAsClient && a.CompressAsClient == b.CompressAsClient
}

// run watches the servers until the cluster is ended.
func (c *cluster) run(ctx context.Context) {
	ctx, c.stop = context.WithCancel(ctx)
	go func() {
		defer close(c.done)
		var tracks sync.WaitGroup
		if c.tracker != nil {
			tracks.Go(func() { c.tracker.Run(ctx) })
		}
		c.monitor.Run(ctx)
		tracks.Wait()
	}()
}

// end stops the monitor and waits for it, and closes the connections that no other cluster has.
func (c *cluster) end() {
	c.stop()
	<-c.done
	c.fetcher.close()
	for _, s := range c.servers {
		if s.dialing.users.Add(-1) == 0 {
			s.dialing.pool.Close()
		}
	}
}

// enter returns the present cluster, for a session that will leave it.
func (p *Proxy) enter() *cluster {
	for {
		c := p.cluster.Load()
		for {
			n := c.users.Load()
			if n == 0 {
				break // a reload has replaced it since, and it is being ended
			}
			if c.users.CompareAndSwap(n, n+1) {
				return c
			}
		}
	}
}

// leave is for a session that uses the cluster no more. After the last one the watch ends it, if a
// reload has brought another.
func (c *cluster) leave(p *Proxy) {
	if c.users.Add(-1) > 0 {
		return
	}
	p.left.Lock()
	defer p.left.Unlock()
	p.leftBehind = append(p.leftBehind, c)
}

// endLeft ends the clusters that nobody uses any more.
func (p *Proxy) endLeft() {
	p.left.Lock()
	all := p.leftBehind
	p.leftBehind = nil
	p.left.Unlock()
	for _, c := range all {
		c.end()
	}
}
