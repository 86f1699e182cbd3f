package proxy_test

import (
	"database/sql"
	"slices"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

// TestSole: a session that has one connection for good is asked nothing between its statements, and what it has
// set is found out when a reload brings another server.
func TestSole(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 1})
		p := sandboxtest.Open(t, c.Primary())
		exec(t, p, "CREATE SCHEMA sole", "CREATE PROCEDURE sole.p() BEGIN SET auto_increment_increment = 3; SIGNAL SQLSTATE '45000'; END")
		sandboxtest.SameAs(t, f, c.Replica(1), c.Primary())
		o := options(t, c)
		o.Unshared, o.ServerIDs = true, true
		both := slices.Clone(o.Servers)
		o.Servers = o.Servers[:1]
		r := start(t, c, o)
		first, moves := conn(t, r.open(nil)), conn(t, r.open(nil))
		id := value(t, first, "SELECT CONNECTION_ID()")
		said := []string{"SET NAMES latin1", "CALL sole.p()", "SET @@div_precision_increment = 7", "SET @a = 1", "SELECT @@sql_mode"}
		exec(t, p, "SET GLOBAL log_output = 'TABLE'", "SET GLOBAL general_log = ON")
		for _, text := range said {
			_, err := first.ExecContext(t.Context(), text)
			if (err != nil) != strings.HasPrefix(text, "CALL") {
				t.Errorf("%s: %v", text, err)
			}
		}
		exec(t, p, "SET GLOBAL general_log = OFF")
		if got := textsOf(t, p, "SELECT argument FROM mysql.general_log WHERE command_type = 'Query' AND thread_id = "+id); !slices.Equal(got, said) {
			t.Errorf("the server was told %q,\nwant %q", got, said)
		}
		exec(t, p, "SET GLOBAL log_output = DEFAULT", "TRUNCATE mysql.general_log")

		o.Servers = both // the first client was told its number, and stays
		exec(t, moves, "SET @@div_precision_increment = 7", "SET NAMES latin1")
		want := map[string]string{"div_precision_increment": "7", "collation_connection": "latin1_swedish_ci"}
		if f == flavor.MariaDB { // MySQL tells of a change that the text does not show, which holds the session for good
			if _, err := moves.ExecContext(t.Context(), "CALL sole.p()"); err == nil {
				t.Error("CALL does not fail")
			}
			want["auto_increment_increment"] = "3"
		}
		if err := r.proxy.Reload(o); err != nil {
			t.Fatal(err)
		}
		if err := r.proxy.WaitOnline(t.Context(), 2); err != nil {
			t.Fatal(err)
		}
		sandboxtest.Await(t, "a read is on the replica", func() bool {
			exec(t, moves, "SELECT 1")
			return ranOn(t, moves) == c.Replica(1).Name
		})
		for name, want := range want {
			if got := value(t, moves, "SELECT @@"+name); got != want {
				t.Errorf("%s is %s on the replica, want %s", name, got, want)
			}
		}
		if got := ranOn(t, moves); got != c.Replica(1).Name {
			t.Errorf("the values are those of %s", got)
		}
	})
}

// textsOf returns the first column of a result.
func textsOf(t *testing.T, db *sql.DB, query string) (all []string) {
	t.Helper()
	rows, err := db.QueryContext(t.Context(), query)
	if err != nil {
		t.Fatal(err)
	}
	defer rows.Close()
	for rows.Next() {
		var one string
		if err := rows.Scan(&one); err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return all
}
