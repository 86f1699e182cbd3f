package frontend

import (
	"io"
	"sync"

	"github.com/mysqlrw/mysqlrw/pkg/compress"
)

// Sizes of buffers.
const (
	smallSize = 8 << 10
	largeSize = 64 << 10
)

type (
	small [smallSize]byte
	large [largeSize]byte
)

// Buffers is memory that connections share: what is read to, and what compression works with. The zero
// value is ready; it may be used by several goroutines, and must not be copied.
type Buffers struct {
	smalls, larges sync.Pool
	codecs         compress.Codecs
}

func (p *Buffers) small() *small {
	if b, ok := p.smalls.Get().(*small); ok {
		return b
	}
	return new(small)
}

func (p *Buffers) large() *large {
	if b, ok := p.larges.Get().(*large); ok {
		return b
	}
	return new(large)
}

// buffer holds what was read and not passed: b[r:w]. Its memory is borrowed, or its own if it has to be
// larger than what can be borrowed.
type buffer struct {
	b     []byte
	r, w  int
	small *small // what b is, if it is one of these
	large *large
	pool  *Buffers
}

func (b *buffer) bytes() []byte { return b.b[b.r:b.w] }

func (b *buffer) len() int { return b.w - b.r }

func (b *buffer) advance(n int) {
	b.r += n
	if b.r == b.w {
		b.r, b.w = 0, 0
	}
}

// release gives the memory back if nothing is in it.
func (b *buffer) release() {
	if b.len() == 0 {
		b.move(nil)
	}
}

// move goes on in another place.
func (b *buffer) move(to []byte) {
	n := copy(to, b.bytes())
	if b.small != nil {
		b.pool.smalls.Put(b.small)
	}
	if b.large != nil {
		b.pool.larges.Put(b.large)
	}
	b.b, b.r, b.w, b.small, b.large = to, 0, n, nil, nil
}

// adopt makes n bytes in a borrowed buffer the contents of an empty one.
func (b *buffer) adopt(s *small, n int) {
	b.move(nil)
	b.b, b.small, b.w = s[:], s, n
}

// room makes place for more, if possible so that need bytes from r on fit. Beyond what can be borrowed,
// it grows only with what has come already.
func (b *buffer) room(need int) {
	switch {
	case len(b.b)-b.r >= need:
	case len(b.b) >= need:
		b.slide()
	case need <= smallSize:
		s := b.pool.small()
		b.move(s[:])
		b.small = s
	case need <= largeSize || len(b.b) < largeSize:
		l := b.pool.large()
		b.move(l[:])
		b.large = l
	case b.len() < len(b.b):
		b.slide()
	default:
		b.move(make([]byte, min(need, 2*len(b.b))))
	}
}

func (b *buffer) slide() {
	if b.r > 0 {
		b.w = copy(b.b, b.bytes())
		b.r = 0
	}
}

// space is room for n bytes behind what is there, for who knows that they come.
func (b *buffer) space(n int) []byte {
	need := b.len() + n
	if need <= largeSize {
		b.room(need)
	} else if len(b.b)-b.r < need {
		b.move(make([]byte, need))
	}
	return b.b[b.w : b.w+n]
}

// fill reads until there are need bytes.
func (b *buffer) fill(from io.Reader, need int) error {
	for idle := 0; b.len() < need; {
		b.room(need)
		n, err := from.Read(b.b[b.w:])
		b.w += n
		switch {
		case b.len() >= need:
			return nil
		case err != nil:
			return err
		case n > 0:
			idle = 0
		default:
			if idle++; idle == 100 {
				return io.ErrNoProgress
			}
		}
	}
	return nil
}
