package lag_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/lag"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/status"
	"github.com/mysqlrw/mysqlrw/waitpos"
)

// An unknown lag is not 0, and a lower bound can be enough to say no.
func ExampleLag() {
	const limit = 10 * time.Second
	for _, l := range []lag.Lag{
		lag.Known(2 * time.Second),
		lag.Unknown(lag.ReceiverConnecting),
		lag.MoreThan(30*time.Second, lag.BehindSource),
		{},
	} {
		d, known := l.Duration()
		over, certain := l.Exceeds(limit)
		switch {
		case certain && over:
			fmt.Printf("%s: over %s, at least %s\n", l, limit, l.AtLeast())
		case known:
			fmt.Printf("%s: can be read, %s behind\n", l, d)
		default:
			fmt.Printf("%s: nobody knows\n", l.Reason())
		}
	}
	// Output:
	// 2s: can be read, 2s behind
	// receiver-connecting: nobody knows
	// behind-source: over 10s, at least 30s
	// not-measured: nobody knows
}

var primaryDB, replicaDB *sql.DB // of the example; TestExample sets them

// A replica with its source at hand is asked for the best that can be known of it.
func ExampleMeasure() {
	ctx := context.Background()
	samples, err := lag.Measure(ctx, replicaDB, lag.Options{
		Source: func(context.Context, *status.Channel) (status.Querier, error) { return primaryDB, nil },
		Wait: func(ctx context.Context, t waitpos.Target, o waitpos.Options) (waitpos.Result, error) {
			return waitpos.Wait(ctx, replicaDB, t, o)
		},
		Budget: 5 * time.Second,
	})
	if err != nil {
		fmt.Println("the replica could not be asked:", err)
		return
	}
	for _, s := range samples {
		if d, known := s.Lag.Duration(); known {
			fmt.Printf("channel %q: %s behind\n", s.Channel, d)
		} else {
			fmt.Printf("channel %q: unknown: %s\n", s.Channel, s.Lag.Reason())
		}
	}
}

// TestExample is not parallel: it catches what is printed.
func TestExample(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 1})
		primaryDB, replicaDB = sandboxtest.Open(t, c.Primary()), sandboxtest.Open(t, c.Replica(1))
		exec(t, primaryDB, "CREATE DATABASE d")
		until(t, replicaDB, options(replicaDB, primaryDB, lag.Auto), "a replica in sync", isZero)
		if got, want := sandboxtest.Printed(t, ExampleMeasure), `channel "": 0s behind`; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		exec(t, replicaDB, flavor.StopThread(f, flavor.Applier, ""))
		if got, want := sandboxtest.Printed(t, ExampleMeasure), `channel "": unknown: applier-stopped`; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
