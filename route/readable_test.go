package route

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"pgregory.net/rapid"
)

const testUUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"

// position parses a list of intervals of one MySQL server, or a MariaDB
// position.
func position(text string) gtid.Value {
	if !strings.Contains(text, "-1-") {
		text = testUUID + ":" + text
	}
	v, err := gtid.ParseValue(text)
	if err != nil {
		panic(err)
	}
	return v
}

// servers returns a primary of weight 0 and replicas of weight 100, all online
// and without lag.
func servers(replicas int) *Snapshot {
	s := &Snapshot{Servers: []Server{{Name: "P", Role: Primary, State: Online}}}
	for i := range replicas {
		s.Servers = append(s.Servers, Server{
			Name: fmt.Sprint("R", i+1), State: Online, LagKnown: true, Weight: 100,
		})
	}
	return s
}

// reasons writes candidates out as "P=primary-not-read R1=readable".
func reasons(s *Snapshot, cands []Candidate) string {
	var words []string
	for _, c := range cands {
		word := s.Servers[c.Server].Name + "=" + c.Why.String()
		if c.Behind && c.Why != WhyBehindPosition {
			word += "(behind)"
		}
		words = append(words, word)
	}
	return strings.Join(words, " ")
}

// TestEdgeTable is the RDS manual's table of edge cases, method by weight by
// fault: what the primary and the endpoint can do.
func TestEdgeTable(t *testing.T) {
	rows := []struct {
		name           string
		endpoint       Endpoint
		weight         int       // the primary's; "system" and "custom 0" are the same weight
		primary, whole [3]string // normal, last replica removed, all replicas faulty
	}{
		{"read-only", ReadOnly, 100, [3]string{"", "", ""}, [3]string{"r", "", ""}},
		{"read-write system 0", ReadWrite, 0, [3]string{"w", "rw", "rw"}, [3]string{"rw", "rw", "rw"}},
		{"read-write custom 100", ReadWrite, 100, [3]string{"rw", "rw", "rw"}, [3]string{"rw", "rw", "rw"}},
		{"read-write custom 0", ReadWrite, 0, [3]string{"w", "rw", "rw"}, [3]string{"rw", "rw", "rw"}},
	}
	faults := []func(*Server){
		func(sv *Server) { sv.State = Offline },
		func(sv *Server) { sv.State = Broken },
		func(sv *Server) { sv.State = Unproven },
		func(sv *Server) { sv.Lag = time.Hour },
		func(sv *Server) { sv.LagKnown = false },
	}
	for _, row := range rows {
		check := func(column int, what string, s *Snapshot) {
			p := Policy{Endpoint: row.endpoint, MaxLag: 30 * time.Second}
			s.Servers[0].Weight = row.weight
			cands := Candidates(nil, s, &p, Query{})
			primary, whole := "", ""
			if cands[0].Readable() {
				primary = "r"
			}
			if Pick(cands, s, &p, nil) >= 0 {
				whole = "r"
			}
			if p.Endpoint == ReadWrite && s.Primary() >= 0 {
				primary += "w"
				whole += "w"
			}
			if primary != row.primary[column] || whole != row.whole[column] {
				t.Errorf("%s, %s: primary/endpoint %q/%q, want %q/%q",
					row.name, what, primary, whole, row.primary[column], row.whole[column])
			}
		}
		check(0, "normal", servers(2))
		check(1, "last replica removed", servers(0))
		for i, fault := range faults {
			s := servers(2)
			fault(&s.Servers[1])
			fault(&s.Servers[2])
			check(2, fmt.Sprint("fault ", i), s)
		}
	}
}

func TestServerNames(t *testing.T) {
	s := servers(2)
	for i, name := range []string{"P", "R1", "R2"} {
		if got := s.Find(name); got != i {
			t.Errorf("Find(%q): got %d, want %d", name, got, i)
		}
	}
	if got := s.Find("r1"); got != -1 {
		t.Errorf("Find is exact: got %d", got)
	}
	want := "replica primary unproven online broken offline"
	if got := fmt.Sprint(Replica, Primary, Unproven, Online, Broken, Offline); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}

func TestOnlyOnePrimary(t *testing.T) {
	s := servers(1)
	s.Servers[1].Role = Primary
	if got := s.Primary(); got != -1 {
		t.Errorf("two primaries: got %d", got)
	}
	s.Servers[0].State, s.Servers[1].State = Offline, Offline
	if got := s.Primary(); got != -1 {
		t.Errorf("no primary: got %d", got)
	}
}

// TestMinReserved is the RDS manual's table ("Configure the minimum number of
// reserved nodes"): lags in seconds, -1 is broken replication.
func TestMinReserved(t *testing.T) {
	const off, everything = time.Duration(0), time.Nanosecond
	tests := []struct {
		name     string
		reserved int
		limit    time.Duration
		lags     [3]int
		want     string
	}{
		{"1", 1, off, [3]int{-1, -1, -1}, "R1"},
		// The manual has only R2 here, at a threshold of -1. A check that is
		// off leaves R3 readable as well; at a threshold that everything is
		// over it is R2.
		{"2", 1, off, [3]int{-1, 50, 60}, "R2 R3"},
		{"2 over any limit", 1, everything, [3]int{-1, 50, 60}, "R2"},
		{"3", 1, 30 * time.Second, [3]int{0, 40, 40}, "R1"},
		{"4", 1, 30 * time.Second, [3]int{40, 50, 60}, "R1"},
		{"5", 1, 30 * time.Second, [3]int{-1, -1, -1}, "R1"},
		{"6", 1, 30 * time.Second, [3]int{-1, 50, 60}, "R2"},
		{"7", 2, 30 * time.Second, [3]int{20, 60, 40}, "R1 R2"},
		{"8", 2, 30 * time.Second, [3]int{20, -1, 60}, "R1 R3"},
		{"9", 2, 30 * time.Second, [3]int{20, -1, -1}, "R1 R2"},
	}
	for _, test := range tests {
		s := servers(3)
		for i, lag := range test.lags {
			sv := &s.Servers[i+1]
			if sv.Lag = time.Duration(lag) * time.Second; lag < 0 {
				sv.State, sv.Lag, sv.LagKnown = Broken, 0, false
			}
		}
		p := &Policy{MaxLag: test.limit, MinReserved: test.reserved}
		var got []string
		for _, c := range Candidates(nil, s, p, Query{}) {
			if c.Readable() {
				got = append(got, s.Servers[c.Server].Name)
			}
		}
		if got := strings.Join(got, " "); got != test.want {
			t.Errorf("case %s: readable %s, want %s", test.name, got, test.want)
		}
	}
}

// TestLagProbes: what a check can find, as its server stands in a snapshot.
func TestLagProbes(t *testing.T) {
	tests := []struct {
		name string
		sv   Server
		want Exclusion
	}{
		{"lag is NULL", Server{State: Online}, WhyLagUnknown},
		{"lag is NULL, and was 0 before", Server{State: Online, Lag: 0}, WhyLagUnknown},
		{"receiver is connecting", Server{State: Broken, LagKnown: true}, WhyBroken},
		{"applier is stopped, the number is fine", Server{State: Broken, LagKnown: true, Lag: 1}, WhyBroken},
		{"check timed out", Server{LagKnown: true}, WhyUnproven},
		{"two channels, 0 and 500 s", Server{State: Online, LagKnown: true, Lag: 500 * time.Second}, WhyLagOverLimit},
		{"not a replica", Server{}, WhyUnproven},
		{"just started", Server{State: Unproven, LagKnown: true}, WhyUnproven},
	}
	for _, test := range tests {
		s := servers(1)
		test.sv.Name, test.sv.Weight = "R1", 100
		s.Servers[1] = test.sv
		cands := Candidates(nil, s, &Policy{MaxLag: 30 * time.Second}, Query{})
		if cands[1].Why != test.want || cands[0].Why != WhyLastResort {
			t.Errorf("%s: got %s, want R1=%v", test.name, reasons(s, cands), test.want)
		}
	}
}

func TestSmallestGap(t *testing.T) {
	const budget = 10 * time.Millisecond
	tests := []struct {
		name   string
		budget time.Duration
		with   func(s *Snapshot, q *Query)
		want   int
	}{
		{"fewest missing", budget, func(*Snapshot, *Query) {}, 2},
		{"never wait", 0, func(*Snapshot, *Query) {}, -1},
		{"nothing required", budget, func(_ *Snapshot, q *Query) { q.Level, q.Required = Global, false }, -1},
		{"it lags too much", budget, func(s *Snapshot, _ *Query) { s.Servers[2].Lag = 1100 * time.Millisecond }, 3},
		{"it lags 100 budgets", budget, func(s *Snapshot, _ *Query) { s.Servers[2].Lag = time.Second }, 2},
		{"its lag is unknown", budget, func(s *Snapshot, _ *Query) { s.Servers[2].LagKnown = false }, 3},
		{"it is broken", budget, func(s *Snapshot, _ *Query) { s.Servers[2].State = Broken }, 3},
		{"it drains", budget, func(s *Snapshot, _ *Query) { s.Servers[2].Weight = 0 }, 3},
		{"it is of the other kind", budget, func(s *Snapshot, _ *Query) { s.Servers[2].Position = position("0-1-99") }, 3},
		{"another was asked for", budget, func(_ *Snapshot, q *Query) { q.Node = "R1" }, 1},
		{"equal, less loaded", budget, func(s *Snapshot, _ *Query) {
			s.Servers[3].Position, s.Servers[1].Active, s.Servers[2].Active, s.Servers[3].Active = position("1-9"), 2, 2, 1
		}, 3},
		{"hardly further, less loaded", budget, func(s *Snapshot, _ *Query) { s.Servers[2].Active, s.Servers[3].Active = 1, 1 }, 1},
		{"equal, the first", budget, func(s *Snapshot, _ *Query) { s.Servers[3].Position = position("1-8:10") }, 2},
		{"nothing is known of any", budget, func(s *Snapshot, _ *Query) {
			for i := range s.Servers {
				s.Servers[i].Position = gtid.Value{}
			}
		}, 1},
		{"all lag", budget, func(s *Snapshot, _ *Query) {
			for i := range s.Servers {
				s.Servers[i].Lag = 10 * time.Second
			}
		}, -1},
		{"the primary is not waited for", budget, func(s *Snapshot, _ *Query) {
			s.Servers = s.Servers[:1]
			s.Servers[0].Weight = 100
		}, -1},
		{"nor where it takes reads and lacks the fewest", budget, func(s *Snapshot, q *Query) {
			s.Servers[0].Weight, s.Servers[0].Position, s.Servers[1].Position = 100, position("1-9"), q.Require
			s.Servers[2].Position = position("1-7")
		}, 3},
		{"MariaDB", budget, func(s *Snapshot, q *Query) {
			q.Require = position("0-1-10,1-1-10")
			s.Servers[1].Position = position("0-1-9,1-1-9")
			s.Servers[2].Position = position("0-1-10,1-1-7")
			s.Servers[3].Position = position("0-1-10")
		}, 1},
	}
	for _, test := range tests {
		s, q := servers(3), Query{Level: SessionLevel, Required: true, Require: position("1-10")}
		for i, text := range []string{"1", "1-2", "1-9", "1-8"} {
			s.Servers[i].Position = position(text)
		}
		test.with(s, &q)
		cands := Candidates(nil, s, &Policy{MaxLag: 30 * time.Second}, q)
		if got := SmallestGap(cands, s, q, test.budget); got != test.want {
			t.Errorf("%s: got %d, want %d of %s", test.name, got, test.want, reasons(s, cands))
		}
	}
}

// drawSnapshot draws servers in all states, a policy and a query.
func drawSnapshot(t *rapid.T) (*Snapshot, *Policy, Query) {
	lag := rapid.SampledFrom([]time.Duration{0, time.Second, 2 * time.Second, 10 * time.Second})
	level := rapid.Map(rapid.IntRange(int(Eventual), int(Strong)), func(l int) Level { return Level(l) })
	at := rapid.SampledFrom([]gtid.Value{{}, position("1-5"), position("1-10"), position("0-1-7")})
	zone := rapid.SampledFrom([]string{"", "a", "b"})
	s := &Snapshot{Current: at.Draw(t, "current"), CurrentKnown: rapid.Bool().Draw(t, "current known")}
	for i := range rapid.IntRange(0, 5).Draw(t, "servers") {
		s.Servers = append(s.Servers, Server{
			Name:     fmt.Sprint("S", i),
			Role:     Role(rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "role")),
			State:    State(rapid.SampledFrom([]int{0, 1, 1, 1, 2, 3}).Draw(t, "state")),
			Lag:      lag.Draw(t, "lag"),
			LagKnown: rapid.IntRange(0, 3).Draw(t, "lag known") > 0,
			Position: at.Draw(t, "position"),
			Weight:   rapid.IntRange(0, 3).Draw(t, "weight"),
			Zone:     zone.Draw(t, "zone"),
		})
	}
	p := &Policy{
		Endpoint:     Endpoint(rapid.IntRange(0, 1).Draw(t, "endpoint")),
		MaxLag:       lag.Draw(t, "max lag"),
		MaxStaleness: lag.Draw(t, "max staleness"),
		MinReserved:  rapid.IntRange(0, 3).Draw(t, "reserved"),
		Zone:         zone.Draw(t, "own zone"),
	}
	return s, p, Query{
		Level:        level.Draw(t, "level"),
		MaxStaleness: lag.Draw(t, "staleness"),
		Require:      at.Draw(t, "require"),
		Required:     rapid.Bool().Draw(t, "required"),
		Node:         rapid.SampledFrom([]string{"", "", "S0", "S1"}).Draw(t, "node"),
		ReplicaOnly:  rapid.Bool().Draw(t, "replica only"),
	}
}

// TestCandidatesKeepThePromise: whatever comes in, nothing readable breaks what
// the read was promised, and a read that may run on the primary never fails.
func TestCandidatesKeepThePromise(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, p, q := drawSnapshot(t)
		cands := Candidates(nil, s, p, q)
		rescued, readable := 0, 0
		for i, c := range cands {
			sv := &s.Servers[i]
			switch {
			case c.Server != i:
				t.Fatalf("candidate %d is of server %d", i, c.Server)
			case !c.Readable():
				continue
			case sv.State != Online && c.Why != WhyRescuedBroken, sv.State == Offline, sv.State == Unproven:
				t.Fatalf("%v is read though %v: %v", sv.Name, sv.State, c.Why)
			case q.Node != "" && q.Node != sv.Name:
				t.Fatalf("%v is read, not %v", sv.Name, q.Node)
			}
			readable++
			if sv.Role == Primary {
				if p.Endpoint == ReadOnly || q.ReplicaOnly || i != s.Primary() {
					t.Fatalf("the primary %v is read: %v", sv.Name, c.Why)
				}
				if !c.Behind && q.Required && !sv.Position.Has(q.Require) && !s.CurrentKnown {
					t.Fatalf("the primary %v is not behind", sv.Name)
				}
				continue
			}
			if c.Why == WhyRescuedBroken || c.Why == WhyRescuedLagging {
				rescued++
			}
			over := func(limit time.Duration) bool { return limit > 0 && (!sv.LagKnown || sv.Lag > limit) }
			stale := over(p.MaxLag) || over(q.MaxStaleness) ||
				q.Level == Weak && q.MaxStaleness == 0 && over(p.MaxStaleness)
			switch {
			case sv.Weight == 0, q.Level == Strong:
				t.Fatalf("%v is read at weight %d, level %v", sv.Name, sv.Weight, q.Level)
			case stale && (q.Level != Eventual || q.Required || q.MaxStaleness > 0 || c.Why == WhyReadable):
				t.Fatalf("%v is too far behind: %v", sv.Name, c.Why)
			case q.Required && !sv.Position.Has(q.Require), !q.Required && (q.Level == Global || q.Level == SCC), c.Behind:
				t.Fatalf("%v is not known to have the position", sv.Name)
			}
		}
		if rescued > p.MinReserved {
			t.Fatalf("%d rescued of %d", rescued, p.MinReserved)
		}
		if p.Endpoint == ReadWrite && s.Primary() >= 0 && !q.ReplicaOnly && q.Node == "" && readable == 0 {
			t.Fatalf("nothing can be read: %s", reasons(s, cands))
		}
		if i := SmallestGap(cands, s, q, time.Millisecond); i >= 0 {
			sv := &s.Servers[i]
			if cands[i].Readable() || sv.State != Online || sv.Role != Replica || sv.Weight == 0 {
				t.Fatalf("waits on %v: %v", sv.Name, cands[i].Why)
			}
		}
	})
}
