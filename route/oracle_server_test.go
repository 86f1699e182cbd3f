package route

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

// oracle is a primary and a read-only replica, and the connections on which
// statements are run.
type oracle struct {
	t       *testing.T
	c       *sandbox.Cluster
	options Options
	files   string // the folder that INTO OUTFILE may write in

	replica *oracleConn // where nothing may be written
	fresh   *oracleConn // on the primary, as every session begins
	loaded  *oracleConn // in a transaction, with all that a connection can hold
	past    *oracleConn // with a history: insert ids, variables, sequences
	watch   *oracleConn // looks at the locks that others hold

	known map[*sandbox.Server]map[string]string // global variables
	moved bool                                  // the replica may not have all yet
	at    string                                // the primary's position before the statement
}

// newOracle starts the servers. The account has all privileges but the one of
// writing where read_only is set.
func newOracle(t *testing.T, f flavor.Flavor) *oracle {
	o := &oracle{t: t, files: t.TempDir(), known: map[*sandbox.Server]map[string]string{}}
	if err := os.Chmod(o.files, 0o777); err != nil {
		t.Fatal(err)
	}
	args := []string{"--secure-file-priv=" + o.files, "--log-bin-trust-function-creators=ON"}
	// A server differs from others in much that is no data.
	own := []string{
		"--max-connections=400", "--table-open-cache=300", "--report-host=other",
		"--loose-archive=OFF", "--loose-blackhole=OFF", "--loose-feedback=ON", "--loose-userstat=ON",
	}
	if f == flavor.MariaDB {
		args = append(args, "--performance-schema=ON", "--performance-schema-instrument=wait/lock/metadata/sql/mdl=ON")
		own = append(own, "--performance-schema=OFF")
	}
	o.c = sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 1, PrimaryArgs: args, ReplicaArgs: slices.Concat(args, own)})
	v := o.c.Version
	o.options.Flavor, o.options.Oldest = f, v.Major*10000+v.Minor*100+v.Patch
	o.options.Newest = o.options.Oldest
	setup := []string{"CREATE USER oracle IDENTIFIED BY 'oracle'", "GRANT ALL ON *.* TO oracle WITH GRANT OPTION"}
	if f == flavor.MariaDB {
		setup = append(setup, "REVOKE READ_ONLY ADMIN ON *.* FROM oracle")
	}
	for _, l := range oracleLines(t, f, "fixtures.txt", "") {
		setup = append(setup, l.text)
	}
	sandboxtest.Exec(t, o.c.Primary(), append(setup, "GRANT r TO oracle")...)
	for _, s := range []*sandbox.Server{o.c.Primary(), o.c.Replica(1)} {
		o.known[s] = o.globals(s)
	}
	o.moved = true
	o.sync()
	if err := o.c.Replica(1).Exec(t.Context(), oracleOwnAccounts(f)...); err != nil {
		t.Fatal(err)
	}
	o.replica = o.conn(o.c.Replica(1), "SET sql_log_bin = 0")
	o.fresh = o.conn(o.c.Primary(), "DO 0")
	o.loaded = o.conn(o.c.Primary(), "SET @held = 1", "PREPARE held FROM 'SELECT 1'", "CREATE TEMPORARY TABLE held (i INT)",
		"DO GET_LOCK('held', 0)", "HANDLER t OPEN AS held")
	o.past = o.conn(o.c.Primary(), "SET @x = 'p', @v = 'p', @w = 'p', @a = 2", "INSERT INTO auto (n) VALUES (1), (2)",
		"INSERT INTO auto (n) VALUES (1), (2)", "SET rand_seed1 = 5, rand_seed2 = 5")
	if f == flavor.MariaDB {
		o.past.setup = append(o.past.setup, "DO NEXTVAL(s), NEXTVAL(s2)")
	}
	o.watch = o.conn(o.c.Primary(), "DO GET_LOCK('elsewhere', 0)")
	return o
}

// oracleOwnAccounts gives a replica accounts that its primary has not.
func oracleOwnAccounts(f flavor.Flavor) []string {
	variable := "super_read_only"
	if f == flavor.MariaDB {
		variable = "read_only"
	}
	return []string{
		"SET SESSION sql_log_bin = 0", "SET GLOBAL " + variable + " = OFF", "CREATE ROLE own", "GRANT own TO oracle",
		"GRANT INSERT ON o.* TO r", "SET GLOBAL " + variable + " = ON",
	}
}

// sync waits until the replica has all that the primary has.
func (o *oracle) sync() {
	if !o.moved {
		return
	}
	o.moved = false
	ctx, cancel := context.WithTimeout(o.t.Context(), time.Minute)
	defer cancel()
	if err := o.c.WaitReplicated(ctx); err != nil {
		o.t.Fatalf("the replica does not get there: %v", err)
	}
}

// oracleConn is a connection that is opened when it is used.
type oracleConn struct {
	o     *oracle
	db    *sql.DB
	setup []string
	c     *sql.Conn
	probe []string // what was found when it was set up
}

func (o *oracle) conn(s *sandbox.Server, setup ...string) *oracleConn {
	config := s.Config()
	config.Net, config.Addr, config.TLSConfig, config.TLS = "unix", s.Socket, "", nil // thousands are opened
	config.User, config.Passwd, config.DBName, config.MultiStatements = "oracle", "oracle", "o", true
	// One clock for all, so that answers can be compared.
	config.Params = map[string]string{"timestamp": "1780000000", "lock_wait_timeout": "2", "innodb_lock_wait_timeout": "1"}
	connector, err := mysql.NewConnector(config)
	if err != nil {
		o.t.Fatal(err)
	}
	c := &oracleConn{o: o, db: sql.OpenDB(connector), setup: setup}
	c.db.SetMaxIdleConns(-1) // closing a connection ends it
	o.t.Cleanup(func() { c.close(); _ = c.db.Close() })
	return c
}

// close ends the connection; the next use opens another.
func (c *oracleConn) close() {
	if c.c != nil {
		_ = c.c.Close()
	}
	c.c, c.probe = nil, nil
}

func (c *oracleConn) open() {
	if c.c != nil {
		return
	}
	var err error
	if c.c, err = c.db.Conn(c.o.t.Context()); err != nil {
		c.o.t.Fatal(err)
	}
	for _, s := range c.setup {
		if r := c.run(s); r.code != 0 {
			c.o.t.Fatalf("%s: error %d", s, r.code)
		}
	}
	c.o.at = "" // the setup may be in the binary log
}

// oracleAnswer is what a server said.
type oracleAnswer struct {
	code int // the number of the error, 0 if there was none, -1 if no answer came
	rows bool
	text string // the rows of all results, sorted within each
}

// run runs a text and reads all of its results.
func (c *oracleConn) run(text string) (a oracleAnswer) {
	c.open()
	ctx, cancel := context.WithTimeout(c.o.t.Context(), 20*time.Second)
	defer cancel()
	rows, err := c.c.QueryContext(ctx, text)
	var out strings.Builder
	for more := err == nil; more; more = rows.NextResultSet() {
		columns, _ := rows.Columns()
		a.rows = a.rows || len(columns) > 0
		values, into := make([]sql.RawBytes, len(columns)), make([]any, len(columns))
		for i := range values {
			into[i] = &values[i]
		}
		var lines []string
		for rows.Next() {
			if err := rows.Scan(into...); err != nil {
				c.o.t.Fatalf("%s: %v", text, err)
			}
			lines = append(lines, fmt.Sprintf("%q", values))
		}
		slices.Sort(lines)
		fmt.Fprintln(&out, len(columns), strings.Join(lines, "\n"))
	}
	if err == nil {
		err = errors.Join(rows.Err(), rows.Close())
	}
	a.text = out.String()
	var refused *mysql.MySQLError
	switch {
	case errors.As(err, &refused):
		a.code = int(refused.Number)
	case err != nil:
		a.code = -1
		c.close()
	}
	return a
}

// values runs a query of one row.
func (c *oracleConn) values(query string) []string {
	c.open()
	rows, err := c.c.QueryContext(c.o.t.Context(), query)
	if err != nil {
		return []string{err.Error()}
	}
	defer rows.Close()
	columns, _ := rows.Columns()
	values, into := make([]sql.NullString, len(columns)), make([]any, len(columns))
	for i := range values {
		into[i] = &values[i]
	}
	if !rows.Next() || rows.Scan(into...) != nil {
		return []string{fmt.Sprint("no row: ", rows.Err())}
	}
	var out []string
	for i, v := range values {
		out = append(out, columns[i]+" "+v.String)
	}
	return out
}

// written returns the files that statements have made, and removes them.
func (o *oracle) written() bool {
	names, err := filepath.Glob(filepath.Join(o.files, "*"))
	if err != nil {
		o.t.Fatal(err)
	}
	for _, name := range names {
		if err := os.Remove(name); err != nil {
			o.t.Fatal(err)
		}
	}
	return len(names) > 0
}

// globals returns the server's variables.
func (o *oracle) globals(s *sandbox.Server) map[string]string {
	db := sandboxtest.Open(o.t, s)
	defer db.Close()
	rows, err := db.Query("SHOW GLOBAL VARIABLES")
	if err != nil {
		o.t.Fatal(err)
	}
	defer rows.Close()
	all := map[string]string{}
	for rows.Next() {
		var name, value string
		if err := rows.Scan(&name, &value); err != nil {
			o.t.Fatal(err)
		}
		all[name] = value
	}
	return all
}

// repair gives the servers' variables back the values that they had.
func (o *oracle) repair() {
	for s, had := range o.known {
		for name, value := range o.globals(s) {
			if value == had[name] || strings.HasPrefix(name, "gtid_") {
				continue
			}
			if s.Exec(o.t.Context(), "SET GLOBAL "+name+" = "+had[name]) != nil {
				_ = s.Exec(o.t.Context(), "SET GLOBAL "+name+" = '"+had[name]+"'")
			}
		}
		if o.c.Flavor == flavor.MySQL {
			_ = s.Exec(o.t.Context(), "RESET PERSIST")
		}
	}
}

// variables returns a query of every system variable, in each scope it has.
func (o *oracle) variables() []string {
	query := `SELECT variable_name, 'GLOBAL' FROM performance_schema.global_variables UNION ALL
SELECT variable_name, 'SESSION' FROM performance_schema.session_variables WHERE variable_name IN
	(SELECT variable_name FROM performance_schema.variables_by_thread)`
	if o.c.Flavor == flavor.MariaDB {
		query = `SELECT variable_name, 'GLOBAL' FROM information_schema.system_variables WHERE variable_scope <> 'SESSION ONLY'
UNION ALL SELECT variable_name, 'SESSION' FROM information_schema.system_variables WHERE variable_scope LIKE 'SESSION%'`
	}
	o.watch.open()
	rows, err := o.watch.c.QueryContext(o.t.Context(), query)
	if err != nil {
		o.t.Fatal(err)
	}
	defer rows.Close()
	var texts []string
	for rows.Next() {
		var name, scope string
		if err := rows.Scan(&name, &scope); err != nil {
			o.t.Fatal(err)
		}
		texts = append(texts, "SELECT @@"+scope+"."+strings.ToLower(name), "SELECT @@"+strings.ToLower(name))
	}
	slices.Sort(texts)
	return slices.Compact(texts)
}

// blind holds that what nobody can see in a text does happen: that is what the
// proxy's second try is for.
func (o *oracle) blind() {
	for _, l := range oracleLines(o.t, o.c.Flavor, "blind.txt", "") {
		s := &oracleStatement{text: l.text}
		o.batch([]*oracleStatement{s})
		st := Classify(s.text, &o.options)
		if s.effect == "" {
			o.t.Errorf("%s: no effect, failed %d; it is in blind.txt for one", s.text, s.failed)
		}
		o.t.Logf("seen by no parser: %s: %s, classified as %s", s.text, s.effect, describe(&st, s.text))
	}
}

// unseen holds that what is not run is no read by its text alone.
func (o *oracle) unseen() {
	for _, l := range oracleLines(o.t, flavor.Unknown, "skipped.txt", "") {
		for _, options := range o.readings() {
			if st := Classify(l.text, &options); st.Class == Read || st.Target == ToReplica {
				o.t.Errorf("%s: %s", l.text, describe(&st, l.text))
			}
		}
	}
}
