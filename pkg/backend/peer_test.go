package backend_test

import (
	"context"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mysqlrw/mysqlrw/pkg/backend"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	serverCaps = wire.LongPassword | wire.LongFlag | wire.ConnectWithDB | wire.Protocol41 | wire.Transactions |
		wire.SecureConnection | wire.PluginAuth | wire.PluginAuthLenEnc | wire.ConnectAttrs |
		wire.SessionTrack | wire.DeprecateEOF | wire.MultiStatements | wire.MultiResults | wire.QueryAttributes
	address = "db.example:3306"
	nonce   = "abcdefghijklmnopqrst"
)

// peer is the server's side of a connection, led by a script.
type peer struct {
	net.Conn
	t   testing.TB
	buf []byte
	seq byte
}

// read returns the client's next message, or nil if it went away.
func (p *peer) read() []byte {
	for {
		payload, seq, n, err := wire.Split(p.buf)
		if err != nil {
			p.t.Errorf("client sent: %v", err)
			return nil
		}
		if n > 0 {
			p.buf, p.seq = p.buf[n:], seq+1
			return payload
		}
		b := make([]byte, 4096)
		got, err := p.Read(b)
		if err != nil {
			return nil
		}
		p.buf = append(p.buf, b[:got]...)
	}
}

// write sends payloads in one write.
func (p *peer) write(payloads ...[]byte) {
	var out []byte
	for _, payload := range payloads {
		out, p.seq = wire.AppendMessage(out, payload, p.seq)
	}
	_, _ = p.Write(out)
}

func greeting(plugin string, more ...func(*wire.Greeting)) []byte {
	g := wire.Greeting{
		Version: "9.7.4", ThreadID: 7, AuthData: []byte(nonce), Capabilities: serverCaps,
		Charset: 255, Status: wire.Autocommit, AuthPlugin: plugin,
	}
	for _, change := range more {
		change(&g)
	}
	return g.Append(nil)
}

func okay(status wire.Status) []byte { return (&wire.OK{Status: status}).Append(nil, serverCaps) }

func refusal(code uint16, text string) []byte {
	return (&wire.ServerError{Code: code, State: "HY000", Message: text}).Append(nil)
}

// login lets anybody in and returns what the client said.
func (p *peer) login(plugin string) wire.HandshakeResponse {
	p.write(greeting(plugin))
	var r wire.HandshakeResponse
	if b := p.read(); b != nil {
		if err := r.Decode(b); err != nil {
			p.t.Error(err)
		}
	}
	p.write(okay(wire.Autocommit))
	return r
}

// slow reads a few bytes at a time.
type slow struct {
	net.Conn
	piece int
}

func (s slow) Read(b []byte) (int, error) { return s.Conn.Read(b[:min(s.piece, len(b))]) }

// against returns options that connect to a server of this script, which is waited for when the
// test ends.
func against(t testing.TB, piece int, script func(p *peer)) *backend.Options {
	t.Helper()
	var wait sync.WaitGroup
	t.Cleanup(wait.Wait)
	return &backend.Options{
		Address: address, User: "app", Password: "secret",
		Connect: func(context.Context, string, string) (net.Conn, error) {
			client, server := net.Pipe()
			_ = server.SetDeadline(time.Now().Add(10 * time.Second))
			wait.Go(func() {
				defer server.Close()
				script(&peer{Conn: server, t: t})
			})
			if piece > 0 {
				return slow{client, piece}, nil
			}
			return client, nil
		},
	}
}

// dial connects, and closes when the test ends.
func dial(t testing.TB, o *backend.Options) *backend.Conn {
	t.Helper()
	c, err := backend.Dial(t.Context(), o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// asError returns err as the package's own.
func asError(t testing.TB, err error) *backend.Error {
	t.Helper()
	var e *backend.Error
	if !errors.As(err, &e) {
		t.Fatalf("got %v, want a *backend.Error", err)
	}
	return e
}

// drain reads until the client goes away.
func (p *peer) drain() { _, _ = io.Copy(io.Discard, p) }
