package pool

import "time"

// idleList is the idle connections of one kind, from the one used last to the one idle longest.
type idleList[K comparable, M Member] struct {
	first, last *Handle[K, M]
}

func (p *Pool[K, M]) put(h *Handle[K, M]) {
	l := p.idle[h.key]
	if l == nil {
		l = &idleList[K, M]{}
		p.idle[h.key] = l
	}
	h.idle, h.prev, h.next = true, nil, l.first
	if l.first != nil {
		l.first.prev = h
	} else {
		l.last = h
	}
	l.first = h
	p.idleCount++
}

// take removes an idle connection from its list. An empty list goes too, since accounts come and go.
func (p *Pool[K, M]) take(h *Handle[K, M]) {
	l := p.idle[h.key]
	if h.prev != nil {
		h.prev.next = h.next
	} else {
		l.first = h.next
	}
	if h.next != nil {
		h.next.prev = h.prev
	} else {
		l.last = h.prev
	}
	if l.first == nil && len(p.idle) > 64 {
		delete(p.idle, h.key)
	}
	h.idle, h.next, h.prev = false, nil, nil
	p.idleCount--
}

// find takes the best idle connection for a session, or says that one may be opened, which it has
// then counted.
func (p *Pool[K, M]) find(key K, tag any) (h *Handle[K, M], open bool) {
	now := p.o.Now()
	l := p.idle[key]
	if l != nil {
		if h = l.free(tag); h != nil {
			p.take(h)
			return h, false
		}
		if h = p.lent(l, now); h != nil {
			p.take(h)
			return h, false
		}
	}
	room := now.After(p.fullUntil) && p.opening < maxOpening
	if p.open < p.limits.Max && room {
		p.open++
		p.opening++
		return nil, true
	}
	for _, keep := range [...]Keep{Soft, Sticky, Firm} {
		if h = l.oldest(keep); h != nil && (keep != Firm || now.Sub(h.since) >= keepAfter) {
			p.take(h)
			return h, false
		}
	}
	if !room {
		return nil, false
	}
	if h = p.other(key, now); h != nil { // of another kind: its place is needed
		p.take(h)
		_ = h.Member.Close()
		p.opening++
		return nil, true
	}
	return nil, false
}

// free returns a connection without owner, one with the tag if there is one among the first.
func (l *idleList[K, M]) free(tag any) (found *Handle[K, M]) {
	h := l.first
	for n := 0; h != nil && (n < looked || found == nil); n++ {
		if h.keep == Free {
			if h.tag == tag {
				return h
			}
			if found == nil {
				found = h
			}
		}
		h = h.next
	}
	return found
}

// lent returns a connection that its owner can do without, one of those that are idle longest.
func (p *Pool[K, M]) lent(l *idleList[K, M], now time.Time) *Handle[K, M] {
	h := l.last
	for n := 0; h != nil && n < looked && now.Sub(h.since) >= stealAfter; n++ {
		if h.keep == Soft && p.movable(h) {
			return h
		}
		h = h.prev
	}
	return nil
}

func (p *Pool[K, M]) movable(h *Handle[K, M]) bool {
	return h.keep == Free || p.o.Movable == nil || p.o.Movable(h.Member)
}

// oldest returns the connection of the degree that was idle longest.
func (l *idleList[K, M]) oldest(keep Keep) *Handle[K, M] {
	if l == nil {
		return nil
	}
	for h := l.last; h != nil; h = h.prev {
		if h.keep == keep {
			return h
		}
	}
	return nil
}

// other returns the connection of another kind that is missed least.
func (p *Pool[K, M]) other(key K, now time.Time) (found *Handle[K, M]) {
	for k, l := range p.idle {
		if k == key {
			continue
		}
		for _, keep := range [...]Keep{Free, Soft, Sticky, Firm} {
			h := l.oldest(keep)
			if h == nil || keep == Firm && now.Sub(h.since) < keepAfter {
				continue
			}
			if found == nil || h.keep < found.keep || h.keep == found.keep && h.since.Before(found.since) {
				found = h
			}
			break
		}
	}
	return found
}
