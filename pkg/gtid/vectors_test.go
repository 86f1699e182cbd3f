package gtid_test

import (
	"os"
	"strconv"
	"strings"
	"testing"
)

const (
	uuidU = "3e11fa47-71ca-11e1-9e33-c80aa9429562"
	uuidV = "1e11fa47-71ca-11e1-9e33-c80aa9429562"

	uuidU32 = "3e11fa4771ca11e19e33c80aa9429562"
)

// expand replaces the placeholders and escapes of the test data.
func expand(s string) string {
	return strings.NewReplacer(
		"<U>", uuidU,
		"<V>", uuidV,
		"<UPPER>", strings.ToUpper(uuidU),
		"<DASHLESS>", uuidU32,
		`\n`, "\n",
		`\t`, "\t",
		`\s`, " ",
		`\xa0`, "\xa0",
		`\u00a0`, "\u00a0",
	).Replace(s)
}

// vector is a text and what a server makes of it.
type vector struct {
	text   string
	want   string // canonical
	offset int    // of the error, or -1
	says   string // the server's words for the error
}

func (v vector) ok() bool { return v.offset < 0 }

// readVectors reads a file of testdata; vectors.tsv explains the format.
func readVectors(t testing.TB, file string) []vector {
	t.Helper()
	data, err := os.ReadFile("testdata/" + file)
	if err != nil {
		t.Fatal(err)
	}
	var out []vector
	for line := range strings.Lines(string(data)) {
		if line[0] == '#' {
			continue
		}
		column := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		v := vector{text: expand(column[0]), offset: -1}
		if offset, isError := strings.CutPrefix(column[1], "!"); isError {
			if v.offset, err = strconv.Atoi(offset); err != nil {
				t.Fatalf("%s: %q: %v", file, line, err)
			}
			v.says = column[2]
		} else {
			v.want = expand(column[1][1:])
		}
		out = append(out, v)
	}
	return out
}
