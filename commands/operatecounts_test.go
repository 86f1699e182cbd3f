//go:build unix

package commands_test

import (
	"context"
	"database/sql"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/status"
)

// counted is what a server says that the account did there.
type counted struct{ selects, changes int }

// askCounts asks a server for its own counters. It is an account of its own that asks.
func askCounts(t *testing.T, f flavor.Flavor, s *sandbox.Server) (c counted) {
	t.Helper()
	query := "SELECT SELECT_COMMANDS, UPDATE_COMMANDS FROM information_schema.USER_STATISTICS WHERE USER = 'app'"
	if f == flavor.MySQL {
		query = `SELECT SUM(IF(EVENT_NAME = 'statement/sql/select', COUNT_STAR, 0)),
			SUM(IF(EVENT_NAME IN ('statement/sql/insert', 'statement/sql/update', 'statement/sql/delete'), COUNT_STAR, 0))
			FROM performance_schema.events_statements_summary_by_user_by_event_name WHERE USER = 'app'`
	}
	rows, err := status.Query(t.Context(), sandboxtest.Open(t, s), query)
	if err != nil {
		t.Fatalf("%s: %v", s.Name, err)
	}
	number := func(i int) (n int) {
		if len(rows) == 0 || rows[0][i].Value == nil {
			return 0 // the account was never there
		}
		if n, err = strconv.Atoi(*rows[0][i].Value); err != nil {
			t.Fatal(err)
		}
		return n
	}
	return counted{number(0), number(1)}
}

// TestCounts: after known traffic a scrape has what each server itself has counted, and for the reasons that are known.
func TestCounts(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		p := operate(t, sandbox.Options{Flavor: f}, "", "[policy]\nsession-timeout = \"30s\"\n")
		if f == flavor.MariaDB {
			for _, s := range p.cluster.Servers {
				sandboxtest.Exec(t, s, "SET GLOBAL userstat = ON")
			}
		}
		conn, err := p.db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		traffic(t, conn, 3) // connections and preparations are there after that
		// A client has its answer a moment before that is counted. The last statement of the traffic is an error.
		after := func(errors int) metrics {
			deadline := time.Now().Add(10 * time.Second)
			for {
				m := p.metrics()
				if int(m.sum("mysqlrw_statement_errors_total")) >= errors || time.Now().After(deadline) {
					return m
				}
			}
		}
		before, was := after(3), map[string]counted{}
		for _, s := range p.cluster.Servers {
			was[s.Name] = askCounts(t, f, s)
		}
		const rounds = 40
		traffic(t, conn, rounds)
		m := after(3 + rounds)
		since := func(name string, labels ...string) int {
			return int(m.sum(name, labels...) - before.sum(name, labels...))
		}
		for _, s := range p.cluster.Servers {
			server := `server="` + s.Name + `"`
			is := askCounts(t, f, s)
			got := counted{is.selects - was[s.Name].selects, is.changes - was[s.Name].changes}
			// A transaction has a change, a read and a COMMIT here; its BEGIN is the proxy's.
			transactions := since("mysqlrw_statements_total", server, `reason="in-transaction"`) / 3
			changes := since("mysqlrw_statements_total", server, `reason="writes"`) + transactions
			selects := since("mysqlrw_statements_total", server) - changes - transactions +
				since("mysqlrw_own_statements_total", server, `kind="wait"`) + since("mysqlrw_own_statements_total", server, `kind="position"`) + since("mysqlrw_repeated_statements_total", server)
			if want := (counted{selects, changes}); got != want {
				t.Errorf("%s: the server has counted %+v, the proxy %+v", s.Name, got, want)
			}
			t.Logf("%s: %+v, waits %d", s.Name, got, since("mysqlrw_own_statements_total", server, `kind="wait"`))
		}
		for what, want := range map[string][2]int{
			"reads":              {since("mysqlrw_statements_total", `level="session"`), 3 * rounds},
			"reads on replicas":  {since("mysqlrw_statements_total", `level="session"`, `role="replica"`), 3 * rounds},
			"writes":             {since("mysqlrw_statements_total", `reason="writes"`, `server="primary"`), rounds},
			"hints":              {since("mysqlrw_statements_total", `reason="hint-primary"`, `server="primary"`), rounds},
			"transactions":       {since("mysqlrw_statements_total", `reason="in-transaction"`, `server="primary"`), 3 * rounds},
			"locking reads":      {since("mysqlrw_statements_total", `reason="locks-rows"`, `server="primary"`), rounds},
			"not there":          {since("mysqlrw_statements_total", `reason="nothing-caught-up"`, `server="primary"`), rounds},
			"repeated":           {since("mysqlrw_repeated_statements_total"), rounds},
			"errors":             {since("mysqlrw_statement_errors_total"), rounds},
			"waits late":         {since("mysqlrw_waits_total", `result="late"`), 0},
			"fall-backs":         {since("mysqlrw_fall_backs_total"), 0},
			"the endpoint's own": {since("mysqlrw_statements_total", `endpoint="`+p.address+`"`), since("mysqlrw_statements_total")},
		} {
			if want[0] != want[1] {
				t.Errorf("%s: %d, want %d", what, want[0], want[1])
			}
		}
		if t.Failed() {
			t.Log(p.must("route"))
		}
	})
}

// traffic is one session's, whose every statement is known.
func traffic(t *testing.T, conn *sql.Conn, rounds int) {
	t.Helper()
	ctx := t.Context()
	exec := func(q string) {
		t.Helper()
		if _, err := conn.ExecContext(ctx, q); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	read := func(q string) {
		t.Helper()
		var price int
		if err := conn.QueryRowContext(ctx, q).Scan(&price); err != nil {
			t.Fatalf("%s: %v", q, err)
		}
	}
	for range rounds {
		read("SELECT price FROM item WHERE id = 1")
		exec("UPDATE item SET price = price + 1 WHERE id = 1")
		read("SELECT price FROM item WHERE id = 2")
		read("SELECT /*+ MAX_EXECUTION_TIME(60000) */ price FROM item WHERE id = 3")
		read("/*FORCE_MASTER*/ SELECT price FROM item WHERE id = 1")
		read("SELECT price FROM item WHERE id = 1 FOR UPDATE")
		exec("BEGIN")
		exec("UPDATE item SET price = price - 1 WHERE id = 1")
		read("SELECT price FROM item WHERE id = 1")
		exec("COMMIT")
		var price int
		if err := conn.QueryRowContext(ctx, "SELECT price FROM no_such_table").Scan(&price); err == nil {
			t.Fatal("there is a table that should not be there")
		}
	}
}

// TestQueue: with max-concurrent-queries 8, 64 clients of slow queries keep no more than 8 of them running, all of
// the time.
func TestQueue(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		const (
			limit   = 8
			clients = 64
			each    = 8
		)
		p := operate(t, sandbox.Options{Flavor: f, Replicas: 1}, fmt.Sprintf("max-concurrent-queries = %d\n", limit), "[limits]\nqueue-timeout = \"1m\"\n")
		watch := sandboxtest.Open(t, p.cluster.Primary())
		conn, err := watch.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		running := func() int {
			row, err := status.QueryRow(t.Context(), conn, "SHOW GLOBAL STATUS LIKE 'Threads_running'")
			if err != nil {
				t.Fatal(err)
			}
			n, _ := strconv.Atoi(*row[1].Value)
			return n
		}
		ofClients := func() (n int) {
			row, err := status.QueryRow(t.Context(), conn, "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE USER = 'app' AND COMMAND <> 'Sleep'")
			if err != nil {
				t.Fatal(err)
			}
			n, _ = strconv.Atoi(*row[0].Value)
			return n
		}
		idle := running()
		db := p.open()
		db.SetMaxIdleConns(clients)
		ctx, done := context.WithCancel(t.Context())
		var all sync.WaitGroup
		began := time.Now()
		for i := range clients {
			all.Go(func() {
				for range each {
					var zero int
					if err := db.QueryRowContext(ctx, "/*FORCE_MASTER*/ SELECT SLEEP(0.05)").Scan(&zero); err != nil {
						t.Errorf("client %d: %v", i, err)
					}
				}
			})
		}
		go func() {
			all.Wait()
			done()
		}()
		most, mostOfClients, queued := 0, 0, 0.0
		for ctx.Err() == nil {
			most, mostOfClients = max(most, running()), max(mostOfClients, ofClients())
			queued = max(queued, p.metrics().sum("mysqlrw_server_queued_statements", `server="primary"`))
		}
		all.Wait()
		took := time.Since(began)
		// Threads_running has logins, dump threads and the monitor in it too, and is for the reader: without the
		// limit it would be over clients.
		if mostOfClients > limit || most-idle > clients/2 {
			t.Errorf("%d statements of clients at a time, Threads_running %d (idle %d)", mostOfClients, most, idle)
		}
		if mostOfClients < limit/2 || queued < clients/2 {
			t.Errorf("only %d at a time, %v waited", mostOfClients, queued)
		}
		t.Logf("%d statements of 50 ms in %v: %.0f a second of at most %d; %d at a time, Threads_running up to %d (%d when idle), up to %v waited",
			clients*each, took, clients*each/took.Seconds(), limit*20, mostOfClients, most, idle, queued)
	})
}

var reloads = flag.Int("operate.reloads", 9, "how often TestReloads reads the file again")

// TestReloads: under load the file is changed again and again, and is wrong every third time.
func TestReloads(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		p := operate(t, sandbox.Options{Flavor: f}, "", "")
		c := p.busy(16)
		good, err := os.ReadFile(p.file)
		if err != nil {
			t.Fatal(err)
		}
		write := func(text string) {
			if err := os.WriteFile(p.file, []byte(text), 0o600); err != nil {
				t.Fatal(err)
			}
		}
		lines := strings.Count(string(good), "\n")
		inForce := "10ms"
		began := time.Now()
		for n := range *reloads {
			switch n % 6 {
			case 1:
				write(string(good) + "[policy]\nsession-timeout = \"fast\"\n")
			case 4:
				write(string(good) + "[policy]\nno-such-key = 1\n")
			case 5: // without a server
				at := strings.LastIndex(string(good), "[[server]]")
				write(string(good[:at]) + string(good[strings.Index(string(good), "[monitor]"):]) + fmt.Sprintf("[policy]\nsession-timeout = \"%dms\"\n", 20+n))
				inForce = fmt.Sprintf("%dms", 20+n)
			default:
				write(string(good) + fmt.Sprintf("[policy]\nsession-timeout = \"%dms\"\nmax-lag = \"%ds\"\n", 20+n, 10+n))
				inForce = fmt.Sprintf("%dms", 20+n)
			}
			out, code := p.ctl("reload")
			switch {
			case n%6 == 1 || n%6 == 4:
				if place := fmt.Sprintf("serve.toml:%d:", lines+2); code != 2 || !strings.Contains(out, place) {
					t.Errorf("reload %d: %d, want the place %s: %s", n, code, place, out)
				}
			case code != 0:
				t.Errorf("reload %d: %d: %s", n, code, out)
			}
			if n%10 == 0 || n%6 == 1 {
				if out := p.must("config", "--changed", "-o", "plain"); !strings.Contains(out, "policy.session-timeout\t"+inForce+"\t") && inForce != "10ms" {
					t.Errorf("reload %d: want session-timeout %s in force: %s", n, inForce, out)
				}
			}
		}
		c.end()
		t.Logf("%d reloads in %v, %d statements", *reloads, time.Since(began), c.statements.Load())
	})
}

// TestApplyNow: sessions that are there keep their level, unless an operator says that they do not.
func TestApplyNow(t *testing.T) {
	p := operate(t, sandbox.Options{Flavor: flavor.MySQL, Replicas: 1}, "", "")
	conn, err := p.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	level := func(c *sql.Conn) string {
		t.Helper()
		var n int
		if err := c.QueryRowContext(t.Context(), "SELECT price FROM item WHERE id = 1").Scan(&n); err != nil {
			t.Fatal(err)
		}
		rows, err := status.Query(t.Context(), c, "SHOW MYSQLRW ROUTE")
		if err != nil {
			t.Fatal(err)
		}
		return *rows[0][3].Value
	}
	fresh := func() string {
		t.Helper()
		c, err := p.open().Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		return level(c)
	}
	if got := level(conn); got != "session" {
		t.Fatal(got)
	}
	p.must("set", "policy.consistency=global")
	if old, now := level(conn), fresh(); old != "session" || now != "global" {
		t.Errorf("the old session is at %s, a new one at %s", old, now)
	}
	p.must("set", "--apply-now", "policy.consistency=eventual")
	if old, now := level(conn), fresh(); old != "eventual" || now != "eventual" {
		t.Errorf("the old session is at %s, a new one at %s", old, now)
	}
	p.must("unset", "policy.consistency")
	if old, now := level(conn), fresh(); old != "eventual" || now != "session" {
		t.Errorf("the old session is at %s, a new one at %s", old, now)
	}
	if out, code := p.ctl("unset", "policy.consistency"); code != 2 || !strings.Contains(out, "nobody has set it") {
		t.Errorf("%d: %s", code, out)
	}
}
