package tracker

import (
	"fmt"
	"testing"

	"pgregory.net/rapid"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
)

// written is a transaction of the model: its number in the log, and the tables that it changed; all of them if none
// is named.
type written struct {
	id     gtid.Value
	tables []Key
}

const uuid = "3e11fa47-71ca-11e1-9e33-c80aa9429562"

// numbers gives transactions their names, as one flavor has them.
type numbers struct {
	mariadb bool
	last    [2]int64
}

func (n *numbers) next(t *rapid.T) gtid.Value {
	which := rapid.IntRange(0, 1).Draw(t, "source")
	n.last[which]++
	text := fmt.Sprintf("%s:%d", uuid, n.last[which])
	switch {
	case n.mariadb:
		text = fmt.Sprintf("%d-1-%d", which, n.last[which])
	case which == 1:
		text = fmt.Sprintf("%s:tag:%d", uuid, n.last[which])
	}
	return position(t, text)
}

func position(t interface{ Fatal(...any) }, text string) gtid.Value {
	v, err := gtid.ParseValue(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// TestBook holds the book against a list of all that was written: whoever has what it says a read needs has every
// change of the read's tables, however much was forgotten.
func TestBook(t *testing.T) {
	for _, mariadb := range []bool{false, true} {
		t.Run(fmt.Sprint("mariadb ", mariadb), func(t *testing.T) {
			rapid.Check(t, func(t *rapid.T) {
				checkBook(t, &numbers{mariadb: mariadb})
			})
		})
	}
}

func checkBook(t *rapid.T, ids *numbers) {
	var log []written
	replicas := make([]gtid.Value, 2)
	var b book
	b.everywhere = func() (gtid.Value, bool) {
		all, err := replicas[0].Intersect(replicas[1])
		return all, err == nil
	}
	b.begin(gtid.Value{})
	b.learn(&Schema{}, gtid.Value{})
	all := gtid.Value{}
	for range rapid.IntRange(1, 120).Draw(t, "steps") {
		switch rapid.IntRange(0, 9).Draw(t, "step") {
		default:
			w := written{id: ids.next(t)}
			c := change{id: w.id}
			for range rapid.IntRange(1, 3).Draw(t, "tables") {
				k := Key(rapid.Uint64Range(1, 4).Draw(t, "table"))
				w.tables, c.tables = append(w.tables, k), append(c.tables, k)
			}
			if rapid.IntRange(0, 19).Draw(t, "odd") == 0 {
				w.tables, c.all = nil, true
			}
			log, all = append(log, w), union(all, w.id)
			b.add(&c)
		case 0:
			b.prune()
		case 1, 2: // a replica applies something; MariaDB's in the order of each domain
			if len(log) == 0 {
				continue
			}
			r := rapid.IntRange(0, 1).Draw(t, "replica")
			upto := rapid.IntRange(0, len(log)-1).Draw(t, "applied")
			if ids.mariadb {
				for _, w := range log[:upto] {
					replicas[r] = union(replicas[r], w.id)
				}
			}
			replicas[r] = union(replicas[r], log[upto].id)
			if ids.mariadb { // what is before it in its domain is there, too
				continue
			}
		case 3:
			if !b.learn(&Schema{}, all) {
				t.Fatal("what was read after everything is not believed")
			}
		}
		checkNeed(t, &b, log, all, replicas)
	}
}

// checkNeed asks for a read of some tables.
func checkNeed(t *rapid.T, b *book, log []written, all gtid.Value, replicas []gtid.Value) {
	asked := Key(rapid.Uint64Range(1, 5).Draw(t, "asked"))
	whole := all
	if len(log) > 0 && rapid.Bool().Draw(t, "older") { // a position of some moment before
		whole = gtid.Value{}
		for _, w := range log[:rapid.IntRange(1, len(log)).Draw(t, "moment")] {
			whole = union(whole, w.id)
		}
	}
	need, why := b.need([]Key{asked}, whole)
	if why != WhyNot {
		t.Fatalf("no answer: %v", why)
	}
	if !whole.Has(need) {
		t.Fatalf("needs %v, which is not all in %v", need, whole)
	}
	touched := func(w *written) bool {
		for _, k := range w.tables {
			if k == asked {
				return true
			}
		}
		return w.tables == nil
	}
	for _, r := range append(replicas, need) {
		if !r.Has(need) {
			continue
		}
		for i := range log {
			if w := &log[i]; touched(w) && whole.Has(w.id) && !r.Has(w.id) {
				t.Fatalf("what has %v has all that table %d needs, and lacks %v", need, asked, w.id)
			}
		}
	}
}

// TestBook_precise: what changed another table is not needed, though it has gaps for everybody else.
func TestBook_precise(t *testing.T) {
	replica := gtid.Value{}
	b := book{everywhere: func() (gtid.Value, bool) { return replica, true }}
	b.begin(gtid.Value{})
	b.learn(&Schema{}, gtid.Value{})
	all := gtid.Value{}
	const blocked, other = Key(1), Key(2)
	for n := 1; n <= 2000; n++ { // every second one is of a table that the replica cannot apply
		id := position(t, fmt.Sprintf("%s:%d", uuid, n))
		k := blocked
		if n%2 == 0 {
			k = other
		}
		b.add(&change{id: id, tables: []Key{k}})
		all = union(all, id)
		if k == other {
			replica = union(replica, id)
		}
	}
	b.prune()
	if need, why := b.need([]Key{other}, all); why != WhyNot || !replica.Has(need) {
		t.Errorf("the table whose changes are all there needs %d more: %v", count(t, replica, need), why)
	}
	if need, _ := b.need([]Key{blocked}, all); replica.Has(need) {
		t.Error("the table whose changes are missing needs none of them")
	}
	if n := intervals(b.tables[blocked].changes); n > maxIntervals {
		t.Errorf("its changes have %d intervals", n)
	}
}

func count(t *testing.T, have, want gtid.Value) uint64 {
	n, _, err := have.MissingCount(want)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// TestBook_full: with more tables than are kept, a read waits for more, and memory does not grow.
func TestBook_full(t *testing.T) {
	b := book{everywhere: func() (gtid.Value, bool) { return gtid.Value{}, false }}
	b.begin(gtid.Value{})
	b.learn(&Schema{}, gtid.Value{})
	all, first := gtid.Value{}, gtid.Set{}
	source, err := gtid.ParseUUID(uuid)
	if err != nil {
		t.Fatal(err)
	}
	for n := 1; n <= maxTables+10; n++ {
		id := first.Add(gtid.GTID{UUID: source, Seq: int64(n)}).Value()
		b.add(&change{id: id, tables: []Key{Key(n)}})
		if all = b.read; len(b.tables) > maxTables {
			b.prune()
		}
	}
	if len(b.tables) > maxTables {
		t.Errorf("%d tables are kept, want at most %d", len(b.tables), maxTables)
	}
	for _, n := range []int{1, maxTables / 2, maxTables + 10} {
		need, why := b.need([]Key{Key(n)}, all)
		if id := position(t, fmt.Sprintf("%s:%d", uuid, n)); why != WhyNot || !need.Has(id) {
			t.Errorf("table %d does not need its own change: %v", n, why)
		}
	}
}

// TestBook_schema: what was read of the schema counts only if no DDL has come since.
func TestBook_schema(t *testing.T) {
	b := book{everywhere: func() (gtid.Value, bool) { return gtid.Value{}, false }}
	b.begin(gtid.Value{})
	id := func(n int) gtid.Value { return position(t, fmt.Sprintf("%s:%d", uuid, n)) }
	to := func(n int) gtid.Value { return position(t, fmt.Sprintf("%s:1-%d", uuid, n)) }
	ask := func(want Why) {
		t.Helper()
		if _, why := b.need([]Key{1}, id(1)); why != want {
			t.Errorf("it says %v, want %v", why, want)
		}
	}
	b.add(&change{id: id(1), tables: []Key{1}})
	ask(WhySchema)
	b.add(&change{id: id(2), all: true, ddl: true})
	if b.learn(&Schema{}, to(1)) {
		t.Error("a schema is taken that is older than a DDL")
	}
	ask(WhySchema)
	if !b.learn(&Schema{}, to(2)) {
		t.Error("a schema is not taken that has all DDL")
	}
	ask(WhyNot)
	if _, why := b.need([]Key{1}, to(3)); why != WhyBehind {
		t.Errorf("of what it has not read it says %v", why)
	}
	// What was read without a schema may have changed any table.
	if need, _ := b.need([]Key{7}, to(2)); !need.Equal(to(2)) {
		t.Errorf("a table that was never named needs %v", need)
	}
	b.add(&change{id: id(3), all: true, ddl: true})
	ask(WhySchema)
}

// TestBook_returns: what every replica had that was online is needed still by one that comes back, and lacks it.
func TestBook_returns(t *testing.T) {
	online, away := gtid.Value{}, gtid.Value{}
	b := book{everywhere: func() (gtid.Value, bool) { return online, true }}
	b.begin(gtid.Value{})
	b.learn(&Schema{}, gtid.Value{})
	const one, other = Key(1), Key(2)
	for n := 1; n <= 200; n++ {
		id := position(t, fmt.Sprintf("%s:%d", uuid, n))
		online = union(online, id) // a replica may have it before it was read here
		b.add(&change{id: id, tables: []Key{one + Key(n%2)}})
	}
	for _, k := range []Key{one, other} {
		if need, why := b.need([]Key{k}, b.read); why != WhyNot || count(t, away, need) < 100 {
			t.Errorf("a replica without any of 100 changes of table %d lacks %d: %v", k, count(t, away, need), why)
		}
	}
}

// TestBook_ahead: a view that is gone without a DDL in the log counts as one until the schema has been read once more.
func TestBook_ahead(t *testing.T) {
	b := book{everywhere: func() (gtid.Value, bool) { return gtid.Value{}, false }}
	b.begin(gtid.Value{})
	const view = Key(1)
	for n, tt := range []struct {
		read *Schema
		want Why
	}{
		{&Schema{opaque: map[Key]struct{}{view: {}}}, WhyOpaque}, {&Schema{}, WhyOpaque}, {&Schema{}, WhyNot},
	} {
		id := position(t, fmt.Sprintf("%s:%d", uuid, n+1))
		b.add(&change{id: id, all: true, ddl: true})
		if !b.learn(tt.read, b.read) {
			t.Fatal("a schema is not taken that has all DDL")
		}
		if _, why := b.need([]Key{view}, id); why != tt.want {
			t.Errorf("after schema %d it says %v, want %v", n, why, tt.want)
		}
	}
}
