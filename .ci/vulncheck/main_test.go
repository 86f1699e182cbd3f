package main

import (
	"slices"
	"strings"
	"testing"
)

func TestRead(t *testing.T) {
	const preamble = `{"config":{"protocol_version":"v1.0.0"}} {"osv":{"id":"GO-1"}} `
	const (
		required = `{"finding":{"osv":"GO-1","fixed_version":"v1.2.0","trace":[{"module":"example.org/m","version":"v1.1.0"}]}}`
		imported = `{"finding":{"osv":"GO-1","fixed_version":"v1.2.0",` +
			`"trace":[{"module":"example.org/m","version":"v1.1.0","package":"example.org/m/p"}]}}`
		called = `{"finding":{"osv":"GO-1","fixed_version":"v1.2.0","trace":[` +
			`{"module":"example.org/m","version":"v1.1.0","package":"example.org/m/p","function":"F"},` +
			`{"module":"github.com/mysqlrw/mysqlrw","package":"github.com/mysqlrw/mysqlrw/lag","function":"G"}]}}`
		unfixed  = `{"finding":{"osv":"GO-2","trace":[{"module":"example.org/m","version":"v1.1.0"}]}}`
		standard = `{"finding":{"osv":"GO-3","fixed_version":"v1.26.9",` +
			`"trace":[{"module":"stdlib","version":"v1.26.8","package":"crypto/tls","function":"Write"}]}}`
		command = `{"finding":{"osv":"GO-4","trace":[{"module":"toolchain"}]}}`
	)
	tests := []struct {
		name, input      string
		allowed, refused []string
	}{
		{name: "no finding", input: preamble},
		{
			name: "module that is only required", input: preamble + required,
			refused: []string{"GO-1 example.org/m v1.1.0, required, fixed in v1.2.0"},
		},
		{
			name: "one line a vulnerability, the worst", input: preamble + required + called + imported,
			refused: []string{"GO-1 example.org/m v1.1.0 example.org/m/p, called, fixed in v1.2.0"},
		},
		{
			name: "two of one module", input: preamble + unfixed + imported,
			refused: []string{
				"GO-1 example.org/m v1.1.0 example.org/m/p, imported, fixed in v1.2.0",
				"GO-2 example.org/m v1.1.0, required, not fixed",
			},
		},
		{
			name: "Go itself", input: preamble + standard + command,
			allowed: []string{"GO-3 stdlib v1.26.8 crypto/tls, called, fixed in v1.26.9"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			allowed, refused, err := read(strings.NewReader(tt.input))
			if err != nil {
				t.Fatal(err)
			}
			if !slices.Equal(allowed, tt.allowed) || !slices.Equal(refused, tt.refused) {
				t.Errorf("got allowed %q, refused %q; want %q, %q", allowed, refused, tt.allowed, tt.refused)
			}
		})
	}
}

func TestRead_notGovulncheck(t *testing.T) {
	for _, input := range []string{"", "no such file", `{"config":{}} {"finding":`, `{"finding":{"osv":"GO-1"}}`} {
		if allowed, refused, err := read(strings.NewReader(input)); err == nil {
			t.Errorf("read(%q) = %q, %q, want an error", input, allowed, refused)
		}
	}
}
