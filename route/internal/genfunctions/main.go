// Command genfunctions writes functions_gen.go from functions.txt. It is run by
// go generate in the folder of package route.
package main

import (
	"bytes"
	_ "embed"
	"fmt"
	"go/format"
	"os"
	"strings"
	"text/template"
)

//go:embed lookup.go.tmpl
var source string

func main() {
	text, err := os.ReadFile("functions.txt")
	if err != nil {
		panic(err)
	}
	code, err := generate(text)
	if err != nil {
		panic(err)
	}
	if err := os.WriteFile("functions_gen.go", code, 0o644); err != nil {
		panic(err)
	}
}

// file is what the template shows.
type file struct {
	Longest int
	Buckets int
	Slots   int
	Names   int
	Infos   []string // literals, each once
	Words   []string // literals of all words, several in a line
	Shifts  []string // lines of numbers
	Places  []string
}

// generate returns the Go source for the text of functions.txt.
func generate(text []byte) ([]byte, error) {
	entries, err := parse(bytes.NewReader(text))
	if err != nil {
		return nil, err
	}
	shifts, places, err := place(entries)
	if err != nil {
		return nil, err
	}
	f := file{Buckets: len(shifts), Slots: len(places), Names: len(entries)}
	number := map[use]int{}
	var words []string
	for _, e := range entries {
		f.Longest = max(f.Longest, len(e.name))
		n, known := number[e.use]
		if !known {
			n = len(f.Infos)
			number[e.use] = n
			f.Infos = append(f.Infos, e.use.literal())
		}
		words = append(words, fmt.Sprintf("{%q, %d}", e.name, n))
	}
	f.Words, f.Shifts, f.Places = fill(words), fill(numbers(shifts)), fill(numbers(places))
	t, err := template.New("").Parse(source)
	if err != nil {
		return nil, err
	}
	var out bytes.Buffer
	if err := t.Execute(&out, f); err != nil {
		return nil, err
	}
	return format.Source(out.Bytes())
}

// literal returns the fields of a functionInfo.
func (u use) literal() string {
	fields := []string{"Kind: " + u.kind}
	add := func(name string, set bool) {
		if set {
			fields = append(fields, name+": true")
		}
	}
	add("MySQL", u.mysql.built)
	add("MariaDB", u.mariadb.built)
	add("NoSpace", u.mysql.noSpace || u.mariadb.noSpace)
	add("NoSpaceMySQL", u.mysql.noSpace)
	add("NoSpaceMariaDB", u.mariadb.noSpace)
	if u.when != "" {
		fields = append(fields, "MariaDBIf: "+u.when)
	}
	for _, limit := range []struct {
		name   string
		number int
	}{
		{"MySQLSince", u.mysql.since},
		{"MySQLUntil", u.mysql.until},
		{"MariaDBSince", u.mariadb.since},
		{"MariaDBUntil", u.mariadb.until},
	} {
		if limit.number != 0 {
			fields = append(fields, fmt.Sprintf("%s: %d", limit.name, limit.number))
		}
	}
	return "{" + strings.Join(fields, ", ") + "}"
}

// fill puts items into lines of at most 110 bytes.
func fill(items []string) []string {
	var lines []string
	line := ""
	for _, item := range items {
		if line != "" && len(line)+len(item)+2 > 110 {
			lines, line = append(lines, line), ""
		}
		if line != "" {
			line += " "
		}
		line += item + ","
	}
	return append(lines, line)
}

func numbers(list []uint16) []string {
	texts := make([]string, len(list))
	for i, n := range list {
		texts[i] = fmt.Sprint(n)
	}
	return texts
}
