package waitpos

import (
	"fmt"
	"slices"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/status"
)

// blockedFile tells whether one channel can still reach a file position.
func (w *waiter) blockedFile(c *status.Channel) (Reason, string) {
	if c == nil {
		return NotAReplica, "the channel is gone"
	}
	if c.Applier == status.Stopped {
		return ApplierStopped, detail(c, "applier", c.Applier, c.ApplierError)
	}
	order, err := c.Read.Compare(w.target.file)
	return unreceived(c, err == nil && order >= 0)
}

// blockedGTIDs tells whether what is missing can still arrive. Each origin is
// looked at alone: with two primaries a stopped channel is not made good by
// the other one.
func blockedGTIDs(channels []status.Channel, missing gtid.Value) (Reason, string) {
	note := ""
	for _, part := range origins(missing) {
		reason, why := blockedPart(channels, part)
		if reason != NoReason {
			return reason, why
		}
		if note == "" {
			note = why
		}
	}
	return NoReason, note
}

// origins splits a position by who wrote it: by UUID, or by domain.
func origins(v gtid.Value) []gtid.Value {
	var parts []gtid.Value
	if set, ok := v.Set(); ok && !set.IsEmpty() {
		var last gtid.UUID
		for source := range set.Sources() { // a UUID's tags follow one another
			if len(parts) == 0 || source.UUID != last {
				parts = append(parts, set.Only(source.UUID).Value())
				last = source.UUID
			}
		}
		return parts
	}
	pos, _ := v.DomainPos()
	for g := range pos.Domains() {
		parts = append(parts, gtid.DomainPos{}.With(g).Value())
	}
	return parts
}

// blockedPart tells whether some channel can still bring the missing part of
// one origin.
func blockedPart(channels []status.Channel, part gtid.Value) (first Reason, why string) {
	for _, c := range responsible(channels, part) {
		reason, detail := blocked(c, part)
		if reason == NoReason {
			return NoReason, detail
		}
		if first == NoReason {
			first, why = reason, detail
		}
	}
	return first, why
}

// responsible returns the channels that can bring a part: the ones whose
// source has written it or that have received from that origin before, since
// in a ring or a chain one server passes on what another wrote. If there is
// none such, any channel may.
func responsible(channels []status.Channel, part gtid.Value) []*status.Channel {
	var own, all []*status.Channel
	for i := range channels {
		all = append(all, &channels[i])
		if originates(&channels[i], part) {
			own = append(own, &channels[i])
		}
	}
	if len(own) == 0 {
		return all
	}
	return own
}

func originates(c *status.Channel, part gtid.Value) bool {
	if set, ok := part.Set(); ok && !set.IsEmpty() {
		for source := range set.Sources() {
			if source.UUID.String() == c.SourceUUID || c.Retrieved.ContainsUUID(source.UUID) {
				return true
			}
		}
		return false
	}
	pos, _ := part.DomainPos()
	for g := range pos.Domains() {
		if _, received := c.ReceiverGTID.Domain(g.Domain); received || g.Server == c.SourceServerID {
			return true
		}
	}
	return false
}

// blocked tells whether one channel cannot bring a part. With NoReason the
// detail says that it is connecting, if it is.
func blocked(c *status.Channel, part gtid.Value) (Reason, string) {
	if pos, ok := part.DomainPos(); ok {
		if by := filter(c, pos); by != "" {
			return Filtered, fmt.Sprintf("channel '%s' leaves out a domain of it (%s)", c.Name, by)
		}
	}
	if c.Applier == status.Stopped {
		return ApplierStopped, detail(c, "applier", c.Applier, c.ApplierError)
	}
	return unreceived(c, received(c, part))
}

// unreceived tells whether a channel whose applier runs will still receive
// something.
func unreceived(c *status.Channel, received bool) (Reason, string) {
	switch {
	case received:
		return NoReason, ""
	case c.Receiver == status.Stopped:
		return ReceiverStopped, detail(c, "receiver", c.Receiver, c.ReceiverError)
	case c.Receiver == status.Connecting:
		return NoReason, detail(c, "receiver", c.Receiver, c.ReceiverError)
	default:
		return NoReason, ""
	}
}

// filter names the setting by which a channel leaves out a domain of a
// position, "" if it lets all of them through.
func filter(c *status.Channel, pos gtid.DomainPos) string {
	for g := range pos.Domains() {
		if slices.Contains(c.IgnoredDomains, g.Domain) {
			return "Replicate_Ignore_Domain_Ids"
		}
		if len(c.OnlyDomains) > 0 && !slices.Contains(c.OnlyDomains, g.Domain) {
			return "Replicate_Do_Domain_Ids"
		}
	}
	return ""
}

// received reports whether all of a part is in the relay log already. A
// MariaDB connection that does not use GTIDs tells only whether something is.
func received(c *status.Channel, part gtid.Value) bool {
	if set, ok := part.Set(); ok {
		return c.Retrieved.Contains(set)
	}
	if !c.UsingGTID {
		order, err := c.Exec.Compare(c.Read)
		return err == nil && order < 0
	}
	pos, _ := part.DomainPos()
	return c.ReceiverGTID.Reached(pos)
}

func detail(c *status.Channel, thread string, state status.ThreadState, e status.ThreadError) string {
	text := fmt.Sprintf("the %s is %s", thread, state)
	if c.Name != "" {
		text = fmt.Sprintf("the %s of channel '%s' is %s", thread, c.Name, state)
	}
	if e.Number != 0 {
		text += ": " + e.String()
	}
	return text
}
