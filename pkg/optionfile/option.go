package optionfile

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
)

// Option is one line of an option file or of a login path.
//
// An Option may hold a password, so fmt and encoding packages show its name
// and place only; Value is the one way to the text.
type Option struct {
	Name  string // '_' written as '-', without a leading "loose-"
	Loose bool   // it was written with "loose-": to be ignored where unknown
	Group string // as written between the brackets
	File  string // path as it was opened
	Line  int    // counted from 1; in a login path file the number of the entry

	// value is a pointer because fmt follows none below the top level: a
	// struct with an Option in a private field does not print it either.
	value *string
}

// Value returns the text after '=', unquoted and unescaped. It reports false
// for a name that stands alone, as in "password" (ask for it) or "ssl" (yes);
// "password=" is an empty value and reports true.
func (o Option) Value() (string, bool) {
	if o.value == nil {
		return "", false
	}
	return *o.value, true
}

// Source returns "file:line", for messages.
func (o Option) Source() string {
	return o.File + ":" + strconv.Itoa(o.Line)
}

// String returns the name and where it stands, never the value. Of a name
// that is none, as in "password secret" without a '=', it shows the first word.
func (o Option) String() string {
	end := strings.IndexFunc(o.Name, func(c rune) bool {
		return c != '-' && c != '.' && !unicode.IsLetter(c) && !unicode.IsDigit(c)
	})
	name := o.Name
	if end >= 0 {
		name = name[:end] + "..."
	}
	return fmt.Sprintf("%s (%s)", name, o.Source())
}

// GoString is String, so that %#v shows no value.
func (o Option) GoString() string { return o.String() }

// Result is what the files say to the groups that were asked for.
// The zero Result has no options. It is not changed after Read returned it.
type Result struct {
	options []Option

	// Warnings name files and directives that were left out, one sentence
	// each, in the order of reading. They hold no values.
	Warnings []string
}

// Lookup returns the option of that name that wins: the one read last.
// '-' and '_' in name are the same letter.
func (r Result) Lookup(name string) (Option, bool) {
	name = plainName(name)
	for i := len(r.options) - 1; i >= 0; i-- {
		if r.options[i].Name == name {
			return r.options[i], true
		}
	}
	return Option{}, false
}

// Options returns all options in the order of reading, overridden ones too,
// for names that override each other such as "ssl" and "skip-ssl".
// The slice is the caller's own.
func (r Result) Options() []Option {
	return append([]Option(nil), r.options...)
}

// String lists names and places, never values.
func (r Result) String() string {
	texts := make([]string, len(r.options))
	for i, o := range r.options {
		texts[i] = o.String()
	}
	return "[" + strings.Join(texts, ", ") + "]"
}

// GoString is String, so that %#v shows no values.
func (r Result) GoString() string { return r.String() }

// plainName is the spelling under which names are compared.
func plainName(name string) string { return strings.ReplaceAll(name, "_", "-") }

// newOption builds the option of a name as it is written in a file.
func newOption(written string, value *string) Option {
	name := plainName(written)
	rest, loose := strings.CutPrefix(name, "loose-")
	for again := loose; again; { // clients take "loose-loose-x" as "x" too
		rest, again = strings.CutPrefix(rest, "loose-")
	}
	return Option{Name: rest, Loose: loose, value: value}
}
