package backend

import (
	"net"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/netloop"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// Conn is an authenticated connection. Make one with Dial.
type Conn struct {
	raw     net.Conn // below TLS: deadlines and Close are put here
	conn    net.Conn // raw, or TLS on it, or frames on these
	frames  *frames  // nil without compression
	address string
	secure  bool // TLS, or a unix socket: a password may pass

	server flavor.Server
	id     uint32
	caps   wire.Capability
	status wire.Status
	plugin string // the first one of a login
	nonce  []byte // of the last greeting or switch
	attrs  []byte
	chars  uint8

	in     buffer
	socket *socket       // of raw
	loop   *netloop.Conn // raw, if loops wait for it
	out    []byte        // the conveniences' packets
	seq    byte          // of the login's next packet
	answer wire.Answer
	err    error // after which nothing goes any more
}

// maxKept is the largest buffer for writing that is kept from one command to the next.
const maxKept = 4 << 10

// Attach says which task of Options.Loops reads and writes from now on; nil is an ordinary goroutine.
func (c *Conn) Attach(t *netloop.Task) {
	if c.loop != nil {
		c.loop.Attach(t)
	}
}

// Server returns what the greeting's version says.
func (c *Conn) Server() flavor.Server { return c.server }

// ID returns the lower 32 bits of CONNECTION_ID(), for KILL.
func (c *Conn) ID() uint32 { return c.id }

// Capabilities returns what was agreed on, for wire.Answer and wire.Converter.
func (c *Conn) Capabilities() wire.Capability { return c.caps }

// Status returns the flags of the last answer that this package read itself, the login's at first,
// or those that SetStatus was given.
func (c *Conn) Status() wire.Status { return c.status }

// SetStatus notes the flags of an answer that was relayed.
func (c *Conn) SetStatus(s wire.Status) { c.status = s }

// Address returns Options.Address.
func (c *Conn) Address() string { return c.address }

// Secure tells whether the connection is encrypted or a unix socket.
func (c *Conn) Secure() bool { return c.secure }

// Err returns the error after which the connection cannot be used, or nil. An error of a server in
// an answer is none.
func (c *Conn) Err() error { return c.err }

// SetDeadline bounds Write and Fill, those that run included; the zero time is no bound. The
// methods with a context clear it.
func (c *Conn) SetDeadline(t time.Time) error { return c.raw.SetDeadline(t) }

// Write sends whole packets. After an error the connection is unusable; Sent tells whether a part
// of b went out.
func (c *Conn) Write(b []byte) error {
	if c.err != nil {
		return c.fail("write to", false, ErrClosed)
	}
	n, err := c.conn.Write(b)
	if err != nil {
		return c.broken("write to", n > 0, err)
	}
	return nil
}

// Peek returns the bytes that were read and not passed. They are good until the next Fill or
// Release.
func (c *Conn) Peek() []byte { return c.in.bytes() }

// Fill reads until Peek has at least need bytes, and returns it. It reads as much as there is and
// fits the buffer, which is small for small answers and grows as needed: who asks for more bounds
// it, up to the largest packet. Wire's Answer asks for one packet at a time, and for a few bytes of
// a row of any size.
func (c *Conn) Fill(need int) ([]byte, error) {
	if c.err != nil {
		return nil, c.fail("read from", true, ErrClosed)
	}
	if need > maxBuffer {
		return nil, c.broken("read from", true, ErrTooLarge)
	}
	if err := c.in.fill(c.conn, need); err != nil {
		return nil, c.broken("read from", true, ended(err))
	}
	return c.in.bytes(), nil
}

// Advance passes n bytes of Peek. More than there are make a panic: they are not to be relayed.
func (c *Conn) Advance(n int) { c.in.advance(n) }

// Release gives a large buffer back when an answer is over. Bytes that were not passed stay.
func (c *Conn) Release() { c.in.release() }

// Close ends the connection without a word to the server.
func (c *Conn) Close() error {
	if err := c.raw.Close(); err != nil {
		return c.fail("close connection to", false, err)
	}
	return nil
}

// Quit says goodbye and closes, so that the server does not count an aborted client. It does not
// wait longer than a second.
func (c *Conn) Quit() error {
	if c.err == nil {
		_ = c.raw.SetDeadline(time.Now().Add(time.Second))
		_ = c.Write([]byte{1, 0, 0, 0, byte(wire.ComQuit)}) // nobody answers
	}
	return c.Close()
}
