//go:build unix

package commands_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/status"
)

// TestServers runs the scripts of testdata/server on a primary with two
// replicas.
func TestServers(t *testing.T) {
	t.Parallel()
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		runOn(t, "server", sandbox.Options{Flavor: f, Replicas: 2})
	})
}

// TestSources runs the scripts of testdata/sources on a replica of two primaries.
func TestSources(t *testing.T) {
	t.Parallel()
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		runOn(t, "sources", sandbox.Options{Flavor: f, Sources: 2, Replicas: 1})
	})
}

// runOn runs a folder of scripts on one cluster, one after the other. Each
// finds it in sync, with a table d.t on every server, and the addresses in
// PRIMARY, REPLICA1, ... and an account that may do everything in ~/.my.cnf.
func runOn(t *testing.T, folder string, o sandbox.Options) {
	c := sandboxtest.Cluster(t, o)
	for i, p := range c.Primaries() {
		name := "d"
		if i > 0 {
			name = fmt.Sprintf("d%d", i+1)
		}
		sandboxtest.Exec(t, p, "CREATE DATABASE "+name, "CREATE TABLE "+name+".t (id INT PRIMARY KEY, v INT)",
			"INSERT INTO "+name+".t VALUES (1, 0)")
	}
	s := &stand{cluster: c, held: map[string]*sql.Conn{}}
	params := scriptParams(folder, s.setup, map[string]func(*testscript.TestScript, bool, []string){
		"sql": s.sql, "applier": s.thread(flavor.Applier), "receiver": s.thread(flavor.Receiver),
		"block": s.block, "release": s.release, "server": s.server, "insync": s.inSync,
		"nowaits": s.noWaits, "waits": s.waits, "grant": s.grant, "position": s.position,
	})
	maps.Copy(params.Cmds, s.clients())
	params.Condition = func(word string) (bool, error) { return word == o.Flavor.String(), nil }
	testscript.RunT(inTurn{t}, params)
}

// inTurn makes testscript run the scripts one after the other: they share a cluster.
type inTurn struct{ t *testing.T }

func (r inTurn) Skip(args ...any)  { r.t.Skip(args...) }
func (r inTurn) Fatal(args ...any) { r.t.Fatal(args...) }
func (r inTurn) Log(args ...any)   { r.t.Log(args...) }
func (r inTurn) FailNow()          { r.t.FailNow() }
func (r inTurn) Verbose() bool     { return testing.Verbose() }
func (r inTurn) Parallel()         {}
func (r inTurn) Run(name string, body func(testscript.T)) {
	r.t.Run(name, func(t *testing.T) { body(inTurn{t}) })
}

// stand is a cluster with the commands that scripts have for it.
type stand struct {
	cluster *sandbox.Cluster
	held    map[string]*sql.Conn // connections that lock d.t, by the server's name
}

// setup brings the cluster back into a known state, whatever the script before
// it has left, and describes it to the next one.
func (s *stand) setup(e *testscript.Env) error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, server := range s.cluster.Servers {
		s.unlock(server.Name)
		_ = server.Resume() // an error if it does not run: then it is started
		if err := server.Start(ctx); err != nil {
			return err
		}
		e.Setenv(strings.ToUpper(server.Name), server.Address())
	}
	for _, r := range s.cluster.Replicas() {
		for _, channel := range s.channels() {
			for _, kind := range []flavor.ReplicaThread{flavor.Receiver, flavor.Applier} {
				_ = execute(ctx, r, flavor.StartThread(s.cluster.Flavor, kind, channel)) // an error on MariaDB if it runs
			}
		}
	}
	if err := s.cluster.WaitReplicated(ctx); err != nil {
		return err
	}
	primary := s.cluster.Primary()
	cnf := fmt.Sprintf("[client]\nuser=%s\npassword=%s\n", primary.User, primary.Password)
	e.Setenv("CNF", s.cluster.ClientCnf)
	e.Setenv("FLAVOR", s.cluster.Flavor.String())
	e.Setenv("VERSION", s.cluster.Version.String())
	if err := os.WriteFile(filepath.Join(e.Getenv("HOME"), ".my.cnf"), []byte(cnf), 0o600); err != nil {
		return err
	}
	return s.settled(e)
}

// settled waits until every lag is known: a receiver that has just been
// started has nothing to tell yet.
func (s *stand) settled(e *testscript.Env) error {
	args := []string{"lag", "--max", "1h"}
	for _, r := range s.cluster.Replicas() {
		args = append(args, r.Address())
	}
	return poll(func() error {
		if stdout, stderr, code := callIn(e.Getenv, args...); code != 0 {
			return fmt.Errorf("the replicas do not settle:\n%s%s", stdout, stderr)
		}
		return nil
	})
}

// channels returns the names of the channels by which the replicas read.
func (s *stand) channels() []string {
	if len(s.cluster.Primaries()) > 1 {
		return []string{"a", "b"}
	}
	return []string{""}
}

func (s *stand) find(ts *testscript.TestScript, name string) *sandbox.Server {
	server := s.cluster.Server(name)
	if server == nil {
		ts.Fatalf("no server %q", name)
	}
	return server
}

func execute(ctx context.Context, server *sandbox.Server, statement string) error {
	db, err := server.Open()
	if err != nil {
		return err
	}
	defer db.Close()
	_, err = db.ExecContext(ctx, statement)
	return err
}

// sql is "sql SERVER STATEMENT...": on one connection. Rows go to stdout.
func (s *stand) sql(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: sql SERVER STATEMENT...")
	}
	db, err := s.find(ts, args[0]).Open()
	ts.Check(err)
	defer db.Close()
	db.SetMaxOpenConns(1)
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	for _, statement := range args[1:] {
		rows, err := status.Query(ctx, db, statement)
		if err != nil {
			ts.Fatalf("%s: %v", statement, err)
		}
		for _, row := range rows {
			for i, f := range row {
				if i > 0 {
					fmt.Fprint(ts.Stdout(), "\t")
				}
				if f.Value != nil {
					fmt.Fprint(ts.Stdout(), *f.Value)
				}
			}
			fmt.Fprintln(ts.Stdout())
		}
	}
}

// thread is "applier|receiver start|stop SERVER [CHANNEL]".
func (s *stand) thread(kind flavor.ReplicaThread) func(*testscript.TestScript, bool, []string) {
	return func(ts *testscript.TestScript, neg bool, args []string) {
		if neg || len(args) < 2 {
			ts.Fatalf("usage: applier start|stop SERVER [CHANNEL]")
		}
		verbs := map[string]func(flavor.Flavor, flavor.ReplicaThread, string) string{
			"start": flavor.StartThread, "stop": flavor.StopThread,
		}
		verb := verbs[args[0]]
		if verb == nil {
			ts.Fatalf("neither start nor stop: %s", args[0])
		}
		channel := strings.Join(args[2:], "")
		ts.Check(execute(context.Background(), s.find(ts, args[1]), verb(s.cluster.Flavor, kind, channel)))
	}
}

// block is "block SERVER": its applier waits for a lock on d.t until release.
func (s *stand) block(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: block SERVER")
	}
	db, err := s.find(ts, args[0]).Open()
	ts.Check(err)
	conn, err := db.Conn(context.Background())
	ts.Check(err)
	s.held[args[0]] = conn
	ts.Defer(func() {
		s.unlock(args[0])
		_ = db.Close()
	})
	_, err = conn.ExecContext(context.Background(), "LOCK TABLES d.t READ")
	ts.Check(err)
}

func (s *stand) release(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 || s.held[args[0]] == nil {
		ts.Fatalf("usage: release SERVER (of one that is blocked)")
	}
	s.unlock(args[0])
}

// unlock ends the session that holds the lock. Without one it does nothing.
func (s *stand) unlock(name string) {
	if conn := s.held[name]; conn != nil {
		_, _ = conn.ExecContext(context.Background(), "UNLOCK TABLES") // fails with the server
		_ = conn.Close()
	}
	delete(s.held, name)
}

// server is "server pause|resume|kill|start SERVER".
func (s *stand) server(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 2 {
		ts.Fatalf("usage: server pause|resume|kill|start SERVER")
	}
	server := s.find(ts, args[1])
	switch args[0] {
	case "pause":
		ts.Check(server.Pause())
	case "resume":
		ts.Check(server.Resume())
	case "kill":
		server.Kill()
	case "start":
		ts.Check(server.Start(context.Background()))
	default:
		ts.Fatalf("unknown verb %s", args[0])
	}
}

// inSync is "insync": waits until every replica has what the primaries have.
func (s *stand) inSync(ts *testscript.TestScript, _ bool, _ []string) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	ts.Check(s.cluster.WaitReplicated(ctx))
}

// waiting returns the first wait for a position that runs on a server, or "".
func (s *stand) waiting(ts *testscript.TestScript, args []string) string {
	if len(args) != 1 {
		ts.Fatalf("usage: waits|nowaits SERVER")
	}
	db, err := s.find(ts, args[0]).Open()
	ts.Check(err)
	defer db.Close()
	rows, err := status.Query(context.Background(), db,
		"SELECT info FROM information_schema.processlist WHERE id <> CONNECTION_ID() AND info LIKE CONCAT('%WA', 'IT%(%')")
	ts.Check(err)
	if len(rows) == 0 {
		return ""
	}
	return rows[0].Text("info")
}

// waits is "waits SERVER": until a wait for a position runs there.
func (s *stand) waits(ts *testscript.TestScript, _ bool, args []string) {
	ts.Check(poll(func() error {
		if s.waiting(ts, args) == "" {
			return errors.New("nothing waits")
		}
		return nil
	}))
}

// noWaits is "nowaits SERVER": no wait for a position runs there, as of now.
func (s *stand) noWaits(ts *testscript.TestScript, _ bool, args []string) {
	if info := s.waiting(ts, args); info != "" {
		ts.Fatalf("still runs: %s", info)
	}
}

// position is "position SERVER": sets FILE and POS to where its binary log ends.
func (s *stand) position(ts *testscript.TestScript, _ bool, args []string) {
	db, err := s.find(ts, strings.Join(args, " ")).Open()
	ts.Check(err)
	defer db.Close()
	end, err := status.BinaryLog(context.Background(), db, s.cluster.Flavor)
	ts.Check(err)
	ts.Setenv("FILE", end.File)
	ts.Setenv("POS", strconv.FormatUint(end.Offset, 10))
}

// grant is "grant SERVER": runs the GRANT that stderr of the last program advises.
func (s *stand) grant(ts *testscript.TestScript, _ bool, args []string) {
	text := regexp.MustCompile(`GRANT .* TO .*`).FindString(ts.ReadFile("stderr"))
	if text == "" || len(args) != 1 {
		ts.Fatalf("no GRANT is advised")
	}
	ts.Check(execute(context.Background(), s.find(ts, args[0]), text))
	ts.Logf("%s", text)
}
