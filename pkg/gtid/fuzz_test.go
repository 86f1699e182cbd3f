package gtid_test

import (
	"errors"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
)

func seeds(f *testing.F, files ...string) {
	for _, file := range files {
		for _, v := range readVectors(f, file) {
			f.Add(v.text)
		}
	}
	f.Add("SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ '" + uuidU + ":1-5,\n" + uuidV + ":1';")
	f.Add("*** 1. row ***\nRetrieved_Gtid_Set: " + uuidV + ":1\nExecuted_Gtid_Set: " + uuidU + ":1\n")
}

// checkError tells whether the text was accepted. An error must be a *ParseError that points into
// the text.
func checkError(t *testing.T, text string, err error) bool {
	t.Helper()
	if err == nil {
		return true
	}
	var perr *gtid.ParseError
	if !errors.As(err, &perr) || perr.Offset < 0 || perr.Offset > len(text) || perr.Msg == "" {
		t.Fatalf("%q: error %#v", text, err)
	}
	return false
}

// checkSet reads a set's text back.
func checkSet(t *testing.T, set gtid.Set) {
	t.Helper()
	text := set.String()
	back, err := gtid.ParseStrict(text)
	if err != nil || !back.Equal(set) || back.String() != text {
		t.Fatalf("%q read back: %q, %v", text, back, err)
	}
	if gtid.Detect(text) == gtid.KindDomain {
		t.Fatalf("%q is taken for a MariaDB position", text)
	}
	for src, iv := range set.Intervals() {
		for _, seq := range []int64{iv.First, iv.Last} {
			g := gtid.GTID{UUID: src.UUID, Tag: src.Tag, Seq: seq}
			if !g.Valid() || !set.ContainsGTID(g) {
				t.Fatalf("%q: %v is not in it", text, g)
			}
		}
		if set.ContainsGTID(gtid.GTID{UUID: src.UUID, Tag: src.Tag, Seq: iv.First - 1}) {
			t.Fatalf("%q: number before %d is in it", text, iv.First)
		}
	}
}

func FuzzParse(f *testing.F) {
	seeds(f, "vectors.tsv", "mariadb.tsv")
	f.Fuzz(func(t *testing.T, text string) {
		set, err := gtid.Parse(text)
		if checkError(t, text, err) {
			checkSet(t, set)
		} else if !set.IsEmpty() {
			t.Fatalf("%q: %q with an error", text, set)
		}
		// A comma between two texts unites what they mean.
		twice, twiceErr := gtid.Parse(text + "," + text)
		if (err == nil) != (twiceErr == nil) || !twice.Equal(set) {
			t.Fatalf("%q is %q, %v; twice is %q, %v", text, set, err, twice, twiceErr)
		}
	})
}

func FuzzParseStrict(f *testing.F) {
	seeds(f, "vectors.tsv")
	f.Fuzz(func(t *testing.T, text string) {
		strict, err := gtid.ParseStrict(text)
		set, plainErr := gtid.Parse(text)
		if checkError(t, text, err) {
			checkSet(t, strict)
			if plainErr != nil || !set.Equal(strict) {
				t.Fatalf("%q is %q, and read strictly %q, %v", text, set, strict, plainErr)
			}
		}
		if plainErr != nil && (err == nil || plainErr.Error() != err.Error()) {
			t.Fatalf("%q: %v, and read strictly %v", text, plainErr, err)
		}
	})
}

func FuzzParseLenient(f *testing.F) {
	seeds(f, "vectors.tsv", "mariadb.tsv")
	f.Fuzz(func(t *testing.T, text string) {
		lenient, err := gtid.ParseLenient(text)
		if checkError(t, text, err) {
			checkSet(t, lenient)
		}
		set, plainErr := gtid.Parse(text)
		if plainErr == nil && (err != nil || !lenient.Equal(set)) {
			t.Fatalf("%q is %q, and read leniently %q, %v", text, set, lenient, err)
		}
		if plainErr != nil {
			return
		}
		dump := "SET @@GLOBAL.GTID_PURGED=/*!80000 '+'*/ '" + text + "';\n"
		if lenient, err = gtid.ParseLenient(dump); err != nil || !lenient.Equal(set) {
			t.Fatalf("%q is %q, %v; want %q", dump, lenient, err, set)
		}
	})
}

func checkPosText(t *testing.T, pos gtid.DomainPos) {
	t.Helper()
	text := pos.String()
	back, err := gtid.ParseDomainPos(text)
	if err != nil || !back.Equal(pos) || back.String() != text {
		t.Fatalf("%q read back: %q, %v", text, back, err)
	}
	if k := gtid.Detect(text); k != gtid.KindDomain && !pos.IsEmpty() {
		t.Fatalf("%q is taken for %v", text, k)
	}
}

func FuzzParseDomainPos(f *testing.F) {
	seeds(f, "vectors.tsv", "mariadb.tsv")
	f.Fuzz(func(t *testing.T, text string) {
		pos, err := gtid.ParseDomainPos(text)
		if !checkError(t, text, err) {
			return
		}
		checkPosText(t, pos)
		state, err := gtid.ParseBinlogState(text)
		if err != nil || !state.Equal(pos) {
			t.Fatalf("%q is %q, and as a state %q, %v", text, pos, state, err)
		}
		if _, err := gtid.ParseDomainPos(text + "," + text); err == nil && !pos.IsEmpty() {
			t.Fatalf("%q twice is accepted", text)
		}
	})
}

func FuzzParseBinlogState(f *testing.F) {
	seeds(f, "mariadb.tsv")
	f.Add("0-1-10,0-2-5,1-1-7,0-3-12")
	f.Fuzz(func(t *testing.T, text string) {
		pos, err := gtid.ParseBinlogState(text)
		if !checkError(t, text, err) {
			return
		}
		checkPosText(t, pos)
		if pos.IsEmpty() {
			return
		}
		twice, err := gtid.ParseBinlogState(text + "," + text)
		if err != nil || !twice.Equal(pos) {
			t.Fatalf("%q is %q; twice is %q, %v", text, pos, twice, err)
		}
	})
}

func FuzzParseValue(f *testing.F) {
	seeds(f, "vectors.tsv", "mariadb.tsv")
	f.Fuzz(func(t *testing.T, text string) {
		v, err := gtid.ParseValue(text)
		if checkError(t, text, err) {
			if back, err := gtid.ParseValue(v.String()); err != nil || !back.Equal(v) {
				t.Fatalf("%q read back: %q, %v", v, back, err)
			}
		}
		// Whatever one of the parsers accepts must not be lost to the other.
		set, setErr := gtid.Parse(text)
		pos, posErr := gtid.ParseDomainPos(text)
		if (setErr == nil || posErr == nil) && (err != nil || !v.Equal(set.Value()) && !v.Equal(pos.Value())) {
			t.Fatalf("%q is %q, %v; as a set %q, %v; as a position %q, %v", text, v, err, set, setErr, pos, posErr)
		}
	})
}
