package topology

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/mysqlrw/mysqlrw/lag"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/status"
	"github.com/mysqlrw/mysqlrw/pkg/target"
	"github.com/mysqlrw/mysqlrw/waitpos"
)

// observation is what one server said in one check.
type observation struct {
	began    time.Time
	server   flavor.Server
	uuid     string // MySQL only
	id       uint32 // server_id
	readOnly bool
	position gtid.Value
	samples  []lag.Sample // nil if nobody asked
	denied   error        // why the channels cannot be seen

	// fresh: the connection is a new one, so the server may be a new one too.
	// started is its start by our clock, up to a second early.
	fresh   bool
	started time.Time
}

// identity names the server itself, whatever name it is reached by.
func (o *observation) identity() string {
	if o.uuid != "" {
		return o.uuid
	}
	return "server_id " + strconv.FormatUint(uint64(o.id), 10)
}

// follows tells whether the server certainly has a source.
func (o *observation) follows() bool { return len(o.samples) > 0 && !o.detached() }

// early tells whether the position may hold what the server's own readers do
// not see yet: it counts what it writes itself from the binary log, which a
// transaction is in before it is committed.
func (o *observation) early() bool {
	return !o.follows() && (o.server.Flavor == flavor.MariaDB || o.position.Kind() == gtid.KindLog)
}

// detached tells whether the server certainly has no source.
func (o *observation) detached() bool {
	return len(o.samples) == 1 && o.samples[0].Lag.Reason() == lag.NotAReplica
}

// link is the one connection over which a server is asked. It belongs to the
// server's goroutine.
type link struct {
	open   func() (*sql.DB, error)
	byLog  bool // positions of MySQL are places in binary logs
	db     *sql.DB
	conn   *sql.Conn
	server flavor.Server
	// fresh: no look has been made over conn yet; started is the start of its server, as observation has it.
	fresh   bool
	started time.Time
}

// close gives the connection up; the next look makes a new one.
func (l *link) close() {
	if l.conn != nil {
		_ = l.conn.Close() // the outcome of a look is known already
	}
	if l.db != nil {
		_ = l.db.Close()
	}
	l.db, l.conn, l.fresh = nil, nil, false
}

// look asks the server once. After an error the link is closed. With alone,
// replication is not asked about.
//
// A connection that broke since the last look says nothing about the server
// now: it is asked again over a new one.
func (l *link) look(ctx context.Context, now func() time.Time, o lag.Options, alone bool) (seen observation, err error) {
	err = l.again(func() error {
		seen = observation{began: now()}
		return l.ask(ctx, now, &seen, o, alone)
	})
	return seen, err
}

// again calls do, and once more if the connection that was there before turns out to be broken. After an
// error the link is closed.
func (l *link) again(do func() error) error {
	old := l.conn != nil
	err := do()
	if kind := target.Explain(err).Kind; old && (kind == target.Gone || kind == target.Killed) {
		l.close()
		err = do()
	}
	if err != nil {
		l.close()
	}
	return err
}

func (l *link) ask(ctx context.Context, now func() time.Time, seen *observation, o lag.Options, alone bool) (err error) {
	if err := l.connect(ctx, now); err != nil {
		return err
	}
	seen.fresh, seen.started, l.fresh = l.fresh, l.started, false
	seen.server = l.server
	if err := seen.readVariables(ctx, l.conn); err != nil {
		return err
	}
	// Before the lag: it is a lower bound of what the server has then.
	if seen.position, err = l.position(ctx, seen.uuid); err != nil || alone {
		return err
	}
	o.Wait = func(ctx context.Context, t waitpos.Target, w waitpos.Options) (waitpos.Result, error) {
		w.Timeout = min(w.Timeout, o.Budget)
		return waitpos.Wait(ctx, l.db, t, w)
	}
	seen.samples, err = lag.Measure(ctx, l.conn, o)
	var denied *status.PrivilegeError
	if errors.As(err, &denied) {
		seen.denied, err = denied, nil
	}
	return err
}

// position asks what the server has applied.
func (l *link) position(ctx context.Context, uuid string) (gtid.Value, error) {
	if !l.byLog || l.server.Flavor == flavor.MariaDB {
		return status.Executed(ctx, l.conn, l.server.Flavor)
	}
	at, err := status.LogPosition(ctx, l.conn, uuid)
	var denied *status.PrivilegeError
	if errors.As(err, &denied) { // the channels will tell
		err = nil
	}
	return at.Value(), err
}

// connect sees to it that there is a connection.
func (l *link) connect(ctx context.Context, now func() time.Time) (err error) {
	if l.conn != nil {
		return nil
	}
	if l.db, err = l.open(); err != nil {
		return fmt.Errorf("open: %w", err)
	}
	if l.conn, err = l.db.Conn(ctx); err != nil {
		return err
	}
	if l.server, err = status.Identify(ctx, l.conn); err != nil {
		return err
	}
	row, err := status.QueryRow(ctx, l.conn, "SHOW GLOBAL STATUS LIKE 'Uptime'")
	if err != nil {
		return fmt.Errorf("read uptime: %w", err)
	}
	seconds, err := strconv.ParseInt(row.Text("Value"), 10, 64)
	if err != nil {
		return fmt.Errorf("read uptime: %w", err)
	}
	l.fresh, l.started = true, now().Add(-time.Duration(seconds)*time.Second)
	return nil
}

func (o *observation) readVariables(ctx context.Context, q status.Querier) error {
	query := "SELECT @@GLOBAL.server_id AS id, @@GLOBAL.read_only AS ro"
	if o.server.Flavor != flavor.MariaDB {
		query += ", @@GLOBAL.super_read_only AS sro, @@GLOBAL.server_uuid AS uuid"
	}
	row, err := status.QueryRow(ctx, q, query)
	if err != nil {
		return fmt.Errorf("read variables: %w", err)
	}
	id, err := strconv.ParseUint(row.Text("id"), 10, 32)
	if err != nil {
		return fmt.Errorf("read server_id: %w", err)
	}
	o.id, o.uuid = uint32(id), row.Text("uuid")
	// Whatever is not certainly off is on: MariaDB 12 has words for kinds of it.
	o.readOnly = !isOff(row.Lookup("ro")) || o.server.Flavor != flavor.MariaDB && !isOff(row.Lookup("sro"))
	return nil
}

func isOff(value *string) bool { return value != nil && (*value == "0" || *value == "OFF") }
