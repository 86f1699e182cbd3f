package gtid

import (
	"cmp"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// FilePos is a place in a binary log. The zero value is no place: a channel
// that has not read anything, or whose server does not keep positions
// (GTID_ONLY).
type FilePos struct {
	File   string // base name and numeric suffix, as in bin.000042
	Offset uint64 // in bytes from the start of the file, where the next event begins
}

// String returns "file:offset", or "" for no place.
func (p FilePos) String() string {
	if p.IsZero() {
		return ""
	}
	return p.File + ":" + strconv.FormatUint(p.Offset, 10)
}

// IsZero reports whether p is no place.
func (p FilePos) IsZero() bool { return p.File == "" }

// ErrIncomparable is returned for places in binary logs of different names.
var ErrIncomparable = errors.New("binary log positions cannot be compared")

// Compare returns -1, 0 or 1 for p before, at or behind q. Only places in logs
// of one base name can be compared; the suffix counts as a number, as the
// server compares it: bin.1000000 is behind bin.999999.
func (p FilePos) Compare(q FilePos) (int, error) {
	base, number, ok := splitLogName(p.File)
	otherBase, otherNumber, otherOK := splitLogName(q.File)
	if !ok || !otherOK || base != otherBase {
		return 0, fmt.Errorf("%w: %q and %q are not files of one log", ErrIncomparable, p.File, q.File)
	}
	return cmp.Or(cmp.Compare(number, otherNumber), cmp.Compare(p.Offset, q.Offset)), nil
}

// ParseLogName reports whether name is a binary log file's name: text, a dot,
// and a number. The server answers NULL for any other name in a wait.
func ParseLogName(name string) error {
	if _, _, ok := splitLogName(name); !ok {
		return fmt.Errorf("%q is not the name of a binary log file: it ends in a dot and a number, as in bin.000042", name)
	}
	return nil
}

func splitLogName(name string) (base string, number uint64, ok bool) {
	dot := strings.LastIndexByte(name, '.')
	if dot <= 0 {
		return "", 0, false
	}
	number, err := strconv.ParseUint(name[dot+1:], 10, 63)
	return name[:dot], number, err == nil && name[dot+1] != '+'
}

// LogPos is a place in the binary log of one server: what a replica of that server has executed, or what
// the server itself has written. It stands in for GTIDs where there are none. Two of them can be compared
// only if they are of one server. The zero value is no place.
type LogPos struct {
	Source UUID // the server that wrote the log
	FilePos
}

// ParseLogPos reads what String prints: the server's UUID, a slash, and file:offset. The error is a
// *ParseError.
func ParseLogPos(s string) (LogPos, error) {
	fail := func(offset int, msg string) (LogPos, error) {
		return LogPos{}, &ParseError{Offset: offset, Msg: msg, Near: near(s, offset), what: "binary log position"}
	}
	source, place, ok := strings.Cut(s, "/")
	if !ok {
		return fail(0, "expected UUID/FILE:OFFSET")
	}
	var p LogPos
	var err error
	if p.Source, err = ParseUUID(source); err != nil {
		return fail(0, "expected the UUID of the server that writes the log")
	}
	colon := strings.LastIndexByte(place, ':')
	if colon < 0 {
		return fail(len(s), "expected a colon and an offset")
	}
	p.File = place[:colon]
	if err := ParseLogName(p.File); err != nil {
		return fail(len(source)+1, err.Error())
	}
	digits := place[colon+1:]
	if p.Offset, err = strconv.ParseUint(digits, 10, 64); err != nil || digits[0] == '+' {
		return fail(len(s)-len(digits), "expected an offset in bytes")
	}
	return p, nil
}

// String returns "UUID/file:offset", or "" for no place.
func (p LogPos) String() string {
	if p.IsZero() {
		return ""
	}
	return p.Source.String() + "/" + p.FilePos.String()
}

// Compare does what FilePos.Compare does, for places in the log of one server; the others cannot be
// compared either.
func (p LogPos) Compare(q LogPos) (int, error) {
	if p.Source != q.Source {
		return 0, fmt.Errorf("%w: %s and %s are of two servers", ErrIncomparable, p, q)
	}
	return p.FilePos.Compare(q.FilePos)
}

// Value returns the place as a position of any kind.
func (p LogPos) Value() Value {
	if p.IsZero() {
		return Value{}
	}
	return Value{log: &p}
}
