// Package deadline answers: how does the end of a context interrupt who reads from or writes to a
// connection, or lets time pass?
package deadline

import (
	"context"
	"time"
)

// Conn is what has deadlines, such as a net.Conn.
type Conn interface{ SetDeadline(t time.Time) error }

// Past is a deadline that is over: what reads or writes ends at once.
func Past() time.Time { return time.Unix(1, 0) }

// Watch clears the deadline and makes the end of ctx interrupt reading and writing, until stop is
// called, which must be; the connection has no deadline then.
func Watch(ctx context.Context, c Conn) (stop func()) {
	_ = c.SetDeadline(time.Time{}) // fails on a closed connection only, and so will what follows
	if ctx.Done() == nil {
		return func() {}
	}
	done := make(chan struct{})
	cancel := context.AfterFunc(ctx, func() {
		_ = c.SetDeadline(Past())
		close(done)
	})
	return func() {
		if !cancel() {
			<-done
		}
		_ = c.SetDeadline(time.Time{})
	}
}

// Pause blocks for d, or until ctx ends, whose cause it then returns.
func Pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
