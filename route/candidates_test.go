package route

import (
	"regexp"
	"slices"
	"testing"
	"time"
)

type candidatesCase struct {
	name string
	with func(s *Snapshot, p *Policy, q *Query) // from servers(2), MaxLag 30 s, a zero Query
	want string
}

// candidatesCases has a case for every Exclusion, see TestExclusions.
func candidatesCases() []candidatesCase {
	return slices.Concat(stateCases(), lagCases(), positionCases(), askedCases())
}

func stateCases() []candidatesCase {
	return []candidatesCase{
		{"healthy", func(*Snapshot, *Policy, *Query) {}, "P=primary-not-read R1=readable R2=readable"},
		{"primary has a weight", func(s *Snapshot, _ *Policy, _ *Query) {
			s.Servers[0].Weight = 1
		}, "P=readable R1=readable R2=readable"},
		{"primary is never lag-checked", func(s *Snapshot, _ *Policy, _ *Query) {
			s.Servers[0].Weight, s.Servers[0].Lag, s.Servers[0].LagKnown = 1, time.Hour, true
		}, "P=readable R1=readable R2=readable"},
		{"drained", func(s *Snapshot, _ *Policy, _ *Query) {
			s.Servers[1].Weight = 0
		}, "P=primary-not-read R1=weight-zero R2=readable"},
		{"all drained", func(s *Snapshot, p *Policy, _ *Query) {
			s.Servers[1].Weight, s.Servers[2].Weight, p.MinReserved = 0, -1, 2
		}, "P=last-resort R1=weight-zero R2=weight-zero"},
		{"lag at the limit and over it", func(s *Snapshot, _ *Policy, _ *Query) {
			s.Servers[1].Lag, s.Servers[2].Lag = 30*time.Second, 30*time.Second+1
		}, "P=primary-not-read R1=readable R2=lag-over-limit"},
		{"all lag", func(s *Snapshot, _ *Policy, _ *Query) {
			s.Servers[1].Lag, s.Servers[2].Lag = time.Minute, time.Minute
		}, "P=last-resort R1=lag-over-limit R2=lag-over-limit"},
		{"all lag, primary has a weight", func(s *Snapshot, _ *Policy, _ *Query) {
			s.Servers[0].Weight, s.Servers[1].Lag, s.Servers[2].Lag = 1, time.Minute, time.Minute
		}, "P=readable R1=lag-over-limit R2=lag-over-limit"},
		{"no limit", func(s *Snapshot, p *Policy, _ *Query) {
			p.MaxLag, s.Servers[1].Lag, s.Servers[2].LagKnown = 0, time.Hour, false
		}, "P=primary-not-read R1=readable R2=readable"},
		{"no limit does not make broken ones readable", func(s *Snapshot, p *Policy, _ *Query) {
			p.MaxLag, s.Servers[1].State, s.Servers[2].State = 0, Broken, Unproven
		}, "P=last-resort R1=replication-broken R2=unproven"},
		{"offline", func(s *Snapshot, p *Policy, _ *Query) {
			s.Servers[1].State, s.Servers[2].State, p.MinReserved = Offline, Offline, 2
		}, "P=last-resort R1=offline R2=offline"},
		{"everything offline", func(s *Snapshot, _ *Policy, _ *Query) {
			for i := range s.Servers {
				s.Servers[i].State = Offline
			}
		}, "P=offline R1=offline R2=offline"},
		{"primary not proven", func(s *Snapshot, _ *Policy, _ *Query) {
			s.Servers[0].State, s.Servers[1].State, s.Servers[2].State = Unproven, Offline, Broken
		}, "P=unproven R1=offline R2=replication-broken"},
		{"two primaries", func(s *Snapshot, _ *Policy, _ *Query) {
			s.Servers[1].Role = Primary
		}, "P=two-primaries R1=two-primaries R2=readable"},
		{"old primary is down", func(s *Snapshot, _ *Policy, _ *Query) {
			s.Servers[0].State = Offline
			s.Servers[1].Role, s.Servers[1].Weight = Primary, 0
		}, "P=offline R1=primary-not-read R2=readable"},
	}
}

func lagCases() []candidatesCase {
	lagging := func(s *Snapshot, p *Policy) {
		s.Servers[1].Lag, s.Servers[2].Lag, p.MinReserved = time.Minute, 3*time.Second, 2
	}
	return []candidatesCase{
		{"reserved: lagging, the heavier", func(s *Snapshot, p *Policy, _ *Query) {
			s.Servers[1].Lag, s.Servers[2].Lag, s.Servers[2].Weight, p.MinReserved = time.Minute, time.Hour, 200, 1
		}, "P=primary-not-read R1=lag-over-limit R2=rescued-lagging"},
		{"reserved: of unknown lag before broken", func(s *Snapshot, p *Policy, _ *Query) {
			s.Servers[1].State, s.Servers[2].LagKnown, p.MinReserved = Broken, false, 1
		}, "P=primary-not-read R1=replication-broken R2=rescued-lagging"},
		{"reserved: broken, as nothing else is left", func(s *Snapshot, p *Policy, _ *Query) {
			s.Servers[1].State, s.Servers[2].State, p.MinReserved = Broken, Unproven, 2
		}, "P=primary-not-read R1=rescued-broken R2=unproven"},
		{"reserved: the primary is not rescued", func(s *Snapshot, p *Policy, _ *Query) {
			s.Servers[0].State, s.Servers[0].Weight, s.Servers[1].State, p.MinReserved = Broken, 900, Broken, 2
		}, "P=replication-broken R1=rescued-broken R2=readable"},
		{"reserved: the primary does not count", func(s *Snapshot, p *Policy, _ *Query) {
			s.Servers[0].Weight, s.Servers[1].Lag, p.MinReserved = 100, time.Minute, 2
		}, "P=readable R1=rescued-lagging R2=readable"},
		{"reserved is not for weak", func(s *Snapshot, p *Policy, q *Query) {
			lagging(s, p)
			q.Level, p.MaxStaleness = Weak, 2*time.Second
		}, "P=last-resort R1=lag-over-limit R2=lag-over-limit"},
		{"reserved is not for a read with a bound", func(s *Snapshot, p *Policy, q *Query) {
			lagging(s, p)
			q.MaxStaleness = 20 * time.Second
		}, "P=primary-not-read R1=lag-over-limit R2=readable"},
		{"reserved is not for session", func(s *Snapshot, p *Policy, q *Query) {
			lagging(s, p)
			q.Level = SessionLevel
		}, "P=primary-not-read R1=lag-over-limit R2=readable"},
		{"reserved is not for a position", func(s *Snapshot, p *Policy, q *Query) {
			lagging(s, p)
			require(q, Eventual)
			s.Servers[1].Position, s.Servers[2].Position = q.Require, q.Require
		}, "P=primary-not-read(behind) R1=lag-over-limit R2=readable"},
		{"a bound of the read's own replaces the policy's for weak", func(s *Snapshot, p *Policy, q *Query) {
			lagging(s, p)
			q.Level, p.MaxStaleness, q.MaxStaleness = Weak, time.Second, 4*time.Second
		}, "P=primary-not-read R1=lag-over-limit R2=readable"},
		{"max_lag holds under a wider bound", func(s *Snapshot, p *Policy, q *Query) {
			lagging(s, p)
			p.MaxLag, q.MaxStaleness = 2*time.Second, time.Hour
		}, "P=last-resort R1=lag-over-limit R2=lag-over-limit"},
		{"a bound holds though max_lag is off", func(s *Snapshot, p *Policy, q *Query) {
			p.MaxLag, q.MaxStaleness, s.Servers[1].LagKnown = 0, time.Hour, false
		}, "P=primary-not-read R1=lag-unknown R2=readable"},
	}
}

// require makes the read need ten transactions.
func require(q *Query, l Level) { q.Level, q.Required, q.Require = l, true, position("1-10") }

func positionCases() []candidatesCase {
	return []candidatesCase{
		{"position", func(s *Snapshot, _ *Policy, q *Query) {
			require(q, SessionLevel)
			s.Servers[0].Position = q.Require
			s.Servers[1].Position, s.Servers[2].Position = position("1-9:11-20"), position("1-20")
		}, "P=primary-not-read R1=behind-position R2=readable"},
		{"nobody has the position", func(s *Snapshot, _ *Policy, q *Query) {
			require(q, SessionLevel)
			s.Servers[0].Position, s.Servers[1].Position = position("1-20"), position("1-9")
		}, "P=last-resort R1=behind-position R2=behind-position"},
		{"not even the primary", func(s *Snapshot, _ *Policy, q *Query) {
			require(q, SessionLevel)
			s.Servers[0].Weight = 100
		}, "P=last-resort(behind) R1=behind-position R2=behind-position"},
		{"the primary alone lacks it", func(s *Snapshot, _ *Policy, q *Query) {
			require(q, SessionLevel)
			s.Servers[0].Weight, s.Servers[0].Position, s.Servers[1].Position = 100, position("1-9"), q.Require
		}, "P=behind-position R1=readable R2=behind-position"},
		{"the fetched position is the primary's", func(s *Snapshot, _ *Policy, q *Query) {
			require(q, Global)
			s.Current, s.CurrentKnown, s.Servers[0].Weight, s.Servers[1].Position = q.Require, true, 1, q.Require
		}, "P=readable R1=readable R2=behind-position"},
		{"the fetched position is not known", func(s *Snapshot, _ *Policy, q *Query) {
			require(q, Global)
			s.Current, s.Servers[0].Weight, s.Servers[1].Position = q.Require, 1, q.Require
		}, "P=behind-position R1=readable R2=behind-position"},
		{"a position of the other kind", func(s *Snapshot, _ *Policy, q *Query) {
			require(q, SessionLevel)
			s.Servers[0].Position, s.Servers[2].Position = q.Require, q.Require
			s.Servers[1].Position = position("0-1-99")
		}, "P=primary-not-read R1=behind-position R2=readable"},
		{"positions of MariaDB", func(s *Snapshot, _ *Policy, q *Query) {
			q.Level, q.Required, q.Require = SessionLevel, true, position("0-1-5,1-1-9")
			s.Servers[0].Position = q.Require
			s.Servers[1].Position, s.Servers[2].Position = position("0-1-7,1-1-8"), position("0-1-5,1-1-9")
		}, "P=primary-not-read R1=behind-position R2=readable"},
		{"the empty position is everywhere", func(_ *Snapshot, _ *Policy, q *Query) {
			q.Level, q.Required = SessionLevel, true
		}, "P=primary-not-read R1=readable R2=readable"},
		{"global without a position", func(_ *Snapshot, _ *Policy, q *Query) {
			q.Level = Global
		}, "P=last-resort R1=behind-position R2=behind-position"},
		{"scc without a position", func(s *Snapshot, _ *Policy, q *Query) {
			q.Level, s.Servers[0].Weight = SCC, 100
		}, "P=readable R1=behind-position R2=behind-position"},
		{"lagging ones are not waited for", func(s *Snapshot, p *Policy, q *Query) {
			require(q, SessionLevel)
			p.MinReserved, s.Servers[0].Position, s.Servers[1].Lag = 2, q.Require, time.Minute
		}, "P=last-resort R1=lag-over-limit R2=behind-position"},
	}
}

func askedCases() []candidatesCase {
	return []candidatesCase{
		{"strong", func(s *Snapshot, _ *Policy, q *Query) {
			q.Level, s.Servers[1].State = Strong, Offline
		}, "P=readable R1=offline R2=strong-read"},
		{"strong on a read-only endpoint", func(_ *Snapshot, p *Policy, q *Query) {
			q.Level, p.Endpoint = Strong, ReadOnly
		}, "P=read-only-endpoint R1=strong-read R2=strong-read"},
		{"node", func(s *Snapshot, _ *Policy, q *Query) {
			q.Node, s.Servers[0].Weight = "R2", 100
		}, "P=not-asked-node R1=not-asked-node R2=readable"},
		{"node is the primary", func(_ *Snapshot, _ *Policy, q *Query) {
			q.Node = "P"
		}, "P=readable R1=not-asked-node R2=not-asked-node"},
		{"node is the primary, which lacks the position", func(_ *Snapshot, _ *Policy, q *Query) {
			require(q, SessionLevel)
			q.Node = "P"
		}, "P=readable(behind) R1=not-asked-node(behind) R2=not-asked-node(behind)"},
		{"node cannot be read", func(s *Snapshot, _ *Policy, q *Query) {
			q.Node, s.Servers[1].Lag, s.Servers[2].State = "R1", time.Hour, Broken
		}, "P=not-asked-node R1=lag-over-limit R2=replication-broken"},
		{"node is rescued only when its turn comes", func(s *Snapshot, p *Policy, q *Query) {
			q.Node, s.Servers[1].Lag, p.MinReserved = "R1", time.Hour, 1
		}, "P=not-asked-node R1=lag-over-limit R2=not-asked-node"},
		{"chosen, in whatever zone", func(s *Snapshot, p *Policy, q *Query) {
			q.Level, s.Choose, s.Chosen.Server = Weak, true, 2
			s.Servers[0].Weight, p.Zone, s.Servers[1].Zone = 100, "a", "a"
		}, "P=not-chosen R1=not-chosen R2=readable"},
		{"chosen is late, and none else is read", func(s *Snapshot, p *Policy, q *Query) {
			q.Level, s.Choose, s.Chosen.Server = Weak, true, 2
			p.MaxStaleness, s.Servers[2].Lag, s.Servers[1].State = time.Second, 2*time.Second, Offline
		}, "P=not-chosen R1=offline R2=lag-over-limit"},
		{"chosen is the primary", func(s *Snapshot, _ *Policy, q *Query) {
			q.Level, s.Choose, s.Chosen.Server = Weak, true, 0
		}, "P=last-resort R1=not-chosen R2=not-chosen"},
		{"chosen is for level weak", func(s *Snapshot, _ *Policy, _ *Query) {
			s.Choose, s.Chosen.Server = true, 2
		}, "P=primary-not-read R1=readable R2=readable"},
		{"replica only", func(s *Snapshot, _ *Policy, q *Query) {
			q.ReplicaOnly, s.Servers[0].Weight = true, 100
		}, "P=replica-only R1=readable R2=readable"},
		{"replica only, and none", func(s *Snapshot, _ *Policy, q *Query) {
			q.ReplicaOnly, s.Servers[1].Lag, s.Servers[2].State = true, time.Hour, Offline
		}, "P=replica-only R1=lag-over-limit R2=offline"},
		{"read-only endpoint", func(s *Snapshot, p *Policy, q *Query) {
			p.Endpoint, q.Node, s.Servers[0].Weight = ReadOnly, "P", 100
		}, "P=read-only-endpoint R1=not-asked-node R2=not-asked-node"},
		{"zone", func(s *Snapshot, p *Policy, _ *Query) {
			p.Zone, s.Servers[1].Zone, s.Servers[2].Zone = "a", "b", "a"
		}, "P=primary-not-read R1=other-zone R2=readable"},
		{"no zone of one's own", func(s *Snapshot, _ *Policy, _ *Query) {
			s.Servers[1].Zone = "b"
		}, "P=primary-not-read R1=readable R2=readable"},
		{"nothing is readable in the zone", func(s *Snapshot, p *Policy, _ *Query) {
			p.Zone, s.Servers[1].Zone, s.Servers[2].Zone, s.Servers[2].State = "a", "b", "a", Offline
		}, "P=primary-not-read R1=readable R2=offline"},
		{"the zone's is behind the position", func(s *Snapshot, p *Policy, q *Query) {
			require(q, SessionLevel)
			s.Servers[0].Position, s.Servers[1].Position = q.Require, q.Require
			p.Zone, s.Servers[1].Zone, s.Servers[2].Zone = "a", "b", "a"
		}, "P=primary-not-read R1=readable R2=behind-position"},
		{"the zone has only a rescued one", func(s *Snapshot, p *Policy, _ *Query) {
			p.Zone, s.Servers[1].Zone, s.Servers[2].Zone = "a", "b", "a"
			s.Servers[2].Lag, p.MinReserved = time.Hour, 2
		}, "P=primary-not-read R1=readable R2=rescued-lagging"},
		{"all are rescued", func(s *Snapshot, p *Policy, _ *Query) {
			p.Zone, s.Servers[1].Zone, s.Servers[2].Zone = "a", "b", "a"
			s.Servers[1].Lag, s.Servers[2].Lag, p.MinReserved = time.Minute, time.Hour, 2
		}, "P=primary-not-read R1=other-zone R2=rescued-lagging"},
		{"the primary is the zone's", func(s *Snapshot, p *Policy, _ *Query) {
			p.Zone, s.Servers[0].Zone, s.Servers[0].Weight = "a", "a", 100
		}, "P=readable R1=other-zone R2=other-zone"},
	}
}

func (c candidatesCase) run() (*Snapshot, []Candidate) {
	s, p, q := servers(2), Policy{MaxLag: 30 * time.Second}, Query{}
	c.with(s, &p, &q)
	return s, Candidates(nil, s, &p, q)
}

func TestCandidates(t *testing.T) {
	for _, c := range candidatesCases() {
		t.Run(c.name, func(t *testing.T) {
			s, cands := c.run()
			if got := reasons(s, cands); got != c.want {
				t.Errorf("got  %s\nwant %s", got, c.want)
			}
		})
	}
}

func TestExclusions(t *testing.T) {
	made := map[Exclusion]bool{}
	for _, c := range candidatesCases() {
		_, cands := c.run()
		for _, cand := range cands {
			made[cand.Why] = true
		}
	}
	kebab, seen := regexp.MustCompile(`^[a-z]+(-[a-z]+)*$`), map[string]bool{}
	for e := range WhyReadable + 1 {
		if !made[e] {
			t.Errorf("no case of TestCandidates produces %v", e)
		}
		if name := e.String(); !kebab.MatchString(name) || seen[name] || name == "unknown" {
			t.Errorf("Exclusion %d: text %q", e, name)
		}
		seen[e.String()] = true
	}
	if got := (WhyReadable + 1).String(); got != "unknown" {
		t.Errorf("one too many: got %q", got)
	}
	if (Candidate{}).Readable() {
		t.Error("the zero Candidate is readable")
	}
}
