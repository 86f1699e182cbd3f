package rwdb_test

import (
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/rwdb"
	"github.com/mysqlrw/mysqlrw/route"
)

// testReplay: what a statement has set is repeated on other servers only where it can be, and means the same there.
func testReplay(t *testing.T, s *site) {
	s = s.fresh(t, nil)
	ctx := t.Context()
	exec(t, s.db, ctx, "INSERT INTO item VALUES (1, 1)")
	s.replicated(t)
	c := s.conn(t, s.db)
	exec(t, c, ctx, "UPDATE item SET price = 1 WHERE id = 1") // links to both
	number(t, c, ctx, priceOf1)

	exec(t, c, ctx, "SET TRANSACTION READ ONLY")
	exec(t, c, ctx, "START TRANSACTION")
	number(t, c, ctx, priceOf1)
	exec(t, c, ctx, "COMMIT")
	if _, err := c.ExecContext(ctx, "UPDATE item SET price = 2 WHERE id = 1"); err != nil {
		t.Errorf("a write behind a transaction that SET TRANSACTION made read-only: %v", err)
	}
	number(t, c, ctx, priceOf1)

	release := s.hold(t)
	exec(t, c, ctx, "CREATE SCHEMA IF NOT EXISTS shop_new")
	exec(t, c, ctx, "USE shop_new")
	for _, level := range []route.Level{route.SessionLevel, route.Eventual} {
		var n int
		if err := c.QueryRowContext(rwdb.WithLevel(rwdb.WithWait(ctx, 50e6), level), "SELECT 1 FROM shop.item").Scan(&n); err != nil {
			t.Errorf("%v: a read in a schema that the replicas do not have yet: %v", level, err)
		}
		s.ran(t, "the read", "primary")
	}
	release()
	exec(t, c, ctx, "DROP SCHEMA shop_new")
}
