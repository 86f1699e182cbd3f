package proxy

import (
	"slices"
	"sync"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/route"
)

// Version is the newest position that every replica that can be read has reached.
type Version struct {
	// Position has no gaps: see gtid.Set.GapFree. It only grows, but for a failover that loses writes. A replica that
	// is new, or was away, and does not have it yet keeps it from growing.
	Position gtid.Value
	// Age is how long ago the primary was last known to have nothing that Position lacks, if AgeKnown.
	Age      time.Duration
	AgeKnown bool
	// Servers are the replicas that count, in the order of the configuration.
	Servers []string
	LeftOut []LeftOut
	// Chosen is the server that reads at weak run on, "" for none at this moment, and Checked says that each of
	// them must see the primary's position because that has just changed.
	Chosen  string
	Checked bool
	// Changes counts how often it has changed.
	Changes uint64
}

// LeftOut is a replica that does not count for a version.
type LeftOut struct {
	Server string
	Why    route.Exclusion // WhyBehindPosition if it does not have the version yet
}

// version keeps the version of a cluster.
type version struct {
	every time.Duration

	mu       sync.Mutex
	at       time.Time // when it was computed
	position gtid.Value
	counted  []int
	leftOut  []leftOut
	// primary is what the primary was known to have last, samples what it was known to have at other times,
	// oldest first. At most the first one is in position.
	primary gtid.Value
	samples []sample
	apart   time.Duration // of samples, but for the last one
}

type leftOut struct {
	server int
	why    route.Exclusion
}

// sample is what the primary was known to have, from its first moment to its last one.
type sample struct {
	at       time.Time // the last one
	position gtid.Value
}

// maxSamples bounds version.samples. Of more, every second one is dropped, and those to come are further apart: ages
// are too large then, never too small.
const maxSamples = 128

// refresh computes the version anew if it is older than its interval.
func (c *cluster) refresh(now time.Time) {
	v := c.reached
	v.mu.Lock()
	defer v.mu.Unlock()
	if !v.at.IsZero() && now.Sub(v.at) < v.every {
		return
	}
	snap, cands := c.weakly(now)
	v.compute(now, snap, cands)
}

// compute takes in what is known of the servers now.
func (v *version) compute(now time.Time, snap *route.Snapshot, cands []route.Candidate) {
	v.at = now
	if i := snap.Primary(); i >= 0 {
		v.primary = snap.Servers[i].Position
		v.sample(now)
	}
	v.counted, v.leftOut = v.counted[:0], v.leftOut[:0]
	var all gtid.Value
	waits := false
	for i := range snap.Servers {
		sv := &snap.Servers[i]
		if sv.Role != route.Replica {
			continue
		}
		why := cands[i].Why
		if why == route.WhyReadable && !sv.Position.Has(v.position) {
			why, waits = route.WhyBehindPosition, true // it was away, or is new
		}
		if why != route.WhyReadable {
			v.leftOut = append(v.leftOut, leftOut{i, why})
			continue
		}
		both, err := sv.Position, error(nil)
		if len(v.counted) > 0 {
			both, err = all.Intersect(sv.Position)
		}
		if err != nil { // it is of another kind, or its places are in another log
			v.leftOut = append(v.leftOut, leftOut{i, route.WhyBehindPosition})
			continue
		}
		all = both
		v.counted = append(v.counted, i)
	}
	if !waits {
		v.grow(all)
	}
	v.forget(now)
}

// grow takes in what all replicas have. They have the old version as well: a number that the primary turns out to
// have had below it is no gap.
func (v *version) grow(all gtid.Value) {
	safe, err := all.GapFree(v.primary)
	if err != nil {
		return
	}
	if both, err := v.position.Union(safe); err == nil {
		v.position = both
	}
}

// sample notes what the primary is known to have now.
func (v *version) sample(now time.Time) {
	n := len(v.samples)
	switch {
	case n > 0 && v.samples[n-1].position.Equal(v.primary):
		v.samples[n-1].at = now
		return
	case n > 1 && now.Sub(v.samples[n-2].at) < v.apart:
		v.samples[n-1] = sample{now, v.primary}
		return
	case n == maxSamples:
		kept := v.samples[:0]
		for i := 0; i < maxSamples; i += 2 {
			kept = append(kept, v.samples[i])
		}
		v.samples = kept
		v.apart = now.Sub(kept[0].at) / time.Duration(len(kept))
	}
	v.samples = append(v.samples, sample{now, v.primary})
}

// forget drops the samples that are in the version, but for the last one of them.
func (v *version) forget(now time.Time) {
	for i := len(v.samples) - 1; i > 0; i-- {
		if v.position.Has(v.samples[i].position) {
			v.samples = slices.Delete(v.samples, 0, i)
			v.apart = now.Sub(v.samples[0].at) / maxSamples
			return
		}
	}
}

// age returns how old the version is.
func (v *version) age(now time.Time) (time.Duration, bool) {
	if len(v.samples) == 0 || !v.position.Has(v.samples[0].position) {
		return 0, false
	}
	return max(now.Sub(v.samples[0].at), 0), true
}

// restart begins anew: what the version has may be lost.
func (v *version) restart() {
	v.mu.Lock()
	defer v.mu.Unlock()
	v.at, v.position, v.primary, v.samples, v.apart = time.Time{}, gtid.Value{}, gtid.Value{}, nil, 0
}

// succeed goes on from the version of the list of servers before.
func (v *version) succeed(old *version) {
	old.mu.Lock()
	position, samples := old.position, slices.Clone(old.samples)
	old.mu.Unlock()
	v.mu.Lock()
	defer v.mu.Unlock()
	if both, err := position.Union(v.position); err == nil {
		v.at, v.position, v.samples = time.Time{}, both, samples
	}
}

// Version returns the version of the servers, no older than Options.VersionInterval, and whether there is one.
func (p *Proxy) Version() (Version, bool) { return p.cluster.Load().versionNow(p.now()) }

func (c *cluster) versionNow(now time.Time) (Version, bool) {
	if c.reached == nil {
		return Version{}, false
	}
	c.refresh(now)
	v := c.reached
	v.mu.Lock()
	defer v.mu.Unlock()
	one := Version{Position: v.position, Changes: c.chosen.changes.Load()}
	one.Age, one.AgeKnown = v.age(now)
	for _, i := range v.counted {
		one.Servers = append(one.Servers, c.servers[i].Name)
	}
	for _, l := range v.leftOut {
		one.LeftOut = append(one.LeftOut, LeftOut{c.servers[l.server].Name, l.why})
	}
	var snap route.Snapshot
	c.monitor.Fill(&snap, now)
	if g := c.chosen.put(&snap, now); snap.Chosen.Server >= 0 {
		one.Chosen = c.servers[snap.Chosen.Server].Name
		_, one.Checked = g.at(now, c.chosen.hold)
	}
	return one, true
}
