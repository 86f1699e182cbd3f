package proxy

import (
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/topology"
	"github.com/mysqlrw/mysqlrw/route"
)

// TestStation_slowStart: a server that comes back gets its share little by little, and one that was there from the start
// at once.
func TestStation_slowStart(t *testing.T) {
	t.Parallel()
	s, o := &Server{Name: "r", Weight: 100, PrimaryWeight: 7}, &Options{SlowStart: 10 * time.Second, Listeners: make([]Listener, 1)}
	var all stations
	one := all.of(s, o)
	one.configure(s, o)
	at := time.Unix(1000, 0)
	is := func(what string, after time.Duration, want int) {
		t.Helper()
		if got := one.shares.Load().weight(route.Replica, at.Add(after)); got != want {
			t.Errorf("%s, after %v: weight %d, want %d", what, after, got, want)
		}
	}
	changes := func(old, now route.State) {
		one.heard(&topology.Event{Kind: topology.StateChanged, Old: old.String(), New: now.String(), At: at})
	}
	changes(route.Unproven, route.Online)
	is("from the start", 0, 100)
	changes(route.Online, route.Offline)
	changes(route.Offline, route.Unproven)
	changes(route.Unproven, route.Online)
	is("back", 0, 1)
	is("back", 2500*time.Millisecond, 25)
	is("back", 10*time.Second, 100)
	is("back, and the clock is set", -time.Hour, 1)
	if got := one.shares.Load().weight(route.Primary, at); got != 7 {
		t.Errorf("as the primary it has weight %d", got)
	}
	changes(route.Unproven, route.Online) // what the next list's monitor finds out
	is("a reload later", time.Minute, 100)
	one.set(0, 0, true, at)
	is("drained", time.Minute, 0)
	one.configure(s, o)
	is("drained, a reload later", time.Minute, 0)
	one.set(100, 7, false, at.Add(time.Minute))
	is("brought back", time.Minute+5*time.Second, 50)
	is("brought back", 2*time.Minute, 100)
	if again := all.of(s, o); again != one {
		t.Error("the next list has another station for the same name")
	}
}

// TestTally_place: no two kinds of statements are counted in one place.
func TestTally_place(t *testing.T) {
	t.Parallel()
	seen := map[int]bool{}
	const endpoints = 3
	tally := newTally(endpoints)
	for e := range endpoints {
		for _, role := range []route.Role{route.Replica, route.Primary} {
			for level := range levelKinds {
				for why := range reasons {
					at := place(e, role, level, route.Reason(why))
					if seen[at] || at >= len(tally.ran) {
						t.Fatalf("%d is the place of two, or none", at)
					}
					seen[at] = true
				}
			}
		}
	}
}
