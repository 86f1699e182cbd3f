package proxy

import (
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/route"
)

const versionUUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"

func position(t *testing.T, intervals string) gtid.Value {
	t.Helper()
	if intervals == "" {
		return gtid.Value{}
	}
	v, err := gtid.ParseValue(versionUUID + ":" + intervals)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestVersionCompute goes through what happens to replicas, one thing after the other.
func TestVersionCompute(t *testing.T) {
	const out = "out"
	var v version
	now := time.Unix(1_000_000, 0)
	steps := []struct {
		what                    string
		primary, first, second  string // what each has; "out" is a replica that cannot be read
		version, counted, aside string
		age                     time.Duration // -1 for unknown; a step takes a second
	}{
		{"begin", "1-10", "1-8", "1-9", "1-8", "12", "", -1},
		{"they catch up", "1-12", "1-10", "1-11", "1-10", "12", "", time.Second},
		{"one is stuck", "1-20", "1-10", "1-15", "1-10", "12", "", 2 * time.Second},
		{"and left out for it", "1-20", out, "1-17", "1-17", "2", "1 lag-over-limit", 2 * time.Second},
		{"it has a gap", "1-22", out, "1-18:20-22", "1-18", "2", "1 lag-over-limit", 3 * time.Second},
		{"the gap is closed", "1-22", out, "1-22", "1-22", "2", "1 lag-over-limit", 0},
		{"the other one is back", "1-23", "1-20", "1-23", "1-22", "2", "1 behind-position", time.Second},
		{"it is further, but not enough", "1-30", "1-21", "1-25", "1-22", "2", "1 behind-position", 2 * time.Second},
		{"it has come up", "1-30", "1-29", "1-30", "1-29", "12", "", 2 * time.Second},
		{"both are gone", "1-40", out, out, "1-29", "", "1 lag-over-limit,2 lag-over-limit", 3 * time.Second},
		{"and everything is there", "1-40", "1-40", "1-40", "1-40", "12", "", 0},
		{"nothing happens", "1-40", "1-40", "1-40", "1-40", "12", "", 0},
		{"the primary skips a number", "1-40:42-43", "1-40:42-43", "1-40:42", "1-40:42", "12", "", time.Second},
		{"which turns out to have been there", "1-43", "1-40:42-43", "1-40:42-43", "1-40:42", "12", "", 2 * time.Second},
	}
	for _, step := range steps {
		now = now.Add(time.Second)
		snap := &route.Snapshot{Servers: []route.Server{
			{Name: "primary", Role: route.Primary, State: route.Online, Position: position(t, step.primary)},
		}}
		for i, has := range []string{step.first, step.second} {
			one := route.Server{Name: string(rune('1' + i)), State: route.Online, Weight: 1, LagKnown: true}
			if has == out {
				one.Lag = time.Hour
			} else {
				one.Position = position(t, has)
			}
			snap.Servers = append(snap.Servers, one)
		}
		policy := route.DefaultPolicy()
		v.compute(now, snap, route.Candidates(nil, snap, &policy, route.Query{Level: route.Weak}))
		if want := position(t, step.version); !v.position.Equal(want) {
			t.Errorf("%s: version %v, want %v", step.what, v.position, want)
		}
		counted, aside := "", ""
		for _, i := range v.counted {
			counted += snap.Servers[i].Name
		}
		for _, l := range v.leftOut {
			if aside != "" {
				aside += ","
			}
			aside += snap.Servers[l.server].Name + " " + l.why.String()
		}
		if counted != step.counted || aside != step.aside {
			t.Errorf("%s: of %q without %q, want %q and %q", step.what, counted, aside, step.counted, step.aside)
		}
		age, known := v.age(now)
		if !known {
			age = -1
		}
		if age != step.age {
			t.Errorf("%s: age %v, want %v", step.what, age, step.age)
		}
	}
}

// TestVersionSamples: however long a version stands still, what is kept to tell its age is bounded, and the age
// never too small.
func TestVersionSamples(t *testing.T) {
	var v version
	start := time.Unix(1_000_000, 0)
	policy := route.DefaultPolicy()
	replica := number(1)
	at := func(second int) {
		snap := &route.Snapshot{Servers: []route.Server{
			{Name: "primary", Role: route.Primary, State: route.Online, Position: number(1 + second)},
			{Name: "replica", State: route.Online, Weight: 1, LagKnown: true, Position: replica},
		}}
		v.compute(start.Add(time.Duration(second)*time.Second), snap, route.Candidates(nil, snap, &policy, route.Query{Level: route.Weak}))
	}
	for second := range 5000 {
		at(second)
		if len(v.samples) > maxSamples {
			t.Fatalf("%d samples", len(v.samples))
		}
	}
	for _, has := range []int{1, 1000, 2500, 4990} {
		replica = number(has)
		at(5000)
		age, known := v.age(start.Add(5000 * time.Second))
		least := time.Duration(5001-has) * time.Second
		if known && age < least || known && age > least+100*time.Second {
			t.Errorf("at %d of 5001: age %v, %v, want %v or somewhat more", has, age, known, least)
		}
		if has > 1 && !known {
			t.Errorf("at %d of 5001: the age is unknown", has)
		}
	}
}
