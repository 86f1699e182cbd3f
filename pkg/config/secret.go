package config

import (
	"fmt"
	"io"
	"log/slog"
)

const hidden = "***"

// Secret is a text that no way of printing, marshalling or logging shows. The
// zero value is no secret, and prints as nothing.
type Secret struct{ text string }

// NewSecret hides a text.
func NewSecret(text string) Secret { return Secret{text} }

// Reveal returns the text itself, for the one place that sends it.
func (s Secret) Reveal() string { return s.text }

// IsSet says whether there is a text.
func (s Secret) IsSet() bool { return s.text != "" }

// String returns three asterisks, or nothing if there is no text.
func (s Secret) String() string { return word(s.IsSet(), hidden, "") }

// Format prints as String does whatever the verb, %x and %#v too.
func (s Secret) Format(f fmt.State, _ rune) { io.WriteString(f, s.String()) }

// MarshalText makes encoders print what String does.
func (s Secret) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// LogValue makes log/slog print what String does.
func (s Secret) LogValue() slog.Value { return slog.StringValue(s.String()) }
