package frontend

import (
	"context"
	"crypto/rand"
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"slices"

	"github.com/mysqlrw/mysqlrw/pkg/deadline"
	"github.com/mysqlrw/mysqlrw/pkg/netloop"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// Accept does all from a fresh connection to a proven login. The packet that ends the login is not sent:
// WriteOK, WriteError or Write do that, with the number Seq. It takes raw over. On an error, which is an
// *Error, the client was told what there is to tell, and raw is closed.
func Accept(ctx context.Context, raw net.Conn, o *Options) (*Conn, *Login, error) {
	c := &Conn{
		o: o, raw: raw, conn: raw, remote: raw.RemoteAddr(), buffers: o.Buffers,
		secure: raw.LocalAddr().Network() == "unix",
	}
	if c.buffers == nil {
		c.buffers = &Buffers{}
	}
	c.in.pool, c.socket = c.buffers, newSocket(raw, c.buffers)
	c.loop, _ = raw.(*netloop.Conn)
	l := &Login{}
	err := c.attempt(ctx, func(ctx context.Context) error { return c.login(ctx, l) })
	if err == nil {
		return c, l, nil
	}
	if left(err) && !c.spoke && c.in.len() == 0 && c.big == nil {
		err = ErrProbe
	}
	return nil, nil, c.refuse(err)
}

// attempt runs a login with the end of ctx and of Options.LoginTimeout in force.
func (c *Conn) attempt(ctx context.Context, login func(ctx context.Context) error) error {
	if limit := c.o.LoginTimeout; limit > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeoutCause(ctx, limit, fmt.Errorf("not logged in within %s: %w", limit, context.DeadlineExceeded))
		defer cancel()
	}
	stop := deadline.Watch(ctx, c.raw)
	err := login(ctx)
	stop()
	if err != nil {
		return cause(ctx, err)
	}
	return nil
}

// refuse ends a login that failed.
func (c *Conn) refuse(err error) error {
	var r *refusal
	if errors.As(err, &r) {
		c.tell(r)
	} else {
		_ = c.raw.Close()
	}
	for _, b := range c.held() {
		b.r, b.w = 0, 0
		b.release()
	}
	return c.broken("log in", ended(bare(err)))
}

func (c *Conn) held() []*buffer {
	if c.zip != nil {
		return []*buffer{&c.in, &c.zip.plain}
	}
	return []*buffer{&c.in}
}

// bare takes the Error of a write off, since a login is one operation.
func bare(err error) error {
	if e, ok := err.(*Error); ok { //nolint:errorlint // only the outermost
		return e.Err
	}
	return err
}

// login does all up to the packet that ends it.
func (c *Conn) login(ctx context.Context, l *Login) error {
	if c.o.proxied(c.remote) {
		if err := c.proxyHeader(); err != nil {
			return err
		}
	}
	c.newNonce()
	g := wire.Greeting{
		Version: c.o.Version, ThreadID: c.o.ID, AuthData: c.nonce[:], Capabilities: c.o.offer(),
		Charset: c.o.Charset, Status: c.o.Status, AuthPlugin: c.o.plugin(),
	}
	if err := c.send(g.Append); err != nil {
		return err
	}
	c.greeted = true
	p, err := c.response()
	if err != nil {
		return err
	}
	var r wire.HandshakeResponse
	if err := r.Decode(p); err != nil {
		return badHandshake(fmt.Errorf("%w: %w", ErrProtocol, err))
	}
	tlsOn := c.conn != c.raw
	if r.Capabilities.Has(wire.SSL) && !tlsOn {
		return badHandshake(fmt.Errorf("%w: a whole login that asks for TLS", ErrProtocol))
	}
	c.user = r.User
	c.caps = r.Capabilities & (c.o.offer() | unsaid)
	if tlsOn {
		c.caps |= wire.SSL
	}
	*l = Login{
		User: r.User, Database: r.Database, HasDatabase: r.Database != "", Charset: uint16(r.Charset),
		Capabilities: c.caps, ZstdLevel: r.ZstdLevel, Attributes: slices.Clone(r.Attributes),
		Remote: c.remote, Secure: c.secure, TLS: tlsOn,
	}
	if c.o.RequireTLS && !c.secure {
		return insecure()
	}
	plugin := r.AuthPlugin
	if plugin == "" {
		plugin = c.o.plugin()
		if !c.caps.Has(wire.PluginAuth) {
			plugin = wire.NativePlugin
		}
	}
	p = slices.Clone(r.AuthResponse) // it lies in the buffer
	if err := c.authenticate(ctx, l, claim{plugin: plugin, response: p, made: c.responds(plugin)}); err != nil {
		return err
	}
	c.zip = newCompressed(c.caps, r.ZstdLevel, c.buffers)
	return nil
}

// responds tells whether a client with this plugin has made its response of the greeting's nonce. One that
// was greeted with another plugin sends none, or one that means nothing.
func (c *Conn) responds(plugin string) bool {
	return plugin == c.o.plugin() || !c.caps.Has(wire.PluginAuth)
}

// response reads the client's answer to the greeting, and begins TLS before if it is asked for.
func (c *Conn) response() ([]byte, error) {
	p, err := c.next()
	if err != nil || !wire.IsSSLRequest(p) {
		return p, err
	}
	if c.o.TLS == nil {
		return nil, badHandshake(fmt.Errorf("%w: TLS was not offered", ErrProtocol))
	}
	// What was read behind the request is the beginning of TLS, and nothing else.
	t := tls.Server(&led{Conn: c.raw, lead: slices.Clone(c.in.bytes())}, c.o.tlsConfig())
	c.in.advance(c.in.len())
	c.in.release()
	c.quiet = true
	if err := t.Handshake(); err != nil { // c.watch ends it
		return nil, fmt.Errorf("begin TLS: %w", err)
	}
	c.conn, c.secure, c.quiet = t, true, false
	return c.next()
}

// next reads a packet of a login.
func (c *Conn) next() ([]byte, error) {
	p, err := c.message(orDefault(c.o.MaxLogin, defaultMaxLogin), single)
	c.spoke = c.spoke || err == nil
	return p, err
}

// newNonce draws a nonce as the servers do: 7 bits each, without NUL, which ends it, and $.
func (c *Conn) newNonce() {
	_, _ = rand.Read(c.nonce[:]) // never fails
	for i := range c.nonce {
		if c.nonce[i] &= 0x7F; c.nonce[i] == 0 || c.nonce[i] == '$' {
			c.nonce[i]++
		}
	}
}

// led is a connection of which the first bytes were read already.
type led struct {
	net.Conn
	lead []byte
}

func (l *led) Read(p []byte) (int, error) {
	if len(l.lead) > 0 {
		n := copy(p, l.lead)
		if l.lead = l.lead[n:]; len(l.lead) == 0 {
			l.lead = nil
		}
		return n, nil
	}
	return l.Conn.Read(p)
}
