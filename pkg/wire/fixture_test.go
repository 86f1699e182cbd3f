package wire_test

import (
	"bytes"
	"encoding/hex"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// update makes the tests on real servers write what they saw to testdata:
//
//	go test ./pkg/wire -run 'TestCapture' -update
var update = flag.Bool("update", false, "write captured packets to testdata")

// exchange is one command and its answer, or a login, as it went over the wire, with headers.
type exchange struct {
	name  string
	caps  wire.Capability
	note  string // for login: what a test needs to check it
	turns []turn // sides take turns
}

type turn struct {
	server bool
	bytes  []byte
}

// add appends bytes of one side.
func (e *exchange) add(server bool, b []byte) {
	if n := len(e.turns); n > 0 && e.turns[n-1].server == server {
		e.turns[n-1].bytes = append(e.turns[n-1].bytes, b...)
		return
	}
	e.turns = append(e.turns, turn{server: server, bytes: bytes.Clone(b)})
}

// of returns all bytes of one side.
func (e *exchange) of(server bool) []byte {
	var all []byte
	for _, t := range e.turns {
		if t.server == server {
			all = append(all, t.bytes...)
		}
	}
	return all
}

// command returns the payload of the first packet that the client sent.
func (e *exchange) command(t testing.TB) []byte {
	t.Helper()
	if len(e.turns) == 0 || e.turns[0].server {
		t.Fatalf("%s: the client does not begin", e.name)
	}
	payload, _, n, err := wire.Split(e.turns[0].bytes)
	if err != nil || n == 0 {
		t.Fatalf("%s: no whole command: %v", e.name, err)
	}
	return payload
}

func storeFixture(t *testing.T, name, comment string, list []*exchange) {
	t.Helper()
	var b strings.Builder
	fmt.Fprintf(&b, "# %s\n", comment)
	for _, e := range list {
		fmt.Fprintf(&b, "\ncase %s\ncaps %#x\n", e.name, uint64(e.caps))
		if e.note != "" {
			fmt.Fprintf(&b, "note %s\n", e.note)
		}
		for _, t := range e.turns {
			side := "C"
			if t.server {
				side = "S"
			}
			for rest := t.bytes; len(rest) > 0; {
				n := min(len(rest), 48)
				fmt.Fprintf(&b, "%s %x\n", side, rest[:n])
				rest = rest[n:]
			}
		}
	}
	if err := os.WriteFile(filepath.Join("testdata", name), []byte(b.String()), 0o644); err != nil {
		t.Fatal(err)
	}
}

func loadFixture(t testing.TB, path string) []*exchange {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	var list []*exchange
	for i, line := range strings.Split(string(text), "\n") {
		key, value, _ := strings.Cut(line, " ")
		if key == "" || key == "#" {
			continue
		}
		if key == "case" {
			list = append(list, &exchange{name: value})
			continue
		}
		e := list[len(list)-1]
		switch key {
		case "caps":
			n, err := strconv.ParseUint(value, 0, 64)
			if err != nil {
				t.Fatalf("%s:%d: %v", path, i+1, err)
			}
			e.caps = wire.Capability(n)
		case "note":
			e.note = value
		case "C", "S":
			b, err := hex.DecodeString(value)
			if err != nil {
				t.Fatalf("%s:%d: %v", path, i+1, err)
			}
			e.add(key == "S", b)
		default:
			t.Fatalf("%s:%d: unknown line %q", path, i+1, line)
		}
	}
	return list
}

// fixtures returns the exchanges of all files that match the pattern, by file name.
func fixtures(t testing.TB, pattern string) map[string][]*exchange {
	t.Helper()
	paths, err := filepath.Glob(filepath.Join("testdata", pattern))
	if err != nil || len(paths) == 0 {
		t.Fatalf("no fixture %s: %v", pattern, err)
	}
	all := map[string][]*exchange{}
	for _, path := range paths {
		all[filepath.Base(path)] = loadFixture(t, path)
	}
	return all
}

// packets cuts bytes into payloads with their numbers.
func packets(t testing.TB, b []byte) (payloads [][]byte, numbers []byte) {
	t.Helper()
	for len(b) > 0 {
		payload, seq, n, err := wire.Split(b)
		if err != nil || n == 0 {
			t.Fatalf("cut packets: %d bytes left: %v", len(b), err)
		}
		payloads, numbers = append(payloads, payload), append(numbers, seq)
		b = b[n:]
	}
	return payloads, numbers
}
