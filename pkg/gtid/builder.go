package gtid

import "slices"

// builder collects intervals in any order and makes a Set of them. What comes in canonical order,
// as servers print it, costs no sort.
type builder struct {
	ivs  []Interval // of all runs, one run behind the other
	runs []run
}

// run is a stretch of intervals of one source.
type run struct {
	Source
	from, to int  // its intervals are ivs[from:to]; to is set by close
	unsorted bool // they are not a canonical list
}

// open starts a run, or goes on with the last one if that is of the same source.
func (b *builder) open(key Source) {
	b.close()
	if n := len(b.runs); n == 0 || b.runs[n-1].Source != key {
		b.runs = append(b.runs, run{Source: key, from: len(b.ivs)})
	}
}

// close ends the last run. A run that got no interval leaves no trace.
func (b *builder) close() {
	n := len(b.runs)
	if n == 0 {
		return
	}
	b.runs[n-1].to = len(b.ivs)
	if b.runs[n-1].from == len(b.ivs) {
		b.runs = b.runs[:n-1]
	}
}

// add appends an interval to the run opened last.
func (b *builder) add(iv Interval) {
	r := &b.runs[len(b.runs)-1]
	if len(b.ivs) > r.from {
		last := &b.ivs[len(b.ivs)-1]
		if iv.First < last.First {
			r.unsorted = true
		} else if iv.First <= last.Last+1 {
			last.Last = max(last.Last, iv.Last)
			return
		}
	}
	b.ivs = append(b.ivs, iv)
}

// set returns what was collected. The builder must not be used any more.
func (b *builder) set() Set {
	b.close()
	if !b.canonical() {
		return b.sorted()
	}
	ivs := trim(b.ivs)
	sources := make([]sourceSet, len(b.runs))
	for i, r := range b.runs {
		sources[i] = sourceSet{r.Source, ivs[r.from:r.to:r.to]}
	}
	return newSet(sources)
}

func (b *builder) canonical() bool {
	for i, r := range b.runs {
		if r.unsorted || i > 0 && b.runs[i-1].compare(r.Source) >= 0 {
			return false
		}
	}
	return true
}

func (b *builder) sorted() Set {
	slices.SortStableFunc(b.runs, func(x, y run) int { return x.compare(y.Source) })
	var sources []sourceSet
	for i := 0; i < len(b.runs); {
		key := b.runs[i].Source
		var ivs []Interval
		for ; i < len(b.runs) && b.runs[i].Source == key; i++ {
			ivs = append(ivs, b.ivs[b.runs[i].from:b.runs[i].to]...)
		}
		sources = append(sources, sourceSet{key, trim(canonical(ivs))})
	}
	return newSet(sources)
}
