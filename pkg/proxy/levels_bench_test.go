package proxy_test

import (
	"slices"
	"strconv"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/verify"
	"github.com/mysqlrw/mysqlrw/route"
)

// flavors runs a benchmark on both.
func flavors(b *testing.B, run func(b *testing.B, f flavor.Flavor)) {
	if testing.Short() {
		b.Skip("needs servers")
	}
	for _, f := range []flavor.Flavor{flavor.MySQL, flavor.MariaDB} {
		b.Run(f.String(), func(b *testing.B) { run(b, f) })
	}
}

// measured is a healthy cluster with a proxy in front.
func measured(b *testing.B, f flavor.Flavor) *running {
	c := sandboxtest.Cluster(b, sandbox.Options{Flavor: f, Replicas: 2})
	o := options(b, c)
	o.CheckInterval = time.Second // as by default
	o.Listeners[0].Policy = route.DefaultPolicy()
	return start(b, c, o)
}

// checked has the checker's clients work for a while, straight on the primary if no level is given.
func checked(b *testing.B, r *running, w verify.Workload, level string, d time.Duration) *verify.Result {
	b.Helper()
	db := sandboxtest.Open(b, r.cluster.Primary())
	o := verify.Options{Workload: w, Clients: 16, Duration: d, Settle: time.Minute}
	if level != "" {
		db = r.open(nil)
		o.Statements = []string{verify.Setting("consistency", level)}
	}
	db.SetMaxIdleConns(32)
	o.Read, o.Write = db, db
	result, err := verify.Run(b.Context(), o)
	if err != nil {
		b.Fatal(err)
	}
	return result
}

func milliseconds(d time.Duration) float64 { return d.Seconds() * 1000 }

// BenchmarkShare: a healthy cluster, one write to nine reads, 16 sessions: how many reads replicas serve.
func BenchmarkShare(b *testing.B) {
	flavors(b, func(b *testing.B, f flavor.Flavor) {
		r := measured(b, f)
		for _, level := range []string{"session", "global"} {
			b.Run(level, func(b *testing.B) {
				var reads, primary int64
				for b.Loop() {
					one := checked(b, r, verify.Registers, level, 5*time.Second)
					reads, primary = reads+one.Reads, primary+one.ByServer["1"]
				}
				b.ReportMetric(100*float64(reads-primary)/float64(reads), "replica-%")
				b.ReportMetric(float64(reads)/b.Elapsed().Seconds(), "reads/s")
			})
		}
	})
}

// BenchmarkPeers: the workload of the field's comparison, relative to the same clients on the primary
// itself, in turns.
func BenchmarkPeers(b *testing.B) {
	flavors(b, func(b *testing.B, f flavor.Flavor) {
		r := measured(b, f)
		const levels = 3
		var rate, first [levels][]float64
		var wrong int64
		for b.Loop() {
			for i, level := range [levels]string{"", "session", "global"} {
				one := checked(b, r, verify.Peers, level, 8*time.Second)
				rate[i] = append(rate[i], float64(one.Reads)/one.Elapsed.Seconds())
				first[i] = append(first[i], milliseconds(one.FirstReadTime.P50))
				wrong += one.OwnWrites.Found + one.MonotonicReads.Found
				if level != "session" {
					wrong += one.CrossSession.Found
				}
			}
		}
		b.ReportMetric(float64(wrong), "violations")
		b.ReportMetric(middle(rate[0]), "direct-reads/s")
		b.ReportMetric(middle(rate[1])/middle(rate[0]), "session-of-direct")
		b.ReportMetric(middle(rate[2])/middle(rate[0]), "global-of-direct")
		b.ReportMetric(middle(first[0]), "direct-first-ms")
		b.ReportMetric(middle(first[1])/middle(first[0]), "session-first-of-direct")
		b.ReportMetric(middle(first[2])/middle(first[0]), "global-first-of-direct")
	})
}

func middle(all []float64) float64 {
	slices.Sort(all)
	return all[len(all)/2]
}

// BenchmarkFallBack: no replica applies anything. How much longer than the timeout a read after a write
// takes that then runs on the primary, or gets the error.
func BenchmarkFallBack(b *testing.B) {
	flavors(b, func(b *testing.B, f flavor.Flavor) {
		r := measured(b, f)
		sandboxtest.Exec(b, r.cluster.Primary(), "CREATE DATABASE levels", "CREATE TABLE levels.register (id INT PRIMARY KEY, v BIGINT NOT NULL)",
			"INSERT INTO levels.register VALUES (1, 0)", "CREATE USER "+loadAccount+"@'%' IDENTIFIED BY '"+r.cluster.Primary().Password+"'",
			"GRANT ALL ON levels.* TO "+loadAccount+"@'%'")
		if err := r.cluster.WaitReplicated(b.Context()); err != nil {
			b.Fatal(err)
		}
		strict := options(b, r.cluster)
		strict.CheckInterval = time.Second
		strict.Listeners[0].Policy = route.DefaultPolicy()
		strict.Listeners[0].Policy.ErrorOnTimeout = true
		failing := start(b, r.cluster, strict)
		release := hold(b, r)
		defer release()
		for name, one := range map[string]*running{"primary": r, "error": failing} {
			b.Run(name, func(b *testing.B) {
				db := one.open(func(c *mysql.Config) { c.User = loadAccount })
				conn := session(b, db, "session")
				var over []float64
				for n := 0; b.Loop(); n++ {
					exec(b, conn, "UPDATE levels.register SET v = "+strconv.Itoa(n)+" WHERE id = 1")
					began := time.Now()
					var v string
					err := conn.QueryRowContext(b.Context(), "SELECT v FROM levels.register WHERE id = 1").Scan(&v)
					took := time.Since(began)
					if stale := err == nil && v != strconv.Itoa(n); stale || (err != nil) != (name == "error") {
						b.Fatalf("wrote %d, read %s, %v", n, v, err)
					}
					over = append(over, milliseconds(took-route.DefaultPolicy().SessionTimeout))
				}
				slices.Sort(over)
				b.ReportMetric(over[len(over)/2], "over-p50-ms")
				b.ReportMetric(over[len(over)*99/100], "over-p99-ms")
			})
		}
	})
}
