package lag

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/status"
	"github.com/mysqlrw/mysqlrw/waitpos"
)

// byWaiting measures lag as the time until the replica has applied what its
// source has at the start. It needs one clock, sees everything that can keep a
// transaction back, and works on every server; it takes as long as the lag is.
func (m *measurer) byWaiting(ctx context.Context, s *Sample, c *status.Channel) error {
	if !m.canWait() {
		s.Lag, s.Detail = Unknown(SourceUnreachable), "the method "+s.Method.String()+" needs the source: give --source"
		return nil
	}
	source, err := m.options.Source(ctx, c)
	if err != nil {
		return m.noSource(ctx, s, err)
	}
	began := time.Now()
	target, err := m.sourcePosition(ctx, source, s.Method)
	if err != nil {
		return m.noSource(ctx, s, err)
	}
	budget := m.options.Budget
	result, err := m.options.Wait(ctx, target, waitpos.Options{
		Timeout: budget, Channel: c.Name,
		Progress: func(p waitpos.Progress) {
			if s.Method == GTID && p.Count > 0 {
				s.Behind = max64(s.Behind, p.Count)
			}
		},
	})
	s.Receive, s.Apply = Unknown(NotMeasured), Unknown(NotMeasured)
	if meaningless(err) {
		s.Lag, s.Detail = Unknown(MethodUnavailable), err.Error()
		return nil
	}
	if err != nil {
		return err
	}
	switch {
	case result.Reached && result.AtOnce:
		zero := uint64(0)
		s.Behind = &zero
		s.Lag, s.Receive, s.Apply = Known(0), Known(0), Known(0)
	case result.Reached:
		s.Lag = Known(time.Since(began)).minus(s.Delay)
	default:
		s.Lag = MoreThan(result.Waited-s.Delay, reasonOf(result.Reason))
		s.Detail = result.Detail
		if s.Detail == "" {
			s.Detail = fmt.Sprintf("not applied within %s: %s", budget, result.Missing)
		}
		if s.Method == GTID {
			s.Behind = max64(s.Behind, result.Count)
		}
	}
	return nil
}

// max64 keeps the largest count seen: the gap at the start is the news, not
// what was left of it at the end.
func max64(have *uint64, n uint64) *uint64 {
	if have != nil && *have > n {
		return have
	}
	return &n
}

func reasonOf(r waitpos.Reason) Reason {
	switch r {
	case waitpos.ApplierStopped:
		return ApplierStopped
	case waitpos.ReceiverStopped:
		return ReceiverStopped
	case waitpos.NotAReplica:
		return NotAReplica
	default:
		return BehindSource
	}
}

// noSource makes a source that does not answer the sample's reason; only the
// end of the whole measurement is an error.
func (m *measurer) noSource(ctx context.Context, s *Sample, err error) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	s.Lag, s.Detail = Unknown(SourceUnreachable), err.Error()
	if meaningless(err) {
		s.Lag = Unknown(MethodUnavailable)
	}
	return nil
}

// meaningless reports whether a source or a replica answered, and what was
// asked has no meaning there.
func meaningless(err error) bool {
	return waitpos.Misplaced(err) || errors.Is(err, status.ErrNoBinaryLog)
}

// sourcePosition returns what the source has now, as the method counts it.
func (m *measurer) sourcePosition(ctx context.Context, source status.Querier, method Method) (waitpos.Target, error) {
	identity, err := status.Identify(ctx, source)
	if err != nil {
		return waitpos.Target{}, err
	}
	if identity.Flavor != m.identity.Flavor {
		return waitpos.Target{}, fmt.Errorf("%w: the source is %s", waitpos.ErrFlavor, identity.Text)
	}
	if method == Position {
		p, err := status.BinaryLog(ctx, source, identity.Flavor)
		if err != nil {
			return waitpos.Target{}, err
		}
		return waitpos.FilePosition(p)
	}
	if err := counts(ctx, source, identity.Flavor); err != nil {
		return waitpos.Target{}, err
	}
	v, err := status.Sendable(ctx, source, identity.Flavor)
	return waitpos.GTIDs(v), err
}

// counts returns an error if a source does not give every new transaction a
// GTID: its position would stand still, and everyone would seem to have it.
func counts(ctx context.Context, source status.Querier, f flavor.Flavor) error {
	query, reason := "SELECT @@GLOBAL.gtid_mode AS v", waitpos.ErrGTIDOff
	if f == flavor.MariaDB {
		query, reason = "SELECT @@GLOBAL.log_bin AS v", status.ErrNoBinaryLog
	}
	row, err := status.QueryRow(ctx, source, query)
	if err != nil {
		return fmt.Errorf("read the source's GTID mode: %w", err)
	}
	switch row.Text("v") {
	case "0", "OFF", "OFF_PERMISSIVE":
		return reason
	default:
		return nil
	}
}
