package proxy

import (
	"context"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/backend"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/pool"
	"github.com/mysqlrw/mysqlrw/pkg/sessionstate"
	"github.com/mysqlrw/mysqlrw/pkg/topology"
	"github.com/mysqlrw/mysqlrw/pkg/tracker"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
	"github.com/mysqlrw/mysqlrw/route"
)

// cluster is one list of servers with their monitor and pools. A reload that changes the list makes
// another one, and sessions move to it when nothing ties them to the old one.
type cluster struct {
	servers []*server
	monitor *topology.Monitor
	// rotation is whose turn it is. Decisions that use it are made under its lock.
	turns    sync.Mutex
	rotation route.Rotation

	byLog   bool // positions of MySQL servers are places in their binary logs
	fetcher fetcher
	tracker *tracker.Tracker // nil if there is none
	policy  route.Policy     // of the first listener
	chosen  *chosen          // nil: reads at weak run on any server
	reached *version         // nil as chosen is
	present atomic.Bool      // it has taken over from the cluster before, if there was one
	lost    atomic.Pointer[[]loss]

	users atomic.Int64 // sessions, and one for being the present cluster
	stop  context.CancelFunc
	done  chan struct{} // closed when the monitor has ended
}

// loss is what a primary had acknowledged and its successor has not.
type loss struct{ lost, kept gtid.Value }

// server is one server of a cluster. Its connections stay if a reload does not change how it is
// connected to.
type server struct {
	Server
	dialing *dialing
	station *station
	company company
	life    atomic.Uint64 // counts when it was started anew, or lost data
}

// dialing is what makes a server's connections: a cluster that comes after takes it over if nothing
// of it has changed.
type dialing struct {
	Server
	p       *Proxy
	station *station
	pool    *pool.Pool[key, *link]
	buffers backend.Buffers
	users   atomic.Int64 // clusters

	// generation counts the changes of the server's global variables that went through here.
	generation atomic.Uint64
	// large: the server's GTID set is too long to come with every answer.
	large atomic.Bool
	// rights counts the changes of accounts and privileges that went through here.
	rights atomic.Uint64
	// runsInit: the server has an init_connect, whose work a reset undoes and does not do again.
	runsInit atomic.Bool
	// small: the server takes no statements of some KB, since max_allowed_packet is less.
	small atomic.Bool

	loading  sync.Mutex // of the catalog: one connection asks, the others wait for it
	mu       sync.Mutex
	catalog  *sessionstate.Catalog
	of       string // the version that the catalog is of
	defaults defaults
	asked    uint64              // generation when they were asked for
	proven   map[stateProof]bool // states that were set without an error
	links    map[*link]struct{}  // all that are open, to cut them
}

// key is what connections of one kind have in common.
type key struct {
	account    *account
	want       wire.Capability
	zstd       uint8  // level
	attributes string // the client's own, as it sent them; "" where connections are shared
}

// key returns the kind of connection to the server that a session needs.
func (d *dialing) key(a *account, s *session) key {
	k := key{account: a, want: s.want, attributes: s.attributes}
	if !d.TLSAsClient {
		k.want &^= wire.SSL
	}
	if !d.CompressAsClient {
		k.want &^= compressions
	}
	if k.want.Has(wire.ZstdCompression) {
		k.zstd = s.zstd
	}
	return k
}

// stateProof is a state that an account was able to set.
type stateProof struct {
	account *account
	state   *sessionstate.State
}

// maxProven bounds dialing.proven.
const maxProven = 10_000

// sure tells whether the account has set the state on this server before.
func (d *dialing) sure(a *account, s *sessionstate.State) bool {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.proven[stateProof{a, s}]
}

func (d *dialing) prove(a *account, s *sessionstate.State) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if len(d.proven) > maxProven {
		clear(d.proven)
	}
	d.proven[stateProof{a, s}] = true
}

// newDialing makes the connections of a server.
func (p *Proxy) newDialing(t *station, s Server, limits pool.Limits) *dialing {
	d := &dialing{Server: s, p: p, station: t, links: map[*link]struct{}{}, proven: map[stateProof]bool{}}
	d.pool = pool.New(pool.Options[key, *link]{Open: d.open, Full: p.waitsFor, Movable: (*link).movable, Waits: waits, Now: p.now}, limits)
	return d
}

// waits is called before the pool keeps a session waiting.
func waits(owner any) {
	if s, ok := owner.(*session); ok {
		s.aside()
	}
}

// tooMany tells whether a server refused a connection for having too many. What an account has used up
// of an hour does not come back in a moment.
func tooMany(err error) bool {
	var e *wire.ServerError
	if !errors.As(err, &e) {
		return false
	}
	switch e.Code {
	case 1040, 1203:
		return true
	case 1226:
		return strings.Contains(e.Message, "max_user_connections")
	}
	return false
}

// waitsFor tells whether a client waits until a connection is free, after such an error. Where each has its
// own, none will be.
func (p *Proxy) waitsFor(err error) bool {
	if !tooMany(err) {
		return false
	}
	p.cluster.Load().fetcher.yield(p.now()) // it may have the account's last one
	return !p.conf.Load().Unshared
}

// loginCharset is the character set of every login to a server.
const loginCharset = "utf8mb4"

// options are what every connection of an account to the server has.
func (d *dialing) options(a *account) *backend.Options {
	return &backend.Options{
		Network: d.Network, Address: d.Address, User: a.user, Password: a.password, TLSMode: d.TLSMode, TLS: d.TLS,
		Attributes: []wire.Attribute{{Name: "program_name", Value: "mysqlrw"}},
	}
}

// open logs in to the server. Where it closes the connection at the first words, it gets them in small
// packets.
func (d *dialing) open(ctx context.Context, k key) (*link, error) {
	l, err := d.login(ctx, k)
	var refused *wire.ServerError
	var spoke *setupError
	if errors.As(err, &spoke) && (!errors.As(err, &refused) || refused.Code == 1153) && ctx.Err() == nil && d.small.CompareAndSwap(false, true) {
		return d.login(ctx, k)
	}
	return l, err
}

// setupError is why a connection that was logged in could not be told what to report.
type setupError struct{ error }

func (e *setupError) Unwrap() error { return e.error }

// inSchema has connections that are opened log in to a schema, which counts for what the server runs at
// a login (init_connect), and writes in its log. A name that the character set matters for is left out.
func inSchema(ctx context.Context, schema string) context.Context {
	if schema == "" || !isASCII(schema) {
		return ctx
	}
	return context.WithValue(ctx, schemaKey{}, schema)
}

type schemaKey struct{}

func schemaOf(ctx context.Context) string {
	schema, _ := ctx.Value(schemaKey{}).(string)
	return schema
}

func (d *dialing) login(ctx context.Context, k key) (*link, error) {
	rights := d.rights.Load()
	o := d.options(k.account)
	if k.attributes != "" {
		if own, err := wire.DecodeAttributes([]byte(k.attributes)); err == nil {
			o.Attributes = own
		}
	}
	switch {
	case d.TLSAsClient && k.want.Has(wire.SSL):
		o.TLSMode = backend.TLSRequired
	case d.TLSAsClient:
		o.TLSMode = backend.TLSDisabled
	}
	o.Want, o.ZstdLevel, o.ConnectTimeout, o.Buffers, o.Loops = k.want, k.zstd, d.p.conf.Load().ConnectTimeout, &d.buffers, d.p.loops
	o.Schema = schemaOf(ctx)
	conn, err := backend.Dial(ctx, o)
	if err != nil {
		var e *wire.ServerError
		if errors.As(err, &e) && e.Code == 1045 {
			d.p.accounts.forget(k.account)
		}
		return nil, err
	}
	l := &link{conn: conn, from: d, account: k.account, born: d.p.now(), rights: rights}
	if l.catalog, err = d.catalogFor(ctx, conn); err != nil {
		_ = conn.Close()
		return nil, err
	}
	if err := l.wasReset(ctx, o.Schema); err != nil {
		_ = conn.Close()
		return nil, &setupError{err}
	}
	charset, _ := l.state.Value("character_set_client")
	d.mu.Lock()
	d.defaults.ownCharset = charset != "" && charset != loginCharset
	d.links[l] = struct{}{}
	d.mu.Unlock()
	return l, nil
}

// catalogFor returns what the server knows, which the first connection to each version asks.
func (d *dialing) catalogFor(ctx context.Context, conn *backend.Conn) (*sessionstate.Catalog, error) {
	v := conn.Server()
	d.loading.Lock()
	defer d.loading.Unlock()
	d.mu.Lock()
	c, of, now := d.catalog, d.of, d.generation.Load()
	fresh := d.asked == now
	d.mu.Unlock()
	if c != nil && of == v.Text && fresh {
		return c, nil
	}
	if c == nil || of != v.Text {
		loaded, err := d.p.catalogs.load(ctx, conn)
		if err != nil {
			return nil, err
		}
		c = loaded
	}
	standard, err := askDefaults(ctx, conn, c)
	var refused *wire.ServerError
	if errors.As(err, &refused) && refused.Code == 1820 && of == v.Text {
		return c, nil // with an expired password nothing can be asked
	}
	if err != nil {
		return nil, err
	}
	d.mu.Lock()
	d.catalog, d.of, d.defaults, d.asked = c, v.Text, standard, now
	d.runsInit.Store(standard.runsInit)
	d.mu.Unlock()
	return c, nil
}

// cut closes every connection to a server that is gone, used ones too, so that whoever waits for an
// answer stops waiting.
func (d *dialing) cut() {
	d.mu.Lock()
	defer d.mu.Unlock()
	for l := range d.links {
		_ = l.conn.Close()
	}
}

// catalogs are what servers know, each once: states of one catalog are compared by their address.
type catalogs struct {
	mu  sync.Mutex
	all []*sessionstate.Catalog
}

// load asks a server, and returns the catalog of another one that knows the same, if there is one.
func (c *catalogs) load(ctx context.Context, conn *backend.Conn) (*sessionstate.Catalog, error) {
	fresh, err := sessionstate.Load(ctx, func(ctx context.Context, sql string) ([][][]byte, error) {
		r, err := conn.Query(ctx, sql)
		if err != nil {
			return nil, err
		}
		return r.Rows, nil
	}, conn.Server())
	if err != nil {
		return nil, err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, known := range c.all {
		if known.Same(fresh) {
			return known, nil
		}
	}
	c.all = append(c.all, fresh)
	return fresh, nil
}

// defaults are what a session begins with that no tracker tells.
type defaults struct {
	mode          string // sql_mode
	autocommitOff bool
	readCommitted bool // the isolation level
	// ownCharset: the server takes no notice of the character set of a login, as with
	// skip-character-set-client-handshake.
	ownCharset bool
	runsInit   bool   // init_connect is not empty
	tracked    string // what the server reports changes of
}

func askDefaults(ctx context.Context, conn *backend.Conn, c *sessionstate.Catalog) (defaults, error) {
	r, err := conn.Query(ctx, "SELECT @@global.sql_mode, @@global.autocommit, @@global.init_connect, "+
		"@@global.session_track_system_variables, @@global."+c.Isolation())
	if err != nil {
		return defaults{}, err
	}
	if len(r.Rows) != 1 || len(r.Rows[0]) != 5 {
		return defaults{}, errors.New("the server does not say what sessions begin with")
	}
	row := r.Rows[0]
	return defaults{
		mode: string(row[0]), autocommitOff: string(row[1]) == "0", runsInit: len(row[2]) > 0,
		tracked: string(row[3]), readCommitted: string(row[4]) == "READ-COMMITTED",
	}, nil
}

// catalog returns a catalog and what sessions begin with, those of the primary if they are known.
// There is none before the first connection.
func (c *cluster) catalog() (*sessionstate.Catalog, defaults) {
	for _, i := range c.primaryFirst() {
		if cat, d := c.servers[i].dialing.have(); cat != nil {
			return cat, d
		}
	}
	return nil, defaults{}
}

// stale tells whether the primary's global variables have changed since sessions were told what they
// begin with.
func (c *cluster) stale() bool {
	i := c.monitor.Snapshot().Primary()
	if i < 0 {
		return false
	}
	d := c.servers[i].dialing
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.asked != d.generation.Load()
}

// primaryFirst returns the indexes of all servers, that of the primary first if there is one.
func (c *cluster) primaryFirst() []int {
	primary := c.monitor.Snapshot().Primary()
	order := make([]int, 0, len(c.servers))
	if primary >= 0 {
		order = append(order, primary)
	}
	for i := range c.servers {
		if i != primary {
			order = append(order, i)
		}
	}
	return order
}

func (d *dialing) have() (*sessionstate.Catalog, defaults) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return d.catalog, d.defaults
}

// canChange tells whether another server than this one may become the primary.
func (c *cluster) canChange(primary int) bool {
	for i, s := range c.servers {
		if i != primary && s.Role != topology.FixedReplica {
			return true
		}
	}
	return false
}

// fill writes what is known of the servers now into dst.
func (c *cluster) fill(dst *route.Snapshot, now time.Time) {
	c.monitor.Fill(dst, now)
	c.weigh(dst, now)
	dst.Choose = false
}

// weigh gives the servers the weights of now.
func (c *cluster) weigh(dst *route.Snapshot, now time.Time) {
	for i := range dst.Servers {
		dst.Servers[i].Weight = c.servers[i].station.shares.Load().weight(dst.Servers[i].Role, now)
	}
}

// event logs what the monitor saw, and cuts the connections to a server that is gone.
func (p *Proxy) event(c *cluster, e topology.Event) {
	p.log.LogAttrs(context.Background(), e.Level(), e.Kind.String(), e.Attrs()...)
	if tell := p.conf.Load().Events; tell != nil {
		tell(e)
	}
	c.trackAgain(&e)
	if e.Kind == topology.LostWrites {
		var all []loss
		if before := c.lost.Load(); before != nil {
			all = append(all, *before...)
		}
		all = append(all, loss{e.Lost, e.Kept})
		c.lost.Store(&all)
		c.doubt()
	}
	gone := e.Kind == topology.StateChanged && e.New == route.Offline.String() || e.Kind == topology.Restarted ||
		e.Kind == topology.Replaced
	for i, s := range c.servers {
		if s.Name != e.Server {
			continue
		}
		switch e.Kind {
		case topology.StateChanged:
			s.station.heard(&e)
		case topology.Restarted, topology.Replaced, topology.PositionLost:
			s.life.Add(1)
			if e.Kind == topology.PositionLost && c.monitor.Snapshot().Primary() == i {
				c.doubt()
			}
		}
		if gone {
			s.dialing.cut()
			c.fetcher.close() // it may be of this server
		}
	}
}
