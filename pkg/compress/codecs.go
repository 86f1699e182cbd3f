package compress

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

// Codecs are what compression works with. They are much larger than a connection, and shared: the zero value is
// ready, may be used by several goroutines, and must not be copied.
type Codecs struct {
	inflaters, deflaters sync.Pool

	mu       sync.Mutex
	encoders [zstd.SpeedBestCompression + 1]*zstd.Encoder // by level; they and the decoder are for concurrent use
	unzstd   *zstd.Decoder
}

// encoder returns the one for a level of zstd, of which the library has four.
func (p *Codecs) encoder(level int) (*zstd.Encoder, error) {
	l := zstd.EncoderLevelFromZstd(level)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.encoders[l] == nil {
		e, err := zstd.NewWriter(nil, zstd.WithEncoderLevel(l), zstd.WithWindowSize(window),
			zstd.WithLowerEncoderMem(true), zstd.WithEncoderCRC(false))
		if err != nil {
			return nil, fmt.Errorf("begin zstd: %w", err)
		}
		p.encoders[l] = e
	}
	return p.encoders[l], nil
}

func (p *Codecs) decoder() (*zstd.Decoder, error) {
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

func (p *Codecs) inflate(dst, data []byte) error {
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

func (p *Codecs) deflate(dst, b []byte) ([]byte, error) {
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
