package backend

import (
	"bufio"
	"fmt"
	"io"
	"net"

	"github.com/mysqlrw/mysqlrw/pkg/compress"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// frames is a connection with compression: what is written to it and read from it are packets as they
// are without.
type frames struct {
	net.Conn
	codecs *compress.Codecs
	level  compress.Level
	in     *bufio.Reader
	seq    byte   // of the next frame, either way
	data   []byte // a frame's contents, compressed
	memory []byte // what plain lies in
	plain  []byte // what was not read yet
	out    []byte

	// Servers number the packets in frames by the frames before, and clients do not look at it. Here they
	// get the numbers that they have without compression.
	first, next byte // of an answer, and of the next packet
	head        int  // bytes of the next packet's head that were read
	length      int  // what they say
	left        int  // bytes of the packet
}

// keptFrame is the largest memory for a frame that is kept for the next one.
const keptFrame = 64 << 10

func newFrames(below net.Conn, codecs *compress.Codecs, level compress.Level) *frames {
	return &frames{Conn: below, codecs: codecs, level: level, in: bufio.NewReader(below), out: make([]byte, 0, smallBuffer)}
}

// Write sends whole packets. Every command begins a frame, since a server reads it as one.
func (f *frames) Write(b []byte) (n int, err error) {
	for len(b) > 0 {
		if _, seq := wire.Header(b); seq == 0 {
			f.seq = 0
		}
		end := 0
		for end < len(b) {
			length, seq := wire.Header(b[end:])
			if end > 0 && seq == 0 {
				break
			}
			end += wire.HeaderSize + length
			f.first = seq + 1
		}
		if f.seq, err = f.codecs.Write(f.Conn, f.out, b[:end], f.level, f.seq); err != nil {
			return n, err
		}
		b, n = b[end:], n+end
	}
	f.next = f.first
	return n, nil
}

// Read reads packets.
func (f *frames) Read(p []byte) (int, error) {
	for len(f.plain) == 0 {
		if err := f.frame(); err != nil {
			return 0, err
		}
	}
	n := copy(p, f.plain)
	f.plain = f.plain[n:]
	return n, nil
}

// waiting tells whether something was read that nobody has asked for.
func (f *frames) waiting() bool { return len(f.plain) > 0 || f.in.Buffered() > 0 }

// frame reads one.
func (f *frames) frame() error {
	var h [compress.HeaderSize]byte
	if _, err := io.ReadFull(f.in, h[:]); err != nil {
		return err
	}
	length, seq, size := compress.Header(h[:])
	if seq != f.seq { // the answer to the next command
		f.next = f.first
	}
	f.seq = seq + 1
	f.data = sized(f.data, length)
	if _, err := io.ReadFull(f.in, f.data); err != nil {
		return err
	}
	if size == 0 {
		f.plain, f.data, f.memory = f.data, f.memory, f.data
	} else {
		f.memory = sized(f.memory, size)
		if err := f.codecs.Unpack(f.memory, f.data, f.level); err != nil {
			return fmt.Errorf("%w: a compressed packet: %s", ErrNotMySQL, err.Error()) // an io.EOF in it is not the server's
		}
		f.plain = f.memory
	}
	f.number(f.plain)
	return nil
}

// sized returns memory of n bytes, if possible the same.
func sized(b []byte, n int) []byte {
	if cap(b) < n || cap(b) > keptFrame && n <= keptFrame {
		return make([]byte, n)
	}
	return b[:n]
}

// number gives the packets of an answer their numbers.
func (f *frames) number(b []byte) {
	for i := 0; i < len(b); {
		switch {
		case f.left > 0:
			n := min(f.left, len(b)-i)
			f.left -= n
			i += n
			continue
		case f.head < wire.HeaderSize-1:
			f.length |= int(b[i]) << (8 * f.head)
			f.head++
		default:
			b[i] = f.next
			f.next++
			f.left, f.length, f.head = f.length, 0, 0
		}
		i++
	}
}
