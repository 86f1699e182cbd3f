package verify

import "github.com/mysqlrw/mysqlrw/pkg/target"

// tally counts what one client has met. It is merged at the end.
type tally struct {
	reads, writes, absent int64
	own, back             Count
	order, cross          Count
	inverted, invented    int64
	errors                errorCounts
	servers               map[int]int64 // by what UUID_SHORT tells; 0 is not known

	staleness histogram // of all reads
	readTime  histogram // without the first behind a write
	firstTime histogram // reads that directly follow a write of the session
	writeTime histogram
}

// Count is how many reads break a promise, of those on which it could be seen.
type Count struct {
	Found int64 // broke it
	Of    int64 // could have
}

func (c *Count) add(found bool) {
	c.Of++
	if found {
		c.Found++
	}
}

func (c *Count) merge(other Count) {
	c.Found += other.Found
	c.Of += other.Of
}

// read counts one read. Nobody else's writes are to be seen in private registers.
func (t *tally) read(r role, v verdict, got sight, first bool) {
	t.reads++
	if t.servers == nil {
		t.servers = map[int]int64{}
	}
	t.servers[got.server]++
	if got.number == absent {
		t.absent++
	}
	if v.own {
		t.own.add(v.found&ownWriteMissing != 0)
	}
	if !r.private {
		t.back.add(v.found&wentBack != 0)
		t.order.add(v.found&outOfOrder != 0)
		t.cross.add(v.found&stale != 0)
		t.staleness.add(v.staleness)
	}
	if v.found&inverted != 0 {
		t.inverted++
	}
	if v.found&invented != 0 {
		t.invented++
	}
	switch took := got.returned - got.began; {
	case first:
		t.firstTime.add(took)
	case !r.private:
		t.readTime.add(took)
	}
}

func (t *tally) merge(other *tally) {
	t.reads += other.reads
	t.writes += other.writes
	t.absent += other.absent
	t.own.merge(other.own)
	t.back.merge(other.back)
	t.order.merge(other.order)
	t.cross.merge(other.cross)
	t.inverted += other.inverted
	t.invented += other.invented
	for text, n := range other.errors {
		t.errors.more(text, n)
	}
	if t.servers == nil {
		t.servers = map[int]int64{}
	}
	for server, n := range other.servers {
		t.servers[server] += n
	}
	t.staleness.merge(&other.staleness)
	t.readTime.merge(&other.readTime)
	t.firstTime.merge(&other.firstTime)
	t.writeTime.merge(&other.writeTime)
}

// errorCounts counts errors by what was done and the error's text.
type errorCounts map[string]int64

// add counts an error by what it means: texts have ports in them.
func (e *errorCounts) add(what string, err error) {
	text := what + ": " + target.Explain(err).String()
	const kinds, other = 50, "other"
	if _, known := (*e)[text]; !known && len(*e) >= kinds {
		text = what + ": " + other
	}
	e.more(text, 1)
}

func (e *errorCounts) more(text string, n int64) {
	if *e == nil {
		*e = errorCounts{}
	}
	(*e)[text] += n
}
