package sandboxtest

import (
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/status"
)

// Await polls until something is so, and ends the test if it does not become so. The limit is for a
// machine that is busy with other things.
func Await(t testing.TB, what string, so func() bool) {
	t.Helper()
	for end := time.Now().Add(time.Minute); !so(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waited a minute: %s", what)
		}
	}
}

// SetReadOnly makes a server one that takes writes, or none.
func SetReadOnly(t testing.TB, f flavor.Flavor, s *sandbox.Server, on bool) {
	t.Helper()
	switch {
	case f == flavor.MySQL && on:
		Exec(t, s, "SET GLOBAL super_read_only = ON")
	case on:
		Exec(t, s, "SET GLOBAL read_only = ON")
	default:
		Exec(t, s, "SET GLOBAL read_only = OFF")
	}
}

// Detach makes a replica a server without a source.
func Detach(t testing.TB, f flavor.Flavor, s *sandbox.Server) {
	t.Helper()
	Exec(t, s, flavor.StopReplica(f, ""), "RESET REPLICA ALL") // which MariaDB knows, too
}

// Follow makes a server replicate from another one. wasPrimary is for one that did not replicate
// before, whose own writes are what it has.
func Follow(t testing.TB, f flavor.Flavor, s, source *sandbox.Server, wasPrimary bool) {
	t.Helper()
	change := flavor.ChangeSource(f, flavor.SourceChange{
		Host: source.Host, Port: source.Port, User: source.User, Password: source.Password, GTID: true, Heartbeat: 2 * time.Second,
	})
	statements := []string{flavor.StopReplica(f, "")}
	if wasPrimary {
		statements = nil
		if f == flavor.MariaDB {
			statements = []string{"SET GLOBAL " + flavor.AppliedPosition + " = @@gtid_binlog_pos"}
		}
	}
	Exec(t, s, append(statements, change, flavor.StartReplica(f, ""))...)
}

// Drained waits until a replica has applied what it has received.
func Drained(t testing.TB, f flavor.Flavor, s *sandbox.Server) {
	t.Helper()
	db := Open(t, s)
	Await(t, s.Name+" applies what it has received", func() bool {
		channels, err := status.Channels(t.Context(), db, f)
		executed, err2 := status.Executed(t.Context(), db, f)
		if err != nil || err2 != nil || len(channels) != 1 {
			t.Fatalf("%s: %d channels, %v, %v", s.Name, len(channels), err, err2)
		}
		received := channels[0].Retrieved.Value()
		if f == flavor.MariaDB {
			received = channels[0].ReceiverGTID.Value()
		}
		return executed.Has(received)
	})
}

// SameAs waits until a replica has all that another server has.
func SameAs(t testing.TB, f flavor.Flavor, s, source *sandbox.Server) {
	t.Helper()
	var want gtid.Value
	var err error
	if want, err = status.Sendable(t.Context(), Open(t, source), f); err != nil {
		t.Fatal(err)
	}
	db := Open(t, s)
	Await(t, s.Name+" has what "+source.Name+" has", func() bool {
		executed, err := status.Executed(t.Context(), db, f)
		if err != nil {
			t.Fatal(err)
		}
		return executed.Has(want)
	})
}

// Rebuild has a replica lose the numbers of its transactions, and get them back as a copy of its source
// would bring them.
func Rebuild(t testing.TB, f flavor.Flavor, s *sandbox.Server) {
	t.Helper()
	if f == flavor.MariaDB {
		Exec(t, s, flavor.StopReplica(f, ""), "SET @at = @@GLOBAL."+flavor.AppliedPosition, flavor.ResetBinaryLogs(f),
			"SET GLOBAL "+flavor.AppliedPosition+" = @at", flavor.StartReplica(f, ""))
		return
	}
	Exec(t, s, flavor.StopReplica(f, ""), "SET @at = @@GLOBAL.gtid_executed", flavor.ResetBinaryLogs(f),
		"SET GLOBAL gtid_purged = @at", flavor.StartReplica(f, ""))
}

// KillLogReaders ends the connections on which a user reads the server's binary log, of which there must be one, or
// come one.
func KillLogReaders(t testing.TB, s *sandbox.Server, user string) {
	t.Helper()
	db := Open(t, s)
	var ids []string
	Await(t, user+" reads the log of "+s.Name, func() bool {
		rows, err := status.Query(t.Context(), db, "SELECT id FROM information_schema.processlist WHERE user = ? AND command LIKE 'Binlog Dump%'", user)
		if err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			ids = append(ids, row.Text("id"))
		}
		return len(ids) > 0
	})
	for _, id := range ids {
		_, _ = db.ExecContext(t.Context(), "KILL "+id) // which may have gone by itself
	}
}
