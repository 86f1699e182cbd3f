package proxy_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/route"
)

// role waits until the proxy takes a server for what it is.
func (r *running) role(name string, role route.Role, state route.State) {
	r.t.Helper()
	sandboxtest.Await(r.t, fmt.Sprintf("%s is %v and %v", name, role, state), func() bool {
		s := r.proxy.Snapshot()
		i := s.Find(name)
		return s.Servers[i].Role == role && s.Servers[i].State == state
	})
}

// promote makes the replica that has most the primary, since the primary is gone, and the other one
// its replica.
func promote(t testing.TB, f flavor.Flavor, replicas ...*sandbox.Server) *sandbox.Server {
	t.Helper()
	best, most := replicas[0], -1
	for _, s := range replicas {
		sandboxtest.Drained(t, f, s)
		var n int
		db := sandboxtest.Open(t, s)
		if err := db.QueryRowContext(t.Context(), "SELECT (SELECT COUNT(*) FROM load1.ledger) + (SELECT COUNT(*) FROM load1.keyed)"+
			" + (SELECT SUM(n) FROM load1.counter)").Scan(&n); err != nil {
			t.Fatal(err)
		}
		if n > most {
			best, most = s, n
		}
	}
	sandboxtest.Detach(t, f, best)
	for _, s := range replicas {
		if s != best {
			sandboxtest.Follow(t, f, s, best, false)
		}
	}
	sandboxtest.SetReadOnly(t, f, best, false)
	return best
}

// load are clients that write and read without an end, and count what became of it.
type load struct {
	t    *testing.T
	name string // no other load has it
	r    *running
	stop atomic.Bool
	wait sync.WaitGroup

	acked, unknown, reads atomic.Int64

	mu       sync.Mutex
	tokens   map[string]bool // of writes: acknowledged, or else unknown
	before   []int           // the counters at the start
	counted  []int           // acknowledged changes of each counter
	doubtful []int           // unknown ones
}

// loadAccount is one that a read-only server refuses.
const loadAccount = "worker"

// prepareLoad makes tables and account.
func prepareLoad(t testing.TB, c *sandbox.Cluster, s *sandbox.Server, writers int) {
	t.Helper()
	statements := []string{
		"CREATE DATABASE load1", "CREATE TABLE load1.ledger (id BIGINT AUTO_INCREMENT PRIMARY KEY, token VARCHAR(40) NOT NULL)",
		"CREATE TABLE load1.keyed (token VARCHAR(40) PRIMARY KEY)", "CREATE TABLE load1.counter (id INT PRIMARY KEY, n INT NOT NULL)",
		"CREATE USER " + loadAccount + "@'%' IDENTIFIED BY '" + s.Password + "'", "GRANT ALL ON load1.* TO " + loadAccount + "@'%'",
	}
	for i := range writers {
		statements = append(statements, fmt.Sprintf("INSERT INTO load1.counter VALUES (%d, 0)", i))
	}
	sandboxtest.Exec(t, s, statements...)
	if err := c.WaitReplicated(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// startLoad starts it. Half of the clients prepare their statements.
func startLoad(t *testing.T, r *running, writers, readers int) *load {
	l := &load{t: t, name: t.Name()[strings.LastIndexByte(t.Name(), '/')+1:], r: r, tokens: map[string]bool{}, counted: make([]int, writers), doubtful: make([]int, writers)}
	client := func(i int) *sql.Conn {
		db := r.open(func(c *mysql.Config) {
			c.User, c.DBName, c.InterpolateParams = loadAccount, "load1", i%2 == 0
			if i%3 > 0 {
				c.TLSConfig = ""
			}
		})
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			l.end()
			_ = conn.Close()
		})
		return conn
	}
	counters := r.open(nil)
	for i := range writers {
		n, _ := strconv.Atoi(value(t, counters, "SELECT n FROM load1.counter WHERE id = ? FOR UPDATE", i))
		l.before = append(l.before, n)
	}
	for i := range writers {
		conn := client(i)
		l.wait.Go(func() { l.write(i, conn) })
	}
	for i := range readers {
		conn := client(i)
		l.wait.Go(func() { l.read(conn) })
	}
	return l
}

func (l *load) end() {
	l.stop.Store(true)
	l.wait.Wait()
}

// progress waits for further writes that were acknowledged, and reads.
func (l *load) progress(n int64) {
	l.t.Helper()
	acked, reads := l.acked.Load(), l.reads.Load()
	sandboxtest.Await(l.t, fmt.Sprintf("%d writes and reads", n), func() bool {
		return l.t.Failed() || l.acked.Load() >= acked+n && l.reads.Load() >= reads+n
	})
	if l.t.Failed() {
		l.t.FailNow()
	}
}

// write changes something by each of three statements in turn.
func (l *load) write(i int, conn *sql.Conn) {
	for n := 0; !l.stop.Load() && !l.t.Failed(); n++ {
		token := fmt.Sprintf("%s-%d-%d", l.name, i, n)
		query, args := "INSERT INTO ledger (token) VALUES (?)", []any{token}
		switch n % 3 {
		case 1:
			query = "INSERT INTO keyed (token) VALUES (?)"
		case 2:
			query, args = "UPDATE counter SET n = n + 1 WHERE id = ?", []any{i}
		}
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		_, err := conn.ExecContext(ctx, query, args...)
		cancel()
		known := err == nil
		if !known {
			var e *mysql.MySQLError
			if !errors.As(err, &e) || e.Number != l.r.lostNumber() || !strings.Contains(e.Message, "unknown whether it took effect") {
				l.t.Errorf("write %s: %v", token, err)
				return
			}
			l.unknown.Add(1)
		} else {
			l.acked.Add(1)
		}
		l.mu.Lock()
		switch {
		case n%3 != 2:
			l.tokens[token] = known
		case known:
			l.counted[i]++
		default:
			l.doubtful[i]++
		}
		l.mu.Unlock()
	}
}

func (l *load) read(conn *sql.Conn) {
	for n := 0; !l.stop.Load() && !l.t.Failed(); n++ {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		var v int
		err := conn.QueryRowContext(ctx, "SELECT n FROM counter WHERE id = ?", 0).Scan(&v)
		cancel()
		if err != nil {
			l.t.Errorf("read %d: %v", n, err)
			return
		}
		l.reads.Add(1)
	}
}

// check ends the load and compares what the clients were told with what a server has.
func (l *load) check(s *sandbox.Server) {
	l.t.Helper()
	l.end()
	db := sandboxtest.Open(l.t, s)
	seen := map[string]int{}
	for _, table := range [...]string{"ledger", "keyed"} {
		rows, err := db.QueryContext(l.t.Context(), "SELECT token FROM load1."+table)
		if err != nil {
			l.t.Fatal(err)
		}
		for rows.Next() {
			var token string
			if err := rows.Scan(&token); err != nil {
				l.t.Fatal(err)
			}
			seen[token]++
		}
		if err := rows.Err(); err != nil {
			l.t.Fatal(err)
		}
	}
	for token, known := range l.tokens {
		switch n := seen[token]; {
		case n > 1:
			l.t.Errorf("write %s was applied %d times", token, n)
		case n == 0 && known:
			l.t.Errorf("write %s was acknowledged and is not there", token)
		}
	}
	for token := range seen {
		if _, sent := l.tokens[token]; !sent && strings.HasPrefix(token, l.name) {
			l.t.Errorf("nobody knows of write %s", token)
		}
	}
	for i, acked := range l.counted {
		var n int
		if err := db.QueryRowContext(l.t.Context(), "SELECT n FROM load1.counter WHERE id = ?", i).Scan(&n); err != nil {
			l.t.Fatal(err)
		}
		n -= l.before[i]
		if n < acked || n > acked+l.doubtful[i] {
			l.t.Errorf("counter %d is %d, %d changes were acknowledged and %d are unknown", i, n, acked, l.doubtful[i])
		}
	}
	l.t.Logf("%d writes acknowledged, %d unknown, %d reads", l.acked.Load(), l.unknown.Load(), l.reads.Load())
}
