package proxy_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"log/slog"
	"net/netip"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

const (
	hostileUser   = "app"
	hostileSecret = "Tr0ub4dor-hostile" //nolint:gosec // of a server that lives for this test
	wrongSecret   = "Wr0ng-guess-hostile"
)

// TestHostile: bad input gets a clear error or an end, and nobody else notices it.
func TestHostile(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 1})
		sandboxtest.Exec(t, c.Primary(), "CREATE DATABASE bad", "CREATE TABLE bad.t (id INT)",
			"CREATE USER "+hostileUser+"@'%' IDENTIFIED BY '"+hostileSecret+"'", "GRANT ALL ON bad.* TO "+hostileUser+"@'%'")
		if err := c.WaitReplicated(t.Context()); err != nil {
			t.Fatal(err)
		}
		h := &hostile{c: c, log: &syncBuffer{}}
		o := options(t, c)
		o.LoginTimeout, o.MaxPacket = 5*time.Second, 1<<20
		o.Log = slog.New(slog.NewTextHandler(h.log, &slog.HandlerOptions{Level: slog.LevelDebug}))
		trusted, untrusted := o.Listeners[0], o.Listeners[0]
		trusted.ProxyProtocol = []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}
		untrusted.ProxyProtocol = []netip.Prefix{netip.MustParsePrefix("192.0.2.0/24")}
		o.Listeners = append(o.Listeners, trusted, untrusted)
		h.r = start(t, c, o)
		h.trusted, h.untrusted = h.r.proxy.Addresses()[1].String(), h.r.proxy.Addresses()[2].String()
		bystander := newBystander(t, h.r)
		t.Run("before the login", h.beforeLogin)
		t.Run("wrong passwords", h.wrongPasswords)
		t.Run("slow logins", h.slowLogins)
		t.Run("PROXY header", h.proxyHeader)
		t.Run("packets", h.packets)
		t.Run("commands", h.commands)
		t.Run("no reader", h.noReader)
		bystander.end()
		sandboxtest.Await(t, "everybody is gone", func() bool { return h.r.proxy.Sessions() == 0 })
		h.noSecrets(t, c.Primary().Password, hostileSecret, wrongSecret)
	})
}

// syncBuffer takes in a log.
type syncBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (s *syncBuffer) Write(b []byte) (int, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.Write(b)
}

func (s *syncBuffer) String() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.b.String()
}

type hostile struct {
	c                  *sandbox.Cluster
	r                  *running
	log                *syncBuffer
	trusted, untrusted string
}

// noSecrets looks through the log. It must hold something, else it was not looked at.
func (h *hostile) noSecrets(t *testing.T, secrets ...string) {
	t.Helper()
	text := h.log.String()
	if !strings.Contains(text, "primary-changed") || !strings.Contains(text, "login failed") {
		t.Error("the log does not have what it must")
	}
	for _, secret := range secrets {
		if at := strings.Index(text, secret); at >= 0 {
			t.Errorf("a password is in the log: %.200s", text[max(0, at-100):])
		}
	}
	if strings.Contains(text, "panic") {
		t.Errorf("a panic:\n%s", text)
	}
}

// bystander is a client that must not notice anything.
type bystander struct {
	t    *testing.T
	db   *sql.DB
	conn *sql.Conn
	stop atomic.Bool
	wait sync.WaitGroup
	n    int
}

func newBystander(t *testing.T, r *running) *bystander {
	b := &bystander{t: t, db: r.open(nil)}
	var err error
	if b.conn, err = b.db.Conn(t.Context()); err != nil {
		t.Fatal(err)
	}
	exec(t, b.conn, "SET @mine = 7")
	b.wait.Go(func() {
		for ; !b.stop.Load(); b.n++ {
			ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
			var v string
			err := b.conn.QueryRowContext(ctx, "SELECT @mine").Scan(&v)
			if _, e := b.conn.ExecContext(ctx, "DELETE FROM bad.t"); err == nil {
				err = e
			}
			cancel()
			if err != nil || v != "7" {
				t.Errorf("the bystander got %q, %v", v, err)
				return
			}
		}
	})
	t.Cleanup(b.end)
	return b
}

func (b *bystander) end() {
	b.stop.Store(true)
	b.wait.Wait()
	_ = b.conn.Close()
	_ = b.db.Close()
}

// login must work at any time.
func (h *hostile) login(t *testing.T) *bareClient {
	t.Helper()
	c, err := loginBare(t, h.r.address, hostileUser, hostileSecret)
	if err != nil {
		t.Fatalf("login: %v", err)
	}
	return c
}

// beforeLogin: what is no login is refused, at the latest when its time is over.
func (h *hostile) beforeLogin(t *testing.T) {
	header := func(n int, seq byte) []byte {
		var b [4]byte
		wire.PutHeader(b[:], n, seq)
		return b[:]
	}
	for _, tt := range []struct {
		name string
		send []byte
		code uint16 // 0: nothing need be said
	}{
		{"nothing", nil, 1159},
		{"HTTP", []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), 0},
		{"TLS", []byte("\x16\x03\x01\x02\x00\x01\x00\x01\xfc\x03\x03" + strings.Repeat("\x00", 500)), 0},
		{"zeroes", make([]byte, 1000), 0},
		{"ones", bytes.Repeat([]byte{0xFF}, 1000), 0},
		{"empty packet", header(0, 1), 1043},
		{"one byte", append(header(1, 1), 0), 1043},
		{"half a header", []byte{40, 0}, 1159},
		{"half a packet", append(header(100, 1), "half"...), 1159},
		{"too long", append(header(0xFFFFFF, 1), make([]byte, 100)...), 1153},
		{"out of order", append(header(10, 7), make([]byte, 10)...), 1156},
		{"a command", append(header(9, 1), "\x03SELECT 1"...), 1043},
		{"protocol of 4.0", append(header(9, 1), "\x05\x00\x00\x00\x00app\x00"...), 1043},
		{"no end of the name", append(header(40, 1), append([]byte{0x05, 0xa2, 0, 0}, bytes.Repeat([]byte{'a'}, 36)...)...), 1043},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel() // some take as long as a login may
			c := dialBare(t, h.r.address)
			if _, err := c.greeting(); err != nil {
				t.Fatal(err)
			}
			_ = c.write(tt.send)
			_, err := c.reply()
			if tt.code != 0 && refusedWith(err) != tt.code {
				t.Errorf("answered %v", err)
			}
			if !c.closed() {
				t.Error("still connected")
			}
		})
	}
	t.Run("TLS that is none", func(t *testing.T) {
		c := dialBare(t, h.r.address)
		if _, err := c.greeting(); err != nil {
			t.Fatal(err)
		}
		r := wire.HandshakeResponse{Capabilities: bareCaps | wire.SSL, MaxPacket: 1 << 24, Charset: wire.CharsetUTF8MB4}
		_ = c.send(r.AppendSSLRequest(nil))
		_ = c.write([]byte("this is not TLS at all, is it?"))
		if !c.closed() {
			t.Error("still connected")
		}
	})
}

// wrongPasswords get what the server says, however many there are.
func (h *hostile) wrongPasswords(t *testing.T) {
	for _, tt := range []struct{ user, password string }{{hostileUser, wrongSecret}, {hostileUser, ""}, {"nobody", wrongSecret}, {"nobody", ""}} {
		_, direct := loginBare(t, h.c.Primary().Address(), tt.user, tt.password)
		for range 2 {
			_, err := loginBare(t, h.r.address, tt.user, tt.password)
			if refusedWith(err) != 1045 || err.Error() != direct.Error() {
				t.Errorf("%s: got %v, want %v", tt.user, err, direct)
			}
		}
	}
	var wait sync.WaitGroup
	for i := range 8 {
		wait.Go(func() {
			for n := range 40 {
				if _, err := loginBare(t, h.r.address, hostileUser, fmt.Sprintf("%s-%d-%d", wrongSecret, i, n)); refusedWith(err) != 1045 {
					t.Errorf("guess: %v", err)
					return
				}
			}
		})
	}
	for range 10 {
		mustAnswer(t, h.login(t))
	}
	wait.Wait()
	mustAnswer(t, h.login(t))
}

// slowLogins: more clients than may log in at a time say nothing, or a byte now and then. Who wants to
// log in comes in when their time is over.
func (h *hostile) slowLogins(t *testing.T) {
	var slow []*bareClient
	for i := range 300 {
		c := dialBare(t, h.r.address)
		if i%2 == 0 {
			_ = c.write([]byte{100, 0, 0, 1, 'a', 'b'}[:1+i%6])
		}
		slow = append(slow, c)
	}
	mustAnswer(t, h.login(t))
	for _, c := range slow {
		_, _ = c.greeting()
		if !c.closed() {
			t.Fatal("a slow client is still connected")
		}
	}
}

// noReader: a client that sends without an end and reads nothing costs nobody but itself.
func (h *hostile) noReader(t *testing.T) {
	c := h.login(t)
	query := append([]byte{wire.HeaderSize: byte(wire.ComQuery)}, "SELECT REPEAT('x', 500000)"...)
	wire.PutHeader(query, len(query)-wire.HeaderSize, 0)
	queries := bytes.Repeat(query, 10_000)
	c.limit = 2 * time.Second
	for range 1000 {
		if err := c.write(queries); err != nil {
			break // its time is over: neither side reads
		}
	}
	for range 20 {
		mustAnswer(t, h.login(t))
	}
	before := h.r.proxy.Sessions()
	_ = c.conn.Close()
	sandboxtest.Await(t, "the session has ended", func() bool { return h.r.proxy.Sessions() < before })
}

// proxyHeader: the address of a trusted one counts, and only there.
func (h *hostile) proxyHeader(t *testing.T) {
	v2 := func(command, family byte, rest ...byte) string {
		return "\r\n\r\n\x00\r\nQUIT\n" + string([]byte{command, family, 0, byte(len(rest))}) + string(rest)
	}
	four := []byte{203, 0, 113, 9, 127, 0, 0, 1, 0x30, 0x39, 0x0C, 0xEA}
	for _, tt := range []struct {
		name, header, from string // from is "" if there must be no greeting
	}{
		{"v1", "PROXY TCP4 203.0.113.7 127.0.0.1 40000 3306\r\n", "203.0.113.7"},
		{"v1 of IPv6", "PROXY TCP6 2001:db8::1 ::1 40000 3306\r\n", "2001:db8::1"},
		{"v1 unknown", "PROXY UNKNOWN\r\n", "127.0.0.1"},
		{"v2", v2(0x21, 0x11, four...), "203.0.113.9"},
		{"v2 local", v2(0x20, 0), "127.0.0.1"},
		{"v1 without an address", "PROXY TCP4 x y 1 2\r\n", ""},
		{"v1 without an end", "PROXY TCP4 " + strings.Repeat("1", 200), ""},
		{"v2 too short", v2(0x21, 0x11, four[:7]...), ""},
		{"v2 of version 3", v2(0x31, 0x11, four...), ""},
		{"none", "\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00\x00", ""},
		{"half", "PROX", ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			c := dialBare(t, h.trusted)
			_ = c.write([]byte(tt.header))
			g, err := c.greeting()
			if tt.from == "" {
				if err == nil || refusedWith(err) == 1045 || !c.closed() {
					t.Errorf("a wrong header: greeting %v, %v", g, err)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if err := c.login(g, hostileUser, wrongSecret); refusedWith(err) != 1045 {
				t.Errorf("a wrong password: %v", err)
			}
			sandboxtest.Await(t, "the log knows "+tt.from, func() bool { return strings.Contains(h.log.String(), tt.from) })
			c = dialBare(t, h.trusted)
			_ = c.write([]byte(tt.header))
			if g, err = c.greeting(); err != nil {
				t.Fatal(err)
			}
			if err := c.login(g, hostileUser, hostileSecret); err != nil {
				t.Fatal(err)
			}
			mustAnswer(t, c)
		})
	}
	t.Run("from elsewhere", func(t *testing.T) {
		c := dialBare(t, h.untrusted)
		if _, err := c.greeting(); err != nil {
			t.Fatal(err)
		}
		_ = c.write([]byte("PROXY TCP4 203.0.113.8 127.0.0.1 40000 3306\r\n"))
		if !c.closed() {
			t.Error("still connected")
		}
		if strings.Contains(h.log.String(), "203.0.113.8") {
			t.Error("the header was believed")
		}
		c, err := loginBare(t, h.untrusted, hostileUser, hostileSecret)
		if err != nil {
			t.Fatal(err)
		}
		mustAnswer(t, c)
	})
}
