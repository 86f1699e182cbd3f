package lag

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/status"
)

// HeartbeatTable is a table with a row that is written on the primary at an
// interval, as pt-heartbeat and mysqlrw heartbeat do. The zero value is none.
type HeartbeatTable struct {
	Name     string        // database.table
	ServerID uint32        // whose row to read; 0: the channel's source
	UTC      bool          // the text in it is in UTC, not in the server's time zone
	Interval time.Duration // how often it is written: an age up to this is no lag; 0 counts every age
}

// ErrTableName is returned for a table name that is not database.table.
var ErrTableName = errors.New("a heartbeat table is named database.table")

var tableName = regexp.MustCompile(`^([^.` + "`" + `\x00]+)\.([^.` + "`" + `\x00]+)$`)

// QuoteTable returns database.table with both names in back quotes.
func QuoteTable(name string) (string, error) {
	parts := tableName.FindStringSubmatch(name)
	if parts == nil {
		return "", fmt.Errorf("%w, not %q", ErrTableName, name)
	}
	return "`" + parts[1] + "`.`" + parts[2] + "`", nil
}

// staleAfter is the age of a source's own row beyond which its writer counts
// as down.
const staleAfter = 10 * time.Second

// heartbeat measures the age of the newest heartbeat that has arrived.
func (m *measurer) heartbeat(ctx context.Context, s *Sample, c *status.Channel) error {
	s.Receive, s.Apply = Unknown(NotMeasured), Unknown(NotMeasured)
	if err := m.countPending(ctx, s, c); err != nil {
		return err
	}
	table := m.options.HeartbeatTable
	if table.ServerID == 0 {
		table.ServerID = c.SourceServerID
	}
	age, err := heartbeatAge(ctx, m.q, table)
	switch {
	case errors.Is(err, errNoRow):
		s.Lag, s.Detail = Unknown(NoHeartbeat), err.Error()
		return nil
	case status.IsMissing(err) || status.IsDenied(err):
		s.Lag, s.Detail = Unknown(NoHeartbeat), fmt.Sprintf("cannot read %s: %v", table.Name, err)
		return nil
	case err != nil:
		return err
	}
	if age < -time.Second {
		s.Lag = Unknown(HeartbeatInFuture)
		s.Detail = fmt.Sprintf("the heartbeat is %s ahead of the replica's clock: "+
			"different clocks, or a table in UTC read as local time", -age)
		return nil
	}
	if m.options.Source != nil {
		if stale, err := m.staleWriter(ctx, s, c, table); stale || err != nil {
			return err
		}
	}
	s.Lag = Known(age - table.Interval).minus(s.Delay)
	return nil
}

// staleWriter asks the source how old its own row is. A source that cannot be
// asked leaves the measurement as it is.
func (m *measurer) staleWriter(ctx context.Context, s *Sample, c *status.Channel, table HeartbeatTable) (bool, error) {
	source, err := m.options.Source(ctx, c)
	if err != nil {
		return false, nil
	}
	age, err := heartbeatAge(ctx, source, table)
	if ctx.Err() != nil {
		return false, context.Cause(ctx)
	}
	if err != nil || age < staleAfter+10*table.Interval {
		return false, nil
	}
	s.Lag = Unknown(HeartbeatStale)
	s.Detail = fmt.Sprintf("the source's own heartbeat is %s old: its writer is down", age.Round(time.Millisecond))
	return true, nil
}

var errNoRow = errors.New("no heartbeat row")

// heartbeatAge reads one row's age by the clock of the server that is asked.
func heartbeatAge(ctx context.Context, q status.Querier, table HeartbeatTable) (time.Duration, error) {
	quoted, err := QuoteTable(table.Name)
	if err != nil {
		return 0, err
	}
	rows, err := status.Query(ctx, q, "SELECT ts, NOW(6) AS here, UTC_TIMESTAMP(6) AS utc, UNIX_TIMESTAMP(NOW(6)) AS epoch FROM "+
		quoted+" WHERE server_id = ?", table.ServerID)
	if err != nil {
		return 0, err
	}
	if len(rows) == 0 {
		return 0, fmt.Errorf("%w of server_id %d in %s", errNoRow, table.ServerID, table.Name)
	}
	row := rows[0]
	clock := row.Text("here")
	if table.UTC {
		clock = row.Text("utc")
	}
	return rowAge(row.Text("ts"), clock, row.Text("epoch"))
}

// rowAge compares a heartbeat with a clock. The row's text is a date and time
// with a space or a T between them, in the clock's time zone, or a number of
// seconds since the epoch.
func rowAge(ts, clock, epoch string) (time.Duration, error) {
	if beat, err := strconv.ParseFloat(ts, 64); err == nil {
		now, err := strconv.ParseFloat(epoch, 64)
		return time.Duration((now - beat) * float64(time.Second)), err
	}
	beat, err := parseClock(ts)
	if err != nil {
		return 0, err
	}
	now, err := parseClock(clock)
	return now.Sub(beat), err
}

func parseClock(text string) (time.Time, error) {
	t, err := time.Parse("2006-01-02 15:04:05", strings.TrimSuffix(strings.Replace(text, "T", " ", 1), "Z"))
	if err != nil {
		return t, fmt.Errorf("heartbeat %q is no date and time", text)
	}
	return t, nil
}
