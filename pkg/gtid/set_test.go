package gtid_test

import (
	"encoding/json"
	"fmt"
	"math/big"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
)

func uuid(t testing.TB, s string) gtid.UUID {
	t.Helper()
	u, err := gtid.ParseUUID(s)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

func TestSet_zero(t *testing.T) {
	t.Parallel()
	var zero gtid.Set
	some := parse(t, "<U>:1-3")
	n, exact := zero.Count()
	if !zero.IsEmpty() || n != 0 || !exact || zero.String() != "" || zero.BigCount().Sign() != 0 {
		t.Errorf("the zero set is not empty: %q, %d", zero, n)
	}
	if !some.Contains(zero) || zero.Contains(some) || !zero.Contains(zero) || zero.Overlaps(zero) {
		t.Error("the zero set is not the empty set")
	}
	if zero.Union(some) != some || some.Union(zero) != some || some.Subtract(zero) != some {
		t.Error("an operation with the zero set changed a set")
	}
	if zero != zero.Subtract(some) || zero != some.Subtract(some) || zero != some.Intersect(zero) {
		t.Error("an empty result is not the zero set")
	}
	if zero != parse(t, " , ") || zero != parse(t, "<U>,<V>:5-3") || zero != some.Only(gtid.UUID{}) {
		t.Error("an empty set is not the zero set")
	}
	if zero.Last(gtid.Source{}) != 0 || zero.ContainsUUID(gtid.UUID{}) || zero.ContainsGTID(gtid.GTID{Seq: 1}) {
		t.Error("the zero set has something in it")
	}
	for range zero.Sources() {
		t.Error("the zero set has a source")
	}
}

func TestSet_tagsAreSourcesOfTheirOwn(t *testing.T) {
	t.Parallel()
	plain, tagged := parse(t, "<U>:5"), parse(t, "<U>:t:5")
	if plain.Contains(tagged) || tagged.Contains(plain) || plain.Overlaps(tagged) {
		t.Error("U:5 and U:t:5 are taken for one transaction")
	}
	if got, want := plain.Union(tagged).String(), expand("<U>:5:t:5"); got != want {
		t.Errorf("union %q, want %q", got, want)
	}
	if n, _ := plain.Union(tagged).Count(); n != 2 {
		t.Errorf("count %d, want 2", n)
	}
}

func TestSet_errant(t *testing.T) {
	t.Parallel()
	replica := parse(t, "<U>:1-100:mysqlsh:1-2,<V>:1-3:5")
	primary := parse(t, "<U>:1-98:mysqlsh:1,<V>:1-2")
	errant := replica.Subtract(primary).Without(uuid(t, uuidU))
	if got, want := errant.String(), expand("<V>:3:5"); got != want {
		t.Errorf("errant %q, want %q", got, want)
	}
}

func TestSet_extremes(t *testing.T) {
	t.Parallel()
	full := parse(t, "<U>:1-9223372036854775806")
	top := gtid.GTID{UUID: uuid(t, uuidU), Seq: gtid.MaxSeq}
	if !full.ContainsGTID(top) || full.Add(top) != full {
		t.Error("a full set lacks its last transaction")
	}
	if n, exact := full.Count(); n != gtid.MaxSeq || !exact {
		t.Errorf("count %d, %v", n, exact)
	}
	hole := full.Subtract(parse(t, "<U>:2-9223372036854775805"))
	if got, want := hole.String(), expand("<U>:1:9223372036854775806"); got != want {
		t.Errorf("ends %q, want %q", got, want)
	}
	if got := hole.Union(parse(t, "<U>:2-9223372036854775805")); !got.Equal(full) {
		t.Errorf("filled up %q", got)
	}
	for _, g := range []gtid.GTID{
		{UUID: top.UUID, Seq: 0},
		{UUID: top.UUID, Seq: -1},
		{UUID: top.UUID, Seq: gtid.MaxSeq + 1},
		{UUID: top.UUID, Seq: 1, Tag: "Upper"},
		{UUID: top.UUID, Seq: 1, Tag: "1st"},
		{UUID: top.UUID, Seq: 1, Tag: "a-b"},
		{UUID: top.UUID, Seq: 1, Tag: strings.Repeat("a", 33)},
	} {
		if g.Valid() || hole.Add(g) != hole {
			t.Errorf("%+v is taken for a transaction", g)
		}
	}
	if g := (gtid.GTID{UUID: top.UUID, Seq: 1, Tag: strings.Repeat("a", 32)}); !g.Valid() {
		t.Errorf("%v is not taken for a transaction", g)
	}
}

func TestSet_countBeyond64Bits(t *testing.T) {
	t.Parallel()
	const full = ":1-9223372036854775806"
	two := parse(t, "<U>"+full+",<V>"+full)
	if n, exact := two.Count(); n != 2*gtid.MaxSeq || !exact {
		t.Errorf("two full sources: %d, %v", n, exact)
	}
	three := two.Union(parse(t, "<U>:t"+full))
	if n, exact := three.Count(); n != 1<<64-1 || exact {
		t.Errorf("three full sources: %d, %v", n, exact)
	}
	want := new(big.Int).Mul(big.NewInt(3), big.NewInt(gtid.MaxSeq))
	if got := three.BigCount(); got.Cmp(want) != 0 {
		t.Errorf("three full sources: %v, want %v", got, want)
	}
	// 2^64-1 itself is exact.
	edge := two.Union(parse(t, "<U>:t:1-3"))
	if n, exact := edge.Count(); n != 1<<64-1 || !exact {
		t.Errorf("2^64-1 transactions: %d, %v", n, exact)
	}
}

func TestSet_iteratorsStop(t *testing.T) {
	t.Parallel()
	set := parse(t, "<U>:1:3:5:t:1,<V>:1")
	n := 0
	for range set.Intervals() {
		if n++; n == 2 {
			break
		}
	}
	for src := range set.Sources() {
		if src.UUID != uuid(t, uuidV) {
			t.Errorf("first source %v", src)
		}
		break
	}
	if n != 2 {
		t.Errorf("%d intervals", n)
	}
}

func TestSet_text(t *testing.T) {
	t.Parallel()
	set := parse(t, "<U>:1-10:99:t:1000-1001,<V>:7")
	data, err := json.Marshal(map[string]gtid.Set{"executed": set, "purged": {}})
	if err != nil {
		t.Fatal(err)
	}
	want := `{"executed":"` + uuidV + `:7,\n` + uuidU + `:1-10:99:t:1000-1001","purged":""}`
	if string(data) != want {
		t.Errorf("JSON %s, want %s", data, want)
	}
	var back map[string]gtid.Set
	if err := json.Unmarshal(data, &back); err != nil || !back["executed"].Equal(set) {
		t.Errorf("read back %v, %v", back, err)
	}
	same := set
	if err := same.UnmarshalText([]byte("x")); err == nil || same != set {
		t.Errorf("UnmarshalText of a wrong text: %v, value %q", err, same)
	}
	buf := append(make([]byte, 0, 256), "SELECT '"...)
	if got := string(set.Append(buf)); got != "SELECT '"+set.String() {
		t.Errorf("Append = %q", got)
	}
	if got := fmt.Sprint(set); got != set.String() {
		t.Errorf("printed as %q", got)
	}
}

func TestSet_noAllocation(t *testing.T) {
	big, small := manyIntervals(t, 1000), parse(t, "<U>:4")
	tagged := big.Union(parse(t, "<V>:1-3:tag:9"))
	u := uuid(t, uuidU)
	in := gtid.GTID{UUID: u, Seq: 1000}
	out := gtid.GTID{UUID: u, Seq: 1001}
	equal := parse(t, tagged.String())
	apart := parse(t, "<V>:10")
	buf := make([]byte, 0, 64<<10)
	checks := map[string]func() bool{
		"ContainsGTID": func() bool { return tagged.ContainsGTID(in) && !tagged.ContainsGTID(out) },
		"ContainsUUID": func() bool { return tagged.ContainsUUID(u) },
		"Contains":     func() bool { return tagged.Contains(big) && !big.Contains(tagged) && tagged.Contains(equal) },
		"Overlaps":     func() bool { return tagged.Overlaps(small) && !tagged.Overlaps(apart) },
		"Equal":        func() bool { return tagged.Equal(equal) },
		"Union":        func() bool { return tagged.Union(big) == tagged && big.Union(tagged) == tagged },
		"Subtract":     func() bool { return tagged.Subtract(apart) == tagged && big.Subtract(tagged).IsEmpty() },
		"Intersect":    func() bool { return tagged.Intersect(equal) == tagged && tagged.Intersect(small) == small },
		"Add":          func() bool { return tagged.Add(in) == tagged },
		"Without":      func() bool { return tagged.Without(gtid.UUID{}) == tagged && big.Only(u) == big },
		"Last":         func() bool { return tagged.Last(gtid.Source{UUID: u}) == 2000 },
		"Append":       func() bool { return len(tagged.Append(buf)) > 1000 },
		"Count":        func() bool { n, _ := tagged.Count(); return n == 1004 },
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

// manyIntervals returns U:2:4:6 and so on.
func manyIntervals(t testing.TB, n int) gtid.Set {
	t.Helper()
	set, err := gtid.Parse(manyText(n))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func manyText(n int) string {
	var b strings.Builder
	b.WriteString(uuidU)
	for i := range n {
		fmt.Fprintf(&b, ":%d", 2*(i+1))
	}
	return b.String()
}
