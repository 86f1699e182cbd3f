package gtid

import (
	"iter"
	"math/big"
	"math/bits"
)

// Set is a set of MySQL transactions. It is an immutable value of one word, safe for concurrent
// use; the zero value is the empty set. Use Equal to compare: == compares identity, so true means
// equal and shared, and false means nothing.
type Set struct {
	d *setData // nil only in the empty set
}

// setData is never written to once a Set points at it, and sets share it and its parts.
type setData struct {
	sources []sourceSet // ascending by Source
}

// sourceSet is what a set holds of one source: a canonical list of intervals, never empty.
type sourceSet struct {
	Source
	ivs []Interval
}

func newSet(sources []sourceSet) Set {
	if len(sources) == 0 {
		return Set{}
	}
	return Set{&setData{sources}}
}

func (s Set) sources() []sourceSet {
	if s.d == nil {
		return nil
	}
	return s.d.sources
}

// find returns the index of a source, or of the first one behind it.
func (s Set) find(key *Source) (int, bool) {
	list := s.sources()
	lo, hi := 0, len(list)
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		switch c := list[mid].compare(*key); {
		case c == 0:
			return mid, true
		case c < 0:
			lo = mid + 1
		default:
			hi = mid
		}
	}
	return lo, false
}

// IsEmpty tells whether the set holds no transaction.
func (s Set) IsEmpty() bool { return s.d == nil }

// ContainsGTID tells whether g is in the set. It searches in the logarithm of the number of
// sources and intervals and does not allocate.
func (s Set) ContainsGTID(g GTID) bool {
	i, ok := s.find(&Source{g.UUID, g.Tag})
	return ok && g.Seq > 0 && containsSeq(s.d.sources[i].ivs, g.Seq)
}

// ContainsUUID tells whether the set holds any transaction of the UUID, whatever its tag.
func (s Set) ContainsUUID(u UUID) bool {
	i, ok := s.find(&Source{UUID: u})
	return ok || i < len(s.sources()) && s.d.sources[i].UUID == u
}

// Last returns the largest number of a source, or 0 if the set holds nothing of it. It says
// nothing about the numbers below: sets may have gaps.
func (s Set) Last(src Source) int64 {
	i, ok := s.find(&src)
	if !ok {
		return 0
	}
	ivs := s.d.sources[i].ivs
	return ivs[len(ivs)-1].Last
}

// Count returns the number of transactions. If that exceeds 64 bits, which takes more than two
// full sources, it returns the largest uint64 and exact is false.
func (s Set) Count() (n uint64, exact bool) {
	for _, src := range s.sources() {
		var carry uint64
		if n, carry = bits.Add64(n, src.count(), 0); carry != 0 {
			return 1<<64 - 1, false
		}
	}
	return n, true
}

// BigCount returns the number of transactions, for printing. The caller owns the result.
func (s Set) BigCount() *big.Int {
	sum, part := new(big.Int), new(big.Int)
	for _, src := range s.sources() {
		sum.Add(sum, part.SetUint64(src.count()))
	}
	return sum
}

// count cannot overflow: the numbers of one source are distinct and end at MaxSeq.
func (s sourceSet) count() uint64 {
	var n uint64
	for _, iv := range s.ivs {
		n += uint64(iv.Len())
	}
	return n
}

// Sources yields each source with the part of the set that belongs to it, in canonical order.
func (s Set) Sources() iter.Seq2[Source, Set] {
	return func(yield func(Source, Set) bool) {
		list := s.sources()
		for i := range list {
			if !yield(list[i].Source, s.slice(i, i+1)) {
				return
			}
		}
	}
}

// Intervals yields every interval with its source, in canonical order. Neighbours of one source
// never touch.
func (s Set) Intervals() iter.Seq2[Source, Interval] {
	return func(yield func(Source, Interval) bool) {
		for _, src := range s.sources() {
			for _, iv := range src.ivs {
				if !yield(src.Source, iv) {
					return
				}
			}
		}
	}
}

// slice returns the sources from i up to but not including j as a set of their own.
func (s Set) slice(i, j int) Set {
	list := s.sources()
	if i == 0 && j == len(list) {
		return s
	}
	return newSet(list[i:j:j])
}

// span returns the range of sources that have the UUID, all tags.
func (s Set) span(u UUID) (i, j int) {
	i, _ = s.find(&Source{UUID: u})
	list := s.sources()
	for j = i; j < len(list) && list[j].UUID == u; {
		j++
	}
	return i, j
}

// Only returns the transactions of one UUID, all tags.
func (s Set) Only(u UUID) Set {
	return s.slice(s.span(u))
}

// Without returns the set without the transactions of one UUID, all tags. Taking the primary's own
// UUID out of what only a replica has leaves the errant transactions: the primary may have
// committed more between the two readings.
func (s Set) Without(u UUID) Set {
	i, j := s.span(u)
	if i == j {
		return s
	}
	list := s.sources()
	rest := make([]sourceSet, 0, len(list)-(j-i))
	return newSet(append(append(rest, list[:i]...), list[j:]...))
}
