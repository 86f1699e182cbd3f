package backend_test

import (
	"io"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/compress"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// TestFrames: every command begins a frame with the number 0, and an answer is read whatever frames it is cut into
// and however its packets are numbered.
func TestFrames(t *testing.T) {
	for _, cut := range []int{1, 3, 4, 7, 100, 1 << 20} {
		o := against(t, 0, func(p *peer) {
			p.write(greeting(wire.NativePlugin, func(g *wire.Greeting) { g.Capabilities |= wire.Compress }))
			p.read()
			p.write(okay(wire.Autocommit))
			var codecs compress.Codecs
			for _, together := range []int{1, 2} {
				for range together {
					if seq, commands := p.frame(&codecs); seq != 0 || commands != 1 {
						t.Errorf("%d commands are in frame %d", commands, seq)
					}
				}
				for range together {
					p.framed(&codecs, cut, "first", "second")
				}
			}
			p.drain()
		})
		o.Want = wire.Compress
		c := dial(t, o)
		r, err := c.Query(t.Context(), "CALL two()")
		if err != nil {
			t.Fatalf("cut at %d: %v", cut, err)
		}
		if got, _ := r.Get(0, "c0"); !strings.HasPrefix(got, "second ") {
			t.Errorf("cut at %d: %q", cut, got)
		}
		if list, err := c.ExecAll(t.Context(), "CALL two()", "CALL "+strings.Repeat("t", 1000)); err != nil || len(list) != 2 {
			t.Errorf("cut at %d: %v, %v", cut, list, err)
		}
		if err := c.CheckIdle(); err != nil {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
}

// TestFramesBroken: a frame that is none makes the connection unusable.
func TestFramesBroken(t *testing.T) {
	o := against(t, 0, func(p *peer) {
		p.write(greeting(wire.NativePlugin, func(g *wire.Greeting) { g.Capabilities |= wire.Compress }))
		p.read()
		p.write(okay(wire.Autocommit))
		p.frame(&compress.Codecs{})
		_, _ = p.Write([]byte{4, 0, 0, 1, 100, 0, 0, 'n', 'o', 'n', 'e'})
		p.drain()
	})
	o.Want = wire.Compress
	c := dial(t, o)
	if err := c.Ping(t.Context()); err == nil || asError(t, err).Sent == false || c.Err() == nil {
		t.Errorf("%v, %v", err, c.Err())
	}
}

// frame reads a frame of commands, and returns its number and how many there are; 0 at the end.
func (p *peer) frame(codecs *compress.Codecs) (seq byte, commands int) {
	var h [compress.HeaderSize]byte
	if _, err := io.ReadFull(p, h[:]); err != nil {
		return 0, 0
	}
	length, seq, size := compress.Header(h[:])
	data := make([]byte, length)
	if _, err := io.ReadFull(p, data); err != nil {
		return 0, 0
	}
	if size > 0 {
		plain := make([]byte, size)
		if err := codecs.Unpack(plain, data, 0); err != nil {
			p.t.Error(err)
		}
		data = plain
	}
	for len(data) > 0 {
		payload, _, n, err := wire.Split(data)
		if err != nil || n == 0 {
			p.t.Errorf("a frame ends in a command: %v", err)
			return 0, 0
		}
		if wire.Command(payload[0]) == wire.ComQuit {
			return 0, 0
		}
		data, commands = data[n:], commands+1
	}
	return seq, commands
}

// framed answers with a result for each text, whose packets begin with the number of the frame, in frames that are
// cut anywhere.
func (p *peer) framed(codecs *compress.Codecs, cut int, texts ...string) {
	seq := byte(1)
	for i, text := range texts {
		status := wire.Autocommit
		if i < len(texts)-1 {
			status |= wire.MoreResults
		}
		var b []byte
		number := seq
		for _, payload := range rows(1, status, []string{text + strings.Repeat(" text", 30)}) {
			b, number = wire.AppendMessage(b, payload, number)
		}
		for len(b) > 0 {
			n := min(cut, len(b))
			var err error
			if seq, err = codecs.Write(p, nil, b[:n], 0, seq); err != nil {
				return
			}
			b = b[n:]
		}
	}
}
