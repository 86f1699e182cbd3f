// Package compress answers: how is a stream of packets put into the frames of the compressed protocol,
// and had out of them?
//
// The compressed protocol ("Compressed Packet") is a stream of frames: 3 bytes of length, 1 of sequence
// number, 3 of length before compression, 0 if there was none. What they carry is a stream of packets that
// begin and end anywhere in them.
package compress

import (
	"errors"
	"io"

	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// HeaderSize is the length of a frame's head.
const HeaderSize = 7

const (
	minDeflate = 50       // shorter ones are sent as they are, as by the servers
	maxFrame   = 63 << 10 // that is written: so that its compressed form fits a large buffer whatever it is
	maxLong    = 1 << 20  // the same of a write that is longer: clients like few frames
	window     = 64 << 10
)

// Level says what a connection compresses with: that of zstd, from 1 to 22, or 0 for zlib.
type Level int

// LevelOf returns what a connection compresses with that has agreed on these capabilities, and false if it
// does not compress. One with both has zlib, as the servers have it.
func LevelOf(caps wire.Capability, zstd uint8) (Level, bool) {
	switch {
	case caps.Has(wire.Compress):
		return 0, true
	case caps.Has(wire.ZstdCompression):
		return Level(min(max(int(zstd), 1), 22)), true
	}
	return 0, false
}

// Header reads the head of a frame: the length of what follows, its number, and how long that is
// uncompressed, 0 if it is not compressed.
func Header(h []byte) (length int, seq byte, size int) {
	length, seq = wire.Header(h)
	return length, seq, int(h[4]) | int(h[5])<<8 | int(h[6])<<16
}

var errSize = errors.New("compressed packet is not as long as it says")

// Unpack decompresses data, which must fill dst exactly.
func (p *Codecs) Unpack(dst, data []byte, level Level) error {
	if level == 0 {
		return p.inflate(dst, data)
	}
	d, err := p.decoder()
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
	if len(out) > 0 && &out[0] != &dst[0] {
		copy(dst, out)
	}
	return nil
}

// Write sends packets in frames, the first of which has the number seq, and returns the number of the
// next. buf is memory to work in; with 64 KB nothing more is allocated.
func (p *Codecs) Write(w io.Writer, buf, b []byte, level Level, seq byte) (next byte, err error) {
	limit := maxFrame
	if len(b) > 2*maxFrame {
		limit = maxLong
	}
	buf = append(buf[:0], make([]byte, HeaderSize)...)
	for len(b) > 0 {
		part := b[:min(len(b), limit)]
		b = b[len(part):]
		frame, size := buf[:HeaderSize], 0
		if len(part) >= minDeflate {
			packed, err := p.pack(frame, part, level)
			if err != nil {
				return seq, err
			}
			if len(packed) < HeaderSize+len(part) {
				frame, size = packed, len(part)
			}
		}
		if size == 0 {
			frame = append(frame[:HeaderSize], part...)
		}
		wire.PutHeader(frame, len(frame)-HeaderSize, seq)
		frame[4], frame[5], frame[6] = byte(size), byte(size>>8), byte(size>>16)
		seq++
		if _, err := w.Write(frame); err != nil {
			return seq, err
		}
	}
	return seq, nil
}

// pack appends the compressed form of b to dst.
func (p *Codecs) pack(dst, b []byte, level Level) ([]byte, error) {
	if level == 0 {
		return p.deflate(dst, b)
	}
	e, err := p.encoder(int(level))
	if err != nil {
		return nil, err
	}
	return e.EncodeAll(b, dst), nil
}
