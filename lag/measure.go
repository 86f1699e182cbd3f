package lag

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/status"
	"github.com/mysqlrw/mysqlrw/waitpos"
)

// Options choose how to measure. The zero value measures with what the
// replica alone can tell.
type Options struct {
	// Method is the only one that is tried; Auto chooses for each channel.
	Method Method

	// Source returns the source of a channel, open for queries. nil means that
	// sources are not asked. The methods gtid and position need it; auto uses
	// it to see what the replica has not received yet.
	Source func(context.Context, *status.Channel) (status.Querier, error)

	// Wait waits on the replica until it has applied a target, as waitpos.Wait
	// does. The methods gtid and position need it; seconds uses it, for a
	// second at most, to tell a busy applier from a stuck one.
	Wait func(context.Context, waitpos.Target, waitpos.Options) (waitpos.Result, error)

	// Budget is how long gtid and position wait at most.
	Budget time.Duration

	// HeartbeatTable is read by the method heartbeat, which Auto takes if there is one.
	HeartbeatTable HeartbeatTable
}

// Sample is one measurement of one channel.
type Sample struct {
	Channel string // "" is the default channel
	Source  string // host:port of the channel's source
	Lag     Lag    // beyond the configured delay
	Method  Method // the one that gave Lag; Auto if none was needed to know that it is unknown
	Detail  string // what a person wants to know about the reason, or about the value

	Receive Lag     // age of what is being received
	Apply   Lag     // age of what is being applied, beyond the delay
	Behind  *uint64 // transactions received and not applied; nil if that is not known

	Delay    time.Duration      // configured
	Receiver status.ThreadState // brings transactions from the source
	Applier  status.ThreadState // executes what was brought
}

// Measure measures every channel of a replica. The worst channel comes last.
// A server that is no replica gives one sample of reason NotAReplica: it has
// no lag, and that is not a lag of 0.
//
// An error means that the server could not be asked.
func Measure(ctx context.Context, q status.Querier, o Options) ([]Sample, error) {
	identity, err := status.Identify(ctx, q)
	if err != nil {
		return nil, err
	}
	m := &measurer{q: q, options: o, identity: identity}
	channels, err := status.Channels(ctx, q, identity.Flavor)
	if err != nil {
		return nil, err
	}
	if len(channels) == 0 {
		s, err := m.withoutChannel(ctx)
		return []Sample{s}, err
	}
	samples := make([]Sample, 0, len(channels))
	for i := range channels {
		s, err := m.channel(ctx, &channels[i])
		if err != nil {
			return nil, fmt.Errorf("channel '%s': %w", channels[i].Name, err)
		}
		samples = append(samples, s)
	}
	slices.SortStableFunc(samples, func(a, b Sample) int {
		switch {
		case a.Lag.worse(b.Lag):
			return 1
		case b.Lag.worse(a.Lag):
			return -1
		default:
			return 0
		}
	})
	return samples, nil
}

// measurer is one measurement of one server.
type measurer struct {
	q        status.Querier
	options  Options
	identity flavor.Server
}

// withoutChannel is the sample of a server that lists no channel. A member of
// a replication group lists none and still applies what the others write.
func (m *measurer) withoutChannel(ctx context.Context) (Sample, error) {
	s := Sample{Method: m.options.Method, Lag: Unknown(NotAReplica), Detail: "the server has no replication channel"}
	role, err := status.GroupRole(ctx, m.q, m.identity.Flavor)
	if err != nil || role != "SECONDARY" {
		return s, err
	}
	s.Channel, s.Source, s.Method = groupApplier, "replication group", Timestamps
	s.Applier, s.Receiver = status.Running, status.Running
	err = m.timestamps(ctx, &s, nil)
	return s, err
}

// channel measures one channel.
func (m *measurer) channel(ctx context.Context, c *status.Channel) (Sample, error) {
	s := Sample{
		Channel: c.Name, Source: c.Source(), Method: m.options.Method,
		Delay: c.Delay, Receiver: c.Receiver, Applier: c.Applier,
	}
	s.Behind = received(c)
	if reason, detail := broken(c); reason != NoReason {
		s.Lag, s.Receive, s.Apply, s.Detail = Unknown(reason), Unknown(reason), Unknown(reason), detail
		return s, m.countPending(ctx, &s, c)
	}
	var err error
	switch s.Method {
	case Auto:
		err = m.auto(ctx, &s, c)
	case Seconds:
		err = m.seconds(ctx, &s, c)
	case Timestamps:
		err = m.timestamps(ctx, &s, c)
	case Heartbeat:
		err = m.heartbeat(ctx, &s, c)
	default:
		err = m.byWaiting(ctx, &s, c)
	}
	return s, err
}

// auto takes the best method that this server and these options allow.
func (m *measurer) auto(ctx context.Context, s *Sample, c *status.Channel) error {
	if m.options.HeartbeatTable.Name != "" {
		s.Method = Heartbeat
		return m.heartbeat(ctx, s, c)
	}
	s.Method = Timestamps
	if err := m.timestamps(ctx, s, c); err != nil {
		return err
	}
	if s.Lag.Reason() != MethodUnavailable {
		return m.unreceived(ctx, s, c)
	}
	s.Detail = ""
	if m.canWait() {
		s.Method = GTID
		if !usesGTID(c) {
			s.Method = Position
		}
		if err := m.byWaiting(ctx, s, c); err != nil || s.Lag.Reason() != MethodUnavailable {
			return err
		}
		s.Detail = ""
	}
	s.Method = Seconds
	return m.seconds(ctx, s, c)
}

func (m *measurer) canWait() bool { return m.options.Source != nil && m.options.Wait != nil }

func usesGTID(c *status.Channel) bool { return c.AutoPosition || c.UsingGTID }

// unreceived looks for transactions that the source has and the receiver has
// not brought: no clock on the replica can see those. If there are some, the
// lag is measured by waiting as well, and the larger figure counts. A receiver
// that has just started is judged by the source alone.
func (m *measurer) unreceived(ctx context.Context, s *Sample, c *status.Channel) error {
	if !m.canWait() || !usesGTID(c) {
		return nil
	}
	gap, err := m.receiveGap(ctx, c)
	if err != nil {
		return m.noSource(ctx, s, err)
	}
	starting := s.Lag.Reason() == ReceiverStarting
	if !gap && starting {
		s.Method, s.Lag, s.Receive, s.Detail = GTID, Known(0), Known(0), ""
	}
	if !gap {
		return nil
	}
	waited := *s
	waited.Method = GTID
	if err := m.byWaiting(ctx, &waited, c); err != nil {
		return err
	}
	if starting || waited.Lag.AtLeast() > s.Lag.AtLeast() {
		*s = waited
	}
	return nil
}

// receiveGap reports whether the source has something that the channel has
// neither received nor executed. The source is asked first.
func (m *measurer) receiveGap(ctx context.Context, c *status.Channel) (bool, error) {
	source, err := m.options.Source(ctx, c)
	if err != nil {
		return false, err
	}
	wanted, err := status.Sendable(ctx, source, m.identity.Flavor)
	if err != nil {
		return false, err
	}
	executed, err := status.Executed(ctx, m.q, m.identity.Flavor)
	if err != nil {
		return false, err
	}
	channels, err := status.Channels(ctx, m.q, m.identity.Flavor)
	if err != nil {
		return false, err
	}
	for i := range channels {
		if channels[i].Name == c.Name {
			have, err := executed.Union(channels[i].Retrieved.Value())
			if err != nil {
				return false, err
			}
			all, err := have.Contains(wanted)
			return !all, err
		}
	}
	return true, nil // the channel has gone meanwhile
}

// broken tells why a channel cannot have a lag now: both threads must run and
// the receiver must be connected, whatever number the server shows.
func broken(c *status.Channel) (Reason, string) {
	switch {
	case c.Applier != status.Running:
		return ApplierStopped, c.ApplierError.String()
	case c.Receiver == status.Connecting:
		return ReceiverConnecting, c.ReceiverError.String()
	case c.Receiver != status.Running:
		return ReceiverStopped, c.ReceiverError.String()
	default:
		return NoReason, ""
	}
}

// received counts what a channel has received and not applied, if its own row
// tells: the part of Retrieved that is not in the server-wide executed set.
func received(c *status.Channel) *uint64 {
	text := c.Fields.Lookup("Executed_Gtid_Set")
	if text == nil || c.Retrieved.IsEmpty() {
		return nil
	}
	executed, err := gtid.Parse(*text)
	if err != nil {
		return nil
	}
	n, _ := c.Retrieved.Subtract(executed).Count()
	return &n
}

// countPending counts the transactions that a MariaDB replica has received
// and not applied; on MySQL the channel's row has told.
func (m *measurer) countPending(ctx context.Context, s *Sample, c *status.Channel) error {
	if m.identity.Flavor != flavor.MariaDB || !c.UsingGTID {
		return nil
	}
	executed, err := status.Executed(ctx, m.q, m.identity.Flavor)
	if err != nil {
		return err
	}
	n, _, err := executed.MissingCount(c.ReceiverGTID.Value())
	s.Behind = &n
	return err
}
