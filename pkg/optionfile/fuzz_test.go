package optionfile

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// parseText reads content with every include left alone, so that a fuzzer
// opens no files.
func parseText(content string) (Result, error) {
	r := &reader{groups: []string{"client", "mysqlrw"}}
	err := r.text("f", content, maxDepth)
	return r.result, err
}

// quoted writes a value so that parseLine reads the same value.
func quoted(value string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`).Replace(value) + `"`
}

// FuzzText: whatever the content, no panic; no value in what fmt prints or in
// an error; a comment changes line numbers only; what was read, written with
// quotes, is read again.
func FuzzText(f *testing.F) {
	files, err := filepath.Glob("testdata/files/*.cnf")
	if err != nil {
		f.Fatal(err)
	}
	for _, name := range files {
		data, err := os.ReadFile(name)
		if err != nil {
			f.Fatal(err)
		}
		f.Add(string(data))
	}
	f.Fuzz(func(t *testing.T, content string) {
		const secret = "S3cr3t-of-the-test"
		res, err := parseText(content)
		leak, leakErr := parseText(content + "\n[client]\npassword=" + secret + "\n")
		for _, s := range append(leak.Warnings, leak.String(), fmt.Sprintf("%+v", leak.options), fmt.Sprint(leakErr)) {
			if strings.Contains(s, secret) {
				t.Fatalf("%q shows a value", s)
			}
		}
		moved, movedErr := parseText("  # x\n" + content)
		if (movedErr == nil) != (err == nil) || len(moved.options) != len(res.options) {
			t.Fatalf("a comment changed %v, %v into %v, %v", res, err, moved, movedErr)
		}
		checkOptions(t, res, moved, content)
	})
}

// checkOptions holds the options of a content against its other readings.
func checkOptions(t *testing.T, res, moved Result, content string) {
	t.Helper()
	total := strings.Count(content, "\n") + 1
	var again strings.Builder
	var want []Option
	for i, o := range res.options {
		if o.Line < 1 || o.Line > total {
			t.Fatalf("line %d of %d", o.Line, total)
		}
		if m := moved.options[i]; m.Line != o.Line+1 || m.Name != o.Name || text(Result{options: []Option{m}}) != text(Result{options: []Option{o}}) {
			t.Fatalf("a comment changed option %v into %v", o, m)
		}
		value, ok := o.Value()
		if !ok || strings.ContainsAny(o.Name, `'"`) {
			continue // a quote in a name would be paired with one of the value
		}
		fmt.Fprintf(&again, "[client]\n%s=%s # x\n", o.Name, quoted(value))
		want = append(want, o)
	}
	got, err := parseText(again.String())
	if err != nil || text(got) != text(Result{options: want}) {
		t.Fatalf("wrote\n%s\nread %q, %v, want %q", again.String(), text(got), err, text(Result{options: want}))
	}
}

// FuzzDecodeLogin: no panic; what was decoded encodes to the bytes that it
// came from.
func FuzzDecodeLogin(f *testing.F) {
	data, err := os.ReadFile("testdata/login.cnf")
	if err != nil {
		f.Fatal(err)
	}
	f.Add(data)
	f.Add(data[:100])
	f.Add(encodeLogin(testHeader, nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, data []byte) {
		lines, err := decodeLogin(data)
		if len(lines) == 0 {
			return
		}
		var header [loginHeader + loginKey]byte
		copy(header[:], data)
		again := encodeLogin(header, lines)
		if !bytes.HasPrefix(data, again) || err == nil && len(again) != len(data) {
			t.Fatalf("decoded %q from %x, which encodes to %x", lines, data, again)
		}
	})
}

// FuzzLoginRoundTrip: a line of any text comes back from a login path file,
// and a quoted value from an entry in it.
func FuzzLoginRoundTrip(f *testing.F) {
	f.Add([]byte("0123456789abcdefghij"), "p#w \"q\" \\s 'x' é")
	f.Add([]byte{}, "")
	f.Add([]byte("\xff"), strings.Repeat("x", 40))
	f.Fuzz(func(t *testing.T, key []byte, value string) {
		if strings.Contains(value, "\x00") {
			return
		}
		var header [loginHeader + loginKey]byte
		copy(header[loginHeader:], key)
		want := []string{"[client]\n", "password = " + quoted(value) + "\n", value}
		got, err := decodeLogin(encodeLogin(header, want))
		if err != nil || len(got) != 3 || got[0] != want[0] || got[1] != want[1] || got[2] != want[2] {
			t.Fatalf("got %q, %v, want %q", got, err, want)
		}
		r := &reader{groups: []string{"client"}}
		if err := r.loginLines("f", got[:2], Options{}); err != nil {
			t.Fatal(err)
		}
		o, _ := r.result.Lookup("password")
		if text, ok := o.Value(); !ok || text != value {
			t.Fatalf("got %q, want %q", text, value)
		}
	})
}
