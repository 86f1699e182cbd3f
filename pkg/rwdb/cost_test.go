//go:build unix

package rwdb_test

import (
	"context"
	"database/sql"
	"slices"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"golang.org/x/sys/unix"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/rwdb"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/route"
)

// pools returns a pool of the plain driver on a replica and one of rwdb on the cluster, whose reads go there, too.
func pools(t testing.TB, f flavor.Flavor, interpolate bool) (plain, split *sql.DB) {
	t.Helper()
	c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 1})
	sandboxtest.Exec(t, c.Primary(), "CREATE SCHEMA shop", "CREATE TABLE shop.item (id INT PRIMARY KEY, price INT)", "INSERT INTO shop.item VALUES (1, 1)")
	if err := c.WaitReplicated(t.Context()); err != nil {
		t.Fatal(err)
	}
	config := func(s *sandbox.Server) *mysql.Config {
		o := s.Config()
		o.DBName, o.InterpolateParams = "shop", interpolate
		return o
	}
	one, err := mysql.NewConnector(config(c.Replica(1)))
	if err != nil {
		t.Fatal(err)
	}
	many, err := rwdb.New(rwdb.Options{Servers: []rwdb.Server{{Name: "primary", Config: config(c.Primary())}, {Name: "replica1", Config: config(c.Replica(1))}}})
	if err != nil {
		t.Fatal(err)
	}
	plain, split = sql.OpenDB(one), sql.OpenDB(many)
	t.Cleanup(func() { _, _ = plain.Close(), split.Close() })
	err = many.Wait(t.Context(), func(all []route.Server) bool {
		return all[0].Role == route.Primary && all[1].State == route.Online
	})
	if err != nil {
		t.Fatal(err)
	}
	return plain, split
}

func readPrice(t testing.TB, ctx context.Context, db *sql.DB) {
	var n int
	if err := db.QueryRowContext(ctx, "SELECT price FROM item WHERE id = ?", 1).Scan(&n); err != nil || n != 1 {
		t.Fatal(n, err)
	}
}

// TestAllocations: a read costs two allocations more than with the plain driver at most, at any level that needs no
// question.
func TestAllocations(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		plain, split := pools(t, f, true)
		var se rwdb.Session
		base := testing.AllocsPerRun(300, func() { readPrice(t, t.Context(), plain) })
		for name, ctx := range map[string]context.Context{
			"eventual": rwdb.WithLevel(t.Context(), route.Eventual),
			"session":  t.Context(),
			"Session":  rwdb.WithSession(t.Context(), &se),
		} {
			readPrice(t, ctx, split)
			n := testing.AllocsPerRun(300, func() { readPrice(t, ctx, split) })
			t.Logf("%s: %v allocations a read, plain %v", name, n, base)
			if n > base+2 {
				t.Errorf("%s: %v allocations a read, and %v with the plain driver", name, n, base)
			}
		}
	})
}

// BenchmarkOverhead compares a read with one of the plain driver on the same server, in turns of 500, and reports
// what it takes more: processor time and time that passes, the medians of all turns.
func BenchmarkOverhead(b *testing.B) {
	for _, f := range []flavor.Flavor{flavor.MySQL, flavor.MariaDB} {
		plain, split := pools(b, f, true)
		for _, level := range []route.Level{route.Eventual, route.SessionLevel} {
			b.Run(f.String()+"/"+level.String(), func(b *testing.B) {
				const turn = 500
				ctx := rwdb.WithLevel(b.Context(), level)
				var cpu, wall []time.Duration
				readPrice(b, ctx, split)
				for n := 0; n < b.N || len(cpu) < 20; n += turn {
					c0, w0 := used(b), time.Now()
					for range turn {
						readPrice(b, ctx, plain)
					}
					c1, w1 := used(b), time.Now()
					for range turn {
						readPrice(b, ctx, split)
					}
					c2, w2 := used(b), time.Now()
					cpu = append(cpu, (c2-c1-(c1-c0))/turn)
					wall = append(wall, (w2.Sub(w1)-w1.Sub(w0))/turn)
				}
				b.ReportMetric(float64(median(cpu)), "cpu-overhead-ns/op")
				b.ReportMetric(float64(median(wall)), "overhead-ns/op")
			})
		}
	}
}

func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	return all[len(all)/2]
}

// used is the processor time of this process.
func used(t testing.TB) time.Duration {
	var u unix.Rusage
	if err := unix.Getrusage(unix.RUSAGE_SELF, &u); err != nil {
		t.Fatal(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}
