package mixed

import (
	"bytes"
	"context"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

// TestChoice: tables are picked as often as their weights say, the last one too.
func TestChoice(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		skew float64
		want [4]float64
	}{{0, [4]float64{0.25, 0.25, 0.25, 0.25}}, {1, [4]float64{0.48, 0.24, 0.16, 0.12}}} {
		const n = 100_000
		random, c := rand.New(rand.NewPCG(1, 2)), newChoice(4, tt.skew)
		var got [4]float64
		for range n {
			got[c.pick(random)] += 1.0 / n
		}
		for i := range got {
			if d := got[i] - tt.want[i]; d < -0.01 || d > 0.01 {
				t.Errorf("skew %g: got %v, want %v", tt.skew, got, tt.want)
				break
			}
		}
	}
}

// measured runs clients on a primary, and a statement when the part that counts begins.
func measured(t *testing.T, f flavor.Flavor, meanwhile string) *Outcome {
	t.Helper()
	c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: -1})
	p := c.Primary()
	sandboxtest.Exec(t, p, append([]string{"CREATE DATABASE mixed", "USE mixed"}, Prepare(3, 2)...)...)
	o := &Options{
		Address: p.Address(), User: p.User, Password: p.Password, Schema: "mixed", Sessions: 4, Tables: 3, Rows: 2, Writes: 0.5,
		Warmup: 100 * time.Millisecond, Time: 500 * time.Millisecond,
	}
	calls := ""
	got, err := Measure(t.Context(), o, func() {
		calls += "begin "
		if meanwhile != "" {
			sandboxtest.Exec(t, p, meanwhile)
		}
	}, func() { calls += "end" })
	if err != nil || calls != "begin end" {
		t.Fatalf("got %v, %q", err, calls)
	}
	return got
}

// TestMeasure: nothing is old on one server, and everything is counted.
func TestMeasure(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		got := measured(t, f, "")
		if got.Reads.Count == 0 || got.Writes.Count == 0 || got.Reads.P50 <= 0 || got.Writes.P99 < got.Writes.P50 || got.Seconds < 0.5 {
			t.Errorf("got %+v", got)
		}
		if got.OnReplicas != 0 || got.Stale != 0 {
			t.Errorf("%d reads on replicas that are not there, %d old", got.OnReplicas, got.Stale)
		}
	})
}

// TestMeasure_stale: a row that has lost a change is found.
func TestMeasure_stale(t *testing.T) {
	if got := measured(t, flavor.MySQL, "UPDATE mixed.mixed2 SET n = n - 1 WHERE id = 1"); got.Stale == 0 {
		t.Errorf("got %+v", got)
	}
}

// TestMain_fails: what cannot be had is an error.
func TestMain_fails(t *testing.T) {
	t.Parallel()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	var out bytes.Buffer
	for _, in := range []string{"no JSON", `{"Address": "127.0.0.1:1", "Sessions": 1, "Tables": 1, "Rows": 1}`} {
		if err := Main(ctx, strings.NewReader(in), &out); err == nil || out.Len() > 0 {
			t.Errorf("%s: got %v, %q", in, err, out.String())
		}
	}
}
