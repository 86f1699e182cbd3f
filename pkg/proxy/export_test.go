package proxy

import (
	"context"
	"net"

	"github.com/mysqlrw/mysqlrw/route"
)

// WaitOnline returns when so many servers are online.
func (p *Proxy) WaitOnline(ctx context.Context, n int) error {
	return p.Wait(ctx, func(s *route.Snapshot) bool {
		online := 0
		for i := range s.Servers {
			if s.Servers[i].State == route.Online {
				online++
			}
		}
		return online >= n
	})
}

// Sessions returns how many clients there are.
func (p *Proxy) Sessions() int { return p.sessions.len() }

// HideSockets makes every client that is accepted one that loops cannot wait for.
func (p *Proxy) HideSockets() {
	for _, l := range p.listeners {
		l.socket = hiding{l.socket}
	}
}

type hiding struct{ net.Listener }

func (h hiding) Accept() (net.Conn, error) {
	c, err := h.Listener.Accept()
	return struct{ net.Conn }{c}, err
}
