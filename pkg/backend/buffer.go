package backend

import (
	"io"
	"math/bits"
	"sync"

	"github.com/mysqlrw/mysqlrw/pkg/compress"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// Sizes of read buffers.
const (
	smallBuffer = 4 << 10
	largeBuffer = 64 << 10
	maxBuffer   = wire.MaxPayload + wire.HeaderSize // one packet
)

// Buffers are large read buffers that connections share, and what compression works with. The zero value
// is ready; it may be used by several goroutines, and must not be copied.
type Buffers struct {
	pool   sync.Pool
	codecs compress.Codecs
}

func (p *Buffers) packing() *compress.Codecs {
	if p == nil {
		return &compress.Codecs{}
	}
	return &p.codecs
}

type large [largeBuffer]byte

func (p *Buffers) get() *large {
	if p != nil {
		if b, ok := p.pool.Get().(*large); ok {
			return b
		}
	}
	return new(large)
}

func (p *Buffers) put(b *large) {
	if p != nil {
		p.pool.Put(b)
	}
}

// buffer holds what was read and not passed: b[r:w].
type buffer struct {
	b      []byte
	r, w   int
	small  []byte // of the connection's own, always there once made
	shared *large // what b is, if it came from buffers
	full   bool   // the last read filled all there was: more is to come

	buffers *Buffers
}

func (b *buffer) bytes() []byte { return b.b[b.r:b.w] }

func (b *buffer) advance(n int) {
	if n < 0 || n > b.w-b.r {
		panic("backend: advance beyond what was read")
	}
	b.r += n
	if b.r == b.w {
		b.r, b.w = 0, 0
	}
}

// fill reads until there are need bytes.
func (b *buffer) fill(from io.Reader, need int) error {
	if b.w-b.r >= need {
		return nil
	}
	b.room(need)
	for idle := 0; b.w-b.r < need; {
		n, err := from.Read(b.b[b.w:])
		b.w += n
		b.full = b.w == len(b.b)
		if b.w-b.r >= need {
			return nil
		}
		if err != nil {
			return err
		}
		if n > 0 {
			idle = 0
		} else if idle++; idle == 100 {
			return io.ErrNoProgress
		}
	}
	return nil
}

// room makes place for need bytes from r on.
func (b *buffer) room(need int) {
	switch {
	case need > largeBuffer && need > len(b.b):
		// Beyond the shared size: as a power of two, which a row of growing needs doubles.
		b.move(make([]byte, min(1<<bits.Len(uint(need-1)), maxBuffer)), nil)
	case len(b.b) < largeBuffer && (need > smallBuffer || b.full):
		l := b.buffers.get()
		b.move(l[:], l)
	case b.b == nil:
		b.small = make([]byte, smallBuffer)
		b.move(b.small, nil)
	case b.r+need > len(b.b) || b.r > len(b.b)/2:
		b.w = copy(b.b, b.b[b.r:b.w])
		b.r = 0
	}
}

// move goes on in another place.
func (b *buffer) move(to []byte, shared *large) {
	n := copy(to, b.bytes())
	if b.shared != nil {
		b.buffers.put(b.shared)
	}
	b.b, b.r, b.w, b.shared = to, 0, n, shared
}

// release goes back to the small buffer.
func (b *buffer) release() {
	b.full = false
	if len(b.b) <= smallBuffer || b.w-b.r > smallBuffer {
		return
	}
	if b.small == nil {
		b.small = make([]byte, smallBuffer)
	}
	b.move(b.small, nil)
}
