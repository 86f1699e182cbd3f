package gtid_test

import (
	"encoding/json"
	"errors"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
)

// meaning gives our words for the server's.
var meaning = map[string]string{
	"Expected number":             "expected a number",
	`Expected ","`:                `expected ","`,
	"Expected hex digit":          "expected a hexadecimal digit",
	"Interval start out of range": "start of interval out of range",
	"Interval end out of range":   "end of interval out of range",
	"Number out of range":         "number out of range",

	"Expected at least two hex digits": "expected two hexadecimal digits",
	`Expected "-"`:                     `expected "-" in the UUID`,
	`Expected "}"`:                     `expected "}" after the UUID`,
}

// means tells whether a message says what the server says. Of a long tag ours says more.
func (v vector) means(msg string) bool {
	return msg == meaning[v.says] ||
		msg == "tag longer than 32 characters" && v.says == "Expected number"
}

func TestParse_vectors(t *testing.T) {
	t.Parallel()
	vectors := readVectors(t, "vectors.tsv")
	if len(vectors) < 80 {
		t.Fatalf("only %d vectors", len(vectors))
	}
	for _, v := range vectors {
		got, err := gtid.Parse(v.text)
		if v.ok() {
			if err != nil || got.String() != v.want {
				t.Errorf("Parse(%q) = %q, %v; want %q", v.text, got, err, v.want)
			}
			continue
		}
		var perr *gtid.ParseError
		if !errors.As(err, &perr) {
			t.Errorf("Parse(%q) = %q, %v; want error at offset %d", v.text, got, err, v.offset)
			continue
		}
		if perr.Offset != v.offset {
			t.Errorf("Parse(%q): %v; want offset %d", v.text, err, v.offset)
		}
		if !v.means(perr.Msg) {
			t.Errorf("Parse(%q): message %q, want %q", v.text, perr.Msg, meaning[v.says])
		}
	}
}

func parse(t *testing.T, s string) gtid.Set {
	t.Helper()
	set, err := gtid.Parse(expand(s))
	if err != nil {
		t.Fatal(err)
	}
	return set
}

// TestParse_reports has texts that other tools got wrong, by their public reports.
func TestParse_reports(t *testing.T) {
	t.Parallel()
	tests := []struct {
		report string
		text   string
		want   string
	}{
		{"go-mysql 135", "", ""},
		{"go-mysql 845", "<U>:tag:1-5", "<U>:tag:1-5"},
		{"python-mysql-replication 148", "<V>:1-7,\n<U>:1-2", "<V>:1-7,\n<U>:1-2"},
		{"airbyte 85846", "<U>:1-100:mysqlsh:1-2", "<U>:1-100:mysqlsh:1-2"},
		{"replication-manager 534", "<U>:1-3:a:1:b:2", "<U>:1-3:a:1:b:2"},
		{"clickhouse-sink 1292", "<U>:1-100:200-300,<V>:42", "<V>:42,\n<U>:1-100:200-300"},
		{"vitess: adjacent intervals", "<U>:1-5:6-10", "<U>:1-10"},
	}
	for _, test := range tests {
		if got, want := parse(t, test.text).String(), expand(test.want); got != want {
			t.Errorf("%s: Parse(%q) = %q, want %q", test.report, test.text, got, want)
		}
	}
}

func TestParseStrict(t *testing.T) {
	t.Parallel()
	tests := []struct {
		text   string
		offset int // -1: accepted
		msg    string
	}{
		{"", -1, ""},
		{" \n", -1, ""},
		{"<U>:1-5:7,\n<V>:1:tag:2", -1, ""},
		{" <U> : 1 - 5 ,<V>:tag : 3", -1, ""},
		{"<UPPER>:TAG:1", -1, ""},
		{"<U>:5:1-3:2-4", -1, ""},
		{"<U>:0", 37, "start of interval out of range"},
		{"<U>:5-3", 37, "reversed interval, which servers drop"},
		{"<U>:1:9-8:2", 39, "reversed interval, which servers drop"},
		{"<U>:5-0", 37, "reversed interval, which servers drop"},
		{"<U>", 0, "no interval, which servers take for nothing"},
		{" <U> ,<V>:1", 1, "no interval, which servers take for nothing"},
		{"<U>:tag", 37, "no interval, which servers take for nothing"},
		{"<U>:1:tag", 39, "no interval, which servers take for nothing"},
		{"<U>:a:b:1", 37, "tag without an interval, which servers drop"},
		{"<U>:010", 37, "leading zero, which makes the number octal before 9.6"},
		{"<U>:1-010", 39, "leading zero, which makes the number octal before 9.6"},
		{"<U>:0010-3", 37, "leading zero, which makes the number octal before 9.6"},
		{",", 0, "empty element beside a comma"},
		{",<U>:1", 0, "empty element beside a comma"},
		{"<U>:1,,<V>:1", 39, "empty element beside a comma"},
		{"<U>:1 , ,<V>:1", 41, "empty element beside a comma"},
		{"<U>:1,\n", 38, "empty element beside a comma"},
		{"{<U>}:1", 0, "UUID in braces, which servers before 9.6 refuse"},
		{"<DASHLESS>:1", 0, "UUID without dashes, which servers before 9.6 refuse"},
		{"<U>:5-3,x", 41, "expected two hexadecimal digits"},
	}
	for _, test := range tests {
		text := expand(test.text)
		set, err := gtid.ParseStrict(text)
		if test.offset < 0 {
			if want := parse(t, test.text); err != nil || !set.Equal(want) {
				t.Errorf("ParseStrict(%q) = %q, %v; want %q", text, set, err, want)
			}
			continue
		}
		var perr *gtid.ParseError
		if !errors.As(err, &perr) || perr.Offset != test.offset || perr.Msg != test.msg {
			t.Errorf("ParseStrict(%q) = %q, %v; want %q at offset %d", text, set, err, test.msg, test.offset)
		}
		if !set.IsEmpty() {
			t.Errorf("ParseStrict(%q) returned %q with an error", text, set)
		}
	}
}

func TestParseError_message(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{"<U>:", "malformed GTID set: expected a number at offset 37"},
		{"<U>:1;drop", `malformed GTID set: expected "," at offset 38, near ";drop"`},
		{"\xff\x00", `malformed GTID set: expected a hexadecimal digit at offset 0, near "\xff\x00"`},
		{
			"<U>:1 " + strings.Repeat("x", 1000),
			`malformed GTID set: expected "," at offset 39, near "xxxxxxxxxxxxxxxxxxxxxxxx"`,
		},
	}
	for _, test := range tests {
		if _, err := gtid.Parse(expand(test.text)); err == nil || err.Error() != test.want {
			t.Errorf("Parse(%.50q): error %v, want %s", test.text, err, test.want)
		}
	}
}

func TestParseUUID(t *testing.T) {
	t.Parallel()
	for _, text := range []string{uuidU, strings.ToUpper(uuidU)} {
		u, err := gtid.ParseUUID(text)
		if err != nil || u.String() != uuidU {
			t.Errorf("ParseUUID(%q) = %v, %v", text, u, err)
		}
	}
	for _, text := range []string{"", "<DASHLESS>", "{<U>}", "<U> ", " <U>", "<U>0", "<U>:1", "3e11fa47-71ca"} {
		_, err := gtid.ParseUUID(expand(text))
		if err == nil || !strings.HasPrefix(err.Error(), "malformed UUID: ") {
			t.Errorf("ParseUUID(%q): error %v", text, err)
		}
	}
	u := gtid.UUID{1}
	if err := u.UnmarshalText([]byte("x")); err == nil || u != (gtid.UUID{1}) {
		t.Errorf("UnmarshalText of a wrong text: %v, value %v", err, u)
	}
	if err := u.UnmarshalText([]byte(uuidV)); err != nil || u.String() != uuidV {
		t.Errorf("UnmarshalText: %v, value %v", err, u)
	}
}

func TestUUID_text(t *testing.T) {
	t.Parallel()
	data, err := json.Marshal([]gtid.UUID{uuid(t, uuidU)})
	if err != nil || string(data) != `["`+uuidU+`"]` {
		t.Errorf("JSON %s, %v", data, err)
	}
}

func TestParseGTID(t *testing.T) {
	t.Parallel()
	tests := []struct{ text, want string }{
		{"<U>:5", "<U>:5"},
		{"<UPPER>:TAG:5", "<U>:tag:5"},
		{" <U>:9223372036854775806 ", "<U>:9223372036854775806"},
		{"<U>:5-5", "<U>:5"},
		{"", ""},
		{"<U>", ""},
		{"<U>:5-6", ""},
		{"<U>:5:7", ""},
		{"<U>:5:t:5", ""},
		{"<U>:5,<V>:5", ""},
		{"<U>:0", ""},
		{"<U>:05", ""},
	}
	for _, test := range tests {
		g, err := gtid.ParseGTID(expand(test.text))
		if test.want == "" {
			if err == nil {
				t.Errorf("ParseGTID(%q) = %v, want an error", test.text, g)
			}
			continue
		}
		if err != nil || g.String() != expand(test.want) || !g.Valid() {
			t.Errorf("ParseGTID(%q) = %v, %v; want %q", test.text, g, err, test.want)
		}
	}
}
