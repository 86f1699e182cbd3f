package proxy

import (
	"sort"
	"sync/atomic"
	"time"

	"github.com/mysqlrw/mysqlrw/route"
)

// tally counts what one server did. Every count only grows.
type tally struct {
	ran      []atomic.Uint64 // statements; see place
	failed   atomic.Uint64   // those that ended with an error of the server
	prepared atomic.Uint64   // preparations, those that the proxy repeats on another connection included
	repeated atomic.Uint64   // statements whose answer no client got
	own      [stepKinds]atomic.Uint64
	took     [2]durations // statements that may go to a replica, and the others
}

// Sizes of tally.ran, for each endpoint.
const (
	roles      = 2
	levelKinds = int(route.Strong) + 2 // the last one is for statements that have no level
	reasons    = 256
)

func newTally(endpoints int) tally {
	return tally{ran: make([]atomic.Uint64, endpoints*roles*levelKinds*reasons)}
}

// place is where statements are counted that ran for the same reason.
func place(endpoint int, role route.Role, level int, why route.Reason) int {
	return ((endpoint*roles+int(role&1))*levelKinds+level)*reasons + int(why)
}

// noLevel is the level of what is no read.
const noLevel = levelKinds - 1

// count takes in a statement that a server has answered.
func (t *tally) count(endpoint int, role route.Role, req *request, d *route.Decision, failed bool, took time.Duration) {
	level, kind := noLevel, 1
	if req.st.Target == route.ToReplica {
		kind = 0
		if d.Target != route.ToHolder {
			level = int(d.Level)
		}
	}
	t.ran[place(endpoint, role, level, d.Reason())].Add(1)
	if failed {
		t.failed.Add(1)
	}
	t.took[kind].add(took)
}

// durations is a histogram.
type durations struct {
	in  [len(bounds) + 1]atomic.Uint64 // of those up to the bound with the same index and over the one before
	sum atomic.Int64                   // nanoseconds
}

// bounds are the same for all durations.
var bounds = [...]time.Duration{
	50 * time.Microsecond, 100 * time.Microsecond, 150 * time.Microsecond, 200 * time.Microsecond, 300 * time.Microsecond,
	500 * time.Microsecond, 700 * time.Microsecond, 1 * time.Millisecond, 1500 * time.Microsecond, 2 * time.Millisecond,
	3 * time.Millisecond, 5 * time.Millisecond, 7 * time.Millisecond, 10 * time.Millisecond, 15 * time.Millisecond,
	20 * time.Millisecond, 30 * time.Millisecond, 50 * time.Millisecond, 70 * time.Millisecond, 100 * time.Millisecond,
	200 * time.Millisecond, 500 * time.Millisecond, 1 * time.Second, 2 * time.Second, 5 * time.Second, 10 * time.Second,
	30 * time.Second, 60 * time.Second,
}

func (d *durations) add(took time.Duration) {
	took = max(took, 0)
	d.in[sort.Search(len(bounds), func(i int) bool { return bounds[i] >= took })].Add(1)
	d.sum.Add(int64(took))
}

// Durations is how long statements took.
type Durations struct {
	// UpTo has for each of Bounds how many took no longer, and Count how many there were.
	UpTo  []uint64
	Count uint64
	Sum   time.Duration
}

// Bounds returns the bounds of all Durations, in rising order. It is the caller's.
func Bounds() []time.Duration { return append([]time.Duration(nil), bounds[:]...) }

func (d *durations) read() Durations {
	all := Durations{UpTo: make([]uint64, len(bounds)), Sum: time.Duration(d.sum.Load())}
	for i := range d.in {
		all.Count += d.in[i].Load()
		if i < len(bounds) {
			all.UpTo[i] = all.Count
		}
	}
	return all
}
