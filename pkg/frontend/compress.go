package frontend

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// The compressed protocol ("Compressed Packet") is a stream of frames: 3 bytes of length, 1 of sequence
// number, 3 of length before compression, 0 if there was none. What they carry is a stream of packets that
// begin and end anywhere in them.

const (
	frameHeader = 7
	minDeflate  = 50       // shorter ones are sent as they are, as by the servers
	maxFrame    = 63 << 10 // that is written: so that its compressed form fits a large buffer whatever it is
	maxLong     = 1 << 20  // the same of a write that is longer: clients like few frames
)

// compressed is the state of a client with compression.
type compressed struct {
	on    bool   // from the first command on
	plain buffer // packets
	seq   byte   // of the next frame, either way
	level int    // of zstd; 0 is zlib
	pool  *Buffers
}

// newCompressed returns nil for a client that did not ask for compression. One that wants both is given
// zlib, as by the servers.
func newCompressed(caps wire.Capability, level uint8, pool *Buffers) *compressed {
	z := &compressed{plain: buffer{pool: pool}, pool: pool}
	switch {
	case caps.Has(wire.Compress):
	case caps.Has(wire.ZstdCompression):
		z.level = min(max(int(level), 1), 22)
	default:
		return nil
	}
	return z
}

// needFrames reads frames until there are n bytes of packets.
func (c *Conn) needFrames(n int) error {
	for c.zip.plain.len() < n {
		if err := c.frame(); err != nil {
			return err
		}
	}
	return nil
}

// frame reads one frame.
func (c *Conn) frame() error {
	z := c.zip
	z.plain.release()
	if err := c.receive(frameHeader); err != nil {
		return err
	}
	h := c.in.bytes()
	length, seq := wire.Header(h)
	size := int(h[4]) | int(h[5])<<8 | int(h[6])<<16
	want := z.seq
	z.seq = seq + 1
	if seq != want && seq != 0 { // 0 begins a command
		c.seq = z.seq // of the error
		return outOfOrder(fmt.Errorf("%w: compressed packet %d has number %d", ErrProtocol, want, seq))
	}
	if err := c.receive(frameHeader + length); err != nil {
		return err
	}
	data := c.in.bytes()[frameHeader : frameHeader+length]
	if size == 0 {
		size = copy(z.plain.space(length), data)
	} else if err := z.unpack(z.plain.space(size), data); err != nil {
		c.seq = z.seq
		return &refusal{
			wire.ServerError{Code: 1157, State: "08S01", Message: "Couldn't uncompress communication packet"},
			fmt.Errorf("%w: %s", ErrProtocol, err.Error()), // an io.EOF in it is not the client's
		}
	}
	z.plain.w += size
	c.in.advance(frameHeader + length)
	c.in.release()
	return nil
}

var errSize = errors.New("compressed packet is not as long as it says")

// unpack decompresses data, which must fill dst exactly.
func (z *compressed) unpack(dst, data []byte) error {
	if z.level == 0 {
		return z.pool.codecs.inflate(dst, data)
	}
	d, err := z.pool.codecs.decoder()
	if err != nil {
		return err
	}
	out, err := d.DecodeAll(data, dst[:0:len(dst)])
	if err != nil {
		return err
	}
	if len(out) != len(dst) {
		return errSize
	}
	if &out[0] != &dst[0] {
		copy(dst, out)
	}
	return nil
}

// write sends packets in frames.
func (z *compressed) write(w io.Writer, b []byte) error {
	l := z.pool.large()
	defer z.pool.larges.Put(l)
	limit := maxFrame
	if len(b) > 2*maxFrame {
		limit = maxLong
	}
	for len(b) > 0 {
		part := b[:min(len(b), limit)]
		b = b[len(part):]
		frame, size := l[:frameHeader], 0
		if len(part) >= minDeflate {
			packed, err := z.pack(frame, part)
			if err != nil {
				return err
			}
			if len(packed) < frameHeader+len(part) {
				frame, size = packed, len(part)
			}
		}
		if size == 0 {
			frame = append(frame[:frameHeader], part...)
		}
		wire.PutHeader(frame, len(frame)-frameHeader, z.seq)
		frame[4], frame[5], frame[6] = byte(size), byte(size>>8), byte(size>>16)
		z.seq++
		if _, err := w.Write(frame); err != nil {
			return err
		}
	}
	return nil
}

// pack appends the compressed form of b to dst.
func (z *compressed) pack(dst, b []byte) ([]byte, error) {
	if z.level == 0 {
		return z.pool.codecs.deflate(dst, b)
	}
	e, err := z.pool.codecs.encoder(z.level)
	if err != nil {
		return nil, err
	}
	return e.EncodeAll(b, dst), nil
}

// codecs are what compression works with. They are much larger than a connection, and shared.
type codecs struct {
	inflaters, deflaters sync.Pool

	mu       sync.Mutex
	encoders [zstd.SpeedBestCompression + 1]*zstd.Encoder // by level; they and the decoder are for concurrent use
	unzstd   *zstd.Decoder
}

// encoder returns the one for a level of zstd, of which the library has four.
func (p *codecs) encoder(level int) (*zstd.Encoder, error) {
	l := zstd.EncoderLevelFromZstd(level)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.encoders[l] == nil {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(l), zstd.WithWindowSize(largeSize),
			zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
		if err != nil {
			return nil, fmt.Errorf("begin zstd: %w", err)
		}
		p.encoders[l] = e
	}
	return p.encoders[l], nil
}

func (p *codecs) decoder() (*zstd.Decoder, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.unzstd == nil {
		d, err := zstd.NewReader(nil, zstd.WithDecoderConcurrency(0), zstd.WithDecoderLowmem(true),
			zstd.WithDecoderMaxMemory(wire.MaxPayload), zstd.WithDecodeAllCapLimit(true))
		if err != nil {
			return nil, fmt.Errorf("begin zstd: %w", err)
		}
		p.unzstd = d
	}
	return p.unzstd, nil
}

// inflater is a reader of zlib with its source.
type inflater struct {
	from bytes.Reader
	z    io.ReadCloser
}

func (p *codecs) inflate(dst, data []byte) error {
	i, ok := p.inflaters.Get().(*inflater)
	if !ok {
		i = &inflater{}
	}
	defer func() {
		i.from.Reset(nil)
		p.inflaters.Put(i)
	}()
	i.from.Reset(data)
	var err error
	if i.z == nil {
		i.z, err = zlib.NewReader(&i.from)
	} else {
		err = i.z.(zlib.Resetter).Reset(&i.from, nil) // as its documentation says
	}
	if err != nil {
		return err
	}
	if _, err := io.ReadFull(i.z, dst); err != nil {
		return err
	}
	var more [1]byte
	if n, err := i.z.Read(more[:]); n > 0 || !errors.Is(err, io.EOF) { // also checks the sum
		return errSize
	}
	return nil
}

// deflater is a writer of zlib with its target.
type deflater struct {
	to bytes.Buffer
	z  *zlib.Writer
}

func (p *codecs) deflate(dst, b []byte) ([]byte, error) {
	d, ok := p.deflaters.Get().(*deflater)
	if !ok {
		d = &deflater{}
		d.z = zlib.NewWriter(&d.to)
	}
	defer func() {
		d.to = bytes.Buffer{}
		p.deflaters.Put(d)
	}()
	d.to = *bytes.NewBuffer(dst)
	d.z.Reset(&d.to)
	if _, err := d.z.Write(b); err != nil {
		return nil, err
	}
	if err := d.z.Close(); err != nil {
		return nil, err
	}
	return d.to.Bytes(), nil
}
