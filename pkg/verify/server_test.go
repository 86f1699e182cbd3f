package verify

import (
	"context"
	"database/sql"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/status"
)

// open opens a server with as many connections as are asked for.
func open(t *testing.T, s *sandbox.Server) *sql.DB {
	db := sandboxtest.Open(t, s)
	db.SetMaxOpenConns(0)
	return db
}

func mustRun(t *testing.T, o Options) *Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Minute)
	defer cancel()
	r, err := Run(ctx, o)
	if err != nil {
		t.Fatal(err)
	}
	if len(r.Errors) > 0 {
		t.Errorf("errors: %v", r.Errors)
	}
	return r
}

// TestRun: a primary alone is linearizable, and a replica that is behind by
// design breaks everything that can be broken on one server.
func TestRun(t *testing.T) {
	t.Parallel()
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 1, Delays: []time.Duration{time.Second}})
		primary, replica := open(t, c.Primary()), open(t, c.Replica(1))
		before := schemas(t, primary)

		r := mustRun(t, Options{Read: primary, Write: primary, Clients: 8, Registers: 4, Reads: 5000})
		t.Logf("%+v", r)
		if r.Found() != Global || r.Linearizable != Yes || len(r.Violations) > 0 {
			t.Errorf("primary: found %s, linearizable %d: %v", r.Found(), r.Linearizable, r.Violations)
		}
		if r.Reads < 5000 || r.OwnWrites.Of == 0 || r.CrossSession.Of != r.Reads || r.Checked == 0 || !r.Tested(Global) {
			t.Errorf("primary: too little was looked at: %+v", r)
		}
		if n := r.ByServer["1"]; n != r.Reads {
			t.Errorf("primary: %d of %d reads are from server 1: %v", n, r.Reads, r.ByServer)
		}

		r = mustRun(t, Options{Read: replica, Write: primary, Clients: 8, Registers: 4, Duration: 3 * time.Second})
		t.Logf("%+v", r)
		if r.Keeps(Session) || !r.Breaks(Session) || !r.Breaks(Global) || r.Linearizable != No {
			t.Errorf("replica: found %s, linearizable %d", r.Found(), r.Linearizable)
		}
		if 2*r.CrossSession.Found < r.Reads || 2*r.OwnWrites.Found < r.OwnWrites.Of || r.Staleness.Max < 900*time.Millisecond {
			t.Errorf("replica: too little was found: %+v", r)
		}
		if r.MonotonicReads.Found > 0 || r.WriteOrder.Found > 0 {
			t.Errorf("replica: one server went back: %+v\n%v", r, r.Violations)
		}
		if after := schemas(t, primary); after != before {
			t.Errorf("%d schemas, %d before", after, before)
		}
	})
}

func schemas(t *testing.T, db *sql.DB) int {
	t.Helper()
	rows, err := status.Query(t.Context(), db, "SHOW DATABASES")
	if err != nil {
		t.Fatal(err)
	}
	return len(rows)
}
