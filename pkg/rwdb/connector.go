package rwdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"fmt"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/topology"
	"github.com/mysqlrw/mysqlrw/route"
)

// Connector is a driver.Connector for sql.OpenDB. It watches the servers from New until Close, which sql.DB.Close
// calls. It may be used by any number of goroutines, and by several pools.
type Connector struct {
	options Options
	servers []*server
	monitor *topology.Monitor
	fetcher fetcher
	counts  counts
	lost    atomic.Pointer[[]loss]
	writes  writes
	// turns is the lock of rotation.
	turns    sync.Mutex
	rotation route.Rotation

	stop    context.CancelFunc
	running sync.WaitGroup
}

// server is one server and how the program's connections to it are made.
type server struct {
	Server
	connector driver.Connector
	monitor   *topology.Monitor
	index     int

	mu    sync.Mutex
	conns map[net.Conn]struct{} // to cut them when it is gone
}

func (s *server) epoch() topology.Epoch { return s.monitor.Epoch(s.index) }

func (s *server) learn(at topology.Epoch, position gtid.Value) {
	s.monitor.Learn(s.index, at, position)
}

// cut closes the connections of a server that is gone, so that who waits for an answer need not wait longer.
func (s *server) cut() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for conn := range s.conns {
		_ = conn.Close()
	}
}

// loss is what a primary had acknowledged and its successor has not.
type loss struct{ lost, kept gtid.Value }

// writes are what all statements without a Session have written, and those with one, too.
type writes struct {
	version atomic.Uint64 // counts the changes
	mu      sync.Mutex
	all     gtid.Value
	unnamed uint64 // writes of which nobody knows what number they have
}

// add notes a write; without a position it is unnamed.
func (w *writes) add(position gtid.Value) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if position.IsEmpty() {
		w.unnamed++
	} else if both, err := w.all.Union(position); err == nil {
		w.all = both
	}
	w.version.Add(1)
}

// New returns a connector for a cluster, and begins to watch its servers. It does not wait for them: the first
// connection does. The error is about options that cannot work; it holds no password.
func New(o Options) (*Connector, error) {
	if err := o.complete(); err != nil {
		return nil, err
	}
	c := &Connector{options: o}
	watched := topology.Options{Interval: o.MonitorInterval, Timeout: o.MonitorTimeout, Events: c.event}
	for i := range o.Servers {
		s := &server{Server: o.Servers[i], index: i, conns: map[net.Conn]struct{}{}}
		own, err := mysql.NewConnector(s.client())
		if err != nil {
			return nil, fmt.Errorf("rwdb: server %s: %w", s.Name, err)
		}
		watcher, err := mysql.NewConnector(s.watcher(&o))
		if err != nil {
			return nil, fmt.Errorf("rwdb: server %s: %w", s.Name, err)
		}
		s.connector = own
		c.servers = append(c.servers, s)
		watched.Servers = append(watched.Servers, topology.Server{
			Name: s.Name, Role: s.Role, Weight: s.Weight, Zone: s.Zone,
			Open: func() (*sql.DB, error) {
				db := sql.OpenDB(watcher)
				db.SetMaxOpenConns(2)
				return db, nil
			},
		})
	}
	monitor, err := topology.New(watched)
	if err != nil {
		return nil, fmt.Errorf("rwdb: %w", err)
	}
	c.monitor = monitor
	for _, s := range c.servers {
		s.monitor = monitor
	}
	ctx, stop := context.WithCancel(context.Background())
	c.stop = stop
	c.running.Go(func() { monitor.Run(ctx) })
	return c, nil
}

// Close ends the watching of the servers and returns when that has ended. Connections stay until their pool closes
// them, and read no replica any more that they would have to know more of.
func (c *Connector) Close() error {
	c.stop()
	c.running.Wait()
	return nil
}

// Driver returns the driver of the connections to the servers, for what asks a pool by its type.
func (c *Connector) Driver() driver.Driver { return &mysql.MySQLDriver{} }

// Connect returns a connection that uses one to each server that it needs. It waits until a server is known to be
// usable, for PrimaryWait at most. A login that a server has refused is told at once, by the driver's error; where no
// server could be reached, the error wraps the driver's.
func (c *Connector) Connect(ctx context.Context) (driver.Conn, error) {
	conn := newConn(c)
	asked := func(s *route.Snapshot) bool { return anyOnline(s) || !c.monitor.Oldest().IsZero() }
	if c.monitor.Wait(ctx, asked) != nil {
		return nil, ctx.Err()
	}
	wait, cancel := context.WithTimeout(ctx, max(c.options.PrimaryWait, 0))
	defer cancel()
	for {
		err := conn.first(ctx)
		if err == nil && anyOnline(&conn.snap) {
			return conn, nil
		}
		_ = conn.Close()
		if isServerError(err) || err != nil && ctx.Err() != nil {
			return nil, err
		}
		checks := 0 // the first one is of now: after a server that failed it says nothing new
		if c.monitor.Wait(wait, func(s *route.Snapshot) bool { checks++; return checks > 1 && anyOnline(s) }) == nil {
			continue
		}
		switch {
		case ctx.Err() != nil:
			return nil, ctx.Err()
		case err != nil && len(c.servers) == 1:
			return nil, err
		}
		text := fmt.Sprintf("rwdb: no server can be used, waited %v: %s", max(c.options.PrimaryWait, 0), c.trouble())
		return nil, &unusableError{text, err}
	}
}

// unusableError is that of a connection that no server could be had for.
type unusableError struct {
	text string
	why  error // the driver's; nil if one could be reached, but is not to be used
}

func (e *unusableError) Error() string { return e.text }
func (e *unusableError) Unwrap() error { return e.why }

func anyOnline(s *route.Snapshot) bool {
	for i := range s.Servers {
		if s.Servers[i].State == route.Online {
			return true
		}
	}
	return false
}

// trouble says why servers cannot be used.
func (c *Connector) trouble() string {
	snap := c.monitor.Snapshot()
	var all []string
	for i := range snap.Servers {
		sv := &snap.Servers[i]
		if sv.State == route.Online {
			continue
		}
		text := sv.Name + " is " + sv.State.String()
		if sv.Why != "" {
			text += " (" + sv.Why + ")"
		}
		all = append(all, text)
	}
	return strings.Join(all, ", ")
}

// fill writes what is known of the servers now into a snapshot.
func (c *Connector) fill(dst *route.Snapshot, now time.Time) {
	c.monitor.Fill(dst, now)
	for i := range dst.Servers {
		if dst.Servers[i].Role == route.Primary {
			dst.Servers[i].Weight = c.servers[i].PrimaryWeight
		}
	}
}

// Servers returns what is known of the servers at this moment, in the order of Options.Servers. It is the caller's.
func (c *Connector) Servers() []route.Server {
	var snap route.Snapshot
	c.fill(&snap, time.Now())
	return snap.Servers
}

// Wait returns nil as soon as what the servers were found to be satisfies ok, which is called with what is known now
// and after each check, and the context's error if that ends before. Nothing has to wait for the servers: a statement
// does. A program that wants to say at its start what it has found can.
func (c *Connector) Wait(ctx context.Context, ok func([]route.Server) bool) error {
	return c.monitor.Wait(ctx, func(s *route.Snapshot) bool { return ok(s.Servers) })
}

// event takes in what the monitor has found.
func (c *Connector) event(e topology.Event) {
	c.options.Logger.LogAttrs(context.Background(), e.Level(), e.Kind.String(), e.Attrs()...)
	if e.Kind == topology.LostWrites {
		var all []loss
		if before := c.lost.Load(); before != nil {
			all = append(all, *before...)
		}
		all = append(all, loss{e.Lost, e.Kept})
		c.lost.Store(&all)
	}
	gone := e.Kind == topology.Restarted || e.Kind == topology.Replaced ||
		e.Kind == topology.StateChanged && e.New == route.Offline.String()
	for _, s := range c.servers {
		if gone && s.Name == e.Server {
			s.cut()
		}
	}
}

// losses returns what failovers have lost. Where a read that cannot be given is to be an error, nothing is
// forgotten.
func (c *Connector) losses() []loss {
	all := c.lost.Load()
	if all == nil || c.options.policy.ErrorOnTimeout {
		return nil
	}
	return *all
}
