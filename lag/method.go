package lag

import (
	"fmt"
	"strings"
)

// Method is a way to measure. The zero value is Auto.
type Method uint8

// The methods; the package comment says what each one needs.
const (
	Auto       Method = iota // the best of the others that can be had
	Seconds                  // what the server itself says, in whole seconds
	Position                 // the time until the source's binary log position is applied
	GTID                     // the time until what the source has is applied
	Heartbeat                // the age of a row that is written on the primary
	Timestamps               // the commit timestamps of MySQL's transactions
)

// Methods lists the words that ParseMethod reads, in the order in which a
// person looks for them.
func Methods() []string {
	return []string{"auto", "seconds", "position", "gtid", "heartbeat", "timestamps"}
}

// String returns the method's word.
func (m Method) String() string {
	if words := Methods(); int(m) < len(words) {
		return words[m]
	}
	return "unknown"
}

// MarshalText returns the same word as String.
func (m Method) MarshalText() ([]byte, error) { return []byte(m.String()), nil }

// ParseMethod reads a method's word.
func ParseMethod(s string) (Method, error) {
	for i, word := range Methods() {
		if strings.EqualFold(s, word) {
			return Method(i), nil
		}
	}
	return Auto, fmt.Errorf("unknown method %q: use one of %s", s, strings.Join(Methods(), ", "))
}
