package proxy_test

import (
	"context"
	"database/sql"
	"errors"
	"flag"
	"fmt"
	"io"
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
)

var (
	idleClients  = flag.Int("proxy.idle", 500, "idle clients of TestMemory")
	resultSize   = flag.Int("proxy.result", 256, "MB of the result that a client of TestMemory does not read")
	shortClients = flag.Int("proxy.connects", 500, "clients of TestMemory that come for one statement")
)

// TestMemory: what clients cost that read slowly, do nothing, or come and go.
func TestMemory(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 1})
		p := startChild(t, c, 20, time.Second)
		t.Run("stalled", func(t *testing.T) { stalled(t, c, p) })
		t.Run("idle", func(t *testing.T) { idle(t, c, p) })
		t.Run("connects", func(t *testing.T) { connects(t, c, p) })
	})
}

// through returns a running proxy as the helpers of other tests know it.
func (p *child) through(t *testing.T, c *sandbox.Cluster) *running {
	return &running{t: t, cluster: c, address: p.address}
}

// used is the memory that a limit is about.
func (m childMemory) used() int64 {
	if sandboxtest.UnderRace() {
		return m.Sys
	}
	return m.Resident
}

// stalled: a client that does not read its result stops the server that sends it, and costs nothing.
func stalled(t *testing.T, c *sandbox.Cluster, p *child) {
	const limit = 64 << 20
	s := c.Primary()
	before := p.memory(false)
	slow, err := loginBare(t, p.address, s.User, s.Password)
	if err != nil {
		t.Fatal(err)
	}
	// Rows of 1 MB and of 1 KB.
	rows := strings.TrimSuffix(strings.Repeat("SELECT 1 UNION ALL ", 32), " UNION ALL ")
	query := fmt.Sprintf("SELECT /* stalled */ REPEAT('x', IF(b.c = 1, 1048576, 1024)) FROM (%s) a, (SELECT 1 AS c UNION ALL SELECT 2) b,"+
		" (%s) d, (%s) e LIMIT %d", rows, rows, rows, 2**resultSize)
	query = strings.Replace(query, "SELECT 1 UNION", "SELECT 1 AS c UNION", 1)
	slow.seq = 0
	if err := slow.send(append([]byte{3}, query...)); err != nil {
		t.Fatal(err)
	}
	if _, err := slow.read(); err != nil {
		t.Fatal(err)
	}
	var watch []*sql.DB
	for _, one := range c.Servers {
		watch = append(watch, sandboxtest.Open(t, one))
	}
	sandboxtest.Await(t, "the server waits for the client", func() bool {
		n := 0
		for _, db := range watch {
			v, _ := strconv.Atoi(value(t, db, "SELECT COUNT(*) FROM information_schema.processlist WHERE info LIKE '%/* stalled */%'"+
				" AND (state LIKE 'Sending to client%' OR state LIKE 'Writing to net%')"))
			n += v
		}
		return n > 0
	})
	db := p.through(t, c).open(nil)
	peak := int64(0)
	for range 200 {
		if v := value(t, db, "SELECT 1 + 1"); v != "2" {
			t.Fatalf("another client got %s", v)
		}
		peak = max(peak, p.memory(false).used())
	}
	began, size := time.Now(), int64(0)
	slow.limit = 2 * time.Minute
	for {
		payload, err := slow.reply()
		if err != nil {
			t.Fatalf("after %d bytes: %v", size, err)
		}
		size += int64(len(payload))
		if len(payload) < 9 && payload[0] == 0xFE && size > 1<<20 {
			break
		}
		if size>>24 != (size-int64(len(payload)))>>24 {
			peak = max(peak, p.memory(false).used())
		}
	}
	peak = max(peak, p.memory(false).used())
	t.Logf("%d MB in %v; memory %.1f MB before, at most %.1f MB, the process's peak is %.1f MB", size>>20, time.Since(began).Round(time.Millisecond),
		mb(before.used()), mb(peak), mb(p.memory(false).Peak))
	if peak > limit {
		t.Errorf("a stalled client costs %.1f MB", mb(peak))
	}
	if v := value(t, db, "SELECT 1 + 1"); v != "2" {
		t.Errorf("another client got %s", v)
	}
}

func mb(n int64) float64 { return float64(n) / (1 << 20) }

// idle: what an idle client costs, that has just logged in, or has had its answers.
func idle(t *testing.T, c *sandbox.Cluster, p *child) {
	const limit = 20 << 10
	s := c.Primary()
	warm, err := loginBare(t, p.address, s.User, s.Password)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := warm.query("SELECT 1"); err != nil {
		t.Fatal(err)
	}
	before := p.memory(true)
	all := make([]*bareClient, *idleClients)
	each := func(do func(i int) error) {
		t.Helper()
		var next atomic.Int64
		var wait sync.WaitGroup
		for range 8 {
			wait.Go(func() {
				for i := int(next.Add(1)) - 1; i < len(all); i = int(next.Add(1)) - 1 {
					if err := do(i); err != nil {
						t.Errorf("client %d: %v", i, err)
						return
					}
				}
			})
		}
		wait.Wait()
	}
	report := func(what string) {
		t.Helper()
		// A goroutine's stack shrinks with the collections.
		for range 5 {
			p.memory(true)
		}
		m := p.memory(true)
		n := int64(len(all))
		t.Logf("%d clients, %s: %d bytes each of Go's memory, %d of the process's (%.1f MB, %d goroutines)", n, what, (m.Sys-before.Sys)/n,
			(m.Resident-before.Resident)/n, mb(m.Resident), m.Goroutines)
		if cost := (m.used() - before.used()) / n; cost > limit && !sandboxtest.UnderRace() {
			t.Errorf("an idle client costs %d bytes (%s)", cost, what)
		}
	}
	each(func(i int) (err error) {
		all[i], err = loginBare(t, p.address, s.User, s.Password)
		return err
	})
	report("that have only logged in")
	each(func(i int) error {
		_, err := all[i].query("SELECT 'a statement', 1")
		return err
	})
	report("that have had an answer")
	each(func(i int) error {
		_, err := all[i].query("SELECT REPEAT('x', 200000)")
		return err
	})
	report("that have had a large answer")
	for _, one := range all {
		_ = one.conn.Close()
	}
	_ = warm.conn.Close()
}

// connects: clients that come for one statement are no logins on the servers.
func connects(t *testing.T, c *sandbox.Cluster, p *child) {
	s := c.Primary()
	count := func() (n int) {
		for _, one := range c.Servers {
			var name string
			var v int
			if err := sandboxtest.Open(t, one).QueryRowContext(t.Context(), "SHOW GLOBAL STATUS LIKE 'Connections'").Scan(&name, &v); err != nil {
				t.Fatal(err)
			}
			n += v
		}
		return n
	}
	before, began := count(), time.Now()
	var next atomic.Int64
	var wait sync.WaitGroup
	for range 16 {
		wait.Go(func() {
			for next.Add(1) <= int64(*shortClients) {
				one, err := loginBare(t, p.address, s.User, s.Password)
				if err == nil {
					_, err = one.query("SELECT 1")
					_ = one.conn.Close()
				}
				if err != nil {
					t.Errorf("a short client: %v", err)
					return
				}
			}
		})
	}
	wait.Wait()
	took := time.Since(began)
	made := count() - before
	t.Logf("%d clients in %v, %.0f a second, made %d connections to servers", *shortClients, took.Round(time.Millisecond),
		float64(*shortClients)/took.Seconds(), made)
	if made > 2*20+10 { // the pools, and those that ask here
		t.Errorf("%d clients made %d connections to servers", *shortClients, made)
	}
}

// TestLimits: who is too many is told so, and nobody else notices.
func TestLimits(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 1})
		secret := c.Primary().Password
		sandboxtest.Exec(t, c.Primary(), "CREATE DATABASE limits", "CREATE TABLE limits.t (id INT)", "INSERT INTO limits.t VALUES (1)",
			"CREATE USER one@'%' IDENTIFIED BY '"+secret+"'", "GRANT ALL ON limits.* TO one@'%'",
			"CREATE USER two@'%' IDENTIFIED BY '"+secret+"'", "GRANT ALL ON limits.* TO two@'%'")
		if err := c.WaitReplicated(t.Context()); err != nil {
			t.Fatal(err)
		}
		t.Run("clients", func(t *testing.T) { tooManyClients(t, c) })
		t.Run("clients of a user", func(t *testing.T) { tooManyOfUser(t, c) })
		t.Run("connections", func(t *testing.T) { noConnection(t, c) })
		t.Run("statements", func(t *testing.T) { tooManyStatements(t, c) })
		t.Run("idle", func(t *testing.T) { idleTimeout(t, c, f) })
		t.Run("accounts", func(t *testing.T) { manyAccounts(t, c) })
	})
}

func mustLogin(t *testing.T, address string, s *sandbox.Server) *bareClient {
	t.Helper()
	c, err := loginBare(t, address, s.User, s.Password)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

func mustAnswer(t *testing.T, c *bareClient) {
	t.Helper()
	if _, err := c.query("SELECT 1"); err != nil {
		t.Errorf("another client: %v", err)
	}
}

// tooManyClients, of the proxy and of one listener.
func tooManyClients(t *testing.T, c *sandbox.Cluster) {
	o := options(t, c)
	o.MaxConnections = 5
	small := o.Listeners[0]
	small.MaxConnections = 2
	o.Listeners = append(o.Listeners, small)
	r := start(t, c, o)
	second := r.proxy.Addresses()[1].String()
	s := c.Primary()
	refused := func(address string) {
		t.Helper()
		_, err := loginBare(t, address, s.User, s.Password)
		if refusedWith(err) != 1040 {
			t.Errorf("one too many: %v", err)
		}
	}
	there := []*bareClient{mustLogin(t, second, s), mustLogin(t, second, s)}
	refused(second)
	for range 3 {
		there = append(there, mustLogin(t, r.address, s))
	}
	refused(r.address)
	refused(second)
	for _, one := range there {
		mustAnswer(t, one)
	}
	_ = there[0].conn.Close()
	sandboxtest.Await(t, "there is room again", func() bool {
		_, err := loginBare(t, second, s.User, s.Password)
		return err == nil
	})
	refused(r.address)
}

func tooManyOfUser(t *testing.T, c *sandbox.Cluster) {
	o := options(t, c)
	o.MaxConnectionsPerUser = 2
	r := start(t, c, o)
	secret := c.Primary().Password
	login := func(user string) (*bareClient, error) { return loginBare(t, r.address, user, secret) }
	first, err := login("one")
	if err != nil {
		t.Fatal(err)
	}
	if _, err = login("one"); err != nil {
		t.Fatal(err)
	}
	if _, err = login("one"); refusedWith(err) != 1226 || !strings.Contains(err.Error(), "one") {
		t.Errorf("one too many: %v", err)
	}
	if _, err = login("two"); err != nil {
		t.Errorf("another user: %v", err)
	}
	mustAnswer(t, first)
	_ = first.conn.Close()
	sandboxtest.Await(t, "there is room again", func() bool {
		_, err := login("one")
		return err == nil
	})
}

// noConnection: a statement waits for a connection as long as it may. The session goes on.
func noConnection(t *testing.T, c *sandbox.Cluster) {
	o := options(t, c)
	o.Pool.Max, o.AcquireTimeout = 1, 300*time.Millisecond
	r := start(t, c, o)
	owner, other := r.session(), r.session()
	exec(t, owner, "BEGIN", "INSERT INTO limits.t VALUES (2)")
	for range 2 {
		_, err := other.ExecContext(t.Context(), "INSERT INTO limits.t VALUES (3)")
		if number(err) != 1040 || !strings.Contains(err.Error(), "300ms") || !strings.Contains(err.Error(), "primary") {
			t.Errorf("a write without a connection: %v", err)
		}
		if v := value(t, other, "SELECT 1"); v != "1" {
			t.Errorf("a read is on another server, and got %s", v)
		}
	}
	exec(t, owner, "ROLLBACK")
	exec(t, other, "INSERT INTO limits.t VALUES (3)", "DELETE FROM limits.t WHERE id = 3")
}

// tooManyStatements: one runs, one waits, the next one is refused.
func tooManyStatements(t *testing.T, c *sandbox.Cluster) {
	o := options(t, c)
	o.QueueLength, o.QueueTimeout = 1, time.Minute
	for i := range o.Servers {
		o.Servers[i].MaxConcurrent = 1
	}
	r := start(t, c, o)
	lock := sandboxtest.Open(t, c.Primary())
	holder, err := lock.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	exec(t, holder, "LOCK TABLES limits.t WRITE")
	results := make(chan error, 3)
	write := func(conn *sql.Conn) {
		_, err := conn.ExecContext(context.Background(), "INSERT INTO limits.t VALUES (4)")
		results <- err
	}
	sessions := []*sql.Conn{r.session(), r.session(), r.session()}
	for _, conn := range sessions {
		go write(conn)
	}
	// Two cannot end as long as the table is locked: what comes is the refusal.
	if err := <-results; number(err) != 1040 || !strings.Contains(err.Error(), "primary") {
		t.Errorf("a statement over the queue's length: %v", err)
	}
	select {
	case err := <-results:
		t.Errorf("another one ended: %v", err)
	default:
	}
	if v := value(t, r.session(), "SELECT 1"); v != "1" {
		t.Errorf("a read got %s", v)
	}
	exec(t, holder, "UNLOCK TABLES")
	for range 2 {
		if err := <-results; err != nil {
			t.Errorf("a statement that waited: %v", err)
		}
	}
	for _, conn := range sessions {
		exec(t, conn, "DELETE FROM limits.t WHERE id = 4")
	}
}

// idleTimeout: who says nothing is told so and disconnected, in a transaction or not. Who talks is not.
func idleTimeout(t *testing.T, c *sandbox.Cluster, f flavor.Flavor) {
	o := options(t, c)
	o.IdleTimeout = 500 * time.Millisecond
	r := start(t, c, o)
	s := c.Primary()
	quiet, open := mustLogin(t, r.address, s), mustLogin(t, r.address, s)
	for _, q := range []string{"BEGIN", "INSERT INTO limits.t VALUES (5)"} {
		if _, err := open.query(q); err != nil {
			t.Fatal(err)
		}
	}
	busy := r.session()
	stop, stopped := make(chan struct{}), make(chan error, 1)
	go func() {
		for {
			select {
			case <-stop:
				stopped <- nil
				return
			default:
			}
			if _, err := busy.ExecContext(context.Background(), "DO 1"); err != nil {
				stopped <- err
				return
			}
		}
	}()
	for _, one := range []*bareClient{quiet, open} {
		_, err := one.reply()
		told := refusedWith(err) == 4031 && strings.Contains(err.Error(), "inactivity")
		if f == flavor.MySQL && !told || f == flavor.MariaDB && !errors.Is(err, io.EOF) { // MariaDB closes without a word
			t.Errorf("an idle client was told %v", err)
		}
		if !one.closed() {
			t.Error("an idle client is still connected")
		}
	}
	close(stop)
	if err := <-stopped; err != nil {
		t.Errorf("a client that talks: %v", err)
	}
	direct := sandboxtest.Open(t, s)
	sandboxtest.Await(t, "the transaction is rolled back", func() bool {
		_, err := direct.ExecContext(t.Context(), "DELETE FROM limits.t WHERE id = 5")
		return err == nil
	})
}

// manyAccounts share connections that are fewer than they.
func manyAccounts(t *testing.T, c *sandbox.Cluster) {
	o := options(t, c)
	o.Pool.Max = 2
	r := start(t, c, o)
	users := []string{"one", "two", c.Primary().User}
	var wait sync.WaitGroup
	for i := range 9 {
		wait.Go(func() {
			db := r.open(func(c *mysql.Config) { c.User, c.TLSConfig = users[i%3], "" })
			for range 20 {
				user := value(t, db, "SELECT SUBSTRING_INDEX(USER(), '@', 1) FROM limits.t LIMIT 1")
				if user != users[i%3] {
					t.Errorf("%s is %s", users[i%3], user)
					return
				}
			}
		})
	}
	wait.Wait()
	for _, s := range c.Servers {
		n, _ := strconv.Atoi(value(t, sandboxtest.Open(t, s), "SELECT COUNT(*) FROM information_schema.processlist WHERE user IN ('one', 'two')"))
		if n > 2 {
			t.Errorf("%d connections to %s", n, s.Name)
		}
	}
}
