package compress_test

import (
	"bytes"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/compress"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

func TestLevelOf(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		caps  wire.Capability
		zstd  uint8
		level compress.Level
		on    bool
	}{
		{wire.Protocol41, 3, 0, false},
		{wire.Compress, 0, 0, true},
		{wire.Compress | wire.ZstdCompression, 7, 0, true},
		{wire.ZstdCompression, 7, 7, true},
		{wire.ZstdCompression, 0, 1, true},
		{wire.ZstdCompression, 200, 22, true},
	} {
		if level, on := compress.LevelOf(tt.caps, tt.zstd); level != tt.level || on != tt.on {
			t.Errorf("%x, %d: %d, %v", tt.caps, tt.zstd, level, on)
		}
	}
}

// TestFrames: what is written in frames is had out of them again, at every level and size; their numbers go up
// by one; what makes no use of compression is sent as it is.
func TestFrames(t *testing.T) {
	t.Parallel()
	var codecs compress.Codecs
	random := make([]byte, 300_000)
	_, _ = rand.NewChaCha8([32]byte{1}).Read(random)
	for _, level := range []compress.Level{0, 1, 7, 22} {
		for name, text := range map[string][]byte{
			"one": {1}, "short": bytes.Repeat([]byte("x"), 49), "text": bytes.Repeat([]byte("SELECT 1 "), 20_000),
			"long": make([]byte, 5<<20), "random": random,
		} {
			t.Run(fmt.Sprint(name, level), func(t *testing.T) {
				var out bytes.Buffer
				next, err := codecs.Write(&out, nil, text, level, 250)
				if err != nil {
					t.Fatal(err)
				}
				got, seq := unpack(t, &codecs, out.Bytes(), level, 250)
				if !bytes.Equal(got, text) || seq != next {
					t.Errorf("%d of %d bytes, next frame %d and not %d", len(got), len(text), seq, next)
				}
				if plain := name != "text" && name != "long"; plain != (out.Len() > len(text)) {
					t.Errorf("%d bytes became %d", len(text), out.Len())
				}
			})
		}
	}
}

func unpack(t *testing.T, codecs *compress.Codecs, b []byte, level compress.Level, seq byte) ([]byte, byte) {
	t.Helper()
	var got []byte
	for len(b) > 0 {
		length, number, size := compress.Header(b)
		if number != seq {
			t.Fatalf("frame %d has the number %d", seq, number)
		}
		seq++
		data := b[compress.HeaderSize : compress.HeaderSize+length]
		b = b[compress.HeaderSize+length:]
		if size == 0 {
			got = append(got, data...)
			continue
		}
		plain := make([]byte, size)
		if err := codecs.Unpack(plain, data, level); err != nil {
			t.Fatal(err)
		}
		for _, wrong := range []int{size - 1, size + 1} {
			if codecs.Unpack(make([]byte, wrong), data, level) == nil {
				t.Errorf("%d bytes are taken for %d", size, wrong)
			}
		}
		got = append(got, plain...)
	}
	return got, seq
}
