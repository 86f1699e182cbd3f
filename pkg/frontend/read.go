package frontend

import (
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// ReadCommand waits for the next command and returns its payload, joined if it came in several packets,
// good until the next call that reads. It may be empty, which no server takes. The error is io.EOF itself if
// the client has closed between commands; a deadline that ends while nothing has come leaves the
// connection usable, with the number 0 for what the client is told unasked. Whoever breaks the protocol or Options.MaxPacket is told so, and is disconnected.
func (c *Conn) ReadCommand() ([]byte, error) {
	if c.err != nil {
		return nil, c.fail("read from", ErrClosed)
	}
	if c.zip != nil {
		c.zip.on = true // after the OK of the login
	}
	c.seq = 0
	payload, err := c.message(orDefault(c.o.MaxPacket, defaultMaxPacket), joined)
	if err != nil {
		return nil, c.readError(err)
	}
	return payload, nil
}

// ReadPacket waits for one packet of up to 16 MB, as a client sends them for LOAD DATA LOCAL. The
// payload is good until the next call that reads. seq is what the client says; under compression clients
// do not count well there, and servers do not look.
func (c *Conn) ReadPacket() (payload []byte, seq byte, err error) {
	if c.err != nil {
		return nil, 0, c.fail("read from", ErrClosed)
	}
	payload, err = c.message(wire.MaxPayload, anyNumber)
	if err != nil {
		return nil, 0, c.readError(ended(err))
	}
	return payload, c.seq - 1, nil
}

// Buffered tells whether the next command, or a part of it, has been read already: the client does not
// wait for answers.
func (c *Conn) Buffered() bool {
	return c.in.len() > 0 || c.zip != nil && c.zip.plain.len() > 0
}

// readError tells the client what it is to know, and makes what the caller gets.
func (c *Conn) readError(err error) error {
	var r *refusal
	switch {
	case err == io.EOF: //nolint:errorlint // itself: between messages
		c.broken("read from", goneError{})
		return io.EOF
	case errors.As(err, &r):
		c.tell(r)
	case errors.Is(err, os.ErrDeadlineExceeded) && !c.Buffered() && c.big == nil:
		return c.fail("read from", err)
	}
	return c.broken("read from", err)
}

// current is the buffer that packets are read from.
func (c *Conn) current() *buffer {
	if c.zip != nil && c.zip.on {
		return &c.zip.plain
	}
	return &c.in
}

// mode is how message reads.
type mode uint8

const (
	single    mode = iota // one packet, with the number c.seq
	joined                // all packets of a message, the first of which has that number
	anyNumber             // one packet, with any
)

// message reads a message, and makes c.seq the number behind it. io.EOF as it is means that nothing was
// there.
func (c *Conn) message(limit int, how mode) ([]byte, error) {
	c.big = nil
	length, err := c.header(how)
	if err != nil {
		return nil, err
	}
	in := c.current()
	if length <= min(limit, largeSize-wire.HeaderSize) {
		if err := c.need(wire.HeaderSize + length); err != nil {
			return nil, ended(err)
		}
		payload := in.bytes()[wire.HeaderSize : wire.HeaderSize+length : wire.HeaderSize+length]
		in.advance(wire.HeaderSize + length)
		return payload, nil
	}
	for {
		if n := len(c.big) + length; n > limit {
			return nil, tooLarge(fmt.Errorf("%w: %d bytes or more, and at most %d are taken", ErrTooLarge, n, limit))
		}
		in.advance(wire.HeaderSize)
		if err := c.readBig(length); err != nil {
			return nil, ended(err)
		}
		if length < wire.MaxPayload || how != joined {
			return c.big, nil
		}
		if length, err = c.header(how); err != nil {
			return nil, ended(err)
		}
	}
}

// header reads the next packet's header, leaves it where it is, and makes c.seq the number behind it.
// Compressed packets have numbers of their own, and those within do not count.
func (c *Conn) header(how mode) (length int, err error) {
	if err := c.need(wire.HeaderSize); err != nil {
		if c.Buffered() {
			err = ended(err)
		}
		return 0, err
	}
	length, seq := wire.Header(c.current().bytes())
	want := c.seq
	c.seq = seq + 1
	if seq != want && how != anyNumber && c.current() == &c.in {
		return 0, outOfOrder(fmt.Errorf("%w: packet %d has number %d", ErrProtocol, want, seq))
	}
	return length, nil
}

// need reads until the current buffer has n bytes. An empty one is given back while nothing comes.
func (c *Conn) need(n int) error {
	if c.zip != nil && c.zip.on {
		return c.needFrames(n)
	}
	return c.receive(n)
}

// receive is need for what comes on the wire.
func (c *Conn) receive(n int) error {
	if c.in.len() == 0 {
		if err := c.wait(); err != nil {
			return err
		}
	}
	return c.in.fill(c.conn, n)
}

// wait waits for the first bytes with no buffer in hand.
func (c *Conn) wait() error {
	c.in.release()
	if c.loop != nil && c.conn == c.raw {
		if err := c.loop.WaitRead(); err != nil {
			return err
		}
		return nil // receive fills a buffer now
	}
	if c.conn == c.raw {
		b, n, ok, err := c.socket.take()
		switch {
		case err != nil:
			return err
		case ok && n == 0:
			c.buffers.smalls.Put(b)
			return io.EOF
		case ok:
			c.in.adopt(b, n)
			return nil
		}
	}
	if _, err := io.ReadFull(c.conn, c.first[:]); err != nil {
		return err
	}
	c.in.room(1)
	c.in.w = copy(c.in.b, c.first[:])
	return nil
}

// readBig reads n more bytes of a message that fits no buffer. It allocates for what has come, never
// for what is only said to come.
func (c *Conn) readBig(n int) error {
	for n > 0 {
		if len(c.big) == cap(c.big) {
			grown := make([]byte, len(c.big), len(c.big)+min(n, max(len(c.big), 2*largeSize)))
			copy(grown, c.big)
			c.big = grown
		}
		free := c.big[len(c.big):min(cap(c.big), len(c.big)+n)]
		got, err := c.read(free)
		c.big = c.big[:len(c.big)+got]
		n -= got
		if err != nil && n > 0 {
			return err
		}
	}
	return nil
}

// read reads what is there, from the current buffer or past it.
func (c *Conn) read(p []byte) (int, error) {
	in := c.current()
	if in.len() == 0 {
		if in == &c.in {
			return c.conn.Read(p)
		}
		if err := c.needFrames(1); err != nil {
			return 0, err
		}
	}
	n := copy(p, in.bytes())
	in.advance(n)
	return n, nil
}
