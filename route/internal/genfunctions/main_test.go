package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

// TestGenerated fails after a change of functions.txt or the template without
// go generate.
func TestGenerated(t *testing.T) {
	text, err := os.ReadFile("../../functions.txt")
	if err != nil {
		t.Fatal(err)
	}
	want, err := generate(text)
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../functions_gen.go")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("functions_gen.go is not what functions.txt says: run go generate ./route")
	}
}

func TestParse(t *testing.T) {
	text := "# comment\n\nabs  pure  yes  -\nlog grammar 8.0.4/no-space <11.2\npoint pure loadable 10.6/two-arguments\n"
	want := []entry{
		{"abs", use{kind: "functionPure", mysql: family{built: true}}},
		{"log", use{
			kind:    "functionGrammar",
			mysql:   family{built: true, noSpace: true, since: 80004},
			mariadb: family{until: 110200},
		}},
		{"point", use{kind: "functionPure", mariadb: family{since: 100600}, when: "ifTwoArguments"}},
	}
	got, err := parse(strings.NewReader(text))
	if err != nil || len(got) != len(want) {
		t.Fatalf("parse = %v, %v; want %v", got, err, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("line %d: %+v, want %+v", i+1, got[i], want[i])
		}
	}
}

func TestParseErrors(t *testing.T) {
	for _, test := range []struct{ text, want string }{
		{"abs pure yes", "3 columns"},
		{"ABS pure yes yes", "lower-case"},
		{"abs good yes yes", `unknown kind "good"`},
		{"abs pure maybe yes", `bad version "maybe"`},
		{"abs pure 8.0.4.1 yes", "bad version"},
		{"abs pure yes <0", "bad version"},
		{"abs pure yes yes/sometimes", `unknown condition "sometimes"`},
		{"abs pure yes/arguments yes", "MySQL, which knows none"},
		{"b pure yes yes\na pure yes yes", "line 2: a does not sort behind b"},
		{"a pure yes yes\na pure yes -", "line 2"},
	} {
		if _, err := parse(strings.NewReader(test.text)); err == nil || !strings.Contains(err.Error(), test.want) {
			t.Errorf("parse(%q): error %v, want one with %q", test.text, err, test.want)
		}
	}
}
