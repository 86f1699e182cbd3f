package gtid_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"pgregory.net/rapid"
)

// model is a set of transactions written out one by one: slow and beyond doubt.
type model map[gtid.GTID]bool

const modelMax = 24 // largest number in a model

// drawSet draws a set, most of the time with overlapping and unsorted intervals, and its model.
func drawSet(t *rapid.T, label string) (gtid.Set, model) {
	m := model{}
	var text strings.Builder
	for i := range rapid.IntRange(0, 6).Draw(t, label+" parts") {
		if i > 0 {
			text.WriteByte(',')
		}
		g := gtid.GTID{
			UUID: gtid.UUID{15: byte(rapid.IntRange(1, 3).Draw(t, label+" uuid"))},
			Tag:  rapid.SampledFrom([]string{"", "", "a", "ab"}).Draw(t, label+" tag"),
		}
		fmt.Fprint(&text, g.UUID)
		if g.Tag != "" {
			fmt.Fprintf(&text, ":%s", g.Tag)
		}
		for range rapid.IntRange(0, 4).Draw(t, label+" intervals") {
			first := rapid.Int64Range(1, modelMax).Draw(t, label+" first")
			last := min(modelMax, first+rapid.Int64Range(-1, 6).Draw(t, label+" length"))
			fmt.Fprintf(&text, ":%d-%d", first, last)
			for g.Seq = first; g.Seq <= last; g.Seq++ {
				m[g] = true
			}
		}
	}
	set, err := gtid.Parse(text.String())
	if err != nil {
		t.Fatalf("%s: %v", label, err)
	}
	m.check(t, label, set)
	return set, m
}

// check compares a set with its model in every way a set can be read.
func (m model) check(t *rapid.T, label string, set gtid.Set) {
	t.Helper()
	n := 0
	var last gtid.GTID
	for src, iv := range set.Intervals() {
		if iv.First > iv.Last {
			t.Fatalf("%s: %v has an empty interval %v", label, set, iv)
		}
		if n > 0 && (gtid.Source{UUID: last.UUID, Tag: last.Tag}) == src && iv.First <= last.Seq+1 {
			t.Fatalf("%s: %v has intervals that touch at %v", label, set, iv)
		}
		g := gtid.GTID{UUID: src.UUID, Tag: src.Tag}
		for g.Seq = iv.First; g.Seq <= iv.Last; g.Seq++ {
			if !m[g] {
				t.Fatalf("%s: %v has %v, which it must not", label, set, g)
			}
			n++
		}
		last = gtid.GTID{UUID: src.UUID, Tag: src.Tag, Seq: iv.Last}
	}
	count, exact := set.Count()
	if n != len(m) || count != uint64(n) || !exact || set.BigCount().Uint64() != count || set.IsEmpty() != (n == 0) {
		t.Fatalf("%s: %v has %d transactions and counts %d, want %d", label, set, n, count, len(m))
	}
	if got, want := set.String(), m.text(); got != want {
		t.Fatalf("%s: text %q, want %q", label, got, want)
	}
}

// text builds the canonical text number by number.
func (m model) text() string {
	all := slices.SortedFunc(func(yield func(gtid.GTID) bool) {
		for g := range m {
			if !yield(g) {
				return
			}
		}
	}, func(a, b gtid.GTID) int {
		if c := strings.Compare(a.UUID.String(), b.UUID.String()); c != 0 {
			return c
		}
		if c := strings.Compare(a.Tag, b.Tag); c != 0 {
			return c
		}
		return int(a.Seq - b.Seq)
	})
	var out string
	for i, g := range all {
		prev, first := gtid.GTID{}, g.Seq
		if i > 0 {
			prev = all[i-1]
		}
		after := gtid.GTID{UUID: g.UUID, Tag: g.Tag, Seq: g.Seq - 1}
		if i > 0 && prev == after {
			continue // inside an interval
		}
		switch {
		case i == 0:
			out += g.UUID.String()
		case prev.UUID != g.UUID:
			out += ",\n" + g.UUID.String()
		}
		if g.Tag != "" && (prev.UUID != g.UUID || prev.Tag != g.Tag) {
			out += ":" + g.Tag
		}
		for after = g; m[after]; after.Seq++ {
		}
		out += fmt.Sprintf(":%d", first)
		if after.Seq-1 > first {
			out += fmt.Sprintf("-%d", after.Seq-1)
		}
	}
	return out
}

func (m model) filter(keep func(gtid.GTID) bool) model {
	out := model{}
	for g := range m {
		if keep(g) {
			out[g] = true
		}
	}
	return out
}

func TestSet_algebra(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, ma := drawSet(t, "a")
		b, mb := drawSet(t, "b")
		inB := func(g gtid.GTID) bool { return mb[g] }
		union := mb.filter(inB)
		for g := range ma {
			union[g] = true
		}
		both := ma.filter(inB)
		union.check(t, "a ∪ b", a.Union(b))
		union.check(t, "b ∪ a", b.Union(a))
		both.check(t, "a ∩ b", a.Intersect(b))
		both.check(t, "b ∩ a", b.Intersect(a))
		ma.filter(func(g gtid.GTID) bool { return !mb[g] }).check(t, "a - b", a.Subtract(b))
		if got, want := a.Contains(b), len(both) == len(mb); got != want {
			t.Fatalf("%v contains %v: %v, want %v", a, b, got, want)
		}
		if got, want := a.Overlaps(b), len(both) > 0; got != want {
			t.Fatalf("%v overlaps %v: %v, want %v", a, b, got, want)
		}
		if got, want := a.Equal(b), len(union) == len(both); got != want {
			t.Fatalf("%v equals %v: %v, want %v", a, b, got, want)
		}
		// The operands must be as they were.
		ma.check(t, "a", a)
		mb.check(t, "b", b)
	})
}

// TestSet_contains draws subsets on purpose: two random sets rarely contain each other.
func TestSet_contains(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, ma := drawSet(t, "a")
		b, _ := drawSet(t, "b")
		part := a.Intersect(b)
		if !a.Contains(part) || !a.Contains(a) || !part.Union(a).Equal(a) {
			t.Fatalf("%v does not contain its part %v", a, part)
		}
		if part.Contains(a) != part.Equal(a) {
			t.Fatalf("%v contains %v but is not equal", part, a)
		}
		if a.Union(part) != a || part.Union(a) != a || !part.IsEmpty() && a.Intersect(part) != part {
			t.Fatalf("%v with its part %v is a new value", a, part)
		}
		rest := a.Subtract(part)
		if rest.Overlaps(part) || !rest.Union(part).Equal(a) {
			t.Fatalf("%v and %v do not make up %v", rest, part, a)
		}
		if rest.Subtract(part) != rest {
			t.Fatalf("%v without %v is a new value", rest, part)
		}
		ma.check(t, "a", a)
	})
}

func TestSet_elements(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, m := drawSet(t, "a")
		g := gtid.GTID{
			UUID: gtid.UUID{15: byte(rapid.IntRange(0, 4).Draw(t, "uuid"))},
			Tag:  rapid.SampledFrom([]string{"", "a", "ab", "b"}).Draw(t, "tag"),
			Seq:  rapid.Int64Range(0, modelMax+2).Draw(t, "seq"),
		}
		if got := a.ContainsGTID(g); got != m[g] {
			t.Fatalf("%v contains %v: %v", a, g, got)
		}
		sameUUID := func(x gtid.GTID) bool { return x.UUID == g.UUID }
		only := m.filter(sameUUID)
		only.check(t, "only", a.Only(g.UUID))
		m.filter(func(x gtid.GTID) bool { return !sameUUID(x) }).check(t, "without", a.Without(g.UUID))
		if got := a.ContainsUUID(g.UUID); got != (len(only) > 0) {
			t.Fatalf("%v contains %v: %v", a, g.UUID, got)
		}
		var last int64
		for x := range only {
			if x.Tag == g.Tag {
				last = max(last, x.Seq)
			}
		}
		if got := a.Last(gtid.Source{UUID: g.UUID, Tag: g.Tag}); got != last {
			t.Fatalf("last of %v in %v: %d, want %d", g, a, got, last)
		}
		parts := gtid.Set{}
		for src, part := range a.Sources() {
			for s := range part.Intervals() {
				if s != src {
					t.Fatalf("%v in the part of %v", s, src)
				}
			}
			parts = parts.Union(part)
		}
		if !parts.Equal(a) {
			t.Fatalf("the parts of %v make %v", a, parts)
		}
		plus := a.Add(g)
		if g.Seq > 0 {
			m[g] = true
		}
		m.check(t, "plus", plus)
	})
}
