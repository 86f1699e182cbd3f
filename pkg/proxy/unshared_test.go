package proxy_test

import (
	"strconv"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

// TestUnshared: without multiplexing a client is a connection of the server's, from its login to its end.
func TestUnshared(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: 1})
		sandboxtest.Exec(t, c.Primary(), "CREATE USER own@'%' IDENTIFIED BY 'Own1.'", "GRANT ALL ON *.* TO own@'%'")
		sameAs(t, f, c.Replica(1), c.Primary())
		o := options(t, c)
		o.Unshared, o.ServerIDs = true, true
		r := start(t, c, o)
		direct := sandboxtest.Open(t, c.Primary())
		there := func() string {
			return value(t, direct, "SELECT COUNT(*) FROM information_schema.processlist WHERE user = 'own'")
		}
		for round := range 2 { // the password is learned in the first
			db := r.open(func(c *mysql.Config) {
				c.User, c.Passwd, c.ConnectionAttributes = "own", "Own1.", "team:shop"
			})
			conns := make([]interface{ Close() error }, 3)
			for i := range conns {
				conn, err := db.Conn(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				conns[i] = conn
				if got := there(); got != strconv.Itoa(i+1) {
					t.Errorf("round %d: %s connections for %d clients that have said nothing", round, got, i+1)
				}
				id := value(t, conn, "SELECT CONNECTION_ID()")
				if f == flavor.MySQL {
					if got := value(t, direct, "SELECT attr_value FROM performance_schema.session_connect_attrs WHERE attr_name = 'team' AND processlist_id = "+id); got != "shop" {
						t.Errorf("the server has the attribute %q of the client", got)
					}
				}
				exec(t, conn, "SET @a = "+strconv.Itoa(i))
			}
			exec(t, db, "SELECT 1") // a fourth one
			_ = db.Close()
			for _, conn := range conns {
				_ = conn.Close()
			}
			await(t, "the connections end with their clients", func() bool { return there() == "0" })
		}
		db := r.open(func(c *mysql.Config) { c.User, c.Passwd = "own", "Own1." })
		conn, err := db.Conn(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		exec(t, direct, "KILL "+value(t, conn, "SELECT CONNECTION_ID()"))
		await(t, "the killed connection is gone", func() bool { return there() == "0" })
		await(t, "its client is cut off", func() bool {
			_, err := conn.ExecContext(t.Context(), "DO 1")
			return err != nil
		})
	})
}
