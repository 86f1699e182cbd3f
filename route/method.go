package route

import "strings"

// Method is how it is made sure that a read at level session, global or scc sees what it must.
type Method uint8

// The methods. Only the first two prove it.
const (
	// ByGTID compares sets of transactions.
	ByGTID Method = iota
	// ByLogPosition compares places in the primary's binary log, for MySQL servers without GTIDs.
	ByLogPosition
	// ByNoDelay takes a replica that was asked after the session's last write, or at the higher levels after
	// the read arrived, and had then applied all that it had received. What the primary had acknowledged and
	// not sent yet is missed, unless semi-synchronous replication keeps that from happening.
	ByNoDelay
	// BySleep has a read wait for Policy.Sleep after the session's last write, or at the higher levels after
	// it arrived, and hopes.
	BySleep
	// ByPrimary reads on the primary.
	ByPrimary
)

var methodNames = [...]string{"gtid", "position", "no-delay", "sleep", "primary"}

// String returns the method's name as configuration spells it.
func (m Method) String() string {
	if int(m) < len(methodNames) {
		return methodNames[m]
	}
	return "unknown"
}

// ParseMethod reads a method's name in any letter case.
func ParseMethod(name string) (Method, bool) {
	for m, n := range methodNames {
		if strings.EqualFold(n, name) {
			return Method(m), true
		}
	}
	return 0, false
}

// Proves tells whether the method compares positions, and so keeps the promise of every level.
func (m Method) Proves() bool { return m <= ByLogPosition }

// unproven prepares a read for a method that compares no positions. It returns false if the decision has
// been made, or something must be waited for first.
func (c *choice) unproven(q *Query) bool {
	d := &c.d
	since := c.session.changed
	if q.Level != SessionLevel {
		since = c.session.Arrived
	}
	switch c.policy.Method {
	case BySleep:
		q.why = MethodSleep
		if left := since.Add(c.policy.Sleep).Sub(c.snap.At); left > 0 && !since.IsZero() {
			d.Target, d.Hold = ToReplica, left
			d.because(MethodSleep)
			return false
		}
	case ByNoDelay:
		if !c.snap.CurrentKnown && !c.snap.NoDelaySince(since) {
			return c.fetch()
		}
		q.NoDelaySince, q.why = since, MethodNoDelay
	default:
		c.primary(MethodPrimary)
		return false
	}
	q.Level = Eventual // for the servers, of which no more is asked
	return true
}
