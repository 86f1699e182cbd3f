package gtid_test

import (
	"encoding/json"
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"pgregory.net/rapid"
)

func TestParseDomainPos_vectors(t *testing.T) {
	t.Parallel()
	for _, v := range readVectors(t, "mariadb.tsv") {
		got, err := gtid.ParseDomainPos(v.text)
		if v.ok() {
			if err != nil || got.String() != v.want {
				t.Errorf("ParseDomainPos(%q) = %q, %v; want %q", v.text, got, err, v.want)
			}
			continue
		}
		var perr *gtid.ParseError
		if !errors.As(err, &perr) || perr.Offset != v.offset {
			t.Errorf("ParseDomainPos(%q) = %q, %v; want error at offset %d", v.text, got, err, v.offset)
		}
	}
}

func parseDomainPos(t testing.TB, s string) gtid.DomainPos {
	t.Helper()
	p, err := gtid.ParseDomainPos(s)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// TestParseDomainPos_reports has texts that other tools got wrong, by their public reports.
func TestParseDomainPos_reports(t *testing.T) {
	t.Parallel()
	tests := []struct{ report, text, want string }{
		{"vitess 4360", "1-1-141129273,2-2-3551534,3-3-805048", "1-1-141129273,2-2-3551534,3-3-805048"},
		{"vitess 6184", "3-3-805048,1-1-141129273,2-2-3551534", "1-1-141129273,2-2-3551534,3-3-805048"},
		{"mariadb-operator 1830", "1-10-216,2-211-18359", "1-10-216,2-211-18359"},
		{"domains in order of numbers", "10-1-1,2-1-1", "2-1-1,10-1-1"},
	}
	for _, test := range tests {
		if got := parseDomainPos(t, test.text).String(); got != test.want {
			t.Errorf("%s: %q, want %q", test.report, got, test.want)
		}
	}
}

func TestParseBinlogState(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text, want string
		offset     int
	}{
		{"", "", -1},
		{"0-1-10", "0-1-10", -1},
		{"0-1-10,0-2-5", "0-2-5", -1}, // the most recent is last, and may have the lower number
		{"0-2-5,0-1-10", "0-1-10", -1},
		{"1-1-7,0-1-10,0-2-12,1-3-8", "0-2-12,1-3-8", -1},
		{"0-1-10,", "", 7},
		{"0-1", "", 3},
	}
	for _, test := range tests {
		got, err := gtid.ParseBinlogState(test.text)
		var perr *gtid.ParseError
		switch {
		case test.offset >= 0:
			if !errors.As(err, &perr) || perr.Offset != test.offset {
				t.Errorf("ParseBinlogState(%q) = %q, %v; want error at %d", test.text, got, err, test.offset)
			}
		case err != nil || got.String() != test.want:
			t.Errorf("ParseBinlogState(%q) = %q, %v; want %q", test.text, got, err, test.want)
		}
	}
}

func TestDomainPos_reached(t *testing.T) {
	t.Parallel()
	tests := []struct {
		have, want string
		reached    bool
		missing    string
		distance   uint64
	}{
		{"", "", true, "", 0},
		{"0-1-5", "", true, "", 0},
		{"0-1-5", "0-1-5", true, "", 0},
		{"0-1-5", "0-2-5", true, "", 0}, // the server does not matter
		{"0-1-6", "0-1-5", true, "", 0},
		{"0-1-5", "0-1-6", false, "0-1-6", 1},
		{"0-1-5", "0-1-5,1-1-0", true, "", 0}, // nothing to reach in domain 1
		{"", "0-1-3", false, "0-1-3", 3},
		{"0-1-5,2-1-9", "0-1-7,1-1-4,2-2-9", false, "0-1-7,1-1-4", 6},
		{"7-1-5", "0-1-7", false, "0-1-7", 7},
		{"", "0-1-18446744073709551615", false, "0-1-18446744073709551615", math.MaxUint64},
	}
	for _, test := range tests {
		have, want := parseDomainPos(t, test.have), parseDomainPos(t, test.want)
		if got := have.Reached(want); got != test.reached {
			t.Errorf("%q reached %q: %v", have, want, got)
		}
		if got := have.Missing(want).String(); got != test.missing {
			t.Errorf("missing in %q of %q: %q, want %q", have, want, got, test.missing)
		}
		if got, exact := have.Distance(want); got != test.distance || !exact {
			t.Errorf("distance from %q to %q: %d, %v; want %d", have, want, got, exact, test.distance)
		}
	}
}

func TestDomainPos_distanceBeyond64Bits(t *testing.T) {
	t.Parallel()
	far := parseDomainPos(t, "0-1-18446744073709551615,1-1-1")
	if n, exact := (gtid.DomainPos{}).Distance(far); n != math.MaxUint64 || exact {
		t.Errorf("distance %d, %v", n, exact)
	}
	want := []gtid.Gap{{Domain: 0, Want: math.MaxUint64}, {Domain: 1, Want: 1}}
	if got := (gtid.DomainPos{}).Behind(far); !slices.Equal(got, want) {
		t.Errorf("behind %v, want %v", got, want)
	}
}

// drawPos draws a position and its model: the entry of each domain.
func drawPos(t *rapid.T, label string) (gtid.DomainPos, map[uint32]gtid.DomainGTID) {
	m := map[uint32]gtid.DomainGTID{}
	var p gtid.DomainPos
	for range rapid.IntRange(0, 5).Draw(t, label+" entries") {
		g := gtid.DomainGTID{
			Domain: rapid.Uint32Range(0, 4).Draw(t, label+" domain"),
			Server: rapid.Uint32Range(1, 3).Draw(t, label+" server"),
			Seq:    rapid.Uint64Range(0, 5).Draw(t, label+" seq"),
		}
		m[g.Domain] = g
		p = p.With(g)
	}
	checkPos(t, label, p, m)
	return p, m
}

func checkPos(t *rapid.T, label string, p gtid.DomainPos, m map[uint32]gtid.DomainGTID) {
	t.Helper()
	n, last := 0, int64(-1)
	for g := range p.Domains() {
		if int64(g.Domain) <= last || m[g.Domain] != g {
			t.Fatalf("%s: %v, want %v", label, p, m)
		}
		if got, ok := p.Domain(g.Domain); !ok || got != g {
			t.Fatalf("%s: domain %d of %v is %v, %v", label, g.Domain, p, got, ok)
		}
		last = int64(g.Domain)
		n++
	}
	if n != len(m) || p.IsEmpty() != (n == 0) {
		t.Fatalf("%s: %v, want %v", label, p, m)
	}
	back, err := gtid.ParseDomainPos(p.String())
	if err != nil || !back.Equal(p) || back.String() != p.String() {
		t.Fatalf("%s: %v read back is %v, %v", label, p, back, err)
	}
}

func TestDomainPos_algebra(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		a, ma := drawPos(t, "a")
		b, mb := drawPos(t, "b")
		most, least, missing := map[uint32]gtid.DomainGTID{}, map[uint32]gtid.DomainGTID{}, map[uint32]gtid.DomainGTID{}
		var distance uint64
		equal := len(ma) == len(mb)
		for d := range uint32(5) {
			x, inA := ma[d]
			y, inB := mb[d]
			equal = equal && x == y
			if inA || inB {
				most[d] = x
				if !inA || y.Seq > x.Seq {
					most[d] = y
				}
			}
			if inA && inB {
				least[d] = x
				if y.Seq < x.Seq {
					least[d] = y
				}
			}
			if y.Seq > x.Seq {
				missing[d] = y
				distance += y.Seq - x.Seq
			}
		}
		checkPos(t, "max", a.Max(b), most)
		checkPos(t, "min", a.Min(b), least)
		checkPos(t, "missing", a.Missing(b), missing)
		if got := a.Reached(b); got != (len(missing) == 0) {
			t.Fatalf("%v reached %v: %v", a, b, got)
		}
		if got, exact := a.Distance(b); got != distance || !exact {
			t.Fatalf("distance from %v to %v: %d, want %d", a, b, got, distance)
		}
		if got := a.Equal(b); got != equal {
			t.Fatalf("%v equals %v: %v", a, b, got)
		}
		if max := a.Max(b); max.Max(a) != max || max.Max(b) != max || !max.Reached(a) || !max.Reached(b) {
			t.Fatalf("%v is not the maximum of %v and %v", max, a, b)
		}
		checkPos(t, "a", a, ma)
		checkPos(t, "b", b, mb)
	})
}

func TestDomainPos_text(t *testing.T) {
	t.Parallel()
	p := parseDomainPos(t, "2-1-5,0-1-7")
	data, err := json.Marshal(map[string]gtid.DomainPos{"a": p, "b": {}})
	if err != nil || string(data) != `{"a":"0-1-7,2-1-5","b":""}` {
		t.Errorf("JSON %s, %v", data, err)
	}
	var back map[string]gtid.DomainPos
	if err := json.Unmarshal(data, &back); err != nil || !back["a"].Equal(p) {
		t.Errorf("read back %v, %v", back, err)
	}
	same := p
	if err := same.UnmarshalText([]byte("0-1-5,")); err == nil || same != p {
		t.Errorf("UnmarshalText of a wrong text: %v, value %q", err, same)
	}
	if g, _ := p.Domain(2); g.String() != "2-1-5" {
		t.Errorf("GTID %q", g)
	}
}

func TestDomainPos_noAllocation(t *testing.T) {
	a := parseDomainPos(t, "0-1-5,1-1-7,9-2-8")
	b := parseDomainPos(t, "0-1-5,9-1-3")
	checks := map[string]func() bool{
		"Reached": func() bool { return a.Reached(b) && !b.Reached(a) },
		"Max":     func() bool { return a.Max(b) == a },
		"Missing": func() bool { return a.Missing(b).IsEmpty() },
		"With":    func() bool { return a.With(gtid.DomainGTID{Domain: 1, Server: 1, Seq: 7}) == a },
	}
	for name, check := range checks {
		if !check() {
			t.Errorf("%s: wrong answer", name)
		}
		if n := testing.AllocsPerRun(100, func() { check() }); n != 0 {
			t.Errorf("%s: %v allocations", name, n)
		}
	}
}
