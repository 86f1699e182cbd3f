package topology

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/mysqlrw/mysqlrw/lag"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/status"
	"github.com/mysqlrw/mysqlrw/pkg/target"
	"github.com/mysqlrw/mysqlrw/route"
)

// restartSlack is what two readings of one start may differ by: each is cut to
// whole seconds by the server, and answers take time.
const restartSlack = 2 * time.Second

// failed takes note of a check without an answer.
func (mb *member) failed(err error, limit int, now time.Time) {
	problem := target.Explain(err)
	if mb.failures == 0 {
		mb.goneAt = now
	}
	mb.failures++
	mb.failure = problem.String()
	if problem.Kind == target.Unclassified {
		mb.failure = err.Error()
	}
	mb.gone = mb.gone || mb.failures >= limit || problem.Kind == target.Refused
}

// answer takes note of what a server said. before is what was known of its
// position when it was asked.
func (mb *member) answer(seen observation, before *known) []Event {
	var events []Event
	anew := seen.fresh
	switch {
	case !mb.answered:
	case mb.seen.identity() != seen.identity():
		anew = true
		events = append(events, Event{Kind: Replaced, Server: mb.Name, Old: mb.seen.identity(), New: seen.identity()})
	case seen.fresh && seen.started.Sub(mb.started) > restartSlack:
		events = append(events, Event{Kind: Restarted, Server: mb.Name})
	}
	if !seen.position.Has(before.position) {
		anew = true
		events = append(events, Event{Kind: PositionLost, Server: mb.Name, Detail: missing(seen.position, before.position)})
	}
	if anew {
		mb.forget()
		mb.follows, mb.early = false, gtid.Value{}
	}
	proven := seen.position
	if seen.early() { // by the next check it has been committed
		proven = mb.early
		mb.early = seen.position
	}
	mb.learn(mb.known.Load().epoch, proven)
	if seen.fresh {
		mb.started = seen.started
	}
	mb.answered, mb.failures, mb.failure, mb.gone, mb.seen = true, 0, "", false, seen
	return append(events, mb.errant()...)
}

// missing says what the first position lacks of the second.
func missing(have, want gtid.Value) string {
	lost, err := have.Missing(want)
	if err != nil {
		return fmt.Sprintf("%s: %v", want, err)
	}
	return lost.String()
}

// errant tells of transactions that a replica gave a number of its own while
// it was a replica.
func (mb *member) errant() []Event {
	if !mb.seen.follows() {
		mb.follows = false
		return nil
	}
	own := mb.seen.own()
	grown := mb.follows && own > mb.ownAt
	mb.follows, mb.ownAt = true, own
	if !grown {
		return nil
	}
	return []Event{{Kind: Errant, Server: mb.Name, Detail: fmt.Sprintf("%s: %d", mb.seen.identity(), own)}}
}

// judge says of every server what it is now, and what that changed. It is
// called with mu held.
func (m *Monitor) judge() []Event {
	contenders, proven := m.contenders()
	two := len(contenders) > 1
	primary := -1
	if len(contenders) == 1 && proven {
		primary = contenders[0]
	}
	var events []Event
	for i, mb := range m.members {
		old := mb.shown.State
		mb.shown = mb.alone(m.options.Failures)
		if i == primary || two && slices.Contains(contenders, i) {
			mb.lead(two)
		} else if primary < 0 && i == m.last && mb.gone {
			mb.shown.Role = route.Primary // until another one is
		}
		mb.follow()
		if primary < 0 && !two && m.last >= 0 && m.members[m.last].gone {
			mb.outlive(m.members[m.last])
		}
		if mb.shown.State != old {
			events = append(events, Event{
				Kind: StateChanged, Server: mb.Name, Old: old.String(), New: mb.shown.State.String(), Detail: mb.shown.Why,
			})
		}
	}
	return append(events, m.crown(primary, two, contenders)...)
}

// crown takes note of who is the primary.
func (m *Monitor) crown(primary int, two bool, contenders []int) []Event {
	var events []Event
	if two && !m.two {
		names := make([]string, len(contenders))
		for i, c := range contenders {
			names[i] = m.members[c].Name
		}
		events = append(events, Event{Kind: TwoPrimaries, Detail: strings.Join(names, ", ")})
	}
	m.two = two
	if primary == m.primary {
		return events
	}
	if primary < 0 {
		events = append(events, Event{Kind: PrimaryLost, Old: m.members[m.primary].Name, Detail: m.members[m.primary].shown.Why})
	} else {
		e := Event{Kind: PrimaryChanged, New: m.members[primary].Name}
		if m.last >= 0 {
			e.Old = m.members[m.last].Name
		}
		events = append(events, e)
		if m.last >= 0 && m.last != primary {
			had, has := m.members[m.last].known.Load().position, m.members[primary].seen.position
			if had.Kind() != gtid.KindLog && !has.Has(had) { // of two logs nobody can tell
				lost, err := has.Missing(had)
				if err != nil {
					lost = had
				}
				events = append(events, Event{
					Kind: LostWrites, Old: e.Old, New: e.New, Detail: missing(has, had), Lost: lost, Kept: has,
				})
			}
		}
		m.last = primary
	}
	m.primary = primary
	return events
}

// contenders returns the servers that look like the primary, and whether a
// single one of them can be trusted to be the only one.
func (m *Monitor) contenders() (list []int, proven bool) {
	fixed := false
	for _, mb := range m.members {
		fixed = fixed || mb.Role == FixedPrimary
	}
	proven = true
	for i, mb := range m.members {
		if mb.Role == FixedReplica || fixed && mb.Role != FixedPrimary || mb.gone {
			continue
		}
		switch {
		case !mb.answered:
			proven = false // nobody knows what it is
		case mb.Role == FixedPrimary:
			list = append(list, i)
		case !mb.seen.readOnly && (mb.seen.detached() || mb.seen.denied != nil):
			list = append(list, i)
			proven = proven && mb.seen.denied == nil
		}
	}
	return list, proven
}

// lead shows the server as the primary, or as one of several that look like it.
func (mb *member) lead(two bool) {
	mb.shown.Role, mb.shown.State = route.Primary, route.Online
	mb.shown.Lag, mb.shown.LagKnown, mb.shown.Why = 0, false, ""
	switch {
	case two:
		mb.shown.Why = "takes writes, and so does another server"
	case mb.failures > 0:
		mb.shown.Why = "last check: " + mb.failure
	case mb.seen.readOnly:
		mb.shown.Why = "is the primary by configuration, and read-only"
	}
}

// alone shows what the server is as far as it can be told from itself.
func (mb *member) alone(limit int) route.Server {
	sv := route.Server{Name: mb.Name, Weight: mb.Weight, Zone: mb.Zone}
	switch {
	case mb.gone:
		sv.State, sv.Why = route.Offline, mb.failure
	case mb.failures > 0:
		sv.Why = fmt.Sprintf("%s (check %d of %d)", mb.failure, mb.failures, limit)
	case !mb.answered:
		sv.Why = "not asked yet"
	case mb.seen.denied != nil:
		sv.Why = "its channels cannot be seen: " + target.Explain(mb.seen.denied).String()
	case mb.seen.detached() && !mb.seen.readOnly:
		sv.Why = "takes writes, has no source, and is not proven to be the primary"
	case mb.seen.detached():
		sv.Why = "is read-only and has no source"
	default:
		replicates(&sv, mb.seen.samples)
		if sv.LagKnown && sv.Lag == 0 && !slices.ContainsFunc(mb.seen.samples, behind) {
			sv.NoDelayAt = mb.seen.began
		}
		if sv.State == route.Broken && !mb.seen.readOnly && mb.Role == Auto {
			sv.Why += "; it takes writes, but a primary has no channel"
		}
	}
	return sv
}

// follow keeps how the server stood when it was seen to replicate last. What makes it no replica to be
// trusted ends that, but not that its receiver cannot reach its source.
func (mb *member) follow() {
	switch {
	case mb.shown.State == route.Online && mb.shown.Role == route.Replica:
		mb.steady, mb.steadyLag, mb.steadyAt = mb.shown.LagKnown, mb.shown.Lag, mb.seen.began
	case !mb.onlySourceMissing():
		mb.steady = false
	}
}

// onlySourceMissing tells whether a replica applies, and all that is wrong is that it waits for its
// source.
func (mb *member) onlySourceMissing() bool {
	if mb.failures > 0 || !mb.answered || mb.seen.denied != nil || len(mb.seen.samples) == 0 {
		return false
	}
	for i := range mb.seen.samples {
		s := &mb.seen.samples[i]
		if s.Applier != status.Running || s.Receiver != status.Running && s.Receiver != status.Connecting {
			return false
		}
	}
	return mb.shown.State == route.Broken
}

// outlive lets a replica of a primary that is gone be read on: nothing can be written that it would
// miss. It lags by no more than it did, and by what it may not have got before the end.
func (mb *member) outlive(primary *member) {
	if !mb.steady || !mb.onlySourceMissing() {
		return
	}
	mb.shown.State = route.Online
	mb.shown.Lag, mb.shown.LagKnown = mb.steadyLag+max(0, primary.goneAt.Sub(mb.steadyAt)), true
	mb.shown.Why = "its source " + primary.Name + " is gone, and no other server takes writes"
}

// replicates makes one state and one lag of all channels: the worst of each.
func replicates(sv *route.Server, samples []lag.Sample) {
	sv.State, sv.LagKnown = route.Online, len(samples) > 0
	for i := range samples {
		s := &samples[i]
		state, why := route.Online, reasonText(s)
		d, known := s.Lag.Duration()
		switch {
		case s.Receiver != status.Running || s.Applier != status.Running:
			state = route.Broken
		case s.Lag.Reason() == lag.ReceiverStarting:
			state = route.Unproven // whatever it missed may not have reached it yet
		}
		if !known {
			sv.LagKnown = false
		}
		if !known && (sv.Why == "" || worse(state, sv.State)) {
			sv.Why = why
		}
		if worse(state, sv.State) {
			sv.State = state
		}
		sv.Lag = max(sv.Lag, d+s.Delay) // what a reader sees is older by both
	}
	if !sv.LagKnown {
		sv.Lag = 0
	}
}

// behind tells whether something was received and not applied.
func behind(s lag.Sample) bool { return s.Behind != nil && *s.Behind > 0 }

// worse orders the states that a replica that answers can have.
func worse(a, b route.State) bool {
	rank := func(s route.State) int {
		switch s {
		case route.Online:
			return 0
		case route.Broken:
			return 1
		}
		return 2
	}
	return rank(a) > rank(b)
}

func reasonText(s *lag.Sample) string {
	text := s.Lag.Reason().String()
	if s.Channel != "" {
		text = "channel " + s.Channel + ": " + text
	}
	if s.Detail != "" {
		text += ": " + s.Detail
	}
	return text
}
