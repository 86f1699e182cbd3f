//go:build unix

package commands_test

import (
	"context"
	"database/sql"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

// TestSecrets: no password, token or statement of a client is in anything that a proxy writes or answers, whatever goes
// wrong.
func TestSecrets(t *testing.T) {
	const (
		monitor  = "monitor-xyzzy-1"
		user     = "user-xyzzy-2"
		access   = "token-xyzzy-3-0123456789"
		typed    = "typed-xyzzy-4"
		inText   = "text-xyzzy-5"
		misplace = "misplaced-xyzzy-6"
	)
	c := sandboxtest.Cluster(t, sandbox.Options{Flavor: flavor.MySQL, Replicas: 1})
	sandboxtest.Exec(t, c.Primary(), "CREATE DATABASE shop", "CREATE TABLE shop.item (id INT PRIMARY KEY)",
		"CREATE USER app@'%' IDENTIFIED BY '"+user+"'", "GRANT ALL ON *.* TO app@'%'",
		"CREATE USER watch@'%' IDENTIFIED BY '"+monitor+"'", "GRANT ALL ON *.* TO watch@'%'")
	dir := t.TempDir()
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	write("watch", monitor+"\n")
	write("token", access+"\n")
	text := strings.NewReplacer("password-env = \"MONITOR\"", "password-file = \"watch\"", "token-env = \"TOKEN\"", "token-file = \"token\"",
		"user = \"root\"", "user = \"watch\"").Replace(configOf(c, "", "")) +
		"[log]\nlevel = \"debug\"\nslow-query = \"1ns\"\n[[user]]\nname = \"app\"\npassword = \"" + user + "\"\n"
	file := write("serve.toml", text)
	p := &operated{t: t, cluster: c, file: file, served: startServe(t, nil, "--config", file)}
	open := func(password string) *sql.DB {
		conf := mysql.NewConfig()
		conf.Net, conf.Addr, conf.User, conf.Passwd, conf.DBName, conf.Logger = "tcp", p.address, "app", password, "shop", &mysql.NopLogger{}
		made, err := mysql.NewConnector(conf)
		if err != nil {
			t.Fatal(err)
		}
		db := sql.OpenDB(made)
		t.Cleanup(func() { _ = db.Close() })
		return db
	}
	db := open(user)
	allOnline(t, db, len(c.Servers))
	var said strings.Builder // errors that a client sees
	for _, q := range []string{
		"CREATE USER u1 IDENTIFIED BY '" + inText + "'", "SET PASSWORD FOR u1 = '" + inText + "'", "SELECT '" + inText + "' FROM no_such_table",
		"SHOW MYSQLRW SESSION", "SELECT /*+ SET_VAR(x=1) */ '" + inText + "'",
	} {
		if _, err := db.ExecContext(t.Context(), q); err != nil {
			said.WriteString(strings.ReplaceAll(err.Error(), q, "") + "\n")
		}
	}
	if err := open(typed).PingContext(t.Context()); err == nil {
		t.Error("a wrong password is taken")
	}
	p.everything(t, &said, typed, access)

	// The file goes wrong, with a password in every place where there should be none.
	for _, bad := range []string{
		"[policy]\nconsistency = \"" + misplace + "\"\n", "password-file = \"" + misplace + "\"\n", "[[user]]\nname = \"x\"\npassword = " + misplace + "\n",
		"[[user]]\nname = \"x\"\npassword-env = \"" + misplace + "\"\n", "[admin2]\ntoken-file = \"" + misplace + "\"\n",
	} {
		write("serve.toml", text+bad)
		if strings.HasPrefix(bad, "[policy]") {
			continue // a word that is none is repeated: nobody writes a password there
		}
		before := strings.Count(p.log(), "not reloaded")
		if err := p.cmd.Process.Signal(syscall.SIGHUP); err != nil {
			t.Fatal(err)
		}
		until(t, "the reload is refused", func() bool { return strings.Count(p.log(), "not reloaded") > before })
	}
	// The monitor's password goes wrong, and a server away.
	write("serve.toml", text)
	sandboxtest.Exec(t, c.Primary(), "ALTER USER watch@'%' IDENTIFIED BY 'another'")
	c.Replica(1).Kill()
	until(t, "the replica is gone", func() bool { return strings.Contains(p.log(), "new=offline") })
	p.everything(t, &said, typed, access)
	p.stop()
	all := p.log() + said.String()
	if len(all) < 2000 || !strings.Contains(all, "level=DEBUG") && !strings.Contains(all, "slow") {
		t.Errorf("that is not everything: %s", all)
	}
	for _, secret := range []string{monitor, user, access, typed, inText, misplace, c.Primary().Password} {
		for line := range strings.Lines(all) {
			if strings.Contains(line, secret) {
				t.Errorf("%s stands in: %.300s", secret, line)
			}
		}
	}
}

// everything adds all that the admin address answers, to who has the token, has another one, and has none.
func (p *operated) everything(t *testing.T, to *strings.Builder, wrong, right string) {
	t.Helper()
	for _, path := range []string{
		"GET /", "GET /metrics", "GET /healthz", "GET /readyz", "GET /api/v1/status", "GET /api/v1/servers", "GET /api/v1/servers/replica1/busy",
		"GET /api/v1/sessions", "GET /api/v1/routes", "GET /api/v1/config", "GET /api/v1/history", "GET /api/v1/openapi.json", "GET /api/v1/events",
		"POST /api/v1/reload", "POST /api/v1/servers/replica1/drain", "POST /api/v1/servers/replica1/resume", "PATCH /api/v1/config",
	} {
		method, path, _ := strings.Cut(path, " ")
		for _, token := range []string{"", wrong, right} {
			limit := 30 * time.Second
			if strings.HasSuffix(path, "/events") {
				limit = time.Second
			}
			ctx, cancel := context.WithTimeout(t.Context(), limit)
			r, err := http.NewRequestWithContext(ctx, method, p.admin+path, strings.NewReader(`{"set":{"monitor.password":"x"}}`))
			if err != nil {
				t.Fatal(err)
			}
			if token != "" {
				r.Header.Set("Authorization", "Bearer "+token)
			}
			answer, err := http.DefaultClient.Do(r)
			if err != nil {
				t.Fatalf("%s %s: %v", method, path, err)
			}
			text, _ := io.ReadAll(answer.Body) // the stream of events ends with its time
			_ = answer.Body.Close()
			cancel()
			fmt.Fprintf(to, "%s %s %s %v\n%s\n", method, path, answer.Status, answer.Header, text)
		}
	}
}
