package binlog_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/backend"
	"github.com/mysqlrw/mysqlrw/pkg/binlog"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

// server is one that a test writes to, over one connection.
type server struct {
	*sandbox.Server
	flavor flavor.Flavor
	conn   *backend.Conn
}

func start(t *testing.T, f flavor.Flavor, args ...string) *server {
	c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: -1, PrimaryArgs: args})
	s := &server{Server: c.Primary(), flavor: f}
	s.conn = s.dial(t, s.User, s.Password)
	s.exec(t, "CREATE SCHEMA shop", "USE shop")
	return s
}

func (s *server) dial(t *testing.T, user, password string) *backend.Conn {
	t.Helper()
	conn, err := backend.Dial(t.Context(), &backend.Options{
		Address: s.Address(), User: user, Password: password, ConnectTimeout: 20 * time.Second,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

func (s *server) exec(t *testing.T, statements ...string) {
	t.Helper()
	for _, text := range statements {
		if _, err := s.conn.Exec(t.Context(), text); err != nil {
			t.Fatalf("%s: %v", text, err)
		}
	}
}

// position is what the server has logged.
func (s *server) position(t *testing.T) gtid.Value {
	t.Helper()
	text := "SELECT @@global.gtid_executed AS p"
	if s.flavor == flavor.MariaDB {
		text = "SELECT @@global.gtid_binlog_pos AS p"
	}
	result, err := s.conn.Query(t.Context(), text)
	if err != nil {
		t.Fatal(err)
	}
	position, _ := result.Get(0, "p")
	v, err := gtid.ParseValue(position)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

// follower reads a server's log, and holds what comes against the order that doc.go promises.
type follower struct {
	r      *binlog.Reader
	conn   *backend.Conn
	seen   gtid.Value // From, and all that has begun
	events int
	beats  int
}

func (s *server) follow(t *testing.T, from gtid.Value) *follower {
	t.Helper()
	return s.read(t, s.dial(t, s.User, s.Password), from)
}

func (s *server) read(t *testing.T, conn *backend.Conn, from gtid.Value) *follower {
	t.Helper()
	r, err := binlog.Open(t.Context(), conn, binlog.Options{
		From: from, ServerID: 4711, Heartbeat: 50 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = r.Close() })
	return &follower{r: r, conn: conn, seen: from}
}

// transaction returns the next one as text: its tables, its statements in quotes, and what else there is.
func (f *follower) transaction(t *testing.T) string {
	t.Helper()
	var e binlog.Event
	var parts []string
	if err := f.conn.SetDeadline(time.Now().Add(time.Minute)); err != nil {
		t.Fatal(err)
	}
	for open := false; ; {
		if err := f.r.Next(&e); err != nil {
			t.Fatal(err)
		}
		f.events++
		if e.Kind != binlog.Heartbeat && open == (e.Kind == binlog.Begin) {
			t.Fatalf("%v, and a transaction is open: %v", e.Kind, open)
		}
		switch e.Kind {
		case binlog.Begin:
			open = true
			f.add(t, &e)
		case binlog.Table:
			parts = append(parts, string(e.Schema)+"."+string(e.Table))
		case binlog.Statement:
			text := "'" + strings.Join(strings.Fields(string(e.Text)), " ") + "'"
			if e.Alone {
				text += "!"
			}
			parts = append(parts, text)
		case binlog.Lost:
			parts = append(parts, "LOST "+e.Reason)
		case binlog.Heartbeat:
			f.beats++
		case binlog.End:
			if e.Prepared {
				parts = append(parts, "prepared "+string(e.XID))
			}
			return strings.Join(parts, " ")
		}
	}
}

// add notes that a transaction begins, which must not have begun before.
func (f *follower) add(t *testing.T, e *binlog.Event) {
	t.Helper()
	var one gtid.Value
	switch {
	case e.Anonymous:
		t.Fatal("an anonymous transaction")
	case e.GTID.Valid():
		one = gtid.Set{}.Add(e.GTID).Value()
	default:
		one = gtid.DomainPos{}.With(e.Domain).Value()
		pos, _ := f.seen.DomainPos()
		if last, _ := pos.Domain(e.Domain.Domain); e.Domain.Seq != last.Seq+1 {
			t.Fatalf("%v comes behind %v", e.Domain, last)
		}
	}
	if twice, err := f.seen.Contains(one); err != nil || twice {
		t.Fatalf("%v comes again: %v, %v", one, twice, err)
	}
	var err error
	if f.seen, err = f.seen.Union(one); err != nil {
		t.Fatal(err)
	}
}

// until reads up to a position, which must then be what has been seen.
func (f *follower) until(t *testing.T, position gtid.Value) (list []string) {
	t.Helper()
	for {
		reached, err := f.seen.Contains(position)
		if err != nil {
			t.Fatal(err)
		}
		if reached {
			if !f.seen.Equal(position) {
				t.Errorf("seen %v, want %v", f.seen, position)
			}
			return list
		}
		list = append(list, f.transaction(t))
	}
}

// run runs statements, and returns what is logged of them.
func (s *server) run(t *testing.T, f *follower, statements ...string) []string {
	t.Helper()
	s.exec(t, statements...)
	return f.until(t, s.position(t))
}

// want holds transactions against what they should be.
func want(t *testing.T, name string, got []string, want ...string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got\n%s\nwant\n%s", name, strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
}
