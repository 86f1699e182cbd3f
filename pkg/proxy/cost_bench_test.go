package proxy_test

import (
	"fmt"
	"io"
	"net"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// costRounds is how often the two sides of a comparison take turns.
const costRounds = 7

// reads has clients read for a while, and returns the processor time of the proxy for one query.
func (p *child) reads(b *testing.B, clients []*bareClient, query string, d time.Duration) (cpu time.Duration, times []time.Duration) {
	b.Helper()
	before := p.memory(false).CPU
	var wait sync.WaitGroup
	var mu sync.Mutex
	for _, c := range clients {
		wait.Go(func() {
			var mine []time.Duration
			for end := time.Now().Add(d); time.Now().Before(end); {
				began := time.Now()
				if _, err := c.query(query); err != nil {
					b.Error(err)
					break
				}
				mine = append(mine, time.Since(began))
			}
			mu.Lock()
			defer mu.Unlock()
			times = append(times, mine...)
		})
	}
	wait.Wait()
	return (p.memory(false).CPU - before) / time.Duration(max(1, len(times))), times
}

// clients logs n clients in and has each run some statements.
func (p *child) clients(b *testing.B, s *sandbox.Server, n int, statements ...string) []*bareClient {
	b.Helper()
	all := make([]*bareClient, n)
	for i := range all {
		c, err := loginBare(b, p.address, s.User, s.Password)
		for _, text := range statements {
			if err == nil {
				_, err = c.query(text)
			}
		}
		if err != nil {
			b.Fatal(err)
		}
		c.limit = time.Minute
		b.Cleanup(func() { _ = c.conn.Close() })
		all[i] = c
	}
	return all
}

const costQuery = "SELECT v FROM cost.t WHERE id = 2"

func costCluster(b *testing.B, f flavor.Flavor, replicas int) *sandbox.Cluster {
	b.Helper()
	c := sandboxtest.Cluster(b, sandbox.Options{Flavor: f, Replicas: replicas})
	sandboxtest.Exec(b, c.Primary(), "CREATE DATABASE cost", "CREATE TABLE cost.t (id INT PRIMARY KEY, v INT)", "INSERT INTO cost.t VALUES (1, 1), (2, 2)")
	if err := c.WaitReplicated(b.Context()); err != nil {
		b.Fatal(err)
	}
	return c
}

// BenchmarkGrowth: what a query costs the proxy when something is doubled, of what it costs before: servers,
// idle sessions, prepared statements of each session, and intervals of the GTID sets (500 to 1,000, MySQL).
func BenchmarkGrowth(b *testing.B) {
	flavors(b, func(b *testing.B, f flavor.Flavor) {
		compare := func(b *testing.B, one, two func() time.Duration) {
			var first, second, ratio []float64
			for range costRounds {
				x, y := one(), two()
				first, second, ratio = append(first, float64(x)/1e3), append(second, float64(y)/1e3), append(ratio, float64(y)/float64(x))
			}
			b.ReportMetric(middle(first), "us-cpu")
			b.ReportMetric(middle(second), "us-cpu-doubled")
			b.ReportMetric(middle(ratio), "doubled-of-single")
		}
		c := costCluster(b, f, 5)
		s := c.Primary()
		some := &sandbox.Cluster{Servers: c.Servers[:3]}
		small, large := startChild(b, some, 20, time.Second), startChild(b, c, 20, time.Second)
		const d = time.Second
		b.Run("servers", func(b *testing.B) {
			a, z := small.clients(b, s, 8), large.clients(b, s, 8)
			compare(b, func() time.Duration { t, _ := small.reads(b, a, costQuery, d); return t },
				func() time.Duration { t, _ := large.reads(b, z, costQuery, d); return t })
		})
		other := startChild(b, some, 20, time.Second)
		b.Run("sessions", func(b *testing.B) {
			small.clients(b, s, 500, "SELECT 1")
			other.clients(b, s, 1000, "SELECT 1")
			a, z := small.clients(b, s, 8), other.clients(b, s, 8)
			compare(b, func() time.Duration { t, _ := small.reads(b, a, costQuery, d); return t },
				func() time.Duration { t, _ := other.reads(b, z, costQuery, d); return t })
		})
		b.Run("statements", func(b *testing.B) {
			a, z := small.clients(b, s, 8), other.clients(b, s, 8)
			for i, all := range [][]*bareClient{a, z} {
				for _, one := range all {
					for k := range 100 * (i + 1) {
						one.prepare(fmt.Sprintf("SELECT v + %d FROM cost.t WHERE id = ?", k))
					}
				}
			}
			compare(b, func() time.Duration { t, _ := small.reads(b, a, costQuery, d); return t },
				func() time.Duration { t, _ := other.reads(b, z, costQuery, d); return t })
		})
		if f == flavor.MySQL {
			b.Run("intervals", func(b *testing.B) { intervals(b, compare) })
		}
	})
}

// intervals compares two clusters whose GTID sets have 500 and 1,000 intervals; the sessions have written, so
// that their reads must see a set.
func intervals(b *testing.B, compare func(b *testing.B, one, two func() time.Duration)) {
	var sides [2]func() time.Duration
	for i := range sides {
		c := sandboxtest.Cluster(b, sandbox.Options{Flavor: flavor.MySQL, Replicas: 1})
		var set strings.Builder
		set.WriteString("3e11fa47-71ca-11e1-9e33-c80aa9429562")
		for k := range 500 * (i + 1) {
			fmt.Fprintf(&set, ":%d", 2*k+1)
		}
		for _, s := range c.Servers {
			sandboxtest.Exec(b, s, "SET GLOBAL gtid_purged = '+"+set.String()+"'")
		}
		sandboxtest.Exec(b, c.Primary(), "CREATE DATABASE cost", "CREATE TABLE cost.t (id INT PRIMARY KEY, v INT)", "INSERT INTO cost.t VALUES (1, 1), (2, 2)")
		if err := c.WaitReplicated(b.Context()); err != nil {
			b.Fatal(err)
		}
		p := startChild(b, c, 20, time.Second)
		all := p.clients(b, c.Primary(), 8, "UPDATE cost.t SET v = v + 1 WHERE id = 1")
		sides[i] = func() time.Duration { t, _ := p.reads(b, all, costQuery, time.Second); return t }
	}
	compare(b, sides[0], sides[1])
}

// BenchmarkIdle: how long 100 clients that read wait for an answer beside 9,900 that do nothing, of what they
// wait alone, and what one of those costs. Each reads after a pause, so that the machine is not full.
func BenchmarkIdle(b *testing.B) {
	flavors(b, func(b *testing.B, f flavor.Flavor) {
		c := costCluster(b, f, 2)
		s := c.Primary()
		alone, crowded := startChild(b, c, 100, time.Second), startChild(b, c, 100, time.Second)
		active, beside := alone.clients(b, s, 100, costQuery), crowded.clients(b, s, 100, costQuery)
		before := crowded.memory(true)
		crowded.clients(b, s, 9900, costQuery)
		for range 5 {
			crowded.memory(true)
		}
		b.ReportMetric(float64(crowded.memory(true).Resident-before.Resident)/9900, "bytes-for-one")
		var medians, tails, ratios []float64
		for range costRounds {
			x, y := paced(b, active), paced(b, beside)
			medians, tails = append(medians, milliseconds(y[len(y)/2])), append(tails, milliseconds(y[len(y)*99/100]))
			ratios = append(ratios, float64(y[len(y)/2])/float64(x[len(x)/2]))
		}
		b.ReportMetric(middle(medians), "ms-p50")
		b.ReportMetric(middle(tails), "ms-p99")
		b.ReportMetric(middle(ratios), "crowded-of-alone")
	})
}

// paced has each client read ten times in two seconds, and returns the times, sorted.
func paced(b *testing.B, all []*bareClient) []time.Duration {
	b.Helper()
	var wait sync.WaitGroup
	times := make([]time.Duration, 10*len(all))
	for i, c := range all {
		wait.Go(func() {
			time.Sleep(time.Duration(i) * 2 * time.Millisecond)
			tick := time.NewTicker(200 * time.Millisecond)
			defer tick.Stop()
			for k := range 10 {
				<-tick.C
				began := time.Now()
				if _, err := c.query(costQuery); err != nil {
					b.Error(err)
					return
				}
				times[10*i+k] = time.Since(began)
			}
		})
	}
	wait.Wait()
	slices.Sort(times)
	return times
}

// BenchmarkLarge: a result of 1 GB through the proxy, through a plain copy and directly, in MB/s.
func BenchmarkLarge(b *testing.B) {
	flavors(b, func(b *testing.B, f flavor.Flavor) {
		c := costCluster(b, f, 1)
		s := c.Primary()
		p := startChild(b, c, 20, time.Second)
		query := "/*FORCE_MASTER*/ SELECT REPEAT('x', 1000000) FROM (SELECT 1 FROM information_schema.COLLATIONS a, information_schema.COLLATIONS b LIMIT 1000) t"
		direct := fmt.Sprintf("%s:%d", s.Host, s.Port)
		var speeds [3][]float64
		for range 3 {
			for i, address := range []string{direct, copying(b, direct), p.address} {
				one, err := loginBare(b, address, s.User, s.Password)
				if err != nil {
					b.Fatal(err)
				}
				one.limit = time.Minute
				began := time.Now()
				n, err := one.drain(query)
				if err != nil || n < 1e9 {
					b.Fatalf("%d bytes, %v", n, err)
				}
				speeds[i] = append(speeds[i], float64(n)/1e6/time.Since(began).Seconds())
				_ = one.conn.Close()
			}
		}
		b.ReportMetric(middle(speeds[0]), "MB/s-direct")
		b.ReportMetric(middle(speeds[1]), "MB/s-copy")
		b.ReportMetric(middle(speeds[2]), "MB/s-proxy")
		b.ReportMetric(mb(p.memory(false).Peak), "MB-peak")
	})
}

// copying is a relay that knows nothing: it reads and writes.
func copying(b *testing.B, to string) (address string) {
	b.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { _ = l.Close() })
	type plain struct{ io.Reader } // not what a socket can be copied to without a buffer
	type sink struct{ io.Writer }
	go func() {
		for {
			here, err := l.Accept()
			if err != nil {
				return
			}
			there, err := net.Dial("tcp", to)
			if err != nil {
				_ = here.Close()
				return
			}
			go func() {
				_, _ = io.CopyBuffer(sink{there}, plain{here}, make([]byte, 64<<10))
				_ = there.Close()
			}()
			go func() {
				_, _ = io.CopyBuffer(sink{here}, plain{there}, make([]byte, 64<<10))
				_ = here.Close()
			}()
		}
	}()
	return l.Addr().String()
}

// drain sends a query and reads its answer without looking at the rows.
func (c *bareClient) drain(query string) (n int64, err error) {
	c.seq = 0
	if err := c.send(wire.AppendQuery(nil, query, c.caps)); err != nil {
		return 0, err
	}
	_ = c.conn.SetDeadline(time.Now().Add(c.limit))
	b := make([]byte, 256<<10)
	var tail [9]byte
	for {
		got, err := c.in.Read(b)
		n += int64(got)
		if got >= len(tail) {
			copy(tail[:], b[got-len(tail):got])
		} else {
			copy(tail[:], tail[got:])
			copy(tail[len(tail)-got:], b[:got])
		}
		if err != nil {
			return n, err
		}
		if n > 1e9 && tail[4] == 0xFE && tail[0] < 9 && tail[1] == 0 && tail[2] == 0 { // an OK or EOF of 5 bytes ends it
			return n, nil
		}
	}
}
