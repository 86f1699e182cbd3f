package gtid_test

import (
	"errors"
	"math"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
)

func TestDetect(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text string
		want gtid.Kind
	}{
		{"", gtid.KindEither},
		{" \n", gtid.KindEither},
		{"<U>:1-5", gtid.KindSet},
		{"<U>", gtid.KindSet},
		{"<DASHLESS>", gtid.KindSet},
		{"{<U>}:1", gtid.KindSet},
		{",", gtid.KindSet},
		{", <U>", gtid.KindSet},
		{"x:1", gtid.KindSet},
		{"11111111-1111-1111-1111-111111111111", gtid.KindSet},
		{"11111111111111111111111111111111", gtid.KindSet},
		{"11111111-1111-1111-1111-111111111111:1-5", gtid.KindSet},
		{"0-1-5", gtid.KindDomain},
		{" 0- 1-+5,1-1-1", gtid.KindDomain},
		{"12345678-12345678-12345678", gtid.KindDomain},
		{"0-1-", gtid.KindDomain},
		{"0", gtid.KindDomain},
		{"0-1-5,", gtid.KindDomain},
		{"binlog.000001", gtid.KindUnknown},
		{"<U>/binlog.000001:4", gtid.KindLog},
		{"null", gtid.KindUnknown},
		{"\xff", gtid.KindUnknown},
	}
	for _, test := range tests {
		if got := gtid.Detect(expand(test.text)); got != test.want {
			t.Errorf("Detect(%q) = %v, want %v", test.text, got, test.want)
		}
	}
}

func value(t *testing.T, s string) gtid.Value {
	t.Helper()
	v, err := gtid.ParseValue(expand(s))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func TestValue(t *testing.T) {
	t.Parallel()
	tests := []struct {
		have, want string
		contains   bool
		missing    string
		count      uint64
		union      string
		both       string
	}{
		{"", "", true, "", 0, "", ""},
		{"<U>:1-5", "", true, "", 0, "<U>:1-5", ""},
		{"", "<U>:1-5", false, "<U>:1-5", 5, "<U>:1-5", ""},
		{"<U>:1-3,<V>:9", "<U>:1-5", false, "<U>:4-5", 2, "<V>:9,\n<U>:1-5", "<U>:1-3"},
		{"<U>:1-5", "<U>:3", true, "", 0, "<U>:1-5", "<U>:3"},
		{"0-1-5", "", true, "", 0, "0-1-5", ""},
		{"", "0-1-5", false, "0-1-5", 5, "0-1-5", ""},
		{"0-1-5,1-1-1", "0-1-7", false, "0-1-7", 2, "0-1-7,1-1-1", "0-1-5"},
		{"0-1-7", "0-2-5", true, "", 0, "0-1-7", "0-2-5"},
		{"<U>/b.000001:40", "", true, "", 0, "<U>/b.000001:40", ""},
		{"", "<U>/b.000001:40", false, "<U>/b.000001:40", math.MaxUint64, "<U>/b.000001:40", ""},
		{"<U>/b.000002:4", "<U>/b.000001:900", true, "", 0, "<U>/b.000002:4", "<U>/b.000001:900"},
		{"<U>/b.000002:4", "<U>/b.000002:4", true, "", 0, "<U>/b.000002:4", "<U>/b.000002:4"},
		{"<U>/b.000009:900", "<U>/b.000010:4", false, "<U>/b.000010:4", math.MaxUint64, "<U>/b.000010:4", "<U>/b.000009:900"},
	}
	for _, test := range tests {
		have, want := value(t, test.have), value(t, test.want)
		contains, err := have.Contains(want)
		if err != nil || contains != test.contains || have.Has(want) != contains {
			t.Errorf("%q contains %q: %v, %v, and has %v", have, want, contains, err, have.Has(want))
		}
		missing, err := have.Missing(want)
		if err != nil || missing.String() != expand(test.missing) || missing.IsEmpty() != contains {
			t.Errorf("missing in %q of %q: %q, %v", have, want, missing, err)
		}
		n, exact, err := have.MissingCount(want)
		if err != nil || exact == (test.count == math.MaxUint64) || n != test.count {
			t.Errorf("missing in %q of %q: %d, %v, %v", have, want, n, exact, err)
		}
		union, err := have.Union(want)
		if err != nil || union.String() != expand(test.union) || !union.Equal(value(t, test.union)) {
			t.Errorf("union of %q and %q: %q, %v", have, want, union, err)
		}
		both, err := have.Intersect(want)
		if err != nil || both.String() != expand(test.both) {
			t.Errorf("intersection of %q and %q: %q, %v", have, want, both, err)
		}
	}
}

func TestValue_mixed(t *testing.T) {
	t.Parallel()
	set, pos := value(t, "<U>:1"), value(t, "0-1-1")
	for _, pair := range [][2]gtid.Value{{set, pos}, {pos, set}} {
		if ok, err := pair[0].Contains(pair[1]); ok || !errors.Is(err, gtid.ErrMixed) {
			t.Errorf("Contains of mixed kinds: %v, %v", ok, err)
		}
		if v, err := pair[0].Union(pair[1]); !v.IsEmpty() || !errors.Is(err, gtid.ErrMixed) {
			t.Errorf("Union of mixed kinds: %v, %v", v, err)
		}
		if v, err := pair[0].Intersect(pair[1]); !v.IsEmpty() || !errors.Is(err, gtid.ErrMixed) {
			t.Errorf("Intersect of mixed kinds: %v, %v", v, err)
		}
		if v, err := pair[0].Missing(pair[1]); !v.IsEmpty() || !errors.Is(err, gtid.ErrMixed) {
			t.Errorf("Missing of mixed kinds: %v, %v", v, err)
		}
		if n, exact, err := pair[0].MissingCount(pair[1]); n != 0 || exact || !errors.Is(err, gtid.ErrMixed) {
			t.Errorf("MissingCount of mixed kinds: %v, %v, %v", n, exact, err)
		}
		if pair[0].Has(pair[1]) {
			t.Error("a position has one of another kind")
		}
		if pair[0].Equal(pair[1]) {
			t.Error("mixed kinds are equal")
		}
	}
	if _, ok := set.DomainPos(); ok {
		t.Error("a set is a MariaDB position")
	}
	if _, ok := pos.Set(); ok {
		t.Error("a MariaDB position is a set")
	}
	if s, ok := set.Set(); !ok || s.Value() != set {
		t.Error("a set does not come back")
	}
	if p, ok := pos.DomainPos(); !ok || p.Value() != pos {
		t.Error("a position does not come back")
	}
	if k := (gtid.Value{}).Kind(); k.String() != "empty position" {
		t.Errorf("kind %v", k)
	}
	if k := set.Kind(); k.String() != "MySQL GTID set" {
		t.Errorf("kind %v", k)
	}
	if k := pos.Kind(); k.String() != "MariaDB position" {
		t.Errorf("kind %v", k)
	}
}

func TestParseValue_errors(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{"<U>:0", `malformed GTID set: start of interval out of range at offset 37, near "0"`},
		{"0-1-5,", "malformed GTID position: expected a number at offset 6"},
		{"binlog.000001", `malformed position: neither a MySQL GTID set nor a MariaDB position at offset 0, near "binlog.000001"`},
	}
	for _, test := range tests {
		v, err := gtid.ParseValue(expand(test.text))
		if err == nil || err.Error() != test.want || !v.IsEmpty() {
			t.Errorf("ParseValue(%q) = %v, %v; want error %s", test.text, v, err, test.want)
		}
		same := value(t, "0-1-1")
		if err := same.UnmarshalText([]byte(expand(test.text))); err == nil || same.String() != "0-1-1" {
			t.Errorf("UnmarshalText(%q): %v, value %v", test.text, err, same)
		}
	}
}

func TestValue_text(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"", "<U>:1-5:tag:7", "0-1-5,7-1-1"} {
		v := value(t, text)
		data, err := v.MarshalText()
		if err != nil || string(data) != v.String() {
			t.Errorf("MarshalText of %q: %q, %v", v, data, err)
		}
		var back gtid.Value
		if err := back.UnmarshalText(data); err != nil || !back.Equal(v) || back.Kind() != v.Kind() {
			t.Errorf("%q read back: %q, %v", v, back, err)
		}
	}
}
