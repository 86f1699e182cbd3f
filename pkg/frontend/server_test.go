package frontend_test

import (
	"net"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/frontend"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// TestAsServers: what breaks the protocol is refused with the error that a real server has for it.
func TestAsServers(t *testing.T) {
	message := func(payload []byte, seq byte) []byte {
		b, _ := wire.AppendMessage(nil, payload, seq)
		return b
	}
	r := wire.HandshakeResponse{Capabilities: clientCaps, User: "app", AuthPlugin: sha2, AuthResponse: make([]byte, 32)}
	wrong := wire.ChangeUser{User: "app", AuthPlugin: native}
	tests := []struct {
		name     string
		loggedIn bool
		send     []byte
	}{
		{"HTTP", false, []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n")},
		{"TLS at once", false, []byte("\x16\x03\x01\x00\xC8\x01\x00\x00\xC4\x03\x03")},
		{"zeroes", false, make([]byte, 100)},
		{"nothing in it", false, message(nil, 1)},
		{"login out of order", false, message(r.Append(nil), 3)},
		{"login cut", false, message(r.Append(nil)[:40], 1)},
		{"plugin out of order", false, append(message(r.Append(nil), 1), message([]byte{2}, 2)...)},
		{"too large", true, message(append([]byte{3}, filled(1<<20)...), 0)},
		{"out of order", true, message([]byte{14}, 4)},
		{"change of user cut", true, message([]byte{17, 'a', 0, 20, 1}, 0)},
		{"change of user, wrong", true, message(wrong.Append(nil, clientCaps), 0)},
	}
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		cluster := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: -1, PrimaryArgs: []string{"--max-allowed-packet=1M"}})
		s := cluster.Primary()
		sandboxtest.Exec(t, s, "CREATE USER app IDENTIFIED BY 'secret'")
		ours := newServer(t, frontend.Options{MaxPacket: 1 << 20})
		ours.quiet = true
		for _, tt := range tests {
			want := refused(t, s.Address(), tt.loggedIn, tt.send)
			got := refused(t, ours.address, tt.loggedIn, tt.send)
			if *got != *want {
				t.Errorf("%s: got %v, want %v", tt.name, got, want)
			}
		}
	})
}

// refused sends something after the greeting, or after a login, and returns the error that comes. What is
// asked for in between is answered by a wrong password, if it is to log in.
func refused(t *testing.T, address string, loggedIn bool, send []byte) *wire.ServerError {
	t.Helper()
	conn, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetDeadline(time.Now().Add(20 * time.Second))
	c := &client{Conn: conn, t: t}
	if loggedIn {
		if err := c.login(identity{user: "app", password: "secret"}); err != nil {
			t.Fatal(err)
		}
	} else {
		c.greeted()
	}
	c.anyNumber = true
	go func() { _, _ = conn.Write(send) }() // more than the server reads, in one case
	for {
		p, err := c.read()
		switch {
		case err != nil:
			t.Fatalf("%.20q: %v", send, err)
		case wire.IsError(p):
			e := &wire.ServerError{}
			if err := e.Decode(p); err != nil {
				t.Fatal(err)
			}
			return e
		case p[0] == 0xFE && loggedIn:
			c.send(make([]byte, 20))
		}
	}
}
