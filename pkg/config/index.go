package config

import (
	"strconv"
	"strings"
)

// place is where a key and its value begin, in bytes. A table's key is its
// header.
type place struct{ key, value int }

// indexer finds the places of all keys of a text that the TOML parser has taken:
// the parser checks and reads, but keeps no places of its own. On any other text
// the places are wrong, and that is all.
type indexer struct {
	text   string
	at     int
	places map[string]place
	tables map[string]int // how many tables an array of tables has so far
}

// indexOf returns the places by path. A path is server[0].name: parts that
// are not plain words stand in quotes.
func indexOf(text string) map[string]place {
	x := &indexer{text: text, places: map[string]place{}, tables: map[string]int{}}
	table := ""
	for x.blank(" \t\r\n"); x.at < len(x.text); x.blank(" \t\r\n") {
		start := x.at
		if x.peek() != '[' {
			x.assignment(table)
		} else {
			table = x.header()
		}
		if x.at == start { // not TOML
			x.at++
		}
	}
	return x.places
}

// maxPath is far over the length of any path that is a key; deeper ones are not
// told apart, or hostile nesting would cost its square.
const maxPath = 200

// join makes the path of a key in a table.
func join(table, key string) string {
	if len(table) > maxPath {
		return table
	}
	if strings.ContainsAny(key, ".[]\"") || key == "" {
		key = strconv.Quote(key)
	}
	if table == "" {
		return key
	}
	return table + "." + key
}

// element makes the path of an element of an array.
func element(path string, i int) string {
	if len(path) > maxPath {
		return path
	}
	return path + "[" + strconv.Itoa(i) + "]"
}

func (x *indexer) peek() byte {
	if x.at < len(x.text) {
		return x.text[x.at]
	}
	return 0
}

// blank goes on behind blanks of the kinds given and comments.
func (x *indexer) blank(kinds string) {
	for x.at < len(x.text) {
		switch c := x.text[x.at]; {
		case strings.IndexByte(kinds, c) >= 0:
			x.at++
		case c == '#':
			for x.at < len(x.text) && x.text[x.at] != '\n' {
				x.at++
			}
		default:
			return
		}
	}
}

func (x *indexer) header() string {
	start := x.at
	x.at++
	array := x.peek() == '['
	if array {
		x.at++
	}
	parts := x.key()
	for x.at < len(x.text) && x.text[x.at] != '\n' {
		x.at++
	}
	path := ""
	for i, part := range parts {
		path = join(path, part)
		switch n := x.tables[path]; {
		case array && i == len(parts)-1:
			x.tables[path]++
			x.note(path, place{start, start})
			path = element(path, n)
		case n > 0:
			path = element(path, n-1)
		}
		x.note(path, place{start, start})
	}
	return path
}

// note keeps the first place of a path: that of a table may come again with
// each of its keys.
func (x *indexer) note(path string, p place) {
	if _, known := x.places[path]; !known {
		x.places[path] = p
	}
}

// key reads a key with dots in it.
func (x *indexer) key() []string {
	var parts []string
	for {
		x.blank(" \t")
		start := x.at
		switch c := x.peek(); c {
		case '"', '\'':
			x.quoted(c)
			text := x.text[start:x.at]
			part, err := strconv.Unquote(text)
			if c == '\'' || err != nil {
				part = strings.Trim(text, string(c))
			}
			parts = append(parts, part)
		default:
			for x.at < len(x.text) && strings.IndexByte(" \t\r\n.=]#,{}[\"'", x.text[x.at]) < 0 {
				x.at++
			}
			parts = append(parts, x.text[start:x.at])
		}
		x.blank(" \t")
		if x.peek() != '.' {
			return parts
		}
		x.at++
	}
}

// assignment reads key = value.
func (x *indexer) assignment(table string) {
	start := x.at
	path := table
	for _, part := range x.key() {
		path = join(path, part)
		x.note(path, place{start, start})
	}
	if x.peek() == '=' {
		x.at++
		x.blank(" \t")
	}
	x.places[path] = place{start, x.at}
	x.value(path)
}

func (x *indexer) value(path string) {
	switch c := x.peek(); c {
	case '"', '\'':
		x.quoted(c)
	case '[':
		x.at++
		for i := 0; x.more(']'); i++ {
			start := x.at
			x.note(element(path, i), place{start, start})
			if x.value(element(path, i)); x.at == start { // not TOML
				return
			}
		}
	case '{':
		x.at++
		for x.more('}') {
			start := x.at
			if x.assignment(path); x.at == start { // not TOML
				return
			}
		}
	default:
		for x.at < len(x.text) && strings.IndexByte(",]}#\r\n", x.text[x.at]) < 0 {
			x.at++
		}
	}
}

// more says whether another element follows before the closing character, and
// goes to it or behind that character.
func (x *indexer) more(closing byte) bool {
	x.blank(" \t\r\n,")
	if x.peek() == closing {
		x.at++
		return false
	}
	return x.at < len(x.text)
}

// quoted goes behind a string of one or several lines.
func (x *indexer) quoted(quote byte) {
	long := strings.Repeat(string(quote), 3)
	if strings.HasPrefix(x.text[x.at:], long) {
		x.at += 3
		for x.at < len(x.text) && !strings.HasPrefix(x.text[x.at:], long) {
			x.character(quote)
		}
		x.at = min(x.at+3, len(x.text))
		for i := 0; i < 2 && x.peek() == quote; i++ { // quotes that belong to the string
			x.at++
		}
		return
	}
	x.at++
	for x.at < len(x.text) && x.text[x.at] != quote && x.text[x.at] != '\n' {
		x.character(quote)
	}
	if x.peek() == quote {
		x.at++
	}
}

func (x *indexer) character(quote byte) {
	if quote == '"' && x.text[x.at] == '\\' {
		x.at++
	}
	x.at = min(x.at+1, len(x.text))
}
