package target

import "fmt"

// Secret is a password. It prints as three stars with every verb of fmt, in
// JSON and in a log; fmt cannot keep this promise for a Secret in a private
// field of a struct. Reveal is the way to the text.
type Secret string

const stars = "***"

// Reveal returns the password.
func (s Secret) Reveal() string { return string(s) }

// String returns three stars, for an empty password too.
func (Secret) String() string { return stars }

// GoString returns three stars.
func (Secret) GoString() string { return stars }

// Format prints three stars, whatever the verb.
func (Secret) Format(f fmt.State, _ rune) { _, _ = f.Write([]byte(stars)) }

// MarshalText returns three stars.
func (Secret) MarshalText() ([]byte, error) { return []byte(stars), nil }
