package binlog

import (
	"errors"
	"fmt"
	"io"

	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// ErrMalformed is in the error for bytes that are no binary log, or that do not have their checksum.
var ErrMalformed = errors.New("malformed binary log")

func malformed(format string, args ...any) error {
	return fmt.Errorf("%w: %s", ErrMalformed, fmt.Sprintf(format, args...))
}

// source is the part of a *backend.Conn that the packets come from.
type source interface {
	Peek() []byte
	Fill(need int) ([]byte, error)
	Advance(n int)
	Release()
}

// packets are the server's answer to the dump: a message for each event, in as many packets as it needs.
type packets struct {
	from source
	left int  // bytes of the present packet that were not passed
	more bool // the message goes on in the next packet
	seq  byte
}

// First bytes of a message.
const (
	eventByte = 0x00
	eofByte   = 0xFE
	errByte   = 0xFF
)

// next passes the head of the next message, up to its event. The error is the server's if it sent one.
func (p *packets) next() error {
	if err := p.head(); err != nil {
		return err
	}
	if p.left == 0 {
		return malformed("empty message")
	}
	b, err := p.from.Fill(1)
	if err != nil {
		return err
	}
	switch b[0] {
	case eventByte:
		p.from.Advance(1)
		p.left--
		return nil
	case eofByte:
		return io.EOF
	case errByte:
		return p.refusal()
	}
	return malformed("message begins with 0x%02x", b[0])
}

func (p *packets) refusal() error {
	b, err := p.from.Fill(p.left)
	if err != nil {
		return err
	}
	e := &wire.ServerError{}
	if err := e.Decode(b[:p.left]); err != nil {
		return err
	}
	return e
}

// head passes a packet's header.
func (p *packets) head() error {
	b, err := p.from.Fill(wire.HeaderSize)
	if err != nil {
		return err
	}
	length, seq := wire.Header(b)
	if p.more && seq != p.seq+1 {
		return malformed("packet %d behind %d", seq, p.seq)
	}
	p.left, p.more, p.seq = length, length == wire.MaxPayload, seq
	p.from.Advance(wire.HeaderSize)
	return nil
}

// peek returns the next n bytes of the message. They must be in one packet.
func (p *packets) peek(n int) ([]byte, error) {
	if n > p.left {
		return nil, malformed("event goes beyond its message")
	}
	b := p.from.Peek()
	if len(b) < n {
		var err error
		if b, err = p.from.Fill(n); err != nil {
			return nil, err
		}
	}
	return b[:n:n], nil
}

// some returns bytes of the message as they are there, at most n, and at least one.
func (p *packets) some(n int) ([]byte, error) {
	for p.left == 0 {
		if !p.more {
			return nil, malformed("event goes beyond its message")
		}
		if err := p.head(); err != nil {
			return nil, err
		}
	}
	b := p.from.Peek()
	if len(b) == 0 {
		var err error
		if b, err = p.from.Fill(1); err != nil {
			return nil, err
		}
	}
	n = min(n, p.left, len(b))
	return b[:n:n], nil
}

// advance passes n bytes that peek or some has returned.
func (p *packets) advance(n int) {
	p.from.Advance(n)
	p.left -= n
}

// skip passes n bytes, wherever they are.
func (p *packets) skip(n int) error {
	for n > 0 {
		b, err := p.some(n)
		if err != nil {
			return err
		}
		p.advance(len(b))
		n -= len(b)
	}
	return nil
}

// end checks that the message is over, and passes the empty packet that one of MaxPayload has behind it.
func (p *packets) end() error {
	if p.left == 0 && p.more {
		if err := p.head(); err != nil {
			return err
		}
	}
	if p.left != 0 || p.more {
		return malformed("message goes beyond its event")
	}
	return nil
}
