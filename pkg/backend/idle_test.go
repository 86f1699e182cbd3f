package backend_test

import (
	"errors"
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/backend"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// TestCheckIdle: what a server does unasked, on a real socket, is found before anything is sent.
func TestCheckIdle(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("nothing is seen there")
	}
	idle := refusal(4031, "The client was disconnected by the server because of inactivity")
	for _, tt := range []struct {
		name string
		last func(p *peer)
		want func(err error) bool
	}{
		{"closed", func(*peer) {}, func(err error) bool { return errors.Is(err, io.ErrUnexpectedEOF) }},
		{"error", func(p *peer) { p.seq = 0; p.write(idle) }, func(err error) bool {
			var s *wire.ServerError
			return errors.As(err, &s) && s.Code == 4031
		}},
		{"noise", func(p *peer) { p.seq = 0; p.write(okay(0)) }, func(err error) bool {
			return strings.Contains(err.Error(), "unasked")
		}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			l, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer l.Close()
			end, done := make(chan struct{}), make(chan struct{})
			go func() {
				defer close(done)
				conn, err := l.Accept()
				if err != nil {
					return
				}
				defer conn.Close()
				p := &peer{Conn: conn, t: t}
				p.login(wire.NativePlugin)
				<-end
				tt.last(p)
			}()
			c := dial(t, &backend.Options{Address: l.Addr().String(), User: "app"})
			allocated := testing.AllocsPerRun(10, func() {
				if err := c.CheckIdle(); err != nil {
					t.Errorf("while it is good: %v", err)
				}
			})
			if allocated != 0 {
				t.Errorf("%v allocations", allocated)
			}
			close(end)
			<-done
			// What was sent over loopback is there at once, but for the end, which may take a moment.
			for limit := time.Now().Add(10 * time.Second); err == nil && time.Now().Before(limit); {
				err = c.CheckIdle()
			}
			if e := asError(t, err); !tt.want(err) || e.Sent || c.Err() == nil {
				t.Errorf("got %+v, connection has %v", e, c.Err())
			}
			if err := c.CheckIdle(); !errors.Is(err, backend.ErrClosed) {
				t.Errorf("again: %v", err)
			}
		})
	}
}

// TestUnasked: what was read behind an answer is never taken for the next one.
func TestUnasked(t *testing.T) {
	for _, last := range [][]byte{okay(wire.Autocommit), refusal(1927, "Connection was killed")} {
		use := map[string]func(c *backend.Conn) error{
			"command": func(c *backend.Conn) error { return c.Ping(t.Context()) },
			"idle":    (*backend.Conn).CheckIdle,
		}
		for name, run := range use {
			m := &memory{left: packets(0, greeting(wire.NativePlugin)), again: append(packets(2, okay(0)), packets(0, last)...)}
			c := dial(t, m.options())
			if e := asError(t, run(c)); e.Sent || c.Err() == nil {
				t.Errorf("%s: %+v", name, e)
			}
		}
	}
}
