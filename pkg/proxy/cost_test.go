package proxy_test

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

// TestCost counts what a simple read costs a proxy in a process of its own: it allocates nothing, reads twice
// and writes twice, and no read finds nothing. Time is for benchmarks.
func TestCost(t *testing.T) {
	if sandboxtest.UnderRace() {
		t.Skip("the race detector allocates by itself; CI runs it without, too")
	}
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 2})
		sandboxtest.Exec(t, c.Primary(), "CREATE DATABASE cost", "CREATE TABLE cost.t (id INT PRIMARY KEY, v INT)", "INSERT INTO cost.t VALUES (1, 1), (2, 2)")
		p := startChild(t, c, 20, 2*time.Second)
		const n = 500
		for name, read := range map[string]func(conn *sql.Conn) func() error{
			"text": func(conn *sql.Conn) func() error {
				return func() error {
					var v int
					return conn.QueryRowContext(context.Background(), "SELECT v FROM cost.t WHERE id = 2").Scan(&v)
				}
			},
			"prepared": func(conn *sql.Conn) func() error {
				st, err := conn.PrepareContext(context.Background(), "SELECT v FROM cost.t WHERE id = ?")
				return func() error {
					var v int
					if err == nil {
						err = st.QueryRowContext(context.Background(), 2).Scan(&v)
					}
					return err
				}
			},
		} {
			for _, secure := range []string{"", "skip-verify"} {
				t.Run(name+secure, func(t *testing.T) {
					s := c.Primary()
					conf := mysql.NewConfig()
					conf.Net, conf.Addr, conf.User, conf.Passwd, conf.TLSConfig, conf.AllowNativePasswords = "tcp", p.address, s.User, s.Password, secure, true
					conf.AllowCleartextPasswords = true
					connector, err := mysql.NewConnector(conf)
					if err != nil {
						t.Fatal(err)
					}
					db := sql.OpenDB(connector)
					defer db.Close()
					conn, err := db.Conn(t.Context())
					if err != nil {
						t.Fatal(err)
					}
					defer conn.Close()
					do := read(conn)
					for range 100 { // the replicas get the table, and the server its statement
						if err := do(); err != nil {
							t.Fatal(err)
						}
					}
					least := cost{allocs: 1e9, reads: 1e9, writes: 1e9}
					for range 10 { // the monitor asks the servers now and then
						least = least.min(costOf(p, n, func() {
							if err := do(); err != nil {
								t.Fatal(err)
							}
						}))
					}
					t.Logf("a query: %.3f allocations, %.3f reads, %.3f writes", least.allocs, least.reads, least.writes)
					want := maxCost
					if secure != "" {
						want.allocs++ // crypto/tls, for a record that it reads
					}
					if least.min(want) != least {
						t.Errorf("a query costs %+v, want at most %+v", least, want)
					}
				})
			}
		}
	})
}

// cost is what one query takes.
type cost struct{ allocs, reads, writes float64 }

// maxCost has room for what asking for these numbers takes, and a moment of the monitor: what each read costs is
// one more.
var maxCost = cost{allocs: 0.5, reads: 2.4, writes: 2.4}

func (c cost) min(o cost) cost {
	return cost{allocs: min(c.allocs, o.allocs), reads: min(c.reads, o.reads), writes: min(c.writes, o.writes)}
}

// costOf measures n times do.
func costOf(p *child, n int, do func()) cost {
	before := p.memory(false)
	for range n {
		do()
	}
	after := p.memory(false)
	per := func(a, b int64) float64 { return float64(b-a) / float64(n) }
	return cost{allocs: per(before.Mallocs, after.Mallocs), reads: per(before.Reads, after.Reads), writes: per(before.Writes, after.Writes)}
}
