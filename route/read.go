package route

import (
	"cmp"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
)

// read chooses a server for a read.
func (c *choice) read() {
	s, st, h := c.session, &c.st, &c.st.Hint
	if c.d.Split {
		defer c.d.because(TransactionSplit)
	}
	if !c.policy.SystemSchemasOnReplicas && systemSchema(s.Schema) {
		c.primary(SystemSchema)
		return
	}
	q := Query{}
	switch {
	case s.Node != "":
		q.Node = s.Node
		c.d.because(NodePinned)
		if h.Route != HintNone && h.Node(c.text) != s.Node {
			defer c.d.because(HintIgnored)
		}
	case h.Route == HintToPrimary:
		c.primary(HintPrimary)
		return
	case h.Route == HintToLast && c.lastOnline():
		c.last()
		return
	case h.Route == HintToLast:
		defer c.d.because(HintIgnored)
	case h.Route == HintToReplica:
		c.hintedReplica()
		return
	case h.Route == HintToNode:
		q.Node = h.Node(c.text)
		c.d.because(HintNode)
	}
	q.Level = c.level(q.Node != "")
	c.d.Level = q.Level
	q.MaxStaleness = c.staleness()
	if !c.require(&q) {
		return
	}
	c.choose(q)
	if st.Reason != ReadOnlyStatement {
		c.d.because(st.Reason)
	}
}

// level returns the one that holds: the hint's, the session's, the policy's. A
// server that was named need not have any position.
func (c *choice) level(named bool) Level {
	s, h := c.session, &c.st.Hint
	switch {
	case h.HasLevel:
		c.d.because(HintLevel)
		return h.Level
	case named:
		return Eventual
	case s.HasLevel:
		return s.Level
	}
	return c.policy.Level
}

// staleness returns the bound of this read's own.
func (c *choice) staleness() time.Duration {
	switch s, h := c.session, &c.st.Hint; {
	case h.HasMaxStaleness:
		return h.MaxStaleness
	case s.HasMaxStaleness:
		return s.MaxStaleness
	}
	return 0
}

// require finds the position that the read must see. It returns false if the
// decision has been made: by level Strong, or because the position cannot be
// read or is not there yet.
func (c *choice) require(q *Query) bool {
	s, d := c.session, &c.d
	if !c.policy.Method.Proves() && q.Level >= SessionLevel && q.Level < Strong && c.st.Hint.After(c.text) == "" {
		return c.unproven(q)
	}
	switch q.Level {
	case Strong:
		if q.Node == "" {
			c.primary(LevelStrong)
			return false
		}
	case SessionLevel:
		d.Token, q.Require = SessionToken, s.Token
	case Eventual, Weak:
		if c.monotonic(q.Level) && q.Node == "" {
			d.Token, q.Require = SessionToken, s.Shown
		}
		if q.chosen(c.snap) && !c.requireChosen(q) {
			return false
		}
	case Global, SCC:
		d.Token = GlobalToken
		if !c.snap.CurrentKnown {
			return c.fetch()
		}
		q.Require, d.Covers = c.snap.Current, true
	}
	if after := c.st.Hint.After(c.text); after != "" {
		given, err := gtid.ParseValue(after)
		if err != nil {
			c.refuse("hint after: " + err.Error())
			d.because(HintMalformed)
			return false
		}
		if !c.snap.Has(given) {
			if !c.snap.CurrentKnown {
				return c.fetch()
			}
			c.refuse("hint after: no server has " + after)
			d.because(HintMalformed)
			return false
		}
		both, err := q.Require.Union(given)
		if err != nil {
			c.refuse("hint after: " + err.Error())
			d.because(HintMalformed)
			return false
		}
		d.Token, q.Require = GivenToken, both
	}
	byLog := q.Require.Kind() == gtid.KindLog || c.policy.Method == ByLogPosition && !q.Require.IsEmpty()
	if byLog && !c.presentLog(q) || q.Node == "" && c.monotonic(q.Level) && !c.settle(q) {
		return false
	}
	c.narrow(q)
	q.Required = !q.Require.IsEmpty()
	d.Require = q.Require
	return true
}

// narrow leaves of what the read must see what it can see.
func (c *choice) narrow(q *Query) {
	if !c.snap.NeededKnown || q.stay > 0 || c.d.Token == GivenToken || !q.Require.Equal(c.snap.Whole) {
		return
	}
	q.Require, q.why, c.d.Covers = c.snap.Needed, TablesCaughtUp, false
}

// fetch has the decision made again when the snapshot has Current. It returns false: there is none yet.
func (c *choice) fetch() bool {
	c.d.Fetch = true
	c.d.because(PositionUnknown)
	return false
}

// presentLog sees to it that the place which a read needs is in the log that is written now. Of another
// one nothing can be said, nor of GTIDs from before a reload; then everything that there is is needed. It
// returns false if that must be fetched first.
func (c *choice) presentLog(q *Query) bool {
	if !c.snap.CurrentKnown {
		return c.fetch()
	}
	if _, err := c.snap.Current.Contains(q.Require); err != nil {
		q.Require = c.snap.Current
	}
	return true
}

// hintedReplica follows a hint for a replica: no position, only max_lag and the
// hint's own bound.
func (c *choice) hintedReplica() {
	q := Query{Level: Eventual, MaxStaleness: c.staleness(), ReplicaOnly: true}
	c.d.because(HintReplica)
	c.candidates(q)
	if server := c.pick(); server >= 0 {
		c.d.Target, c.d.Server = ToReplica, server
		return
	}
	if c.st.Hint.Only {
		c.refuse(sayNoReplica)
		c.d.because(NoReplica)
		return
	}
	c.fallBack(NoReplica)
}

func (c *choice) candidates(q Query) {
	c.session.cands = Candidates(c.session.cands, c.snap, c.policy, q)
}

func (c *choice) pick() int {
	return Pick(c.session.cands, c.snap, c.policy, c.rotation)
}

// requireChosen has the read run on the one server that is chosen, which must have what anybody can have been
// shown before on another one. It returns false if that is not known yet, or there is no such server.
func (c *choice) requireChosen(q *Query) bool {
	d, one := &c.d, &c.snap.Chosen
	needs := one.Needs
	switch {
	case one.Server < 0:
		c.unchosen()
		return false
	case one.Fetch && !c.snap.CurrentKnown:
		return c.fetch()
	case one.Fetch:
		needs = c.snap.Current
	}
	if !needs.IsEmpty() {
		both, err := q.Require.Union(needs)
		if err != nil {
			both = needs
		}
		q.Require = both
	}
	d.Chosen, q.why = true, ChosenServer
	return true
}

// unchosen refuses a read for now.
func (c *choice) unchosen() {
	c.d.Unchosen, c.d.Chosen = true, false
	c.d.because(ChoiceChanging)
	c.refuse(sayTimeout)
}

// choose picks a server that may take the read, one to wait for, or the primary.
func (c *choice) choose(q Query) {
	d := &c.d
	d.Target = ToReplica
	if q.Node != "" && c.snap.Find(q.Node) < 0 {
		d.because(NodeNotFound)
		c.refuse(sayNodeNotFound)
		return
	}
	server := q.stay - 1
	if server < 0 { // else settle has found the candidates for the same query
		c.candidates(q)
		server = c.pick()
	}
	behind := server >= 0 && c.session.cands[server].Behind
	lastResort := server >= 0 && c.session.cands[server].Why == WhyLastResort
	if server >= 0 && !behind && !lastResort {
		d.Server = server
		if c.snap.Servers[server].Role == Primary && q.Level >= Strong {
			d.Target = ToPrimary
		}
		switch {
		case q.why != NoReason:
			d.because(q.why)
		case q.Required:
			d.because(CaughtUp)
		default:
			d.because(AnyReplica)
		}
		return
	}
	if c.wait(q) {
		return
	}
	why := NoReplica
	if c.anyBehind() {
		why = NothingCaughtUp
	}
	switch {
	case q.Node != "":
		d.because(NodeNotReadable)
		c.refuse("server " + q.Node + " cannot be read now")
	case d.Chosen && c.snap.Chosen.Server != c.snap.Primary():
		d.because(why)
		if c.policy.NoWait || c.ownBudget() { // it has waited as long as it may
			c.refuse(sayTimeout)
		} else {
			c.unchosen()
		}
	case c.policy.ErrorOnTimeout && (why == NothingCaughtUp || q.Level >= SessionLevel): // to keep them off the primary
		d.because(why)
		c.refuse(sayTimeout)
	default:
		c.fallBack(why)
		c.waitForPrimary(q)
	}
}

// waitForPrimary bounds the wait for a primary that lacks what the session has
// seen on a replica, which can be ahead of it.
func (c *choice) waitForPrimary(q Query) {
	s, d := c.session, &c.d
	if d.Server < 0 || !q.Required || !s.cands[d.Server].Behind || s.knowsOf(c.snap.Servers[d.Server].Name, q.Require) {
		return
	}
	switch {
	case c.snap.CurrentKnown && c.snap.Current.Has(q.Require):
		d.Require = c.snap.Ahead
	case !c.snap.CurrentKnown && q.Require.Kind() == gtid.KindDomain: // which cannot be waited for where it was written
		c.fetch()
		return
	}
	if d.Wait, d.Fallback = c.budget(q), Refuse; d.Wait <= 0 {
		c.refuse(sayTimeout)
	} else if !c.policy.ErrorOnTimeout {
		d.Wait = max(d.Wait, untilCommitted)
	}
}

// untilCommitted is how long the primary is waited for at least, where a timeout must not be an error:
// what a replica has is being committed there at this moment.
const untilCommitted = time.Second

// anyBehind says whether a replica could be read if only it had the position.
func (c *choice) anyBehind() bool {
	for _, cand := range c.session.cands {
		if cand.Why == WhyBehindPosition {
			return true
		}
	}
	return false
}

// wait chooses the replica that is nearest to the position, if one may reach it
// in time.
func (c *choice) wait(q Query) bool {
	budget := c.budget(q)
	if c.d.Chosen && !c.ownBudget() { // in the place of a read on the primary
		budget = max(budget, cmp.Or(q.maxLag(c.policy), DefaultPolicy().MaxStaleness))
	}
	if budget <= 0 || !q.Required || c.policy.NoWait {
		return false
	}
	server := SmallestGap(c.session.cands, c.snap, q, budget)
	if server < 0 {
		return false
	}
	c.d.Server, c.d.Wait = server, budget
	c.d.Fallback = ToPrimary
	if c.policy.ErrorOnTimeout || q.Node != "" || c.d.Chosen {
		c.d.Fallback = Refuse
	}
	c.d.because(WaitForReplica)
	return true
}

// ownBudget tells whether the session or the statement says how long a read waits.
func (c *choice) ownBudget() bool { return c.st.Hint.HasTimeout || c.session.HasTimeout }

// budget returns how long the read may wait for a position.
func (c *choice) budget(q Query) time.Duration {
	return c.session.Budget(&c.st.Hint, q.Level, c.policy)
}

// Budget returns how long a read with that hint may wait, at a level, for what it must see.
func (s *Session) Budget(h *Hint, level Level, p *Policy) time.Duration {
	switch {
	case h.HasTimeout:
		return h.Timeout
	case s.HasTimeout:
		return s.Timeout
	case level == Global || level == SCC:
		return p.GlobalTimeout
	}
	return p.SessionTimeout
}
