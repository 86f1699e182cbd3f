package gtid

import (
	"errors"
	"math"
	"strings"
)

// ErrMixed is returned when a position meets one of another kind. Nothing can be said of such a
// pair: neither that one contains the other, nor that it does not.
var ErrMixed = errors.New("positions of different kinds cannot be compared")

// Kind tells what a position is made of, and so which kind of server it belongs to.
type Kind int

// The kinds. Detect tells one of a text, Value.Kind one of a position.
const (
	KindEither  Kind = iota // the empty position, which fits every kind
	KindSet                 // a MySQL GTID set
	KindDomain              // a MariaDB position
	KindLog                 // a place in a binary log, where there are no GTIDs
	KindUnknown             // a text that fits none; no Value is of this kind
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
	case KindLog:
		return "binary log position"
	}
	return "neither a MySQL GTID set nor a MariaDB position"
}

// Detect tells by its looks what a text is meant to be. The text may still be malformed: a caller
// hands it to the parser of that kind, whose error then says what is wrong with it.
func Detect(s string) Kind {
	if strings.Trim(s, spaces) == "" {
		return KindEither
	}
	if strings.IndexByte(strings.Trim(s, spaces), '/') == uuidTextLen {
		return KindLog
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

// Value is a position of any kind, for callers that serve all kinds of server. The zero value
// is the empty position, which goes with every kind. It is immutable and safe for concurrent use.
type Value struct {
	set Set // at most one of the three is not empty
	pos DomainPos
	log *LogPos // nil if empty
}

// Value returns the set as a position of any kind.
func (s Set) Value() Value { return Value{set: s} }

// Value returns the position as one of any kind.
func (p DomainPos) Value() Value { return Value{pos: p} }

// ParseValue reads what Parse, ParseDomainPos or ParseLogPos reads, whichever Detect points to, and white
// space as the empty position. The error is a *ParseError.
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
	case KindLog:
		log, err := ParseLogPos(strings.Trim(s, spaces))
		return log.Value(), err
	}
	return Value{}, &ParseError{Msg: KindUnknown.String(), Near: near(s, 0), what: "position"}
}

// Kind returns KindEither, KindSet, KindDomain or KindLog.
func (v Value) Kind() Kind {
	switch {
	case v.log != nil:
		return KindLog
	case !v.set.IsEmpty():
		return KindSet
	case !v.pos.IsEmpty():
		return KindDomain
	}
	return KindEither
}

// Set returns the position as a MySQL set, and whether it is one. The empty position is.
func (v Value) Set() (Set, bool) { return v.set, v.pos.IsEmpty() && v.log == nil }

// DomainPos returns the position as MariaDB's, and whether it is one. The empty position is.
func (v Value) DomainPos() (DomainPos, bool) { return v.pos, v.set.IsEmpty() && v.log == nil }

// LogPos returns the position as a place in a binary log, and whether it is one. The empty position, which
// is of no log, is not.
func (v Value) LogPos() (LogPos, bool) {
	if v.log == nil {
		return LogPos{}, false
	}
	return *v.log, true
}

// IsEmpty tells whether the position holds nothing.
func (v Value) IsEmpty() bool { return v.set.IsEmpty() && v.pos.IsEmpty() && v.log == nil }

// Equal tells whether both are of one kind and equal.
func (v Value) Equal(w Value) bool {
	if v.log != nil && w.log != nil {
		return *v.log == *w.log
	}
	return v.log == w.log && v.set.Equal(w.set) && v.pos.Equal(w.pos)
}

// Contains tells whether v has all of w: Contains of sets, Reached of MariaDB positions, at or behind of
// places in a log. The error is ErrMixed, or ErrIncomparable for places in two logs.
func (v Value) Contains(w Value) (bool, error) {
	if err := v.mixed(w); err != nil {
		return false, err
	}
	if v.log != nil || w.log != nil {
		order, err := v.compareLogs(w)
		return order >= 0 && err == nil, err
	}
	return v.set.Contains(w.set) && v.pos.Reached(w.pos), nil
}

// Has tells whether v certainly has all of w: it is Contains for callers to whom a pair that cannot be compared
// is a plain no. So a false proves nothing, not even that v lacks anything.
func (v Value) Has(w Value) bool {
	all, err := v.Contains(w)
	return all && err == nil
}

// Union returns what v and w have together: the union of sets, the maximum of MariaDB positions, the
// place further on. The errors are those of Contains.
func (v Value) Union(w Value) (Value, error) {
	if err := v.mixed(w); err != nil {
		return Value{}, err
	}
	if v.log != nil || w.log != nil {
		order, err := v.compareLogs(w)
		if err != nil {
			return Value{}, err
		}
		return further(order >= 0, v, w), nil
	}
	return Value{set: v.set.Union(w.set), pos: v.pos.Max(w.pos)}, nil
}

// Intersect returns what both have: the intersection of sets, the minimum of MariaDB positions, the place
// less far. The errors are those of Contains.
func (v Value) Intersect(w Value) (Value, error) {
	if err := v.mixed(w); err != nil {
		return Value{}, err
	}
	if v.log != nil || w.log != nil {
		order, err := v.compareLogs(w)
		if err != nil {
			return Value{}, err
		}
		return further(order < 0, v, w), nil
	}
	return Value{set: v.set.Intersect(w.set), pos: v.pos.Min(w.pos)}, nil
}

// Missing returns what v lacks of w; of a log that is w itself, unless v is at or behind it. The errors are
// those of Contains.
func (v Value) Missing(w Value) (Value, error) {
	if err := v.mixed(w); err != nil {
		return Value{}, err
	}
	if v.log != nil || w.log != nil {
		order, err := v.compareLogs(w)
		if err != nil {
			return Value{}, err
		}
		return further(order >= 0, Value{}, w), nil
	}
	return Value{set: w.set.Subtract(v.set), pos: v.pos.Missing(w.pos)}, nil
}

// compareLogs compares places, of which the empty one is before any other.
func (v Value) compareLogs(w Value) (int, error) {
	switch {
	case v.log == nil:
		return -1, nil
	case w.log == nil:
		return 1, nil
	}
	return v.log.Compare(*w.log)
}

func further(first bool, v, w Value) Value {
	if first {
		return v
	}
	return w
}

// MissingCount returns how many transactions v lacks of w. For MariaDB it is the sum of the
// distances in all domains. If the number exceeds 64 bits, or is of places in a log, which do not tell, it
// returns the largest uint64 and exact is false. The errors are those of Contains.
func (v Value) MissingCount(w Value) (n uint64, exact bool, err error) {
	if err := v.mixed(w); err != nil {
		return 0, false, err
	}
	if v.log != nil || w.log != nil {
		switch order, err := v.compareLogs(w); {
		case err != nil:
			return 0, false, err
		case order >= 0:
			return 0, true, nil
		}
		return math.MaxUint64, false, nil
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

// String returns the text of the set or position, which its kind of server reads; of a place in a log what
// LogPos.String does.
func (v Value) String() string {
	switch v.Kind() {
	case KindDomain:
		return v.pos.String()
	case KindLog:
		return v.log.String()
	}
	return v.set.String()
}

// MarshalText returns what String returns and never fails.
func (v Value) MarshalText() ([]byte, error) { return []byte(v.String()), nil }

// UnmarshalText reads what ParseValue reads and leaves v alone on an error.
func (v *Value) UnmarshalText(text []byte) error {
	w, err := ParseValue(string(text))
	if err != nil {
		return err
	}
	*v = w
	return nil
}
