package frontend

import (
	"crypto/tls"
	"errors"
	"net"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/netloop"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// Conn is a connection to an authenticated client. Make one with Accept.
type Conn struct {
	o       *Options
	raw     net.Conn      // below TLS: deadlines and Close are put here
	conn    net.Conn      // raw, or TLS on it
	socket  *socket       // of raw
	loop    *netloop.Conn // raw, if loops wait for it
	remote  net.Addr
	user    string
	secure  bool
	buffers *Buffers

	caps  wire.Capability
	seq   byte     // of the next packet, either way
	nonce [20]byte // of the last greeting or switch

	in      buffer // what came, before decompression
	big     []byte // a message that fits no buffer
	first   [1]byte
	spoke   bool        // something came that is no PROXY header
	greeted bool        // the client knows what this package speaks
	quiet   bool        // TLS is beginning: nothing can be told
	zip     *compressed // nil if the client did not ask for it
	err     error       // after which nothing goes any more
}

// Attach says which task of loops reads and writes from now on; nil is an ordinary goroutine. It does nothing
// for a connection that no loops wait for.
func (c *Conn) Attach(t *netloop.Task) {
	if c.loop != nil {
		c.loop.Attach(t)
	}
}

// Capabilities returns what was agreed on at the login, and changed with SetCapability since.
func (c *Conn) Capabilities() wire.Capability { return c.caps }

// SetCapability changes what was agreed on, as COM_SET_OPTION does with wire.MultiStatements.
func (c *Conn) SetCapability(flag wire.Capability, on bool) {
	if on {
		c.caps |= flag
	} else {
		c.caps &^= flag
	}
}

// Remote returns the client's address, which a PROXY header may have said.
func (c *Conn) Remote() net.Addr { return c.remote }

// Secure tells whether the connection is encrypted or a unix socket.
func (c *Conn) Secure() bool { return c.secure }

// TLS tells whether the connection is encrypted.
func (c *Conn) TLS() bool { return c.caps.Has(wire.SSL) }

// Seq returns the number of the next packet that is written by WriteOK or WriteError. ReadCommand and
// ReadPacket make it the one behind what they read.
func (c *Conn) Seq() byte { return c.seq }

// SetSeq changes it, for who has sent packets with Write, which does not look at their numbers.
func (c *Conn) SetSeq(seq byte) { c.seq = seq }

// Err returns the error after which the connection cannot be used, or nil.
func (c *Conn) Err() error { return c.err }

// SetDeadline bounds reading and writing, what runs included; the zero time is no bound. ChangeUser
// clears it. The end of a write's time makes the connection unusable, and so does that of a
// read's if a part of a message had come.
func (c *Conn) SetDeadline(t time.Time) error { return c.raw.SetDeadline(t) }

// SetReadDeadline bounds reading only.
func (c *Conn) SetReadDeadline(t time.Time) error { return c.raw.SetReadDeadline(t) }

// Close ends the connection without a word to the client.
func (c *Conn) Close() error {
	if err := c.raw.Close(); err != nil {
		return c.fail("close connection to", err)
	}
	return nil
}

// Gone tells, without reading, whether the client has closed its end or the connection is dead as far
// as this system knows. On Linux that is seen even behind commands that were not read yet, elsewhere
// not. It is false on Windows and on a transport that is no socket. A client that has closed its end may
// still be reading; none of MySQL's or MariaDB's does that.
func (c *Conn) Gone() bool { return c.socket.gone() }

// Write sends finished packets, compressed if that was agreed on, and keeps no reference to b. After an
// error the connection is unusable.
func (c *Conn) Write(b []byte) error {
	if c.err != nil {
		return c.fail("write to", ErrClosed)
	}
	var err error
	if c.zip != nil && c.zip.on {
		err = c.zip.write(c.conn, b)
	} else {
		_, err = c.conn.Write(b)
	}
	if err != nil {
		return c.broken("write to", err)
	}
	return nil
}

// WriteOK sends an OK packet with the number Seq, in the form that the client's capabilities want.
func (c *Conn) WriteOK(ok *wire.OK) error {
	return c.send(func(dst []byte) []byte { return ok.Append(dst, c.caps) })
}

// WriteError sends an error packet with the number Seq. The message is cut after 512 bytes.
func (c *Conn) WriteError(code uint16, state, message string) error {
	e := wire.ServerError{Code: code, State: state, Message: message}
	return c.send(e.Append)
}

// send writes one message.
func (c *Conn) send(payload func(dst []byte) []byte) error {
	s := c.buffers.small()
	defer c.buffers.smalls.Put(s)
	out, next := wire.Finish(payload(wire.Reserve(s[:0])), 0, c.seq)
	c.seq = next
	return c.Write(out)
}

// farewell bounds what is said and heard at the end of a failed connection.
const (
	farewellTime  = 2 * time.Second
	farewellBytes = 1 << 20
)

// tell says why the connection ends, and ends it. Of a client that is likely to be sending still, what it
// sends is read for a while: closing before would make its system drop what was told.
func (c *Conn) tell(r *refusal) {
	say := &r.say
	_ = c.raw.SetDeadline(time.Now().Add(farewellTime))
	c.err = nil
	if !c.greeted { // a greeting begins the protocol that has states
		say = &wire.ServerError{Code: say.Code, Message: say.Message}
	}
	if !c.quiet && c.send(say.Append) == nil && (errors.Is(r, ErrProtocol) || errors.Is(r, ErrTooLarge)) {
		c.linger()
	}
	_ = c.raw.Close()
}

func (c *Conn) linger() {
	if t, ok := c.conn.(*tls.Conn); ok {
		_ = t.CloseWrite()
	}
	half, ok := c.raw.(interface{ CloseWrite() error })
	if !ok || half.CloseWrite() != nil {
		return
	}
	s := c.buffers.small()
	defer c.buffers.smalls.Put(s)
	for total := 0; total < farewellBytes; {
		n, err := c.raw.Read(s[:])
		if err != nil {
			return
		}
		total += n
	}
}
