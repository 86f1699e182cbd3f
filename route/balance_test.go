package route

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"pgregory.net/rapid"
)

// weighted returns a primary and replicas of these weights, all readable.
func weighted(weights ...int) *Snapshot {
	s := servers(len(weights) - 1)
	for i, w := range weights {
		s.Servers[i].Weight = w
	}
	return s
}

// pick computes the candidates of an eventual read and picks one.
func pick(s *Snapshot, p *Policy, r *Rotation) int {
	return Pick(Candidates(nil, s, p, Query{}), s, p, r)
}

func currents(r *Rotation) []int {
	var out []int
	for _, at := range r.slots {
		out = append(out, at.current)
	}
	return out
}

// turns picks n times and writes the names down.
func turns(s *Snapshot, r *Rotation, n int) string {
	var names []string
	for range n {
		i := pick(s, &Policy{Balancer: WeightedRoundRobin}, r)
		if i < 0 {
			names = append(names, "-")
			continue
		}
		names = append(names, s.Servers[i].Name)
	}
	return strings.Join(names, " ")
}

func TestLeastActiveSequence(t *testing.T) {
	s, p := weighted(100, 200, 200), &Policy{}
	steps := []struct {
		ratios string // before
		want   string
		active [3]int // after
	}{
		{"0.000 0.000 0.000", "P", [3]int{1, 0, 0}},
		{"0.010 0.000 0.000", "R1", [3]int{1, 1, 0}},
		{"0.010 0.005 0.000", "R2", [3]int{1, 1, 1}},
		{"0.010 0.005 0.005", "R1", [3]int{1, 2, 1}},
		{"0.010 0.010 0.005", "R2", [3]int{1, 2, 2}},
		{"0.010 0.010 0.010", "P", [3]int{2, 2, 2}},
	}
	for n, step := range steps {
		var ratios []string
		for _, sv := range s.Servers {
			ratios = append(ratios, fmt.Sprintf("%.3f", float64(sv.Active)/float64(sv.Weight)))
		}
		i := pick(s, p, nil)
		s.Servers[i].Active++
		active := [3]int{s.Servers[0].Active, s.Servers[1].Active, s.Servers[2].Active}
		got := strings.Join(ratios, " ")
		if got != step.ratios || s.Servers[i].Name != step.want || active != step.active {
			t.Errorf("step %d: %s -> %s %v, want %s -> %s %v",
				n+1, got, s.Servers[i].Name, active, step.ratios, step.want, step.active)
		}
	}
}

func TestLeastActive(t *testing.T) {
	const huge = 1 << 62
	tests := []struct {
		name    string
		weights [3]int
		active  [3]int
		want    int
	}{
		{"the snapshot of the manual, .05 .04 .06", [3]int{100, 200, 200}, [3]int{5, 8, 12}, 1},
		{"weight 0 is idle and not picked", [3]int{0, 0, 1}, [3]int{0, 0, 1000}, 2},
		{"primary alone", [3]int{0, 0, 0}, [3]int{9, 0, 0}, 0},
		{"thirds are exact", [3]int{3, 6, 9}, [3]int{1, 2, 3}, 0},
		{"one in 2^62 less", [3]int{huge, huge, huge}, [3]int{huge, huge, huge - 1}, 2},
	}
	for _, test := range tests {
		s := weighted(test.weights[:]...)
		for i, n := range test.active {
			s.Servers[i].Active = n
		}
		if got := pick(s, &Policy{}, nil); got != test.want {
			t.Errorf("%s: got %d, want %d", test.name, got, test.want)
		}
	}
	if got := pick(&Snapshot{}, &Policy{}, nil); got != -1 {
		t.Errorf("no servers: got %d", got)
	}
}

// TestPickDrained: candidates that did not come from Candidates may hold a
// server of weight 0; it still gets nothing while there is another.
func TestPickDrained(t *testing.T) {
	s := weighted(0, 1, 0)
	s.Servers[1].Active = 1000
	for _, balancer := range []Balancer{LeastActive, WeightedRoundRobin} {
		p, r := &Policy{Balancer: balancer}, &Rotation{}
		cands := []Candidate{{0, WhyReadable, false}, {1, WhyReadable, false}, {2, WhyReadable, false}}
		for range 3 {
			if got := Pick(cands, s, p, r); got != 1 {
				t.Errorf("balancer %d: got %d, want 1", balancer, got)
			}
		}
	}
}

// TestLeastActiveShare: while nothing finishes, as many reads as the sum of the
// weights are shared out exactly; whatever finishes, the pick has the smallest
// ratio, is the first of equals, and is never of weight 0.
func TestLeastActiveShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.IntRange(0, 12), 2, 6).Draw(t, "weights")
		s, sum := weighted(weights...), 0
		for _, w := range weights {
			sum += w
		}
		for range sum {
			s.Servers[pick(s, &Policy{}, nil)].Active++
		}
		for i := range weights {
			if sum > 0 && s.Servers[i].Active != weights[i] {
				t.Fatalf("server %d of weight %d got %d of %d", i, weights[i], s.Servers[i].Active, sum)
			}
		}
		for range 30 {
			if i := rapid.IntRange(0, len(weights)-1).Draw(t, "finishes"); s.Servers[i].Active > 0 {
				s.Servers[i].Active--
			}
			got := pick(s, &Policy{}, nil)
			for i, sv := range s.Servers {
				if sum == 0 || sv.Weight == 0 || i == got {
					continue
				}
				left, right := s.Servers[got].Active*sv.Weight, sv.Active*s.Servers[got].Weight
				if s.Servers[got].Weight == 0 || left > right || left == right && i < got {
					t.Fatalf("picked %d before %d of %+v", got, i, s.Servers)
				}
			}
			s.Servers[got].Active++
		}
	})
}

func TestRotationTrace(t *testing.T) {
	type round struct {
		before []int
		want   string
		after  []int
	}
	ownWeights := []round{
		{[]int{100, 200, 200}, "R1", []int{200, -100, 400}},
		{[]int{200, -100, 400}, "R2", []int{300, 100, 100}},
		{[]int{300, 100, 100}, "P", []int{-100, 300, 300}},
		{[]int{-100, 300, 300}, "R1", []int{0, 0, 500}},
		{[]int{0, 0, 500}, "R2", []int{100, 200, 200}},
	}
	zero := []round{
		{[]int{0, 0, 0}, "P", []int{-400, 200, 200}},
		{[]int{-400, 200, 200}, "R1", []int{-300, -100, 400}},
		{[]int{-300, -100, 400}, "R2", []int{-200, 100, 100}},
		{[]int{-200, 100, 100}, "R1", []int{-100, -200, 300}},
		{[]int{-100, -200, 300}, "R2", []int{0, 0, 0}},
	}
	s := weighted(100, 200, 200)
	check := func(name string, r *Rotation, rounds []round) {
		for n, round := range slices.Concat(rounds, rounds) { // twice: it is a cycle
			before, got := currents(r), turns(s, r, 1)
			if !slices.Equal(before, round.before) || got != round.want || !slices.Equal(currents(r), round.after) {
				t.Errorf("%s, round %d: %v %s %v, want %v %s %v",
					name, n+1, before, got, currents(r), round.before, round.want, round.after)
			}
		}
	}
	own, fromZero := &Rotation{}, &Rotation{}
	own.follow(s)
	check("own weights", own, ownWeights)
	fromZero.follow(s)
	for i := range fromZero.slots {
		fromZero.slots[i].current = 0
	}
	check("from 0, the variant that is not ours", fromZero, zero)
	if got := turns(s, &Rotation{}, 5); got != "R1 R2 P R1 R2" {
		t.Errorf("zero Rotation: got %s", got)
	}
}

func TestRotation(t *testing.T) {
	offline := func(s *Snapshot, i int) *Snapshot {
		c := &Snapshot{Servers: slices.Clone(s.Servers)}
		c.Servers[i].State = Offline
		return c
	}
	s := weighted(100, 200, 200)
	tests := []struct {
		name string
		with func(r *Rotation) string
		want string
	}{
		{"weight 0 takes nothing", func(r *Rotation) string {
			return turns(weighted(0, 100, 0, 200), r, 6)
		}, "R3 R1 R3 R3 R1 R3"},
		{"the primary alone", func(r *Rotation) string { return turns(weighted(0, 0, 0), r, 3) }, "P P P"},
		{"nothing", func(r *Rotation) string { return turns(&Snapshot{}, r, 2) }, "- -"},
		{"one is away and is owed nothing", func(r *Rotation) string {
			return turns(s, r, 2) + " | " + turns(offline(s, 2), r, 6) + " | " + turns(s, r, 10)
		}, "R1 R2 | P R1 P R1 R1 P | R1 R2 R1 P R2 R1 R2 R1 P R2"},
		{"away for a thousand rounds", func(r *Rotation) string {
			turns(s, r, 4)
			turns(offline(s, 2), r, 1000)
			return turns(s, r, 10)
		}, "R2 R1 R2 R1 R2 P R1 R2 R1 R2"},
		{"reads that see different servers", func(r *Rotation) string {
			var names []string
			for range 5 {
				names = append(names, turns(s, r, 1), turns(offline(s, 1), r, 1))
			}
			return strings.Join(names, " ")
		}, "R1 R2 P R2 R2 P R1 R2 R2 P"},
		{"new weights start anew", func(r *Rotation) string {
			return turns(s, r, 2) + " | " + turns(weighted(300, 200, 200), r, 7)
		}, "R1 R2 | P R1 R2 P R1 R2 P"},
		{"a new server starts anew", func(r *Rotation) string {
			return turns(s, r, 2) + " | " + turns(weighted(100, 200, 200, 100), r, 6)
		}, "R1 R2 | R1 R2 P R3 R1 R2"},
		{"another order starts anew", func(r *Rotation) string {
			other := weighted(100, 200, 200)
			other.Servers[1].Name, other.Servers[2].Name = "R2", "R1"
			return turns(s, r, 1) + " | " + turns(other, r, 5)
		}, "R1 | R2 R1 P R2 R1"},
	}
	for _, test := range tests {
		if got := test.with(&Rotation{}); got != test.want {
			t.Errorf("%s:\ngot  %s\nwant %s", test.name, got, test.want)
		}
	}
}

// TestRotationShare: a cycle gives each server exactly its weight's share and
// ends where it began; at no moment is anybody two turns off its share.
func TestRotationShare(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.IntRange(0, 40), 1, 6).Draw(t, "weights")
		s, r, sum := weighted(weights...), &Rotation{}, 0
		for _, w := range weights {
			sum += w
		}
		r.follow(s)
		start, got := currents(r), make([]int, len(weights))
		for n := 1; n <= sum; n++ {
			got[pick(s, &Policy{Balancer: WeightedRoundRobin}, r)]++
			for i, w := range weights {
				if off := got[i]*sum - n*w; off >= 2*sum || -off >= 2*sum {
					t.Fatalf("after %d of %d server %d of weight %d has %d", n, sum, i, w, got[i])
				}
			}
		}
		if sum > 0 && (!slices.Equal(got, weights) || !slices.Equal(currents(r), start)) {
			t.Fatalf("weights %v got %v; currents %v, began as %v", weights, got, currents(r), start)
		}
	})
}

// TestRotationComeAndGo: whoever is readable in whatever round, what anybody is
// owed stays bounded, and the cycle after gives nobody two turns more than its
// share: no burst.
func TestRotationComeAndGo(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		weights := rapid.SliceOfN(rapid.IntRange(1, 20), 2, 6).Draw(t, "weights")
		s, r, sum := weighted(weights...), &Rotation{}, 0
		for _, w := range weights {
			sum += w
		}
		p := &Policy{Balancer: WeightedRoundRobin}
		for _, away := range rapid.SliceOfN(rapid.IntRange(0, 1<<len(weights)-1), 0, 200).Draw(t, "away") {
			for i := range s.Servers {
				if s.Servers[i].State = Online; away&(1<<i) != 0 {
					s.Servers[i].State = Offline
				}
			}
			i := pick(s, p, r)
			if i < 0 != (away == 1<<len(weights)-1) || i >= 0 && s.Servers[i].State != Online {
				t.Fatalf("picked %d, away %b", i, away)
			}
			total := 0
			for _, c := range currents(r) {
				if total += c; c >= len(weights)*sum || -c >= len(weights)*sum {
					t.Fatalf("weights %v: currents %v", weights, currents(r))
				}
			}
			if total != sum {
				t.Fatalf("weights %v: currents %v are %d together", weights, currents(r), total)
			}
		}
		for i := range s.Servers {
			s.Servers[i].State = Online
		}
		got := make([]int, len(weights))
		for range sum {
			got[pick(s, p, r)]++
		}
		for i, w := range weights {
			if got[i] > w+2 || got[i] < w-2 {
				t.Fatalf("weights %v: the cycle after gave %v", weights, got)
			}
		}
	})
}

func TestPickConnection(t *testing.T) {
	s, r := servers(3), &Rotation{}
	p := &Policy{Endpoint: ReadOnly, MaxLag: time.Second, Balancer: WeightedRoundRobin}
	name := func(held string) string {
		i := PickConnection(Candidates(nil, s, p, Query{}), s, r, held)
		if i < 0 {
			return "-"
		}
		return s.Servers[i].Name
	}
	steps := []struct {
		what string
		with func()
		held []string
		want string
	}{
		{"in turn, the primary never, whatever the weights", func() {
			s.Servers[0].Weight, s.Servers[2].Weight = 100, 900
		}, []string{"", "", "", ""}, "R1 R2 R3 R1"},
		{"they stay", func() {}, []string{"R3", "R3", "R1"}, "R3 R3 R1"},
		{"staying takes no turn", func() {}, []string{"", "R2", ""}, "R2 R2 R3"},
		{"lagging: it moves", func() {
			s.Servers[2].Lag = time.Minute
		}, []string{"R2", "", "R3", ""}, "R1 R3 R3 R1"},
		{"it is back and gets no more than the others", func() {
			s.Servers[2].Lag = 0
		}, []string{"", "", "", ""}, "R2 R3 R1 R2"},
		{"drained: it moves", func() { s.Servers[3].Weight = 0 }, []string{"R3", "R3"}, "R1 R2"},
		{"a server that is gone", func() {}, []string{"R9"}, "R1"},
		{"held by the primary's name", func() {}, []string{"P"}, "R2"},
		{"its zone comes up: who is elsewhere stays", func() {
			p.Zone, s.Servers[1].Zone = "a", "a"
		}, []string{"R2", "", ""}, "R2 R1 R1"},
		{"nothing", func() {
			s.Servers[1].State, s.Servers[2].State = Offline, Broken
		}, []string{"R1", ""}, "- -"},
	}
	for _, step := range steps {
		step.with()
		var got []string
		for _, held := range step.held {
			got = append(got, name(held))
		}
		if got := strings.Join(got, " "); got != step.want {
			t.Errorf("%s: got %s, want %s", step.what, got, step.want)
		}
	}
}

// bench returns n replicas, the last of which is fresh, and a read that needs it.
func bench(n int) (*Snapshot, *Policy, Query) {
	s, p := servers(n), &Policy{MaxLag: time.Second, Zone: "a", MinReserved: 1}
	q := Query{Level: SessionLevel, Required: true, Require: position("1-1000")}
	for i := range s.Servers {
		s.Servers[i].Position = position("1-1000:1002-1100")
		s.Servers[i].Zone = []string{"a", "b"}[i%2]
	}
	s.Servers[1].Position = gtid.Value{}
	return s, p, q
}

func TestNoAllocations(t *testing.T) {
	for _, balancer := range []Balancer{LeastActive, WeightedRoundRobin} {
		s, p, q := bench(3)
		p.Balancer = balancer
		cands, r := Candidates(nil, s, p, q), &Rotation{}
		Pick(cands, s, p, r)
		if n := testing.AllocsPerRun(100, func() {
			cands = Candidates(cands, s, p, q)
			Pick(cands, s, p, r)
			cands = Candidates(cands, s, p, Query{})
			PickConnection(cands, s, r, "")
		}); n != 0 {
			t.Errorf("balancer %d: %v allocations", balancer, n)
		}
	}
}

func BenchmarkPick(b *testing.B) {
	for _, n := range []int{3, 16} {
		for i, name := range []string{"least-active", "weighted-round-robin"} {
			for _, level := range []Level{Eventual, SessionLevel} {
				b.Run(fmt.Sprintf("%s/%v/%d", name, level, n), func(b *testing.B) {
					s, p, q := bench(n - 1)
					p.Balancer = Balancer(i)
					if q.Level = level; level == Eventual {
						q = Query{}
					}
					cands, r := make([]Candidate, 0, n), &Rotation{}
					b.ReportAllocs()
					for b.Loop() {
						cands = Candidates(cands, s, p, q)
						if Pick(cands, s, p, r) < 0 {
							b.Fatal("nothing picked")
						}
					}
				})
			}
		}
	}
}
