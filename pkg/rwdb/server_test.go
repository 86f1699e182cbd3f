package rwdb_test

import (
	"context"
	"database/sql"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/rwdb"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/route"
)

// site is a cluster and a pool on it.
type site struct {
	*sandbox.Cluster
	options   rwdb.Options
	connector *rwdb.Connector
	db        *sql.DB

	mu   sync.Mutex
	seen []rwdb.Observation
}

const password = "app-secret"

// newSite starts a cluster with an account that cannot write on replicas, and the schema shop. change may be nil.
func newSite(t *testing.T, f flavor.Flavor, change func(*rwdb.Options, *sandbox.Options)) *site {
	t.Helper()
	so := sandbox.Options{Flavor: f}
	s := &site{}
	s.options = rwdb.Options{MonitorInterval: 200 * time.Millisecond, Observe: s.observe, Policy: patient}
	if change != nil {
		change(&s.options, &so)
	}
	s.Cluster = sandboxtest.Cluster(t, so)
	sandboxtest.Exec(t, s.Primary(), "CREATE SCHEMA shop", "CREATE TABLE shop.item (id INT PRIMARY KEY, price INT)",
		"CREATE USER app@'%' IDENTIFIED BY '"+password+"'", "GRANT ALL ON `shop%`.* TO app@'%'")
	s.replicated(t)
	for _, server := range s.Cluster.Servers {
		c := s.config(server)
		s.options.Servers = append(s.options.Servers, rwdb.Server{Name: server.Name, Config: c})
	}
	s.options.MonitorUser, s.options.MonitorPassword = s.Primary().User, s.Primary().Password
	s.connector, s.db = s.open(t, s.options)
	return s
}

// fresh returns the site for another test: with a pool of its own, and the table as it was.
func (s *site) fresh(t *testing.T, change func(*rwdb.Options)) *site {
	t.Helper()
	one := &site{Cluster: s.Cluster, options: s.options}
	one.options.Observe = one.observe
	if change != nil {
		change(&one.options)
	}
	sandboxtest.Exec(t, s.Primary(), "DELETE FROM shop.item")
	s.replicated(t)
	one.connector, one.db = one.open(t, one.options)
	return one
}

// TestStatements are the tests that leave the servers as they are, and so can have the same ones.
func TestStatements(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		s := newSite(t, f, nil)
		for _, tt := range []struct {
			name string
			test func(*testing.T, *site)
		}{
			{"splitting", testSplitting},
			{"balance", testBalance},
			{"session moves", testSessionMoves},
			{"tokens", testTokens},
			{"timeouts", testTimeouts},
			{"levels", testLevels},
			{"one session at once", testOneSessionAtOnce},
			{"transactions", testTransactions},
			{"text transactions", testTextTransactions},
			{"lost transaction", testLostTransaction},
			{"begun", testBegun},
			{"several", testSeveral},
			{"replay", testReplay},
			{"idle", testIdle},
			{"observed", testObserved},
			{"begins twice", testBeginsTwice},
			{"settings", testSettings},
			{"modes", testModes},
			{"prepared", testPrepared},
			{"unnamed", testUnnamed},
		} {
			t.Run(tt.name, func(t *testing.T) { tt.test(t, s) })
		}
	})
}

// patient waits for replicas of a machine that is busy with other tests.
func patient(p *route.Policy) { p.SessionTimeout, p.GlobalTimeout = 5*time.Second, 5*time.Second }

// config is how the account connects to a server.
func (s *site) config(server *sandbox.Server) *mysql.Config {
	c := server.Config()
	c.User, c.Passwd, c.DBName, c.Logger = "app", password, "shop", &mysql.NopLogger{}
	return c
}

func (s *site) open(t *testing.T, o rwdb.Options) (*rwdb.Connector, *sql.DB) {
	t.Helper()
	c, err := rwdb.New(o)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(c)
	t.Cleanup(func() { _ = db.Close() })
	s.ready(t, c)
	return c, db
}

// ready waits until the primary is known and all replicas can be read.
func (s *site) ready(t *testing.T, c *rwdb.Connector) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	err := c.Wait(ctx, func(all []route.Server) bool {
		primary, online := 0, 0
		for _, sv := range all {
			if sv.State == route.Online {
				online++
				if sv.Role == route.Primary {
					primary++
				}
			}
		}
		return primary == 1 && online == len(s.Cluster.Servers)
	})
	if err != nil {
		t.Fatalf("%v: %+v", err, c.Servers())
	}
}

func (s *site) replicated(t *testing.T) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.WaitReplicated(ctx); err != nil {
		t.Fatal(err)
	}
}

func (s *site) observe(_ context.Context, o rwdb.Observation) {
	s.mu.Lock()
	defer s.mu.Unlock()
	o.Reasons = append([]route.Reason(nil), o.Reasons...)
	s.seen = append(s.seen, o)
}

// last returns what was observed last.
func (s *site) last(t *testing.T) rwdb.Observation {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.seen) == 0 {
		t.Fatal("nothing was observed")
	}
	return s.seen[len(s.seen)-1]
}

func exec(t *testing.T, db interface {
	ExecContext(context.Context, string, ...any) (sql.Result, error)
}, ctx context.Context, query string, args ...any,
) sql.Result {
	t.Helper()
	r, err := db.ExecContext(ctx, query, args...)
	if err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return r
}

func number(t *testing.T, db interface {
	QueryRowContext(context.Context, string, ...any) *sql.Row
}, ctx context.Context, query string, args ...any,
) int {
	t.Helper()
	var n int
	if err := db.QueryRowContext(ctx, query, args...).Scan(&n); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	return n
}

// testBalance: the connections of a pool are spread over the replicas, and stay where they are.
func testBalance(t *testing.T, s *site) {
	s = s.fresh(t, nil)
	ctx := t.Context()
	exec(t, s.db, ctx, "INSERT INTO item VALUES (1, 1)")
	var se rwdb.Session
	exec(t, s.db, rwdb.WithSession(ctx, &se), "UPDATE item SET price = 2 WHERE id = 1")
	token, err := se.MarshalText()
	if err != nil {
		t.Fatal(err)
	}
	want, err := gtid.ParseValue(string(token[1:]))
	if err != nil {
		t.Fatal(err)
	}
	err = s.connector.Wait(ctx, func(all []route.Server) bool {
		return !slices.ContainsFunc(all[1:], func(sv route.Server) bool { return !sv.Position.Has(want) })
	})
	if err != nil {
		t.Fatal(err)
	}
	const conns, reads = 10, 4
	servers := map[string]int{}
	for range conns {
		c := s.conn(t, s.db)
		for range reads {
			number(t, c, ctx, "SELECT price FROM item WHERE id = 1")
			servers[s.last(t).Server]++
		}
	}
	// The first one has been used for the write.
	if low := min(servers["replica1"], servers["replica2"]); len(servers) != 2 || low < (conns/2-1)*reads {
		t.Errorf("%d reads on each of %d connections ran on %v", reads, conns, servers)
	}
}

func testSplitting(t *testing.T, s *site) {
	s = s.fresh(t, nil)
	ctx := t.Context()
	exec(t, s.db, ctx, "INSERT INTO item VALUES (1, 10)")
	if o := s.last(t); o.Server != "primary" || o.Class != route.Write {
		t.Errorf("the write: %+v", o)
	}
	for i := range 50 {
		exec(t, s.db, ctx, "UPDATE item SET price = ? WHERE id = ?", i, 1)
		if n := number(t, s.db, ctx, "SELECT price FROM item WHERE id = 1"); n != i {
			t.Fatalf("read %d after writing %d: %+v", n, i, s.last(t))
		}
		if n := number(t, s.db, ctx, "SELECT price FROM item WHERE id = ?", 1); n != i {
			t.Fatalf("read %d after writing %d, with an argument: %+v", n, i, s.last(t))
		}
	}
	if st := s.connector.Stats(); st.ReadsOnReplicas < 90 {
		t.Errorf("of 100 reads %d ran on replicas: %+v, the last one: %+v", st.ReadsOnReplicas, st, s.last(t))
	} else {
		t.Logf("%+v", st)
	}
}
