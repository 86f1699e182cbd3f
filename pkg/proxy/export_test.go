package proxy

import (
	"context"

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
