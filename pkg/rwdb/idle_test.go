package rwdb_test

import (
	"context"
	"database/sql"
	"testing"
)

// testIdle: what a pool gets back holds nothing that has ended.
func testIdle(t *testing.T, s *site) {
	s = s.fresh(t, nil)
	ctx := t.Context()
	exec(t, s.db, ctx, "INSERT INTO item VALUES (1, 1), (2, 2), (3, 3), (4, 4), (5, 5), (6, 6)")

	// A connection that is closed in the middle of its rows runs nothing any more.
	for _, text := range []string{"SELECT a.id, REPEAT('x', 1000000) FROM item a, item b, item c", "SELECT /* to master */ a.id, REPEAT('x', 1000000) FROM item a, item b, item c"} {
		cancelled, cancel := context.WithCancel(ctx)
		rows, err := s.db.QueryContext(cancelled, text)
		if err != nil {
			t.Fatal(err)
		}
		cancel()
		for rows.Next() {
		}
		_ = rows.Close()
	}
	for _, sv := range s.connector.Servers() {
		if sv.Active != 0 {
			t.Errorf("%s runs %d statements: none is", sv.Name, sv.Active)
		}
	}
}

// testBeginsTwice: BEGIN commits what a transaction in front of it has written, as a server does it.
func testBeginsTwice(t *testing.T, s *site) {
	s = s.fresh(t, nil)
	ctx := t.Context()
	for i, o := range []*sql.TxOptions{nil, {ReadOnly: true}} {
		c := s.conn(t, s.db)
		exec(t, c, ctx, "START TRANSACTION")
		exec(t, c, ctx, "INSERT INTO item VALUES (?, 1)", i)
		tx, err := c.BeginTx(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		if n := number(t, s.db, ctx, "SELECT COUNT(*) FROM item"); n != i+1 {
			t.Errorf("%+v: there are %d rows: %+v", o, n, s.last(t))
		}
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
		_ = c.Close()
	}
}
