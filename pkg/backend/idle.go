package backend

import (
	"fmt"

	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// CheckIdle tells, without waiting and without asking the server, whether a connection that nobody
// used for a while is still good. A server that closes one for its idleness, at a KILL or at its
// shutdown has done so unasked; who finds out by sending a statement cannot know that it did not
// run. It looks at the socket only: a server that died without a word is not found, nor anything on
// Windows, or on a transport that is no socket.
func (c *Conn) CheckIdle() error {
	const op = "use the idle connection to"
	if c.err != nil {
		return c.fail(op, false, ErrClosed)
	}
	if b := c.Peek(); len(b) > 0 {
		return c.broken(op, false, unasked(b))
	}
	if c.frames != nil && c.frames.waiting() {
		return c.broken(op, false, unasked(nil))
	}
	free := c.in.b[:cap(c.in.b)] // nothing is in it
	n, err := c.socket.peek(free)
	switch {
	case err != nil:
		return c.broken(op, false, ended(err))
	case n > 0 && c.conn != c.raw:
		return c.broken(op, false, unasked(nil)) // what it is, is encrypted
	case n > 0:
		return c.broken(op, false, unasked(free[:n]))
	}
	return nil
}

// unasked is the error for what a server said when nothing was asked, which is its last word. It
// would be taken for the answer to what is sent next.
func unasked(b []byte) error {
	p, _, n, err := wire.Split(b)
	if err == nil && n > 0 && wire.IsError(p) {
		return decodeError(p)
	}
	return fmt.Errorf("the server said something unasked: %.20q", b)
}
