package verify

import (
	"context"
	"database/sql"
	"errors"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/route"
)

// TestStatements: a proxy of ours takes the read for one that every server may
// answer, and the write for one that leaves nothing on its connection.
func TestStatements(t *testing.T) {
	t.Parallel()
	table := newTable(Options{Schema: "s"}, 1, time.Unix(1e9, 0))
	read := route.Classify(table.reads[0], &route.Options{})
	if read.Class != route.Read || read.Target != route.ToReplica {
		t.Errorf("read: class %s to %s, for %s", read.Class, read.Target, read.Reason)
	}
	write := route.Classify(table.writeText(write{number: 3}, 0), &route.Options{})
	if write.Class != route.Write || write.Target != route.ToPrimary || write.Facts != 0 {
		t.Errorf("write: class %s to %s, facts %b", write.Class, write.Target, write.Facts)
	}
}

// relay passes connections on to a server and can break all of them.
type relay struct {
	listener net.Listener
	server   string
	mu       sync.Mutex
	open     map[net.Conn]bool
	group    sync.WaitGroup
}

func newRelay(t *testing.T, server string) *relay {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{listener: l, server: server, open: map[net.Conn]bool{}}
	r.group.Go(r.accept)
	t.Cleanup(func() {
		_ = l.Close()
		r.breakAll()
		r.group.Wait()
	})
	return r
}

func (r *relay) accept() {
	for {
		client, err := r.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", r.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		r.mu.Lock()
		r.open[client], r.open[server] = true, true
		r.mu.Unlock()
		r.group.Go(func() { r.pass(server, client) })
		r.group.Go(func() { r.pass(client, server) })
	}
}

func (r *relay) pass(to, from net.Conn) {
	_, _ = io.Copy(to, from) // until one of them is closed
	_ = to.Close()
	r.mu.Lock()
	defer r.mu.Unlock()
	delete(r.open, from)
}

func (r *relay) breakAll() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for c := range r.open {
		_ = c.Close()
	}
}

// TestRun_lostConnections: statements whose outcome nobody knows, and sessions
// that end in the middle, are no violations.
func TestRun_lostConnections(t *testing.T) {
	t.Parallel()
	c := sandboxtest.Cluster(t, sandbox.Options{Flavor: flavor.MariaDB, Replicas: -1})
	r := newRelay(t, c.Primary().Address())
	config := c.Primary().Config()
	config.Net, config.Addr, config.Logger = "tcp", r.listener.Addr().String(), &mysql.NopLogger{}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	db.SetMaxIdleConns(0)
	var broken int
	res, err := Run(t.Context(), Options{
		Read: db, Write: db, Clients: 8, Registers: 3, WriteRatio: 0.5, Reads: 4000,
		Progress: func(Progress) {
			r.breakAll()
			broken++
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("broken %d times: %d sessions, %v", broken, res.Sessions, res.Errors)
	if broken == 0 || res.Sessions <= 8 || len(res.Errors) == 0 {
		t.Errorf("nothing was broken: %+v", res)
	}
	if len(res.Violations) > 0 || res.Found() != Global || res.Linearizable != Yes {
		t.Errorf("found %s, linearizable %d: %v", res.Found(), res.Linearizable, res.Violations)
	}
}

// TestRun_killed: a server that is killed and comes back has kept what it
// acknowledged, and the clients go on.
func TestRun_killed(t *testing.T) {
	t.Parallel()
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: -1})
		db := open(t, c.Primary())
		db.SetMaxIdleConns(0)
		var once sync.Once
		restarted := make(chan error, 1)
		res, err := Run(t.Context(), Options{
			Read: db, Write: db, Clients: 8, Registers: 3, WriteRatio: 0.3, Reads: 3000,
			Progress: func(p Progress) {
				if p.Reads > 500 {
					once.Do(func() {
						c.Primary().Kill()
						restarted <- c.Primary().Start(t.Context())
					})
				}
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		if err := <-restarted; err != nil {
			t.Fatal(err)
		}
		t.Logf("%d sessions, %d reads, %v", res.Sessions, res.Reads, res.Errors)
		if res.Sessions <= 8 || len(res.Errors) == 0 || res.Reads < 3000 {
			t.Errorf("the clients did not go on: %+v", res)
		}
		if len(res.Violations) > 0 || res.Found() != Global {
			t.Errorf("found %s: %v", res.Found(), res.Violations)
		}
	})
}

// TestRun_interrupted: the result tells of what was done, and the table is gone.
func TestRun_interrupted(t *testing.T) {
	t.Parallel()
	c := sandboxtest.Cluster(t, sandbox.Options{Flavor: flavor.MariaDB, Replicas: -1})
	db := open(t, c.Primary())
	before := schemas(t, db)
	ctx, cancel := context.WithCancelCause(t.Context())
	res, err := Run(ctx, Options{
		Read: db, Write: db, Clients: 4, Duration: time.Hour,
		Progress: func(Progress) { cancel(errors.New("enough")) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if res.Reads == 0 || res.Writes == 0 || res.Found() != Global || len(res.Errors) > 0 {
		t.Errorf("got %+v", res)
	}
	if after := schemas(t, db); after != before {
		t.Errorf("%d schemas, %d before", after, before)
	}
}
