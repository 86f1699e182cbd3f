package proxy_test

import (
	"bytes"
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/proxy"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
	"github.com/mysqlrw/mysqlrw/route"
)

// TestLevels shows what each level gives on a real cluster, in every state that its replicas can be in.
func TestLevels(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 2})
		sandboxtest.Exec(t, c.Primary(), "CREATE DATABASE levels", "CREATE TABLE levels.register (id INT PRIMARY KEY, v BIGINT NOT NULL)",
			"INSERT INTO levels.register VALUES (1, 0), (2, 0)")
		o := options(t, c)
		o.Listeners[0].Policy.Level = route.SessionLevel
		r := start(t, c, o)
		t.Run("session", func(t *testing.T) { ownWrites(t, r.as(t), "session") })
		t.Run("global", func(t *testing.T) { othersWrites(t, r.as(t)) })
		t.Run("read only transaction", func(t *testing.T) { readOnlyTransactions(t, r.as(t)) })
		t.Run("token", func(t *testing.T) { tokens(t, f, r.as(t)) })
		t.Run("token elsewhere", func(t *testing.T) { tokenElsewhere(t, r.as(t)) })
		t.Run("nobody catches up", func(t *testing.T) { nobodyCatchesUp(t, r.as(t)) })
		t.Run("locked", func(t *testing.T) { lockedThere(t, r.as(t)) })
		t.Run("appliers stopped", func(t *testing.T) { appliersStopped(t, f, r.as(t)) })
	})
}

// ownWrites has many sessions write and read at once, and asks where the reads ran.
func ownWrites(t *testing.T, r *running, level string) {
	db := r.open(nil)
	exec(t, db, "DELETE FROM levels.register WHERE id > 2")
	var mu sync.Mutex
	where := map[string]int{}
	var all sync.WaitGroup
	for i := range 4 {
		all.Go(func() {
			conn := session(t, db, level)
			exec(t, conn, "INSERT INTO levels.register VALUES ("+strconv.Itoa(100+i)+", 0)")
			for n := 1; n <= 50; n++ {
				exec(t, conn, "UPDATE levels.register SET v = "+strconv.Itoa(n)+" WHERE id = "+strconv.Itoa(100+i))
				if got := value(t, conn, "SELECT v FROM levels.register WHERE id = "+strconv.Itoa(100+i)); got != strconv.Itoa(n) {
					t.Errorf("wrote %d, read %s: %v", n, got, routeOf(t, conn))
				}
				server := ranOn(t, conn)
				mu.Lock()
				where[server]++
				mu.Unlock()
			}
		})
	}
	all.Wait()
	t.Log(where)
	if where["replica1"]+where["replica2"] == 0 {
		t.Errorf("no read was on a replica: %v", where)
	}
}

// othersWrites reads what somebody else committed on the primary a moment before.
func othersWrites(t *testing.T, r *running) {
	direct := sandboxtest.Open(t, r.cluster.Primary())
	conn := session(t, r.open(nil), "global")
	where := map[string]int{}
	for n := 1; n <= 100; n++ {
		exec(t, direct, "UPDATE levels.register SET v = "+strconv.Itoa(n)+" WHERE id = 1")
		if got := value(t, conn, "SELECT v FROM levels.register WHERE id = 1"); got != strconv.Itoa(n) {
			t.Fatalf("committed %d, read %s: %v", n, got, routeOf(t, conn))
		}
		where[ranOn(t, conn)]++
	}
	t.Log(where)
	if where["primary"] == 100 {
		t.Error("no read was on a replica")
	}
}

// readOnlyTransactions wait before their snapshot is made.
func readOnlyTransactions(t *testing.T, r *running) {
	conn := session(t, r.open(nil), "session")
	for n := 1; n <= 20; n++ {
		exec(t, conn, "UPDATE levels.register SET v = "+strconv.Itoa(1000+n)+" WHERE id = 2", "START TRANSACTION READ ONLY")
		first := value(t, conn, "SELECT v FROM levels.register WHERE id = 2")
		where := routeOf(t, conn)
		exec(t, conn, "COMMIT")
		if first != strconv.Itoa(1000+n) {
			t.Errorf("wrote %d, read %s: %v", 1000+n, first, where)
		}
	}
}

// tokens go from one session to another one.
func tokens(t *testing.T, f flavor.Flavor, r *running) {
	db := r.open(nil)
	writer, reader := session(t, db, "session"), session(t, db, "session")
	exec(t, writer, "UPDATE levels.register SET v = 77 WHERE id = 1")
	token := value(t, writer, "SHOW MYSQLRW TOKEN")
	release := hold(t, r)
	exec(t, writer, "UPDATE levels.register SET v = 78 WHERE id = 1")
	token2 := value(t, writer, "SHOW MYSQLRW TOKEN")
	if token == token2 || token2 == "" {
		t.Fatalf("tokens %q and %q", token, token2)
	}
	exec(t, reader, "SET mysqlrw_token = '"+token2+"'")
	if got := value(t, reader, "SELECT v FROM levels.register WHERE id = 1"); got != "78" {
		t.Errorf("with the token of a write it reads %s: %v", got, routeOf(t, reader))
	}
	fresh := session(t, db, "session")
	if got := value(t, fresh, "SELECT /*+ mysqlrw(after='"+token2+"') */ v FROM levels.register WHERE id = 1"); got != "78" {
		t.Errorf("with a hint for the write it reads %s: %v", got, routeOf(t, fresh))
	}
	release()
	forged := "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5"
	if f == flavor.MariaDB {
		forged = "0-1-4000000000"
	}
	for _, bad := range []string{"nonsense", forged} {
		_, err := reader.ExecContext(t.Context(), "SET mysqlrw_token = '"+bad+"'")
		var e *mysql.MySQLError
		if !errors.As(err, &e) {
			t.Errorf("token %q: %v", bad, err)
		}
		t.Log(err)
		if _, err := fresh.ExecContext(t.Context(), "SELECT /*+ mysqlrw(after='"+bad+"') */ 1"); !errors.As(err, &e) {
			t.Errorf("hint %q: %v", bad, err)
		} else {
			t.Log(err)
		}
	}
	if got := value(t, reader, "SHOW MYSQLRW TOKEN"); got != token2 && !strings.Contains(got, ":") {
		t.Errorf("a bad token changed the session's to %q", got)
	}
}

// tokenElsewhere: a reset of the connection loses nothing, and another proxy in front of the same
// servers honours the token of this one.
func tokenElsewhere(t *testing.T, r *running) {
	var e *mysql.MySQLError
	conn := session(t, r.open(nil), "session")
	release := hold(t, r)
	exec(t, conn, "UPDATE levels.register SET v = 90 WHERE id = 1")
	token := value(t, conn, "SHOW MYSQLRW TOKEN")
	if err := conn.Raw(func(c any) error { return c.(driver.SessionResetter).ResetSession(t.Context()) }); err != nil {
		t.Fatal(err)
	}
	bare, err := loginBare(t, r.address, r.cluster.Primary().User, r.cluster.Primary().Password)
	if err != nil {
		t.Fatal(err)
	}
	defer bare.conn.Close()
	for _, text := range []string{"SET mysqlrw_consistency = 'session'", "SET mysqlrw_token = '" + token + "'"} {
		if _, err := bare.query(text); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := bare.command([]byte{byte(wire.ComResetConnection)}); err != nil {
		t.Fatal(err)
	}
	if got, err := bare.query("SHOW MYSQLRW TOKEN"); err != nil || !strings.Contains(string(bytes.Join(got, nil)), token) {
		t.Errorf("after COM_RESET_CONNECTION the token is %q, %v; want %q", got, err, token)
	}
	second := start(t, r.cluster, func() proxy.Options {
		o := options(t, r.cluster)
		o.Listeners[0].Policy.Level = route.SessionLevel
		return o
	}())
	other := session(t, second.open(nil), "session")
	exec(t, other, "SET mysqlrw_token = '"+token+"'")
	if got := value(t, other, "SELECT v FROM levels.register WHERE id = 1"); got != "90" {
		t.Errorf("another proxy gives %s for the token of a write of 90: %v", got, routeOf(t, other))
	}
	if _, err := other.ExecContext(t.Context(), "SET mysqlrw_token = '"+token+"x'"); !errors.As(err, &e) || e.Number != 1231 {
		t.Errorf("a token with a letter too many: %v", err)
	}
	release()
	online(t, r)
}

// nobodyCatchesUp: replicas that are online and do not get there. The primary reads, or nobody.
func nobodyCatchesUp(t *testing.T, r *running) {
	release := hold(t, r)
	conn := session(t, r.open(nil), "session")
	exec(t, conn, "UPDATE levels.register SET v = 5 WHERE id = 2")
	if got := value(t, conn, "SELECT v FROM levels.register WHERE id = 2"); got != "5" {
		t.Errorf("wrote 5, read %s: %v", got, routeOf(t, conn))
	}
	// MariaDB does not tell the lag of an applier that is held up, and then it is not even waited for.
	if got := routeOf(t, conn); got["server"] != "primary" ||
		!strings.Contains(got["reason"], "nothing-caught-up") && !strings.Contains(got["reason"], "no-replica") {
		t.Errorf("ran by %v", got)
	}
	strict := options(t, r.cluster)
	strict.Listeners[0].Policy.Level, strict.Listeners[0].Policy.ErrorOnTimeout = route.SessionLevel, true
	other := session(t, start(t, r.cluster, strict).open(nil), "session")
	exec(t, other, "UPDATE levels.register SET v = 6 WHERE id = 2")
	var v string
	err := other.QueryRowContext(t.Context(), "SELECT v FROM levels.register WHERE id = 2").Scan(&v)
	var e *mysql.MySQLError
	if !errors.As(err, &e) || e.Number != 1205 || e.Message != "wait replication complete timeout, please retry" {
		t.Errorf("read %q, %v", v, err)
	}
	release()
	online(t, r)
}

// lockedThere: what keeps the appliers from going on, keeps reads of the same table from ending. They do not
// wait for that, and nothing of them stays on the replicas.
func lockedThere(t *testing.T, r *running) {
	direct := sandboxtest.Open(t, r.cluster.Primary())
	exec(t, direct, "CREATE TABLE levels.report (v INT)")
	replicated(t, r.cluster)
	var ends []func() error
	for _, s := range r.cluster.Replicas() {
		tx, err := sandboxtest.Open(t, s).BeginTx(t.Context(), nil)
		if err != nil {
			t.Fatal(err)
		}
		ends = append(ends, tx.Rollback)
		value(t, tx, "SELECT COUNT(*) FROM levels.report")
	}
	conn := session(t, r.open(nil), "session")
	exec(t, conn, "ALTER TABLE levels.report ADD w INT")
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	const read = "SELECT COUNT(w) FROM levels.report"
	for range 3 {
		var n int
		if err := conn.QueryRowContext(ctx, read).Scan(&n); err != nil {
			t.Fatalf("%v: the read waits for the replica", err)
		}
	}
	if got := ranOn(t, conn); got != "primary" {
		t.Errorf("ran on %s", got)
	}
	for _, s := range r.cluster.Replicas() {
		db := sandboxtest.Open(t, s)
		for value(t, db, "SELECT COUNT(*) FROM information_schema.processlist WHERE info = ?", read) != "0" {
			if ctx.Err() != nil {
				t.Fatalf("the read is still there on %s", s.Name)
			}
		}
	}
	for _, end := range ends {
		if err := end(); err != nil {
			t.Error(err)
		}
	}
	replicated(t, r.cluster)
	online(t, r)
}

// appliersStopped: there is nothing to wait for.
func appliersStopped(t *testing.T, f flavor.Flavor, r *running) {
	for _, s := range r.cluster.Replicas() {
		if err := s.StopApplier(t.Context(), f, ""); err != nil {
			t.Fatal(err)
		}
		defer func() {
			if err := s.StartApplier(context.WithoutCancel(t.Context()), f, ""); err != nil {
				t.Error(err)
			}
		}()
	}
	conn := session(t, r.open(nil), "session")
	for n := range 50 { // the monitor may not have seen it yet
		exec(t, conn, "UPDATE levels.register SET v = "+strconv.Itoa(n)+" WHERE id = 2")
		if got := value(t, conn, "SELECT v FROM levels.register WHERE id = 2"); got != strconv.Itoa(n) {
			t.Errorf("wrote %d, read %s: %v", n, got, routeOf(t, conn))
		}
	}
	if got := ranOn(t, conn); got != "primary" {
		t.Errorf("ran on %s", got)
	}
}

// TestLevels_company: of many sessions that wait for the same on a replica, one asks it.
func TestLevels_company(t *testing.T) {
	const sessions = 16
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 1})
		sandboxtest.Exec(t, c.Primary(), "CREATE DATABASE levels", "CREATE TABLE levels.register (id INT PRIMARY KEY, v BIGINT NOT NULL)",
			"INSERT INTO levels.register VALUES (1, 0)")
		o := options(t, c)
		p := &o.Listeners[0].Policy
		p.Level, p.MaxLag, p.SessionTimeout, p.ErrorOnTimeout = route.SessionLevel, 0, time.Minute, true
		r := start(t, c, o)
		db := r.open(nil)
		writer := session(t, db, "session")
		exec(t, writer, "UPDATE levels.register SET v = 1 WHERE id = 1")
		value(t, writer, "SELECT v FROM levels.register") // its replica is known to be there
		release := hold(t, r)
		exec(t, writer, "UPDATE levels.register SET v = 2 WHERE id = 1")
		token := value(t, writer, "SHOW MYSQLRW TOKEN")
		before := counters(t, writer)
		var all sync.WaitGroup
		for range sessions {
			conn := session(t, db, "session")
			exec(t, conn, "SET mysqlrw_token = '"+token+"'")
			all.Go(func() {
				if got := value(t, conn, "SELECT v FROM levels.register"); got != "2" {
					t.Errorf("read %s: %v", got, routeOf(t, conn))
				}
				if got := ranOn(t, conn); got != "replica1" {
					t.Errorf("ran on %s", got)
				}
			})
		}
		for limit := time.Now().Add(30 * time.Second); counters(t, writer)["waits-joined"]-before["waits-joined"] < sessions-1; {
			if time.Now().After(limit) {
				t.Fatal("they do not wait together: ", counters(t, writer))
			}
		}
		release()
		all.Wait()
		if n := counters(t, writer)["waits"] - before["waits"]; n != 1 {
			t.Errorf("the replica was asked to wait %d times", n)
		}
	})
}

// session returns a session at a level.
func session(t testing.TB, db *sql.DB, level string) *sql.Conn {
	t.Helper()
	conn, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	exec(t, conn, "SET mysqlrw_consistency = '"+level+"'")
	return conn
}

// hold keeps all replicas from applying anything until release is called. They look healthy.
func hold(t testing.TB, r *running) (release func()) {
	t.Helper()
	var all []func() error
	for _, s := range r.cluster.Replicas() {
		one, err := s.HoldApplier(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	var once sync.Once
	release = func() {
		once.Do(func() {
			for _, one := range all {
				if err := one(); err != nil {
					t.Error(err)
				}
			}
		})
	}
	t.Cleanup(release)
	return release
}

// online waits until all servers can be read again.
func online(t testing.TB, r *running) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	if err := r.proxy.WaitOnline(ctx, len(r.cluster.Servers)); err != nil {
		t.Fatal(err)
	}
}
