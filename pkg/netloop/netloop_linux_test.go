package netloop

import (
	"bytes"
	"errors"
	"io"
	"net"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// pair returns the two ends of a connection, the first one wrapped.
func pair(t *testing.T, ls *Loops, network string) (*Conn, net.Conn) {
	t.Helper()
	address := "127.0.0.1:0"
	if network == "unix" {
		address = t.TempDir() + "/s"
	}
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	there, err := net.Dial(network, l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	here, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	c, ok := ls.Wrap(here).(*Conn)
	if !ok {
		t.Fatal("it was not wrapped")
	}
	t.Cleanup(func() { _, _ = c.Close(), there.Close() })
	return c, there
}

func start(t *testing.T, n int) *Loops {
	t.Helper()
	ls, err := Start(n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(ls.Close)
	return ls
}

// echo is a task that sends back what comes, until the end of it.
func echo(c *Conn, ended func(error)) func(*Task) {
	return func(t *Task) {
		c.Attach(t)
		b := make([]byte, 64)
		for {
			n, err := c.Read(b)
			if err != nil {
				ended(err)
				return
			}
			if _, err := c.Write(b[:n]); err != nil {
				ended(err)
				return
			}
		}
	}
}

// TestEcho: many tasks on few loops, over TCP and unix sockets; what is sent comes back, whatever its size.
func TestEcho(t *testing.T) {
	for _, network := range []string{"tcp", "unix"} {
		for _, n := range []int{1, 3} {
			ls := start(t, n)
			var all sync.WaitGroup
			for i := range 20 {
				c, there := pair(t, ls, network)
				ended := make(chan error, 1)
				ls.Run(echo(c, func(err error) { ended <- err }))
				all.Go(func() {
					for k := range 50 {
						say := bytes.Repeat([]byte{byte(k)}, 1+k*k*(i+1))
						go func() { _, _ = there.Write(say) }()
						got := make([]byte, len(say))
						if _, err := io.ReadFull(there, got); err != nil || !bytes.Equal(got, say) {
							t.Errorf("%d bytes: %v, or others came back", len(say), err)
							return
						}
					}
					_ = there.Close()
					if err := <-ended; !errors.Is(err, io.EOF) {
						t.Errorf("the task ended with %v", err)
					}
				})
			}
			all.Wait()
		}
	}
}

// TestEnds: a task that waits is told of the end of the other side, its own side and its time, and bytes in
// front of an end are not lost.
func TestEnds(t *testing.T) {
	ls := start(t, 1)
	read := func(c *Conn) (<-chan string, <-chan error) {
		got, ended := make(chan string, 1), make(chan error, 1)
		ls.Run(func(task *Task) {
			c.Attach(task)
			var all strings.Builder
			_, err := io.Copy(&all, struct{ io.Reader }{c})
			got <- all.String()
			ended <- err
		})
		return got, ended
	}
	t.Run("other side", func(t *testing.T) {
		c, there := pair(t, ls, "tcp")
		got, ended := read(c)
		_, _ = io.WriteString(there, strings.Repeat("x", 100_000))
		_ = there.Close()
		if s, err := <-got, <-ended; len(s) != 100_000 || err != nil {
			t.Errorf("%d bytes, %v", len(s), err)
		}
	})
	t.Run("before it is wrapped", func(t *testing.T) {
		a, b := net.Pipe()
		if ls.Wrap(a) != a {
			t.Error("a pipe was wrapped")
		}
		_, _ = a.Close(), b.Close()
	})
	t.Run("closed here", func(t *testing.T) {
		c, _ := pair(t, ls, "tcp")
		_, ended := read(c)
		_ = c.Close()
		if err := <-ended; !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		if err := c.Close(); !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
		if _, err := c.Write([]byte("x")); !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	})
	for name, at := range map[string]time.Time{"past": time.Unix(1, 0), "soon": time.Now().Add(5 * time.Millisecond)} {
		t.Run("deadline "+name, func(t *testing.T) {
			c, there := pair(t, ls, "tcp")
			_, ended := read(c)
			_ = c.SetReadDeadline(at)
			err := <-ended
			var timeout net.Error
			if !errors.Is(err, os.ErrDeadlineExceeded) || !errors.As(err, &timeout) || !timeout.Timeout() {
				t.Error(err)
			}
			_ = c.SetReadDeadline(time.Time{})
			got, ended := read(c) // it can be used again
			_, _ = io.WriteString(there, "more")
			_ = there.Close()
			if s, err := <-got, <-ended; s != "more" || err != nil {
				t.Errorf("%q, %v", s, err)
			}
		})
	}
}

// TestClosedOnce: who uses a connection that is closed does nothing to the descriptor that has its number now.
func TestClosedOnce(t *testing.T) {
	ls := start(t, 1)
	c, _ := pair(t, ls, "unix")
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	_ = c.Close()
	var pipes [8]struct{ r, w *os.File }
	for i := range pipes {
		if pipes[i].r, pipes[i].w, err = os.Pipe(); err != nil {
			t.Fatal(err)
		}
		defer pipes[i].r.Close()
		defer pipes[i].w.Close()
	}
	if err := raw.Control(func(uintptr) { t.Error("called") }); !errors.Is(err, net.ErrClosed) {
		t.Error(err)
	}
	for _, err := range []error{c.Close(), c.CloseWrite(), c.WaitRead()} {
		if !errors.Is(err, net.ErrClosed) {
			t.Error(err)
		}
	}
	for i := range pipes {
		b := make([]byte, 1)
		if _, err := pipes[i].w.Write([]byte("x")); err != nil {
			t.Error(err)
		} else if _, err := pipes[i].r.Read(b); err != nil {
			t.Error(err)
		}
	}
}

// TestStaleEvent: what was seen of a connection that has been closed since is not taken for the next one with
// its descriptor. That one would be read for ever if it was the end of the first.
func TestStaleEvent(t *testing.T) {
	ls := start(t, 1)
	const fd = 1 << 12 // nobody's
	first := newConn(ls, fd, nil, nil)
	ls.enter(first)
	before := first.event(unix.EPOLLRDHUP)
	if ls.find(&before) != first {
		t.Error("its own event is not for it")
	}
	ls.forget(fd)
	if ls.find(&before) != nil {
		t.Error("the event is for one that is closed")
	}
	second := newConn(ls, fd, nil, nil)
	ls.enter(second)
	defer ls.forget(fd)
	now := second.event(unix.EPOLLIN)
	if ls.find(&before) != nil || ls.find(&now) != second {
		t.Error("the event of the first is for the second")
	}
	if none := (unix.EpollEvent{Fd: 1 << 20}); ls.find(&none) != nil {
		t.Error("an event for nobody")
	}
}

// TestStalled: a task whose writes find no room waits for that, others on the loop go on, and it goes on when
// there is room, or when its time is over.
func TestStalled(t *testing.T) {
	ls := start(t, 1)
	c, there := pair(t, ls, "tcp")
	const size = 32 << 20
	wrote := make(chan error, 1)
	go ls.Run(func(task *Task) {
		c.Attach(task)
		_, err := c.Write(make([]byte, size))
		wrote <- err
	})
	other, its := pair(t, ls, "tcp")
	ls.Run(echo(other, func(error) {}))
	b := make([]byte, 4)
	for range 100 {
		_, _ = io.WriteString(its, "ping")
		if _, err := io.ReadFull(its, b); err != nil {
			t.Fatal(err)
		}
	}
	select {
	case err := <-wrote:
		t.Fatal("32 MB went where nobody reads: ", err)
	default:
	}
	if n, err := io.CopyN(io.Discard, there, size); n != size || err != nil {
		t.Errorf("%d bytes, %v", n, err)
	}
	if err := <-wrote; err != nil {
		t.Error(err)
	}
	_ = c.SetWriteDeadline(time.Now().Add(10 * time.Millisecond))
	c.Attach(nil)
	if n, err := c.Write(make([]byte, size)); n == size || !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Errorf("%d bytes, %v", n, err)
	}
}

// TestLeave: a task that has left the loop may wait for another task of it, and comes back with its next
// wait for a connection.
func TestLeave(t *testing.T) {
	ls := start(t, 1)
	first, there := pair(t, ls, "tcp")
	second, its := pair(t, ls, "tcp")
	word := make(chan string)
	var inline []bool
	done := make(chan struct{})
	b := make([]byte, 16)
	ls.Run(func(task *Task) {
		defer close(done)
		first.Attach(task)
		for range 3 {
			if _, err := first.Read(b); err != nil {
				t.Error(err)
				return
			}
			inline = append(inline, task.on != nil)
			task.Leave()
			task.Leave()
			inline = append(inline, task.on != nil)
			_, _ = io.WriteString(first, <-word)
		}
	})
	ls.Run(func(task *Task) {
		second.Attach(task)
		b := make([]byte, 16)
		for {
			n, err := second.Read(b)
			if err != nil {
				return
			}
			task.Leave()          // the first one may have no event yet, for which the loop is needed
			word <- string(b[:n]) // it waits for this on a goroutine of its own
		}
	})
	got := make([]byte, 5)
	for range 3 {
		for end := time.Now().Add(20 * time.Second); ; runtime.Gosched() { // it comes back only if it waits
			if w := first.in.state.Load(); w != nil && w != isReady {
				break
			}
			if time.Now().After(end) {
				t.Fatal("the first one does not wait")
			}
		}
		_, _ = io.WriteString(there, "go")
		_, _ = io.WriteString(its, "hello")
		if _, err := io.ReadFull(there, got); err != nil || string(got) != "hello" {
			t.Fatalf("%q, %v", got, err)
		}
	}
	<-done
	for i, is := range inline[2:] { // the first one begins where Run was called
		if want := i%2 == 0; is != want {
			t.Errorf("run by a loop: %v", inline)
		}
	}
}

// TestLong: a task that never waits leaves the loop to others.
func TestLong(t *testing.T) {
	ls := start(t, 1)
	c, there := pair(t, ls, "tcp")
	_, _ = io.WriteString(there, strings.Repeat("x", 1000))
	left := make(chan bool, 1)
	more := make(chan struct{})
	ls.Run(func(task *Task) {
		c.Attach(task)
		b := make([]byte, 1)
		for {
			if _, err := c.Read(b); err != nil {
				return
			}
			if b[0] == 'y' {
				break
			}
		}
		close(more)
		for range 2 * maxBurst { // all of it has come
			_, _ = c.Read(b)
		}
		left <- task.on == nil
	})
	_, _ = io.WriteString(there, "y"+strings.Repeat("x", 1000))
	<-more
	if !<-left {
		t.Error("it still runs on the loop")
	}
}

// TestMoment: what comes at the moment of a read that finds nothing is not lost.
func TestMoment(t *testing.T) {
	ls := start(t, 1)
	c, there := pair(t, ls, "unix")
	var turn atomic.Int64
	go func() {
		for round := int64(1); ; round++ {
			for turn.Load() < round {
				runtime.Gosched()
			}
			for i := round % 500; i > 0; i-- { // the moment moves
				_ = turn.Load()
			}
			if _, err := there.Write([]byte("x")); err != nil {
				return
			}
		}
	}()
	b := make([]byte, 8)
	for i := range 5000 {
		_ = c.SetReadDeadline(time.Now().Add(10 * time.Second))
		c.in.again() // there may be something: the read finds out
		turn.Add(1)
		if _, err := c.Read(b); err != nil {
			t.Fatalf("round %d: %v", i, err)
		}
	}
	_ = there.Close()
	turn.Add(1)
}

// TestNil: without loops all is as without this package.
func TestNil(t *testing.T) {
	var ls *Loops
	a, b := net.Pipe()
	defer a.Close()
	defer b.Close()
	if ls.Wrap(a) != a {
		t.Error("wrapped")
	}
	ran := false
	ls.Run(func(task *Task) {
		task.Leave()
		ran = task == nil
	})
	ls.Close()
	if !ran {
		t.Error("not run")
	}
}

// TestAllocations: reading, writing and waiting allocate nothing.
func TestAllocations(t *testing.T) {
	ls := start(t, 1)
	c, there := pair(t, ls, "tcp")
	ls.Run(echo(c, func(error) {}))
	b := make([]byte, 4)
	n := testing.AllocsPerRun(1000, func() {
		_, _ = there.Write(b)
		_, _ = io.ReadFull(there, b)
	})
	if n != 0 {
		t.Errorf("%v allocations for a round", n)
	}
}

func BenchmarkEcho(b *testing.B) {
	ls, err := Start(1)
	if err != nil {
		b.Fatal(err)
	}
	defer ls.Close()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	there, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		b.Fatal(err)
	}
	here, err := l.Accept()
	if err != nil {
		b.Fatal(err)
	}
	c := ls.Wrap(here).(*Conn)
	ls.Run(echo(c, func(error) { _ = c.Close() }))
	p := make([]byte, 64)
	for b.Loop() {
		_, _ = there.Write(p)
		_, _ = io.ReadFull(there, p)
	}
	_ = there.Close()
}

// TestSignal: tasks of a loop and goroutines wait for the same; a nudge lets one of them go on, and is kept
// for one who comes later.
func TestSignal(t *testing.T) {
	ls := start(t, 1)
	var s Signal
	var lead atomic.Bool
	var led, ended atomic.Int64
	var all sync.WaitGroup
	wait := func(task *Task) {
		defer all.Done()
		for !s.is() {
			if lead.CompareAndSwap(true, false) {
				led.Add(1)
				s.Happen(task)
			} else {
				s.Wait(task)
			}
		}
		ended.Add(1)
	}
	all.Add(8)
	for i := range 6 {
		c, there := pair(t, ls, "unix")
		ls.Run(func(task *Task) {
			c.Attach(task)
			_, _ = c.Read(make([]byte, 1)) // from here on a loop runs it
			if i%3 == 2 {
				task.Leave()
			}
			wait(task)
		})
		_, _ = there.Write([]byte("x"))
	}
	go wait(nil)
	go wait(nil)
	lead.Store(true)
	s.Nudge(nil)
	all.Wait()
	if led.Load() != 1 || ended.Load() != 8 {
		t.Errorf("%d led, %d ended", led.Load(), ended.Load())
	}
	s.Wait(nil) // it has happened
}

// TestLater: who goes last goes behind all for whom something has come.
func TestLater(t *testing.T) {
	ls := start(t, 1)
	const n = 8
	var order []int // of the one loop's tasks
	var all sync.WaitGroup
	all.Add(n)
	there := make([]net.Conn, n)
	for i := range n {
		var c *Conn
		c, there[i] = pair(t, ls, "unix")
		ls.Run(func(task *Task) {
			defer all.Done()
			c.Attach(task)
			_, _ = c.Read(make([]byte, 8))
			if i == 0 {
				task.Later()
			}
			order = append(order, i)
		})
	}
	held, its := pair(t, ls, "unix")
	begun, hold := make(chan struct{}), make(chan struct{})
	ls.Run(func(task *Task) {
		held.Attach(task)
		_, _ = held.Read(make([]byte, 8))
		close(begun)
		<-hold // what comes for the others comes meanwhile
	})
	_, _ = its.Write([]byte("x"))
	<-begun
	for _, c := range there {
		_, _ = c.Write([]byte("x"))
	}
	close(hold)
	all.Wait()
	if order[n-1] != 0 {
		t.Errorf("they went on in the order %v", order)
	}
}

// is tells whether it has happened.
func (s *Signal) is() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.happened
}
