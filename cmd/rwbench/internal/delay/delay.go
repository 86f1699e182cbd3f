// Package delay answers: how does something behave when the other side is further away, or slower?
package delay

import (
	"context"
	"io"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Relay passes TCP connections on to a target, and each byte of them a while later, in both directions.
type Relay struct {
	target  string
	listen  net.Listener
	by      atomic.Int64 // nanoseconds
	pace    atomic.Int64 // nanoseconds
	mu      sync.Mutex
	free    time.Time // when the target has done what it got so far
	ctx     context.Context
	cancel  context.CancelFunc
	clients sync.WaitGroup
}

// New starts a relay on a port of the loopback, which delays nothing at first. The caller must Stop it.
func New(target string) (*Relay, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	r := &Relay{target: target, listen: l}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.clients.Go(r.accept)
	return r, nil
}

// Address is where the relay listens.
func (r *Relay) Address() string { return r.listen.Addr().String() }

// Set changes the delay in each direction, for open connections too: a round trip takes twice as long.
func (r *Relay) Set(d time.Duration) { r.by.Store(int64(d)) }

// Pace has the target seem to take so long for each request, one after the other whatever connection they come on, and
// be idle else: so many in a second are all that it can do. A request is what a client sends at once.
func (r *Relay) Pace(d time.Duration) { r.pace.Store(int64(d)) }

// due is when what has come now may go on. A request waits for its turn.
func (r *Relay) due(request bool) time.Time {
	due := time.Now().Add(time.Duration(r.by.Load()))
	pace := time.Duration(r.pace.Load())
	if !request || pace == 0 {
		return due
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.free.Before(due) {
		r.free = due
	}
	r.free = r.free.Add(pace)
	return r.free
}

// Stop ends all connections and returns when they are gone.
func (r *Relay) Stop() error {
	err := r.listen.Close()
	r.cancel()
	r.clients.Wait()
	return err
}

func (r *Relay) accept() {
	for {
		in, err := r.listen.Accept()
		if err != nil {
			return
		}
		r.clients.Go(func() { r.serve(in) })
	}
}

// serve returns when one side has closed, which closes the other.
func (r *Relay) serve(in net.Conn) {
	defer in.Close()
	var d net.Dialer
	out, err := d.DialContext(r.ctx, "tcp", r.target)
	if err != nil {
		return
	}
	defer out.Close()
	stop := context.AfterFunc(r.ctx, func() {
		_ = in.Close()
		_ = out.Close()
	})
	defer stop()
	var both sync.WaitGroup
	for _, way := range [][2]net.Conn{{in, out}, {out, in}} {
		both.Go(func() {
			r.pump(way[0], way[1], way[0] == in)
			_ = way[0].Close() // for the other way
			_ = way[1].Close()
		})
	}
	both.Wait()
}

// piece is what was read at once.
type piece struct {
	due  time.Time
	data []byte
}

// coarse is what is left to the exact sleep, which nothing interrupts.
const coarse = 5 * time.Millisecond

// until waits for a time, and returns false at the end of the relay, after which nothing arrives.
func (r *Relay) until(due time.Time) bool {
	if wait := time.Until(due) - coarse; wait > 0 {
		select {
		case <-time.After(wait):
		case <-r.ctx.Done():
			return false
		}
	}
	if wait := time.Until(due); wait > 0 {
		sleep(wait)
	}
	return r.ctx.Err() == nil
}

// pump reads at once and writes when it is time, so that what follows soon is not held up twice.
func (r *Relay) pump(from io.Reader, to io.Writer, requests bool) {
	pieces := make(chan piece, 1024)
	gone := make(chan struct{})
	var reader sync.WaitGroup
	reader.Go(func() {
		defer close(pieces)
		buffer := make([]byte, 64<<10)
		for {
			n, err := from.Read(buffer)
			if n > 0 {
				select {
				case pieces <- piece{r.due(requests), append([]byte(nil), buffer[:n]...)}:
				case <-gone:
					return
				}
			}
			if err != nil {
				return
			}
		}
	})
	for p := range pieces {
		if !r.until(p.due) {
			break
		}
		if _, err := to.Write(p.data); err != nil {
			break
		}
	}
	close(gone)
	if c, ok := from.(io.Closer); ok {
		_ = c.Close() // the reader may wait in a read
	}
	reader.Wait()
}
