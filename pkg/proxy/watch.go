package proxy

import (
	"context"
	"sync"
	"time"

	"github.com/mysqlrw/mysqlrw/route"
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
			p.killAbandoned()
			p.endLeft()
			if now.Sub(swept) >= sweepEvery {
				swept = now
				p.sweep(p.cluster.Load())
			}
		}
	}
}

// sweep closes idle connections, and has answers carry positions again that have become short.
func (p *Proxy) sweep(c *cluster) {
	limit := p.conf.Load().positionPiggyback()
	for i, s := range c.servers {
		s.dialing.pool.Sweep()
		if w := s.station.shares.Load(); w.changed && w.replica == 0 && c.monitor.Snapshot().Servers[i].Role == route.Replica {
			s.dialing.pool.CloseIdle() // it is to be stopped
		}
		if s.dialing.large.Load() && len(c.monitor.Snapshot().Servers[i].Position.String()) < limit*3/4 {
			s.dialing.large.Store(false)
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
	if len(gone) > 0 {
		ctx, cancel := context.WithTimeout(p.ctx, killTimeout)
		defer cancel()
		p.stopAll(ctx, gone, clientGone)
	}
}

// stopAll kills the statements of sessions, and the sessions, and returns when that is done.
func (p *Proxy) stopAll(ctx context.Context, all []*session, how killed) {
	eachOf(all, func(s *session) {
		if err := s.stop(ctx, how, nil); err != nil && ctx.Err() == nil {
			p.log.Warn("kill of a statement", "why", how.Error(), "session", s.id, "user", s.user, "error", err)
		}
	})
}

// eachOf does something for each of what is to be killed, maxKills at a time.
func eachOf[T any](all []T, do func(T)) {
	var wait sync.WaitGroup
	slots := make(chan struct{}, maxKills)
	for _, one := range all {
		slots <- struct{}{}
		wait.Go(func() {
			defer func() { <-slots }()
			do(one)
		})
	}
	wait.Wait()
}

// abandon has a connection killed on its server that is closed here in the middle of a statement: the
// server would run that to its end.
func (p *Proxy) abandon(l *link) {
	p.left.Lock()
	defer p.left.Unlock()
	p.abandoned = append(p.abandoned, l)
}

// killAbandoned does that, and returns when it is done.
func (p *Proxy) killAbandoned() {
	p.left.Lock()
	all := p.abandoned
	p.abandoned = nil
	p.left.Unlock()
	if len(all) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(p.ctx, killTimeout)
	defer cancel()
	eachOf(all, func(l *link) {
		if err := l.from.kill(ctx, l.account, l.conn.ID(), false); err != nil {
			p.log.Debug("kill of a read that was too late", "server", l.from.Name, "error", err)
		}
	})
}

// cutAll ends what runs, on the servers too as far as that is quick, and every connection.
func (p *Proxy) cutAll() {
	var running []*session
	p.sessions.each(func(s *session) {
		if s.since.Load() != 0 {
			running = append(running, s)
		}
		s.cancel(shutDown)
		_ = s.client.Close()
	})
	ctx, cancel := context.WithTimeout(context.Background(), cutTimeout)
	defer cancel()
	p.stopAll(ctx, running, shutDown)
	for _, s := range p.cluster.Load().servers {
		s.dialing.cut()
	}
}

// cutTimeout is how long the end waits for statements to be killed.
const cutTimeout = time.Second
