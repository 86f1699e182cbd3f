package topology

import (
	"context"
	"database/sql"
	"errors"
	"slices"
	"testing"
	"time"

	"go.uber.org/goleak"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/status/statustest"
	"github.com/mysqlrw/mysqlrw/route"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

const (
	uuidA = "aaaaaaaa-71ca-11e1-9e33-c80aa9429562"
	uuidB = "bbbbbbbb-71ca-11e1-9e33-c80aa9429562"
	uuidC = "cccccccc-71ca-11e1-9e33-c80aa9429562"
)

// says is what a scripted MySQL server says when it is asked. The zero value
// is a writable server without channels or transactions.
type says struct {
	readOnly bool
	uuid     string
	mariadb  bool   // without channels
	uptime   string // "1000" if empty
	position string
	channels [][]any // pairs that differ from a healthy channel
	denied   bool    // the channels may not be seen
	err      error   // nothing is said at all
}

func (s says) answers() []statustest.Answer {
	ro, uptime := "0", "1000"
	if s.readOnly {
		ro = "1"
	}
	if s.uptime != "" {
		uptime = s.uptime
	}
	if s.mariadb {
		return []statustest.Answer{
			statustest.Version("10.11.19-MariaDB"),
			statustest.Row("Uptime", "Variable_name", "Uptime", "Value", uptime),
			statustest.Row("@@GLOBAL.server_id", "id", "7", "ro", ro),
			statustest.Row("@@GLOBAL.gtid_current_pos AS v", "v", s.position),
			{Query: "STATUS", Columns: []string{"Connection_name"}},
		}
	}
	channels := statustest.Answer{Query: "SHOW REPLICA STATUS", Columns: []string{"Channel_Name"}}
	if s.denied {
		channels.Number = 1227
	}
	for _, changes := range s.channels {
		a := channel(changes)
		channels.Columns = a.Columns
		channels.Rows = append(channels.Rows, a.Rows[0])
	}
	return []statustest.Answer{
		statustest.Version("8.4.3"),
		statustest.Row("Uptime", "Variable_name", "Uptime", "Value", uptime),
		statustest.Row("@@GLOBAL.server_id", "id", "7", "ro", ro, "sro", ro, "uuid", s.uuid),
		statustest.Row("@@GLOBAL.gtid_executed AS v", "v", s.position),
		channels,
		{Query: "replication_group_members", Number: 1146},
		{Query: "LAST_QUEUED_TRANSACTION", Number: 1142},
		{Query: "PROCESSLIST_TIME", Number: 1142},
	}
}

func channel(changes []any) statustest.Answer {
	pairs := []any{
		"Replica_IO_Running", "Yes", "Replica_SQL_Running", "Yes",
		"Source_Host", "10.0.0.1", "Source_Port", "3306", "Source_Server_Id", "1",
		"Seconds_Behind_Source", "0", "SQL_Delay", "0", "SQL_Remaining_Delay", nil,
		"Source_Log_File", "bin.000002", "Read_Source_Log_Pos", "1000",
		"Relay_Source_Log_File", "bin.000002", "Exec_Source_Log_Pos", "1000",
		"Last_IO_Errno", "0", "Last_IO_Error", "", "Last_SQL_Errno", "0", "Last_SQL_Error", "", "Channel_Name", "",
	}
	for i := 0; i < len(changes); i += 2 {
		at := slices.Index(pairs, changes[i])
		pairs[at+1] = changes[i+1]
	}
	return statustest.Row("", pairs...)
}

// healthy is one channel without a fault.
func healthy() [][]any { return [][]any{nil} }

func replica(changes ...any) says {
	return says{readOnly: true, uuid: uuidB, channels: [][]any{changes}}
}

// world is a monitor of scripted servers that is stepped by hand: no
// goroutine, and a clock that stands still unless it is moved.
type world struct {
	*Monitor
	t      *testing.T
	clock  time.Time
	script []says
	events []Event
}

func newWorld(t *testing.T, servers ...Server) *world {
	t.Helper()
	w := &world{t: t, clock: time.Unix(1_000_000, 0), script: make([]says, len(servers))}
	for i := range servers {
		servers[i].Open = func() (*sql.DB, error) {
			if err := w.script[i].err; err != nil {
				return nil, err
			}
			return statustest.Open(t, w.script[i].answers()...), nil
		}
	}
	var err error
	w.Monitor, err = New(Options{
		Servers: servers, Now: func() time.Time { return w.clock },
		Events: func(e Event) { w.events = append(w.events, e) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		for _, mb := range w.members {
			mb.link.close()
		}
	})
	return w
}

// ask lets a server say something in the next check. The connection stays the
// same one in the eyes of the monitor unless the server says nothing.
func (w *world) ask(server int, s says) {
	w.t.Helper()
	w.script[server] = s
	l := &w.members[server].link
	if s.err != nil {
		l.close()
	} else if l.conn != nil {
		old := *l
		w.t.Cleanup(func() { _ = old.conn.Close() })
		l.db = statustest.Open(w.t, s.answers()...)
		conn, err := l.db.Conn(w.t.Context())
		if err != nil {
			w.t.Fatal(err)
		}
		l.conn = conn
	}
	w.check(w.t.Context(), w.members[server])
}

// reconnect is ask over a new connection.
func (w *world) reconnect(server int, s says) {
	w.t.Helper()
	w.members[server].link.close()
	w.ask(server, s)
}

// want compares servers, by name: role, state and why of the snapshot.
func (w *world) want(servers ...string) {
	w.t.Helper()
	for i, sv := range w.Snapshot().Servers {
		got := sv.Role.String() + " " + sv.State.String()
		if sv.Why != "" {
			got += ": " + sv.Why
		}
		if got != servers[i] {
			w.t.Errorf("server %s:\n got %s\nwant %s", sv.Name, got, servers[i])
		}
	}
}

// happened compares the events since the last call, without state changes.
func (w *world) happened(want ...string) {
	w.t.Helper()
	var got []string
	for _, e := range w.events {
		if e.Kind != StateChanged {
			got = append(got, e.String())
		}
	}
	w.events = nil
	if !slices.Equal(got, want) {
		w.t.Errorf("events:\n got %q\nwant %q", got, want)
	}
}

func value(t testing.TB, text string) gtid.Value {
	t.Helper()
	v, err := gtid.ParseValue(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}

var (
	errTimeout = context.DeadlineExceeded
	errOther   = errors.New("some fault")
)

func primaryName(s *route.Snapshot) string {
	if i := s.Primary(); i >= 0 {
		return s.Servers[i].Name
	}
	return ""
}
