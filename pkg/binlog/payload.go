package binlog

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"
)

const (
	// maxPayload is the most that is unpacked of a transaction.
	maxPayload = 64 << 20
	// maxWindow is what unpacking may hold of it: enough up to level 19 of zstd. At level
	// 3, which is MySQL's own, it takes 2 MB.
	maxWindow = 8 << 20

	payloadPiece = 64 << 10
)

// Kinds of compression.
const (
	packedZstd = 0
	packedNone = 255
)

// payload are the events of one transaction that were logged as one, compressed, by MySQL with
// binlog_transaction_compression.
type payload struct {
	from *packets
	open bool

	packed int    // bytes of it that were not passed
	behind int    // bytes of the event that follow
	sum    uint32 // of the event up to here
	failed error  // of the connection

	zstd   *zstd.Decoder
	stream io.Reader // what is unpacked
	total  int       // of it up to here
	most   int       // of any since release

	b    []byte // unpacked and not passed: b[r:w]
	r, w int
}

// Read reads what is packed.
func (p *payload) Read(b []byte) (int, error) {
	if p.packed == 0 {
		return 0, io.EOF
	}
	if len(b) == 0 {
		return 0, nil
	}
	part, err := p.from.some(min(len(b), p.packed))
	if err != nil {
		p.failed = err
		return 0, err
	}
	n := copy(b, part)
	p.pass(part)
	p.packed -= n
	return n, nil
}

func (p *payload) pass(part []byte) {
	p.sum = crc32.Update(p.sum, crc32.IEEETable, part)
	p.from.advance(len(part))
}

var errTooLarge = errors.New("a compressed transaction is too large")

// peek unpacks until there are n bytes that were not passed. At the end it returns io.EOF.
func (p *payload) peek(n int) ([]byte, error) {
	if p.w-p.r < n && p.r > 0 {
		p.w = copy(p.b, p.b[p.r:p.w])
		p.r = 0
	}
	if n > len(p.b) {
		p.b = append(make([]byte, 0, max(n, payloadPiece)), p.b[:p.w]...)
		p.b = p.b[:cap(p.b)]
	}
	for p.w-p.r < n {
		if p.total > maxPayload {
			return nil, errTooLarge
		}
		got, err := p.stream.Read(p.b[p.w:])
		p.w += got
		p.total += got
		p.most = max(p.most, p.total)
		if err != nil && p.w-p.r < n {
			if errors.Is(err, io.EOF) && p.w > p.r {
				err = io.ErrUnexpectedEOF
			}
			return nil, err
		}
	}
	return p.b[p.r : p.r+n : p.r+n], nil
}

// release gives back what a large transaction took: a window of zstd, and half a megabyte besides.
func (p *payload) release() {
	if p.most <= payloadPiece {
		return
	}
	p.b, p.most = nil, 0
	if p.zstd != nil {
		p.zstd.Close()
		p.zstd = nil
	}
}

// skip passes n bytes.
func (p *payload) skip(n int) error {
	for {
		have := min(n, p.w-p.r)
		p.r += have
		if n -= have; n == 0 {
			return nil
		}
		if _, err := p.peek(1); err != nil {
			return err
		}
	}
}

// unpack reads the head of a payload, and opens it.
func (r *Reader) unpack(h header) error {
	r.within(false)
	p := &r.payload
	trailer := 0
	if r.format.checksum {
		trailer = checksumSize
	}
	if h.size < headerSize+trailer {
		return malformed("payload of %d bytes", h.size)
	}
	const maxFields = 512 // there are three, of 33 bytes at most
	b, err := r.packets.peek(min(h.size-trailer, headerSize+maxFields, r.packets.left))
	if err != nil {
		return err
	}
	c := fields(b[headerSize:])
	size, kind := uint64(0), uint64(0)
	known := 0
	for c.Len() > 0 {
		field := c.LenEncInt()
		if field == 0 {
			known |= 1
			break
		}
		length := c.LenEncInt()
		switch field {
		case 1:
			size = c.LenEncInt()
			known |= 2
		case 2:
			kind = c.LenEncInt()
			known |= 4
		default:
			if length > uint64(c.Len()) {
				c.Fail("a field")
			}
			c.Bytes(int(length))
		}
	}
	if err := broken(h, &c); err != nil {
		return err
	}
	head := headerSize + c.Pos()
	if known != 7 || size > uint64(h.size-trailer-head) {
		return malformed("payload's size")
	}
	p.open, p.failed, p.total, p.r, p.w = true, nil, 0, 0, 0
	p.packed, p.behind, p.sum = int(size), h.size-trailer-head-int(size), 0
	p.pass(b[:head])
	if err := p.use(kind); err != nil {
		return r.giveUp(err)
	}
	return nil
}

// use gets ready to unpack.
func (p *payload) use(kind uint64) error {
	switch kind {
	case packedNone:
		p.stream = packed{p}
		return nil
	case packedZstd:
		if p.zstd == nil {
			d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(1), zstd.WithDecoderLowmem(true),
				zstd.WithDecoderMaxWindow(maxWindow))
			if err != nil {
				return fmt.Errorf("begin zstd: %w", err)
			}
			p.zstd = d
		}
		p.stream = p.zstd
		return p.zstd.Reset(packed{p})
	}
	return fmt.Errorf("unknown compression %d of a transaction", kind)
}

// packed hides from zstd what else a payload has.
type packed struct{ p *payload }

func (p packed) Read(b []byte) (int, error) { return p.p.Read(b) }

// unpacked reads one event of the payload that is open.
func (r *Reader) unpacked() error {
	p := &r.payload
	b, err := p.peek(headerSize)
	if errors.Is(err, io.EOF) {
		return r.closePayload()
	}
	if err != nil {
		return r.giveUp(err)
	}
	h, err := readHeader(b)
	if err != nil {
		return r.giveUp(err)
	}
	switch {
	case h.kind.skipped(h.flags):
	case !h.kind.packable():
		r.lost(reasonOf(h.kind))
	case h.size > maxEvent:
		r.lost("an event is too large")
	default:
		b, err := p.peek(h.size)
		if err == nil {
			err = r.decode(h, b[headerSize:])
		}
		if err != nil {
			return r.giveUp(err)
		}
	}
	if err := p.skip(h.size); err != nil {
		return r.giveUp(err)
	}
	return nil
}

// giveUp ends a payload that cannot be read, or whose connection failed.
func (r *Reader) giveUp(err error) error {
	if r.payload.failed != nil {
		return r.payload.failed
	}
	r.lost("a compressed transaction cannot be read: " + err.Error())
	return r.closePayload()
}

// closePayload passes what is left of the event, and ends the transaction that it was.
func (r *Reader) closePayload() error {
	p := &r.payload
	for n := p.packed + p.behind; n > 0; {
		part, err := r.packets.some(n)
		if err != nil {
			return err
		}
		p.pass(part)
		n -= len(part)
	}
	if r.format.checksum {
		var sum [checksumSize]byte
		for n := 0; n < len(sum); {
			part, err := r.packets.some(len(sum) - n)
			if err != nil {
				return err
			}
			n += copy(sum[n:], part)
			r.packets.advance(len(part))
		}
		if binary.LittleEndian.Uint32(sum[:]) != p.sum {
			return malformed("payload has not its checksum")
		}
	}
	p.open, p.stream = false, nil
	r.end()
	return r.packets.end()
}

// inflate unpacks a text of that length. It is seldom used, and keeps nothing.
func (p *payload) inflate(from *bytes.Reader, length int) ([]byte, error) {
	z, err := zlib.NewReader(from)
	if err != nil {
		return nil, err
	}
	text := make([]byte, length)
	if _, err := io.ReadFull(z, text); err != nil {
		return nil, err
	}
	return text, nil
}
