package backend_test

import (
	"bytes"
	"context"
	"net"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/backend"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// memory is a server that says what it has to say without looking at what it is told.
type memory struct {
	net.Conn     // nil: nothing else is called
	left         []byte
	again        []byte // said anew for each write, if not nil
	piece, wrote int
}

func (m *memory) Read(b []byte) (int, error) {
	if len(m.left) == 0 {
		return 0, net.ErrClosed
	}
	if m.piece > 0 {
		b = b[:min(m.piece, len(b))]
	}
	n := copy(b, m.left)
	m.left = m.left[n:]
	return n, nil
}

func (m *memory) Write(b []byte) (int, error) {
	m.wrote += len(b)
	if m.again != nil {
		m.left = m.again
	}
	return len(b), nil
}

func (*memory) SetDeadline(time.Time) error { return nil }
func (*memory) Close() error                { return nil }

func (m *memory) options() *backend.Options {
	return &backend.Options{
		Address: address, User: "app", Password: "secret",
		Connect: func(context.Context, string, string) (net.Conn, error) { return m, nil },
	}
}

// packets puts payloads into packets from number 0 on.
func packets(seq byte, payloads ...[]byte) []byte {
	var out []byte
	for _, p := range payloads {
		out, seq = wire.AppendMessage(out, p, seq)
	}
	return out
}

// FuzzServer lets a server say anything: in the login, and to three commands. Nothing panics, and
// nothing waits for ever.
func FuzzServer(f *testing.F) {
	login := packets(0, greeting(wire.SHA2Plugin))
	in := append(bytes.Clone(login), packets(2, okay(wire.Autocommit))...)
	for _, seed := range [][]byte{
		nil, login, in, []byte("SSH-2.0-OpenSSH_9.7\r\n"),
		packets(0, refusal(1040, "Too many connections")),
		append(bytes.Clone(login), packets(2, []byte{1, 3}, okay(0))...),
		append(bytes.Clone(login), packets(2, []byte{1, 4})...),
		append(bytes.Clone(login), packets(2, (&wire.AuthSwitch{Plugin: wire.NativePlugin, Data: []byte(nonce)}).Append(nil))...),
		append(bytes.Clone(in), packets(1, rows(2, 0, []string{"a", "NULL"})...)...),
		append(bytes.Clone(in), packets(1, rows(1, wire.MoreResults, []string{"a"})...)...),
		append(bytes.Clone(in), packets(1, refusal(1064, "You have an error"))...),
	} {
		f.Add(seed, uint8(0))
		f.Add(seed, uint8(1))
	}
	f.Fuzz(func(t *testing.T, said []byte, piece uint8) {
		m := &memory{left: said, piece: int(piece)}
		c, err := backend.Dial(t.Context(), m.options())
		if err != nil {
			if c != nil || asError(t, err).Sent {
				t.Fatalf("failed and did not: %v", err)
			}
			return
		}
		r, err := c.Query(t.Context(), "SELECT 1")
		if (r == nil) == (err == nil) {
			t.Fatalf("result %v and error %v", r, err)
		}
		if r != nil {
			for _, row := range r.Rows {
				if len(row) != len(r.Columns) {
					t.Fatalf("row of %d values, %d columns", len(row), len(r.Columns))
				}
			}
		}
		_, err = c.ExecAll(t.Context(), "SET a = 1", "SET b = 2")
		if err != nil && c.Err() == nil {
			t.Fatalf("usable after %v", err)
		}
		_ = c.ChangeUser(t.Context(), "app", "secret", "")
	})
}

// pointSelect is a short query and what the server says to it.
func pointSelect() (query, answer []byte) {
	query = packets(0, wire.AppendQuery(nil, "SELECT c FROM t WHERE id = 1", serverCaps))
	return query, packets(1, rows(1, wire.Autocommit, []string{"some 20 bytes of text"})...)
}

// TestNoAllocation: the way that a relay goes.
func TestNoAllocation(t *testing.T) {
	query, answer := pointSelect()
	m := &memory{left: packets(0, greeting(wire.NativePlugin)), again: packets(2, okay(0))}
	c := dial(t, m.options())
	m.again = answer
	out := make([]byte, 0, len(answer))
	var a wire.Answer
	got := testing.AllocsPerRun(100, func() { out = relayInto(t, c, &a, query, out[:0]) })
	if got != 0 || !bytes.Equal(out, answer) {
		t.Errorf("%v allocations, %d bytes", got, len(out))
	}
}

// relayInto is relay without allocating.
func relayInto(tb testing.TB, c *backend.Conn, a *wire.Answer, query, out []byte) []byte {
	if err := c.Write(query); err != nil {
		tb.Fatal(err)
	}
	a.Start(wire.ComQuery, c.Capabilities())
	for !a.Done() {
		n, step, err := a.Next(c.Peek())
		if err == nil && step == wire.StepMore {
			_, err = c.Fill(a.Need())
		}
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, c.Peek()[:n]...)
		c.Advance(n)
	}
	c.Release()
	return out
}

// BenchmarkRoundTrip is a point select over loopback, with a server that only answers, and without
// any, which leaves what this package costs.
func BenchmarkRoundTrip(b *testing.B) {
	query, answer := pointSelect()
	run := func(b *testing.B, c *backend.Conn) {
		var a wire.Answer
		var out []byte
		b.ReportAllocs()
		for b.Loop() {
			out = relayInto(b, c, &a, query, out[:0])
		}
	}
	b.Run("memory", func(b *testing.B) {
		m := &memory{left: packets(0, greeting(wire.NativePlugin)), again: packets(2, okay(0))}
		c := dial(b, m.options())
		m.again = answer
		run(b, c)
	})
	b.Run("loopback", func(b *testing.B) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			b.Fatal(err)
		}
		defer l.Close()
		done := make(chan struct{})
		go func() {
			defer close(done)
			conn, err := l.Accept()
			if err != nil {
				return
			}
			defer conn.Close()
			p := &peer{Conn: conn, t: b}
			p.login(wire.NativePlugin)
			buf := make([]byte, 1024)
			for {
				if _, err := conn.Read(buf); err != nil {
					return
				}
				if _, err := conn.Write(answer); err != nil {
					return
				}
			}
		}()
		c, err := backend.Dial(b.Context(), &backend.Options{Address: l.Addr().String()})
		if err != nil {
			b.Fatal(err)
		}
		run(b, c)
		_ = c.Close()
		<-done
	})
}
