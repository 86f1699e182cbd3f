package frontend_test

import (
	"io"
	"net"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/frontend"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// until polls for what has to happen.
func until(t *testing.T, what string, happened func() bool) {
	t.Helper()
	for limit := time.Now().Add(20 * time.Second); !happened(); time.Sleep(time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatal(what)
		}
	}
}

// TestGone: a client that has closed is seen without reading, behind what it sent before, too.
func TestGone(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("nothing is seen there")
	}
	for _, tr := range transports {
		for _, last := range []string{"", "\x01\x00\x00\x00\x01"} {
			if last != "" && runtime.GOOS != "linux" {
				continue
			}
			c, s := tr.loggedIn(t, &frontend.Options{})
			if s.Gone() {
				t.Fatalf("%s: gone at once", tr.name)
			}
			if tr.network == "pipe" {
				_ = c.Close()
				if s.Gone() {
					t.Error("seen in a pipe")
				}
				continue
			}
			_, _ = io.WriteString(c.Conn, last)
			if s.Gone() {
				t.Errorf("%s: gone after a command", tr.name)
			}
			_ = c.Close()
			until(t, tr.name+": never seen to go", s.Gone)
			_, err := s.ReadCommand()
			if last == "" && err != io.EOF || last != "" && err != nil {
				t.Errorf("%s: then %v", tr.name, err)
			}
		}
	}
}

// TestReset: a dead connection is gone too, whatever was agreed on.
func TestReset(t *testing.T) {
	if runtime.GOOS == "windows" {
		t.Skip("nothing is seen there")
	}
	c, s := transports[0].loggedIn(t, &frontend.Options{})
	_ = c.Conn.(*net.TCPConn).SetLinger(0)
	_ = c.Close()
	until(t, "never seen to go", s.Gone)
	if _, err := s.ReadCommand(); err == nil || err == io.EOF {
		t.Errorf("reading gives %v", err)
	}
}

// TestIdleMemory: a client that says nothing holds no buffer, whatever it did before.
func TestIdleMemory(t *testing.T) {
	for _, tt := range []struct {
		transport
		clients int
		most    uint64 // bytes of one; 0 where the other end, which is here too, needs more
	}{
		{transport{name: "tcp", network: "tcp"}, 100, 4 << 10},
		{transport{name: "zlib", network: "unix", caps: wire.Compress, cut: 1 << 20}, 5, 0},
		{transport{name: "TLS", network: "tcp", tls: true}, 5, 0},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := &frontend.Options{Buffers: &frontend.Buffers{}}
			var servers []*frontend.Conn
			ended := make(chan error, tt.clients)
			before := heap()
			for range tt.clients {
				c, s := tt.loggedIn(t, o)
				servers = append(servers, s.Conn)
				go func() {
					for {
						if err := echo(s.Conn); err != nil {
							ended <- err
							return
						}
					}
				}()
				for _, n := range []int{10, 20000} {
					c.again()
					c.send(filled(n))
					if p, err := c.read(); err != nil || len(p) != n {
						t.Fatalf("%d bytes: %v", len(p), err)
					}
				}
				c.buf, c.scratch = nil, nil
			}
			if tt.most > 0 {
				held := uint64(0)
				until(t, "they hold memory", func() bool {
					held = (max(heap(), before) - before) / uint64(tt.clients)
					return held < tt.most
				})
				t.Logf("%d bytes a client, both ends together", held)
			}
			for _, s := range servers {
				_ = s.Close()
			}
			for range tt.clients {
				<-ended
			}
			for _, s := range servers {
				if s.Holds() { // since it waited
					t.Error("an idle client holds a buffer")
				}
			}
			runtime.KeepAlive(o)
		})
	}
}

// heap is what is in use when all that can be freed is.
func heap() uint64 {
	for range 3 { // pools keep things for two rounds
		runtime.GC()
	}
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}

// TestAllocations: nothing is allocated for a small command and its answer.
func TestAllocations(t *testing.T) {
	for _, tr := range transports[:3] { // crypto/tls allocates, and the other end for compression
		c, s := tr.loggedIn(t, &frontend.Options{Buffers: &frontend.Buffers{}})
		command, answer := []byte("\x0A\x00\x00\x00\x03SELECT 12"), []byte("\x01\x00\x00\x01\x00")
		command[0] = byte(len(command) - 4)
		b := make([]byte, 100)
		failed := make(chan error, 1)
		go func() {
			for {
				if _, err := s.ReadCommand(); err != nil {
					failed <- err
					return
				}
				if err := s.Write(answer); err != nil {
					failed <- err
					return
				}
			}
		}()
		allocated := testing.AllocsPerRun(100, func() {
			if _, err := c.Conn.Write(command); err != nil {
				t.Error(err)
			}
			if _, err := io.ReadFull(c.Conn, b[:len(answer)]); err != nil {
				t.Error(err)
			}
		})
		if allocated > 0 {
			t.Errorf("%s: %v allocations", tr.name, allocated)
		}
		_ = c.Close()
		if err := <-failed; err == nil || !strings.Contains(err.Error(), "EOF") {
			t.Errorf("%s: %v", tr.name, err)
		}
	}
}

func BenchmarkCommand(b *testing.B) {
	for _, tr := range transports {
		b.Run(strings.ReplaceAll(tr.name, " ", "_"), func(b *testing.B) {
			c, s := tr.loggedIn(b, &frontend.Options{Buffers: &frontend.Buffers{}})
			go func() {
				for echo(s.Conn) == nil {
				}
			}()
			command := []byte("\x03SELECT c FROM sbtest1 WHERE id = 4711")
			b.ReportAllocs()
			for b.Loop() {
				c.again()
				c.send(command)
				if _, err := c.read(); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
