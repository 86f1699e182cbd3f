package lag

import (
	"context"
	"fmt"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/status"
	"github.com/mysqlrw/mysqlrw/waitpos"
)

// seconds reads Seconds_Behind_Source. The server shows 0 in states that are
// no such thing (a restart with a full relay log, a checkpoint of parallel
// workers), so a 0 counts only once everything received has been applied.
func (m *measurer) seconds(ctx context.Context, s *Sample, c *status.Channel) error {
	if err := m.countPending(ctx, s, c); err != nil {
		return err
	}
	s.Receive = Unknown(NotMeasured)
	if c.SecondsBehind == nil {
		s.Lag, s.Apply = Unknown(NoValue), Unknown(NoValue)
		s.Detail = "Seconds_Behind_Source is NULL"
		return nil
	}
	d := time.Duration(*c.SecondsBehind) * time.Second
	if d > 0 {
		s.Lag = Known(d).minus(s.Delay)
		s.Apply = s.Lag
		return nil
	}
	target, pending := unapplied(c)
	if pending && s.Delay > 0 && c.RemainingDelay != nil {
		pending = false // held back on purpose
	}
	if pending {
		applied, err := m.appliedSoon(ctx, target, c)
		if err != nil {
			return err
		}
		if !applied {
			s.Lag, s.Apply = Unknown(Backlog), Unknown(Backlog)
			s.Detail = fmt.Sprintf("Seconds_Behind_Source is 0, but %s is received and not applied", target)
			return nil
		}
	}
	starting, err := m.starting(ctx, c.Name)
	if starting {
		s.Lag, s.Apply = Unknown(ReceiverStarting), Unknown(ReceiverStarting)
		s.Detail = "Seconds_Behind_Source is 0, but the receiver has just started: what it will bring is not known yet"
		return err
	}
	s.Lag, s.Apply = Known(0), Known(0)
	return err
}

// unapplied returns the end of what a channel has received, and whether the
// applier is not there yet.
func unapplied(c *status.Channel) (waitpos.Target, bool) {
	if c.AutoPosition && !c.Retrieved.IsEmpty() {
		executed, err := gtid.Parse(c.Fields.Text("Executed_Gtid_Set"))
		if err == nil {
			missing := c.Retrieved.Subtract(executed)
			return waitpos.GTIDs(missing.Value()), !missing.IsEmpty()
		}
	}
	if c.UsingGTID && !c.ReceiverGTID.IsEmpty() {
		applied, err := gtid.ParseDomainPos(c.Fields.Text("Gtid_Replica_Pos"))
		if err == nil && c.Fields.Lookup("Gtid_Replica_Pos") != nil {
			return waitpos.GTIDs(c.ReceiverGTID.Value()), !applied.Reached(c.ReceiverGTID)
		}
	}
	target, err := waitpos.FilePosition(c.Read)
	if err != nil {
		return waitpos.Target{}, false
	}
	return target, behindFile(c)
}

// behindFile reports whether a channel has received more than it has executed,
// by binary log position. Positions that cannot be compared, because the
// applier has not begun or the source's log has got another name, are not the
// same one.
func behindFile(c *status.Channel) bool {
	if c.Read.IsZero() {
		return false
	}
	order, err := c.Exec.Compare(c.Read)
	return err != nil || order < 0
}

// appliedSoon gives a busy applier a second, the resolution of this method, to
// apply what was received before.
func (m *measurer) appliedSoon(ctx context.Context, t waitpos.Target, c *status.Channel) (bool, error) {
	if m.options.Wait == nil {
		return false, nil
	}
	result, err := m.options.Wait(ctx, t, waitpos.Options{Timeout: time.Second, Channel: c.Name})
	if meaningless(err) {
		return false, nil
	}
	return result.Reached, err
}
