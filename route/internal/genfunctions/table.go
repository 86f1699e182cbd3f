package main

import (
	"bufio"
	"fmt"
	"io"
	"strconv"
	"strings"
)

// entry is one line of functions.txt: a word and its description.
type entry struct {
	name string
	use  use
}

// use has the fields of the generated functionInfo.
type use struct {
	kind           string // name of a constant
	mysql, mariadb family
	when           string // name of a constant, empty for none
}

// family is what one column says.
type family struct {
	built        bool // in the newest version
	noSpace      bool
	since, until int // 80004 for 8.0.4; 0 if there is no limit
}

// kinds and conditions map the words of functions.txt to names in the generated
// file.
var kinds = map[string]string{
	"pure": "functionPure", "grammar": "functionGrammar", "lock": "functionLock", "sequence": "functionSequence",
	"last-insert-id": "functionLastInsertID", "previous": "functionPrevious", "connection": "functionConnection",
	"instance": "functionInstance", "side-effect": "functionSideEffect",
}

var conditions = map[string]string{
	"arguments": "ifArguments", "two-arguments": "ifTwoArguments", "after-operand": "ifAfterOperand",
	"after-as": "ifAfterAs", "after-of": "ifAfterOf", "in-from": "ifInFrom", "select-option": "ifSelectOption",
}

// parse reads functions.txt. Lines must be sorted and no name may stand twice.
func parse(r io.Reader) ([]entry, error) {
	var entries []entry
	lines := bufio.NewScanner(r)
	for number := 1; lines.Scan(); number++ {
		line := lines.Text()
		if line == "" || line[0] == '#' {
			continue
		}
		e, err := parseLine(line)
		if err != nil {
			return nil, fmt.Errorf("read line %d: %w", number, err)
		}
		if n := len(entries); n > 0 && entries[n-1].name >= e.name {
			return nil, fmt.Errorf("read line %d: %s does not sort behind %s", number, e.name, entries[n-1].name)
		}
		entries = append(entries, e)
	}
	return entries, lines.Err()
}

func parseLine(line string) (entry, error) {
	columns := strings.Fields(line)
	if len(columns) != 4 {
		return entry{}, fmt.Errorf("%d columns, want 4", len(columns))
	}
	e := entry{name: columns[0]}
	for _, c := range []byte(e.name) {
		if c != '_' && (c < '0' || c > '9') && (c < 'a' || c > 'z') {
			return entry{}, fmt.Errorf("name %q has more than lower-case letters, digits and underscores", e.name)
		}
	}
	var known bool
	if e.use.kind, known = kinds[columns[1]]; !known {
		return entry{}, fmt.Errorf("unknown kind %q", columns[1])
	}
	var err error
	var when string
	if e.use.mysql, when, err = parseFamily(columns[2]); err != nil {
		return entry{}, err
	}
	if when != "" {
		return entry{}, fmt.Errorf("condition %q for MySQL, which knows none", when)
	}
	if e.use.mariadb, when, err = parseFamily(columns[3]); err != nil {
		return entry{}, err
	}
	if when != "" {
		// Whoever does not look at the condition must not trust the word.
		if e.use.when, known = conditions[when]; !known {
			return entry{}, fmt.Errorf("unknown condition %q", when)
		}
		e.use.mariadb.built = false
	}
	return e, nil
}

// parseFamily reads a column such as "8.0.4/no-space".
func parseFamily(text string) (f family, when string, err error) {
	text, option, _ := strings.Cut(text, "/")
	if option == "no-space" {
		f.noSpace = true
	} else {
		when = option
	}
	switch {
	case text == "-", text == "loadable":
	case text == "yes":
		f.built = true
	case text[0] == '<':
		f.until, err = version(text[1:])
	default:
		f.built = true
		f.since, err = version(text)
	}
	return f, when, err
}

// version reads 8.0.4 as 80004, the number that stands in executable comments.
func version(text string) (int, error) {
	parts := strings.Split(text, ".")
	number := 0
	for i := range 3 {
		number *= 100
		if i < len(parts) {
			n, err := strconv.Atoi(parts[i])
			if err != nil || n < 0 || n > 99 {
				return 0, fmt.Errorf("bad version %q", text)
			}
			number += n
		}
	}
	if len(parts) > 3 || number == 0 {
		return 0, fmt.Errorf("bad version %q", text)
	}
	return number, nil
}
