package lag

import (
	"context"
	"strconv"
	"strings"
	"time"

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
}

// timestampsQuery reads one row per worker of each channel. Only some joins
// have a row in every setup: a single-threaded replica has no coordinator.
const timestampsQuery = `SELECT c.CHANNEL_NAME AS channel,
  UNIX_TIMESTAMP(NOW(6)) AS now_s,
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

// timestamps measures by the commit times that travel with each transaction.
// c is nil for a replication group's applier.
func (m *measurer) timestamps(ctx context.Context, s *Sample, c *status.Channel) error {
	rows, err := status.Query(ctx, m.q, timestampsQuery, s.Channel)
	switch {
	case status.IsDenied(err):
		s.Lag, s.Detail = Unknown(MethodUnavailable), "no privilege to read performance_schema.replication_*"
		return nil
	case status.IsMissing(err) || err == nil && len(rows) == 0:
		s.Lag, s.Detail = Unknown(MethodUnavailable), "the server has no commit timestamps in performance_schema"
		return nil
	case err != nil:
		return err
	}
	t, err := parseTimes(rows)
	if err != nil {
		return err
	}
	anonymous := c != nil && !c.AutoPosition && t.pending.IsEmpty()
	t.counted = c == nil || c.AutoPosition || !t.pending.IsEmpty()
	unapplied := false
	if anonymous {
		order, err := c.Exec.Compare(c.Read)
		unapplied = err == nil && order < 0
	}
	t.judge(s, unapplied)
	return nil
}

func parseTimes(rows []status.Row) (channelTimes, error) {
	first := rows[0]
	t := channelTimes{
		now:        parseStamp(first.Text("now_s")),
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

// parseStamp reads UNIX_TIMESTAMP's seconds with six decimals.
func parseStamp(text string) stamp {
	whole, fraction, _ := strings.Cut(text, ".")
	seconds, err := strconv.ParseInt(whole, 10, 64)
	if err != nil {
		return 0
	}
	fraction = (fraction + "000000")[:6]
	micros, err := strconv.ParseInt(fraction, 10, 64)
	if err != nil {
		return 0
	}
	return stamp(seconds*1_000_000 + micros)
}
