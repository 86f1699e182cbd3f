package gtid

import (
	"errors"
	"strings"
)

// ErrMixed is returned when a MySQL set meets a MariaDB position. Nothing can be said of such a
// pair: neither that one contains the other, nor that it does not.
var ErrMixed = errors.New("a MySQL GTID set and a MariaDB position cannot be compared")

// Kind tells which kind of server a position belongs to.
type Kind int

// KindEither is the empty position, which fits both kinds of server. KindUnknown is a text that
// fits neither; no Value is of that kind.
const (
	KindEither Kind = iota
	KindSet         // a MySQL GTID set
	KindDomain      // a MariaDB position
	KindUnknown
)

// String returns the kind in words, for messages.
func (k Kind) String() string {
	switch k {
	case KindEither:
		return "empty position"
	case KindSet:
		return "MySQL GTID set"
	case KindDomain:
		return "MariaDB position"
	}
	return "neither a MySQL GTID set nor a MariaDB position"
}

// Detect tells by its looks what a text is meant to be. The text may still be malformed: a caller
// hands it to the parser of that kind, whose error then says what is wrong with it.
func Detect(s string) Kind {
	if strings.Trim(s, spaces) == "" {
		return KindEither
	}
	if strings.Contains(s, ":") {
		return KindSet
	}
	first := strings.Trim(s, spaces+",")
	if i := strings.IndexByte(first, ','); i >= 0 {
		first = first[:i]
	}
	dashes := strings.Count(first, "-")
	switch {
	case first == "":
		return KindSet // commas alone are an empty set
	case isDomainText(first) && dashes < 4 && (dashes > 0 || len(first) < uuidHexLen):
		return KindDomain
	case startsLikeUUID([]byte(first)):
		return KindSet
	}
	return KindUnknown
}

// isDomainText tells whether a text has only what a MariaDB position is made of.
func isDomainText(s string) bool {
	for i := range len(s) {
		if c := s[i]; !isDigit(c) && !isDomainSpace(c) && c != '-' && c != '+' {
			return false
		}
	}
	return true
}

// Value is a position of either kind, for callers that serve both kinds of server. The zero value
// is the empty position, which goes with both kinds. It is immutable and safe for concurrent use.
type Value struct {
	set Set // at most one of the two is not empty
	pos DomainPos
}

// Value returns the set as a position of either kind.
func (s Set) Value() Value { return Value{set: s} }

// Value returns the position as one of either kind.
func (p DomainPos) Value() Value { return Value{pos: p} }

// ParseValue reads what Parse or ParseDomainPos reads, whichever Detect points to, and white space
// as the empty position. The error is a *ParseError.
func ParseValue(s string) (Value, error) {
	switch Detect(s) {
	case KindEither:
		return Value{}, nil
	case KindSet:
		set, err := Parse(s)
		return set.Value(), err
	case KindDomain:
		pos, err := ParseDomainPos(s)
		return pos.Value(), err
	}
	return Value{}, &ParseError{Msg: KindUnknown.String(), Near: near(s, 0), what: "position"}
}

// Kind returns KindEither, KindSet or KindDomain.
func (v Value) Kind() Kind {
	switch {
	case !v.set.IsEmpty():
		return KindSet
	case !v.pos.IsEmpty():
		return KindDomain
	}
	return KindEither
}

// Set returns the position as a MySQL set, and whether it is one. The empty position is.
func (v Value) Set() (Set, bool) { return v.set, v.pos.IsEmpty() }

// DomainPos returns the position as MariaDB's, and whether it is one. The empty position is.
func (v Value) DomainPos() (DomainPos, bool) { return v.pos, v.set.IsEmpty() }

// IsEmpty tells whether the position holds nothing.
func (v Value) IsEmpty() bool { return v.set.IsEmpty() && v.pos.IsEmpty() }

// Equal tells whether both are of one kind and equal.
func (v Value) Equal(w Value) bool { return v.set.Equal(w.set) && v.pos.Equal(w.pos) }

// Contains tells whether v has all of w: Contains of sets, Reached of MariaDB positions. The only
// error is ErrMixed.
func (v Value) Contains(w Value) (bool, error) {
	if err := v.mixed(w); err != nil {
		return false, err
	}
	return v.set.Contains(w.set) && v.pos.Reached(w.pos), nil
}

// Union returns what v and w have together: the union of sets, the maximum of MariaDB positions.
// The only error is ErrMixed.
func (v Value) Union(w Value) (Value, error) {
	if err := v.mixed(w); err != nil {
		return Value{}, err
	}
	return Value{v.set.Union(w.set), v.pos.Max(w.pos)}, nil
}

// Intersect returns what both have: the intersection of sets, the minimum of MariaDB positions.
// The only error is ErrMixed.
func (v Value) Intersect(w Value) (Value, error) {
	if err := v.mixed(w); err != nil {
		return Value{}, err
	}
	return Value{v.set.Intersect(w.set), v.pos.Min(w.pos)}, nil
}

// Missing returns what v lacks of w. The only error is ErrMixed.
func (v Value) Missing(w Value) (Value, error) {
	if err := v.mixed(w); err != nil {
		return Value{}, err
	}
	return Value{w.set.Subtract(v.set), v.pos.Missing(w.pos)}, nil
}

// MissingCount returns how many transactions v lacks of w. For MariaDB it is the sum of the
// distances in all domains. If the number exceeds 64 bits it returns the largest uint64 and exact
// is false. The only error is ErrMixed.
func (v Value) MissingCount(w Value) (n uint64, exact bool, err error) {
	if err := v.mixed(w); err != nil {
		return 0, false, err
	}
	if v.Kind() == KindDomain || w.Kind() == KindDomain {
		n, exact = v.pos.Distance(w.pos)
	} else {
		n, exact = w.set.Subtract(v.set).Count()
	}
	return n, exact, nil
}

func (v Value) mixed(w Value) error {
	if k, l := v.Kind(), w.Kind(); k != l && k != KindEither && l != KindEither {
		return ErrMixed
	}
	return nil
}

// String returns the text of the set or position, which its kind of server reads.
func (v Value) String() string {
	if v.Kind() == KindDomain {
		return v.pos.String()
	}
	return v.set.String()
}

// MarshalText returns what String returns and never fails.
func (v Value) MarshalText() ([]byte, error) {
	if v.Kind() == KindDomain {
		return v.pos.MarshalText()
	}
	return v.set.MarshalText()
}

// UnmarshalText reads what ParseValue reads and leaves v alone on an error.
func (v *Value) UnmarshalText(text []byte) error {
	w, err := ParseValue(string(text))
	if err != nil {
		return err
	}
	*v = w
	return nil
}
