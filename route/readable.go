package route

import (
	"math"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
)

// Exclusion says why a server may not take a read, or why it may. The values
// are ordered from the firmest no to the plain yes. The zero value is a no.
type Exclusion uint8

// The exclusions. What a server is comes before what the read asks for: a
// server that could take other reads says what this one has against it.
const (
	// WhyUnproven: nobody has seen it replicate yet (State Unproven).
	WhyUnproven Exclusion = iota
	// WhyOffline: it cannot be reached.
	WhyOffline
	// WhyBroken: its replication is stopped, connecting or in error.
	WhyBroken
	// WhyLagUnknown: there is a limit, and how far it is behind is not known.
	WhyLagUnknown
	// WhyLagOverLimit: it is further behind than the policy or the read allows.
	WhyLagOverLimit
	// WhyWeightZero: it drains. Nothing overrides that.
	WhyWeightZero
	// WhyTwoPrimaries: it is one of several primaries that are online, and
	// nobody can say whose data is right.
	WhyTwoPrimaries
	// WhyReadOnlyEndpoint: it is the primary, and the endpoint never reads that.
	WhyReadOnlyEndpoint
	// WhyReplicaOnly: it is the primary, and the read asks for a replica.
	WhyReplicaOnly
	// WhyPrimaryNotRead: it is the primary, has weight 0, and is not needed.
	WhyPrimaryNotRead
	// WhyNotAskedNode: the read asks for another server.
	WhyNotAskedNode
	// WhyNotChosen: reads at Weak all run on another one (Snapshot.Chosen).
	WhyNotChosen
	// WhyStrong: it is a replica, and the level is Strong.
	WhyStrong
	// WhyBehindPosition: it is not known to have what the read must see. A
	// replica may be waited for (SmallestGap).
	WhyBehindPosition
	// WhyOtherZone: a server of the proxy's own zone can take the read.
	WhyOtherZone

	// WhyLastResort: it is the primary, and no replica can take the read.
	WhyLastResort
	// WhyRescuedBroken: replication is broken, and min_reserved keeps it
	// readable.
	WhyRescuedBroken
	// WhyRescuedLagging: its lag is over the limit or unknown, and min_reserved
	// keeps it readable.
	WhyRescuedLagging
	// WhyReadable: nothing stands against it.
	WhyReadable
)

var exclusionNames = [...]string{
	WhyUnproven:         "unproven",
	WhyOffline:          "offline",
	WhyBroken:           "replication-broken",
	WhyLagUnknown:       "lag-unknown",
	WhyLagOverLimit:     "lag-over-limit",
	WhyWeightZero:       "weight-zero",
	WhyTwoPrimaries:     "two-primaries",
	WhyReadOnlyEndpoint: "read-only-endpoint",
	WhyReplicaOnly:      "replica-only",
	WhyPrimaryNotRead:   "primary-not-read",
	WhyNotAskedNode:     "not-asked-node",
	WhyNotChosen:        "not-chosen",
	WhyStrong:           "strong-read",
	WhyBehindPosition:   "behind-position",
	WhyOtherZone:        "other-zone",
	WhyLastResort:       "last-resort",
	WhyRescuedBroken:    "rescued-broken",
	WhyRescuedLagging:   "rescued-lagging",
	WhyReadable:         "readable",
}

// String returns the reason as it is printed. The words are part of the output
// contract.
func (e Exclusion) String() string {
	if int(e) < len(exclusionNames) {
		return exclusionNames[e]
	}
	return "unknown"
}

// Candidate is one server as one read sees it.
type Candidate struct {
	// Server is the index in Snapshot.Servers.
	Server int
	// Why says whether it may take the read: Readable reads it.
	Why Exclusion
	// Behind is set where the server is not known to have the position that the
	// read requires. A read may run there only after a wait for the position;
	// that holds for a primary that is the last resort, too.
	Behind bool
}

// Readable tells whether the server may take the read.
func (c Candidate) Readable() bool { return c.Why >= WhyLastResort }

// Query is what one read asks of the server that runs it. The zero value is a
// read at level Eventual that asks for nothing.
type Query struct {
	// Level is what the read is promised.
	Level Level
	// MaxStaleness bounds the lag of this read; Policy.MaxLag holds as well.
	// 0 is no bound of its own; at level Weak it is Policy.MaxStaleness.
	MaxStaleness time.Duration
	// Require is the position that the read must see, if Required. Without one
	// a read at Global or SCC is served by no replica: it has not been asked
	// yet what the read must see. At the other levels there is then nothing
	// that it must see.
	Require  gtid.Value
	Required bool
	// NoDelaySince is the moment after which a replica must have had no delay; zero for any.
	NoDelaySince time.Time
	// Node is the name of the only server that may run the read; empty for any.
	// All checks hold for it but the primary's weight of 0. Where it cannot
	// take the read nobody does: a caller that would rather have an answer asks
	// again without it.
	Node string
	// ReplicaOnly forbids the primary, also as the last resort.
	ReplicaOnly bool

	why  Reason // that such a server is chosen, if not the usual ones
	stay int    // one more than the server that has been chosen already
}

// maxLag returns the limit that holds for the read, 0 for none.
func (q *Query) maxLag(p *Policy) time.Duration {
	stale := q.MaxStaleness
	if stale <= 0 && q.Level == Weak {
		stale = p.MaxStaleness
	}
	if stale <= 0 || p.MaxLag > 0 && p.MaxLag < stale {
		return max(p.MaxLag, 0)
	}
	return stale
}

// chosen tells whether one server only may run the read.
func (q *Query) chosen(s *Snapshot) bool {
	return s.Choose && q.Level == Weak && q.Node == "" && !q.ReplicaOnly
}

// rescuable tells whether min_reserved applies. It gives up freshness, so it
// must not for a read that was promised some.
func (q *Query) rescuable() bool {
	return q.Level == Eventual && q.MaxStaleness <= 0 && !q.Required
}

// Candidates returns one candidate for each server of the snapshot, in its
// order. It writes into dst's storage from the start and allocates nothing if
// that is large enough.
//
// A replica is read if its weight is not 0, it is Online and its lag is known
// and within the limit. Without a limit the lag counts for nothing, known or
// not: 0 turns the check off. The primary's lag is never looked at. It is read
// by its weight; at weight 0, or if it is not known to have the required
// position, only when no replica can be read.
//
// Where all replicas are behind the required position the primary is the last
// resort already: who may wait asks SmallestGap before taking it.
func Candidates(dst []Candidate, s *Snapshot, p *Policy, q Query) []Candidate {
	dst = dst[:0]
	limit, primary := q.maxLag(p), s.Primary()
	for i := range s.Servers {
		sv := &s.Servers[i]
		why := sv.replicaWhy(limit)
		if sv.Role == Primary {
			why = sv.primaryWhy(i == primary, p, &q)
		}
		dst = append(dst, Candidate{Server: i, Why: why})
	}
	if q.rescuable() {
		rescue(dst, s, p.MinReserved)
	}
	for i := range dst {
		dst[i].narrow(s, &q)
	}
	preferZone(dst, s, p.Zone)
	lastResort(dst, s)
	return dst
}

// stateWhy returns what stands against reading a server that is not Online.
func (sv *Server) stateWhy() Exclusion {
	switch sv.State {
	case Broken:
		return WhyBroken
	case Offline:
		return WhyOffline
	}
	return WhyUnproven
}

func (sv *Server) replicaWhy(limit time.Duration) Exclusion {
	switch {
	case sv.Weight <= 0:
		return WhyWeightZero
	case sv.State != Online:
		return sv.stateWhy()
	case limit == 0:
		return WhyReadable
	case !sv.LagKnown:
		return WhyLagUnknown
	case sv.Lag > limit:
		return WhyLagOverLimit
	}
	return WhyReadable
}

func (sv *Server) primaryWhy(only bool, p *Policy, q *Query) Exclusion {
	switch {
	case p.Endpoint == ReadOnly:
		return WhyReadOnlyEndpoint
	case q.ReplicaOnly:
		return WhyReplicaOnly
	case sv.State != Online:
		return sv.stateWhy()
	case !only:
		return WhyTwoPrimaries
	case sv.Weight <= 0:
		return WhyPrimaryNotRead
	}
	return WhyReadable
}

// rescue keeps the given number of replicas readable. An Exclusion that is
// further up is in better state: lagging, then of unknown lag, then broken.
func rescue(cands []Candidate, s *Snapshot, reserved int) {
	for i := range cands {
		if cands[i].Readable() && s.Servers[cands[i].Server].Role == Replica {
			reserved--
		}
	}
	for ; reserved > 0; reserved-- {
		best := -1
		for i := range cands {
			sv := &s.Servers[cands[i].Server]
			why := cands[i].Why
			if sv.Role != Replica || why < WhyBroken || why > WhyLagOverLimit {
				continue
			}
			if best < 0 || why > cands[best].Why ||
				why == cands[best].Why && sv.Weight > s.Servers[cands[best].Server].Weight {
				best = i
			}
		}
		switch {
		case best < 0:
			return
		case cands[best].Why == WhyBroken:
			cands[best].Why = WhyRescuedBroken
		default:
			cands[best].Why = WhyRescuedLagging
		}
	}
}

// narrow takes out a server that the read does not want, of those that could
// take other reads.
func (c *Candidate) narrow(s *Snapshot, q *Query) {
	sv := &s.Servers[c.Server]
	if !c.Readable() && c.Why != WhyPrimaryNotRead {
		return
	}
	c.Behind = sv.behind(s, q)
	primary := sv.Role == Primary
	switch {
	case q.Node != "" && q.Node != sv.Name:
		c.Why = WhyNotAskedNode
	case q.chosen(s) && c.Server != s.Chosen.Server:
		c.Why = WhyNotChosen
	case primary && (q.Node != "" || q.Level >= Strong):
		c.Why = WhyReadable
	case q.Level >= Strong:
		c.Why = WhyStrong
	case c.Behind && c.Why != WhyPrimaryNotRead:
		c.Why = WhyBehindPosition
	}
}

// behind tells whether a server is not known to have what the read must see.
func (sv *Server) behind(s *Snapshot, q *Query) bool {
	if sv.Role == Replica && !q.NoDelaySince.IsZero() && sv.NoDelayAt.Before(q.NoDelaySince) {
		return true
	}
	if !q.Required {
		return sv.Role == Replica && (q.Level == Global || q.Level == SCC)
	}
	if sv.Role == Primary && s.CurrentKnown && s.Current.Has(q.Require) {
		return !sv.Position.Has(s.Ahead)
	}
	return !sv.Position.Has(q.Require)
}

// preferZone leaves only the zone's servers, unless a server elsewhere is in
// better state than all of them: a rescued replica next door must not take the
// reads of a fresh one that is further away.
func preferZone(cands []Candidate, s *Snapshot, zone string) {
	if zone == "" {
		return
	}
	near, far := WhyOtherZone, WhyOtherZone
	for _, c := range cands {
		if s.Servers[c.Server].Zone == zone {
			near = max(near, c.Why)
		} else {
			far = max(far, c.Why)
		}
	}
	if near < far {
		return
	}
	for i := range cands {
		if cands[i].Readable() && s.Servers[cands[i].Server].Zone != zone {
			cands[i].Why = WhyOtherZone
		}
	}
}

func lastResort(cands []Candidate, s *Snapshot) {
	primary := -1
	for i, c := range cands {
		switch {
		case c.Readable():
			return
		case c.Why == WhyPrimaryNotRead, c.Why == WhyBehindPosition && s.Servers[c.Server].Role == Primary:
			primary = i
		}
	}
	if primary >= 0 {
		cands[primary].Why = WhyLastResort
	}
}

// hopeless is the number of budgets of lag from which a wait is hopeless. A
// source that idles most of the time is caught up with many times faster than
// it wrote, and the lag may be one second old or have a resolution of one.
const hopeless = 100

// slack is the number of transactions by which two replicas may differ and the
// less loaded one is better: what is known of a replica is a moment old, and the
// one that was asked last must not get all reads for that.
const slack = 64

// SmallestGap returns the index in Snapshot.Servers of the replica to wait for,
// of those that only lack the required position: the one that lacks the fewest
// transactions, or is less loaded and lacks hardly more; then the first. It returns -1 if no
// wait can be expected to end within the budget: the budget is 0, no position
// is required, all that lack it are excluded for more than that, are of the
// other kind of server, or are over 100 budgets behind, unless the read needs some tables only.
//
// cands are what Candidates returned for the same snapshot and query.
func SmallestGap(cands []Candidate, s *Snapshot, q Query, budget time.Duration) int {
	best, gap, smallest := -1, uint64(0), uint64(math.MaxUint64)
	if budget <= 0 || !q.Required {
		return best
	}
	near := func(c *Candidate) (n uint64, ok bool) {
		sv := &s.Servers[c.Server]
		late := sv.LagKnown && sv.Lag/hopeless > budget && q.why != TablesCaughtUp // or it may be late with other tables
		if c.Why != WhyBehindPosition || sv.Role != Replica || late {
			return 0, false
		}
		// A number that is not exact is the largest there is, which will do.
		n, _, err := sv.Position.MissingCount(q.Require)
		return n, err == nil
	}
	for i := range cands {
		if n, ok := near(&cands[i]); ok {
			smallest = min(smallest, n)
		}
	}
	for i := range cands {
		n, ok := near(&cands[i])
		if !ok {
			continue
		}
		server := cands[i].Server
		switch {
		case n-smallest > slack:
			continue
		case best >= 0 && lessLoaded(&s.Servers[best], &s.Servers[server]):
			continue
		case best < 0, n < gap, lessLoaded(&s.Servers[server], &s.Servers[best]):
			best, gap = server, n
		}
	}
	return best
}
