package frontend

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"errors"
	"io"
	"net"
	"net/netip"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/compress"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// tape is a connection whose other side says what stands on it, in pieces, and then closes.
type tape struct {
	in      []byte
	piece   int
	out     bytes.Buffer
	network string
}

func (c *tape) Read(p []byte) (int, error) {
	if len(c.in) == 0 {
		return 0, io.EOF
	}
	n := copy(p, c.in[:min(len(c.in), max(c.piece, 1))])
	c.in = c.in[n:]
	return n, nil
}

func (c *tape) Write(p []byte) (int, error)      { return c.out.Write(p) }
func (c *tape) Close() error                     { return nil }
func (c *tape) LocalAddr() net.Addr              { return &net.UnixAddr{Net: c.network} }
func (c *tape) RemoteAddr() net.Addr             { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1)} }
func (c *tape) SetDeadline(time.Time) error      { return nil }
func (c *tape) SetReadDeadline(time.Time) error  { return nil }
func (c *tape) SetWriteDeadline(time.Time) error { return nil }

// nobody knows nothing, and lets in whose password is "secret".
type nobody struct{}

func (nobody) Known(string) (k Credential, ok bool) { return k, false }

func (nobody) Verify(_ context.Context, l *Login) error {
	if l.Full && l.Password == "secret" {
		return nil
	}
	return l.denied(true, "")
}

// FuzzLogin plays a client that says anything, up to commands and changes of user. Only who tells the
// password gets in.
func FuzzLogin(f *testing.F) {
	key, err := rsa.GenerateKey(rand.Reader, 1024)
	if err != nil {
		f.Fatal(err)
	}
	certificate, err := SelfSigned()
	if err != nil {
		f.Fatal(err)
	}
	caps := wire.LongPassword | wire.Protocol41 | wire.SecureConnection | wire.PluginAuth | wire.PluginAuthLenEnc | wire.ConnectAttrs
	for _, extra := range []wire.Capability{0, wire.Compress, wire.ZstdCompression, wire.SSL, wire.ConnectWithDB} {
		r := wire.HandshakeResponse{
			Capabilities: caps | extra, User: "app", AuthPlugin: wire.SHA2Plugin, AuthResponse: make([]byte, 32), Database: "d",
		}
		var b []byte
		seq := byte(1)
		if extra == wire.SSL {
			b, seq = wire.AppendMessage(b, r.AppendSSLRequest(nil), seq)
		}
		b, seq = wire.AppendMessage(b, r.Append(nil), seq)
		b, _ = wire.AppendMessage(b, []byte("secret\x00"), seq+1)
		b, _ = wire.AppendMessage(b, []byte("\x03SELECT 1"), 0)
		m := wire.ChangeUser{User: "app", AuthPlugin: wire.NativePlugin, Attributes: wire.AppendAttribute(nil, "a", "b")}
		b, _ = wire.AppendMessage(b, m.Append(nil, caps), 0)
		b, _ = wire.AppendMessage(b, make([]byte, 32), 2)
		b, _ = wire.AppendMessage(b, []byte("secret\x00"), 4)
		b, _ = wire.AppendMessage(b, []byte("\x0E"), 0)
		f.Add(b, byte(0), 7)
		f.Add(b, byte(1), 1000)
		f.Add(append([]byte("PROXY TCP4 192.0.2.7 198.51.100.1 56324 3306\r\n"), b...), byte(2), 1)
	}
	buffers := &Buffers{}
	f.Fuzz(func(t *testing.T, b []byte, how byte, piece int) {
		o := &Options{
			Version: "9.7.4", Offer: caps | wire.Compress | wire.ZstdCompression | wire.ConnectWithDB | wire.SessionTrack,
			Auth: nobody{}, Buffers: buffers, MaxPacket: 1 << 20,
		}
		conn := &tape{in: b, piece: piece, network: "unix"}
		if how&1 > 0 {
			o.Plugin = wire.NativePlugin
		}
		if how&2 > 0 {
			o.ProxyProtocol = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		}
		if how&4 > 0 {
			o.Key, conn.network = key, "tcp"
		}
		if how&8 > 0 {
			o.TLS = &tls.Config{Certificates: []tls.Certificate{certificate}}
		}
		c, l, err := Accept(t.Context(), conn, o)
		var e *Error
		if err != nil {
			if !errors.As(err, &e) || c != nil || l != nil {
				t.Fatalf("%#v", err)
			}
			return
		}
		for {
			if !l.Full || l.Password != "secret" {
				t.Fatalf("let in: %+v", l)
			}
			p, err := c.ReadCommand()
			if err == nil && len(p) > 0 && p[0] == byte(wire.ComChangeUser) {
				l, err = c.ChangeUser(t.Context(), p)
			}
			if err != nil {
				if err != io.EOF && !errors.As(err, &e) || c.Err() == nil {
					t.Fatalf("%#v, %v", err, c.Err())
				}
				return
			}
		}
	})
}

// framed returns a connection that is past its login, with compression.
func framed(in []byte, piece, level int, pool *Buffers) (*Conn, *tape) {
	conn := &tape{in: in, piece: piece}
	c := &Conn{
		o: &Options{MaxPacket: 1 << 20}, raw: conn, conn: conn, remote: conn.RemoteAddr(), buffers: pool,
		socket: newSocket(conn, pool), caps: wire.Protocol41,
		zip: &compressed{plain: buffer{pool: pool}, level: compress.Level(level), pool: pool},
	}
	c.in.pool = pool
	return c, conn
}

// FuzzFrames: whatever comes as compressed packets does no harm, and what is written so is read again.
func FuzzFrames(f *testing.F) {
	pool := &Buffers{}
	for level := range 3 {
		for _, text := range []string{"\x0E", "\x03SELECT 1", string(bytes.Repeat([]byte("\x03SELECT 1 "), 100)), string(make([]byte, 70000))} {
			c, conn := framed(nil, 0, level, pool)
			c.zip.on = true
			b, _ := wire.AppendMessage(nil, []byte(text), 0)
			if err := c.Write(b); err != nil {
				f.Fatal(err)
			}
			f.Add(conn.out.Bytes(), level, 100)
		}
	}
	f.Fuzz(func(t *testing.T, b []byte, level, piece int) {
		level = min(max(level, 0), 22)
		c, _ := framed(b, piece, level, pool)
		for {
			p, err := c.ReadCommand()
			if err != nil {
				var e *Error
				if err != io.EOF && !errors.As(err, &e) {
					t.Fatalf("%#v", err)
				}
				break
			}
			if len(p) > c.o.MaxPacket {
				t.Fatalf("%d bytes", len(p))
			}
		}
		w, out := framed(nil, 0, level, pool)
		w.zip.on = true
		packets, _ := wire.AppendMessage(nil, b, 0)
		if err := w.Write(packets); err != nil {
			t.Fatal(err)
		}
		r, _ := framed(out.out.Bytes(), piece, level, pool)
		p, err := r.ReadCommand()
		if err != nil || !bytes.Equal(p, b) {
			t.Fatalf("wrote %d bytes, read %d: %v", len(b), len(p), err)
		}
		if _, err := r.ReadCommand(); err != io.EOF {
			t.Fatal(err)
		}
	})
}
