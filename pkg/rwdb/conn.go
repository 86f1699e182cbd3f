package rwdb

import (
	"context"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/route"
)

// conn is one connection of the pool: a session as the program sees it, with at most one link to each server. Like
// every driver.Conn it is used by one goroutine at a time.
type conn struct {
	c     *Connector
	route route.Session
	snap  route.Snapshot
	links []*link // by server; nil is none
	// checker converts arguments, which takes a connection of the driver, but not one that is alive.
	checker driver.NamedValueChecker
	req     request
	texts   [16]classified // by length; they are forgotten when texts are read in another way

	memory  route.Memory // of statements without a Session
	version uint64       // of the connector's writes that memory has
	unnamed uint64

	settings []setting // what statements have set, for links that come later
	pending  beginning // of a transaction that no server knows yet
	session  *Session  // of the transaction
	inTx     bool      // the pool has begun one
	wroteIn  bool      // it has certainly changed something
	doubted  bool      // that a transaction is open: only an error says that one may be
	broken   bool      // what it held is lost
}

// setting is a statement that holds on every connection.
type setting struct {
	text string
	args []driver.NamedValue
}

// maxSettings is how many settings a connection may have until the pool does not use it again: all have to be
// repeated on a new link.
const maxSettings = 50

// beginning is how a transaction begins.
type beginning struct {
	is      bool
	text    string           // a statement of the program's own; "" is by options
	options driver.TxOptions // of BeginTx
	next    string           // SET TRANSACTION in front of it, or of a statement that is one; separated by NUL
}

func newConn(c *Connector) *conn {
	conn := &conn{c: c, links: make([]*link, len(c.servers))}
	conn.route.Schema = c.servers[0].Config.DBName
	return conn
}

// first opens a connection, so that who cannot log in is told so here: to a server that can be read, or to any.
func (c *conn) first(ctx context.Context) error {
	c.req = request{}
	c.look(&c.req)
	read := route.Statement{Class: route.Read, Target: route.ToReplica, Reason: route.ReadOnlyStatement, Count: 1}
	c.c.turns.Lock()
	policy := c.c.options.policy
	policy.Level, policy.Balancer = route.Eventual, route.WeightedRoundRobin // connections read on where they began
	d := c.route.Decide(&read, "", &policy, &c.snap, &c.c.rotation)
	c.c.turns.Unlock()
	i := d.Server
	if i < 0 {
		i = max(0, c.snap.Primary())
	}
	var all error
	for n := range c.links {
		at := (i + n) % len(c.links)
		if n > 0 && c.snap.Servers[at].State != route.Online {
			continue
		}
		l, err := c.link(ctx, at)
		if err == nil {
			if err = c.follow(ctx, l); err != nil {
				_ = c.Close() // nobody else will
			}
			return err
		}
		if all == nil {
			all = err // the driver's own, which a program may compare
		} else {
			all = errors.Join(all, err)
		}
		if ctx.Err() != nil || isServerError(err) {
			return err
		}
		c.c.monitor.Recheck(at)
	}
	return all
}

// follow asks how the servers read what the program says, by their own settings or those of the DSN.
func (c *conn) follow(ctx context.Context, l *link) error {
	_, values, err := l.row(ctx, "SELECT @@SESSION.sql_mode, @@SESSION.character_set_client, @@SESSION."+flavor.IsolationVariable(l.flavor))
	if err != nil {
		return err
	}
	c.route.Follow(fmt.Sprint(values[0]), fmt.Sprint(values[1]))
	c.route.SetReadCommitted(fmt.Sprint(values[2]) == "READ-COMMITTED")
	return nil
}

// link returns the connection to a server, which it opens if there is none that can be used.
func (c *conn) link(ctx context.Context, i int) (*link, error) {
	if l := c.links[i]; l != nil {
		if l.alive(ctx) {
			return l, nil
		}
		if c.drop(i); c.broken { // another one is not the same: a transaction is over, a lock released
			return nil, driver.ErrBadConn
		}
	}
	l, err := c.c.servers[i].dial(ctx)
	if err != nil {
		return nil, err
	}
	c.links[i], c.checker = l, l.conn
	return l, nil
}

// drop closes the link to a server, and notes what is lost with it.
func (c *conn) drop(i int) {
	l := c.links[i]
	if l == nil {
		return
	}
	c.links[i] = nil
	l.close()
	if c.tied(i) {
		c.broken = true
	}
}

// tied tells whether something of the session lives on the link to a server.
func (c *conn) tied(i int) bool {
	name := c.c.servers[i].Name
	return c.route.Transaction.Server == name || c.route.HeldOn(name, route.HoldFoundRows|route.HoldRoutine)
}

// Prepare implements driver.Conn.
func (c *conn) Prepare(query string) (driver.Stmt, error) {
	return c.PrepareContext(context.Background(), query)
}

// Close implements driver.Conn.
func (c *conn) Close() error {
	for i, l := range c.links {
		if l != nil {
			c.links[i] = nil
			l.close()
		}
	}
	return nil
}

// Begin implements driver.Conn.
func (c *conn) Begin() (driver.Tx, error) {
	return c.BeginTx(context.Background(), driver.TxOptions{})
}

// Ping looks whether the primary answers, or, where there is none, a server that can be read.
func (c *conn) Ping(ctx context.Context) error {
	switch {
	case c.broken:
		return driver.ErrBadConn
	case ctx.Err() != nil:
		return ctx.Err()
	}
	c.look(&c.req)
	i := c.snap.Primary()
	for n := 0; i < 0 && n < len(c.snap.Servers); n++ {
		if c.snap.Servers[n].State == route.Online {
			i = n
		}
	}
	if i < 0 {
		return fmt.Errorf("rwdb: no server can be used: %s", c.c.trouble())
	}
	l, err := c.link(ctx, i)
	if err != nil {
		return err
	}
	return l.conn.Ping(ctx)
}

// ResetSession is called when the pool hands the connection out again. A link that nothing lives on is looked at
// when it is used first; where something does, the loss of it is told now, and the pool takes another connection.
func (c *conn) ResetSession(ctx context.Context) error {
	for i, l := range c.links {
		if l == nil {
			continue
		}
		l.unchecked = true
		if !l.conn.IsValid() || c.tied(i) && !l.alive(ctx) {
			c.drop(i)
		}
	}
	if c.broken {
		return driver.ErrBadConn
	}
	return nil
}

// IsValid tells the pool, which has it back now, whether it may use the connection again.
func (c *conn) IsValid() bool {
	for i, l := range c.links {
		if l != nil && !l.conn.IsValid() { // it would count as busy until somebody uses it
			c.drop(i)
		}
	}
	return !c.broken && len(c.settings) <= maxSettings
}

// CheckNamedValue takes what the driver takes.
func (c *conn) CheckNamedValue(v *driver.NamedValue) error { return c.checker.CheckNamedValue(v) }

// ExecContext runs a statement.
func (c *conn) ExecContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Result, error) {
	r := c.request(opExec, query, args)
	err := c.run(ctx, r)
	return r.result, err
}

// QueryContext runs a statement with rows.
func (c *conn) QueryContext(ctx context.Context, query string, args []driver.NamedValue) (driver.Rows, error) {
	r := c.request(opQuery, query, args)
	if err := c.run(ctx, r); err != nil {
		return nil, err
	}
	return r.rows, nil
}

// Exec implements driver.Execer: the driver's documentation uses it with sql.Conn.Raw.
func (c *conn) Exec(query string, args []driver.Value) (driver.Result, error) {
	return c.ExecContext(context.Background(), query, named(args))
}

// Query implements driver.Queryer.
func (c *conn) Query(query string, args []driver.Value) (driver.Rows, error) {
	return c.QueryContext(context.Background(), query, named(args))
}

// noRows is the answer to a statement that no server was asked.
type noRows struct{}

func (noRows) Columns() []string         { return nil }
func (noRows) Close() error              { return nil }
func (noRows) Next([]driver.Value) error { return io.EOF }
