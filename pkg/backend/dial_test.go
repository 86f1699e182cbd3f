package backend_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"errors"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/backend"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/netloop"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// pieces are how many bytes come in one read; 0 is all there are.
var pieces = []int{0, 1, 3}

func TestDial(t *testing.T) {
	for _, piece := range pieces {
		said := make(chan wire.HandshakeResponse, 1)
		o := against(t, piece, func(p *peer) { said <- p.login(wire.NativePlugin); p.drain() })
		o.Schema, o.Want = "shop", wire.MultiStatements|wire.FoundRows|wire.Compress|wire.OptionalMetadata
		o.Attributes = []wire.Attribute{{Name: "program_name", Value: "test"}}
		c := dial(t, o)
		r := <-said
		want := serverCaps&^wire.MultiResults | wire.FoundRows
		if r.Capabilities != want || c.Capabilities() != want {
			t.Errorf("capabilities %b and %b, want %b", r.Capabilities, c.Capabilities(), want)
		}
		if r.User != "app" || r.Database != "shop" || r.Charset != wire.CharsetUTF8MB4 {
			t.Errorf("response is %+v", r)
		}
		if !bytes.Equal(r.AuthResponse, wire.NativeResponse([]byte("secret"), []byte(nonce))) {
			t.Error("response is not the password's")
		}
		if list, err := wire.DecodeAttributes(r.Attributes); err != nil || len(list) != 1 || list[0] != o.Attributes[0] {
			t.Errorf("attributes %v, %v", list, err)
		}
		if c.ID() != 7 || c.Status() != wire.Autocommit || c.Server().Flavor != flavor.MySQL ||
			c.Server().Text != "9.7.4" || c.Secure() || c.Err() != nil || c.Address() != address {
			t.Errorf("connection is %d %v %v %v", c.ID(), c.Status(), c.Server(), c.Err())
		}
		if c.SetStatus(wire.InTransaction); c.Status() != wire.InTransaction {
			t.Errorf("status is %x", c.Status())
		}
	}
}

// TestMariaDB: extended capabilities are agreed on by leaving LongPassword away, and the version's
// prefix is no part of it.
func TestMariaDB(t *testing.T) {
	said := make(chan wire.HandshakeResponse, 1)
	o := against(t, 0, func(p *peer) {
		p.write(greeting(wire.NativePlugin, func(g *wire.Greeting) {
			g.Version = "5.5.5-10.11.19-MariaDB-log"
			g.Capabilities = g.Capabilities&^wire.LongPassword | wire.MariaDBBulk | wire.MariaDBCacheMetadata
		}))
		var r wire.HandshakeResponse
		if err := r.Decode(p.read()); err != nil {
			t.Error(err)
		}
		said <- r
		p.write(okay(0))
		p.drain()
	})
	o.Want = wire.MariaDBBulk | wire.MariaDBCacheMetadata
	c := dial(t, o)
	if got := (<-said).Capabilities; got&(wire.LongPassword|wire.MariaDBBulk|wire.MariaDBCacheMetadata) != wire.MariaDBBulk {
		t.Errorf("client has %b", got)
	}
	if s := c.Server(); s.Flavor != flavor.MariaDB || s.Text != "10.11.19-MariaDB-log" || !s.Version.AtLeast(10, 11, 19) {
		t.Errorf("server is %+v", s)
	}
}

// serverKey is made once: it takes a while.
func serverKey(t *testing.T) (*rsa.PrivateKey, []byte) {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	pem, err := wire.FormatPublicKey(&key.PublicKey)
	if err != nil {
		t.Fatal(err)
	}
	return key, pem
}

// TestAuthentication: what the server asks for, and what it must get.
func TestAuthentication(t *testing.T) {
	key, pem := serverKey(t)
	secret := []byte("secret")
	other := []byte("01234567890123456789")
	swap := func(plugin string) []byte { return (&wire.AuthSwitch{Plugin: plugin, Data: other}).Append(nil) }
	more := func(data ...byte) []byte { return (&wire.AuthMoreData{Data: data}).Append(nil) }
	encrypted := func(nonce []byte) func([]byte) bool {
		return func(b []byte) bool {
			got, err := wire.DecryptPassword(b, nonce, key)
			return err == nil && bytes.Equal(got, secret)
		}
	}
	is := func(want []byte) func([]byte) bool { return func(b []byte) bool { return bytes.Equal(b, want) } }
	type turn struct {
		say  []byte
		want func([]byte) bool // nil if the client says nothing
	}
	for _, tt := range []struct {
		name, plugin, network string
		turns                 []turn
		err                   error
	}{
		{"fast", wire.SHA2Plugin, "", []turn{{more(wire.SHA2FastOK), nil}}, nil},
		{"full by key", wire.SHA2Plugin, "", []turn{
			{more(wire.SHA2FullAuth), is([]byte{wire.SHA2RequestKey})}, {more(pem...), encrypted([]byte(nonce))},
		}, nil},
		{"full on a socket", wire.SHA2Plugin, "unix", []turn{{more(wire.SHA2FullAuth), is([]byte("secret\x00"))}}, nil},
		{"to native", wire.SHA2Plugin, "", []turn{{swap(wire.NativePlugin), is(wire.NativeResponse(secret, other))}}, nil},
		{"to sha2", wire.NativePlugin, "", []turn{
			{swap(wire.SHA2Plugin), is(wire.SHA2Response(secret, other))},
			{more(wire.SHA2FullAuth), is([]byte{wire.SHA2RequestKey})},
			{more(pem...), encrypted(other)},
		}, nil},
		{"from unknown", "auth_gssapi_client", "", []turn{{swap(wire.NativePlugin), is(wire.NativeResponse(secret, other))}}, nil},
		{"sha256", wire.NativePlugin, "", []turn{
			{swap("sha256_password"), is([]byte{1})}, {more(pem...), encrypted(other)},
		}, nil},
		{"clear on a socket", wire.NativePlugin, "unix", []turn{{swap(wire.ClearPlugin), is([]byte("secret\x00"))}}, nil},
		{"clear", wire.NativePlugin, "", []turn{{swap(wire.ClearPlugin), nil}}, backend.ErrInsecure},
		{"ed25519", wire.NativePlugin, "", []turn{{swap(wire.Ed25519Plugin), nil}}, backend.ErrPlugin},
		{"old password", wire.NativePlugin, "", []turn{{[]byte{0xFE}, nil}}, backend.ErrTooOld},
		{"more for native", wire.NativePlugin, "", []turn{{more(wire.SHA2FullAuth), nil}}, backend.ErrNotMySQL},
		{"next factor", wire.NativePlugin, "", []turn{{[]byte("\x02plugin\x00"), nil}}, backend.ErrNotMySQL},
		{"endless", wire.SHA2Plugin, "", []turn{
			{more(3), nil},
			{more(3), nil},
			{more(3), nil},
			{more(3), nil},
			{more(3), nil},
			{more(3), nil},
			{more(3), nil},
			{more(3), nil},
			{more(3), nil},
			{more(3), nil},
		}, backend.ErrNotMySQL},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, piece := range pieces {
				o := against(t, piece, func(p *peer) {
					p.write(greeting(tt.plugin))
					p.read()
					for i, turn := range tt.turns {
						p.write(turn.say)
						if turn.want != nil {
							if got := p.read(); !turn.want(got) {
								t.Errorf("turn %d: client says %q", i, got)
							}
						}
					}
					if tt.err == nil {
						p.write(okay(0))
					}
					p.drain()
				})
				o.Network = tt.network
				c, err := backend.Dial(t.Context(), o)
				if err == nil {
					_ = c.Close()
				}
				checkDial(t, err, tt.err)
			}
		})
	}
}

// checkDial holds an error of Dial against what it must always be.
func checkDial(t *testing.T, err, want error) {
	t.Helper()
	if !errors.Is(err, want) {
		t.Errorf("got %v, want %v", err, want)
	}
	if err == nil {
		return
	}
	if e := asError(t, err); e.Sent || e.Address != address || strings.Contains(e.Error(), "secret") {
		t.Errorf("error %+v", e)
	}
}

// TestRefused: what may come in the place of a login.
func TestRefused(t *testing.T) {
	old := func(g *wire.Greeting) { g.Version, g.Capabilities = "4.0.30", wire.LongPassword|wire.Protocol41 }
	for _, tt := range []struct {
		name   string
		script func(p *peer)
		mode   backend.TLSMode
		is     error
		text   string // part of the error
	}{
		{"full server", func(p *peer) { p.write(refusal(1040, "Too many connections")) }, 0, nil, "max_connections"},
		{"blocked host", func(p *peer) { p.write(refusal(1129, "Host is blocked")) }, 0, nil, "host cache"},
		{"unknown host", func(p *peer) { p.write(refusal(1130, "Host is not allowed")) }, 0, nil, "no account"},
		{"denied", func(p *peer) {
			p.write(greeting(wire.NativePlugin))
			p.read()
			p.write(refusal(1045, "Access denied for user 'app'@'h' (using password: YES)"))
		}, 0, nil, "Access denied for user 'app'@'h' (using password: YES); check user and password of the account; it may also require TLS"},
		{"no TLS", func(p *peer) { p.write(greeting(wire.NativePlugin)); p.drain() }, backend.TLSRequired, backend.ErrNoTLS, "certificate"},
		{"TLS required", func(p *peer) {
			p.write(greeting(wire.NativePlugin))
			p.read()
			p.write(refusal(3159, "Connections using insecure transport are prohibited"))
		}, 0, nil, "connect with TLS"},
		{"injected before TLS", func(p *peer) {
			b, _ := wire.AppendMessage(nil, greeting(wire.NativePlugin, func(g *wire.Greeting) { g.Capabilities |= wire.SSL }), 0)
			_, _ = p.Write(append(b, "\x07\x00\x00\x02\x00\x00\x00"...))
			p.drain()
		}, backend.TLSRequired, backend.ErrNotMySQL, "between the greeting and TLS"},
		{"closed at once", func(*peer) {}, 0, nil, "the server closed the connection"},
		{"half a header", func(p *peer) { _, _ = p.Write([]byte{0x4a, 0}) }, 0, nil, "the server closed"},
		{"half a greeting", func(p *peer) { _, _ = p.Write([]byte{0x4a, 0, 0, 0, 10, '8', '.'}) }, 0, nil, "the server closed"},
		{"closed in the login", func(p *peer) { p.write(greeting(wire.NativePlugin)); p.read() }, 0, nil, "the server closed"},
		{"SSH", func(p *peer) { _, _ = p.Write([]byte("SSH-2.0-OpenSSH_9.7\r\n")) }, 0, backend.ErrNotMySQL, `begins with "SSH-`},
		{"X protocol", func(p *peer) { _, _ = p.Write([]byte("\x05\x00\x00\x00\x0b\x08\x05\x1a\x00")) }, 0, backend.ErrNotMySQL, "3306"},
		{"old protocol", func(p *peer) { p.write([]byte("\x093.20.1\x00\x01\x00\x00\x00abcdefgh\x00")) }, 0, backend.ErrNotMySQL, "protocol version 10"},
		{"too old", func(p *peer) { p.write(greeting("", old)) }, 0, backend.ErrTooOld, "4.0.30"},
		{"wrong number", func(p *peer) {
			p.write(greeting(wire.NativePlugin))
			p.read()
			p.seq += 3
			p.write(okay(0))
		}, 0, backend.ErrNotMySQL, "has number 5"},
		{"unreadable OK", func(p *peer) { p.write(greeting(wire.NativePlugin)); p.read(); p.write([]byte{0, 0}) }, 0, nil, "OK packet"},
		{"unreadable switch", func(p *peer) { p.write(greeting(wire.NativePlugin)); p.read(); p.write([]byte{0xFE, 'x'}) }, 0, nil, "switch"},
		{"unreadable key", func(p *peer) { p.write(greeting(wire.SHA2Plugin)); p.read(); p.write([]byte{1, 'x'}) }, 0, nil, "PEM"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			for _, piece := range pieces {
				if piece > 0 && tt.mode == backend.TLSRequired && tt.is == backend.ErrNotMySQL {
					continue // what was not read yet is none of the greeting's
				}
				o := against(t, piece, tt.script)
				o.TLSMode = tt.mode
				_, err := backend.Dial(t.Context(), o)
				if err == nil {
					t.Fatal("connected")
				}
				want := tt.is
				if want == nil {
					want = err
				}
				checkDial(t, err, want)
				if !strings.Contains(err.Error(), tt.text) || !strings.Contains(err.Error(), address) {
					t.Errorf("got %q, want %q", err, tt.text)
				}
			}
		})
	}
}

// TestTimeout: a server that says nothing, or nothing more, is waited for as long as was said.
func TestTimeout(t *testing.T) {
	for name, script := range map[string]func(p *peer){
		"no greeting": func(p *peer) { p.drain() },
		"no answer":   func(p *peer) { p.write(greeting(wire.NativePlugin)); p.drain() },
	} {
		o := against(t, 0, script)
		o.ConnectTimeout = 20 * time.Millisecond
		_, err := backend.Dial(t.Context(), o)
		checkDial(t, err, context.DeadlineExceeded)
		if hint := asError(t, err).Hint; (hint != "") != (name == "no greeting") {
			t.Errorf("%s: hint %q", name, hint)
		}
		o.ConnectTimeout = 0
		ctx, cancel := context.WithCancelCause(t.Context())
		stop := errors.New("enough")
		time.AfterFunc(10*time.Millisecond, func() { cancel(stop) })
		_, err = backend.Dial(ctx, o)
		checkDial(t, err, stop)
	}
	o := &backend.Options{Address: address, Connect: func(ctx context.Context, _, _ string) (net.Conn, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}, ConnectTimeout: time.Millisecond}
	_, err := backend.Dial(t.Context(), o)
	checkDial(t, err, context.DeadlineExceeded)
}

// TestNoLoop: a connection that loops cannot wait for is closed, and not one that a task waits for as if it were
// alone.
func TestNoLoop(t *testing.T) {
	ls, err := netloop.Start(1)
	if err != nil {
		t.Fatal(err)
	}
	if ls == nil {
		t.Skip("there are no loops on this system")
	}
	defer ls.Close()
	here, there := net.Pipe()
	defer there.Close()
	o := &backend.Options{Loops: ls, Connect: func(context.Context, string, string) (net.Conn, error) { return here, nil }}
	if _, err := backend.Dial(t.Context(), o); err == nil || asError(t, err).Sent {
		t.Errorf("got %v", err)
	}
	if _, err := there.Read(make([]byte, 1)); !errors.Is(err, io.EOF) {
		t.Errorf("it is not closed: %v", err)
	}
}
