package gtid

import "strconv"

// ParseError says why a text is not a position and where.
type ParseError struct {
	Offset int    // in bytes from the start of the text, where MySQL too would point
	Msg    string // what is wrong there
	Near   string // the text at the offset, cut short; empty at the end of the text

	what string // what was to be read
}

// Error returns one line, with bytes that cannot be printed escaped.
func (e *ParseError) Error() string {
	s := "malformed " + e.what + ": " + e.Msg + " at offset " + strconv.Itoa(e.Offset)
	if e.Near != "" {
		s += ", near " + strconv.Quote(e.Near)
	}
	return s
}

// nearLen is how much of the text an error shows, in bytes: enough for a few intervals.
const nearLen = 24

func near(s string, offset int) string {
	return s[offset:min(len(s), offset+nearLen)]
}
