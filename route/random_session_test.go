package route

import (
	"testing"

	"pgregory.net/rapid"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
)

// randomServers draws a snapshot: any roles, states, lags and positions.
func randomServers(t *rapid.T) *Snapshot {
	snap := &Snapshot{}
	for _, name := range []string{"a", "b", "c"} {
		sv := Server{
			Name:     name,
			Role:     Role(rapid.IntRange(0, 1).Draw(t, "role")),
			State:    State(rapid.SampledFrom([]int{1, 1, 1, 1, 0, 2, 3}).Draw(t, "state")),
			LagKnown: rapid.Bool().Draw(t, "lag known"),
			Weight:   rapid.SampledFrom([]int{0, 100, 200}).Draw(t, "weight"),
		}
		sv.Position = randomPosition(t)
		snap.Servers = append(snap.Servers, sv)
	}
	if snap.CurrentKnown = rapid.Bool().Draw(t, "fetched"); snap.CurrentKnown {
		snap.Current = randomPosition(t)
	}
	snap.Choose = rapid.Bool().Draw(t, "choose")
	snap.Chosen = Chosen{
		Server: rapid.IntRange(-1, 2).Draw(t, "chosen"), Fetch: rapid.Bool().Draw(t, "chosen must be fetched for"), Needs: randomPosition(t),
	}
	return snap
}

func randomPosition(t *rapid.T) gtid.Value {
	texts := []string{"", firstUUID + ":1-5", firstUUID + ":1-10", firstUUID + ":1-7:9-12", "0-1-5"}
	v, err := gtid.ParseValue(rapid.SampledFrom(texts).Draw(t, "position"))
	if err != nil {
		t.Fatal(err)
	}
	return v
}

func randomOutcome(t *rapid.T) Outcome {
	out := Outcome{
		Failed:       rapid.SampledFrom([]bool{false, false, false, true}).Draw(t, "failed"),
		StatusKnown:  rapid.Bool().Draw(t, "status known"),
		StateChanged: rapid.SampledFrom([]bool{false, false, false, true}).Draw(t, "state changed"),
	}
	if out.StatusKnown {
		out.InTransaction = rapid.Bool().Draw(t, "in transaction")
		out.AutocommitOff = rapid.SampledFrom([]bool{false, false, true}).Draw(t, "autocommit off")
	}
	out.Position = randomPosition(t)
	return out
}

func randomPolicy(t *rapid.T) *Policy {
	p := DefaultPolicy()
	p.Level = Level(rapid.IntRange(0, int(Strong)).Draw(t, "level"))
	p.Splitting = Splitting(rapid.IntRange(0, 1).Draw(t, "splitting"))
	p.Endpoint = Endpoint(rapid.SampledFrom([]int{0, 0, 0, 1}).Draw(t, "endpoint"))
	p.Balancer = Balancer(rapid.IntRange(0, 1).Draw(t, "balancer"))
	p.ErrorOnTimeout = rapid.Bool().Draw(t, "error on timeout")
	p.MinReserved = rapid.IntRange(0, 2).Draw(t, "reserved")
	p.SystemSchemasOnReplicas = rapid.Bool().Draw(t, "system schemas")
	return &p
}

// TestRandomSessions plays statements of the corpus in any order, while servers
// come, go and change roles, and holds what must never be.
func TestRandomSessions(t *testing.T) {
	var texts []string
	for _, c := range statementCases(t) {
		if len(c.sql) < 1000 {
			texts = append(texts, c.sql)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		policy, snap := randomPolicy(t), randomServers(t)
		session := Session{}
		session.SetReadCommitted(rapid.Bool().Draw(t, "read committed"))
		session.Options.SystemSchemasOnReplicas = policy.SystemSchemasOnReplicas
		var rotation Rotation
		for range rapid.IntRange(1, 20).Draw(t, "statements") {
			if rapid.IntRange(0, 9).Draw(t, "change") == 0 {
				snap = randomServers(t)
			}
			text := rapid.SampledFrom(texts).Draw(t, "statement")
			st := Classify(text, &session.Options)
			d := session.Decide(&st, text, policy, snap, &rotation)
			if broken := brokenPromise(&st, &d, policy, snap); broken != "" {
				t.Fatalf("%s: %s: %v %v", text, broken, d.Target, d.Reasons())
			}
			if d.Target == Refuse && d.Error == "" {
				t.Fatalf("%s: refused without a text: %v", text, d.Reasons())
			}
			if d.Fetch || d.Server < 0 && d.Error != "" {
				continue
			}
			before := session.Token
			session.Apply(&st, text, &d, snap, randomOutcome(t))
			if !session.Token.Has(before) && !st.Facts.Any(FactProxy) {
				t.Fatalf("%s: the token lost something", text)
			}
			if len(session.Holds()) > 20*20 {
				t.Fatalf("%s: %d holds", text, len(session.Holds()))
			}
		}
		session.Reset(true)
		if len(session.Holds()) != 0 || session.Transaction.Open || session.AutocommitOff || session.Node != "" {
			t.Fatalf("a reset leaves %+v", session)
		}
	})
}
