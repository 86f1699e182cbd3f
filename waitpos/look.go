package waitpos

import (
	"context"
	"fmt"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/status"
)

// look is what one look at the server has shown.
type look struct {
	reached  bool
	missing  string
	count    uint64
	gtids    gtid.Value // missing, if the target is one of GTIDs
	channels []status.Channel

	reason Reason // why what is missing can never arrive; NoReason if it can
	detail string
}

// examine looks once, and judges what is missing. A server that does not
// answer, such as one that was stopped by a signal, is an error and no wait.
func (w *waiter) examine(ctx context.Context) (look, error) {
	ctx, cancel := context.WithTimeout(ctx, grace)
	defer cancel()
	l, err := w.look(ctx)
	if err != nil || l.reached {
		return l, err
	}
	l.reason, l.detail, err = w.verdict(ctx, l)
	return l, err
}

// look compares the server's position with the target, by value.
func (w *waiter) look(ctx context.Context) (look, error) {
	if !w.target.file.IsZero() {
		return w.lookFile(ctx)
	}
	if w.target.gtids.IsEmpty() {
		return look{reached: true}, nil
	}
	executed, err := status.Executed(ctx, w.conn, w.identity.Flavor)
	if err != nil {
		return look{}, err
	}
	missing, err := executed.Missing(w.target.gtids)
	if err != nil {
		return look{}, err
	}
	if missing.IsEmpty() {
		return look{reached: true}, nil
	}
	count, _, err := executed.MissingCount(w.target.gtids)
	return look{missing: missing.String(), count: count, gtids: missing}, err
}

func (w *waiter) lookFile(ctx context.Context) (look, error) {
	channels, err := status.Channels(ctx, w.conn, w.identity.Flavor)
	if err != nil {
		return look{}, err
	}
	l := look{channels: channels, missing: w.target.file.String()}
	c := findChannel(channels, w.channel)
	if c == nil || c.Exec.IsZero() {
		return l, nil
	}
	order, err := c.Exec.Compare(w.target.file)
	if err != nil {
		return look{}, fmt.Errorf("channel '%s' of %s: %w", c.Name, c.Source(), err)
	}
	if order >= 0 {
		return look{reached: true}, nil
	}
	l.missing = c.Exec.String() + " to " + w.target.file.String()
	return l, nil
}

// verdict tells whether what is missing can still arrive. NoReason means that
// it can.
func (w *waiter) verdict(ctx context.Context, l look) (Reason, string, error) {
	if l.channels == nil {
		var err error
		if l.channels, err = status.Channels(ctx, w.conn, w.identity.Flavor); err != nil {
			if status.IsDenied(err) { // without the privilege only the timeout tells
				return NoReason, "", nil
			}
			return NoReason, "", err
		}
	}
	if len(l.channels) == 0 {
		if w.group {
			return NoReason, "", nil
		}
		return NotAReplica, "the server has no replication channel", nil
	}
	if !w.target.file.IsZero() {
		reason, detail := w.blockedFile(findChannel(l.channels, w.channel))
		return reason, detail, nil
	}
	if s := w.options.Source; s != nil {
		if reason, detail := s.judge(l); reason != NoReason {
			return reason, detail, nil
		}
	}
	reason, detail := blockedGTIDs(l)
	return reason, detail, nil
}

// blockedFile tells whether one channel can still reach a file position.
func (w *waiter) blockedFile(c *status.Channel) (Reason, string) {
	if c == nil {
		return NotAReplica, "the channel is gone"
	}
	if c.Applier == status.Stopped {
		return ApplierStopped, detail(c, "applier", c.ApplierError)
	}
	if order, err := c.Read.Compare(w.target.file); c.Receiver == status.Stopped && (err != nil || order < 0) {
		return ReceiverStopped, detail(c, "receiver", c.ReceiverError)
	}
	return NoReason, ""
}

// blockedGTIDs tells whether some channel can still bring what is missing.
// The channels of its own sources decide if there are any: with two primaries
// a stopped channel is not made good by the other one.
func blockedGTIDs(l look) (Reason, string) {
	candidates := responsible(l)
	var first Reason
	var why string
	for i := range candidates {
		reason, detail := blocked(&candidates[i], l.gtids)
		if reason == NoReason {
			return NoReason, ""
		}
		if first == NoReason {
			first, why = reason, detail
		}
	}
	return first, why
}

// responsible returns the channels whose source has written something of what
// is missing, or all channels if there is none such. A channel that has
// received transactions of the same origin before counts as well: in a ring
// or a chain one server passes on what another wrote.
func responsible(l look) []status.Channel {
	var own []status.Channel
	for _, c := range l.channels {
		if originates(c, l.gtids) {
			own = append(own, c)
		}
	}
	if len(own) == 0 {
		return l.channels
	}
	return own
}

func originates(c status.Channel, missing gtid.Value) bool {
	if set, ok := missing.Set(); ok && !set.IsEmpty() {
		for source := range set.Sources() {
			if source.UUID.String() == c.SourceUUID || c.Retrieved.ContainsUUID(source.UUID) {
				return true
			}
		}
		return false
	}
	pos, _ := missing.DomainPos()
	for g := range pos.Domains() {
		if g.Server == c.SourceServerID {
			return true
		}
	}
	return false
}

// blocked tells whether one channel cannot bring any of what is missing.
func blocked(c *status.Channel, missing gtid.Value) (Reason, string) {
	if pos, ok := missing.DomainPos(); ok && filtered(c, pos) {
		return Filtered, fmt.Sprintf("channel '%s' leaves out a domain of it (Replicate_Ignore_Domain_Ids)", c.Name)
	}
	if c.Applier == status.Stopped {
		return ApplierStopped, detail(c, "applier", c.ApplierError)
	}
	if c.Receiver == status.Stopped && !received(c, missing) {
		return ReceiverStopped, detail(c, "receiver", c.ReceiverError)
	}
	return NoReason, ""
}

// filtered reports whether every missing domain is one the channel leaves out.
func filtered(c *status.Channel, missing gtid.DomainPos) bool {
	if len(c.IgnoredDomains) == 0 {
		return false
	}
	ignored := map[uint32]bool{}
	for _, d := range c.IgnoredDomains {
		ignored[d] = true
	}
	for g := range missing.Domains() {
		if !ignored[g.Domain] {
			return false
		}
	}
	return true
}

// received reports whether all that is missing is in the relay log already.
func received(c *status.Channel, missing gtid.Value) bool {
	if set, ok := missing.Set(); ok {
		return c.Retrieved.Contains(set)
	}
	pos, _ := missing.DomainPos()
	return c.ReceiverGTID.Reached(pos)
}

func detail(c *status.Channel, thread string, e status.ThreadError) string {
	text := fmt.Sprintf("the %s of channel '%s' is stopped", thread, c.Name)
	if c.Name == "" {
		text = fmt.Sprintf("the %s is stopped", thread)
	}
	if e.Number != 0 {
		text += ": " + e.String()
	}
	return text
}

func findChannel(channels []status.Channel, name string) *status.Channel {
	if name == "" && len(channels) == 1 {
		return &channels[0]
	}
	for i := range channels {
		if sameChannel(channels[i].Name, name) {
			return &channels[i]
		}
	}
	return nil
}

// SourceState is what a source has, in order to tell what can never arrive.
type SourceState struct {
	Flavor   flavor.Flavor
	UUID     string     // MySQL: the source's own
	Executed gtid.Value // what it can send, or could before it was purged
	Purged   gtid.Value // what it cannot send any more; empty on MariaDB
	Chained  bool       // it is itself a replica or a group member: it may get more
}

// ReadSource reads the state of a source.
func ReadSource(ctx context.Context, q status.Querier) (*SourceState, error) {
	s, err := status.Read(ctx, q)
	if err != nil {
		return nil, err
	}
	state := &SourceState{Flavor: s.Flavor, UUID: s.UUID, Executed: s.Executed, Purged: s.Purged}
	state.Chained = len(s.Channels) > 0 || s.Group != ""
	if s.Flavor == flavor.MariaDB {
		state.Executed, err = status.Sendable(ctx, q, s.Flavor)
	}
	return state, err
}

// judge tells whether the source will ever send what is missing. What its own
// UUID has not written yet it may still write; on MariaDB the same holds for
// every domain.
func (s *SourceState) judge(l look) (Reason, string) {
	missing, ok := l.gtids.Set()
	if !ok {
		return NoReason, ""
	}
	executed, _ := s.Executed.Set()
	if own, err := gtid.ParseUUID(s.UUID); err == nil && !s.Chained {
		if errant := missing.Subtract(executed).Without(own); !errant.IsEmpty() {
			return Errant, "the source does not have " + errant.String()
		}
	}
	purged, _ := s.Purged.Set()
	lost := missing.Intersect(purged)
	for _, c := range l.channels {
		lost = lost.Subtract(c.Retrieved)
	}
	if !lost.IsEmpty() {
		return Purged, "the source has purged " + lost.String()
	}
	return NoReason, ""
}
