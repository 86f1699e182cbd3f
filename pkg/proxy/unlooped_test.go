package proxy_test

import (
	"context"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/proxy"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

// TestUnlooped: clients that loops cannot wait for, as when the system has no descriptor more, keep no loop from
// others while they are idle.
func TestUnlooped(t *testing.T) {
	c := sandboxtest.Cluster(t, sandbox.Options{Flavor: flavor.MariaDB})
	p, err := proxy.New(options(t, c))
	if err != nil {
		t.Fatal(err)
	}
	if err := p.Listen(); err != nil {
		t.Fatal(err)
	}
	p.HideSockets()
	r := run(t, c, p, len(c.Servers))
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
	defer cancel()
	db := r.open(func(c *mysql.Config) { c.TLSConfig = "" })
	for range 8 { // each is left idle, more of them than there are loops
		conn, err := db.Conn(ctx)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		for range 2 {
			var one int
			if err := conn.QueryRowContext(ctx, "SELECT 1").Scan(&one); err != nil || one != 1 {
				t.Fatal(one, err)
			}
		}
	}
}
