package backend

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"net"

	"github.com/mysqlrw/mysqlrw/pkg/compress"
	"github.com/mysqlrw/mysqlrw/pkg/deadline"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/netloop"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// Dial connects and logs in. It returns an *Error; what a server refused with is a
// *wire.ServerError in it.
func Dial(ctx context.Context, o *Options) (*Conn, error) {
	if o.ConnectTimeout > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, o.ConnectTimeout,
			fmt.Errorf("not connected within %s: %w", o.ConnectTimeout, context.DeadlineExceeded))
		defer cancel()
	}
	c := &Conn{address: o.Address, secure: o.network() == "unix", in: buffer{buffers: o.Buffers}}
	raw, err := o.connect(ctx)
	if err != nil {
		var dialled *net.OpError
		switch {
		case ctx.Err() != nil:
			err = context.Cause(ctx)
		case errors.As(err, &dialled): // the address is said already
			err = dialled.Err
		}
		return nil, c.fail("connect to", false, err)
	}
	raw = o.Loops.Wrap(raw)
	c.raw, c.conn, c.socket = raw, raw, newSocket(raw)
	if c.loop, _ = raw.(*netloop.Conn); c.loop == nil && o.Loops != nil {
		_ = raw.Close() // a task would keep its loop waiting for it
		return nil, c.fail("connect to", false, errNoLoop)
	}
	stop := deadline.Watch(ctx, c.raw)
	err = c.login(o)
	stop()
	if err == nil {
		return c, nil
	}
	_ = raw.Close()
	c.in.release()
	err = cause(ctx, unwrapped(err))
	if c.server.Text == "" && errors.Is(err, context.DeadlineExceeded) {
		err = &hinted{err, "the server sent no greeting: is the address one of a MySQL or MariaDB server?"}
	}
	return nil, c.fail("connect to", false, err)
}

// errNoLoop is why a connection is of no use to tasks: the system has no descriptor more for it, or it is no socket.
var errNoLoop = errors.New("loops cannot wait for it: the system has no file descriptor more, or it is no socket")

// unwrapped takes the Error of a read or write off, since a login is one operation.
func unwrapped(err error) error {
	if e, ok := err.(*Error); ok { //nolint:errorlint // only the outermost
		return e.Err
	}
	return err
}

// login does all from the greeting to the OK.
func (c *Conn) login(o *Options) error {
	g, err := c.greeting()
	if err != nil {
		return err
	}
	c.server = flavor.Parse(g.Version)
	c.server.Text = g.ServerVersion()
	c.id, c.nonce, c.caps = g.ThreadID, g.AuthData, o.capabilities(g.Capabilities)
	c.chars = o.Charset
	if c.chars == 0 {
		c.chars = wire.CharsetUTF8MB4
	}
	for _, a := range o.Attributes {
		c.attrs = wire.AppendAttribute(c.attrs, a.Name, a.Value)
	}
	plugin := g.AuthPlugin
	if !known(plugin) { // it is only the server's default; a switch names the account's
		plugin = wire.NativePlugin
	}
	c.plugin = plugin
	r := wire.HandshakeResponse{
		Capabilities: c.caps, MaxPacket: 1 << 30, Charset: c.chars, User: o.User, Database: o.Schema,
		AuthPlugin: plugin, Attributes: c.attrs, ZstdLevel: o.ZstdLevel,
	}
	if err := c.encrypt(o, g, &r); err != nil {
		return err
	}
	password := []byte(o.Password)
	r.AuthResponse = c.firstResponse(plugin, password)
	if err := c.send(r.Append(nil)); err != nil {
		return err
	}
	if err := c.authenticate(plugin, password); err != nil {
		return err
	}
	if level, on := compress.LevelOf(c.caps, o.ZstdLevel); on {
		c.frames = newFrames(c.conn, c.in.buffers.packing(), level)
		c.conn = c.frames
	}
	return nil
}

// maxGreeting is more than a server says at first. What is longer is something else.
const maxGreeting = 4 << 10

// greeting reads the first packet.
func (c *Conn) greeting() (*wire.Greeting, error) {
	b, err := c.Fill(wire.HeaderSize + 1)
	if err != nil {
		return nil, err
	}
	length, seq := wire.Header(b)
	if seq != 0 || length == 0 || length > maxGreeting {
		return nil, fmt.Errorf("%w: it begins with %.20q", ErrNotMySQL, b)
	}
	if b[wire.HeaderSize] == 0x0B && length < 16 { // Mysqlx.Notice
		return nil, &hinted{ErrNotMySQL, "it looks like the port of the X protocol: use the classic one, mostly 3306"}
	}
	p, err := c.receive()
	if err != nil {
		return nil, err
	}
	g := &wire.Greeting{}
	if err := g.Decode(p); err != nil {
		return nil, fmt.Errorf("%w: %w", ErrNotMySQL, err)
	}
	if !g.Capabilities.Has(wire.Protocol41 | wire.SecureConnection | wire.PluginAuth) {
		return nil, &hinted{fmt.Errorf("%w: version %.50q", ErrTooOld, g.Version), "MySQL 5.7 or MariaDB 10.4 is needed"}
	}
	return g, nil
}

// encrypt begins TLS if both want it.
func (c *Conn) encrypt(o *Options, g *wire.Greeting, r *wire.HandshakeResponse) error {
	offered := g.Capabilities.Has(wire.SSL)
	switch {
	case o.TLSMode == TLSRequired && !offered:
		return &hinted{ErrNoTLS, "give the server a certificate, or do not require TLS"}
	case o.TLSMode == TLSDisabled || !offered || o.TLSMode == TLSPreferred && o.network() == "unix":
		return nil
	}
	r.Capabilities |= wire.SSL
	c.caps |= wire.SSL
	if err := c.send(r.AppendSSLRequest(nil)); err != nil {
		return err
	}
	if len(c.Peek()) > 0 { // would be taken for what came over TLS
		return fmt.Errorf("%w: it sent something between the greeting and TLS", ErrNotMySQL)
	}
	t := tls.Client(c.raw, o.tlsConfig())
	if err := t.Handshake(); err != nil { // c.watch ends it
		return fmt.Errorf("begin TLS: %w", err)
	}
	c.conn, c.secure = t, true
	return nil
}

// receive returns the next message of a login, which is good until the next Fill. An error packet
// is returned as an error.
func (c *Conn) receive() ([]byte, error) {
	for {
		p, seq, n, err := wire.Split(c.Peek())
		if err != nil {
			return nil, err
		}
		if n == 0 {
			if _, err := c.Fill(wire.Need(c.Peek())); err != nil {
				return nil, err
			}
			continue
		}
		if wire.IsError(p) {
			c.Advance(n)
			return nil, decodeError(p)
		}
		if seq != c.seq || len(p) == 0 {
			return nil, fmt.Errorf("%w: packet %d of the login has number %d and %d bytes", ErrNotMySQL, c.seq, seq, len(p))
		}
		c.seq = seq + 1
		c.Advance(n)
		return p, nil
	}
}

func decodeError(p []byte) error {
	e := &wire.ServerError{}
	if err := e.Decode(p); err != nil {
		return err
	}
	return e
}

// send writes a message of a login.
func (c *Conn) send(payload []byte) error {
	out, next := wire.AppendMessage(nil, payload, c.seq)
	c.seq = next
	return c.Write(out)
}
