package route

import (
	"database/sql"
	"errors"
	"slices"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

// TestSessionVariables asks each server which variables a session can set: those
// are the session's, and are given to every connection that it uses.
func TestSessionVariables(t *testing.T) {
	// Settable, but about one connection or one server; read_only is a server's
	// own though MariaDB lets no session set it. The families are replication's,
	// which no session that reads needs.
	exceptions := []string{
		"pseudo_slave_mode", "pseudo_replica_mode", "server_id", "session_track_gtids", "skip_replication",
		// Only MariaDB has them for a session.
		"log_queries_not_using_indexes", "log_slow_admin_statements", "log_slow_slave_statements", "max_relay_log_size",
		"slow_query_log", "sql_slave_skip_counter",
		// Old words, which are not worth it.
		"default_master_connection",
	}
	families := []string{"gtid_", "wsrep_", "aria_", "debug"}
	// A session reads them and cannot set them; they are the same throughout a
	// cluster or do not depend on the server.
	constant := []string{
		"version", "version_comment", "lower_case_table_names", "license", "max_allowed_packet", "system_time_zone",
		"language", "query_cache_type",
	}
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: -1})
		db := sandboxtest.Open(t, c.Primary())
		for _, name := range variableNames(t, db) {
			settable := settable(t, db, name)
			listed := lookupVariable(name) != variableServer
			excepted := slices.Contains(exceptions, name) || slices.Contains(constant, name) ||
				slices.ContainsFunc(families, func(p string) bool { return strings.HasPrefix(name, p) })
			switch {
			case settable && !listed && !excepted:
				t.Errorf("%s: a session can set it, and lookupVariable does not know it", name)
			case !settable && lookupVariable(name) == variableSession && !excepted:
				t.Errorf("%s: no session can set it, so that it is the server's", name)
			}
		}
	})
}

func variableNames(t *testing.T, db *sql.DB) []string {
	t.Helper()
	rows, err := db.Query("SHOW SESSION VARIABLES")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = rows.Close() }()
	var names []string
	for rows.Next() {
		var name string
		var value sql.RawBytes
		if err := rows.Scan(&name, &value); err != nil {
			t.Fatal(err)
		}
		names = append(names, strings.ToLower(name))
	}
	if err := rows.Err(); err != nil {
		t.Fatal(err)
	}
	return names
}

// settable says whether a session can give the variable a value.
func settable(t *testing.T, db *sql.DB, name string) bool {
	t.Helper()
	_, err := db.Exec("SET SESSION " + name + " = DEFAULT")
	var refused *mysql.MySQLError
	switch {
	case err == nil:
		return true
	case !errors.As(err, &refused):
		t.Fatalf("%s: %v", name, err)
	case refused.Number == 1238, refused.Number == 1229, refused.Number == 1621: // read only, or global
		return false
	}
	return true // it has no default
}
