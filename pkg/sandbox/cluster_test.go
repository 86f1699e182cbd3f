//go:build unix

package sandbox_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"
	"go.uber.org/goleak"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperVariable); dir != "" {
		os.Exit(helper(dir))
	}
	goleak.VerifyTestMain(m)
}

// one reads one value as text; NULL is "NULL".
func one(t *testing.T, db *sql.DB, query string, args ...any) string {
	t.Helper()
	var value sql.NullString
	if err := db.QueryRowContext(t.Context(), query, args...).Scan(&value); err != nil {
		t.Fatalf("%s: %v", query, err)
	}
	if !value.Valid {
		return "NULL"
	}
	return value.String
}

// checkReplicates writes on each primary and reads on each replica.
func checkReplicates(t *testing.T, c *sandbox.Cluster, database string) {
	t.Helper()
	for i, p := range c.Primaries() {
		sandboxtest.Exec(t, p,
			"CREATE DATABASE "+database+p.Name,
			"CREATE TABLE "+database+p.Name+".t (id INT PRIMARY KEY)",
			"INSERT INTO "+database+p.Name+".t VALUES ("+string(rune('1'+i))+")")
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.WaitReplicated(ctx); err != nil {
		t.Fatal(err)
	}
	for _, r := range c.Replicas() {
		db := sandboxtest.Open(t, r)
		for i, p := range c.Primaries() {
			want := string(rune('1' + i))
			if got := one(t, db, "SELECT id FROM "+database+p.Name+".t"); got != want {
				t.Errorf("%s: got %s from %s, want %s", r.Name, got, p.Name, want)
			}
		}
	}
}

// status returns the replica's channels by name, the columns by the newest
// names.
func status(t *testing.T, s *sandbox.Server, f flavor.Flavor) map[string]map[string]string {
	t.Helper()
	rows, err := sandboxtest.Open(t, s).QueryContext(t.Context(), flavor.ReplicaStatus(f)[0])
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	names, err := rows.Columns()
	if err != nil {
		t.Fatal(err)
	}
	channels := map[string]map[string]string{}
	for rows.Next() {
		values, targets := make([]sql.NullString, len(names)), make([]any, len(names))
		for i := range values {
			targets[i] = &values[i]
		}
		if err := rows.Scan(targets...); err != nil {
			t.Fatal(err)
		}
		row := map[string]string{}
		for i, name := range names {
			row[flavor.Column(name)] = values[i].String
		}
		channels[row["Channel_Name"]] = row
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return channels
}

func TestStart(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f})
		if len(c.Replicas()) != 2 || c.Replica(2).Name != "replica2" || c.Replica(3) != nil || c.Server("primary") != c.Primary() {
			t.Fatalf("unexpected servers %v", c.Info().Servers)
		}
		t.Run("no transaction of its own", func(t *testing.T) { checkEmpty(t, c) })
		t.Run("replicates", func(t *testing.T) { checkReplicates(t, c, "d") })
		t.Run("replicas refuse writes", func(t *testing.T) { checkReadOnly(t, c) })
		t.Run("secrets", func(t *testing.T) { checkSecrets(t, c) })
		t.Run("tls", func(t *testing.T) { checkTLS(t, c) })
		t.Run("client.cnf", func(t *testing.T) { checkClient(t, c) })
		t.Run("kill and start", func(t *testing.T) { checkRestart(t, c) })
		t.Run("pause and resume", func(t *testing.T) { checkPause(t, c.Replica(2)) })
		if err := c.Close(); err != nil {
			t.Fatal(err)
		}
		if _, err := os.Stat(c.Dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the folder is still there: %v", err)
		}
		if err := c.Primary().Start(t.Context()); err == nil {
			t.Error("a server of a closed cluster was started")
		}
	})
}

func checkEmpty(t *testing.T, c *sandbox.Cluster) {
	variable := "@@GLOBAL.gtid_executed"
	if c.Flavor == flavor.MariaDB {
		variable = "@@GLOBAL.gtid_current_pos"
	}
	for _, s := range c.Servers {
		if got := one(t, sandboxtest.Open(t, s), "SELECT "+variable); got != "" {
			t.Errorf("%s begins with %s", s.Name, got)
		}
	}
}

func checkReadOnly(t *testing.T, c *sandbox.Cluster) {
	variable := "super_read_only"
	if c.Flavor == flavor.MariaDB {
		variable = "read_only"
	}
	for _, s := range c.Servers {
		want := map[sandbox.Role]string{sandbox.Primary: "0", sandbox.Replica: "1"}[s.Role]
		if got := one(t, sandboxtest.Open(t, s), "SELECT @@GLOBAL."+variable); got != want {
			t.Errorf("%s: got %s=%s, want %s", s.Name, variable, got, want)
		}
	}
}

// checkSecrets looks for the password in what other users can see: arguments
// of processes and files that are not closed to them.
func checkSecrets(t *testing.T, c *sandbox.Cluster) {
	err := filepath.WalkDir(c.Dir, func(path string, d os.DirEntry, err error) error {
		if err != nil {
			return err
		}
		info, err := d.Info()
		if errors.Is(err, os.ErrNotExist) {
			return nil // servers remove files of their own
		}
		if err != nil {
			return err
		}
		if filepath.Dir(path) == c.Dir && info.Mode().Perm()&0o077 != 0 && d.Type().IsRegular() {
			t.Errorf("%s has mode %v", path, info.Mode())
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range lines {
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), c.Primary().Password) {
			t.Errorf("%s shows the password", path)
		}
	}
}

func checkTLS(t *testing.T, c *sandbox.Cluster) {
	pem, err := os.ReadFile(c.CA)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	if !pool.AppendCertsFromPEM(pem) {
		t.Fatal("the CA's file holds no certificate")
	}
	for _, s := range c.Servers {
		cfg := s.Config()
		cfg.TLS = &tls.Config{RootCAs: pool, ServerName: s.Host}
		connector, err := mysql.NewConnector(cfg)
		if err != nil {
			t.Fatal(err)
		}
		db := sql.OpenDB(connector)
		defer db.Close()
		var name, cipher string
		if err := db.QueryRowContext(t.Context(), "SHOW SESSION STATUS LIKE 'Ssl_cipher'").Scan(&name, &cipher); err != nil || cipher == "" {
			t.Errorf("%s: got cipher %q, %v", s.Name, cipher, err)
		}
	}
}

// checkClient lets the server's own client read the option file.
func checkClient(t *testing.T, c *sandbox.Cluster) {
	argv, err := c.Installation().Argv("mysql", "--defaults-file="+c.ClientCnf, "-N", "-B", "-e", "SELECT @@server_id, CURRENT_USER()")
	if errors.Is(err, sandbox.ErrNotInstalled) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	out, err := exec.CommandContext(t.Context(), argv[0], argv[1:]...).CombinedOutput()
	if got, want := string(out), "1\troot@%\n"; err != nil || got != want {
		t.Errorf("got %q, %v, want %q", got, err, want)
	}
}

func checkRestart(t *testing.T, c *sandbox.Cluster) {
	for _, s := range []*sandbox.Server{c.Replica(1), c.Primary()} {
		address, pid := s.Address(), s.PID()
		s.Kill()
		if s.Running() {
			t.Fatalf("%s runs after Kill", s.Name)
		}
		if err := sandboxtest.Open(t, s).PingContext(t.Context()); err == nil {
			t.Errorf("%s answers after Kill", s.Name)
		}
		if err := s.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		if s.Address() != address || s.PID() == pid {
			t.Errorf("%s: got %s as process %d, was %s as %d", s.Name, s.Address(), s.PID(), address, pid)
		}
	}
	checkReplicates(t, c, "after_kill_")
	s := c.Replica(1)
	if err := s.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	if err := s.Start(t.Context()); err != nil {
		t.Errorf("start of a running server: %v", err)
	}
	checkReplicates(t, c, "after_stop_")
}

func checkPause(t *testing.T, s *sandbox.Server) {
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	db := sandboxtest.Open(t, s)
	ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
	defer cancel()
	if err := db.PingContext(ctx); err == nil {
		t.Error("a paused server answered")
	}
	if !s.Running() {
		t.Error("a paused server counts as ended")
	}
	if err := s.Resume(); err != nil {
		t.Fatal(err)
	}
	if err := db.PingContext(t.Context()); err != nil {
		t.Errorf("after Resume: %v", err)
	}
	if err := s.Pause(); err != nil {
		t.Fatal(err)
	}
	if err := s.Stop(t.Context()); err != nil { // must wake it first
		t.Error(err)
	}
	if err := s.Pause(); !errors.Is(err, os.ErrProcessDone) {
		t.Errorf("pause of a stopped server: got %v, want %v", err, os.ErrProcessDone)
	}
}

func TestStart_positions(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 1, GTIDOff: true})
		if f == flavor.MySQL {
			if got := one(t, sandboxtest.Open(t, c.Primary()), "SELECT @@GLOBAL.gtid_mode"); got != "OFF" {
				t.Errorf("got gtid_mode %s, want OFF", got)
			}
		} else if got := status(t, c.Replica(1), f)[""]["Using_Gtid"]; got != "No" {
			t.Errorf("got Using_Gtid %s, want No", got)
		}
		checkReplicates(t, c, "d")
	})
}

func TestStart_twoSources(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 1, Sources: 2})
		channels := status(t, c.Replica(1), f)
		if len(channels) != 2 || channels["a"] == nil || channels["b"] == nil {
			t.Fatalf("got channels %v, want a and b", channels)
		}
		checkReplicates(t, c, "d")
		if f == flavor.MariaDB {
			for i, p := range c.Primaries() {
				want := string(rune('1' + i))
				if got := one(t, sandboxtest.Open(t, p), "SELECT @@GLOBAL.gtid_domain_id"); got != want {
					t.Errorf("%s: got domain %s, want %s", p.Name, got, want)
				}
			}
		}
	})
}

// TestStart_options has the options that do not get into each other's way in
// one cluster.
func TestStart_options(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{
			Flavor: f, Replicas: 2, Delays: []time.Duration{0, 3 * time.Second}, NamedChannels: true, SemiSync: true,
			PrimaryArgs: []string{"--max-connections=41"}, ReplicaArgs: []string{"--max-connections=42"},
			Dir: filepath.Join(t.TempDir(), strings.Repeat("long", 25)), // no room for a socket
		})
		for i, want := range []string{"0", "3"} {
			row := status(t, c.Replica(i+1), f)["a"]
			if row["SQL_Delay"] != want {
				t.Errorf("replica%d: got delay %q, want %s", i+1, row["SQL_Delay"], want)
			}
		}
		words := flavor.SemiSync(f)
		variable := map[string]string{words.SourceStatus: "ON", words.SourceClients: "2"}
		for name, want := range variable {
			var key, got string
			err := sandboxtest.Open(t, c.Primary()).QueryRowContext(t.Context(), "SHOW GLOBAL STATUS LIKE ?", name).Scan(&key, &got)
			if err != nil || got != want {
				t.Errorf("got %s=%s, %v, want %s", name, got, err, want)
			}
		}
		for _, s := range c.Servers {
			want := map[sandbox.Role]string{sandbox.Primary: "41", sandbox.Replica: "42"}[s.Role]
			if got := one(t, sandboxtest.Open(t, s), "SELECT @@GLOBAL.max_connections"); got != want {
				t.Errorf("%s: got max_connections %s, want %s", s.Name, got, want)
			}
			if len(s.Socket) > 103 {
				t.Errorf("socket path %s is too long", s.Socket)
			}
		}
		checkReplicates(t, c, "d")
		sockets := filepath.Dir(c.Primary().Socket)
		if err := c.Close(); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(sockets); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("folder of sockets: got %v, want it gone", err)
		}
	})
}

// TestStart_badOptions must fail before anything is started.
func TestStart_badOptions(t *testing.T) {
	t.Parallel()
	full := t.TempDir()
	if err := os.WriteFile(filepath.Join(full, "precious"), nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]sandbox.Options{
		"no flavor":         {CacheDir: "x"},
		"no cache":          {Flavor: flavor.MariaDB},
		"half a second":     {Flavor: flavor.MariaDB, CacheDir: "x", Delays: []time.Duration{time.Second / 2}},
		"too many delays":   {Flavor: flavor.MariaDB, CacheDir: "x", Replicas: 1, Delays: make([]time.Duration, 2)},
		"too many replicas": {Flavor: flavor.MariaDB, CacheDir: "x", Replicas: 1000},
		"negative sources":  {Flavor: flavor.MariaDB, CacheDir: "x", Sources: -1},
	} {
		if c, err := sandbox.Start(t.Context(), o); err == nil {
			t.Errorf("%s: started", name)
			_ = c.Close()
		}
	}
}

func TestStart_fullFolder(t *testing.T) {
	sandboxtest.Installation(t, flavor.MariaDB)
	full := t.TempDir()
	precious := filepath.Join(full, "precious")
	if err := os.WriteFile(precious, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	if c, err := sandbox.Start(t.Context(), sandbox.Options{Flavor: flavor.MariaDB, CacheDir: sandboxtest.CacheDir(t), Dir: full}); err == nil {
		_ = c.Close()
		t.Error("started in a folder with files")
	}
	if _, err := os.Stat(precious); err != nil {
		t.Errorf("a file that was there: %v", err)
	}
}

// TestStart_badArgument shows what the server said.
func TestStart_badArgument(t *testing.T) {
	sandboxtest.Installation(t, flavor.MariaDB)
	dir := filepath.Join(t.TempDir(), "c")
	c, err := sandbox.Start(t.Context(), sandbox.Options{
		Flavor: flavor.MariaDB, CacheDir: sandboxtest.CacheDir(t), Dir: dir, PrimaryArgs: []string{"--no-such-option"},
	})
	if err == nil {
		_ = c.Close()
		t.Fatal("started with an unknown option")
	}
	if !strings.Contains(err.Error(), "no-such-option") {
		t.Errorf("the error does not show the log: %v", err)
	}
	if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the folder is still there: %v", err)
	}
}

// TestStart_cancelled ends the context as soon as a server runs.
func TestStart_cancelled(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		sandboxtest.Installation(t, f)
		dir := filepath.Join(t.TempDir(), "c")
		ctx, cancel := context.WithCancel(t.Context())
		defer cancel()
		seen := make(chan struct{})
		go func() {
			defer close(seen)
			defer cancel()
			waitUntil(t, "a server runs", func() bool {
				found, _ := filepath.Glob(filepath.Join(dir, "*", "error.log"))
				return len(found) > 0
			})
		}()
		c, err := sandbox.Start(ctx, sandbox.Options{Flavor: f, CacheDir: sandboxtest.CacheDir(t), Dir: dir})
		<-seen
		if err == nil {
			_ = c.Close()
			t.Fatal("start was not cancelled")
		}
		if !errors.Is(err, context.Canceled) {
			t.Errorf("got %v, want it to be %v", err, context.Canceled)
		}
		if _, err := os.Stat(dir); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the folder is still there: %v", err)
		}
		if pids := processesOf(dir); len(pids) > 0 {
			t.Errorf("processes %v are left", pids)
		}
	})
}

// processesOf returns the processes whose arguments name the folder. It finds
// none where there is no /proc.
func processesOf(dir string) []string {
	var pids []string
	lines, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, path := range lines {
		if text, err := os.ReadFile(path); err == nil && strings.Contains(string(text), dir) {
			pids = append(pids, filepath.Base(filepath.Dir(path)))
		}
	}
	return pids
}

// waitUntil polls for an event with a deadline.
func waitUntil(t *testing.T, what string, happened func() bool) {
	t.Helper()
	deadline := time.Now().Add(time.Minute)
	for !happened() {
		if time.Now().After(deadline) {
			t.Errorf("waited a minute until %s", what)
			return
		}
		time.Sleep(20 * time.Millisecond)
	}
}
