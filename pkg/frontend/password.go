package frontend

import (
	"fmt"
	"io"
	"log/slog"
)

// Password is a text that no way of printing, marshalling or logging shows. string(p) is the text
// itself, for the one place that sends it.
type Password string

// String returns three asterisks, or nothing if there is no password.
func (p Password) String() string {
	if p == "" {
		return ""
	}
	return "***"
}

// Format prints as String does whatever the verb, %x and %#v too.
func (p Password) Format(f fmt.State, _ rune) { _, _ = io.WriteString(f, p.String()) }

// MarshalText makes encoders print what String does.
func (p Password) MarshalText() ([]byte, error) { return []byte(p.String()), nil }

// LogValue makes log/slog print what String does.
func (p Password) LogValue() slog.Value { return slog.StringValue(p.String()) }
