package netloop

import (
	"io"
	"net"
	"os"
	"sync/atomic"
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Conn is a connection that loops wait for. At any time one goroutine may read, one may write, and any may
// set deadlines or close it. Its errors are those of package net, as far as errors.Is is asked.
type Conn struct {
	fd            int
	serial        int32 // tells it from others that had or get the number fd
	of            *Loops
	task          *Task
	local, remote net.Addr
	in, out       side
	hung          atomic.Bool  // the other side has ended: there is always something to be read
	ended         atomic.Bool  // Close was called
	users         atomic.Int64 // system calls under way, and closing
}

// closing is in Conn.users from Close on, and closed when the descriptor is none any more. The last one who
// uses it closes it, once: its number may be another one's then.
const (
	closing = 1 << 32
	closed  = 1 << 33
)

func newConn(of *Loops, fd int, local, remote net.Addr) *Conn {
	c := &Conn{fd: fd, serial: of.last.Add(1), of: of, local: local, remote: remote}
	c.in.ended, c.out.ended = &c.ended, &c.ended
	c.in.again() // something may have come before
	c.out.again()
	return c
}

// event is what the loops are told, and find it by.
func (c *Conn) event(events uint32) unix.EpollEvent {
	return unix.EpollEvent{Events: events, Fd: int32(c.fd), Pad: c.serial}
}

// Attach says which task reads and writes from now on, nil for ordinary goroutines. Who has the connection
// to itself calls it.
func (c *Conn) Attach(t *Task) { c.task = t }

// happened takes an event in, and runs who waited for it.
func (c *Conn) happened(events uint32, on *turn) {
	const end = unix.EPOLLRDHUP | unix.EPOLLHUP | unix.EPOLLERR
	if events&end != 0 {
		c.hung.Store(true)
	}
	if events&(unix.EPOLLIN|end) != 0 {
		if w := c.in.wake(); w != nil {
			w.resume(on)
		}
	}
	if events&(unix.EPOLLOUT|unix.EPOLLHUP|unix.EPOLLERR) != 0 {
		if w := c.out.wake(); w != nil {
			w.resume(on)
		}
	}
}

// use is called before the descriptor is used, and done after. It returns false if it is closed.
func (c *Conn) use() bool {
	if c.users.Add(1) < closing {
		return true
	}
	c.done()
	return false
}

func (c *Conn) done() {
	if c.users.Add(-1) == closing {
		c.close()
	}
}

func (c *Conn) close() {
	if c.users.CompareAndSwap(closing, closing|closed) {
		c.of.forget(c.fd)
		_ = unix.Close(c.fd)
	}
}

// Close ends the connection; who reads or writes returns with net.ErrClosed, and so does a second Close.
func (c *Conn) Close() error {
	if !c.ended.CompareAndSwap(false, true) {
		return c.failed("close", net.ErrClosed)
	}
	if c.users.Add(closing) == closing {
		c.close()
	}
	_ = c.SetDeadline(time.Time{}) // no timer stays
	c.in.rouse()
	c.out.rouse()
	return nil
}

// check returns why a side cannot be used.
func (c *Conn) check(s *side) error {
	if c.ended.Load() {
		return net.ErrClosed
	}
	if s.expired.Load() {
		return os.ErrDeadlineExceeded
	}
	return nil
}

// WaitRead returns nil when there may be something to be read, or an end of it. It keeps no buffer
// meanwhile.
func (c *Conn) WaitRead() error {
	for {
		if err := c.check(&c.in); err != nil {
			return c.failed("read", err)
		}
		if c.in.ready() {
			return nil
		}
		c.task.wait(&c.in)
	}
}

// maxTries bounds how often a read tries again after an event that said that there is always something.
const maxTries = 100

// Read is that of net.Conn.
func (c *Conn) Read(b []byte) (int, error) {
	if len(b) == 0 {
		return 0, nil
	}
	c.task.worked()
	for tries := 0; ; {
		if err := c.WaitRead(); err != nil {
			return 0, err
		}
		c.in.clear()
		n, err := c.system(unix.SYS_READ, b)
		if n == len(b) || c.hung.Load() {
			c.in.again()
		}
		switch {
		case err == 0 && n == 0:
			c.in.again()
			return 0, io.EOF
		case err == 0:
			return n, nil
		case err == unix.EINTR:
			c.in.again()
		case err != unix.EAGAIN:
			return 0, c.failed("read", err)
		case c.hung.Load(): // the end came just behind this read, or it was an error that somebody else was told
			if tries++; tries < maxTries {
				c.in.again()
			} else {
				c.hung.Store(false) // an end that there is would have been read by now
			}
		}
	}
}

// Write is that of net.Conn.
func (c *Conn) Write(b []byte) (int, error) {
	c.task.worked()
	total := 0
	for total < len(b) {
		if err := c.check(&c.out); err != nil {
			return total, c.failed("write", err)
		}
		tried := c.out.ready()
		n, err := c.system(unix.SYS_WRITE, b[total:])
		switch {
		case err == 0:
			total += n
		case err == unix.EAGAIN && tried:
			c.out.clear() // and once more: there may have come room before this
		case err == unix.EAGAIN:
			c.task.wait(&c.out)
		case err != unix.EINTR:
			return total, c.failed("write", err)
		}
	}
	return total, nil
}

// system reads or writes without waiting. The scheduler is not told: it takes some microseconds.
func (c *Conn) system(call uintptr, b []byte) (int, syscall.Errno) {
	if !c.use() {
		return 0, unix.EBADF
	}
	n, _, err := unix.RawSyscall(call, uintptr(c.fd), uintptr(unsafe.Pointer(unsafe.SliceData(b))), uintptr(len(b)))
	c.done()
	if err != 0 {
		return 0, err
	}
	return int(n), 0
}

// failed makes the error that net.Conn has for it.
func (c *Conn) failed(op string, err error) error {
	if c.ended.Load() {
		err = net.ErrClosed
	}
	if no, ok := err.(syscall.Errno); ok { //nolint:errorlint // it comes from a system call
		err = os.NewSyscallError(op, no)
	}
	e := &net.OpError{Op: op, Addr: c.remote, Source: c.local, Err: err}
	if c.remote != nil {
		e.Net = c.remote.Network()
	}
	return e
}

// CloseWrite tells the other side that nothing more comes.
func (c *Conn) CloseWrite() error {
	if !c.use() {
		return c.failed("close", net.ErrClosed)
	}
	defer c.done()
	if err := unix.Shutdown(c.fd, unix.SHUT_WR); err != nil {
		return c.failed("close", err)
	}
	return nil
}

// LocalAddr is that of net.Conn.
func (c *Conn) LocalAddr() net.Addr { return c.local }

// RemoteAddr is that of net.Conn.
func (c *Conn) RemoteAddr() net.Addr { return c.remote }

// SetDeadline is that of net.Conn.
func (c *Conn) SetDeadline(t time.Time) error {
	c.in.setDeadline(t)
	c.out.setDeadline(t)
	return nil
}

// SetReadDeadline is that of net.Conn.
func (c *Conn) SetReadDeadline(t time.Time) error {
	c.in.setDeadline(t)
	return nil
}

// SetWriteDeadline is that of net.Conn.
func (c *Conn) SetWriteDeadline(t time.Time) error {
	c.out.setDeadline(t)
	return nil
}

// SyscallConn gives the descriptor to Control only: reading and writing are the loops' matter.
func (c *Conn) SyscallConn() (syscall.RawConn, error) { return control{c}, nil }

type control struct{ c *Conn }

func (r control) Control(f func(fd uintptr)) error {
	if !r.c.use() {
		return net.ErrClosed
	}
	defer r.c.done()
	f(uintptr(r.c.fd))
	return nil
}

func (r control) Read(func(uintptr) bool) error  { return unix.ENOTSUP }
func (r control) Write(func(uintptr) bool) error { return unix.ENOTSUP }
