//go:build !linux

package netloop

import "net"

// Loops are not there on this system: the nil Loops is all that there is.
type Loops struct{}

// Start returns nil.
func Start(int) (*Loops, error) { return nil, nil } //nolint:nilnil // the nil Loops works

// Close does nothing.
func (ls *Loops) Close() {}

// Run runs f and returns when it has ended.
func (ls *Loops) Run(f func(*Task)) { f(nil) }

// Wrap returns the connection as it is.
func (ls *Loops) Wrap(c net.Conn) net.Conn { return c }

// Conn is a connection that loops wait for: none.
type Conn struct{ net.Conn }

// Attach does nothing.
func (c *Conn) Attach(*Task) {}

// WaitRead returns nil: reading waits.
func (c *Conn) WaitRead() error { return nil }
