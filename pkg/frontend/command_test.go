package frontend_test

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/frontend"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// transport is a way in which a client's bytes come.
type transport struct {
	name, network string
	tls           bool
	caps          wire.Capability // of compression
	cut           int
}

var transports = []transport{
	{"tcp", "tcp", false, 0, 0},
	{"unix", "unix", false, 0, 0},
	{"pipe", "pipe", false, 0, 0},
	{"TLS", "tcp", true, 0, 0},
	{"zlib", "tcp", false, wire.Compress, 1 << 20},
	{"zlib in large pieces", "tcp", false, wire.Compress, wire.MaxPayload},
	{"zlib in pieces", "tcp", false, wire.Compress, 70},
	{"zlib over TLS", "tcp", true, wire.Compress, 1000},
	{"zstd", "tcp", false, wire.ZstdCompression, wire.MaxPayload},
	{"zstd in pieces", "unix", false, wire.ZstdCompression, 333},
	{"zstd over TLS", "tcp", true, wire.ZstdCompression, 10000},
}

// loggedIn returns both ends after a login of app, who is known.
func (tr transport) loggedIn(t testing.TB, o *frontend.Options) (*client, accepted) {
	t.Helper()
	conn, raw := pair(t, tr.network)
	if o.Auth == nil {
		o.Auth = &accounts{known: map[string]frontend.Credential{"app": credential("secret")}}
	}
	o.Version, o.Offer = "9.7.4", offer
	id := identity{user: "app", password: "secret", caps: tr.caps, level: 3}
	if tr.tls {
		o.TLS, id.tls = serverTLS(t), clientTLS(t)
	}
	done := accept(t.Context(), raw, o)
	c := &client{Conn: conn, t: t}
	err := c.login(id)
	s := <-done
	if err != nil || s.err != nil {
		t.Fatalf("client: %v, server: %v", err, s.err)
	}
	if tr.caps&(wire.Compress|wire.ZstdCompression) != 0 {
		c.startFrames(tr.caps == wire.ZstdCompression, tr.cut)
	}
	return c, s
}

// again begins a command on the client's side.
func (c *client) again() {
	c.seq = 0
	if f, ok := c.Conn.(*frames); ok {
		f.seq = 0
	}
}

// filled is n bytes that compress well, but not to nothing.
func filled(n int) []byte {
	r := rand.New(rand.NewPCG(1, uint64(n)))
	b := make([]byte, n)
	for i := range b[:min(n, 50000)] {
		b[i] = byte(r.Uint32() & 0x0F)
	}
	for done := 50000; done < n; done *= 2 {
		copy(b[done:], b[:done])
	}
	return b
}

// TestCommands: commands and answers of all sizes come as they were sent, over everything.
func TestCommands(t *testing.T) {
	sizes := []int{0, 1, 5, 50, 1000, 8187, 8188, 8189, 9000, 65531, 65532, 65533, 70000, 300000, 1 << 20}
	if testing.Short() {
		sizes = sizes[:len(sizes)-2] // the race detector makes long ones slow
	}
	for _, tr := range transports {
		t.Run(tr.name, func(t *testing.T) {
			c, s := tr.loggedIn(t, &frontend.Options{})
			big := slices.Clone(sizes)
			switch {
			case tr.cut > 0 && tr.cut < 1000:
				big = big[:len(big)-2]
			case tr.name == "tcp" && !testing.Short():
				big = append(big, wire.MaxPayload-1, wire.MaxPayload, wire.MaxPayload+1, 2*wire.MaxPayload)
			case tr.name == "zstd" && !testing.Short(): // zlib takes too long here
				big = append(big, wire.MaxPayload)
			}
			for _, n := range big {
				want := filled(n)
				_ = c.SetDeadline(time.Now().Add(time.Minute))
				failed := make(chan error, 1)
				go func() { failed <- echo(s.Conn) }()
				c.again()
				c.send(want)
				got, err := c.read()
				if err != nil || !bytes.Equal(got, want) {
					_ = c.Close()
					t.Fatalf("%d bytes: got %d back: %v; server: %v", n, len(got), err, <-failed)
				}
				if err := <-failed; err != nil {
					t.Fatalf("%d bytes: %v", n, err)
				}
			}
			_ = c.Close()
			if _, err := s.ReadCommand(); err != io.EOF {
				t.Errorf("at the end: %v", err)
			}
		})
	}
}

// echo answers one command with itself.
func echo(c *frontend.Conn) error {
	p, err := c.ReadCommand()
	if err != nil {
		return err
	}
	out, _ := wire.AppendMessage(nil, p, c.Seq())
	return c.Write(out)
}

// TestSplit: what comes byte by byte, or several commands at a time, is the same.
func TestSplit(t *testing.T) {
	for _, tr := range transports {
		t.Run(tr.name, func(t *testing.T) {
			c, s := tr.loggedIn(t, &frontend.Options{})
			var all []byte
			for i := range 3 {
				all, _ = wire.AppendMessage(all, fmt.Appendf([]byte{3}, "SELECT %d", i), 0)
			}
			go func() {
				for i := range all {
					if _, err := c.Conn.Write(all[i : i+1]); err != nil {
						return
					}
				}
				c.again()
				_, _ = c.Conn.Write(all)
				_, _ = c.Conn.Write([]byte{1, 0, 0}) // and a part of a header
				_ = c.Close()
			}()
			for i := range 6 {
				p, err := s.ReadCommand()
				if want := fmt.Sprintf("\x03SELECT %d", i%3); err != nil || string(p) != want || s.Seq() != 1 {
					t.Fatalf("command %d: %q, next %d: %v", i, p, s.Seq(), err)
				}
			}
			if !s.Buffered() && tr.network == "tcp" && !tr.tls && tr.caps == 0 {
				t.Log("the rest has not come yet") // by chance
			}
			_, err := s.ReadCommand()
			if !errors.Is(err, io.ErrUnexpectedEOF) || s.Err() == nil {
				t.Errorf("after a part of a command: %v", err)
			}
			if _, err := s.ReadCommand(); !errors.Is(err, frontend.ErrClosed) {
				t.Errorf("again: %v", err)
			}
		})
	}
}

// TestPackets: what the client sends in the middle of an answer comes packet by packet.
func TestPackets(t *testing.T) {
	c, s := transports[0].loggedIn(t, &frontend.Options{})
	go func() {
		c.seq = 2
		for _, n := range []int{4, 100000, 0} {
			c.send(filled(n))
		}
	}()
	for i, n := range []int{4, 100000, 0} {
		p, seq, err := s.ReadPacket()
		if err != nil || !bytes.Equal(p, filled(n)) || seq != byte(i+2) || s.Seq() != seq+1 {
			t.Fatalf("packet %d: %d bytes, number %d: %v", i, len(p), seq, err)
		}
	}
	_ = c.Close()
	if _, _, err := s.ReadPacket(); !errors.Is(err, io.ErrUnexpectedEOF) {
		t.Errorf("at the end: %v", err)
	}
}

// TestBreaches: who breaks the rules is told, and disconnected, even if it is sending still.
func TestBreaches(t *testing.T) {
	header := func(n int, seq byte) []byte { return []byte{byte(n), byte(n >> 8), byte(n >> 16), seq} }
	for _, tt := range []struct {
		name string
		send func(c *client)
		code uint16
		seq  byte // of the error packet
		want error
	}{
		{"too large", func(c *client) { c.command(filled(2000)) }, 1153, 1, frontend.ErrTooLarge},
		{"much too large", func(c *client) { c.command(filled(1 << 19)) }, 1153, 1, frontend.ErrTooLarge},
		{"too large with what follows", func(c *client) { _, _ = c.Conn.Write(header(wire.MaxPayload, 0)) }, 1153, 1, frontend.ErrTooLarge},
		{"out of order", func(c *client) { _, _ = c.Conn.Write(append(header(1, 4), 14)) }, 1156, 5, frontend.ErrProtocol},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c, s := transports[0].loggedIn(t, &frontend.Options{MaxPacket: 1000})
			failed := make(chan error, 1)
			go func() {
				_, err := s.ReadCommand()
				failed <- err
			}()
			tt.send(c)
			c.seq = tt.seq
			e := c.mustRefuse()
			_ = c.Close()
			if err := <-failed; e.Code != tt.code || e.State != "08S01" || !errors.Is(err, tt.want) {
				t.Errorf("client: %v, server: %v", e, err)
			}
		})
	}
}

// mustRefuse reads an error packet, and the end behind it.
func (c *client) mustRefuse() *wire.ServerError {
	c.t.Helper()
	seq := c.seq
	p := c.must()
	e := &wire.ServerError{}
	if err := e.Decode(p); err != nil {
		c.t.Fatalf("%q: %v", p, err)
	}
	if c.seq != seq+1 {
		c.t.Errorf("error has number %d, want %d", c.seq-1, seq)
	}
	if p, err := c.read(); err == nil {
		c.t.Errorf("behind the error: %q", p)
	}
	return e
}

// TestOutOfOrderInside: the packets of one command are counted.
func TestOutOfOrderInside(t *testing.T) {
	c, s := transports[0].loggedIn(t, &frontend.Options{})
	go func() {
		b, _ := wire.AppendMessage(nil, filled(wire.MaxPayload), 0)
		b[len(b)-1] = 7
		_, _ = c.Conn.Write(b)
	}()
	failed := make(chan error, 1)
	go func() {
		_, err := s.ReadCommand()
		failed <- err
	}()
	c.seq = 8
	if e := c.mustRefuse(); e.Code != 1156 {
		t.Errorf("client: %v", e)
	}
	_ = c.Close()
	if err := <-failed; !errors.Is(err, frontend.ErrProtocol) {
		t.Errorf("server: %v", err)
	}
}

// TestDeadline: one that ends between commands does no harm, one within does.
func TestDeadline(t *testing.T) {
	for _, tr := range transports {
		t.Run(tr.name, func(t *testing.T) {
			c, s := tr.loggedIn(t, &frontend.Options{})
			if err := s.SetReadDeadline(time.Unix(1, 0)); err != nil {
				t.Fatal(err)
			}
			if _, err := s.ReadCommand(); !errors.Is(err, os.ErrDeadlineExceeded) || s.Err() != nil {
				t.Fatalf("idle: %v, %v", err, s.Err())
			}
			_ = s.SetReadDeadline(time.Time{})
			failed := make(chan error, 1)
			go func() { failed <- echo(s.Conn) }()
			c.command([]byte{14})
			if p, err := c.read(); err != nil || string(p) != "\x0E" {
				t.Fatalf("then: %q, %v", p, err)
			}
			if err := <-failed; err != nil {
				t.Fatal(err)
			}
			// A part of a command, however it is sent, and the deadline once it is there.
			c.again()
			go func() { _, _ = c.Conn.Write([]byte{5, 0, 0, 0, 1}) }()
			for limit := time.Now().Add(10 * time.Second); ; {
				_ = s.SetReadDeadline(time.Now().Add(time.Millisecond))
				_, err := s.ReadCommand()
				if !errors.Is(err, os.ErrDeadlineExceeded) {
					t.Fatalf("a part: %v", err)
				}
				if s.Err() != nil {
					return
				}
				if time.Now().After(limit) {
					t.Fatal("a part of a command was lost")
				}
			}
		})
	}
}

// TestClose: another goroutine ends what runs, and may ask all the time whether the client has gone.
func TestClose(t *testing.T) {
	for _, tr := range transports {
		_, s := tr.loggedIn(t, &frontend.Options{})
		failed := make(chan error, 1)
		go func() {
			_, err := s.ReadCommand()
			failed <- err
		}()
		if s.Gone() {
			t.Errorf("%s: gone", tr.name)
		}
		if err := s.Close(); err != nil {
			t.Errorf("%s: %v", tr.name, err)
		}
		if err := <-failed; err == nil || s.Err() == nil {
			t.Errorf("%s: closed, but read", tr.name)
		}
		_ = s.Gone()
	}
}

// TestAnswers: what the caller has to say goes in the form that was agreed on, by the numbers.
func TestAnswers(t *testing.T) {
	for _, tr := range transports {
		c, s := tr.loggedIn(t, &frontend.Options{})
		failed := make(chan error, 1)
		go func() {
			_, err := s.ReadCommand()
			err = errors.Join(err, s.WriteOK(&wire.OK{AffectedRows: 3, Info: []byte("yes"), Status: wire.MoreResults}))
			failed <- errors.Join(err, s.WriteError(1105, "HY000", "no"))
		}()
		c.command([]byte{14})
		var ok wire.OK
		if err := ok.Decode(c.must(), c.caps); err != nil || ok.AffectedRows != 3 || string(ok.Info) != "yes" || c.seq != 2 {
			t.Errorf("%s: %+v, %v", tr.name, ok, err)
		}
		var e wire.ServerError
		if err := e.Decode(c.must()); err != nil || e.Error() != "error 1105 (HY000): no" || c.seq != 3 {
			t.Errorf("%s: %v, %v", tr.name, &e, err)
		}
		if err := <-failed; err != nil {
			t.Errorf("%s: %v", tr.name, err)
		}
		s.SetCapability(wire.MultiStatements, true)
		if !s.Capabilities().Has(wire.MultiStatements) {
			t.Error("not set")
		}
		s.SetCapability(wire.MultiStatements, false)
		if s.Capabilities().Has(wire.MultiStatements) {
			t.Error("not cleared")
		}
	}
}
