package frontend

import (
	"fmt"
	"io"

	"github.com/mysqlrw/mysqlrw/pkg/compress"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// compressed is the state of a client with compression.
type compressed struct {
	on    bool   // from the first command on
	plain buffer // packets
	seq   byte   // of the next frame, either way
	level compress.Level
	pool  *Buffers
}

// newCompressed returns nil for a client that did not ask for compression.
func newCompressed(caps wire.Capability, level uint8, pool *Buffers) *compressed {
	l, wanted := compress.LevelOf(caps, level)
	if !wanted {
		return nil
	}
	return &compressed{plain: buffer{pool: pool}, level: l, pool: pool}
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
	if err := c.receive(compress.HeaderSize); err != nil {
		return err
	}
	length, seq, size := compress.Header(c.in.bytes())
	want := z.seq
	z.seq = seq + 1
	if seq != want && seq != 0 { // 0 begins a command
		c.seq = z.seq // of the error
		return outOfOrder(fmt.Errorf("%w: compressed packet %d has number %d", ErrProtocol, want, seq))
	}
	if err := c.receive(compress.HeaderSize + length); err != nil {
		return err
	}
	data := c.in.bytes()[compress.HeaderSize : compress.HeaderSize+length]
	if size == 0 {
		size = copy(z.plain.space(length), data)
	} else if err := z.pool.codecs.Unpack(z.plain.space(size), data, z.level); err != nil {
		c.seq = z.seq
		return &refusal{
			wire.ServerError{Code: 1157, State: "08S01", Message: "Couldn't uncompress communication packet"},
			fmt.Errorf("%w: %s", ErrProtocol, err.Error()), // an io.EOF in it is not the client's
		}
	}
	z.plain.w += size
	c.in.advance(compress.HeaderSize + length)
	c.in.release()
	return nil
}

// write sends packets in frames.
func (z *compressed) write(w io.Writer, b []byte) (err error) {
	l := z.pool.large()
	defer z.pool.larges.Put(l)
	z.seq, err = z.pool.codecs.Write(w, l[:], b, z.level, z.seq)
	return err
}
