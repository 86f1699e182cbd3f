package proxy_test

import (
	"bytes"
	"database/sql"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/pool"
	"github.com/mysqlrw/mysqlrw/pkg/proxy"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/route"
)

// TestLogPositions: MySQL without GTIDs. Every level holds by places in the primary's binary log.
func TestLogPositions(t *testing.T) {
	c := sandboxtest.Cluster(t, sandbox.Options{
		Flavor: flavor.MySQL, Replicas: 3, GTIDOff: true, Delays: []time.Duration{2 * time.Second},
		ReplicaArgs: []string{"--replica-checkpoint-period=1"},
	}) // how often an applier with workers tells where it is
	sandboxtest.Exec(t, c.Primary(), "CREATE DATABASE levels", "CREATE TABLE levels.register (id INT PRIMARY KEY, v BIGINT NOT NULL)",
		"INSERT INTO levels.register VALUES (1, 0), (2, 0)")
	v := newVerified(t, flavor.MySQL, c)
	if err := v.proxy.Promise(t.Context()); err == nil || !strings.Contains(err.Error(), "or use causal-method position") {
		t.Errorf("without GTIDs: %v", err)
	}
	v.o.Listeners[0].Policy.Method, v.o.Listeners[0].Policy.MaxLag = route.ByLogPosition, 0
	if err := v.proxy.Reload(v.o); err != nil {
		t.Fatal(err)
	}
	if err := v.proxy.Promise(t.Context()); err != nil {
		t.Fatal(err)
	}
	for _, level := range []string{"session", "global"} {
		t.Run(level, func(t *testing.T) {
			one := *v
			one.running = v.as(t)
			r := one.run(t.Context(), level, *verifyReads)
			one.holds(r, level)
			if r.ByServer["2"]+r.ByServer["3"]+r.ByServer["4"] == 0 {
				t.Errorf("no read was on a replica: %v", r.ByServer)
			}
		})
	}
	t.Run("own writes", func(t *testing.T) { ownWrites(t, v.as(t), "session") })
	t.Run("read only transaction", func(t *testing.T) { readOnlyTransactions(t, v.as(t)) })
	t.Run("token", func(t *testing.T) { logTokens(t, v.as(t)) })
	t.Run("another log", func(t *testing.T) { anotherLog(t, v.as(t)) })
	t.Run("nobody catches up", func(t *testing.T) {
		r := v.as(t)
		release := hold(t, r)
		defer release()
		conn := session(t, r.open(nil), "session")
		exec(t, conn, "UPDATE levels.register SET v = 5 WHERE id = 2")
		if got := value(t, conn, "SELECT v FROM levels.register WHERE id = 2"); got != "5" {
			t.Errorf("wrote 5, read %s: %v", got, routeOf(t, conn))
		}
		if on := ranOn(t, conn); on != "primary" {
			t.Errorf("ran on %s: %v", on, routeOf(t, conn))
		}
	})
}

// logTokens: a session's place goes to another session, and a forged one is refused.
func logTokens(t *testing.T, r *running) {
	db := r.open(nil)
	writer, reader := session(t, db, "session"), session(t, db, "session")
	exec(t, writer, "UPDATE levels.register SET v = 61 WHERE id = 1")
	token := value(t, writer, "SHOW MYSQLRW TOKEN")
	exec(t, reader, "SET mysqlrw_token = '"+token+"'")
	if got := value(t, reader, "SELECT v FROM levels.register WHERE id = 1"); got != "61" {
		t.Errorf("with %s it reads %s: %v", token, got, routeOf(t, reader))
	}
	for _, bad := range []string{
		"3e11fa47-71ca-11e1-9e33-c80aa9429562/binlog.000001:4", token + "0", "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5",
	} {
		if _, err := reader.ExecContext(t.Context(), "SET mysqlrw_token = '"+bad+"'"); err == nil {
			t.Errorf("token %s was taken", bad)
		}
	}
}

// anotherLog: the primary goes on in its next file.
func anotherLog(t *testing.T, r *running) {
	conn := session(t, r.open(nil), "session")
	for n := range 20 {
		if n%5 == 0 {
			sandboxtest.Exec(t, r.cluster.Primary(), "FLUSH BINARY LOGS")
		}
		exec(t, conn, "UPDATE levels.register SET v = "+strconv.Itoa(n)+" WHERE id = 1")
		if got := value(t, conn, "SELECT v FROM levels.register WHERE id = 1"); got != strconv.Itoa(n) {
			t.Fatalf("wrote %d, read %s: %v", n, got, routeOf(t, conn))
		}
	}
}

// TestMethods: what the methods are worth that compare no positions, with a replica that is late.
func TestMethods(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 2, Delays: []time.Duration{4 * time.Second}})
		v := newVerified(t, f, c)
		policy := &v.o.Listeners[0].Policy
		use := func(t *testing.T, m route.Method) *verified {
			policy.Method, policy.MaxLag, policy.Sleep = m, 0, 100*time.Millisecond
			if err := v.proxy.Reload(v.o); err != nil {
				t.Fatal(err)
			}
			one := *v
			one.running = v.as(t)
			if err := one.proxy.WaitOnline(t.Context(), 3); err != nil {
				t.Fatal(err)
			}
			return &one
		}
		if f == flavor.MariaDB {
			if err := use(t, route.ByLogPosition).proxy.Promise(t.Context()); err == nil || !strings.Contains(err.Error(), "use causal-method gtid") {
				t.Errorf("places in logs of MariaDB: %v", err)
			}
		}
		t.Run("primary", func(t *testing.T) {
			one := use(t, route.ByPrimary)
			r := one.run(t.Context(), "session", 500)
			one.holds(r, "session")
			if r.ByServer["1"] != int64(r.Reads) {
				t.Errorf("reads ran on %v", r.ByServer)
			}
		})
		t.Run("no delay", func(t *testing.T) {
			one := use(t, route.ByNoDelay)
			r := one.run(t.Context(), "session", 500)
			if r.ByServer["3"] == 0 || r.ByServer["2"] > 0 { // it promises no more than that
				t.Errorf("the replica with a delay was read, or that without one was not: %v", r.ByServer)
			}
		})
		t.Run("sleep", func(t *testing.T) {
			v.o.Servers[2].Weight = 0
			one := use(t, route.BySleep)
			sandboxtest.Exec(t, c.Primary(), "CREATE TABLE mysqlrw_verify.slept (v INT PRIMARY KEY)")
			if err := c.WaitReplicated(t.Context()); err != nil {
				t.Fatal(err)
			}
			conn := session(t, one.open(func(c *mysql.Config) { c.User, c.Passwd = checker, "Checker1." }), "session")
			exec(t, conn, "INSERT INTO mysqlrw_verify.slept VALUES (1)")
			began := time.Now()
			if n := value(t, conn, "SELECT COUNT(*) FROM mysqlrw_verify.slept"); n != "0" {
				t.Errorf("a sleep that is shorter than the replica is late proves nothing, and yet it counts %s: %v", n, routeOf(t, conn))
			}
			if slept := time.Since(began); slept < policy.Sleep/2 {
				t.Errorf("slept only %v", slept)
			}
			if got := routeOf(t, conn); got["reason"] != "method-sleep" || got["server"] != "replica1" {
				t.Errorf("ran by %v", got)
			}
		})
	})
}

// TestPromise_warns: whoever chooses a method that proves nothing is told so at the start.
func TestPromise_warns(t *testing.T) {
	t.Parallel()
	for method, want := range map[route.Method]string{
		route.ByGTID: "", route.ByPrimary: "", route.BySleep: "proves nothing", route.ByNoDelay: "sound only with",
	} {
		var log bytes.Buffer
		policy := route.DefaultPolicy()
		policy.Method = method
		p, err := proxy.New(proxy.Options{
			Log:       slog.New(slog.NewTextHandler(&log, nil)),
			Listeners: []proxy.Listener{{Network: "tcp", Address: "127.0.0.1:0", Policy: policy}},
			Pool:      pool.Limits{Max: 1},
			Servers:   []proxy.Server{{Name: "a", Monitor: unreachable}, {Name: "b", Monitor: unreachable}},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := p.Promise(t.Context()); err != nil {
			t.Errorf("%v: %v", method, err)
		}
		if text := log.String(); want == "" && text != "" || !strings.Contains(text, want) {
			t.Errorf("%v: logged %q, want %q", method, text, want)
		}
		p.Close()
	}
}

func unreachable() (*sql.DB, error) { return nil, errors.New("nobody is there") }

// TestGTIDsSwitchedOff: a primary that stops numbering its writes takes the reads behind them, at once.
func TestGTIDsSwitchedOff(t *testing.T) {
	s := newSite(t, flavor.MySQL, sandbox.Options{Replicas: 1}, func(o *proxy.Options) {
		o.Listeners[0].Policy.Level, o.PrimaryWait = route.SessionLevel, time.Second
	}, "CREATE TABLE t (v INT)", "INSERT INTO t VALUES (1)")
	c := conn(t, s.all)
	exec(t, c, "UPDATE t SET v = 2")
	sandboxtest.Exec(t, s.cluster.Primary(), "SET GLOBAL gtid_mode = ON_PERMISSIVE", "SET GLOBAL gtid_mode = OFF_PERMISSIVE")
	for _, level := range []string{"session", "global"} {
		exec(t, c, "SET mysqlrw_consistency = '"+level+"'", "UPDATE t SET v = v + 1")
		want := value(t, s.primary, "SELECT v FROM f.t")
		if got := value(t, c, "SELECT v FROM t"); got != want {
			t.Errorf("%s: read %s, want %s: %v", level, got, want, routeOf(t, c))
		}
		if where := ranOn(t, c); where != "primary" {
			t.Errorf("%s: the read ran on %s", level, where)
		}
	}
	if _, err := c.ExecContext(t.Context(), "SELECT /*+ mysqlrw(after='3e11fa47-71ca-11e1-9e33-c80aa9429562:57') */ 1"); err == nil {
		t.Error("a position that cannot be checked was taken")
	}
}
