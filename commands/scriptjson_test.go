//go:build unix

package commands_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"strconv"
	"strings"

	"github.com/rogpeppe/go-internal/testscript"
)

// cmdJSON is "[!] json PATH VALUE" and "json PATH is TYPE" on the standard
// output of the last program. PATH is like 0.channels.1.source, VALUE a JSON
// value or, for a string, its text; TYPE is null, bool, number, string, array
// or object.
func cmdJSON(ts *testscript.TestScript, neg bool, args []string) {
	if len(args) != 2 && (len(args) != 3 || args[1] != "is") {
		ts.Fatalf("usage: json PATH VALUE | json PATH is TYPE")
	}
	raw := jsonAt(ts, args[0])
	if len(args) == 3 {
		if got := jsonType(raw); (got == args[2]) == neg {
			ts.Fatalf("%s is %s: %s", args[0], got, raw)
		}
		return
	}
	got := jsonText(raw)
	if (got == args[1]) == neg {
		ts.Fatalf("%s is %s", args[0], raw)
	}
}

// cmdCapture is "capture NAME PATH": puts a value into an environment variable.
func cmdCapture(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: capture NAME PATH")
	}
	ts.Setenv(args[0], jsonText(jsonAt(ts, args[1])))
}

// jsonText is a string's text, and any other value as it is written.
func jsonText(raw json.RawMessage) string {
	var text string
	if jsonType(raw) == "string" && json.Unmarshal(raw, &text) == nil {
		return text
	}
	return string(raw)
}

// cmdJSONKeys is "jsonkeys PATH KEY...": exactly these keys, in this order.
// A last word "..." allows more of them.
func cmdJSONKeys(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: jsonkeys PATH KEY...")
	}
	got, err := jsonKeys(jsonAt(ts, args[0]))
	ts.Check(err)
	want := args[1:]
	if n := len(want) - 1; want[n] == "..." {
		want, got = want[:n], got[:min(n, len(got))]
	}
	if g, w := strings.Join(got, " "), strings.Join(want, " "); g != w {
		ts.Fatalf("%s has the keys\n  %s\nwant\n  %s", args[0], g, w)
	}
}

// jsonAt returns the value of a path, "." being the whole document.
func jsonAt(ts *testscript.TestScript, path string) json.RawMessage {
	raw := json.RawMessage(ts.ReadFile("stdout"))
	if !json.Valid(raw) {
		ts.Fatalf("stdout is not one JSON document")
	}
	raw = bytes.TrimSpace(raw)
	for _, step := range strings.Split(strings.Trim(path, "."), ".") {
		if step == "" {
			continue
		}
		next, err := jsonStep(raw, step)
		if err != nil {
			ts.Fatalf("%s: %v", path, err)
		}
		raw = next
	}
	return raw
}

func jsonStep(raw json.RawMessage, step string) (json.RawMessage, error) {
	if n, err := strconv.Atoi(step); err == nil {
		var list []json.RawMessage
		if err := json.Unmarshal(raw, &list); err != nil {
			return nil, err
		}
		if n >= len(list) {
			return nil, fmt.Errorf("there are only %d elements", len(list))
		}
		return list[n], nil
	}
	var object map[string]json.RawMessage
	if err := json.Unmarshal(raw, &object); err != nil {
		return nil, err
	}
	value, ok := object[step]
	if !ok {
		return nil, fmt.Errorf("no key %q in %s", step, raw)
	}
	return value, nil
}

func jsonType(raw json.RawMessage) string {
	switch raw[0] {
	case 'n':
		return "null"
	case 't', 'f':
		return "bool"
	case '"':
		return "string"
	case '[':
		return "array"
	case '{':
		return "object"
	default:
		return "number"
	}
}

// jsonKeys returns the keys of an object in their order.
func jsonKeys(raw json.RawMessage) ([]string, error) {
	d := json.NewDecoder(bytes.NewReader(raw))
	if open, err := d.Token(); err != nil || open != json.Delim('{') {
		return nil, fmt.Errorf("not an object: %s", raw)
	}
	var keys []string
	for d.More() {
		key, err := d.Token()
		if err != nil {
			return nil, err
		}
		keys = append(keys, fmt.Sprint(key))
		var value json.RawMessage
		if err := d.Decode(&value); err != nil {
			return nil, err
		}
	}
	return keys, nil
}
