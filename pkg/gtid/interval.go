package gtid

import (
	"cmp"
	"slices"
)

// Interval is a run of sequence numbers of one source, both ends included.
type Interval struct {
	First, Last int64 // 1 <= First <= Last <= MaxSeq
}

// Len returns how many numbers the interval holds.
func (iv Interval) Len() int64 { return iv.Last - iv.First + 1 }

// The functions below work on canonical lists: ascending, not empty, with a gap of at least one
// number between neighbours. They never change their arguments and may return one of them.

// seek returns the first index from i on whose interval ends at or after seq. It gallops, so a
// walk through a long list costs the logarithm of the distances it jumps.
func seek(ivs []Interval, i int, seq int64) int {
	step := 1
	lo := i
	for i < len(ivs) && ivs[i].Last < seq {
		lo = i + 1
		i += step
		step *= 2
	}
	hi := min(i, len(ivs))
	for lo < hi {
		mid := int(uint(lo+hi) / 2)
		if ivs[mid].Last < seq {
			lo = mid + 1
		} else {
			hi = mid
		}
	}
	return lo
}

// containsSeq tells whether a positive number is in a list that is not empty.
func containsSeq(ivs []Interval, seq int64) bool {
	if seq < ivs[0].First || seq > ivs[len(ivs)-1].Last {
		return false
	}
	ivs = narrow(ivs, seq)
	// The step is computed, not jumped over: which half it is cannot be foretold, and every wrong
	// guess of the processor costs more than the step. Both numbers are positive, so the sign of
	// their difference tells which is larger.
	lo := 0
	for n := len(ivs); n > 1; {
		half := n / 2
		n -= half
		lo += half & int((ivs[lo+half-1].Last-seq)>>63)
	}
	return ivs[lo].First <= seq && seq <= ivs[lo].Last
}

// narrow returns the part of a list that has the first interval to end at or after seq, which
// must lie within the list. In a long list a search by halves is a chain of cache misses, so this
// starts where the number would be if the gaps were spread evenly, and gallops from there.
func narrow(ivs []Interval, seq int64) []Interval {
	step := 16 // intervals, which are 256 bytes
	if len(ivs) <= 2*step {
		return ivs
	}
	first, last := ivs[0].First, ivs[len(ivs)-1].Last
	lo, hi := 0, len(ivs)-1
	perNumber := float64(hi) / float64(last-first)
	guess := int(float64(seq-first) * perNumber)
	// What gaps of uneven length add up to on the way is made good by a second guess.
	guess = min(max(guess+int(float64(seq-ivs[guess].First)*perNumber), 0), hi)
	if ivs[guess].Last < seq {
		for lo = guess + 1; lo+step < hi && ivs[lo+step].Last < seq; step *= 4 {
			lo += step + 1
		}
		hi = min(lo+step, hi)
	} else {
		for hi = guess; hi-step > lo && ivs[hi-step].Last >= seq; step *= 4 {
			hi -= step
		}
		lo = max(hi-step, lo)
	}
	return ivs[lo : hi+1]
}

// containsIntervals tells whether every number of b is in a.
func containsIntervals(a, b []Interval) bool {
	i := 0
	for _, iv := range b {
		i = seek(a, i, iv.First)
		if i == len(a) || a[i].First > iv.First || a[i].Last < iv.Last {
			return false
		}
	}
	return true
}

// overlapIntervals tells whether a number is in both.
func overlapIntervals(a, b []Interval) bool {
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		if i = seek(a, i, b[j].First); i == len(a) {
			return false
		}
		if a[i].First <= b[j].Last {
			return true
		}
		j = seek(b, j, a[i].First)
	}
	return false
}

func unionIntervals(a, b []Interval) []Interval {
	switch {
	case containsIntervals(a, b):
		return a
	case containsIntervals(b, a):
		return b
	}
	out := make([]Interval, 0, len(a)+len(b))
	for len(a) > 0 && len(b) > 0 {
		if a[0].First <= b[0].First {
			out = push(out, a[0])
			a = a[1:]
		} else {
			out = push(out, b[0])
			b = b[1:]
		}
	}
	for len(a) > 0 && touches(out, a[0]) {
		out = push(out, a[0])
		a = a[1:]
	}
	for len(b) > 0 && touches(out, b[0]) {
		out = push(out, b[0])
		b = b[1:]
	}
	return trim(append(append(out, a...), b...))
}

// touches tells whether iv, which starts no earlier than the last of out, overlaps or continues it.
func touches(out []Interval, iv Interval) bool {
	return len(out) > 0 && iv.First <= out[len(out)-1].Last+1
}

// push appends iv, which starts no earlier than the last of out, and merges it with that.
func push(out []Interval, iv Interval) []Interval {
	if !touches(out, iv) {
		return append(out, iv)
	}
	last := &out[len(out)-1]
	last.Last = max(last.Last, iv.Last)
	return out
}

func subtractIntervals(a, b []Interval) []Interval {
	if !overlapIntervals(a, b) {
		return a
	}
	out := make([]Interval, 0, len(a)+min(len(a), len(b)))
	j := 0
	for _, iv := range a {
		for j = seek(b, j, iv.First); j < len(b) && b[j].First <= iv.Last; j++ {
			if iv.First < b[j].First {
				out = append(out, Interval{iv.First, b[j].First - 1})
			}
			iv.First = b[j].Last + 1
			if iv.First > iv.Last {
				break // the hole may reach into the next interval of a
			}
		}
		if iv.First <= iv.Last {
			out = append(out, iv)
		}
	}
	return trim(out)
}

func intersectIntervals(a, b []Interval) []Interval {
	switch {
	case containsIntervals(b, a):
		return a
	case containsIntervals(a, b):
		return b
	}
	var out []Interval
	i, j := 0, 0
	for i < len(a) && j < len(b) {
		if a[i].Last < b[j].First {
			i = seek(a, i, b[j].First)
			continue
		}
		if b[j].Last < a[i].First {
			j = seek(b, j, a[i].First)
			continue
		}
		out = append(out, Interval{max(a[i].First, b[j].First), min(a[i].Last, b[j].Last)})
		if a[i].Last < b[j].Last {
			i++
		} else {
			j++
		}
	}
	return trim(out)
}

// trim gives back storage when more than a quarter of it is unused: sets live long.
func trim(ivs []Interval) []Interval {
	if cap(ivs)-len(ivs) > cap(ivs)/4 {
		return append(make([]Interval, 0, len(ivs)), ivs...)
	}
	return ivs
}

// canonical sorts and merges ivs in place.
func canonical(ivs []Interval) []Interval {
	slices.SortFunc(ivs, func(a, b Interval) int { return cmp.Compare(a.First, b.First) })
	out := ivs[:0]
	for _, iv := range ivs {
		out = push(out, iv)
	}
	return out
}
