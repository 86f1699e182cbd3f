package gtid

import "slices"

// Contains tells whether every transaction of b is in s. It does not allocate. The empty set is
// in every set. That s does not contain b does not mean that b contains s.
func (s Set) Contains(b Set) bool {
	if s.d == b.d {
		return true
	}
	have, want := s.sources(), b.sources()
	if len(want) > len(have) {
		return false
	}
	i := 0
	for j := range want {
		i = skipTo(have, i, &want[j].Source)
		if i == len(have) || have[i].Source != want[j].Source ||
			!containsIntervals(have[i].ivs, want[j].ivs) {
			return false
		}
	}
	return true
}

// skipTo returns the first index from i on whose source is not before key.
func skipTo(list []sourceSet, i int, key *Source) int {
	for i < len(list) && list[i].compare(*key) < 0 {
		i++
	}
	return i
}

// Overlaps tells whether a transaction is in both sets. It does not allocate.
func (s Set) Overlaps(b Set) bool {
	if s.d == b.d {
		return s.d != nil
	}
	left, right := s.sources(), b.sources()
	i := 0
	for j := range right {
		if i = skipTo(left, i, &right[j].Source); i == len(left) {
			return false
		}
		if left[i].Source == right[j].Source && overlapIntervals(left[i].ivs, right[j].ivs) {
			return true
		}
	}
	return false
}

// Equal tells whether both sets hold the same transactions.
func (s Set) Equal(b Set) bool {
	return s.d == b.d || slices.EqualFunc(s.sources(), b.sources(), func(x, y sourceSet) bool {
		return x.Source == y.Source && slices.Equal(x.ivs, y.ivs)
	})
}

// Union returns the transactions that are in either set. If one set contains the other it is
// returned as it is, s first, and nothing is allocated.
func (s Set) Union(b Set) Set {
	switch {
	case s.Contains(b):
		return s
	case b.Contains(s):
		return b
	}
	left, right := s.sources(), b.sources()
	out := make([]sourceSet, 0, len(left)+len(right))
	for len(left) > 0 && len(right) > 0 {
		switch c := left[0].compare(right[0].Source); {
		case c < 0:
			out, left = append(out, left[0]), left[1:]
		case c > 0:
			out, right = append(out, right[0]), right[1:]
		default:
			out = append(out, sourceSet{left[0].Source, unionIntervals(left[0].ivs, right[0].ivs)})
			left, right = left[1:], right[1:]
		}
	}
	return newSet(append(append(out, left...), right...))
}

// Add returns the set with one more transaction. A GTID that is not Valid is not added.
func (s Set) Add(g GTID) Set {
	if !g.Valid() || s.ContainsGTID(g) {
		return s
	}
	one := sourceSet{Source{g.UUID, g.Tag}, []Interval{{g.Seq, g.Seq}}}
	return s.Union(newSet([]sourceSet{one}))
}

// Subtract returns the transactions of s that are not in b. If they share none it returns s and
// allocates nothing.
func (s Set) Subtract(b Set) Set {
	switch {
	case !s.Overlaps(b):
		return s
	case b.Contains(s):
		return Set{}
	}
	left, right := s.sources(), b.sources()
	out := make([]sourceSet, 0, len(left))
	j := 0
	for _, src := range left {
		j = skipTo(right, j, &src.Source)
		if j < len(right) && right[j].Source == src.Source {
			src.ivs = subtractIntervals(src.ivs, right[j].ivs)
		}
		if len(src.ivs) > 0 {
			out = append(out, src)
		}
	}
	return newSet(out)
}

// Intersect returns the transactions that are in both sets. If one set contains the other, the
// smaller is returned as it is, s first, and nothing is allocated.
func (s Set) Intersect(b Set) Set {
	switch {
	case b.Contains(s):
		return s
	case s.Contains(b):
		return b
	}
	left, right := s.sources(), b.sources()
	var out []sourceSet
	j := 0
	for _, src := range left {
		if j = skipTo(right, j, &src.Source); j == len(right) {
			break
		}
		if right[j].Source != src.Source {
			continue
		}
		if src.ivs = intersectIntervals(src.ivs, right[j].ivs); len(src.ivs) > 0 {
			out = append(out, src)
		}
	}
	return newSet(out)
}

// Filled returns a set of one interval for each source, from its first to its last transaction: of all sets without
// gaps that contain s the smallest.
func (s Set) Filled() Set {
	list := s.sources()
	out := make([]sourceSet, 0, len(list))
	for _, src := range list {
		out = append(out, sourceSet{src.Source, []Interval{{src.ivs[0].First, src.ivs[len(src.ivs)-1].Last}}})
	}
	return newSet(out)
}
