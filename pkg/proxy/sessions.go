package proxy

import (
	"context"
	"sync"

	"github.com/mysqlrw/mysqlrw/pkg/deadline"
)

// sessions are all clients that are there.
type sessions struct {
	mu    sync.Mutex
	all   map[uint32]*session
	users map[string]int
	last  uint32
	gone  chan struct{} // closed when the last one goes, if somebody waits for that
}

// newID returns a number that no client has.
func (all *sessions) newID() uint32 {
	all.mu.Lock()
	defer all.mu.Unlock()
	for {
		all.last = (all.last + 1) % (1<<32 - firstID)
		if id := firstID + all.last; all.all[id] == nil {
			return id
		}
	}
}

// add takes a session in, or notes that it has another user now.
func (all *sessions) add(s *session) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.all == nil {
		all.all, all.users = map[uint32]*session{}, map[string]int{}
	}
	if all.all[s.id] != nil {
		all.leave(s.counted)
	}
	all.all[s.id] = s
	s.counted = s.user
	all.users[s.user]++
}

func (all *sessions) leave(user string) {
	if all.users[user]--; all.users[user] == 0 {
		delete(all.users, user)
	}
}

func (all *sessions) remove(s *session) {
	all.mu.Lock()
	defer all.mu.Unlock()
	if all.all[s.id] == nil {
		return
	}
	delete(all.all, s.id)
	all.leave(s.counted)
	if len(all.all) == 0 && all.gone != nil {
		close(all.gone)
		all.gone = nil
	}
}

func (all *sessions) find(id uint64) *session {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.all[uint32(id)]
}

// withIdentity returns the session that was told this CONNECTION_ID() of the primary, or 0.
func (all *sessions) withIdentity(id uint64) uint64 {
	all.mu.Lock()
	defer all.mu.Unlock()
	for _, s := range all.all {
		if s.told.Load() == id {
			return uint64(s.id)
		}
	}
	return 0
}

func (all *sessions) len() int {
	all.mu.Lock()
	defer all.mu.Unlock()
	return len(all.all)
}

func (all *sessions) ofUser(user string) int {
	all.mu.Lock()
	defer all.mu.Unlock()
	return all.users[user]
}

// each calls do for every session, without a lock.
func (all *sessions) each(do func(*session)) {
	all.mu.Lock()
	list := make([]*session, 0, len(all.all))
	for _, s := range all.all {
		list = append(list, s)
	}
	all.mu.Unlock()
	for _, s := range list {
		do(s)
	}
}

// empty returns when no session is left, or with the cause of ctx.
func (all *sessions) empty(ctx context.Context) error {
	all.mu.Lock()
	if len(all.all) == 0 {
		all.mu.Unlock()
		return nil
	}
	if all.gone == nil {
		all.gone = make(chan struct{})
	}
	gone := all.gone
	all.mu.Unlock()
	select {
	case <-gone:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// wake has an idle session go over to the list of servers that a reload has brought.
func (s *session) wake() {
	if s.busy.Load() || !s.drainable.Load() {
		return
	}
	s.woken.Store(true)
	_ = s.client.SetReadDeadline(deadline.Past())
}

// drain ends the session if it is between two commands and has nothing to lose; else it ends itself
// as soon as it is.
func (s *session) drain() {
	if s.busy.Load() || !s.drainable.Load() {
		return
	}
	_ = s.client.SetReadDeadline(deadline.Past())
}
