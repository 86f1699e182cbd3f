package netloop

import (
	"errors"
	"net"
	"runtime"
	"sync"
	"sync/atomic"
	"syscall"

	"golang.org/x/sys/unix"
)

// Loops wait for connections, and run tasks. They may be used by several goroutines.
type Loops struct {
	all  []*loop
	next atomic.Uint32
	wait sync.WaitGroup
	last atomic.Int32 // Conn.serial

	mu    sync.Mutex // of changes of what follows
	conns atomic.Pointer[[]atomic.Pointer[Conn]]
}

// loop is one thread's. Its events belong to its goroutine.
type loop struct {
	of     *Loops
	epoll  int
	bell   int // an eventfd: rung at the end
	events [128]unix.EpollEvent
	turn   turn
}

// Start starts n loops. Each keeps one of GOMAXPROCS, so there should be fewer. The error is the system's.
func Start(n int) (*Loops, error) {
	ls := &Loops{}
	ls.conns.Store(&[]atomic.Pointer[Conn]{})
	for range n {
		l, err := newLoop(ls)
		if err != nil {
			for _, l := range ls.all {
				l.close()
			}
			return nil, err
		}
		ls.all = append(ls.all, l)
	}
	for _, l := range ls.all {
		ls.wait.Go(l.run)
	}
	return ls, nil
}

func newLoop(ls *Loops) (*loop, error) {
	l := &loop{of: ls, epoll: -1, bell: -1}
	var err error
	if l.epoll, err = unix.EpollCreate1(unix.EPOLL_CLOEXEC); err != nil {
		return nil, err
	}
	if l.bell, err = unix.Eventfd(0, unix.EFD_CLOEXEC|unix.EFD_NONBLOCK); err == nil {
		err = unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, l.bell, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(l.bell)})
	}
	if err != nil {
		l.close()
		return nil, err
	}
	return l, nil
}

func (l *loop) close() {
	for _, fd := range [...]int{l.epoll, l.bell} {
		if fd >= 0 {
			_ = unix.Close(fd)
		}
	}
}

// Close ends the loops. Tasks and connections must have ended before.
func (ls *Loops) Close() {
	if ls == nil {
		return
	}
	for _, l := range ls.all {
		_, _ = unix.Write(l.bell, []byte{1, 0, 0, 0, 0, 0, 0, 0})
	}
	ls.wait.Wait()
	for _, l := range ls.all {
		l.close()
	}
}

// Run runs f as a task, and returns when that first waits, or has ended. On the nil Loops it returns when f
// has ended.
func (ls *Loops) Run(f func(*Task)) {
	if ls == nil {
		f(nil)
		return
	}
	newTask(f).run(nil)
}

// run waits for events and runs who waited for them.
func (l *loop) run() {
	for timeout := -1; ; {
		n, err := unix.EpollWait(l.epoll, l.events[:], timeout)
		if err != nil && !errors.Is(err, unix.EINTR) {
			panic("netloop: " + err.Error()) // a descriptor that is no epoll's: nobody would be woken any more
		}
		l.turn.scheduled = false
		for i := range max(n, 0) {
			ev := &l.events[i]
			if int(ev.Fd) == l.bell {
				return
			}
			if c := l.of.find(ev); c != nil {
				c.happened(ev.Events, &l.turn)
			}
		}
		if timeout = -1; l.turn.end(n) {
			timeout = 0
		}
		if l.turn.scheduled { // else they would be on this processor's list until it is taken away from the wait
			runtime.Gosched()
		}
	}
}

// Wrap takes a connection over: what is returned is used and closed in its place. A connection that is no
// socket, and any on the nil Loops, is returned as it is.
func (ls *Loops) Wrap(c net.Conn) net.Conn {
	if ls == nil {
		return c
	}
	has, ok := c.(syscall.Conn)
	if !ok {
		return c
	}
	raw, err := has.SyscallConn()
	if err != nil {
		return c
	}
	fd := -1
	control := func(of uintptr) { fd, err = unix.FcntlInt(of, unix.F_DUPFD_CLOEXEC, 0) }
	if e := raw.Control(control); e != nil || err != nil {
		return c
	}
	wrapped := newConn(ls, fd, c.LocalAddr(), c.RemoteAddr())
	ls.enter(wrapped)
	l := ls.all[int(ls.next.Add(1))%len(ls.all)]
	ev := wrapped.event(unix.EPOLLIN | unix.EPOLLOUT | unix.EPOLLRDHUP | unix.EPOLLET)
	if err := unix.EpollCtl(l.epoll, unix.EPOLL_CTL_ADD, fd, &ev); err != nil {
		ls.forget(fd)
		_ = unix.Close(fd)
		return c
	}
	_ = c.Close() // the socket stays, since fd is another descriptor of it
	return wrapped
}

// enter makes the connection the one that its descriptor's events are for.
func (ls *Loops) enter(c *Conn) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	conns := *ls.conns.Load()
	if c.fd >= len(conns) {
		grown := make([]atomic.Pointer[Conn], max(64, 2*c.fd))
		for i := range conns {
			grown[i].Store(conns[i].Load())
		}
		ls.conns.Store(&grown)
		conns = grown
	}
	conns[c.fd].Store(c)
}

// find returns the connection that an event is for. There is none if it was closed behind the event, which
// then must not be taken for one of whoever has the descriptor's number now: the end of the one would be the
// other's.
func (ls *Loops) find(ev *unix.EpollEvent) *Conn {
	conns := *ls.conns.Load()
	if int(ev.Fd) >= len(conns) {
		return nil
	}
	if c := conns[ev.Fd].Load(); c != nil && c.serial == ev.Pad {
		return c
	}
	return nil
}

func (ls *Loops) forget(fd int) {
	ls.mu.Lock()
	defer ls.mu.Unlock()
	(*ls.conns.Load())[fd].Store(nil)
}
