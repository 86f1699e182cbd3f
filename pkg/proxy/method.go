package proxy

import (
	"context"
	"time"

	"github.com/mysqlrw/mysqlrw/route"
)

// holdBack lets time pass, for causal-method sleep.
func (s *session) holdBack(d time.Duration) {
	timer := time.NewTimer(d)
	defer timer.Stop()
	s.aside()
	select {
	case <-timer.C:
	case <-s.ctx.Done():
	}
}

// lookedAgain makes a decision again after the replicas were asked anew whether they have a delay, for
// causal-method no-delay. It waits for the first one that has none, and not for longer than for a position.
func (s *session) lookedAgain(req *request, d route.Decision) route.Decision {
	limit := s.policy.SessionTimeout
	if d.Level > route.SessionLevel {
		limit = s.policy.GlobalTimeout
	}
	for i := range s.snap.Servers {
		if s.snap.Servers[i].Role == route.Replica {
			s.cluster.monitor.Recheck(i)
		}
	}
	ctx, cancel := context.WithTimeout(s.ctx, limit)
	defer cancel()
	s.aside()
	_ = s.cluster.monitor.Wait(ctx, func(snap *route.Snapshot) bool { return snap.NoDelaySince(req.arrived) })
	req.current = &standing{}
	return s.decideOnce(req)
}
