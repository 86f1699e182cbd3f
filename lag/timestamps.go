package lag

import (
	"context"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/deadline"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/status"
)

// groupApplier is the channel of a replication group's members.
const groupApplier = "group_replication_applier"

// stamp is a moment on some server's clock, in microseconds since the epoch;
// 0 is unset. MySQL's zero date reads as 0.
type stamp int64

// transaction is one transaction on its way, as performance_schema shows it.
type transaction struct {
	gtid      string // "" is none; ANONYMOUS with GTIDs off
	original  stamp  // commit where it was first written
	immediate stamp  // commit on the direct source
	at        stamp  // start of the work on it here, or its end for a last one
}

func (t transaction) busy() bool { return t.gtid != "" }

// committed is when the transaction became visible where it was written. The
// original time is missing if that server is older than 8.0.1.
func (t transaction) committed() stamp {
	if t.original != 0 {
		return t.original
	}
	return t.immediate
}

// transport is how long a transaction that was queued last has taken to come
// from its source, 0 if the two moments are not known.
func (t transaction) transport() time.Duration {
	if t.immediate == 0 || t.at == 0 {
		return 0
	}
	return time.Duration(t.at-t.immediate) * time.Microsecond
}

// channelTimes is what performance_schema shows of one channel at one moment.
type channelTimes struct {
	now         stamp // the replica's clock
	heartbeat   stamp // last heartbeat received
	interval    time.Duration
	lastQueued  transaction
	queueing    transaction
	processing  transaction // by the coordinator; none on a single-threaded replica
	applying    []transaction
	lastApplied []transaction
	pending     gtid.Set // received and not executed
	counted     bool     // pending counts: the channel uses GTIDs
	unapplied   bool     // a channel without GTIDs has received more than it has executed
	started     stamp    // start of the receiver, which is up to a second later; 0 if it cannot be told
}

// timestampsQuery reads one row per worker of a channel. Only some joins have
// a row in every setup: a single-threaded replica has no coordinator. The
// server's clock is asked for in UTC: local time has an hour twice a year that
// UNIX_TIMESTAMP cannot tell from the one before.
const timestampsQuery = `SELECT c.CHANNEL_NAME AS channel, @@GLOBAL.performance_schema AS enabled,
  TIMESTAMPDIFF(MICROSECOND, '1970-01-01', UTC_TIMESTAMP(6)) AS now_us,
  UNIX_TIMESTAMP(c.LAST_HEARTBEAT_TIMESTAMP) AS heartbeat_s,
  cc.HEARTBEAT_INTERVAL AS heartbeat_interval,
  c.LAST_QUEUED_TRANSACTION AS queued,
  UNIX_TIMESTAMP(c.LAST_QUEUED_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP) AS queued_original_s,
  UNIX_TIMESTAMP(c.LAST_QUEUED_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP) AS queued_immediate_s,
  UNIX_TIMESTAMP(c.LAST_QUEUED_TRANSACTION_END_QUEUE_TIMESTAMP) AS queued_at_s,
  c.QUEUEING_TRANSACTION AS queueing,
  UNIX_TIMESTAMP(c.QUEUEING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP) AS queueing_original_s,
  UNIX_TIMESTAMP(c.QUEUEING_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP) AS queueing_immediate_s,
  UNIX_TIMESTAMP(c.QUEUEING_TRANSACTION_START_QUEUE_TIMESTAMP) AS queueing_at_s,
  co.PROCESSING_TRANSACTION AS processing,
  UNIX_TIMESTAMP(co.PROCESSING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP) AS processing_original_s,
  UNIX_TIMESTAMP(co.PROCESSING_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP) AS processing_immediate_s,
  UNIX_TIMESTAMP(co.PROCESSING_TRANSACTION_START_BUFFER_TIMESTAMP) AS processing_at_s,
  w.APPLYING_TRANSACTION AS applying,
  UNIX_TIMESTAMP(w.APPLYING_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP) AS applying_original_s,
  UNIX_TIMESTAMP(w.APPLYING_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP) AS applying_immediate_s,
  UNIX_TIMESTAMP(w.APPLYING_TRANSACTION_START_APPLY_TIMESTAMP) AS applying_at_s,
  w.LAST_APPLIED_TRANSACTION AS applied,
  UNIX_TIMESTAMP(w.LAST_APPLIED_TRANSACTION_ORIGINAL_COMMIT_TIMESTAMP) AS applied_original_s,
  UNIX_TIMESTAMP(w.LAST_APPLIED_TRANSACTION_IMMEDIATE_COMMIT_TIMESTAMP) AS applied_immediate_s,
  UNIX_TIMESTAMP(w.LAST_APPLIED_TRANSACTION_END_APPLY_TIMESTAMP) AS applied_at_s,
  GTID_SUBTRACT(c.RECEIVED_TRANSACTION_SET, @@GLOBAL.gtid_executed) AS pending
FROM performance_schema.replication_connection_status c
LEFT JOIN performance_schema.replication_connection_configuration cc USING (CHANNEL_NAME)
LEFT JOIN performance_schema.replication_applier_status_by_coordinator co USING (CHANNEL_NAME)
LEFT JOIN performance_schema.replication_applier_status_by_worker w USING (CHANNEL_NAME)
WHERE c.CHANNEL_NAME = ?`

// A transaction that is received and in nobody's hand is looked at again: it
// is between two hands for a moment only, unless the applier has just begun.
const (
	looks     = 5
	lookAgain = 20 * time.Millisecond
)

// timestamps measures by the commit times that travel with each transaction.
// c is nil for a replication group's applier.
func (m *measurer) timestamps(ctx context.Context, s *Sample, c *status.Channel) error {
	for look := 1; ; look++ {
		t, why, err := m.readTimes(ctx, s.Channel, c)
		if err != nil {
			return err
		}
		if t == nil {
			s.Lag, s.Detail = Unknown(MethodUnavailable), why
			return nil
		}
		if !t.inNobodysHand() || look == looks {
			t.judge(s)
			return nil
		}
		if err := deadline.Pause(ctx, lookAgain); err != nil {
			return err
		}
	}
}

// readTimes reads what performance_schema shows of a channel, nil and the
// reason if it shows nothing.
func (m *measurer) readTimes(ctx context.Context, channel string, c *status.Channel) (*channelTimes, string, error) {
	rows, err := status.Query(ctx, m.q, timestampsQuery, channel)
	switch {
	case status.IsDenied(err):
		return nil, "no privilege to read performance_schema.replication_*", nil
	case status.IsMissing(err) || err == nil && len(rows) == 0:
		return nil, "the server has no commit timestamps in performance_schema", nil
	case err != nil:
		return nil, "", err
	}
	if rows[0].Text("enabled") == "0" {
		// Transactions have their commit times all the same, but nothing tells
		// when the receiver has last heard from its source, or has started.
		return nil, "performance_schema is off", nil
	}
	t, err := parseTimes(rows)
	if err != nil {
		return nil, "", err
	}
	t.counted = c == nil || c.AutoPosition || !t.pending.IsEmpty()
	if c == nil {
		return &t, "", nil
	}
	t.unapplied = !t.counted && behindFile(c)
	age, known, err := m.receiverAge(ctx, channel)
	if known {
		t.started = t.now - stamp(age/time.Microsecond)
	}
	return &t, "", err
}

func parseTimes(rows []status.Row) (channelTimes, error) {
	first := rows[0]
	t := channelTimes{
		now:        parseMicros(first.Text("now_us")),
		heartbeat:  parseStamp(first.Text("heartbeat_s")),
		lastQueued: parseTransaction(first, "queued"),
		queueing:   parseTransaction(first, "queueing"),
		processing: parseTransaction(first, "processing"),
	}
	if seconds, err := strconv.ParseFloat(first.Text("heartbeat_interval"), 64); err == nil {
		t.interval = time.Duration(seconds * float64(time.Second))
	}
	for _, row := range rows {
		if applying := parseTransaction(row, "applying"); applying.busy() {
			t.applying = append(t.applying, applying)
		}
		if applied := parseTransaction(row, "applied"); applied.busy() {
			t.lastApplied = append(t.lastApplied, applied)
		}
	}
	var err error
	t.pending, err = gtid.Parse(first.Text("pending"))
	return t, err
}

func parseTransaction(row status.Row, prefix string) transaction {
	return transaction{
		gtid:      row.Text(prefix),
		original:  parseStamp(row.Text(prefix + "_original_s")),
		immediate: parseStamp(row.Text(prefix + "_immediate_s")),
		at:        parseStamp(row.Text(prefix + "_at_s")),
	}
}

// parseMicros reads whole microseconds.
func parseMicros(text string) stamp {
	micros, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return stamp(micros)
}

// parseStamp reads UNIX_TIMESTAMP's seconds with six decimals.
func parseStamp(text string) stamp {
	micros, _ := parseDecimal(text)
	return stamp(micros)
}

// parseDecimal reads a number of seconds without a sign as microseconds; what
// is finer than that is cut off.
func parseDecimal(text string) (micros int64, ok bool) {
	whole, fraction, _ := strings.Cut(text, ".")
	seconds, err := strconv.ParseUint(whole, 10, 63)
	if err != nil || seconds > math.MaxInt64/2_000_000 {
		return 0, false
	}
	fraction = (fraction + "000000")[:6]
	rest, err := strconv.ParseUint(fraction, 10, 63)
	if err != nil {
		return 0, false
	}
	return int64(seconds)*1_000_000 + int64(rest), true
}
