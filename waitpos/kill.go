package waitpos

import (
	"context"
	"database/sql/driver"
	"fmt"
	"strconv"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/status"
)

// killLimit is how long the kill of a statement may take.
const killLimit = time.Second

// connection is a connection as its server knows it.
type connection struct {
	id     uint64
	server string // the same for every connection to that server
}

func whoami(ctx context.Context, q status.Querier) (connection, error) {
	row, err := status.QueryRow(ctx, q,
		"SELECT CONNECTION_ID() AS id, CONCAT_WS('/', @@hostname, @@port, @@server_id) AS server")
	if err != nil {
		return connection{}, fmt.Errorf("read connection id: %w", err)
	}
	id, err := strconv.ParseUint(row.Text("id"), 10, 64)
	if err != nil {
		return connection{}, fmt.Errorf("read connection id: %w", err)
	}
	return connection{id, row.Text("server")}, nil
}

// interruptible runs a statement that blocks on the server. When ctx ends,
// the statement is killed there, so that nothing is left running; only if
// that does not help is the connection dropped.
//
// A connection whose statement was killed does not go back to the pool: the
// kill may have come after the statement's end and would hit the next one.
func (w *waiter) interruptible(ctx context.Context, limit time.Duration, run func(context.Context) error) error {
	queryCtx, cancel := context.WithTimeout(context.WithoutCancel(ctx), limit)
	defer cancel()
	killed := make(chan struct{})
	stop := context.AfterFunc(ctx, func() {
		defer close(killed)
		killCtx, done := context.WithTimeout(queryCtx, killLimit)
		defer done()
		if !w.kill(killCtx) {
			cancel()
		}
	})
	err := run(queryCtx)
	if !stop() {
		<-killed
		_ = w.conn.Raw(func(any) error { return driver.ErrBadConn })
		return context.Cause(ctx)
	}
	if err != nil && queryCtx.Err() != nil {
		return errNoAnswer
	}
	return err
}

// kill ends the statement of w.conn by a second connection, and reports
// whether it could. Behind one address may be several servers: an id of one
// must not be killed on another.
func (w *waiter) kill(ctx context.Context) bool {
	if s := w.db.Stats(); s.MaxOpenConnections > 0 && s.InUse >= s.MaxOpenConnections {
		return false
	}
	conn, err := w.db.Conn(ctx)
	if err != nil {
		return false
	}
	defer conn.Close()
	other, err := whoami(ctx, conn)
	if err != nil || other.server != w.self.server {
		return false
	}
	_, err = conn.ExecContext(ctx, fmt.Sprintf("KILL QUERY %d", w.self.id))
	return err == nil
}
