package lag

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/status"
)

// HeartbeatTable is a table with a row that is written on the primary at an
// interval, as pt-heartbeat and mysqlrw heartbeat do. The zero value is none.
type HeartbeatTable struct {
	Name     string        // database.table
	ServerID uint32        // whose row to read; 0: the channel's source
	UTC      bool          // the text in it is in UTC; a column of type TIMESTAMP never is
	Interval time.Duration // how often it is written: an age up to this is no lag; 0 counts every age
}

// ErrTableName is returned for a table name that is not database.table.
var ErrTableName = errors.New("a heartbeat table is named database.table")

var tableName = regexp.MustCompile(`^([^.` + "`" + `\x00]+)\.([^.` + "`" + `\x00]+)$`)

// QuoteTable returns database.table with both names in back quotes, or ErrTableName: it is how a name is checked
// before a server is asked.
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
	case errors.Is(err, errNoRow), errors.Is(err, errNoTime):
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

var (
	errNoRow  = errors.New("no heartbeat row")
	errNoTime = errors.New("no date and time")
)

// heartbeatAge reads one row's age by the clock of the server that is asked.
func heartbeatAge(ctx context.Context, q status.Querier, table HeartbeatTable) (time.Duration, error) {
	quoted, err := QuoteTable(table.Name)
	if err != nil {
		return 0, err
	}
	// As text: a driver that parses times would take them for UTC.
	rows, err := status.Query(ctx, q, "SELECT CAST(ts AS CHAR) AS ts, CAST(NOW(6) AS CHAR) AS here,"+
		" CAST(UTC_TIMESTAMP(6) AS CHAR) AS utc FROM "+quoted+" WHERE server_id = ?", table.ServerID)
	if err != nil {
		return 0, err
	}
	if len(rows) == 0 {
		return 0, fmt.Errorf("%w of server_id %d in %s", errNoRow, table.ServerID, table.Name)
	}
	here, err := parseClock(rows[0].Text("here"))
	if err != nil {
		return 0, err
	}
	utc, err := parseClock(rows[0].Text("utc"))
	if err != nil {
		return 0, err
	}
	if table.UTC {
		here = utc
	}
	return rowAge(rows[0].Text("ts"), here, utc)
}

// rowAge compares a heartbeat with the clock: here in the time zone in which
// the row is written, utc in UTC. The row's text is a date and time with a
// space or a T between them, which may name its own time zone as RFC 3339 has
// it, or a number of seconds since the epoch.
func rowAge(ts string, here, utc time.Time) (time.Duration, error) {
	if beat, ok := parseEpoch(ts); ok {
		return utc.Sub(beat), nil
	}
	if beat, err := time.Parse(time.RFC3339, ts); err == nil {
		return utc.Sub(beat), nil
	}
	beat, err := parseClock(ts)
	return here.Sub(beat), err
}

// parseEpoch reads seconds since the epoch, with decimals or without.
func parseEpoch(text string) (time.Time, bool) {
	micros, ok := parseDecimal(text)
	const year9999 = 253_402_300_800_000_000
	if !ok || micros <= 0 || micros >= year9999 {
		return time.Time{}, false
	}
	return time.UnixMicro(micros), true
}

// parseClock reads a date and time as servers and pt-heartbeat write it.
func parseClock(text string) (time.Time, error) {
	t, err := time.Parse(time.DateTime, strings.Replace(text, "T", " ", 1))
	if err != nil {
		return t, fmt.Errorf("%w: heartbeat %q", errNoTime, text)
	}
	return t, nil
}
