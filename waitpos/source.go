package waitpos

import (
	"context"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/status"
)

// SourceState is what a source has, in order to tell what can never arrive. It
// is used for replicas whose channels all read from that source itself: others
// may get from elsewhere what it does not have.
type SourceState struct {
	Flavor   flavor.Flavor // which of UUID and ServerID names it in a position
	UUID     string        // MySQL: the source's own
	ServerID uint32        // the source's own
	Executed gtid.Value    // what it can send, or could before it was purged
	Purged   gtid.Value    // what it cannot send any more; empty on MariaDB
	Chained  bool          // it is itself a replica or a group member: it may get more
}

// ReadSource asks a server, which must be the source of the replica that Wait is to wait on, for Options.Source.
func ReadSource(ctx context.Context, q status.Querier) (*SourceState, error) {
	s, err := status.Read(ctx, q)
	if err != nil {
		return nil, err
	}
	return SourceOf(ctx, q, s)
}

// SourceOf is ReadSource for a caller that has read the server's record just
// before. It asks q for what the record does not have.
func SourceOf(ctx context.Context, q status.Querier, s *status.Server) (_ *SourceState, err error) {
	state := &SourceState{Flavor: s.Flavor, UUID: s.UUID, ServerID: s.ServerID, Executed: s.Executed, Purged: s.Purged}
	// Who may not see the channels cannot say that there is none.
	state.Chained = s.Role() == status.RoleUnknown || len(s.Channels) > 0 || s.Group != ""
	if s.Flavor == flavor.MariaDB {
		state.Executed, err = status.Sendable(ctx, q, s.Flavor)
	}
	return state, err
}

// judge tells whether the source will ever send what is missing. What it has
// not written itself yet it may still write; nobody else writes there unless
// the source is a replica too.
func (s *SourceState) judge(l *look) (Reason, string) {
	if s.Flavor == flavor.MariaDB {
		return s.judgeDomains(l)
	}
	missing, ok := l.gtids.Set()
	if !ok || s.UUID == "" {
		return NoReason, ""
	}
	for i := range l.channels {
		if l.channels[i].SourceUUID != s.UUID {
			return NoReason, ""
		}
	}
	executed, _ := s.Executed.Set()
	if own, err := gtid.ParseUUID(s.UUID); err == nil && !s.Chained {
		if errant := missing.Subtract(executed).Without(own); !errant.IsEmpty() {
			return Errant, "the source does not have " + errant.String()
		}
	}
	purged, _ := s.Purged.Set()
	lost := missing.Intersect(purged)
	for i := range l.channels {
		lost = lost.Subtract(l.channels[i].Retrieved)
	}
	if !lost.IsEmpty() {
		return Purged, "the source has purged " + lost.String()
	}
	return NoReason, ""
}

// judgeDomains is judge for MariaDB, where a transaction names the server that
// wrote it by its server_id.
func (s *SourceState) judgeDomains(l *look) (Reason, string) {
	missing, ok := l.gtids.DomainPos()
	if !ok || s.Chained {
		return NoReason, ""
	}
	for i := range l.channels {
		if l.channels[i].SourceServerID != s.ServerID {
			return NoReason, ""
		}
	}
	executed, _ := s.Executed.DomainPos()
	for g := range missing.Domains() {
		if have, _ := executed.Domain(g.Domain); g.Server != s.ServerID && have.Seq < g.Seq {
			return Errant, "the source does not have " + g.String()
		}
	}
	return NoReason, ""
}
