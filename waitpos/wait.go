package waitpos

import (
	"context"
	"database/sql"
	"fmt"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/deadline"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/status"
)

// Options bound a wait. The zero value looks once and does not wait.
type Options struct {
	// Timeout is how long to wait at most. 0 looks once: it is never passed to
	// a server, where it would mean forever.
	Timeout time.Duration

	// Channel names the channel of a file position. "" is the only channel
	// there is; with several it must be named.
	Channel string

	// Source is what the source has and has lost, if the caller knows: with it
	// a target that can never arrive is told at once.
	Source *SourceState

	// Progress is called after each look that has not found the target, from
	// the goroutine of Wait.
	Progress func(Progress)
}

// Progress is how far a wait has come.
type Progress struct {
	Waited  time.Duration // since Wait was called
	Missing string        // the part of the target that is not applied yet
	Count   uint64        // transactions in Missing; 0 for a file position
}

// Result is the outcome of a wait.
type Result struct {
	Reached bool          // the server has all of the target
	AtOnce  bool          // reached at the first look
	Waited  time.Duration // until the position was reached, or given up
	Missing string        // "" if reached
	Count   uint64        // transactions in Missing; 0 for a file position
	Reason  Reason        // why it is not reached; NoReason if it is
	Detail  string        // what the server said about the reason, such as the applier's error
}

// longest is the longest single wait on a server that knows fractions of a
// second: an applier that stops is noticed after at most this long.
const longest = 500 * time.Millisecond

// grace is how long any answer may take, and how much longer than its slice a
// wait may, before the connection counts as dead.
const grace = 5 * time.Second

// rest is the shortest time between two looks. A wait function that answers at
// once although the position is not reached must not turn into a busy loop.
const rest = 20 * time.Millisecond

// errNoAnswer is what a server gets that accepts statements and stays silent.
var errNoAnswer = fmt.Errorf("the server has not answered within %s", grace)

// Wait blocks until the server has applied the target, the timeout has
// passed, it is clear that the target cannot arrive, or ctx ends. It uses one
// connection of db, and a second one to end the wait on the server when ctx
// ends. If db allows only one, that connection is dropped instead, and the
// server notices at the end of the slice, within a second.
//
// An error means that the server could not be asked, or that the target has
// no meaning there (ErrFlavor, ErrGTIDOff, ErrNoPositions, ErrChannel,
// gtid.ErrIncomparable); of the result only Waited means something then. The
// end of ctx is returned as its cause. The connection goes back to db with its
// statement time limit lifted.
func Wait(ctx context.Context, db *sql.DB, t Target, o Options) (Result, error) {
	w := &waiter{db: db, target: t, options: o, began: time.Now()}
	result, err := w.wait(ctx)
	if err == nil {
		return result, nil
	}
	if ctx.Err() != nil {
		err = context.Cause(ctx)
	}
	return Result{Waited: time.Since(w.began)}, err
}

// bounded runs a step that a living server does at once.
func bounded(ctx context.Context, step func(context.Context) error) error {
	limited, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	err := step(limited)
	if err != nil && limited.Err() != nil && ctx.Err() == nil {
		return errNoAnswer
	}
	return err
}

// waiter is one wait on one server.
type waiter struct {
	db      *sql.DB
	conn    *sql.Conn
	target  Target
	options Options
	began   time.Time

	identity     flavor.Server
	self         connection
	wholeSeconds bool   // the server's wait function knows no fractions
	group        bool   // a group replication member: applies without a channel
	channel      string // of a file position
}

// wait looks, and waits on the server between two looks.
func (w *waiter) wait(ctx context.Context) (_ Result, err error) {
	if w.conn, err = w.db.Conn(ctx); err != nil {
		return Result{}, err
	}
	defer w.conn.Close()
	if err := bounded(ctx, w.prepare); err != nil {
		return Result{}, err
	}
	for first := true; ; first = false {
		var l look
		if err := bounded(ctx, func(ctx context.Context) (err error) { l, err = w.examine(ctx); return err }); err != nil {
			return Result{}, err
		}
		waited := time.Since(w.began)
		result := Result{
			Reached: l.reached, AtOnce: l.reached && first, Waited: waited,
			Missing: l.missing, Count: l.count, Reason: l.reason, Detail: l.detail,
		}
		if l.reached || l.reason != NoReason {
			return result, nil
		}
		left := w.options.Timeout - waited
		if left <= 0 {
			result.Reason = Timeout
			return result, nil
		}
		if w.options.Progress != nil {
			w.options.Progress(Progress{waited, l.missing, l.count})
		}
		if err := w.sleep(ctx, l, left); err != nil {
			return Result{}, err
		}
	}
}

// prepare learns what is waited on, and makes sure that the target means
// something there.
func (w *waiter) prepare(ctx context.Context) (err error) {
	if w.identity, err = status.Identify(ctx, w.conn); err != nil {
		return err
	}
	if w.self, err = whoami(ctx, w.conn); err != nil {
		return err
	}
	// MySQL 5.7 and early 8.0 cut fractions off, and MariaDB's wait for a file
	// position rounds them: 0.2 becomes 0, which is forever on all of them.
	w.wholeSeconds = w.identity.Flavor == flavor.MySQL && !w.identity.Version.AtLeast(8, 4, 0) ||
		w.identity.Flavor == flavor.MariaDB && !w.target.file.IsZero()
	unlimited := "SET SESSION max_execution_time = 0"
	if w.identity.Flavor == flavor.MariaDB {
		unlimited = "SET SESSION max_statement_time = 0"
	}
	if _, err = w.conn.ExecContext(ctx, unlimited); err != nil && !status.IsMissing(err) {
		return fmt.Errorf("lift the statement time limit: %w", err)
	}
	if !w.target.file.IsZero() {
		return w.prepareFile(ctx)
	}
	return w.prepareGTIDs(ctx)
}

func (w *waiter) prepareGTIDs(ctx context.Context) error {
	if w.target.gtids.IsEmpty() {
		return nil
	}
	kind := w.target.gtids.Kind()
	if (kind == gtid.KindDomain) != (w.identity.Flavor == flavor.MariaDB) {
		return fmt.Errorf("%w: it is a %s, the server is %s", ErrFlavor, kind, w.identity.Text)
	}
	if w.identity.Flavor == flavor.MariaDB {
		return nil
	}
	row, err := status.QueryRow(ctx, w.conn, "SELECT @@GLOBAL.gtid_mode AS mode")
	if err != nil {
		return err
	}
	if row.Text("mode") == "OFF" {
		return ErrGTIDOff
	}
	role, err := status.GroupRole(ctx, w.conn, w.identity.Flavor)
	w.group = role != ""
	return err
}

// prepareFile finds the channel that a file position is about.
func (w *waiter) prepareFile(ctx context.Context) error {
	channels, err := status.Channels(ctx, w.conn, w.identity.Flavor)
	if err != nil || len(channels) == 0 {
		return err
	}
	if w.options.Channel == "" && len(channels) > 1 {
		return fmt.Errorf("%w given, and this replica has %s: name one", ErrChannel, channelNames(channels))
	}
	c := findChannel(channels, w.options.Channel)
	if c == nil {
		return fmt.Errorf("%w as '%s': this replica has %s", ErrChannel, w.options.Channel, channelNames(channels))
	}
	w.channel = c.Name
	if w.identity.Flavor != flavor.MySQL {
		return nil
	}
	only, err := status.GTIDOnly(ctx, w.conn, c.Name)
	if err == nil && only {
		err = ErrNoPositions
	}
	return err
}

// sleep waits on the server for a slice of what is left, and returns early if
// the target is reached. What the server answers is not looked at.
func (w *waiter) sleep(ctx context.Context, l look, left time.Duration) error {
	began := time.Now()
	d := w.slice(left)
	if d == 0 {
		return deadline.Pause(ctx, min(left, 2*rest))
	}
	statements, args := w.waitStatement(l, d)
	err := w.interruptible(ctx, d+grace, func(ctx context.Context) error {
		_, err := status.Ladder(ctx, w.conn, statements, args...)
		return err
	})
	if err != nil {
		return err
	}
	return deadline.Pause(ctx, min(rest, left)-time.Since(began))
}

// slice returns how long to wait on the server, 0 for not there: what would
// reach it as 0 seconds means forever.
func (w *waiter) slice(left time.Duration) time.Duration {
	switch {
	case w.wholeSeconds && left >= time.Second:
		return time.Second
	case !w.wholeSeconds && left >= rest:
		return min(left, longest)
	default:
		return 0
	}
}

// waitStatement returns the server's wait function in its spellings. Only what
// is missing is waited for: what a MariaDB server wrote itself is applied there
// and still never reaches the position that its function looks at.
//
// Seconds go over as a decimal; the channel is named only if there is a name,
// since a NULL one makes MySQL keep a lock.
func (w *waiter) waitStatement(l look, d time.Duration) (statements []string, args []any) {
	seconds := fmt.Sprintf("%.3f", d.Seconds())
	if w.target.file.IsZero() {
		return []string{"SELECT " + flavor.GTIDWait(w.identity.Flavor)}, []any{l.gtids.String(), seconds}
	}
	args = []any{w.target.file.File, w.target.file.Offset, seconds}
	if w.channel != "" {
		args = append(args, w.channel)
	}
	for _, s := range flavor.PositionWait(w.identity.Flavor, w.channel != "") {
		statements = append(statements, "SELECT "+s)
	}
	return statements, args
}
