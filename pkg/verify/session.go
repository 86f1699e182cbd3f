package verify

import "time"

// finding is a set of what is wrong with one read.
type finding uint8

const (
	ownWriteMissing finding = 1 << iota
	wentBack
	outOfOrder
	stale
	inverted // a newer number had been read by somebody already
	invented // nobody has begun to write the number
)

// session is what one session is entitled to see.
type session struct {
	id   int
	own  []write // by register: its newest write that returned; number 0 is none
	seen []sight // by register: its newest read; number -1 is none
	past newest
}

// newest is the seen write that began last: everything that had returned
// before that is the session's past.
type newest struct {
	write    write
	register int
	sight    sight // how it was seen
}

func newSession(id, registers int) *session {
	s := &session{id: id, own: make([]write, registers), seen: make([]sight, registers)}
	for i := range s.seen {
		s.seen[i].number = absent
	}
	s.past.write.began = -1
	return s
}

// verdict is what was found of one read.
type verdict struct {
	found     finding
	staleness time.Duration // how long ago the first write that it missed had returned
	own       bool          // there was a write of the session to be seen
	missed    write         // for stale: the first that it missed
	earlier   write         // for outOfOrder: what is not seen, though a later one was
}

// judgeRead compares what a read saw with what it had to see, and takes it into
// what the session and everybody else have seen.
func (s *session) judgeRead(r *register, before look, got sight) verdict {
	r.mu.Lock()
	defer r.mu.Unlock()
	n := got.number
	v := verdict{own: s.own[r.id].number > 0}
	if v.own && n < s.own[r.id].number {
		v.found |= ownWriteMissing
	}
	if n < s.seen[r.id].number {
		v.found |= wentBack
	}
	if v.found == 0 && s.past.write.began >= 0 {
		if w := r.missed(n, r.issued); w != nil && w.returned < s.past.write.began {
			v.found, v.earlier = outOfOrder, *w
		}
	}
	switch {
	case n < before.acked:
		v.found |= stale
		if w := r.missed(n, before.acked); w != nil {
			v.missed, v.staleness = *w, max(0, got.began-w.returned)
		}
	case n < before.shown:
		v.found |= inverted
	case n > r.issued:
		v.found |= invented
		return v
	}
	s.takeIn(r, got)
	return v
}

// takeIn notes a read that returned. The caller holds the register.
func (s *session) takeIn(r *register, got sight) {
	if got.number > s.seen[r.id].number {
		s.seen[r.id] = got
	}
	if got.number > r.shown {
		r.shown, r.by = got.number, got
	}
	if w := r.find(got.number); w != nil && w.number > initial && w.began > s.past.write.began {
		s.past = newest{write: *w, register: r.id, sight: got}
	}
}

// wrote notes a write of the session that returned and has taken effect.
func (s *session) wrote(r *register, w write, at time.Duration) {
	r.returnedOf(w, at)
	w.returned = at
	s.own[r.id] = w // numbers are given out in their order
}

// overtaken notes a write that found a higher number. It has changed nothing, so
// that the session has nothing to see of it, and no position in a log to wait
// for. But whoever comes later must not see less than it did.
func (s *session) overtaken(r *register, w write, at time.Duration) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if w.number > r.shown {
		r.shown, r.by = w.number, sight{number: w.number, session: s.id, began: w.began, returned: at, byWrite: true}
	}
}
