//go:build unix

package commands_test

import (
	"bytes"
	"context"
	"database/sql"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
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
	"github.com/mysqlrw/mysqlrw/pkg/status"
)

const (
	operatedUser     = "app"
	operatedPassword = "app-secret-xyzzy"
)

// operated is a proxy that is run as an operator runs it: by a file, with its address for ctl.
type operated struct {
	*served
	t       *testing.T
	cluster *sandbox.Cluster
	file    string
	db      *sql.DB
}

// configOf is the file of a proxy for a cluster; more stands at its end, and each server has extra.
func configOf(c *sandbox.Cluster, extra, more string) string {
	var b strings.Builder
	b.WriteString("[[listener]]\naddress = \"127.0.0.1:0\"\n")
	for _, s := range c.Servers {
		fmt.Fprintf(&b, "[[server]]\nname = %q\naddress = %q\n%s", s.Name, s.Address(), extra)
	}
	fmt.Fprintf(&b, "[monitor]\nuser = %q\npassword-env = \"MONITOR\"\ninterval = \"200ms\"\n[admin]\naddress = \"127.0.0.1:0\"\ntoken-env = \"TOKEN\"\n%s",
		c.Primary().User, more)
	return b.String()
}

// operate starts a proxy for a new cluster with a table and an account, and returns when it reads everywhere.
func operate(t *testing.T, o sandbox.Options, extra, more string) *operated {
	t.Helper()
	c := sandboxtest.Cluster(t, o)
	sandboxtest.Exec(t, c.Primary(), "CREATE DATABASE shop", "CREATE TABLE shop.item (id INT PRIMARY KEY, price INT NOT NULL)",
		"INSERT INTO shop.item VALUES (1, 1), (2, 2), (3, 3)", "CREATE USER app@'%' IDENTIFIED BY '"+operatedPassword+"'", "GRANT ALL ON shop.* TO app@'%'")
	file := filepath.Join(t.TempDir(), "serve.toml")
	if err := os.WriteFile(file, []byte(configOf(c, extra, more)), 0o600); err != nil {
		t.Fatal(err)
	}
	p := &operated{t: t, cluster: c, file: file}
	p.served = startServe(t, []string{"MONITOR=" + c.Primary().Password, "TOKEN=" + stageToken}, "--config", file)
	p.db = p.open()
	allOnline(t, p.db, len(c.Servers))
	return p
}

func (p *operated) open() *sql.DB {
	p.t.Helper()
	c := mysql.NewConfig()
	c.Net, c.Addr, c.User, c.Passwd, c.DBName, c.InterpolateParams = "tcp", p.address, operatedUser, operatedPassword, "shop", true
	c.Logger = &mysql.NopLogger{}
	made, err := mysql.NewConnector(c)
	if err != nil {
		p.t.Fatal(err)
	}
	db := sql.OpenDB(made)
	p.t.Cleanup(func() { _ = db.Close() })
	return db
}

// ctl runs ctl and returns what it prints.
func (p *operated) ctl(args ...string) (out string, code int) {
	p.t.Helper()
	ctx, cancel := context.WithTimeout(p.t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, "mysqlrw", append([]string{"ctl"}, args...)...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "MYSQLRW_ADMIN=" + p.admin, "MYSQLRW_ADMIN_TOKEN=" + stageToken, raceOptions + "=" + noSleep}
	var both bytes.Buffer
	cmd.Stdout, cmd.Stderr = &both, &both
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		p.t.Fatal(err)
	}
	return both.String(), cmd.ProcessState.ExitCode()
}

// must is ctl that has to be done.
func (p *operated) must(args ...string) string {
	p.t.Helper()
	out, code := p.ctl(args...)
	if code != 0 {
		p.t.Fatalf("ctl %s: %d: %s", strings.Join(args, " "), code, out)
	}
	return out
}

// fetch returns the body of a page of the admin address.
func (p *operated) fetch(path string) string {
	p.t.Helper()
	answer, err := http.Get(p.admin + path)
	if err != nil {
		p.t.Fatal(err)
	}
	defer answer.Body.Close()
	text, err := io.ReadAll(answer.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(text)
}

// metrics are one scrape: by name with labels.
type metrics map[string]float64

func (p *operated) metrics() metrics {
	p.t.Helper()
	all := metrics{}
	for line := range strings.Lines(p.fetch("/metrics")) {
		name, value, ok := strings.Cut(strings.TrimSpace(line), " ")
		if at := strings.LastIndex(line, "} "); at > 0 {
			name, value, ok = line[:at+1], strings.TrimSpace(line[at+2:]), true
		}
		v, err := strconv.ParseFloat(value, 64)
		if !strings.HasPrefix(line, "#") && ok && err == nil {
			all[name] = v
		}
	}
	return all
}

// sum adds up the metrics of a name that have all of these labels.
func (m metrics) sum(name string, labels ...string) (n float64) {
	for key, v := range m {
		got, rest, _ := strings.Cut(key, "{")
		all := got == name
		for _, l := range labels {
			all = all && strings.Contains("{"+rest, l)
		}
		if all {
			n += v
		}
	}
	return n
}

// crowd are clients that read and write until they are told to stop. None of them may see an error.
type crowd struct {
	stop       atomic.Bool
	all        sync.WaitGroup
	statements atomic.Int64
}

// busy starts clients, each with a connection of its own: mostly reads, and writes and transactions.
func (p *operated) busy(clients int) *crowd {
	c := &crowd{}
	db := p.open()
	db.SetMaxIdleConns(clients)
	for i := range clients {
		c.all.Go(func() {
			for n := 0; !c.stop.Load(); n++ {
				if err := step(p.t.Context(), db, i, n); err != nil {
					p.t.Errorf("client %d: %v", i, err)
					return
				}
				c.statements.Add(1)
			}
		})
	}
	p.t.Cleanup(c.end)
	return c
}

func (c *crowd) end() {
	c.stop.Store(true)
	c.all.Wait()
}

func step(ctx context.Context, db *sql.DB, client, n int) error {
	switch {
	case n%10 == 3:
		_, err := db.ExecContext(ctx, "UPDATE item SET price = price + 1 WHERE id = ?", client%3+1)
		return err
	case n%25 == 7:
		tx, err := db.BeginTx(ctx, nil)
		if err != nil {
			return err
		}
		var price int
		if err := tx.QueryRowContext(ctx, "SELECT price FROM item WHERE id = 1").Scan(&price); err != nil {
			return errors.Join(err, tx.Rollback())
		}
		return tx.Commit()
	}
	var price int
	return db.QueryRowContext(ctx, "SELECT price FROM item WHERE id = ?", n%3+1).Scan(&price)
}

// until waits for something that comes by itself.
func until(t *testing.T, what string, is func() bool) {
	t.Helper()
	for limit := time.Now().Add(time.Minute); !is(); time.Sleep(20 * time.Millisecond) {
		if time.Now().After(limit) {
			t.Fatalf("%s: not within a minute", what)
		}
	}
}

// TestDrain: a replica is drained under 64 clients, stopped, started and brought back, and no client sees it.
func TestDrain(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		p := operate(t, sandbox.Options{Flavor: f}, "", "[timeouts]\nslow-start = \"5s\"\n")
		replica := p.cluster.Replica(2)
		c := p.busy(64)
		reads := func() float64 { return p.metrics().sum("mysqlrw_statements_total", `server="replica2"`) }
		until(t, "reads on the replica", func() bool { return reads() > 100 })

		out := p.must("drain", "--timeout", "50s", "replica2")
		if !strings.Contains(out, "replica2 is drained") {
			t.Error(out)
		}
		m := p.metrics()
		if n := m.sum("mysqlrw_server_active_statements", `server="replica2"`); n != 0 {
			t.Errorf("%v statements run on it", n)
		}
		until(t, "no connection to the replica", func() bool {
			return p.metrics().sum("mysqlrw_server_connections", `server="replica2"`) == 0
		})
		before := reads()
		if err := replica.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		n := c.statements.Load()
		until(t, "work goes on", func() bool { return c.statements.Load() > n+1000 })
		if now := reads(); now != before {
			t.Errorf("%v statements ran on a server that is drained", now-before)
		}
		if err := replica.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		until(t, "the replica is online", func() bool {
			return p.metrics().sum("mysqlrw_server_state", `server="replica2"`, `state="online"`) == 1
		})
		if now := reads(); now != before {
			t.Errorf("%v statements ran on a server that nobody has brought back", now-before)
		}
		p.must("resume", "replica2")
		least := 100.0
		until(t, "its whole share", func() bool {
			w := p.metrics().sum("mysqlrw_server_weight", `server="replica2"`)
			least = min(least, w)
			return w == 100
		})
		if least > 50 {
			t.Errorf("it came back with weight %v", least)
		}
		until(t, "reads on the replica again", func() bool { return reads() > before+100 })
		c.end()
		t.Logf("%d statements", c.statements.Load())
	})
}

// TestDrain_busy: what still needs a server is told, and killed only when that is asked for.
func TestDrain_busy(t *testing.T) {
	p := operate(t, sandbox.Options{Flavor: flavor.MySQL, Replicas: 1}, "", "")
	conn, err := p.db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	for _, q := range []string{"SET mysqlrw_consistency = 'eventual'", "START TRANSACTION READ ONLY"} {
		if _, err := conn.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	var price int
	if err := conn.QueryRowContext(t.Context(), "SELECT price FROM item WHERE id = 1").Scan(&price); err != nil {
		t.Fatal(err)
	}
	out, code := p.ctl("drain", "--timeout", "300ms", "replica1")
	if code != 1 || !strings.Contains(out, "1 sessions still need it") || !strings.Contains(out, operatedUser) {
		t.Errorf("%d: %s", code, out)
	}
	if err := conn.QueryRowContext(t.Context(), "SELECT price FROM item WHERE id = 2").Scan(&price); err != nil {
		t.Errorf("the transaction did not go on: %v", err)
	}
	out = p.must("drain", "--kill-after", "300ms", "replica1")
	if !strings.Contains(out, "kills session") || !strings.Contains(out, "a transaction") || !strings.Contains(out, "is drained") {
		t.Error(out)
	}
	if err := conn.QueryRowContext(t.Context(), "SELECT price FROM item WHERE id = 2").Scan(&price); err == nil {
		t.Error("the client was not killed")
	}
	if _, err := status.Query(t.Context(), p.db, "SELECT 1"); err != nil {
		t.Errorf("another client: %v", err)
	}
}
