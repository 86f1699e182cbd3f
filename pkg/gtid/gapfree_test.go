package gtid_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"pgregory.net/rapid"
)

func TestGapFree(t *testing.T) {
	const u = "00000000-0000-0000-0000-000000000001"
	tests := []struct{ set, committed, want string }{
		{"1-9", "1-9", "1-9"},
		{"1-9", "1-20", "1-9"},
		{"1-9", "", "1-9"},
		{"1-9", "1-5", "1-9"},               // it is known of before the source is asked again
		{"1-9:11-20", "1-20", "1-9"},        // 10 is still being applied
		{"1-9:11-20", "1-9", "1-9"},         // and the source was asked before that
		{"1-9:11-20", "1-10", "1-9"},        // or in between
		{"1-9:11-20", "1-9:11-20", "whole"}, // 10 never was
		{"5-9", "5-9", "5-9"},               // begins where the source does
		{"5-9", "1-9", ""},                  // does not
		{"5-9", "", ""},                     // nobody knows
		{"5-9:11-12", "5-20", "5-9"},        // begins there and has a gap
		{"5-9:11-12", "5-9:11-40", "whole"}, // there is none of 10 at the source either
		{"1-2:4-5:7-8", "1-2:4-8", "1-2:4-5"},
		{"1-69:71-89:91-99", "1-200", "1-69"}, // the seed's example: 70, 90 and 100 are missing
	}
	for _, test := range tests {
		set, committed := gapSet(t, u, test.set), gapSet(t, u, test.committed)
		want := gapSet(t, u, test.want)
		if test.want == "whole" {
			want = set
		}
		if got := set.GapFree(committed); !got.Equal(want) {
			t.Errorf("%s of %s: got %v, want %v", test.set, test.committed, got, want)
		} else if want.Equal(set) && got != set {
			t.Errorf("%s of %s: a copy", test.set, test.committed)
		}
	}
}

// gapSet is a set of one source; "whole" is for the caller.
func gapSet(t *testing.T, uuid, intervals string) gtid.Set {
	t.Helper()
	if intervals == "" || intervals == "whole" {
		return gtid.Set{}
	}
	set, err := gtid.Parse(uuid + ":" + intervals)
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestSafePoint: what is safe ends in front of the least of what is not there yet, whatever is there behind it.
func TestSafePoint(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const last = 200
		missing := rapid.SliceOfNDistinct(rapid.Int64Range(1, last), 1, 5, rapid.ID).Draw(t, "missing")
		all, err := gtid.Parse(fmt.Sprintf("%v:1-%d", gtid.UUID{15: 1}, last))
		if err != nil {
			t.Fatal(err)
		}
		has, least := all, int64(last+1)
		for _, n := range missing {
			one, err := gtid.Parse(fmt.Sprintf("%v:%d", gtid.UUID{15: 1}, n))
			if err != nil {
				t.Fatal(err)
			}
			has, least = has.Subtract(one), min(least, n)
		}
		safe := has.GapFree(all)
		if got := safe.Last(gtid.Source{UUID: gtid.UUID{15: 1}}); got != least-1 {
			t.Fatalf("%v without %v: safe up to %d, want %d", all, missing, got, least-1)
		}
	})
}

// TestGapFreeModel compares with what the words say, number by number.
func TestGapFreeModel(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		set, m := drawSet(t, "set")
		committed, c := drawSet(t, "committed")
		want := model{}
		for g := range m {
			ok := true
			for h := g; ok && h.Seq > 0; h.Seq-- {
				ok = m[h] || !c[h] && h.Seq < committed.Last(gtid.Source{UUID: h.UUID, Tag: h.Tag})
			}
			if ok {
				want[g] = true
			}
		}
		want.check(t, "gap free", set.GapFree(committed))
	})
}

func TestGapFreeValue(t *testing.T) {
	tests := []struct{ v, w, want string }{
		{"0-1-5,1-1-7", "0-1-9", "0-1-5,1-1-7"},
		{"", "0-1-9", ""},
		{"00000000-0000-0000-0000-000000000001:1-2:4", "00000000-0000-0000-0000-000000000001:1-4", "00000000-0000-0000-0000-000000000001:1-2"},
		{"00000000-0000-0000-0000-000000000001/bin.000001:4", "00000000-0000-0000-0000-000000000001/bin.000001:9", "00000000-0000-0000-0000-000000000001/bin.000001:4"},
	}
	read := func(text string) gtid.Value {
		v, err := gtid.ParseValue(text)
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	for _, test := range tests {
		if got, err := read(test.v).GapFree(read(test.w)); err != nil || got.String() != test.want {
			t.Errorf("%s of %s: %v, %v, want %s", test.v, test.w, got, err, test.want)
		}
	}
	if _, err := read(tests[0].v).GapFree(read(tests[2].v)); !errors.Is(err, gtid.ErrMixed) {
		t.Errorf("two kinds: %v", err)
	}
}
