package gtid

import (
	"bytes"
	"strings"
)

// Source is one sequence of numbers: the UUID of the server that creates the transactions and the
// tag they carry, empty for none. The untagged and each tagged source of one UUID are strangers:
// U:5 and U:t:5 are two transactions. MySQL's own source calls this a TSID.
type Source struct {
	UUID UUID   // of the server or group that gives the numbers
	Tag  string // empty, or lower case, as valid tags are printed
}

// compare puts sources in the order of canonical text: by UUID, then by tag, no tag first.
func (a Source) compare(b Source) int {
	if c := bytes.Compare(a.UUID[:], b.UUID[:]); c != 0 {
		return c
	}
	return strings.Compare(a.Tag, b.Tag)
}

// maxTagLen is the longest tag that MySQL accepts, in bytes.
const maxTagLen = 32

func isTagStart(c byte) bool {
	return 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z' || c == '_'
}

func isTagByte(c byte) bool { return isTagStart(c) || isDigit(c) }

func isDigit(c byte) bool { return '0' <= c && c <= '9' }

// validTag tells whether a tag is empty or as MySQL would print it.
func validTag(tag string) bool {
	if tag == "" {
		return true
	}
	if len(tag) > maxTagLen || !isTagStart(tag[0]) {
		return false
	}
	for i := range len(tag) {
		if c := tag[i]; !isTagByte(c) || 'A' <= c && c <= 'Z' {
			return false
		}
	}
	return true
}
