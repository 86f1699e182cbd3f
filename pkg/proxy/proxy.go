package proxy

import (
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"os"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/deadline"
	"github.com/mysqlrw/mysqlrw/pkg/frontend"
	"github.com/mysqlrw/mysqlrw/pkg/netloop"
	"github.com/mysqlrw/mysqlrw/route"
)

// Proxy serves clients. Make one with New, then Listen, then Run.
type Proxy struct {
	log       *slog.Logger
	now       func() time.Time
	conf      atomic.Pointer[Options]
	cluster   atomic.Pointer[cluster]
	accounts  accounts
	catalogs  catalogs
	texts     texts
	writers   writers
	sessions  sessions
	stations  stations
	counts    counts
	listeners []*listener
	buffers   frontend.Buffers
	key       *rsa.PrivateKey

	ctx      context.Context // ends when everything is to be cut
	cut      context.CancelFunc
	loops    *netloop.Loops // nil where there are none
	reload   sync.Mutex
	draining atomic.Bool
	wait     sync.WaitGroup // for listeners, sessions and the watch

	left       sync.Mutex
	leftBehind []*cluster // that a reload has replaced, and that no session uses any more
	abandoned  []*link    // whose servers run a read for nobody
}

// New makes a proxy that neither listens nor connects yet. The error is about options that cannot
// work.
func New(o Options) (*Proxy, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	o.own()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return nil, err
	}
	p := &Proxy{log: o.Log, now: time.Now, key: key}
	if p.log == nil {
		p.log = slog.New(slog.DiscardHandler)
	}
	p.ctx, p.cut = context.WithCancel(context.Background())
	p.conf.Store(&o)
	p.accounts.setGiven(o.Accounts)
	c, err := p.newCluster(&o, nil)
	if err != nil {
		return nil, err
	}
	p.cluster.Store(c)
	return p, nil
}

// Listen opens all addresses, or none.
func (p *Proxy) Listen() error {
	conf := p.conf.Load()
	for i := range conf.Listeners {
		l, err := p.listen(i, &conf.Listeners[i])
		if err != nil {
			for _, open := range p.listeners {
				_ = open.socket.Close()
			}
			return err
		}
		p.listeners = append(p.listeners, l)
	}
	return nil
}

// listen opens one address. A unix socket that nobody listens on is in the way of the next one, and
// is removed.
func (p *Proxy) listen(i int, o *Listener) (*listener, error) {
	socket, err := net.Listen(o.Network, o.Address)
	if err != nil && o.Network == "unix" {
		if c, dead := net.DialTimeout("unix", o.Address, time.Second); dead != nil {
			if os.Remove(o.Address) == nil {
				socket, err = net.Listen(o.Network, o.Address)
			}
		} else {
			_ = c.Close()
		}
	}
	if err != nil {
		return nil, fmt.Errorf("listen on %s: %w", o.Address, err)
	}
	if o.Network == "unix" { // as the servers' own: who may log in is for the password
		if err := os.Chmod(o.Address, 0o777); err != nil {
			_ = socket.Close()
			return nil, err
		}
	}
	return &listener{p: p, index: i, socket: socket, logins: make(chan struct{}, maxLogins)}, nil
}

// Addresses returns where clients can connect, in the order of the options, after Listen.
func (p *Proxy) Addresses() []net.Addr {
	all := make([]net.Addr, len(p.listeners))
	for i, l := range p.listeners {
		all[i] = l.socket.Addr()
	}
	return all
}

// Run watches the servers and serves clients until Close, or until Shutdown has ended. It returns
// when nothing of it runs any more.
func (p *Proxy) Run() {
	var err error
	if p.loops, err = netloop.Start(max(1, runtime.GOMAXPROCS(0)-1)); err != nil {
		p.log.Warn("clients are served at a higher cost", "error", err)
	}
	defer p.loops.Close()
	p.cluster.Load().run(p.ctx)
	p.wait.Go(p.watch)
	for _, l := range p.listeners {
		p.wait.Go(l.accept)
	}
	<-p.ctx.Done()
	p.stopListening()
	p.cutAll()
	p.wait.Wait()
	p.endLeft()
	p.cluster.Load().end()
}

// Ready returns when there is a primary, or ctx ends. A reload in between changes nothing about that.
func (p *Proxy) Ready(ctx context.Context) error {
	return p.Wait(ctx, func(s *route.Snapshot) bool { return s.Primary() >= 0 })
}

// Wait returns nil as soon as what the servers were found to be satisfies ok, which is called after each
// check, and the cause if ctx ends before. After a reload it goes by the new servers.
func (p *Proxy) Wait(ctx context.Context, ok func(*route.Snapshot) bool) error {
	for {
		c := p.cluster.Load()
		err := c.monitor.Wait(ctx, func(s *route.Snapshot) bool { return ok(s) || p.cluster.Load() != c })
		if err != nil || p.cluster.Load() == c {
			return err
		}
	}
}

// Tracking returns when reads at level scc wait only for the tables that they name, or ctx ends. Without
// Options.Tracker that never comes.
func (p *Proxy) Tracking(ctx context.Context) error {
	for {
		c := p.cluster.Load()
		if c.tracker == nil {
			return errors.New("the proxy follows no binary log")
		}
		if err := c.tracker.Ready(ctx); err != nil || p.cluster.Load() == c {
			return err
		}
	}
}

// Snapshot returns what the monitor knows of the servers, to be shown and not changed.
func (p *Proxy) Snapshot() *route.Snapshot { return p.cluster.Load().monitor.Snapshot() }

// Shutdown stops accepting and ends every session as soon as it is in no transaction and holds
// nothing. When all have ended, or ctx has, the rest is cut.
func (p *Proxy) Shutdown(ctx context.Context) error {
	p.draining.Store(true)
	p.stopListening()
	p.sessions.each(func(s *session) { s.drain() })
	err := p.sessions.empty(ctx)
	p.cutSessions()
	p.Close()
	return err
}

// cutSessions tells every client that is left that the server goes down, as the servers do.
func (p *Proxy) cutSessions() {
	p.sessions.each(func(s *session) {
		s.cancel(shutDown)
		_ = s.client.SetReadDeadline(deadline.Past())
	})
	ctx, cancel := context.WithTimeout(context.Background(), time.Second)
	defer cancel()
	_ = p.sessions.empty(ctx)
}

// Close cuts everything. Run returns.
func (p *Proxy) Close() { p.cut() }

func (p *Proxy) stopListening() {
	for _, l := range p.listeners {
		_ = l.socket.Close()
	}
}
