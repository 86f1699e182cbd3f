package proxy

import (
	"context"
	"errors"
	"sync"
	"time"
)

const (
	// watchEvery is how often is looked for clients that went away while their statement runs.
	watchEvery = 250 * time.Millisecond
	// watchAfter is how long a statement must run for that.
	watchAfter = 200 * time.Millisecond
	// sweepEvery is how often idle connections are looked through.
	sweepEvery = time.Second
	// maxKills is how many statements are killed at a time.
	maxKills = 8
)

// watch ends the statements of clients that are gone, which nobody notices who waits for a server,
// and closes connections that are idle for too long.
func (p *Proxy) watch() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	var swept time.Time
	for {
		select {
		case <-p.ctx.Done():
			return
		case now := <-tick.C:
			p.killGone(now)
			p.endLeft()
			if now.Sub(swept) >= sweepEvery {
				swept = now
				for _, s := range p.cluster.Load().servers {
					s.dialing.pool.Sweep()
				}
			}
		}
	}
}

// killGone kills the statements of clients that are gone, and returns when that is done.
func (p *Proxy) killGone(now time.Time) {
	var gone []*session
	p.sessions.each(func(s *session) {
		since := s.since.Load()
		if since != 0 && now.UnixNano()-since > int64(watchAfter) && s.client.Gone() {
			gone = append(gone, s)
		}
	})
	if len(gone) == 0 {
		return
	}
	var wait sync.WaitGroup
	slots := make(chan struct{}, maxKills)
	for _, s := range gone {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			ctx, cancel := context.WithTimeout(p.ctx, killTimeout)
			defer cancel()
			err := s.stop(ctx, clientGone, nil)
			if err != nil && !errors.Is(err, context.Canceled) {
				p.log.Warn("kill of a query whose client is gone", "session", s.id, "user", s.user, "error", err)
			}
		})
	}
	wait.Wait()
}
