package binlog

import (
	"encoding/binary"
	"fmt"
	"hash/crc32"

	"github.com/mysqlrw/mysqlrw/pkg/backend"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

const (
	headerSize   = 19 // of an event
	checksumSize = 4

	// maxEvent is the largest event that is looked into. Only statements are larger.
	maxEvent = 1 << 20
)

// Reader reads one server's log. Make one with Open.
type Reader struct {
	conn  *backend.Conn
	where string
	err   error // after which nothing goes any more

	packets packets
	payload payload // unpacked events, if open
	format  format
	tx      transaction

	queue      [8]Event // what was read and not given out yet: queue[head:tail]; a read adds 6 at most
	head, tail int
	scratch    []byte // what the slices of an event point to if that is not what was read
	tag        string // of the last tagged GTID
}

func newReader(conn *backend.Conn, where string) *Reader {
	r := &Reader{conn: conn, where: where}
	r.start(conn)
	return r
}

// start reads from the beginning of an answer.
func (r *Reader) start(from source) {
	r.packets = packets{from: from}
	r.payload.from = &r.packets
	r.format = defaultFormat()
}

// Next waits for the next event. An error of the server, such as 1236 for a log that was purged and 1227
// for an account that must not read it, is a *wire.ServerError within what it returns; a connection's is a
// *backend.Error; ErrMalformed means that what came makes no sense; io.EOF that the server has ended the
// log without a reason. After an error the Reader is of no use, but to be closed.
func (r *Reader) Next(e *Event) error {
	for r.head == r.tail {
		if r.err != nil {
			return r.err
		}
		r.head, r.tail = 0, 0
		var err error
		if r.payload.open {
			err = r.unpacked()
		} else {
			err = r.read()
		}
		if err != nil {
			r.head, r.tail = 0, 0 // what was read of an event that is broken
			r.err = fmt.Errorf("read the binary log of %s: %w", r.where, err)
		}
	}
	*e = r.queue[r.head]
	r.head++
	return nil
}

// Close ends the connection. It may be called while Next waits, which returns an error then.
func (r *Reader) Close() error { return r.conn.Close() }

// put returns the place for one more event to give out.
func (r *Reader) put(k Kind) *Event {
	e := &r.queue[r.tail]
	*e = Event{Kind: k}
	r.tail++
	return e
}

// header is the part that all events begin with.
type header struct {
	kind   eventType
	server uint32
	size   int // of the event, all in all
	flags  uint16
}

func readHeader(b []byte) (h header, err error) {
	h = header{
		kind: eventType(b[4]), server: binary.LittleEndian.Uint32(b[5:]),
		flags: binary.LittleEndian.Uint16(b[17:]),
	}
	size := binary.LittleEndian.Uint32(b[9:])
	if size < headerSize || size > 1<<31-1 {
		return h, malformed("event of %d bytes", size)
	}
	h.size = int(size)
	return h, nil
}

// read reads one event of the log.
func (r *Reader) read() error {
	p := &r.packets
	if err := p.next(); err != nil {
		return err
	}
	b, err := p.peek(headerSize)
	if err != nil {
		return err
	}
	h, err := readHeader(b)
	if err != nil {
		return err
	}
	r.tx.left -= int64(h.size)
	switch {
	case h.kind == transactionPayload:
		return r.unpack(h)
	case h.kind.skipped(h.flags):
	case h.kind == heartbeat || h.kind == heartbeatV2:
		p.from.Release()
		r.payload.release()
		r.put(Heartbeat)
	case !h.kind.decoded():
		r.lost(reasonOf(h.kind))
	case h.size > maxEvent:
		r.lost("an event is too large")
	default:
		return r.whole(h)
	}
	return r.pass(h.size)
}

// pass passes the rest of a message, which must be n bytes.
func (r *Reader) pass(n int) error {
	if err := r.packets.skip(n); err != nil {
		return err
	}
	return r.packets.end()
}

// whole decodes an event, and passes it.
func (r *Reader) whole(h header) error {
	b, err := r.packets.peek(h.size)
	if err != nil {
		return err
	}
	if h.kind == formatDescription {
		err = r.description(b)
	} else {
		if r.format.checksum {
			n := len(b) - checksumSize
			if n < headerSize || crc32.ChecksumIEEE(b[:n]) != binary.LittleEndian.Uint32(b[n:]) {
				return malformed("%s has not its checksum", h.kind)
			}
			b = b[:n]
		}
		err = r.decode(h, b[headerSize:])
	}
	if err != nil {
		return err
	}
	r.packets.advance(h.size)
	return r.packets.end()
}

// fields reads the fields of an event's body.
func fields(body []byte) wire.Cursor { return wire.NewCursor("the body of an event", body) }

// broken makes the error of what a cursor found, if it found any.
func broken(h header, c *wire.Cursor) error {
	if err := c.Err(); err != nil {
		return malformed("%s: %v", h.kind, err)
	}
	return nil
}
