//go:build !(linux || darwin || dragonfly || freebsd || netbsd || openbsd)

package backend

import "net"

// socket sees nothing on systems where looking is not as simple.
type socket struct{}

func newSocket(net.Conn) *socket { return &socket{} }

func (*socket) peek([]byte) (int, error) { return 0, nil }
