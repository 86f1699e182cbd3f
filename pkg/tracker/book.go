package tracker

import (
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
)

// Bounds of what is kept.
const (
	// maxTables is how many tables have changes of their own in the book. At 16 intervals each they take some 50 MB.
	maxTables = 100_000
	// maxIntervals is how many gaps the changes of a table may have and one more. It is looked at after as many changes.
	maxIntervals = 16
	// pruneEvery is after how many transactions some tables are looked through for what every replica has, and
	// pruneTables is how many: whoever reads waits as long as that takes.
	pruneEvery  = 64
	pruneTables = 512
)

// book is what is known of changes. It is guarded by Tracker.mu.
type book struct {
	// read is what has been read of the log, with all that was there before.
	read gtid.Value
	// base is what a read of any table needs.
	base   gtid.Value
	tables map[Key]entry
	// schema is nil as long as it is not known, or is older than ddl, which are the changes of it since.
	schema *Schema
	ddl    gtid.Value
	// last is what was read of the schema last, and older what was before that: it counts as well. A reading may have
	// the effect of a statement that is in no log yet: MariaDB drops a view before it logs that, and a replica has it
	// still.
	last, older *Schema

	// everywhere returns what all replicas that take reads have, and whether there are any.
	everywhere func() (gtid.Value, bool)

	sincePruned int
}

// entry are the changes of one table, as far as a replica may lack them.
type entry struct {
	changes gtid.Value
	n       int // since the number of intervals was looked at
}

// begin forgets everything: what is in from cannot be told apart.
func (b *book) begin(from gtid.Value) {
	*b = book{read: from, base: from, tables: map[Key]entry{}, everywhere: b.everywhere, last: &Schema{}, older: &Schema{}}
}

// change is one transaction.
type change struct {
	id     gtid.Value
	tables []Key // with repetitions
	// all says that it may have changed any table, and ddl that what is known of views and foreign keys may not
	// hold any more.
	all, ddl bool
}

// add takes a transaction in, that nobody has asked for yet.
func (b *book) add(c *change) {
	b.read = union(b.read, c.id)
	if c.all {
		b.base = union(b.base, c.id)
	} else {
		for _, k := range c.tables {
			b.changed(k, c.id)
		}
	}
	if c.ddl {
		b.schema, b.ddl = nil, union(b.ddl, c.id)
	}
	b.sincePruned++
}

func (b *book) changed(k Key, id gtid.Value) {
	b.put(k, id)
	if b.schema == nil {
		return // learn will put all into base
	}
	for _, s := range []*Schema{b.schema, b.older} {
		for _, child := range s.Follows(k) {
			b.put(child, id)
		}
	}
}

func (b *book) put(k Key, id gtid.Value) {
	e := b.tables[k]
	e.changes = union(e.changes, id)
	if e.n++; e.n > maxIntervals {
		e.n = 0
		if intervals(e.changes) > maxIntervals {
			all, ok := b.settled()
			e.changes = lacking(e.changes, all, ok)
		}
	}
	b.tables[k] = e
}

// learn takes in what is known of the schema since some moment before, and tells whether that holds: all of ddl is
// older. What was read without it may have changed tables that no event names.
func (b *book) learn(s *Schema, asOf gtid.Value) bool {
	switch {
	case b.schema != nil:
		return true // no DDL has come since
	case !asOf.Has(b.ddl):
		return false
	}
	b.schema, b.older, b.last, b.ddl = s, b.last, s, gtid.Value{}
	b.base = b.read
	clear(b.tables)
	return true
}

// need is Tracker.Need.
func (b *book) need(tables []Key, all gtid.Value) (gtid.Value, Why) {
	switch {
	case b.schema == nil:
		return all, WhySchema
	case !b.read.Has(all):
		return all, WhyBehind
	}
	needed := b.base
	for _, k := range tables {
		if b.schema.Opaque(k) || b.older.Opaque(k) {
			return all, WhyOpaque
		}
		if e, ok := b.tables[k]; ok {
			needed = union(needed, e.changes)
		}
	}
	part, err := needed.Intersect(all)
	if err != nil {
		return all, WhyBehind
	}
	return part, WhyNot
}

// crowded tells whether it is time to prune.
func (b *book) crowded() bool { return b.sincePruned >= pruneEvery || len(b.tables) > maxTables }

// prune moves into base what all replicas have, of some tables at a time, and everything if there is too much.
func (b *book) prune() {
	b.sincePruned = 0
	all, ok := b.settled()
	left := pruneTables
	for k, e := range b.tables { // from another one each time
		if e.changes = lacking(e.changes, all, ok); e.changes.IsEmpty() {
			delete(b.tables, k)
		} else {
			b.tables[k] = e
		}
		if left--; left == 0 {
			break
		}
	}
	if len(b.tables) > maxTables {
		b.base = b.read
		clear(b.tables)
	}
}

// settled returns what every replica has of what was read, if that is known, and has every read need it from now on:
// then it need not be known of which table it is, also when a replica comes that lacks it.
func (b *book) settled() (all gtid.Value, ok bool) {
	if all, ok = b.everywhere(); !ok {
		return all, false
	}
	all, err := all.Intersect(b.read)
	if err != nil {
		return all, false
	}
	b.base = union(b.base, all)
	return all, true
}

// lacking returns what a replica may lack of v, without gaps if there are many.
func lacking(v, everywhere gtid.Value, ok bool) gtid.Value {
	if ok {
		if missing, err := everywhere.Missing(v); err == nil {
			v = missing
		}
	}
	if intervals(v) > maxIntervals {
		set, _ := v.Set()
		return set.Filled().Value()
	}
	return v
}

// intervals returns how many there are, and stops counting when they are too many.
func intervals(v gtid.Value) (n int) {
	set, _ := v.Set()
	for range set.Intervals() {
		if n++; n > maxIntervals {
			break
		}
	}
	return n
}

// union is for positions of the same kind of server. Of two kinds the second counts: the log is another one.
func union(v, w gtid.Value) gtid.Value {
	all, err := v.Union(w)
	if err != nil {
		return w
	}
	return all
}
