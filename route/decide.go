package route

import "strings"

// TimeoutText is what a client is told whose read no server can have in time, to the letter that
// clients know.
const TimeoutText = "wait replication complete timeout, please retry"

// What a client is told where nothing may run its statement.
const (
	sayNodeNotFound = "force HINT server node is not found, please check."
	sayTimeout      = TimeoutText
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
	s.cands = s.cands[:0]
	c := choice{session: s, st: *st, text: text, policy: p, snap: snap, rotation: rotation}
	c.d = Decision{Class: st.Class, Target: st.Target, Server: -1, Starts: st.Starts()}
	c.decide()
	if st.Hint.Malformed {
		c.d.because(HintMalformed)
	}
	return c.d
}

// choice is one decision being made. What Decide is given by pointer is copied,
// so that none of it has to live on the heap.
type choice struct {
	session  *Session
	st       Statement
	text     string
	policy   *Policy
	snap     *Snapshot
	rotation *Rotation
	d        Decision
}

func (c *choice) decide() {
	s, st := c.session, &c.st
	switch {
	case st.Target == Refuse:
		c.d.because(st.Reason)
		c.refuse(sayMixed)
		return
	case st.Target == Answer && st.Class != Begin:
		if st.Class == Set {
			if err := s.check(c.text); err != nil {
				c.d.because(SettingMalformed)
				c.refuse(err.Error())
				return
			}
		}
		c.d.because(st.Reason)
		c.ignoreHint()
		return
	case c.policy.Endpoint == ReadOnly:
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
	s, st := c.session, &c.st
	switch {
	case st.Class == Begin && st.Target == Answer:
		c.d.Target = Answer
		c.d.because(StartsTransaction)
		c.ignoreHint()
		return
	case (st.Class == Commit || st.Class == Rollback) && !st.Facts.Any(FactToSavepoint|FactChain) && st.Count == 1:
		c.d.Target = Answer
		c.d.because(NoTransaction)
		c.ignoreHint()
		return
	case st.Target == ToAll:
		c.d.because(st.Reason)
		c.ignoreHint()
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

// hold sends the statement to the connection that something lives on. On a
// server that is no primary, or no longer one, only what cannot change anything
// runs, and the end of a transaction.
func (c *choice) hold(server string, why Reason) {
	c.d.Target, c.d.Server = ToHolder, c.snap.Find(server)
	c.d.because(why)
	defer c.ignoreHint()
	if c.d.Server < 0 || c.snap.Servers[c.d.Server].State == Offline {
		if c.st.Class == Rollback && !c.st.Facts.Any(FactToSavepoint|FactChain) && server == c.session.Transaction.Server {
			c.d.Target, c.d.Server, c.d.count = Answer, -1, 0 // the server has done it
			c.d.because(EndsTransaction)
			return
		}
		c.refuse("server " + server + " is gone, and with it what the session had there (" + why.String() + ")")
		return
	}
	primary := c.snap.Servers[c.d.Server].Role == Primary
	switch {
	case c.policy.Endpoint == ReadOnly && primary:
		c.refuse("server " + server + " is the primary now, which a read-only endpoint never reaches (" + why.String() + ")")
		return
	case primary, c.policy.Endpoint == ReadOnly, c.harmlessThere(why):
		return
	}
	text := "server " + server + " takes no writes, and the session is tied to it (" + why.String() + ")"
	c.refuse(text)
}

// harmlessThere says whether the statement may run on a replica that holds
// something of the session.
func (c *choice) harmlessThere(why Reason) bool {
	st, t := &c.st, &c.session.Transaction
	switch {
	case st.Class == Rollback, st.Class == Commit && !t.Written, st.Class == Savepoint && !t.Written:
		return true
	case why == Pinned, t.Written:
		return false // a pin excludes others, and that only the primary can
	}
	switch st.Target {
	case ToReplica, ToAll, ToLast:
		return true
	}
	// The server refuses a write of a function in a READ ONLY transaction.
	return st.Class == Read || st.Class == Show || st.Class == Explain || st.Class == Deallocate ||
		st.Class == Handler && st.Target == ToHolder ||
		st.Reason == UnknownFunction && t.ReadOnly
}

func (c *choice) refuse(text string) {
	c.d.Target, c.d.Server, c.d.Error = Refuse, -1, text
}

// primary sends the statement to the primary, because of what it is.
func (c *choice) primary(why Reason) {
	c.fallBack(why)
	if why != HintPrimary && why != LevelStrong {
		c.ignoreHint()
	}
}

// fallBack sends the statement to the primary.
func (c *choice) fallBack(why Reason) {
	c.d.Target, c.d.Server = ToPrimary, c.snap.Primary()
	c.d.because(why)
	if c.d.Server < 0 {
		c.noPrimary()
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
	h := &c.st.Hint
	onReplica := c.d.Server >= 0 && c.snap.Servers[c.d.Server].Role == Replica
	if s := c.session; s.Transaction.Open || s.AutocommitOff {
		c.weakNotPossible()
	}
	switch {
	case h.Route == HintToReplica, h.Route == HintToNode, h.Route == HintToLast, h.HasLevel && h.Level != Strong,
		h.Route == HintToPrimary && onReplica:
		c.d.because(HintIgnored)
	}
}

// last sends the statement where the one before ran. What that connection knew
// is lost with it.
func (c *choice) last() {
	server := c.snap.Find(c.session.last)
	if c.session.last == "" {
		c.primary(NoPrevious)
		c.d.because(c.st.Reason)
		return
	}
	c.d.Target, c.d.Server = ToLast, server
	c.d.because(c.st.Reason)
	if server < 0 || c.snap.Servers[server].State == Offline {
		c.refuse("server " + c.session.last + " is gone, and with it what the statement asks for (" + c.st.Reason.String() + ")")
	}
}

// lastOnline says whether the server of the statement before can be used again.
func (c *choice) lastOnline() bool {
	server := c.snap.Find(c.session.last)
	return server >= 0 && c.snap.Servers[server].State != Offline
}

// inTransaction decides within a transaction. It returns false for a read that
// may leave it, or that its first statement decides where it runs.
func (c *choice) inTransaction() bool {
	s, st, t := c.session, &c.st, &c.session.Transaction
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
		return c.stays(why)
	}
	// Nothing has been sent yet.
	switch {
	case (st.Class == Commit || st.Class == Rollback) && !st.Facts.Any(FactToSavepoint) && st.Count == 1:
		c.d.Target = Answer
		c.d.because(EndsTransaction)
		return true
	case st.Class == Begin && st.Target == Answer:
		c.d.because(StartsTransaction)
		return true
	case st.Target == ToAll:
		c.d.because(st.Reason)
		c.ignoreHint()
		return true
	}
	if t.ReadOnly {
		return c.firstReadOnly(why)
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

// stays decides for a transaction that runs on a server already.
func (c *choice) stays(why Reason) bool {
	s, st := c.session, &c.st
	i := c.snap.Find(s.Transaction.Server)
	if i >= 0 && c.snap.Servers[i].Role == Replica && st.Facts.Any(FactImplicitCommit) {
		return false // it ends the transaction, and runs where it belongs
	}
	if h, held := s.touches(st, c.text); h != nil && h.server != s.Transaction.Server {
		c.d.because(held)
		c.d.because(st.Reason)
		c.refuse("the statement needs server " + h.server + " (" + held.String() + "), and the transaction runs on " + s.Transaction.Server)
		return true
	}
	c.hold(s.Transaction.Server, why)
	c.d.because(st.Reason)
	return true
}

// firstReadOnly decides for the first statement of a READ ONLY transaction. It
// runs whole on one server; if the session holds something, on that one.
func (c *choice) firstReadOnly(why Reason) bool {
	s, st := c.session, &c.st
	for i := range s.holds {
		if h := &s.holds[i]; h.kind&(HoldTemporaryTable|HoldVariable|HoldHandler|HoldPrepared) != 0 {
			c.hold(h.server, why)
			c.d.because(holdReason(h.kind))
			return true
		}
	}
	c.d.because(why)
	if st.Target == ToReplica {
		return false
	}
	c.primary(st.Reason)
	return true
}

// holdReason returns the reason that goes with a kind of hold.
func holdReason(kind Holds) Reason {
	switch kind {
	case HoldTemporaryTable:
		return HeldTemporaryTable
	case HoldVariable:
		return HeldVariable
	case HoldHandler:
		return HeldHandler
	case HoldPrepared:
		return HeldStatement
	}
	return HeldRoutine
}

// weakNotPossible says that a weak read was asked for in a transaction that
// cannot have one.
func (c *choice) weakNotPossible() {
	if h := &c.st.Hint; c.st.Target == ToReplica && h.HasLevel && h.Level == Weak && !c.committed() {
		c.d.because(WeakNotPossible)
	}
}

// committed says whether the transaction's isolation level is READ COMMITTED.
func (c *choice) committed() bool {
	s := c.session
	if s.current.isolation {
		return s.current.readCommitted
	}
	if s.next.isolation && !s.Transaction.Open {
		return s.next.readCommitted
	}
	return s.readCommitted
}

// splits says whether a read may leave the read-write transaction.
func (c *choice) splits() bool {
	return !c.session.Transaction.Written && c.policy.Splitting == SplitBeforeWrite && c.committed()
}

// refusedReadOnly are the reasons for which a read-only endpoint refuses a
// statement itself. The rest runs on its replica, which refuses what it must.
func refusedReadOnly(r Reason) bool {
	switch r {
	case Writes, ChangesSchema, LoadsFile, LocksRows, UsesSequence, Distributed, ChangesServer, WritesFile, TakesLock,
		TableLocks, RunsRoutine, Administers, NotUnderstood, Unreadable, Undecided:
		return true
	}
	return false
}

// readOnlyEndpoint decides for an endpoint without a primary: one replica for
// the whole session, as long as it can be read.
func (c *choice) readOnlyEndpoint() {
	s, st, d := c.session, &c.st, &c.d
	switch {
	case refusedReadOnly(st.Reason):
		d.because(EndpointReadOnly)
		d.because(st.Reason)
		c.refuse(sayReadOnly)
		return
	case st.Class == Begin && st.Target == Answer && s.Transaction.Server == "":
		d.because(StartsTransaction)
		return
	case (st.Class == Commit || st.Class == Rollback) && s.Transaction.Server == "" && !st.Facts.Any(FactToSavepoint|FactChain):
		d.Target = Answer
		d.because(NoTransaction)
		return
	case st.Target == ToAll:
		d.because(st.Reason)
		c.ignoreHint()
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
	if st.Hint.Route == HintToPrimary || st.Hint.HasLevel && st.Hint.Level == Strong || st.Hint.Route == HintToNode && !strings.EqualFold(st.Hint.Node(c.text), c.snap.Servers[server].Name) {
		d.because(HintIgnored)
	}
	d.because(st.Reason)
}
