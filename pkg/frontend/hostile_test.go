package frontend_test

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/frontend"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// TestBadLogins: what is no login is refused with the servers' words, and never waited for.
func TestBadLogins(t *testing.T) {
	message := func(payload []byte, seq byte) []byte {
		b, _ := wire.AppendMessage(nil, payload, seq)
		return b
	}
	r := wire.HandshakeResponse{Capabilities: clientCaps, User: "app", AuthPlugin: sha2, AuthResponse: make([]byte, 32)}
	asksTLS := r
	asksTLS.Capabilities |= wire.SSL
	long := r
	long.User = strings.Repeat("x", 70000)
	for _, tt := range []struct {
		name  string
		sends []byte
		stays bool // and does not close
		code  uint16
		want  error
	}{
		{"nothing", nil, false, 0, frontend.ErrProbe},
		{"a part of a header", []byte{1, 0}, false, 0, io.ErrUnexpectedEOF},
		{"half a login", message(r.Append(nil), 1)[:50], false, 0, io.ErrUnexpectedEOF},
		{"HTTP", []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), true, 1156, frontend.ErrProtocol},
		{"TLS at once", []byte("\x16\x03\x01\x00\xC8\x01\x00\x00\xC4\x03\x03"), true, 1156, frontend.ErrProtocol},
		{"zeroes", make([]byte, 100), true, 1156, frontend.ErrProtocol},
		{"empty", message(nil, 1), true, 1043, frontend.ErrProtocol},
		{"4.0", message([]byte("\x05\x00\x00\x00\x00app\x00"), 1), true, 1043, frontend.ErrProtocol},
		{"out of order", message(r.Append(nil), 3), true, 1156, frontend.ErrProtocol},
		{"cut", message(r.Append(nil)[:40], 1), true, 1043, frontend.ErrProtocol},
		{"a request for TLS, not offered", message(asksTLS.AppendSSLRequest(nil), 1), true, 1043, frontend.ErrProtocol},
		{"a login that asks for TLS", message(asksTLS.Append(nil), 1), true, 1043, frontend.ErrProtocol},
		{"too large", message(long.Append(nil), 1), true, 1153, frontend.ErrTooLarge},
		{"a plugin's answer out of order", append(message(r.Append(nil), 1), message([]byte{2}, 2)...), true, 1156, frontend.ErrProtocol},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conn, raw := pair(t, "tcp")
			done := accept(t.Context(), raw, &frontend.Options{Version: "9.7.4", Offer: offer, Auth: &accounts{}, Key: rsaKey(t)})
			c := &client{Conn: conn, t: t}
			c.greeted()
			_, _ = c.Conn.Write(tt.sends)
			if !tt.stays {
				_ = c.Close()
			}
			if tt.code > 0 {
				var e wire.ServerError
				p := c.must()
				if p[0] == 1 { // asked for the password
					p = c.must()
				}
				if err := e.Decode(p); err != nil || e.Code != tt.code {
					t.Errorf("client got %v, %v", &e, err)
				}
				if p, err := c.read(); err == nil {
					t.Errorf("behind it: %q", p)
				}
				_ = c.Close()
			}
			s := <-done
			var told *wire.ServerError
			if !errors.Is(s.err, tt.want) || errors.As(s.err, &told) != (tt.code > 0) {
				t.Errorf("server: %v", s.err)
			}
		})
	}
}

// TestProbe: neither an end nor a reset before the greeting is an error that anybody has to see.
func TestProbe(t *testing.T) {
	for _, network := range []string{"tcp", "unix", "pipe"} {
		conn, raw := pair(t, network)
		if tcp, ok := conn.(*net.TCPConn); ok {
			_ = tcp.SetLinger(0) // a reset
		}
		_ = conn.Close()
		s := <-accept(t.Context(), raw, &frontend.Options{Offer: offer, Auth: &accounts{}})
		if !errors.Is(s.err, frontend.ErrProbe) {
			t.Errorf("%s: %v", network, s.err)
		}
	}
}

// TestPatience: a login takes no longer than it may, wherever it hangs, and ends with its context.
func TestPatience(t *testing.T) {
	r := wire.HandshakeResponse{Capabilities: clientCaps | wire.SSL, User: "app"}
	request, _ := wire.AppendMessage(nil, r.AppendSSLRequest(nil), 1)
	for _, sends := range []string{"", "\x20", string(request[:20]), string(request), string(request) + "\x16\x03\x01"} {
		for _, stop := range []string{"time", "shutdown"} {
			conn, raw := pair(t, "tcp")
			o := &frontend.Options{Version: "9.7.4", Offer: offer, Auth: &accounts{}, TLS: serverTLS(t)}
			ctx, cancel := context.WithCancelCause(t.Context())
			want, code := context.DeadlineExceeded, uint16(1159)
			if stop == "time" {
				o.LoginTimeout = 20 * time.Millisecond
			} else {
				want, code = errors.New("the end"), 1053
			}
			done := accept(ctx, raw, o)
			c := &client{Conn: conn, t: t}
			first := c.must() // the greeting, or the error before it if this machine is busy
			_, _ = io.WriteString(conn, sends)
			if stop != "time" {
				cancel(want)
			}
			if s := <-done; !errors.Is(s.err, want) {
				t.Errorf("%s after %q: %v", stop, sends, s.err)
			}
			var e wire.ServerError
			p, err := first, error(nil)
			if !wire.IsError(first) {
				p, err = c.read()
			}
			if err == nil && (e.Decode(p) != nil || e.Code != code) || err != nil && len(sends) <= 20 {
				t.Errorf("%s after %q: client got %q, %v", stop, sends, p, err)
			}
			cancel(nil)
		}
	}
}

// TestVerifyEnds: a server that does not answer does not hold a login for ever.
func TestVerifyEnds(t *testing.T) {
	conn, raw := pair(t, "tcp")
	done := accept(t.Context(), raw, &frontend.Options{
		Version: "9.7.4", Offer: offer, TLS: serverTLS(t), Auth: stuck{}, LoginTimeout: 200 * time.Millisecond,
	})
	c := &client{Conn: conn, t: t}
	err := c.login(identity{user: "app", password: "secret", tls: clientTLS(t)})
	if s := <-done; !errors.Is(s.err, context.DeadlineExceeded) || err == nil {
		t.Errorf("client: %v, server: %v", err, s.err)
	}
}

// stuck is a server that never answers.
type stuck struct{}

func (stuck) Known(string) (k frontend.Credential, ok bool) { return k, false }

func (stuck) Verify(ctx context.Context, _ *frontend.Login) error {
	<-ctx.Done()
	return ctx.Err()
}

// TestUnverified: that no server can be asked is no wrong password, and says nothing of the servers.
func TestUnverified(t *testing.T) {
	conn, raw := pair(t, "unix")
	down := errors.New("dial 10.0.0.9: refused")
	done := accept(t.Context(), raw, &frontend.Options{Version: "9.7.4", Offer: offer, Auth: &accounts{down: down}})
	c := &client{Conn: conn, t: t}
	err := c.login(identity{user: "app", password: "secret"})
	s := <-done
	if !errors.Is(s.err, down) || !errors.Is(s.err, frontend.ErrUnverified) {
		t.Errorf("server: %v", s.err)
	}
	if err == nil || err.Error() != "error 1105 (HY000): The password cannot be checked now: no server could be asked" {
		t.Errorf("client: %v", err)
	}
}

// TestRequireTLS: who does not encrypt gets in by a socket only.
func TestRequireTLS(t *testing.T) {
	for _, tt := range []struct {
		network string
		tls     bool
		denied  bool
	}{{"tcp", false, true}, {"tcp", true, false}, {"unix", false, false}, {"unix", true, false}} {
		conn, raw := pair(t, tt.network)
		a := &accounts{known: map[string]frontend.Credential{"app": credential("secret")}}
		done := accept(t.Context(), raw, &frontend.Options{
			Version: "9.7.4", Offer: offer, Auth: a, TLS: serverTLS(t), RequireTLS: true,
		})
		c := &client{Conn: conn, t: t}
		id := identity{user: "app", password: "secret"}
		if tt.tls {
			id.tls = clientTLS(t)
		}
		err := c.login(id)
		s := <-done
		if (err != nil) != tt.denied || errors.Is(s.err, frontend.ErrNoTLS) != tt.denied {
			t.Errorf("%s, %v: client: %v, server: %v", tt.network, tt.tls, err, s.err)
		}
		if tt.denied && !strings.HasPrefix(err.Error(), "error 3159 (HY000): Connections using insecure transport") {
			t.Error(err)
		}
	}
}

// TestOldTLS: nothing before 1.2 is spoken, whatever the configuration says.
func TestOldTLS(t *testing.T) {
	for _, tt := range []struct {
		version uint16
		works   bool
	}{{tls.VersionTLS11, false}, {tls.VersionTLS12, true}, {tls.VersionTLS13, true}} {
		conn, raw := pair(t, "tcp")
		config := serverTLS(t)
		config.MinVersion = tls.VersionTLS10
		a := &accounts{known: map[string]frontend.Credential{"app": credential("secret")}}
		done := accept(t.Context(), raw, &frontend.Options{Version: "9.7.4", Offer: offer, Auth: a, TLS: config})
		theirs := clientTLS(t)
		theirs.MinVersion, theirs.MaxVersion = tls.VersionTLS10, tt.version
		c := &client{Conn: conn, t: t}
		err := c.login(identity{user: "app", password: "secret", tls: theirs})
		if s := <-done; (err == nil) != tt.works || (s.err == nil) != tt.works {
			t.Errorf("%s: client: %v, server: %v", tls.VersionName(tt.version), err, s.err)
		}
	}
}

// TestProxied: a header is read from whom it is expected, in pieces too, and from nobody else.
func TestProxied(t *testing.T) {
	const header = "PROXY TCP4 192.0.2.7 198.51.100.1 56324 3306\r\n"
	mine := []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8"), netip.MustParsePrefix("127.0.0.0/8")}
	for _, tt := range []struct {
		name   string
		trusts []netip.Prefix
		header string
		tls    bool
		from   string
		want   error
	}{
		{"header", mine, header, false, "192.0.2.7:56324", nil},
		{"before TLS", mine, header, true, "192.0.2.7:56324", nil},
		{"health check", mine, "\r\n\r\n\x00\r\nQUIT\n\x20\x00\x00\x00", false, "", nil},
		{"none", mine, "", false, "", frontend.ErrProbe},
		{"malformed", mine, "PROXY TCP4 192.0.2.7\r\n", false, "", frontend.ErrProxyHeader},
		{"a part", mine, header[:20], false, "", frontend.ErrProxyHeader},
		{"not trusted", mine[:1], header, false, "", frontend.ErrProtocol},
		{"nobody is", nil, header, false, "", frontend.ErrProtocol},
	} {
		t.Run(tt.name, func(t *testing.T) {
			conn, raw := pair(t, "tcp")
			a := &accounts{known: map[string]frontend.Credential{"app": credential("secret")}}
			done := accept(t.Context(), raw, &frontend.Options{
				Version: "9.7.4", Offer: offer, Auth: a, TLS: serverTLS(t), ProxyProtocol: tt.trusts,
			})
			for i := range len(tt.header) {
				_, _ = conn.Write([]byte(tt.header[i : i+1]))
			}
			if tt.want != nil {
				_ = conn.(*net.TCPConn).CloseWrite()
				if s := <-done; !errors.Is(s.err, tt.want) {
					t.Errorf("server: %v", s.err)
				}
				return
			}
			c := &client{Conn: conn, t: t}
			id := identity{user: "app", password: "secret"}
			if tt.tls {
				id.tls = clientTLS(t)
			}
			err := c.login(id)
			s := <-done
			if err != nil || s.err != nil {
				t.Fatalf("client: %v, server: %v", err, s.err)
			}
			want := tt.from
			if want == "" {
				want = conn.LocalAddr().String()
			}
			if s.Remote().String() != want || s.login.Remote.String() != want {
				t.Errorf("from %v, want %s", s.Remote(), want)
			}
		})
	}
}

// TestProxiedName: the address of the header is the one of the error.
func TestProxiedName(t *testing.T) {
	conn, raw := pair(t, "tcp")
	done := accept(t.Context(), raw, &frontend.Options{
		Version: "9.7.4", Offer: offer, Auth: &accounts{}, ProxyProtocol: []netip.Prefix{netip.MustParsePrefix("0.0.0.0/0")},
	})
	_, _ = io.WriteString(conn, "PROXY TCP6 2001:db8::7 ::1 1 2\r\n")
	c := &client{Conn: conn, t: t}
	err := c.login(identity{user: "app", password: "secret"})
	if err == nil || !strings.Contains(err.Error(), "'app'@'2001:db8::7'") {
		t.Errorf("client: %v", err)
	}
	if s := <-done; s.err == nil || !strings.HasPrefix(s.err.Error(), `log in client [2001:db8::7]:1 as "app": `) {
		t.Errorf("server: %v", s.err)
	}
}

// TestBadFrames: a compressed packet that is not what it says ends the connection, whatever it
// claims to become.
func TestBadFrames(t *testing.T) {
	frame := func(data []byte, seq byte, size int) []byte {
		b := wire.AppendUint24(nil, uint32(len(data)))
		b = wire.AppendUint24(append(b, seq), uint32(size))
		return append(b, data...)
	}
	for _, zstd := range []bool{false, true} {
		tr := transport{network: "tcp", caps: wire.Compress}
		if zstd {
			tr.caps = wire.ZstdCompression
		}
		packer := &frames{t: t, zstd: zstd}
		command, _ := wire.AppendMessage(nil, append([]byte{3}, filled(1000)...), 0)
		packed := packer.pack(command)
		broken := bytes.Clone(packed)
		broken[len(broken)/2] ^= 0xFF
		for _, tt := range []struct {
			name string
			sent []byte
			code uint16
		}{
			{"noise", frame(bytes.Repeat([]byte("noise"), 50), 0, 1000), 1157},
			{"shorter than it says", frame(packed, 0, len(command)+1), 1157},
			{"longer than it says", frame(packed, 0, len(command)-1), 1157},
			{"bomb", frame(packer.pack(make([]byte, 20<<20)), 0, 100), 1157},
			{"claims all", frame(packed, 0, wire.MaxPayload), 1157},
			{"cut", frame(packed[:len(packed)-20], 0, len(command)), 1157},
			{"broken", frame(broken, 0, len(command)), 1157},
			{"nothing that was packed", frame(nil, 0, 10), 1157},
			{"out of order", frame(packed, 9, len(command)), 1156},
		} {
			t.Run(fmt.Sprintf("%s, zstd %v", tt.name, zstd), func(t *testing.T) {
				c, s := tr.loggedIn(t, &frontend.Options{})
				f := c.Conn.(*frames)
				go func() { _, _ = f.Conn.Write(tt.sent) }()
				failed := make(chan error, 1)
				go func() {
					_, err := s.ReadCommand()
					failed <- err
				}()
				f.seq = tt.sent[3] + 1
				c.seq = f.seq
				var e wire.ServerError
				if err := e.Decode(c.must()); err != nil || e.Code != tt.code {
					t.Errorf("client got %v, %v", &e, err)
				}
				_ = f.Close()
				if err := <-failed; !errors.Is(err, frontend.ErrProtocol) {
					t.Errorf("server: %v", err)
				}
			})
		}
	}
}
