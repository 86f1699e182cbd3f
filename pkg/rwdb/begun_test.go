package rwdb_test

import (
	"context"
	"database/sql"
	"errors"
	"testing"
	"time"
)

// testBegun: what becomes of a transaction that its server has begun, whose first statement then fails on the way.
func testBegun(t *testing.T, s *site) {
	s = s.fresh(t, nil)
	ctx := t.Context()
	exec(t, s.db, ctx, "INSERT INTO item VALUES (1, 1)")

	// The driver refuses the statement, and nothing of it is sent.
	for _, o := range []*sql.TxOptions{nil, {ReadOnly: true}} {
		c := s.conn(t, s.db)
		tx, err := c.BeginTx(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		if rows, err := tx.QueryContext(ctx, "SELECT price FROM item WHERE id = ?", 1, 2); err == nil {
			t.Error("a statement takes too many arguments")
			_ = rows.Close()
		}
		if err := tx.Rollback(); err != nil {
			t.Error(err)
		}
		exec(t, c, ctx, "UPDATE item SET price = price + 1 WHERE id = 1")
		want := number(t, s.db, ctx, priceOf1)
		if n := number(t, c, ctx, "SELECT COUNT(*) FROM item WHERE price = ?", want); n != 1 {
			t.Errorf("%+v: a read behind it does not find %d: %+v", o, want, s.last(t))
		}
		_ = c.Close()
	}
	if n := number(t, s.db, ctx, priceOf1); n != 3 {
		t.Errorf("two updates behind transactions that were rolled back left %d, want 3", n)
	}

	// The connection is lost with the statement on it.
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	short, cancel := context.WithTimeout(ctx, 100*time.Millisecond)
	defer cancel()
	if _, err := tx.ExecContext(short, "UPDATE item SET price = SLEEP(10) WHERE id = 1"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("a statement that takes too long: %v", err)
	}
	if _, err := tx.ExecContext(ctx, "INSERT INTO item VALUES (2, 2)"); err == nil {
		t.Error("a statement runs in a transaction that is over")
	}
	if err := tx.Commit(); err == nil {
		t.Error("it is committed")
	}
	if n := number(t, s.db, ctx, "SELECT COUNT(*) FROM item"); n != 1 {
		t.Errorf("there are %d rows, want 1", n)
	}
}
