package proxy_test

import (
	"bytes"
	"context"
	"database/sql"
	"fmt"
	"net"
	"os"
	osexec "os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// killLimit is far more than an end of a query takes, and far less than the query.
const killLimit = 15 * time.Second

// TestKill: what nobody waits for any more does not run, and KILL ends what it names.
func TestKill(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 1})
		r := start(t, c, options(t, c))
		secret := c.Primary().Password
		sandboxtest.Exec(t, c.Primary(), "CREATE DATABASE kills", "CREATE TABLE kills.t (id INT)", "CREATE TABLE kills.place (id INT)",
			"INSERT INTO kills.place VALUES (1)", "CREATE USER one@'%' IDENTIFIED BY '"+secret+"'", "GRANT ALL ON kills.* TO one@'%'",
			"CREATE USER two@'%' IDENTIFIED BY '"+secret+"'", "GRANT ALL ON kills.* TO two@'%'")
		if err := c.WaitReplicated(t.Context()); err != nil {
			t.Fatal(err)
		}
		k := &kills{r: r, watch: map[string]*sql.DB{}}
		for _, s := range c.Servers {
			k.watch[s.Name] = sandboxtest.Open(t, s)
		}
		t.Run("client gone", k.clientGone)
		t.Run("query", k.query)
		t.Run("connection", k.connection)
		t.Run("command", k.command)
		t.Run("rights", k.rights)
		t.Run("numbers", k.numbers)
		t.Run("shell", k.shell)
	})
}

type kills struct {
	r     *running
	watch map[string]*sql.DB
}

// on returns the servers that run a query with the mark in it.
func (k *kills) on(t *testing.T, mark string) (names []string) {
	t.Helper()
	for name, db := range k.watch {
		if n := value(t, db, "SELECT COUNT(*) FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND info LIKE CONCAT('%SLEEP%', ?, '%')", mark); n != "0" {
			names = append(names, name)
		}
	}
	return names
}

func (k *kills) runs(t *testing.T, mark string) {
	t.Helper()
	sandboxtest.Await(t, mark+" runs", func() bool { return len(k.on(t, mark)) == 1 })
}

// gone expects a query to end soon.
func (k *kills) gone(t *testing.T, mark string) {
	t.Helper()
	began := time.Now()
	sandboxtest.Await(t, mark+" has ended", func() bool { return len(k.on(t, mark)) == 0 })
	took := time.Since(began)
	t.Logf("%s ended after %v", mark, took.Round(time.Millisecond))
	if took > killLimit {
		t.Errorf("%s ended after %v", mark, took)
	}
}

// session returns a connection of an account, and its number.
func (k *kills) session(t *testing.T, user string, change func(*mysql.Config)) (*sql.Conn, string) {
	t.Helper()
	conn, err := k.r.as(t).open(func(c *mysql.Config) {
		c.User, c.InterpolateParams = user, true
		if change != nil {
			change(c)
		}
	}).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return conn, value(t, conn, "SELECT CONNECTION_ID()")
}

// sleep begins a long query, whose end comes by the channel.
func (k *kills) sleep(t *testing.T, conn *sql.Conn, query, mark string) chan error {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		var v sql.NullString
		done <- conn.QueryRowContext(context.Background(), marked(query, mark), "x").Scan(&v)
	}()
	k.runs(t, mark)
	return done
}

// marked makes a query one that can be found in a process list: MariaDB does not show the values of
// parameters there.
func marked(query, mark string) string { return strings.Replace(query, "MARK", mark, 1) }

const (
	sleepOnReplica = "SELECT SLEEP(60) FROM kills.place WHERE 'MARK' <> ?"
	sleepOnPrimary = "SELECT SLEEP(60) FROM kills.place WHERE 'MARK' <> ? FOR UPDATE"
)

// clientGone: the driver closes the socket when its context ends.
func (k *kills) clientGone(t *testing.T) {
	for name, change := range map[string]func(*mysql.Config){
		"plain":      func(c *mysql.Config) { c.TLSConfig = "" },
		"tls":        nil,
		"prepared":   func(c *mysql.Config) { c.TLSConfig, c.InterpolateParams = "", false },
		"tlsPrep":    func(c *mysql.Config) { c.InterpolateParams = false },
		"compressed": func(c *mysql.Config) { _ = c.Apply(mysql.EnableCompression(true)) },
	} {
		for where, query := range map[string]string{"replica": sleepOnReplica, "primary": sleepOnPrimary} {
			mark := name + "-" + where
			conn, _ := k.session(t, "root", change)
			ctx, cancel := context.WithCancel(t.Context())
			done := make(chan error, 1)
			go func() {
				var v sql.NullString
				done <- conn.QueryRowContext(ctx, marked(query, mark), "x").Scan(&v)
			}()
			k.runs(t, mark)
			if on := k.on(t, mark); len(on) != 1 || strings.HasPrefix(on[0], "replica") != (where == "replica") {
				t.Errorf("%s runs on %v", mark, on)
			}
			cancel()
			if err := <-done; err == nil {
				t.Errorf("%s: no error", mark)
			}
			k.gone(t, mark)
		}
	}
	sandboxtest.Await(t, "no session is left but none", func() bool { return k.r.proxy.Sessions() == 0 })
}

// query: the statement ends, and nothing else of the session does.
func (k *kills) query(t *testing.T) {
	killer, _ := k.session(t, "root", nil)
	conn, id := k.session(t, "root", nil)
	exec(t, conn, "SET @keep = 5", "CREATE TEMPORARY TABLE kills.mine (id INT)", "BEGIN", "INSERT INTO kills.t VALUES (1)")
	for i, how := range []string{"KILL QUERY %s", "kill query %s;", "KILL /* comment */ QUERY %s"} {
		mark := fmt.Sprintf("query-%d", i)
		done := k.sleep(t, conn, "SELECT SLEEP(60) FROM kills.t WHERE 'MARK' <> ?", mark)
		exec(t, killer, fmt.Sprintf(how, id))
		if err := <-done; err != nil && number(err) != 1317 {
			t.Errorf("the killed query: %v", err)
		}
		k.gone(t, mark)
	}
	exec(t, conn, "COMMIT")
	if v := value(t, conn, "SELECT COUNT(*) FROM kills.t"); v != "1" {
		t.Errorf("%s rows after COMMIT", v)
	}
	if v := value(t, conn, "SELECT @keep + COUNT(*) FROM kills.mine"); v != "5" {
		t.Errorf("what the session had is %s", v)
	}
	if v := value(t, conn, "SELECT CONNECTION_ID()"); v != id {
		t.Errorf("the session's number is %s now, was %s", v, id)
	}
	exec(t, killer, "KILL QUERY "+id) // it runs none, and that harms nothing
	if v := value(t, conn, "SELECT 1"); v != "1" {
		t.Errorf("got %s", v)
	}
}

// connection: the session ends, whether it runs something or not.
func (k *kills) connection(t *testing.T) {
	killer, _ := k.session(t, "one", nil)
	for i, how := range []string{"KILL %s", "KILL CONNECTION %s"} {
		conn, id := k.session(t, "one", nil)
		mark := fmt.Sprintf("connection-%d", i)
		done := k.sleep(t, conn, sleepOnReplica, mark)
		exec(t, killer, fmt.Sprintf(how, id))
		if err := <-done; err == nil {
			t.Error("the killed session got a row")
		}
		k.gone(t, mark)
		ended(t, conn)
		conn, id = k.session(t, "one", nil)
		exec(t, killer, fmt.Sprintf(how, id))
		ended(t, conn)
	}
	conn, id := k.session(t, "one", nil)
	if _, err := conn.ExecContext(t.Context(), "KILL "+id); err == nil {
		t.Error("a session that kills itself got an OK")
	}
	ended(t, conn)
}

// command is the same by the old command, which clients use for the key of the shell.
func (k *kills) command(t *testing.T) {
	s := k.r.cluster.Primary()
	conn, id := k.session(t, "root", nil)
	done := k.sleep(t, conn, sleepOnPrimary, "command")
	c, err := loginBare(t, k.r.address, s.User, s.Password)
	if err != nil {
		t.Fatal(err)
	}
	var n uint32
	_, _ = fmt.Sscan(id, &n)
	m := wire.ProcessKill{ConnectionID: n}
	if _, err := c.command(m.Append(nil)); err != nil {
		t.Errorf("COM_PROCESS_KILL: %v", err)
	}
	if err := <-done; err == nil {
		t.Error("the killed session got a row")
	}
	k.gone(t, "command")
	ended(t, conn)
}

// rights: an account may kill its own sessions, unless it may kill all.
func (k *kills) rights(t *testing.T) {
	victim, id := k.session(t, "one", nil)
	other, _ := k.session(t, "two", nil)
	for _, what := range []string{"KILL QUERY ", "KILL "} {
		if _, err := other.ExecContext(t.Context(), what+id); number(err) != 1095 {
			t.Errorf("%s of another account's idle session: %v", what, err)
		}
	}
	done := k.sleep(t, victim, sleepOnReplica, "rights")
	for _, what := range []string{"KILL QUERY ", "KILL "} {
		if _, err := other.ExecContext(t.Context(), what+id); number(err) != 1095 || !strings.Contains(err.Error(), id) {
			t.Errorf("%s of another account's query: %v", what, err)
		}
	}
	k.runs(t, "rights")
	admin, _ := k.session(t, "root", nil)
	exec(t, admin, "KILL QUERY "+id)
	if err := <-done; err != nil && number(err) != 1317 {
		t.Errorf("the killed query: %v", err)
	}
	value(t, victim, "SELECT 1")
	exec(t, admin, "KILL "+id)
	ended(t, victim)
}

// numbers: those of servers mean the server's connections, and nobody's are an error.
func (k *kills) numbers(t *testing.T) {
	admin, id := k.session(t, "root", nil)
	direct, err := sandboxtest.Open(t, k.r.cluster.Primary()).Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	theirs := value(t, direct, "SELECT CONNECTION_ID()")
	exec(t, admin, "KILL "+theirs)
	ended(t, direct)
	var n uint32
	_, _ = fmt.Sscan(id, &n)
	for _, unknown := range []uint32{n + 1000, 999_999} {
		if _, err := admin.ExecContext(t.Context(), fmt.Sprintf("KILL %d", unknown)); number(err) != 1094 {
			t.Errorf("KILL of nobody's number: %v", err)
		}
	}
}

// shell: an interrupt in the command line client kills the query, and the client goes on.
func (k *kills) shell(t *testing.T) {
	s := k.r.cluster.Primary()
	host, port, _ := net.SplitHostPort(k.r.address)
	args := []string{
		"--no-defaults", "--batch", "--force", "--skip-column-names", "--protocol=tcp", "--unbuffered", "-h" + host, "-P" + port, "-u" + s.User,
	}
	// MariaDB's client finds its plugins where its package would have put them.
	if dirs, _ := filepath.Glob(filepath.Join(sandboxtest.CacheDir(t), "mariadb/usr/lib/*/libmariadb3/plugin")); len(dirs) > 0 &&
		k.r.cluster.Flavor == flavor.MariaDB {
		args = append(args, "--plugin-dir="+dirs[0])
	}
	argv, err := k.r.cluster.Installation().Argv("mysql", args...)
	if err != nil {
		t.Fatal(err)
	}
	for i, query := range []string{sleepOnReplica, sleepOnPrimary} {
		mark := fmt.Sprintf("shell-%d", i)
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		defer cancel()
		cmd := osexec.CommandContext(ctx, argv[0], argv[1:]...)
		cmd.Env = append(os.Environ(), "MYSQL_PWD="+s.Password)
		cmd.Stdin = strings.NewReader("SET @mine = 'mine';\nSELECT 'id', @mine;\n" + strings.Replace(marked(query, mark), "?", "'x'", 1) +
			";\nSELECT 'id', @mine;\n")
		var out bytes.Buffer
		cmd.Stdout, cmd.Stderr = &out, &out
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		k.runs(t, mark)
		_ = cmd.Process.Signal(os.Interrupt)
		k.gone(t, mark)
		_ = cmd.Wait()
		var ids []string
		for line := range strings.Lines(out.String()) {
			if id, ok := strings.CutPrefix(line, "id\t"); ok {
				ids = append(ids, id)
			}
		}
		if len(ids) != 2 || ids[0] != ids[1] {
			t.Errorf("the client did not go on:\n%s", &out)
		}
	}
}
