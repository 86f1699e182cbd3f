package proxy_test

import (
	"errors"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

// TestLoginSchema: a schema that is not there or not allowed is refused at the login, also of an
// account that the proxy knows; one that is gone since, by the first statement.
func TestLoginSchema(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 1})
		sandboxtest.Exec(t, c.Primary(), "CREATE DATABASE mine", "CREATE DATABASE yours", "CREATE USER u@'%' IDENTIFIED BY 'pw'", "GRANT ALL ON mine.* TO u@'%'")
		if err := c.WaitReplicated(t.Context()); err != nil {
			t.Fatal(err)
		}
		r := start(t, c, options(t, c))
		ping := func(schema string) uint16 {
			config := r.config("u", "pw")
			config.DBName = schema
			connector, err := mysql.NewConnector(config)
			if err != nil {
				t.Fatal(err)
			}
			conn, err := connector.Connect(t.Context())
			var refused *mysql.MySQLError
			if errors.As(err, &refused) {
				return refused.Number
			}
			if err != nil {
				t.Errorf("%s: %v", schema, err)
				return 0
			}
			_ = conn.Close()
			return 0
		}
		absent := uint16(1044) // without a right on it nobody learns that it is not there
		for range 2 {
			for schema, want := range map[string]uint16{"mine": 0, "yours": 1044, "absent": absent} {
				if got := ping(schema); got != want {
					t.Errorf("%s: error %d, want %d", schema, got, want)
				}
			}
		}
		sandboxtest.Exec(t, c.Primary(), "DROP DATABASE mine")
		db := r.open(func(c *mysql.Config) { c.User, c.Passwd, c.DBName = "u", "pw", "mine" })
		_, err := db.ExecContext(t.Context(), "INSERT INTO t VALUES (1)")
		var refused *mysql.MySQLError
		if !errors.As(err, &refused) || refused.Number != 1049 {
			t.Errorf("in a schema that is gone: %v", err)
		}
	})
}
