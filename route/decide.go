package route

import (
	"strings"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
)

// What a client is told where nothing may run its statement.
const (
	sayNodeNotFound = "force HINT server node is not found, please check."
	sayTimeout      = "wait replication complete timeout, please retry"
	sayReadOnly     = "this endpoint is read-only: it never reaches the primary"
	sayNoReplica    = "no replica can be read"
	sayNoPrimary    = "no server takes writes"
	sayMixed        = "a statement for the proxy must come alone: no server knows it"
	sayTwoPrimaries = "two servers take writes: neither is trusted with one"
)

// Decide says where a statement goes. text is what st was classified from; the
// snapshot and the policy are only read. rotation is the state of the weighted
// round robin and may be nil with another balancer on a read-write endpoint.
//
// The order is that of strength: class of the statement, pins, transaction,
// hint, session, policy. Of statements for the primary a connection that the
// session holds there is the one to use.
func (s *Session) Decide(st *Statement, text string, p *Policy, snap *Snapshot, rotation *Rotation) Decision {
	d := Decision{Class: st.Class, Target: st.Target, Server: -1, Starts: st.Starts()}
	c := choice{session: s, st: st, text: text, policy: p, snap: snap, rotation: rotation, d: &d}
	c.decide()
	if st.Hint.Malformed {
		d.because(HintMalformed)
	}
	return d
}

// choice is one decision being made.
type choice struct {
	session  *Session
	st       *Statement
	text     string
	policy   *Policy
	snap     *Snapshot
	rotation *Rotation
	d        *Decision
}

func (c *choice) decide() {
	s, st := c.session, c.st
	if c.st.Target == Answer && st.Class != Begin {
		c.d.because(st.Reason)
		return
	}
	if st.Target == Refuse {
		c.d.because(st.Reason)
		c.refuse(sayMixed)
		return
	}
	if c.policy.Endpoint == ReadOnly {
		c.readOnlyEndpoint()
		return
	}
	if h := s.pinned(); h != nil {
		c.hold(h.server, Pinned)
		c.d.because(st.Reason)
		return
	}
	if s.Transaction.Open || s.AutocommitOff {
		if c.inTransaction() {
			return
		}
	}
	c.bySession()
}

// bySession decides by what the session holds, outside a transaction or for a
// read that may leave it.
func (c *choice) bySession() {
	s, st := c.session, c.st
	switch {
	case st.Class == Begin && st.Target == Answer:
		c.d.because(StartsTransaction)
		return
	case (st.Class == Commit || st.Class == Rollback) && !st.Facts.Any(FactToSavepoint|FactChain):
		c.d.Target = Answer
		c.d.because(NoTransaction)
		return
	case st.Target == ToAll:
		c.d.because(st.Reason)
		return
	}
	if h, why := s.touches(st, c.text); h != nil {
		c.hold(h.server, why)
		c.d.because(st.Reason)
		return
	}
	switch st.Target {
	case ToHolder:
		c.primary(NoHolder)
		c.d.because(st.Reason)
	case ToLast:
		c.last()
	case ToReplica:
		if s.unreadable {
			c.primary(NotUnderstood)
			return
		}
		c.read()
	default:
		c.primary(st.Reason)
	}
}

// hold sends the statement to the connection that something lives on.
func (c *choice) hold(server string, why Reason) {
	c.d.Target, c.d.Server = ToHolder, c.snap.Find(server)
	c.d.because(why)
	if c.d.Server < 0 || c.snap.Servers[c.d.Server].State == Offline {
		c.refuse("server " + server + " is gone, and with it what the session had there (" + why.String() + ")")
	}
	c.ignoreHint()
}

func (c *choice) refuse(text string) {
	c.d.Target, c.d.Server, c.d.Error = Refuse, -1, text
}

// primary sends the statement to the primary.
func (c *choice) primary(why Reason) {
	c.d.Target, c.d.Server = ToPrimary, c.snap.Primary()
	c.d.because(why)
	if c.d.Server < 0 {
		c.noPrimary()
	}
	if why != HintPrimary {
		c.ignoreHint()
	}
}

// noPrimary says why there is none. The proxy may wait for one to appear.
func (c *choice) noPrimary() {
	n := 0
	for i := range c.snap.Servers {
		if c.snap.Servers[i].Role == Primary && c.snap.Servers[i].State == Online {
			n++
		}
	}
	if n > 1 {
		c.d.Error = sayTwoPrimaries
		c.d.because(TwoPrimaries)
		return
	}
	c.d.Error = sayNoPrimary
	c.d.because(NoPrimary)
}

// ignoreHint notes a hint that asks for another server than the statement may
// have.
func (c *choice) ignoreHint() {
	switch h := &c.st.Hint; {
	case h.Route == HintToReplica, h.Route == HintToNode, h.Route == HintToLast, h.HasLevel && h.Level != Strong:
		c.d.because(HintIgnored)
	}
}

// last sends the statement where the one before ran.
func (c *choice) last() {
	server := c.snap.Find(c.session.last)
	if server < 0 {
		c.primary(NoPrevious)
		c.d.because(c.st.Reason)
		return
	}
	c.d.Target, c.d.Server = ToLast, server
	c.d.because(c.st.Reason)
}

// inTransaction decides within a transaction. It returns false for a read that
// may leave it, or that its first statement decides where it runs.
func (c *choice) inTransaction() bool {
	s, st, t := c.session, c.st, &c.session.Transaction
	why := InTransaction
	switch {
	case t.ReadOnly:
		why = InReadOnlyTransaction
	case !t.Open:
		why = AutocommitOff
	}
	if st.Target == ToReplica && !t.ReadOnly && c.splits() {
		c.d.Split = true
		return false
	}
	if t.Server != "" {
		c.hold(t.Server, why)
		c.d.because(st.Reason)
		return true
	}
	// Nothing has been sent yet.
	switch {
	case st.Class == Commit, st.Class == Rollback:
		if st.Facts.Any(FactToSavepoint) {
			break
		}
		c.d.Target = Answer
		c.d.because(EndsTransaction)
		return true
	case st.Class == Begin && st.Target == Answer:
		c.d.because(StartsTransaction)
		return true
	case st.Target == ToAll:
		c.d.because(st.Reason)
		return true
	case t.ReadOnly && st.Target == ToReplica:
		c.d.because(InReadOnlyTransaction)
		return false
	}
	if h, held := s.touches(st, c.text); h != nil {
		c.hold(h.server, held)
		c.d.because(why)
		return true
	}
	c.primary(why)
	c.d.because(st.Reason)
	return true
}

// splits says whether a read may leave the read-write transaction.
func (c *choice) splits() bool {
	s := c.session
	if s.Transaction.Written {
		return false
	}
	rc := s.readCommitted || s.nextReadCommitted
	weak := c.st.Hint.HasLevel && c.st.Hint.Level == Weak
	if !rc && weak {
		c.d.because(WeakNotPossible)
	}
	return rc && c.policy.Splitting == SplitBeforeWrite
}

// read chooses a server for a read.
func (c *choice) read() {
	s, st, h := c.session, c.st, &c.st.Hint
	if c.d.Split {
		defer c.d.because(TransactionSplit)
	}
	if !c.policy.SystemSchemasOnReplicas && systemSchema(s.Schema) {
		c.primary(SystemSchema)
		return
	}
	q := Query{}
	switch {
	case h.Route == HintToPrimary:
		c.primary(HintPrimary)
		return
	case h.Route == HintToLast && s.last != "":
		c.last()
		return
	case h.Route == HintToReplica:
		c.hintedReplica()
		return
	case h.Route == HintToNode:
		q.Node = h.Node(c.text)
		c.d.because(HintNode)
	case s.Node != "":
		q.Node = s.Node
		c.d.because(NodePinned)
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
	s, d := c.session, c.d
	switch q.Level {
	case Strong:
		if q.Node == "" {
			c.primary(LevelStrong)
			return false
		}
	case SessionLevel:
		d.Token, q.Require = SessionToken, s.Token
	case Global, SCC:
		d.Token = GlobalToken
		if !c.snap.CurrentKnown {
			d.Fetch = true
			d.because(PositionUnknown)
			return false
		}
		q.Require = c.snap.Current
	}
	if after := c.st.Hint.After(c.text); after != "" {
		given, err := gtid.ParseValue(after)
		if err != nil {
			c.refuse("hint after: " + err.Error())
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
	q.Required = !q.Require.IsEmpty()
	d.Require = q.Require
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
	c.primary(NoReplica)
}

func (c *choice) candidates(q Query) {
	c.session.cands = Candidates(c.session.cands, c.snap, c.policy, q)
}

func (c *choice) pick() int {
	return Pick(c.session.cands, c.snap, c.policy, c.rotation)
}

// choose picks a server that may take the read, one to wait for, or the primary.
func (c *choice) choose(q Query) {
	d := c.d
	d.Target = ToReplica
	if q.Node != "" && c.snap.Find(q.Node) < 0 {
		d.because(NodeNotFound)
		c.refuse(sayNodeNotFound)
		return
	}
	c.candidates(q)
	server := c.pick()
	behind := server >= 0 && c.session.cands[server].Behind
	lastResort := server >= 0 && c.session.cands[server].Why == WhyLastResort
	if server >= 0 && !behind && !lastResort {
		d.Server = server
		if c.snap.Servers[server].Role == Primary && q.Level >= Strong {
			d.Target = ToPrimary
		}
		if q.Required {
			d.because(CaughtUp)
		} else {
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
	case why == NothingCaughtUp && c.policy.ErrorOnTimeout:
		d.because(why)
		c.refuse(sayTimeout)
	default:
		c.primary(why)
	}
}

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
	budget := c.policy.SessionTimeout
	if q.Level == Global || q.Level == SCC {
		budget = c.policy.GlobalTimeout
	}
	switch s, h := c.session, &c.st.Hint; {
	case h.HasTimeout:
		budget = h.Timeout
	case s.HasTimeout:
		budget = s.Timeout
	}
	if budget <= 0 || !q.Required {
		return false
	}
	server := SmallestGap(c.session.cands, c.snap, q, budget)
	if server < 0 {
		return false
	}
	c.d.Server, c.d.Wait = server, budget
	c.d.Fallback = ToPrimary
	if c.policy.ErrorOnTimeout || q.Node != "" {
		c.d.Fallback = Refuse
	}
	c.d.because(WaitForReplica)
	return true
}

// refusedReadOnly are the reasons for which a read-only endpoint refuses a
// statement itself. The rest runs on its replica, which refuses what it must.
func refusedReadOnly(r Reason) bool {
	switch r {
	case Writes, ChangesSchema, LoadsFile, LocksRows, UsesSequence, Distributed, ChangesServer:
		return true
	}
	return false
}

// readOnlyEndpoint decides for an endpoint without a primary: one replica for
// the whole session, as long as it can be read.
func (c *choice) readOnlyEndpoint() {
	s, st, d := c.session, c.st, c.d
	switch {
	case refusedReadOnly(st.Reason):
		d.because(EndpointReadOnly)
		d.because(st.Reason)
		c.refuse(sayReadOnly)
		return
	case st.Class == Begin && s.Transaction.Server == "":
		d.because(StartsTransaction)
		return
	case st.Target == ToAll:
		d.because(st.Reason)
		return
	}
	if len(s.holds) > 0 || s.Transaction.Server != "" {
		c.hold(s.home, Pinned)
		return
	}
	c.candidates(Query{Level: Eventual, ReplicaOnly: true})
	server := PickConnection(s.cands, c.snap, c.rotation, s.home)
	d.because(EndpointReadOnly)
	if server < 0 {
		d.because(NoReplica)
		c.refuse(sayNoReplica)
		return
	}
	d.Target, d.Server = ToReplica, server
	if st.Hint.Route == HintToPrimary || st.Hint.Route == HintToNode && !strings.EqualFold(st.Hint.Node(c.text), c.snap.Servers[server].Name) {
		d.because(HintIgnored)
	}
	d.because(st.Reason)
}
