package config

import (
	"errors"
	"strings"
	"testing"

	"github.com/BurntSushi/toml"
)

// FuzzParse: whatever the text, it ends in a Config or in errors that stand in
// the text, and the places of keys are those that the parser saw.
func FuzzParse(f *testing.F) {
	f.Add(Sample)
	f.Add(least)
	for _, test := range bad {
		f.Add(least + test.text)
	}
	for _, test := range badWhole {
		f.Add(test.text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		c, warnings, err := Parse("f", []byte(text), Options{Getenv: testEnv})
		var problems Errors
		switch {
		case (c == nil) != (err != nil):
			t.Fatalf("config %v, error %v", c, err)
		case err != nil && (!errors.As(err, &problems) || len(problems) == 0):
			t.Fatalf("the error is %#v", err)
		case c != nil && len(Diff(c, c)) > 0:
			t.Fatalf("it differs from itself: %v", Diff(c, c))
		}
		lines := strings.Count(text, "\n") + 1
		for _, p := range append(problems, warnings...) {
			if p.Line < 1 || p.Line > lines || p.Column < 1 || p.Message == "" {
				t.Fatalf("%v stands nowhere in the text", p)
			}
		}
		text = strings.TrimPrefix(text, "\uFEFF")
		places := indexOf(text)
		var root map[string]any
		if meta, err := toml.Decode(text, &root); err == nil {
			for _, key := range meta.Keys() {
				if !strings.ContainsAny(strings.Join(key, ""), "\"'\\") && !found(places, root, "", key) {
					t.Fatalf("no place of %q in %v", key, places)
				}
			}
		}
	})
}

// found looks a key up in every element of the arrays on its way: some has it.
func found(places map[string]place, v any, path string, key []string) bool {
	switch v := v.(type) {
	case []map[string]any:
		for i, e := range v {
			if found(places, e, element(path, i), key) {
				return true
			}
		}
		return false
	case []any:
		for i, e := range v {
			if found(places, e, element(path, i), key) {
				return true
			}
		}
	}
	if len(key) == 0 {
		_, ok := places[path]
		return ok
	}
	m, ok := v.(map[string]any)
	if !ok {
		return false
	}
	return found(places, m[key[0]], join(path, key[0]), key[1:])
}
