package verify_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/verify"
)

var primaryDB, replicaDB *sql.DB // of the example; TestExample sets them

// What keeps a promise is worth something if the same run finds that a late replica, as a control, breaks it.
func ExampleRun() {
	ctx := context.Background()
	o := verify.Options{Read: primaryDB, Write: primaryDB, Clients: 8, Registers: 4, Reads: 2000}
	result, err := verify.Run(ctx, o)
	if err != nil {
		fmt.Println(err)
		return
	}
	for _, p := range []verify.Promise{verify.Monotonic, verify.Session, verify.Global} {
		fmt.Printf("the primary keeps %s: %v\n", p, result.Tested(p) && result.Keeps(p))
	}

	o.Read = replicaDB
	control, err := verify.Run(ctx, o)
	if err != nil {
		fmt.Println(err)
		return
	}
	fmt.Println("the control breaks session:", control.Breaks(verify.Session))
	for _, v := range control.Violations {
		if last := v.Ops[len(v.Ops)-1]; v.Kind == verify.OwnWrite && !last.Write {
			fmt.Printf("%s: the last of %d operations is a read that should have seen more\n", v.Kind, len(v.Ops))
			break
		}
	}
}

// TestExample is not parallel: it catches what is printed.
func TestExample(t *testing.T) {
	const want = `the primary keeps weak: true
the primary keeps session: true
the primary keeps global: true
the control breaks session: true
own-write: the last of 2 operations is a read that should have seen more`
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 1, Delays: []time.Duration{time.Second}})
		primaryDB, replicaDB = sandboxtest.Open(t, c.Primary()), sandboxtest.Open(t, c.Replica(1))
		primaryDB.SetMaxOpenConns(0) // one for each client, and more
		replicaDB.SetMaxOpenConns(0)
		if got := sandboxtest.Printed(t, ExampleRun); got != want {
			t.Errorf("got\n%s\nwant\n%s", got, want)
		}
	})
}
