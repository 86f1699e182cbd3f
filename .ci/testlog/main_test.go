package main

import (
	"encoding/json"
	"strings"
	"testing"
)

// events writes what go test would.
func events(t *testing.T, list ...event) string {
	t.Helper()
	var b strings.Builder
	for _, e := range list {
		text, err := json.Marshal(e)
		if err != nil {
			t.Fatal(err)
		}
		b.Write(append(text, '\n'))
	}
	return b.String()
}

func output(test, text string) event {
	return event{Action: "output", Package: "m/lag", Test: test, Output: text}
}

func ends(test, how string) event { return event{Action: how, Package: "m/lag", Test: test} }

func TestRead(t *testing.T) {
	tests := []struct {
		name   string
		events []event
		want   string
		failed bool
	}{
		{
			"all pass",
			[]event{
				output("TestA", "=== RUN   TestA\n"), output("TestA", "    a_test.go:1: chatter\n"),
				output("TestA", "--- PASS: TestA (0.00s)\n"), ends("TestA", "pass"),
				output("", "PASS\n"), output("", "ok  \tm/lag\t0.1s\n"), ends("", "pass"),
			},
			"ok  \tm/lag\t0.1s\n", false,
		},
		{
			"no test files",
			[]event{output("", "?   \tm/lag\t[no test files]\n"), ends("", "skip")},
			"?   \tm/lag\t[no test files]\n", false,
		},
		{
			"skipped, with the reason",
			[]event{
				output("TestA", "=== RUN   TestA\n"), output("TestA", "    a_test.go:1: MYSQL MISSING: no apt\n"),
				output("TestA", "--- SKIP: TestA (0.00s)\n"), ends("TestA", "skip"),
				output("", "ok  \tm/lag\t0.1s\n"), ends("", "pass"),
			},
			"skipped: TestA: a_test.go:1: MYSQL MISSING: no apt\nok  \tm/lag\t0.1s\n", false,
		},
		{
			"only the failed one is shown",
			[]event{
				output("TestA", "    a_test.go:1: of A\n"), output("TestB", "    a_test.go:2: of B\n"),
				output("TestB", "--- FAIL: TestB (0.00s)\n"), ends("TestB", "fail"), ends("TestA", "pass"),
				output("", "-test.shuffle 1\n"), output("", "FAIL\tm/lag\t0.1s\n"), ends("", "fail"),
			},
			"    a_test.go:2: of B\n--- FAIL: TestB (0.00s)\n-test.shuffle 1\nFAIL\tm/lag\t0.1s\n", true,
		},
		{
			"a panic ends the package before its test",
			[]event{output("TestA", "panic: x\n"), output("", "FAIL\tm/lag\t0.1s\n"), ends("", "fail")},
			"FAIL\tm/lag\t0.1s\npanic: x\n", true,
		},
		{
			"does not compile",
			[]event{
				{Action: "build-output", ImportPath: "m/lag", Output: "lag.go:1: syntax error\n"},
				{Action: "build-fail", ImportPath: "m/lag"},
			},
			"lag.go:1: syntax error\n", true,
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var out strings.Builder
			failed, err := read(strings.NewReader(events(t, tt.events...)), &out)
			if err != nil {
				t.Fatal(err)
			}
			if out.String() != tt.want || failed != tt.failed {
				t.Errorf("got %q, failed %t; want %q, %t", out.String(), failed, tt.want, tt.failed)
			}
		})
	}
}

func TestRead_notGoTest(t *testing.T) {
	for _, in := range []string{"", "no go files", `{"Action":"start"}`, `{"Action":`} {
		if failed, err := read(strings.NewReader(in), &strings.Builder{}); err == nil {
			t.Errorf("read(%q) = %t, want an error", in, failed)
		}
	}
}
