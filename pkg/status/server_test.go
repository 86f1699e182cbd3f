package status_test

import (
	"database/sql"
	"reflect"
	"slices"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/status"
)

func readServer(t *testing.T, q status.Querier) *status.Server {
	t.Helper()
	s, err := status.Read(t.Context(), q)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// TestRead_servers reads a primary and a replica with semi-synchronous
// replication between them.
func TestRead_servers(t *testing.T) {
	t.Parallel()
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		t.Parallel()
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 1, SemiSync: true})
		sandboxtest.Exec(t, c.Primary(), "CREATE DATABASE d")
		if err := c.WaitReplicated(t.Context()); err != nil {
			t.Fatal(err)
		}
		primary, replica := sandboxtest.Open(t, c.Primary()), sandboxtest.Open(t, c.Replica(1))
		t.Run("primary", func(t *testing.T) { testPrimary(t, c, readServer(t, primary)) })
		t.Run("replica", func(t *testing.T) { testReplica(t, c, readServer(t, replica), readServer(t, primary)) })
		t.Run("usage only", func(t *testing.T) { testGrants(t, c, primary) })
	})
}

func testPrimary(t *testing.T, c *sandbox.Cluster, s *status.Server) {
	if s.Flavor != c.Flavor || s.Version != c.Version || s.Role() != status.Primary || s.Port != c.Primary().Port ||
		s.ReadOnly || s.Executed.IsEmpty() || s.BinaryLog.IsZero() || len(s.Channels) != 0 || s.Group != "" || s.Denied != nil {
		t.Errorf("got %+v", s)
	}
	if len(s.Replicas) != 1 || s.Replicas[0].Port != c.Replica(1).Port || s.Replicas[0].ServerID == 0 {
		t.Errorf("got replicas %+v", s.Replicas)
	}
	mysql := c.Flavor == flavor.MySQL
	if (s.SuperReadOnly != nil) != mysql || (s.UUID != "") != mysql || (s.GTIDMode == "ON") != mysql || (s.Replicas[0].UUID != "") != mysql {
		t.Errorf("got %+v", s)
	}
	if s.SemiSync.Source == nil || !*s.SemiSync.Source || s.SemiSync.Replica != nil && *s.SemiSync.Replica {
		t.Errorf("got semi-sync %+v, want the source's side on", s.SemiSync)
	}
}

func testReplica(t *testing.T, c *sandbox.Cluster, s, primary *status.Server) {
	if s.Role() != status.Replica || !s.ReadOnly || len(s.Channels) != 1 || len(s.Replicas) != 0 || s.Denied != nil {
		t.Fatalf("got %+v", s)
	}
	if !s.Executed.Equal(primary.Executed) {
		t.Errorf("got executed %s, want %s", s.Executed, primary.Executed)
	}
	ch := s.Channels[0]
	if ch.Name != "" || ch.Source() != c.Primary().Address() || ch.SourceServerID != primary.ServerID || ch.SourceUUID != primary.UUID ||
		ch.Receiver != status.Running || ch.Applier != status.Running || ch.SecondsBehind == nil || ch.Read.IsZero() ||
		ch.ReceiverError.Number != 0 || ch.ApplierError.Number != 0 || ch.Delay != 0 || ch.RemainingDelay != nil {
		t.Errorf("got %+v", ch)
	}
	if order, err := ch.Read.Compare(primary.BinaryLog); err != nil || order != 0 {
		t.Errorf("got read %s, want the source's %s (%v)", ch.Read, primary.BinaryLog, err)
	}
	if c.Flavor == flavor.MySQL {
		if set, _ := primary.Executed.Set(); !ch.AutoPosition || !ch.Retrieved.Equal(set) || ch.UsingGTID {
			t.Errorf("got %+v", ch)
		}
	} else if pos, _ := primary.Executed.DomainPos(); !ch.UsingGTID || !ch.ReceiverGTID.Equal(pos) || ch.AutoPosition || ch.HeartbeatPeriod == 0 {
		t.Errorf("got %+v", ch)
	}
	if s.SemiSync.Replica == nil || !*s.SemiSync.Replica {
		t.Errorf("got semi-sync %+v, want the replica's side on", s.SemiSync)
	}
	// A server's columns all have the newest name, and none is there twice.
	var names []string
	for _, f := range ch.Fields {
		if flavor.Column(f.Name) != f.Name || slices.Contains(names, f.Name) {
			t.Errorf("the field %s", f.Name)
		}
		names = append(names, f.Name)
	}
}

// testGrants: an account without privileges is told what it lacks, and the
// statement that it is given mends it.
func testGrants(t *testing.T, c *sandbox.Cluster, primary *sql.DB) {
	const password = "Nothing-1-secret"
	for _, q := range []string{"CREATE USER 'o''neil'@'127.0.0.1' IDENTIFIED BY '" + password + "'"} {
		if _, err := primary.ExecContext(t.Context(), q); err != nil {
			t.Fatal(err)
		}
	}
	cfg := c.Primary().Config()
	cfg.User, cfg.Passwd = "o'neil", password
	open := func() *sql.DB {
		db, err := sql.Open("mysql", cfg.FormatDSN())
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { db.Close() })
		return db
	}
	db := open()
	s := readServer(t, db)
	want := []flavor.Need{flavor.ReadBinaryLog, flavor.ReadReplicaStatus, flavor.ListReplicas}
	if !reflect.DeepEqual(s.Denied, want) || s.Role() != status.RoleUnknown || s.Executed.IsEmpty() {
		t.Fatalf("got %+v, want denied %v", s, want)
	}
	if _, err := status.Query(t.Context(), db, "SELECT * FROM performance_schema.replication_applier_status_by_worker"); !status.IsDenied(err) {
		t.Errorf("performance_schema: got %v, want a refusal", err)
	}
	account, err := status.Account(t.Context(), db)
	if err != nil || account != `'o''neil'@'127.0.0.1'` {
		t.Fatalf("got account %s %v", account, err)
	}
	for _, need := range append(want, flavor.ReadPerformanceSchema) {
		if _, err := primary.ExecContext(t.Context(), flavor.Grant(c.Flavor, need, account)); err != nil {
			t.Errorf("%s: %v", flavor.Grant(c.Flavor, need, account), err)
		}
	}
	db = open() // privileges for all of the server hold for new connections
	if s := readServer(t, db); s.Denied != nil || s.Role() != status.Primary || s.BinaryLog.IsZero() || len(s.Replicas) != 1 {
		t.Errorf("after the grants: got %+v", s)
	}
	if _, err := status.Query(t.Context(), db, "SELECT * FROM performance_schema.replication_applier_status_by_worker"); err != nil {
		t.Errorf("performance_schema after the grant: %v", err)
	}
}

// TestRead_withoutBinaryLog: a server that writes none has no position.
func TestRead_withoutBinaryLog(t *testing.T) {
	t.Parallel()
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		t.Parallel()
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 1, ReplicaArgs: []string{"--skip-log-bin"}})
		s := readServer(t, sandboxtest.Open(t, c.Replica(1)))
		if !s.BinaryLog.IsZero() || s.Denied != nil || s.Role() != status.Replica {
			t.Errorf("got %+v, want no binary log", s)
		}
	})
}
