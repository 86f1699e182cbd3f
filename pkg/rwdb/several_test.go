package rwdb_test

import (
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/rwdb"
)

// testSeveral: what a text of several statements, or a procedure, changes before it fails or while its rows are read
// is seen, though an answer in front of it named a position.
func testSeveral(t *testing.T, s *site) {
	s = s.fresh(t, func(o *rwdb.Options) {
		o.Policy = nil
		o.Servers = append([]rwdb.Server(nil), o.Servers...)
		for i := range o.Servers {
			o.Servers[i].Config = o.Servers[i].Config.Clone()
			o.Servers[i].Config.MultiStatements = true
		}
	})
	ctx := t.Context()
	exec(t, s.db, ctx, "INSERT INTO item VALUES (1, 0), (2, 0), (3, 0)")
	exec(t, s.db, ctx, "DROP PROCEDURE IF EXISTS half")
	exec(t, s.db, ctx, "CREATE PROCEDURE half() BEGIN UPDATE item SET price = price + 1 WHERE id = 1; SIGNAL SQLSTATE '45000'; END")
	want := 0
	for _, text := range []string{
		"SELECT 1; SELECT SLEEP(0.3); UPDATE item SET price = price + 1 WHERE id = 1",
		"CALL half()",
		"UPDATE item SET price = price + 1 WHERE id = 2; CALL half()",
		"SELECT 1; SELECT SLEEP(0.3); UPDATE item SET price = price + 1 WHERE id = 1",
	} {
		s.replicated(t)
		reader := s.conn(t, s.db)
		number(t, reader, ctx, priceOf1)
		release := s.hold(t)
		rows, err := s.db.QueryContext(ctx, text)
		if err == nil {
			for rows.Next() || rows.NextResultSet() {
			}
			_ = rows.Close()
		}
		want++
		if n := number(t, reader, ctx, priceOf1); n != want {
			t.Errorf("%s: reads %d, want %d: %+v", text, n, want, s.last(t))
		}
		release()
		_ = reader.Close()
	}
}
