package frontend_test

import (
	"context"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io"
	"net"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/frontend"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// offer is what a proxy offers, and clientCaps what a client of these tests asks for.
const (
	offer = wire.LongPassword | wire.FoundRows | wire.LongFlag | wire.ConnectWithDB | wire.LocalFiles | wire.Compress |
		wire.Protocol41 | wire.Transactions | wire.MultiStatements | wire.MultiResults | wire.PSMultiResults |
		wire.ConnectAttrs | wire.SessionTrack | wire.DeprecateEOF | wire.ZstdCompression | wire.QueryAttributes |
		wire.MultiFactor
	clientCaps = wire.LongPassword | wire.Protocol41 | wire.Transactions | wire.SecureConnection | wire.PluginAuth |
		wire.PluginAuthLenEnc | wire.ConnectAttrs | wire.DeprecateEOF
)

// shared makes the certificate of all tests once: its key takes a while.
var shared = sync.OnceValues(frontend.SelfSigned)

func certificate(t testing.TB) tls.Certificate {
	t.Helper()
	cert, err := shared()
	if err != nil {
		t.Fatal(err)
	}
	return cert
}

func rsaKey(t testing.TB) *rsa.PrivateKey { return certificate(t).PrivateKey.(*rsa.PrivateKey) }

func serverTLS(t testing.TB) *tls.Config {
	return &tls.Config{Certificates: []tls.Certificate{certificate(t)}}
}

func clientTLS(t testing.TB) *tls.Config {
	t.Helper()
	leaf, err := x509.ParseCertificate(certificate(t).Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{InsecureSkipVerify: true, VerifyConnection: func(s tls.ConnectionState) error {
		if !s.PeerCertificates[0].Equal(leaf) {
			return errors.New("another certificate")
		}
		return nil
	}}
}

// accounts are a server's, with what the proxy knows of them.
type accounts struct {
	mu        sync.Mutex
	passwords map[string]string
	known     map[string]frontend.Credential
	down      error    // why no server can be asked
	asked     []string // users that were verified
	logins    []string // what the clients' logins were like, written by who likes to
}

func credential(password string) frontend.Credential {
	return frontend.Credential{
		Native: wire.HashNative([]byte(password)), SHA2: wire.HashSHA2([]byte(password)), Empty: password == "",
	}
}

func (a *accounts) Known(user string) (frontend.Credential, bool) {
	a.mu.Lock()
	defer a.mu.Unlock()
	k, ok := a.known[user]
	return k, ok
}

func (a *accounts) Verify(_ context.Context, l *frontend.Login) error {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.asked = append(a.asked, l.User)
	if a.down != nil {
		return a.down
	}
	if password, ok := a.passwords[l.User]; !ok || password != string(l.Password) || !l.Full {
		return &wire.ServerError{Code: 1045, State: "28000", Message: "Access denied by the server"}
	}
	if a.known == nil {
		a.known = map[string]frontend.Credential{}
	}
	a.known[l.User] = credential(string(l.Password))
	return nil
}

// pair returns two ends of a connection over a network, "tcp", "unix" or "pipe".
func pair(t testing.TB, network string) (client, server net.Conn) {
	t.Helper()
	if network == "pipe" {
		client, server = net.Pipe()
	} else {
		address := "127.0.0.1:0"
		if network == "unix" {
			address = filepath.Join(t.TempDir(), "s")
		}
		l, err := net.Listen(network, address)
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		if client, err = net.Dial(network, l.Addr().String()); err != nil {
			t.Fatal(err)
		}
		if server, err = l.Accept(); err != nil {
			t.Fatal(err)
		}
	}
	t.Cleanup(func() {
		_ = client.Close()
		_ = server.Close()
	})
	_ = client.SetDeadline(time.Now().Add(time.Minute))
	return client, server
}

// accepted is what Accept returned.
type accepted struct {
	*frontend.Conn
	login *frontend.Login
	err   error
}

// accept runs Accept, and answers a login that it took with OK.
func accept(ctx context.Context, raw net.Conn, o *frontend.Options) <-chan accepted {
	done := make(chan accepted, 1)
	go func() {
		var a accepted
		if a.Conn, a.login, a.err = frontend.Accept(ctx, raw, o); a.err == nil {
			a.err = a.WriteOK(&wire.OK{Status: wire.Autocommit})
		}
		done <- a
	}()
	return done
}

// client is a scripted one.
type client struct {
	net.Conn
	t     testing.TB
	buf   []byte
	seq   byte
	caps  wire.Capability
	nonce []byte
	path  []string // what the server said in the login

	scratch   []byte
	anyNumber bool // packets are not counted
}

// read returns the next message, or an error of the transport.
func (c *client) read() ([]byte, error) {
	if c.scratch == nil {
		c.scratch = make([]byte, 64<<10)
	}
	b := c.scratch
	for {
		p, seq, n, err := wire.Split(c.buf)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			if seq < c.seq && !c.anyNumber { // the last of a message may have a larger one
				c.t.Errorf("packet %d has number %d", c.seq, seq)
			}
			c.buf, c.seq = c.buf[n:], seq+1
			return p, nil
		}
		got, err := c.Read(b)
		c.buf = append(c.buf, b[:got]...)
		if got == 0 && err != nil {
			return nil, err
		}
	}
}

func (c *client) must() []byte {
	c.t.Helper()
	p, err := c.read()
	if err != nil {
		c.t.Fatal(err)
	}
	return p
}

func (c *client) send(payload []byte) {
	out, next := wire.AppendMessage(nil, payload, c.seq)
	c.seq = next
	_, _ = c.Write(out) // the server may have closed; reading tells
}

// command sends a command.
func (c *client) command(payload []byte) {
	c.seq = 0
	c.send(payload)
}

// identity is how a client logs in.
type identity struct {
	user, password, database string
	plugin                   string // that it likes; "" is the greeting's
	caps                     wire.Capability
	tls                      *tls.Config
	knows                    func(plugin string) bool // nil: every one
	plain                    bool                     // it sends its password in full however the connection is
	level                    uint8
}

func (c *client) respond(plugin, password string) []byte {
	switch plugin {
	case wire.NativePlugin:
		return wire.NativeResponse([]byte(password), c.nonce)
	case wire.SHA2Plugin:
		return wire.SHA2Response([]byte(password), c.nonce)
	case wire.ClearPlugin:
		return wire.ClearResponse([]byte(password))
	}
	return nil
}

// greeted reads the greeting.
func (c *client) greeted() (g wire.Greeting) {
	c.t.Helper()
	if err := g.Decode(c.must()); err != nil {
		c.t.Fatal(err)
	}
	c.nonce = append([]byte{}, g.AuthData...)
	return g
}

// login logs in, and returns the error of a server that refuses, or of a transport that ends.
func (c *client) login(id identity) error {
	c.t.Helper()
	g := c.greeted()
	plugin := id.plugin
	if plugin == "" {
		plugin = g.AuthPlugin
	}
	c.caps = (clientCaps | id.caps) & (g.Capabilities | wire.LongPassword)
	if id.caps == wire.Protocol41 { // an old one
		c.caps = wire.LongPassword | wire.Protocol41 | wire.SecureConnection
		plugin = wire.NativePlugin
	}
	r := wire.HandshakeResponse{
		Capabilities: c.caps, MaxPacket: 1 << 30, Charset: wire.CharsetUTF8MB4, User: id.user, Database: id.database,
		AuthPlugin: plugin, Attributes: wire.AppendAttribute(nil, "program_name", "test"), ZstdLevel: id.level,
	}
	if id.database != "" {
		r.Capabilities |= wire.ConnectWithDB
	}
	if id.tls != nil {
		r.Capabilities |= wire.SSL
		c.send(r.AppendSSLRequest(nil))
		c.Conn = tls.Client(c.Conn, id.tls)
	}
	if plugin == g.AuthPlugin || plugin == wire.ClearPlugin || !c.caps.Has(wire.PluginAuth) {
		r.AuthResponse = c.respond(plugin, id.password)
	}
	c.send(r.Append(nil))
	return c.authenticate(id)
}

// authenticate does what the server asks for.
func (c *client) authenticate(id identity) error {
	for {
		p, err := c.read()
		switch {
		case err != nil:
			return err
		case wire.IsError(p):
			e := &wire.ServerError{}
			if err := e.Decode(p); err != nil {
				return err
			}
			return e
		case p[0] == 0:
			c.path = append(c.path, "ok")
			return nil
		case p[0] == 0xFE:
			var s wire.AuthSwitch
			if err := s.Decode(p); err != nil {
				return err
			}
			c.path = append(c.path, "switch "+s.Plugin)
			if id.knows != nil && !id.knows(s.Plugin) {
				_ = c.Close()
				return io.EOF
			}
			c.nonce = append([]byte{}, s.Data...)
			c.send(c.respond(s.Plugin, id.password))
		case p[0] == 1 && len(p) == 2 && p[1] == wire.SHA2FastOK:
			c.path = append(c.path, "fast")
		case p[0] == 1 && len(p) == 2 && p[1] == wire.SHA2FullAuth:
			c.path = append(c.path, "full")
			_, encrypted := c.Conn.(*tls.Conn)
			if encrypted || id.plain || c.RemoteAddr().Network() == "unix" {
				c.send(wire.ClearResponse([]byte(id.password)))
			} else {
				c.send([]byte{wire.SHA2RequestKey})
			}
		case p[0] == 1:
			c.path = append(c.path, "key")
			key, err := wire.ParsePublicKey(p[1:])
			if err != nil {
				return err
			}
			secret, err := wire.EncryptPassword([]byte(id.password), c.nonce, key)
			if err != nil {
				return err
			}
			c.send(secret)
		}
	}
}
