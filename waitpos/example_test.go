package waitpos_test

import (
	"context"
	"database/sql"
	"fmt"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/waitpos"
)

var primaryDB, replicaDB *sql.DB // of the example; TestExample sets them

// A read on the replica shall see all that the primary has at this moment.
func ExampleWait() {
	ctx := context.Background()
	source, err := waitpos.ReadSource(ctx, primaryDB)
	if err != nil {
		fmt.Println(err)
		return
	}
	result, err := waitpos.Wait(ctx, replicaDB, waitpos.GTIDs(source.Executed), waitpos.Options{
		Timeout: 10 * time.Second,
		Source:  source, // so that what can never arrive is told at once
	})
	switch {
	case err != nil:
		fmt.Println("the replica could not be asked:", err)
	case result.Reached:
		fmt.Println("a read there sees it now")
	default:
		fmt.Printf("%d transactions are missing: %s\n", result.Count, result.Reason)
	}
}

// TestExample is not parallel: it catches what is printed.
func TestExample(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 1})
		primaryDB, replicaDB = sandboxtest.Open(t, c.Primary()), sandboxtest.Open(t, c.Replica(1))
		exec(t, primaryDB, "CREATE DATABASE d")
		if got, want := sandboxtest.Printed(t, ExampleWait), "a read there sees it now"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
		exec(t, replicaDB, flavor.StopThread(f, flavor.Applier, ""))
		exec(t, primaryDB, "CREATE TABLE d.t (id INT PRIMARY KEY)", "INSERT INTO d.t VALUES (1)")
		if got, want := sandboxtest.Printed(t, ExampleWait), "2 transactions are missing: applier-stopped"; got != want {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}
