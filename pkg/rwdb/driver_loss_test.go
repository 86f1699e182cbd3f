package rwdb_test

import (
	"database/sql"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

// lossCases are those of connections that end.
var lossCases = []driverCase{
	{name: "idle connections killed", do: func(t *testing.T, s *side) string {
		var all []error
		ctx := t.Context()
		for _, use := range []func() error{
			func() error { return query(ctx, s.db, "SELECT * FROM item") },
			func() error { return query(ctx, s.db, "SELECT * FROM item WHERE id = ?", 1) },
			func() error { return execute(ctx, s.db, "UPDATE item SET price = price + 1") },
			func() error {
				tx, err := s.db.BeginTx(ctx, nil)
				if err != nil {
					return err
				}
				defer tx.Rollback()
				return execute(ctx, tx, "UPDATE item SET price = price + 1")
			},
			func() error { return s.db.PingContext(ctx) },
			func() error {
				stmt, err := s.db.PrepareContext(ctx, "SELECT ?")
				if err == nil {
					err = stmt.Close()
				}
				return err
			},
		} {
			_ = number(t, s.db, ctx, "SELECT COUNT(*) FROM item") // so that there are connections to the primary and a replica
			exec(t, s.db, ctx, "DO 1")
			s.killAll(t)
			all = append(all, use())
		}
		return shapes(all...)
	}, want: strings.Repeat("none; ", 6)},
	{name: "killed under a prepared statement", do: func(t *testing.T, s *side) string {
		ctx := t.Context()
		stmt, err := s.db.PrepareContext(ctx, "SELECT price FROM item WHERE id = ?")
		if err != nil {
			return shape(err)
		}
		defer stmt.Close()
		var before, after int
		err = stmt.QueryRowContext(ctx, 2).Scan(&before)
		s.killAll(t)
		return shapes(err, stmt.QueryRowContext(ctx, 2).Scan(&after)) + fmt.Sprint(before, after)
	}, want: "none; none; 20 20"},
	{name: "killed under a transaction", do: func(t *testing.T, s *side) string {
		ctx := t.Context()
		tx, err := s.db.BeginTx(ctx, nil)
		if err != nil {
			return shape(err)
		}
		first := execute(ctx, tx, "UPDATE item SET price = 99 WHERE id = 2")
		s.killAll(t)
		second := execute(ctx, tx, "UPDATE item SET price = 98 WHERE id = 1")
		return shapes(first, second, tx.Commit()) + fmt.Sprint(number(t, s.db, ctx, "SELECT price FROM item WHERE id = 2"))
	}, want: "none; invalid connection; invalid connection; 20"},
	{name: "killed in a transaction's first statement", do: func(t *testing.T, s *side) string {
		ctx := t.Context()
		conn, err := s.db.Conn(ctx)
		if err != nil {
			return shape(err)
		}
		defer conn.Close()
		tx, err := conn.BeginTx(ctx, nil)
		if err != nil {
			return shape(err)
		}
		first := s.during(t, marker, func() error { return execute(ctx, tx, slowWrite) },
			func(server *sandbox.Server, id int) { kill(t, server, "CONNECTION", id) })
		second := execute(ctx, tx, "UPDATE item SET price = 98 WHERE id = 2")
		third := tx.Commit()
		other, again := conn.BeginTx(ctx, nil)
		if again == nil {
			defer other.Rollback()
		}
		return shapes(first, second, third, again) + fmt.Sprint(number(t, s.db, ctx, "SELECT price FROM item WHERE id = 2"))
	}, want: "invalid connection; driver: bad connection; invalid connection; driver: bad connection; 20"},
	{name: "killed in a read-only transaction's first statement", do: func(t *testing.T, s *side) string {
		ctx := t.Context()
		tx, err := s.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
		if err != nil {
			return shape(err)
		}
		defer tx.Rollback()
		first := s.during(t, marker, func() error { return query(ctx, tx, "SELECT /* slow */ SLEEP(5) FROM item LIMIT 1") },
			func(server *sandbox.Server, id int) { kill(t, server, "CONNECTION", id) })
		return shapes(first, query(ctx, tx, "SELECT 1"), tx.Commit())
	}, want: "invalid connection; driver: bad connection; invalid connection; ", rwdb: "none; none; none; "},
	{
		name: "unsent in a transaction's first statement", config: func(c *mysql.Config) { c.MaxAllowedPacket = 1000 },
		do: func(t *testing.T, s *side) string {
			ctx := t.Context()
			conn, err := s.db.Conn(ctx)
			if err != nil {
				return shape(err)
			}
			defer conn.Close()
			long := "INSERT INTO entry (name) VALUES ('" + strings.Repeat("x", 2000) + "')"
			var all []error
			seen := "" // by others
			look := func() {
				var n int
				all = append(all, sandboxtest.Open(t, s.Primary()).QueryRow("SELECT COUNT(*) FROM shop.entry").Scan(&n))
				seen += fmt.Sprint(n, " ")
			}
			for _, end := range []func(*sql.Tx) error{(*sql.Tx).Rollback, (*sql.Tx).Commit} {
				tx, err := conn.BeginTx(ctx, nil)
				if err != nil {
					return shape(err)
				}
				all = append(all, execute(ctx, tx, long), end(tx), execute(ctx, conn, "INSERT INTO entry VALUES ()"))
				look()
			}
			tx, err := conn.BeginTx(ctx, nil)
			if err != nil {
				return shape(err)
			}
			all = append(all, execute(ctx, tx, long), execute(ctx, tx, "INSERT INTO entry VALUES ()"), tx.Rollback())
			look()
			return shapes(all...) + seen
		}, want: strings.Repeat(mysql.ErrPktTooLarge.Error()+"; none; none; none; ", 3) + "1 2 2 ",
	},
	{
		name: "replicas behind for longer than the read timeout", config: func(c *mysql.Config) { c.ReadTimeout = 600 * time.Millisecond },
		do: func(t *testing.T, s *side) string {
			number(t, s.db, t.Context(), "SELECT 1")
			for _, r := range s.Replicas() {
				release, err := r.HoldApplier(t.Context())
				if err != nil {
					t.Fatal(err)
				}
				defer func() {
					if err := release(); err != nil {
						t.Error(err)
					}
				}()
			}
			exec(t, s.db, t.Context(), "UPDATE item SET price = 77 WHERE id = 2")
			var n int
			return shapes(s.db.QueryRow("SELECT price FROM item WHERE id = 2").Scan(&n)) + fmt.Sprint(n)
		}, want: "none; 77",
	},
	{name: "killed under a connection", do: func(t *testing.T, s *side) string {
		ctx := t.Context()
		conn, err := s.db.Conn(ctx)
		if err != nil {
			return shape(err)
		}
		defer conn.Close()
		first := execute(ctx, conn, "UPDATE item SET price = 99 WHERE id = 2")
		s.killAll(t)
		return shapes(first, execute(ctx, conn, "UPDATE item SET price = 98 WHERE id = 1"))
	}, want: "none; invalid connection; "},
	// A read that has shown no row runs again on another server.
	{name: "killed in a read", do: func(t *testing.T, s *side) string {
		return shape(s.during(t, marker, func() error { return query(t.Context(), s.db, "SELECT /* slow */ SLEEP(5) FROM item LIMIT 1") },
			func(server *sandbox.Server, id int) { kill(t, server, "CONNECTION", id) }))
	}, want: "invalid connection", rwdb: "none"},
	{name: "killed in a write", do: func(t *testing.T, s *side) string {
		return shape(s.during(t, marker, func() error { return execute(t.Context(), s.db, slowWrite) },
			func(server *sandbox.Server, id int) { kill(t, server, "CONNECTION", id) }))
	}, want: "invalid connection"},
	{name: "query killed in a write", do: func(t *testing.T, s *side) string {
		return shape(s.during(t, marker, func() error { return execute(t.Context(), s.db, slowWrite) },
			func(server *sandbox.Server, id int) { kill(t, server, "QUERY", id) }))
	}, want: "server error 1317 (70100)"},
}
