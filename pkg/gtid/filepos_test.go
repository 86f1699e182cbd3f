package gtid_test

import (
	"errors"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
)

func TestFilePos_Compare(t *testing.T) {
	t.Parallel()
	at := func(file string, offset uint64) gtid.FilePos { return gtid.FilePos{File: file, Offset: offset} }
	for _, tt := range []struct {
		p, q gtid.FilePos
		want int
	}{
		{at("bin.000001", 4), at("bin.000001", 4), 0},
		{at("bin.000001", 4), at("bin.000001", 5), -1},
		{at("bin.000001", 900), at("bin.000002", 4), -1},
		{at("bin.999999", 900), at("bin.1000000", 4), -1}, // as text it would be behind
		{at("bin.000010", 4), at("bin.10", 4), 0},
		{at("a.b.000002", 4), at("a.b.000001", 4), 1},
	} {
		if got, err := tt.p.Compare(tt.q); err != nil || got != tt.want {
			t.Errorf("%s and %s: got %d %v, want %d", tt.p, tt.q, got, err, tt.want)
		}
		if got, err := tt.q.Compare(tt.p); err != nil || got != -tt.want {
			t.Errorf("%s and %s: got %d %v, want %d", tt.q, tt.p, got, err, -tt.want)
		}
	}
	for _, q := range []gtid.FilePos{{}, at("other.000001", 4), at("bin", 4), at("bin.", 4), at("bin.x", 4), at("a.bin.000001", 4)} {
		if _, err := at("bin.000001", 4).Compare(q); !errors.Is(err, gtid.ErrIncomparable) {
			t.Errorf("%s: got %v, want ErrIncomparable", q, err)
		}
	}
}

// FuzzParseLogName: a name that is one can be compared with itself, and its
// successor is behind it.
func FuzzParseLogName(f *testing.F) {
	for _, s := range []string{"bin.000001", "a.b.9", "bin", ".1", "bin.", "bin.+1", "bin.99999999999999999999"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, name string) {
		p := gtid.FilePos{File: name, Offset: 4}
		order, err := p.Compare(p)
		if (gtid.ParseLogName(name) == nil) != (err == nil) || order != 0 {
			t.Fatalf("%q: got %d %v, and %v", name, order, err, gtid.ParseLogName(name))
		}
		if err != nil {
			return
		}
		dot := strings.LastIndexByte(name, '.')
		if order, err := p.Compare(gtid.FilePos{File: name[:dot] + ".0" + name[dot+1:], Offset: 5}); err != nil || order != -1 {
			t.Errorf("%q: got %d %v against the same file with a leading zero, further on", name, order, err)
		}
	})
}

func TestParseLogPos(t *testing.T) {
	t.Parallel()
	for _, text := range []string{"<U>/b.000001:4", "<U>/a/b.c.9:18446744073709551615"} {
		p, err := gtid.ParseLogPos(expand(text))
		if err != nil || p.String() != expand(text) {
			t.Errorf("%s: got %s, %v", text, p, err)
		}
	}
	for text, offset := range map[string]int{
		"": 0, "b.000001:4": 0, "x/b.000001:4": 0, "<U>/b.000001": 45, "<U>/b:4": 37, "<U>/b.000001:": 46, "<U>/b.000001:+4": 46,
		"<U>/b.000001:-4": 46, "<U>/b.000001:4 ": 46, "<U>/:4": 37, "<U>/b.000001:18446744073709551616": 46,
	} {
		_, err := gtid.ParseLogPos(expand(text))
		var parse *gtid.ParseError
		if !errors.As(err, &parse) || parse.Offset != offset {
			t.Errorf("%q: got %v, want an error at %d", text, err, offset)
		}
	}
	if p := (gtid.LogPos{}); p.String() != "" || !p.Value().IsEmpty() {
		t.Errorf("no place: %q", p)
	}
}

// TestLogPos_twoServers: of places in the logs of two servers nothing can be said.
func TestLogPos_twoServers(t *testing.T) {
	t.Parallel()
	one, other := value(t, "<U>/b.000001:4"), value(t, "<V>/b.000001:4")
	for name, f := range map[string]func() error{
		"contains": func() error { _, err := one.Contains(other); return err },
		"union":    func() error { _, err := one.Union(other); return err },
		"both":     func() error { _, err := one.Intersect(other); return err },
		"missing":  func() error { _, err := one.Missing(other); return err },
		"count":    func() error { _, _, err := one.MissingCount(other); return err },
	} {
		if err := f(); !errors.Is(err, gtid.ErrIncomparable) {
			t.Errorf("%s: got %v, want ErrIncomparable", name, err)
		}
	}
	if one.Has(other) || one.Equal(other) || !one.Equal(value(t, "<U>/b.000001:4")) {
		t.Error("had or equal where it is not, or the other way round")
	}
	if _, err := one.Contains(value(t, "<U>:1")); !errors.Is(err, gtid.ErrMixed) {
		t.Errorf("a place and a set: got %v, want ErrMixed", err)
	}
}
