package route

import (
	"slices"
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
)

// What a connection holds and what its server has, in one row. Checksums stand
// for long lists; variables that change by themselves are left out.
const (
	oracleMySQLState = `SELECT (SELECT SUM(CRC32(CONCAT_WS('=', variable_name, variable_value))) FROM performance_schema.global_variables
	WHERE variable_name NOT LIKE 'gtid%') AS globals,
(SELECT COUNT(*) FROM performance_schema.persisted_variables) AS persisted,
(SELECT SUM(CRC32(CONCAT_WS('=', variable_name, variable_value))) FROM performance_schema.variables_by_thread
	WHERE thread_id = PS_CURRENT_THREAD_ID() AND variable_name NOT IN ('statement_id', 'error_count', 'warning_count')) AS variables,
(SELECT SUM(CRC32(CONCAT_WS('=', variable_name, HEX(variable_value)))) FROM performance_schema.user_variables_by_thread
	WHERE thread_id = PS_CURRENT_THREAD_ID()) AS user_variables,
(SELECT COUNT(*) FROM performance_schema.prepared_statements_instances
	WHERE owner_thread_id = PS_CURRENT_THREAD_ID() AND statement_name IS NOT NULL) AS prepared,
(SELECT GROUP_CONCAT(CONCAT_WS(' ', object_type, object_name, lock_type, lock_duration) ORDER BY 1)
	FROM performance_schema.metadata_locks WHERE owner_thread_id = PS_CURRENT_THREAD_ID()
	AND NOT (lock_duration = 'TRANSACTION' AND lock_type IN ('SHARED_READ', 'SHARED', 'SHARED_HIGH_PRIO', 'INTENTION_EXCLUSIVE'))) AS locks,
(SELECT COUNT(*) FROM performance_schema.data_locks WHERE thread_id = PS_CURRENT_THREAD_ID()) AS row_locks,
(SELECT CONCAT_WS(' ', state, number_of_savepoints, number_of_rollback_to_savepoint, number_of_release_savepoint)
	FROM performance_schema.events_transactions_current
	WHERE thread_id = PS_CURRENT_THREAD_ID() AND autocommit = 'NO' AND state = 'ACTIVE') AS transaction,
(SELECT resource_group FROM performance_schema.threads WHERE thread_id = PS_CURRENT_THREAD_ID()) AS resource_group,
LAST_INSERT_ID() AS insert_id, DATABASE() AS db, CURRENT_ROLE() AS role`

	oracleMariaDBState = `SELECT (SELECT SUM(CRC32(CONCAT_WS('=', variable_name, variable_value))) FROM information_schema.global_variables
	WHERE variable_name NOT LIKE 'gtid%') AS globals,
(SELECT SUM(CRC32(CONCAT_WS('=', variable_name, variable_value))) FROM information_schema.session_variables
	WHERE variable_name NOT LIKE 'gtid%' AND variable_name NOT IN
	('timestamp', 'error_count', 'warning_count', 'rand_seed1', 'rand_seed2')) AS variables,
(SELECT SUM(CRC32(CONCAT_WS('=', variable_name, HEX(variable_value)))) FROM information_schema.user_variables) AS user_variables,
(SELECT COUNT(*) FROM performance_schema.prepared_statements_instances JOIN performance_schema.threads
	ON owner_thread_id = thread_id WHERE processlist_id = CONNECTION_ID() AND statement_name IS NOT NULL) AS prepared,
(SELECT GROUP_CONCAT(CONCAT_WS(' ', object_type, object_name, lock_type, lock_duration) ORDER BY 1)
	FROM performance_schema.metadata_locks JOIN performance_schema.threads
	ON owner_thread_id = thread_id WHERE processlist_id = CONNECTION_ID()
	AND NOT (lock_duration = 'TRANSACTION' AND lock_type IN ('SHARED_READ', 'SHARED', 'SHARED_HIGH_PRIO', 'INTENTION_EXCLUSIVE'))) AS locks,
@@in_transaction AS transaction, LAST_INSERT_ID() AS insert_id, DATABASE() AS db, CURRENT_ROLE() AS role`
)

// oracleLocked finds out whether someone holds locks on rows: it fails if so.
// The secondary index is read, since a query that it covers locks nothing else.
const oracleLocked = "(SELECT 1 FROM t FORCE INDEX (a) WHERE a < 9 FOR UPDATE NOWAIT) " +
	"UNION ALL (SELECT 1 FROM u WHERE id < 9 FOR UPDATE NOWAIT)"

// state returns what the connection holds and what its server has.
func (c *oracleConn) state() []string {
	query := oracleMySQLState
	if c.o.c.Flavor == flavor.MariaDB {
		query = oracleMariaDBState
	}
	state := c.values(query)
	if c == c.o.loaded {
		state = append(state, "rows "+c.o.watch.again(oracleLocked))
		if c.o.c.Flavor == flavor.MariaDB {
			state = append(state, "savepoint "+c.again("ROLLBACK TO point"))
		}
	}
	// A table of that name is temporary or the work of another statement.
	return append(state, "table "+c.again("SELECT 1 FROM made LIMIT 0"))
}

// again runs a text and says how it ended.
func (c *oracleConn) again(text string) string {
	if c.run(text).code != 0 {
		return "no"
	}
	return "yes"
}

// position returns how far the primary's binary log is.
func (o *oracle) position() string {
	query := "SELECT @@GLOBAL.gtid_executed"
	if o.c.Flavor == flavor.MariaDB {
		query = "SELECT @@GLOBAL.gtid_binlog_pos"
	}
	return strings.Join(o.watch.values(query), "")
}

// mark sets the connection up and notes its state, which later ones are
// compared with.
func (c *oracleConn) mark() {
	c.open()
	if c.probe == nil {
		c.begin()
		c.probe = c.state()
		if len(c.probe) < 6 {
			c.o.t.Fatalf("the state of a connection cannot be read: %s", c.probe)
		}
	}
	if c.o.at == "" {
		c.o.at = c.o.position()
	}
}

// begin opens the transaction of the loaded connection.
func (c *oracleConn) begin() {
	if c != c.o.loaded {
		return
	}
	if r := c.run("START TRANSACTION; INSERT INTO pending (n) VALUES (1); SAVEPOINT point"); r.code != 0 {
		c.o.t.Fatalf("begin: error %d", r.code)
	}
}

// rest frees what the loaded connection's transaction has locked.
func (c *oracleConn) rest() {
	if c.c != nil {
		c.run("ROLLBACK")
		c.probe = nil
	}
}

// changed names what is not as it was when the connection was marked. If that
// is something, the connection is closed and the servers' variables get their
// values back.
func (c *oracleConn) changed() string {
	var what []string
	if c.c == nil {
		return "connection"
	}
	now := c.state()
	if len(now) != len(c.probe) {
		what = append(what, "connection: "+now[0])
	} else {
		for i, had := range c.probe {
			if now[i] != had {
				what = append(what, strings.Fields(had)[0])
			}
		}
	}
	if at := c.o.position(); at != c.o.at {
		what = append(what, "position")
		c.o.at, c.o.moved = at, true
	}
	if what == nil {
		return ""
	}
	c.close()
	if slices.Contains(what, "globals") || slices.Contains(what, "persisted") {
		c.o.repair()
		c.o.fresh.close()
		c.o.loaded.close()
	}
	return strings.Join(what, ", ")
}

// sees holds that a transaction in the binary log is seen, which no statement
// shows that the replica refuses first.
func (o *oracle) sees() {
	for _, c := range []*oracleConn{o.fresh, o.loaded} {
		c.mark()
		if what := c.changed(); what != "" {
			o.t.Fatalf("a connection that did nothing has changed: %s", what)
		}
	}
	o.fresh.mark()
	o.fresh.run("INSERT INTO auto (n) VALUES (3)")
	if what := o.fresh.changed(); !strings.Contains(what, "position") {
		o.t.Fatalf("an INSERT has changed %q", what)
	}
}
