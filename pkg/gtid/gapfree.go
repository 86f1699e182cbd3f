package gtid

// GapFree returns the part of s that is in front of its first gap, source by source. A gap is a number that s
// lacks below one that it has. It is none where b, which has what the source has committed, skips the number as
// well: b lacks it and has a larger one. So sets that begin above 1 or have holes for good are left whole, and
// what a replica with parallel appliers has ahead of a transaction is cut off. If there is nothing to cut off, s
// is returned and nothing allocated.
func (s Set) GapFree(b Set) Set {
	var out []sourceSet
	sources := s.sources()
	for i := range sources {
		src := sources[i]
		n := src.beforeGap(b)
		if out == nil && n == len(src.ivs) {
			continue
		}
		if out == nil {
			out = append(make([]sourceSet, 0, len(sources)), sources[:i]...)
		}
		if n > 0 {
			out = append(out, sourceSet{src.Source, src.ivs[:n:n]})
		}
	}
	if out == nil {
		return s
	}
	return newSet(out)
}

// beforeGap returns how many intervals are in front of the first gap.
func (s sourceSet) beforeGap(b Set) int {
	var have []Interval
	if i, ok := b.find(&s.Source); ok {
		have = b.sources()[i].ivs
	}
	next, at := int64(1), 0 // the number behind the interval before, and where to look in have
	for i, iv := range s.ivs {
		if iv.First > next {
			at = seek(have, at, next)
			if at == len(have) || have[at].First < iv.First {
				return i
			}
		}
		next = iv.Last + 1
	}
	return len(s.ivs)
}

// GapFree does what Set.GapFree does. The other kinds of position have no gaps: v itself is returned.
func (v Value) GapFree(w Value) (Value, error) {
	if err := v.mixed(w); err != nil {
		return Value{}, err
	}
	if v.Kind() != KindSet {
		return v, nil
	}
	return v.set.GapFree(w.set).Value(), nil
}
