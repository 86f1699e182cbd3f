package frontend_test

import (
	"bytes"
	"compress/zlib"
	"fmt"
	"io"
	"net"
	"testing"

	"github.com/klauspost/compress/zstd"

	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// frames is a client's end of the compressed protocol.
type frames struct {
	net.Conn
	t     testing.TB
	zstd  bool
	cut   int // bytes of packets in a frame
	least int // shorter ones are sent as they are
	seq   byte
	plain []byte
	sizes []int // of the frames that came, before compression; 0 as they were

	deflater *zlib.Writer
	encoder  *zstd.Encoder
}

// startFrames turns compression on, after the login.
func (c *client) startFrames(zstd bool, cut int) *frames {
	f := &frames{Conn: c.Conn, t: c.t, zstd: zstd, cut: cut, least: 50}
	c.Conn = f
	return f
}

func (f *frames) Write(b []byte) (int, error) {
	for rest := b; len(rest) > 0; {
		part := rest[:min(len(rest), f.cut)]
		rest = rest[len(part):]
		if _, err := f.Conn.Write(f.frame(part)); err != nil {
			return 0, err
		}
	}
	return len(b), nil
}

func (f *frames) frame(part []byte) []byte {
	data, size := part, 0
	if len(part) >= f.least {
		data, size = f.pack(part), len(part)
	}
	out := wire.AppendUint24(nil, uint32(len(data)))
	out = wire.AppendUint24(append(out, f.seq), uint32(size))
	f.seq++
	return append(out, data...)
}

func (f *frames) pack(b []byte) []byte {
	var out bytes.Buffer
	if f.zstd {
		if f.encoder == nil {
			f.encoder, _ = zstd.NewWriter(nil, zstd.WithEncoderConcurrency(1)) // no option can be wrong
		}
		return f.encoder.EncodeAll(b, nil)
	}
	if f.deflater == nil {
		f.deflater = zlib.NewWriter(nil)
	}
	f.deflater.Reset(&out)
	if _, err := f.deflater.Write(b); err != nil {
		f.t.Fatal(err)
	}
	if err := f.deflater.Close(); err != nil {
		f.t.Fatal(err)
	}
	return out.Bytes()
}

func (f *frames) Read(p []byte) (int, error) {
	for len(f.plain) == 0 {
		var h [7]byte
		if _, err := io.ReadFull(f.Conn, h[:]); err != nil {
			return 0, err
		}
		length, seq := wire.Header(h[:])
		size := int(h[4]) | int(h[5])<<8 | int(h[6])<<16
		if seq != f.seq {
			return 0, fmt.Errorf("frame %d has number %d", f.seq, seq)
		}
		f.seq++
		f.sizes = append(f.sizes, size)
		data := make([]byte, length)
		if _, err := io.ReadFull(f.Conn, data); err != nil {
			return 0, err
		}
		if size > 0 {
			var err error
			if data, err = f.unpack(data); err != nil || len(data) != size {
				return 0, fmt.Errorf("frame says %d bytes, has %d: %w", size, len(data), err)
			}
		}
		f.plain = data
	}
	n := copy(p, f.plain)
	f.plain = f.plain[n:]
	return n, nil
}

func (f *frames) unpack(data []byte) ([]byte, error) {
	if f.zstd {
		r, err := zstd.NewReader(bytes.NewReader(data), zstd.WithDecoderConcurrency(1))
		if err != nil {
			return nil, err
		}
		defer r.Close()
		return io.ReadAll(r)
	}
	r, err := zlib.NewReader(bytes.NewReader(data))
	if err != nil {
		return nil, err
	}
	return io.ReadAll(r)
}
