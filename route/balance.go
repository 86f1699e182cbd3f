package route

import "math/bits"

// Rotation is the state of WeightedRoundRobin and of the read-only endpoint's
// round robin: whose turn it is. It belongs to one endpoint and is not safe for
// concurrent use; its owner locks. The zero value starts every server at its
// own weight, so the heaviest comes first.
//
// Only servers that can take a read take part in its turn; the others keep
// their place. So the weights hold exactly among those that are there, and a
// server that was away for long is not owed the turns that it missed. A new
// list of servers or new weights start the rotation anew.
//
// The sum of all weights must not exceed an int.
type Rotation struct {
	slots []slot // as Snapshot.Servers
	turn  int    // the index at which the next connection's search begins
}

// slot is one server's place in the rotation.
type slot struct {
	name            string
	weight, current int
}

// Pick returns the index in Snapshot.Servers of the readable candidate that
// takes the read by the policy's balancer, or -1 if none is readable. A server
// of weight 0 is picked only if it is alone.
//
// LeastActive looks at Server.Active and neither reads nor changes the
// rotation, which may then be nil. cands are what Candidates returned for the
// same snapshot, in that order.
func Pick(cands []Candidate, s *Snapshot, p *Policy, r *Rotation) int {
	if p.Balancer == WeightedRoundRobin {
		return r.next(cands, s)
	}
	best := -1
	for _, c := range cands {
		if c.Readable() && (best < 0 || lessLoaded(&s.Servers[c.Server], &s.Servers[best])) {
			best = c.Server
		}
	}
	return best
}

// lessLoaded tells whether a has less active/weight than b, exactly. A server
// without weight is more loaded than any that has one.
func lessLoaded(a, b *Server) bool {
	if a.Weight <= 0 || b.Weight <= 0 {
		return a.Weight > 0
	}
	ah, al := bits.Mul64(uint64(max(a.Active, 0)), uint64(b.Weight))
	bh, bl := bits.Mul64(uint64(max(b.Active, 0)), uint64(a.Weight))
	return ah < bh || ah == bh && al < bl
}

// next takes one turn: pick the highest current weight, give everyone that
// takes part its weight, take the sum of these from the one picked.
func (r *Rotation) next(cands []Candidate, s *Snapshot) int {
	r.follow(s)
	best, spare, sum := -1, -1, 0
	for _, c := range cands {
		if !c.Readable() {
			continue
		}
		at := &r.slots[c.Server]
		if at.weight <= 0 {
			spare = c.Server
			continue
		}
		sum += at.weight
		if best < 0 || at.current > r.slots[best].current {
			best = c.Server
		}
	}
	if best < 0 {
		return spare
	}
	for _, c := range cands {
		if at := &r.slots[c.Server]; c.Readable() && at.weight > 0 {
			at.current += at.weight
		}
	}
	r.slots[best].current -= sum
	return best
}

// follow starts anew if the servers or their weights are not those of the
// previous turn.
func (r *Rotation) follow(s *Snapshot) {
	same := len(r.slots) == len(s.Servers)
	for i := 0; same && i < len(s.Servers); i++ {
		same = r.slots[i].name == s.Servers[i].Name && r.slots[i].weight == s.Servers[i].Weight
	}
	if same {
		return
	}
	r.slots = r.slots[:0]
	for i := range s.Servers {
		sv := &s.Servers[i]
		r.slots = append(r.slots, slot{name: sv.Name, weight: sv.Weight, current: sv.Weight})
	}
}

// PickConnection returns the index in Snapshot.Servers of the server of a
// client connection of a ReadOnly endpoint, or -1 if none is readable. The
// connection stays on the server named held as long as that is readable, also
// from another zone; otherwise, and if held is empty, it gets the next one in
// turn, whatever its weight. With weight 0 a server loses its connections.
//
// cands are of a query without a position: a replica that is behind for one
// read is no reason to move the connection.
func PickConnection(cands []Candidate, s *Snapshot, r *Rotation, held string) int {
	first, next := -1, -1
	for _, c := range cands {
		if held != "" && s.Servers[c.Server].Name == held && (c.Readable() || c.Why == WhyOtherZone) {
			return c.Server
		}
		if !c.Readable() {
			continue
		}
		if first < 0 {
			first = c.Server
		}
		if next < 0 && c.Server >= r.turn {
			next = c.Server
		}
	}
	if next < 0 {
		next = first
	}
	if next >= 0 {
		r.turn = next + 1
	}
	return next
}
