//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package frontend

import "net"

// socket is nothing on systems where waiting without a buffer is not as simple.
type socket struct{}

func newSocket(net.Conn, *Buffers) *socket { return &socket{} }

func (*socket) take() (b *small, n int, ok bool, err error) { return nil, 0, false, nil }

func (*socket) gone() bool { return false }
