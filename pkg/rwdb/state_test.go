package rwdb_test

import (
	"context"
	"crypto/tls"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/rwdb"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

// ran fails the test if the last statement did not run on a server; "replica" is any.
func (s *site) ran(t *testing.T, what, server string) {
	t.Helper()
	o := s.last(t)
	if o.Server != server && (server != "replica" || !strings.HasPrefix(o.Server, "replica")) {
		t.Errorf("%s: %+v, want %s", what, o, server)
	}
}

func testTransactions(t *testing.T, s *site) {
	s = s.fresh(t, nil)
	ctx := t.Context()
	exec(t, s.db, ctx, "INSERT INTO item VALUES (1, 1)")

	tx, err := s.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelReadCommitted})
	if err != nil {
		t.Fatal(err)
	}
	if n := number(t, tx, ctx, priceOf1); n != 1 {
		t.Errorf("reads %d", n)
	}
	s.ran(t, "a read of a transaction", "primary")
	exec(t, tx, ctx, "UPDATE item SET price = 2 WHERE id = 1")
	if n := number(t, tx, ctx, priceOf1); n != 2 {
		t.Errorf("reads %d in the transaction that wrote 2", n)
	}
	var isolation string
	column := map[flavor.Flavor]string{flavor.MySQL: "@@transaction_isolation", flavor.MariaDB: "@@tx_isolation"}[s.Cluster.Flavor]
	if err := tx.QueryRowContext(ctx, "SELECT "+column).Scan(&isolation); err != nil {
		t.Error(err)
	}
	if err := tx.Commit(); err != nil {
		t.Fatal(err)
	}
	if n := number(t, s.db, ctx, priceOf1); n != 2 {
		t.Errorf("reads %d after a commit of 2: %+v", n, s.last(t))
	}
	s.ran(t, "a read after a transaction", "replica")

	tx, err = s.db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	exec(t, tx, ctx, "UPDATE item SET price = 3 WHERE id = 1")
	if err := tx.Rollback(); err != nil {
		t.Fatal(err)
	}
	if n := number(t, s.db, ctx, priceOf1); n != 2 {
		t.Errorf("reads %d after a rollback", n)
	}
	exec(t, s.db, ctx, "UPDATE item SET price = 4 WHERE id = 1")
	tx, err = s.db.BeginTx(ctx, &sql.TxOptions{ReadOnly: true})
	if err != nil {
		t.Fatal(err)
	}
	if n := number(t, tx, ctx, priceOf1); n != 4 {
		t.Errorf("a read-only transaction reads %d", n)
	}
	s.ran(t, "a read-only transaction", "replica")
	exec(t, s.db, ctx, "UPDATE item SET price = 5 WHERE id = 1")
	s.replicated(t)
	if n := number(t, tx, ctx, priceOf1); n != 4 {
		t.Errorf("a read-only transaction does not keep its snapshot: it reads %d", n)
	}
	if _, err := tx.ExecContext(ctx, "UPDATE item SET price = 6 WHERE id = 1"); err == nil {
		t.Error("a read-only transaction writes")
	}
	if err := tx.Commit(); err != nil {
		t.Error(err)
	}
	var se rwdb.Session
	if tx, err = s.db.BeginTx(rwdb.WithSession(ctx, &se), nil); err != nil {
		t.Fatal(err)
	}
	number(t, tx, ctx, priceOf1)
	if err := tx.Commit(); err != nil || se.Wrote() {
		t.Errorf("a transaction that only read: %v, wrote %v", err, se.Wrote())
	}
	if tx, err = s.db.BeginTx(rwdb.WithSession(ctx, &se), nil); err != nil {
		t.Fatal(err)
	}
	exec(t, tx, ctx, "UPDATE item SET price = 6 WHERE id = 1")
	if err := tx.Commit(); err != nil || !se.Wrote() {
		t.Errorf("a transaction that wrote: %v, wrote %v", err, se.Wrote())
	}
	statements := s.connector.Stats()
	if tx, err = s.db.BeginTx(ctx, nil); err != nil {
		t.Fatal(err)
	}
	if err := tx.Commit(); err != nil {
		t.Error(err)
	}
	if now := s.connector.Stats(); now.ReadsOnPrimary != statements.ReadsOnPrimary {
		t.Errorf("%+v, %+v", statements, now)
	}
	if _, err := s.db.BeginTx(ctx, &sql.TxOptions{Isolation: sql.LevelSnapshot}); err == nil {
		t.Error("an isolation level that there is not is taken")
	}
	cancelled, cancel := context.WithCancel(ctx)
	cancel()
	if _, err := s.db.BeginTx(cancelled, nil); !errors.Is(err, context.Canceled) {
		t.Errorf("BeginTx of a cancelled context: %v", err)
	}
}

// testTextTransactions: transactions that a program begins and ends by statements.
func testTextTransactions(t *testing.T, s *site) {
	s = s.fresh(t, nil)
	ctx, c := t.Context(), s.conn(t, s.db)
	exec(t, c, ctx, "INSERT INTO item VALUES (1, 1)")
	exec(t, c, ctx, "BEGIN")
	number(t, c, ctx, priceOf1)
	s.ran(t, "a read behind BEGIN", "primary")
	exec(t, c, ctx, "UPDATE item SET price = 2 WHERE id = 1")
	exec(t, c, ctx, "ROLLBACK")
	if n := number(t, c, ctx, priceOf1); n != 1 {
		t.Errorf("reads %d", n)
	}
	s.ran(t, "a read behind ROLLBACK", "replica")
	exec(t, c, ctx, "START TRANSACTION READ ONLY")
	number(t, c, ctx, priceOf1)
	s.ran(t, "a read behind START TRANSACTION READ ONLY", "replica")
	exec(t, c, ctx, "COMMIT")
	exec(t, c, ctx, "SET autocommit = 0")
	exec(t, c, ctx, "UPDATE item SET price = 3 WHERE id = 1")
	if n := number(t, s.db, ctx, priceOf1); n != 1 {
		t.Errorf("another connection reads %d before the commit", n)
	}
	exec(t, c, ctx, "COMMIT")
	exec(t, c, ctx, "SET autocommit = 1")
	if n := number(t, s.db, ctx, priceOf1); n != 3 {
		t.Errorf("another connection reads %d after the commit: %+v", n, s.last(t))
	}
	number(t, c, ctx, priceOf1)
	s.ran(t, "a read with autocommit again", "replica")
}

// testSettings: what a statement sets holds wherever the next one runs; what lives on one connection stays there.
func testSettings(t *testing.T, s *site) {
	s = s.fresh(t, nil)
	ctx, c := t.Context(), s.conn(t, s.db)
	exec(t, c, ctx, "INSERT INTO item VALUES (1, 1)")
	s.replicated(t)
	number(t, c, ctx, priceOf1)
	s.ran(t, "the first read", "replica")
	exec(t, c, ctx, "SET SESSION group_concat_max_len = 4321, @a = 17")
	exec(t, c, ctx, "SET SESSION max_join_size = ?", 123456)
	for _, to := range []string{"/* to server replica1 */", "/* to server replica2 */", "/* to master */"} {
		if n := number(t, c, ctx, "SELECT "+to+" @@group_concat_max_len + @@max_join_size FROM item"); n != 4321+123456 {
			t.Errorf("%s: %d: %+v", to, n, s.last(t))
		}
		if n := number(t, c, ctx, "SELECT "+to+" @a FROM item"); n != 17 {
			t.Errorf("%s: @a is %d: %+v", to, n, s.last(t))
		}
	}
	exec(t, c, ctx, "CREATE TEMPORARY TABLE mine (id INT)")
	exec(t, c, ctx, "INSERT INTO mine VALUES (7)")
	if n := number(t, c, ctx, "SELECT id FROM mine"); n != 7 {
		t.Errorf("the temporary table has %d", n)
	}
	s.ran(t, "a read of a temporary table", "primary")
	number(t, c, ctx, priceOf1)
	s.ran(t, "another read", "replica")
	if n := number(t, c, ctx, "SELECT GET_LOCK('rwdb', 0)"); n != 1 {
		t.Error("GET_LOCK")
	}
	number(t, c, ctx, priceOf1)
	s.ran(t, "a read with a lock held", "primary")
	number(t, c, ctx, "SELECT RELEASE_LOCK('rwdb')")
	exec(t, s.db, ctx, "CREATE TABLE line (id INT AUTO_INCREMENT PRIMARY KEY, n INT)")
	r := exec(t, c, ctx, "INSERT INTO line (n) VALUES (5)")
	id, err := r.LastInsertId()
	if err != nil {
		t.Fatal(err)
	}
	if n := number(t, c, ctx, "SELECT LAST_INSERT_ID()"); int64(n) != id {
		t.Errorf("LAST_INSERT_ID() is %d, the answer said %d: %+v", n, id, s.last(t))
	}
	if n := number(t, c, ctx, "SELECT n FROM line WHERE id = LAST_INSERT_ID()"); n != 5 {
		t.Errorf("%d: %+v", n, s.last(t))
	}
}

// testLostTransaction: a transaction whose connection is closed in the middle is over. What follows in it does not
// run on another connection.
func testLostTransaction(t *testing.T, s *site) {
	s = s.fresh(t, nil)
	ctx := t.Context()
	exec(t, s.db, ctx, "INSERT INTO item VALUES (1, 1), (2, 2), (3, 3)")
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	exec(t, tx, ctx, "UPDATE item SET price = 10 WHERE id = 1")
	cancelled, cancel := context.WithCancel(ctx)
	rows, err := tx.QueryContext(cancelled, "SELECT a.price, REPEAT('x', 1000000) FROM item a, item b, item c, item d")
	if err != nil {
		t.Fatal(err)
	}
	cancel() // the driver closes the connection
	for rows.Next() {
	}
	_ = rows.Close()
	if _, err := tx.ExecContext(ctx, "UPDATE item SET price = 20 WHERE id = 2"); err == nil {
		t.Error("a statement runs in a transaction that is over")
	}
	if err := tx.Commit(); err == nil {
		t.Error("it is committed")
	}
	if n := number(t, s.db, ctx, "SELECT SUM(price) FROM item"); n != 6 {
		t.Errorf("the sum is %d, want 6", n)
	}
}

// testModes: texts are read as the servers read them, by the DSN's sql_mode and character set.
func testModes(t *testing.T, s *site) {
	s = s.fresh(t, nil)
	o := s.options
	o.Servers = append([]rwdb.Server(nil), o.Servers...)
	for i := range o.Servers {
		o.Servers[i].Config = o.Servers[i].Config.Clone()
		o.Servers[i].Config.Params = map[string]string{"sql_mode": "'NO_BACKSLASH_ESCAPES,ANSI_QUOTES'"}
	}
	_, db := s.open(t, o)
	// The string ends in front of the comma, and what follows takes a lock. With escapes it would all be one string.
	c := s.conn(t, db)
	var text, lock string
	if err := c.QueryRowContext(t.Context(), `SELECT 'a\', GET_LOCK('modes', 0) AS "it's"`).Scan(&text, &lock); err != nil {
		t.Fatal(err)
	}
	s.ran(t, "a text with a lock behind a backslash", "primary")
}

// testPrepared: a prepared statement runs where it must each time, on any of its servers.
func testPrepared(t *testing.T, s *site) {
	s = s.fresh(t, nil)
	ctx := t.Context()
	exec(t, s.db, ctx, "CREATE TABLE fresh (id INT PRIMARY KEY, n INT)")
	read, err := s.db.PrepareContext(ctx, "SELECT n FROM fresh WHERE id = ?")
	if err != nil {
		t.Fatalf("prepare a read of a table that was just made: %v", err)
	}
	defer read.Close()
	write, err := s.db.PrepareContext(ctx, "INSERT INTO fresh VALUES (?, ?)")
	if err != nil {
		t.Fatal(err)
	}
	defer write.Close()
	for i := range 60 {
		if _, err := write.ExecContext(ctx, i, i+100); err != nil {
			t.Fatal(err)
		}
		s.ran(t, "a prepared write", "primary")
		var n int
		if err := read.QueryRowContext(ctx, i).Scan(&n); err != nil || n != i+100 {
			t.Fatalf("%d: reads %d, %v: %+v", i, n, err, s.last(t))
		}
	}
	if st := s.connector.Stats(); st.ReadsOnReplicas < 50 {
		t.Errorf("%+v", st)
	}
	if _, err := s.db.PrepareContext(ctx, "SELECT nonsense FROM fresh"); err == nil {
		t.Error("a statement that cannot be prepared is")
	}
	if _, err := read.QueryContext(ctx, 1, 2); err == nil {
		t.Error("a statement takes too many arguments")
	}
	tx, err := s.db.BeginTx(ctx, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tx.StmtContext(ctx, write).ExecContext(ctx, 1000, 1); err != nil {
		t.Fatal(err)
	}
	var n int
	if err := tx.StmtContext(ctx, read).QueryRowContext(ctx, 1000).Scan(&n); err != nil || n != 1 {
		t.Errorf("in a transaction: %d, %v", n, err)
	}
	s.ran(t, "a prepared read of a transaction", "primary")
	if err := tx.Rollback(); err != nil {
		t.Error(err)
	}
}

// testUnnamed: a change whose number nobody knows when the statement returns is seen all the same, and so is one that
// is made when its rows are read.
func testUnnamed(t *testing.T, s *site) {
	for _, encrypted := range []bool{false, true} {
		s := s.fresh(t, func(o *rwdb.Options) {
			o.Policy = nil
			o.Servers = append([]rwdb.Server(nil), o.Servers...)
			for i := range o.Servers {
				o.Servers[i].Config = o.Servers[i].Config.Clone()
				if encrypted {
					o.Servers[i].Config.TLS = &tls.Config{InsecureSkipVerify: true}
				}
			}
		})
		ctx := t.Context()
		exec(t, s.db, ctx, "INSERT INTO item VALUES (1, 0), (2, 0), (3, 0), (4, 0), (5, 0), (6, 0)")
		exec(t, s.db, ctx, "DROP PROCEDURE IF EXISTS raise_price")
		// The server waits with the change until somebody reads 36 MB.
		exec(t, s.db, ctx, "CREATE PROCEDURE raise_price() BEGIN SELECT REPEAT('x', 1000000) AS big FROM item a, item b; "+
			"UPDATE item SET price = price + 1 WHERE id = 1; END")
		var se rwdb.Session
		for i, in := range []context.Context{ctx, rwdb.WithSession(ctx, &se)} {
			s.replicated(t)
			release := s.hold(t)
			rows, err := s.db.QueryContext(in, "CALL raise_price()")
			if err != nil {
				t.Fatal(err)
			}
			if n := number(t, s.db, in, priceOf1); n != i {
				t.Errorf("reads %d during the call: %+v", n, s.last(t))
			}
			for rows.Next() || rows.NextResultSet() {
			}
			if err := rows.Close(); err != nil {
				t.Fatal(err)
			}
			if n := number(t, s.db, in, priceOf1); n != i+1 {
				t.Errorf("encrypted %v: reads %d after %d calls: %+v", encrypted, n, i+1, s.last(t))
			}
			release()
		}
	}
}

// TestLongSets: where a server's GTID set is too long to come with every answer, a session's own writes are seen.
func TestLongSets(t *testing.T) {
	s := newSite(t, flavor.MySQL, func(_ *rwdb.Options, so *sandbox.Options) { so.Replicas = 1 })
	var gaps []string
	for i := range 200 {
		gaps = append(gaps, fmt.Sprint(2*i+1))
	}
	for _, server := range s.Cluster.Servers {
		sandboxtest.Exec(t, server, "SET GLOBAL gtid_purged = '+3e11fa47-71ca-11e1-9e33-c80aa9429562:"+strings.Join(gaps, ":")+"'")
	}
	ctx := t.Context()
	exec(t, s.db, ctx, "INSERT INTO item VALUES (1, 0)")
	for i := range 40 {
		exec(t, s.db, ctx, "UPDATE item SET price = ? WHERE id = 1", i)
		if n := number(t, s.db, ctx, priceOf1); n != i {
			t.Fatalf("reads %d after writing %d: %+v", n, i, s.last(t))
		}
	}
	if st := s.connector.Stats(); st.ReadsOnReplicas < 20 {
		t.Errorf("%+v", st)
	} else {
		t.Logf("%+v", st)
	}
	var one rwdb.Session
	exec(t, s.db, rwdb.WithSession(ctx, &one), "UPDATE item SET price = 1000 WHERE id = 1")
	if token, _ := one.MarshalText(); len(token) > 200 {
		t.Errorf("the token of one write has %d bytes: %s", len(token), token)
	}
}
