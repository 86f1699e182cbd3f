package proxy_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/proxy"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

// site is a proxy in front of a cluster with a schema f and an account app, to which a replica is
// really read-only.
type site struct {
	*running
	flavor  flavor.Flavor
	primary *sql.DB // the server itself
	all     *sql.DB // through the proxy, with the cluster's own account
	app     *sql.DB // through the proxy
}

const appUser, appPassword = "app", "its secret"

// newSite starts one. setup runs on the primary, in the schema f.
func newSite(t *testing.T, f flavor.Flavor, o sandbox.Options, change func(*proxy.Options), setup ...string) *site {
	t.Helper()
	o.Flavor = f
	c := sandboxtest.Cluster(t, o)
	before := []string{
		"CREATE DATABASE f", "CREATE USER app IDENTIFIED BY '" + appPassword + "'", "GRANT ALL ON f.* TO app", "USE f",
	}
	sandboxtest.Exec(t, c.Primary(), append(before, setup...)...)
	replicated(t, c)
	options := options(t, c)
	if change != nil {
		change(&options)
	}
	s := &site{running: start(t, c, options), flavor: f, primary: sandboxtest.Open(t, c.Primary())}
	s.all = s.open(func(c *mysql.Config) { c.DBName = "f" })
	s.app = s.open(asApp)
	for _, db := range []*sql.DB{s.primary, s.all, s.app} {
		db.SetMaxIdleConns(0) // so that each client is a new one
	}
	return s
}

func asApp(c *mysql.Config) { c.User, c.Passwd, c.DBName = appUser, appPassword, "f" }

// conn returns one connection of a pool, which is closed with the test.
func conn(t testing.TB, db *sql.DB) *sql.Conn {
	t.Helper()
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// form is how a client sends its statements: as text, or each prepared, run and closed.
type form struct{ prepared bool }

// value returns the first column of the first row, "NULL", or "no row".
func (m form) value(t testing.TB, c *sql.Conn, query string, args ...any) string {
	t.Helper()
	v, err := m.tryValue(t.Context(), c, query, args...)
	if err != nil {
		t.Errorf("%s: %v", query, err)
	}
	return v
}

func (m form) tryValue(ctx context.Context, c *sql.Conn, query string, args ...any) (value string, err error) {
	var rows *sql.Rows
	if m.prepared {
		st, err := c.PrepareContext(ctx, query)
		if err != nil {
			return "", err
		}
		defer st.Close()
		rows, err = st.QueryContext(ctx, args...)
		if err != nil {
			return "", err
		}
	} else if rows, err = c.QueryContext(ctx, query, args...); err != nil {
		return "", err
	}
	defer rows.Close()
	columns, err := rows.Columns()
	if err != nil {
		return "", err
	}
	if !rows.Next() {
		return "no row", rows.Err()
	}
	all := make([]any, len(columns))
	for i := range all {
		all[i] = new(sql.NullString)
	}
	if err := rows.Scan(all...); err != nil {
		return "", err
	}
	for rows.Next() { // an error may come behind the first row
	}
	first := all[0].(*sql.NullString)
	if !first.Valid {
		return "NULL", rows.Err()
	}
	return first.String, rows.Err()
}

// exec runs statements without a result.
func (m form) exec(t testing.TB, c *sql.Conn, statements ...string) {
	t.Helper()
	for _, s := range statements {
		if err := m.tryExec(t.Context(), c, s); err != nil {
			t.Errorf("%s: %v", s, err)
		}
	}
}

func (m form) tryExec(ctx context.Context, c *sql.Conn, statement string) error {
	if !m.prepared {
		_, err := c.ExecContext(ctx, statement)
		return err
	}
	st, err := c.PrepareContext(ctx, statement)
	if err != nil {
		return err
	}
	defer st.Close()
	_, err = st.ExecContext(ctx)
	return err
}

// onPrimary fails the test if the statement before ran elsewhere.
func onPrimary(t testing.TB, c *sql.Conn, what string) {
	t.Helper()
	if server := ranOn(t, c); server != "primary" {
		t.Errorf("%s ran on %q, want the primary", what, server)
	}
}

// onReplica fails the test if the statement before ran on the primary.
func onReplica(t testing.TB, c *sql.Conn, what string) {
	t.Helper()
	if server := ranOn(t, c); server == "primary" || server == "" {
		t.Errorf("%s ran on %q, want a replica", what, server)
	}
}

// code is the number of a server's error, 0 for nil and -1 for an error that is none of a server.
func code(err error) int {
	var e *mysql.MySQLError
	switch {
	case err == nil:
		return 0
	case errors.As(err, &e):
		return int(e.Number)
	}
	return -1
}

// replicated waits until the replicas have what the primary has.
func replicated(t testing.TB, c *sandbox.Cluster) {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := c.WaitReplicated(ctx); err != nil {
		t.Fatal(err)
	}
}

// want compares, and says what was asked.
func want(t testing.TB, what, got, want string) {
	t.Helper()
	if got != want {
		t.Errorf("%s: got %q, want %q", what, got, want)
	}
}
