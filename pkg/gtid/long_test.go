package gtid_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
)

// line is a set of one source written out: line[n] tells whether it has n. Unlike the sets of
// model_test.go it has hundreds of intervals, which searches gallop through.
type line []bool

func (l line) set(t *testing.T) gtid.Set {
	t.Helper()
	var b strings.Builder
	b.WriteString(uuidU)
	for n, in := range l {
		if in {
			fmt.Fprintf(&b, ":%d", n)
		}
	}
	return parse(t, b.String())
}

// combine returns what keep makes of two lines, number by number.
func (l line) combine(m line, keep func(a, b bool) bool) line {
	out := make(line, len(l))
	for n := range l {
		out[n] = keep(l[n], m[n])
	}
	return out
}

// drawLine draws intervals whose gaps are even, random, wider and wider, or in clusters.
func drawLine(random *rand.Rand, shape int) line {
	l := make(line, 4000)
	for n, i := 1+random.IntN(20), 0; n < len(l); i++ {
		for range 1 + random.IntN(3) {
			if n < len(l) {
				l[n] = true
			}
			n++
		}
		switch shape {
		case 0:
			n += 2
		case 1:
			n += 1 + random.IntN(15)
		case 2:
			n += 1 + i/6
		default:
			n++
			if random.IntN(40) == 0 {
				n += random.IntN(900)
			}
		}
	}
	return l
}

func TestSet_longLists(t *testing.T) {
	t.Parallel()
	for seed := range uint64(60) {
		random := rand.New(rand.NewPCG(seed, 7))
		la, lb := drawLine(random, int(seed%4)), drawLine(random, int(seed/4%4))
		a, b := la.set(t), lb.set(t)
		g := gtid.GTID{UUID: uuid(t, uuidU)}
		for n := range la {
			if g.Seq = int64(n); a.ContainsGTID(g) != la[n] {
				t.Fatalf("seed %d: %v contains %d: %v", seed, a, n, !la[n])
			}
		}
		both := la.combine(lb, func(x, y bool) bool { return x && y }).set(t)
		tests := []struct {
			name      string
			got, want gtid.Set
		}{
			{"union", a.Union(b), la.combine(lb, func(x, y bool) bool { return x || y }).set(t)},
			{"intersection", a.Intersect(b), both},
			{"difference", a.Subtract(b), la.combine(lb, func(x, y bool) bool { return x && !y }).set(t)},
			{"difference", b.Subtract(a), la.combine(lb, func(x, y bool) bool { return !x && y }).set(t)},
			{"intersection with a part", a.Intersect(both), both},
			{"union with a part", both.Union(a), a},
		}
		for _, test := range tests {
			if !test.got.Equal(test.want) {
				t.Fatalf("seed %d: %s of %q and %q: %q, want %q", seed, test.name, a, b, test.got, test.want)
			}
		}
		if !a.Contains(both) || both.Contains(a) && !both.Equal(a) || a.Overlaps(b) == both.IsEmpty() {
			t.Fatalf("seed %d: %q and its part %q", seed, a, both)
		}
	}
}

// TestSet_sharesSources unites sets of which each is ahead in one source: neither list of
// intervals needs to be made anew.
func TestSet_sharesSources(t *testing.T) {
	t.Parallel()
	a, b := parse(t, "<U>:1-9,<V>:1-3"), parse(t, "<U>:2-4,<V>:1-5")
	for _, test := range []struct {
		name string
		got  gtid.Set
		want string
	}{
		{"union", a.Union(b), "<V>:1-5,\n<U>:1-9"},
		{"intersection", a.Intersect(b), "<V>:1-3,\n<U>:2-4"},
		{"difference", a.Subtract(b), "<U>:1:5-9"},
		{"difference", b.Subtract(a), "<V>:4-5"},
		{"difference in one source", a.Subtract(parse(t, "<U>:2,<V>:8")), "<V>:1-3,\n<U>:1:3-9"},
	} {
		if got, want := test.got.String(), expand(test.want); got != want {
			t.Errorf("%s: %q, want %q", test.name, got, want)
		}
	}
}
