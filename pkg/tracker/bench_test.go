package tracker

import (
	"fmt"
	"math/rand/v2"
	"runtime"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

// many makes a tracker whose replicas are behind some transactions, and a list of these.
func many(b testing.TB, flavored string, tables, behind int) (t *Tracker, next func() change) {
	b.Helper()
	source, err := gtid.ParseUUID(uuid)
	if err != nil {
		b.Fatal(err)
	}
	seq := int64(0)
	id := func(n int64) gtid.Value {
		if flavored == "mariadb" {
			return gtid.DomainPos{}.With(gtid.DomainGTID{Server: 1, Seq: uint64(n)}).Value()
		}
		return gtid.Set{}.Add(gtid.GTID{UUID: source, Seq: n}).Value()
	}
	upTo := func(n int64) gtid.Value {
		if flavored == "mariadb" {
			return id(n)
		}
		return position(b, fmt.Sprintf("%s:1-%d", uuid, max(n, 1)))
	}
	t = New(Options{Everywhere: func() (gtid.Value, bool) { return upTo(seq - int64(behind)), seq > int64(behind) }})
	t.book.begin(gtid.Value{})
	t.book.learn(&Schema{}, gtid.Value{})
	t.following = true
	random := rand.New(rand.NewPCG(1, 2))
	return t, func() change {
		seq++
		return change{id: id(seq), tables: []Key{Key(random.Uint64N(uint64(tables)) + 1)}}
	}
}

// BenchmarkTook is what one transaction costs the tracker besides being read. Five events make one mostly.
func BenchmarkTook(b *testing.B) {
	for _, flavored := range []string{"mysql", "mariadb"} {
		for _, tables := range []int{10, 1000, 100_000} {
			b.Run(fmt.Sprintf("%s/%d tables", flavored, tables), func(b *testing.B) {
				t, next := many(b, flavored, tables, 1000)
				b.ReportAllocs()
				for b.Loop() {
					c := next()
					t.took(&c)
				}
			})
		}
	}
}

// BenchmarkNeed is what a read costs of three tables.
func BenchmarkNeed(b *testing.B) {
	for _, flavored := range []string{"mysql", "mariadb"} {
		b.Run(flavored, func(b *testing.B) {
			t, next := many(b, flavored, 1000, 1000)
			for range 20_000 {
				c := next()
				t.took(&c)
			}
			keys := []Key{1, 2, 3}
			all := t.book.read
			b.ReportAllocs()
			for b.Loop() {
				if _, why := t.Need(keys, all, Source{}); why != WhyNot {
					b.Fatal(why)
				}
			}
		})
	}
}

// TestMemory: a hundred thousand tables with changes that no replica has take less than 64 MB.
func TestMemory(t *testing.T) {
	if testing.Short() || sandboxtest.UnderRace() {
		t.Skip("a million transactions take a minute under the race detector; CI runs it without")
	}
	tr, next := many(t, "mysql", maxTables, 1<<40)
	var before, after runtime.MemStats
	runtime.GC()
	runtime.ReadMemStats(&before)
	for range 1_000_000 {
		c := next()
		tr.took(&c)
	}
	runtime.GC()
	runtime.ReadMemStats(&after)
	used := int64(after.HeapAlloc) - int64(before.HeapAlloc)
	t.Logf("%d tables: %.1f MB", len(tr.book.tables), float64(used)/(1<<20))
	if used > 64<<20 {
		t.Errorf("%d tables take %d bytes", len(tr.book.tables), used)
	}
	if len(tr.book.tables) < maxTables*9/10 {
		t.Errorf("only %d tables are kept", len(tr.book.tables))
	}
	runtime.KeepAlive(tr)
}
