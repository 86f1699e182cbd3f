package rwdb_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/rwdb"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/route"
)

const priceOf1 = "SELECT price FROM item WHERE id = 1"

// hold keeps all replicas from applying anything until the test ends or release is called.
func (s *site) hold(t *testing.T) (release func()) {
	t.Helper()
	var all []func() error
	release = func() {
		for _, r := range all {
			if err := r(); err != nil {
				t.Error(err)
			}
		}
		all = nil
	}
	t.Cleanup(release)
	for _, r := range s.Replicas() {
		one, err := r.HoldApplier(context.WithoutCancel(t.Context()))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, one)
	}
	return release
}

// testSessionMoves: what is written through one connector is seen through another one, as in another process, by
// who has the session's token, and by nobody else.
func testSessionMoves(t *testing.T, s *site) {
	s = s.fresh(t, func(o *rwdb.Options) { o.Policy = nil }) // it need not wait long
	exec(t, s.db, t.Context(), "INSERT INTO item VALUES (1, 1)")
	s.replicated(t)
	elsewhere, other := s.open(t, s.options)
	s.hold(t)

	var mine rwdb.Session
	if mine.Wrote() {
		t.Error("a session that has done nothing has written")
	}
	exec(t, s.db, rwdb.WithSession(t.Context(), &mine), "UPDATE item SET price = 2 WHERE id = 1")
	if !mine.Wrote() {
		t.Error("a session that has written has not")
	}
	if n := number(t, s.db, rwdb.WithSession(t.Context(), &mine), priceOf1); n != 2 {
		t.Errorf("the session reads %d after it wrote 2: %+v", n, s.last(t))
	}
	token, err := mine.MarshalText()
	if err != nil || strings.ContainsAny(string(token), "\" ;\n") {
		t.Fatalf("token %q, %v", token, err)
	}
	if n := number(t, other, t.Context(), priceOf1); n != 1 {
		t.Fatalf("without the token %d is read: nothing is proved", n)
	}
	var theirs rwdb.Session
	if err := theirs.UnmarshalText(token); err != nil {
		t.Fatal(err)
	}
	ctx := rwdb.WithSession(t.Context(), &theirs)
	if n := number(t, other, ctx, priceOf1); n != 2 {
		t.Errorf("with the token %d is read: %+v, %+v", n, s.last(t), elsewhere.Servers())
	}
	if theirs.Wrote() {
		t.Error("a session that was unmarshalled and has read has written")
	}
	if got := rwdb.SessionOf(ctx); got != &theirs {
		t.Error("the context has another session")
	}
}

// testTokens: one that was made up is refused, and holds nobody up.
func testTokens(t *testing.T, s *site) {
	s = s.fresh(t, nil)
	exec(t, s.db, t.Context(), "INSERT INTO item VALUES (1, 1)")
	for _, token := range []string{"", "x", "s", "3e11fa47-71ca-11e1-9e33-c80aa9429562:5", "sgarbage", "s0-1-", "u:"} {
		var se rwdb.Session
		err := se.UnmarshalText([]byte(token))
		if (err == nil) != (token == "s") {
			t.Errorf("token %q: %v", token, err)
		}
	}
	forged := "s3e11fa47-71ca-11e1-9e33-c80aa9429562:5"
	if s.Cluster.Flavor == flavor.MariaDB {
		forged = "s0-1-100000"
	}
	var se rwdb.Session
	if err := se.UnmarshalText([]byte(forged)); err != nil {
		t.Fatal(err)
	}
	ctx := rwdb.WithSession(t.Context(), &se)
	for range 2 {
		var n int
		err := s.db.QueryRowContext(ctx, priceOf1).Scan(&n)
		if !errors.Is(err, rwdb.ErrToken) || !strings.Contains(err.Error(), forged[1:]) {
			t.Errorf("a read with a token that was made up: %d, %v", n, err)
		}
	}
	if _, err := s.db.ExecContext(ctx, "UPDATE item SET price = 2 WHERE id = 1"); !errors.Is(err, rwdb.ErrToken) || se.Wrote() {
		t.Errorf("a write with a token that was made up: %v, wrote %v", err, se.Wrote())
	}
	if o := s.last(t); o.Server != "" || !errors.Is(o.Err, rwdb.ErrToken) {
		t.Errorf("it is observed as %+v", o)
	}
	if n := number(t, s.db, t.Context(), priceOf1); n != 1 {
		t.Errorf("the next read without it reads %d", n)
	}
}

// testTimeouts: where no replica can have a read in time it runs on the primary, or is refused with the text that
// programs know. It is never stale.
func testTimeouts(t *testing.T, s *site) {
	s = s.fresh(t, func(o *rwdb.Options) {
		o.Policy = func(p *route.Policy) { // a replica that is held is waited for, however late it is
			p.MaxLag, p.SessionTimeout, p.GlobalTimeout = 0, 50*time.Millisecond, 50*time.Millisecond
		}
	})
	exec(t, s.db, t.Context(), "INSERT INTO item VALUES (1, 1)")
	s.replicated(t)
	o := s.options
	o.Policy = func(p *route.Policy) { p.ErrorOnTimeout, p.MaxLag = true, 0 }
	strict, db := s.open(t, o)
	release := s.hold(t)
	for _, level := range []route.Level{route.SessionLevel, route.Global} {
		ctx := rwdb.WithLevel(t.Context(), level)
		exec(t, s.db, ctx, "UPDATE item SET price = price + 1 WHERE id = 1")
		want := number(t, s.db, rwdb.WithLevel(ctx, route.Strong), priceOf1)
		if n := number(t, s.db, ctx, priceOf1); n != want {
			t.Errorf("%v: %d is read, want %d", level, n, want)
		}
		if o := s.last(t); o.Server != "primary" || o.Reasons[0] != route.NothingCaughtUp {
			t.Errorf("%v: %+v", level, o)
		}
		exec(t, db, ctx, "UPDATE item SET price = price + 1 WHERE id = 1")
		var n int
		var e *mysql.MySQLError
		err := db.QueryRowContext(ctx, priceOf1).Scan(&n)
		if !errors.As(err, &e) || e.Number != 1205 || e.Message != route.TimeoutText {
			t.Errorf("%v, where it is to be an error: %d, %v", level, n, err)
		}
	}
	if st := strict.Stats(); st.Refused == 0 {
		t.Errorf("%+v", st)
	}
	s.lateReads(t)
	ctx := rwdb.WithWait(t.Context(), time.Minute)
	done := make(chan error, 1)
	go func() {
		var n int
		done <- db.QueryRowContext(ctx, priceOf1).Scan(&n)
	}()
	sandboxtest.Await(t, "the read waits on a server", func() bool { return strict.Stats().Waits > 0 || len(done) > 0 })
	release()
	if err := <-done; err != nil {
		t.Errorf("a read that waits for as long as it takes: %v", err)
	}
}

// lateReads runs reads of all kinds whose wait ends in vain: the answer of the server that is behind is for nobody,
// whatever its size.
func (s *site) lateReads(t *testing.T) {
	t.Helper()
	ctx := t.Context()
	c := s.conn(t, s.db)
	stmt, err := c.PrepareContext(ctx, "SELECT price FROM item WHERE id = ?")
	if err != nil {
		t.Fatal(err)
	}
	defer stmt.Close()
	late := s.connector.Stats().WaitsInVain
	for i := range 5 {
		exec(t, c, ctx, "UPDATE item SET price = price + 1 WHERE id = 1")
		want := number(t, c, rwdb.WithLevel(ctx, route.Strong), priceOf1)
		var n int
		if err := stmt.QueryRowContext(ctx, 1).Scan(&n); err != nil || n != want {
			t.Errorf("a prepared read: %d, %v, want %d: %+v", n, err, want, s.last(t))
		}
		if n := number(t, c, ctx, "SELECT price FROM item WHERE id = ?", 1); n != want {
			t.Errorf("a read with an argument: %d, want %d: %+v", n, want, s.last(t))
		}
		var big string
		if err := c.QueryRowContext(ctx, "SELECT REPEAT(price % 10, 3000000) FROM item").Scan(&big); err != nil || big != strings.Repeat(fmt.Sprint(want%10), 3000000) {
			t.Errorf("a large read: %d bytes, %v, want %d: %+v", len(big), err, want, s.last(t))
		}
		tx, err := c.BeginTx(ctx, &sql.TxOptions{ReadOnly: true, Isolation: sql.LevelReadCommitted})
		if err != nil {
			t.Fatal(err)
		}
		if n := number(t, tx, ctx, priceOf1); n != want {
			t.Errorf("a read-only transaction: %d, want %d: %+v", n, want, s.last(t))
		}
		if err := tx.Commit(); err != nil {
			t.Errorf("%d: %v", i, err)
		}
	}
	if now := s.connector.Stats().WaitsInVain; now < late+10 {
		t.Errorf("only %d waits ended in vain: nothing is proved", now-late)
	}
}

// testLevels: a context says how fresh its reads are, a hint of a statement counts more.
func testLevels(t *testing.T, s *site) {
	s = s.fresh(t, nil)
	exec(t, s.db, t.Context(), "INSERT INTO item VALUES (1, 1)")
	s.replicated(t)
	for _, tt := range []struct {
		ctx    context.Context
		hint   string
		level  route.Level
		server string // "" is a replica
	}{
		{t.Context(), "", route.SessionLevel, ""},
		{rwdb.WithLevel(t.Context(), route.Strong), "", route.Strong, "primary"},
		{rwdb.WithLevel(t.Context(), route.Global), "", route.Global, ""},
		{rwdb.WithMaxStaleness(rwdb.WithLevel(t.Context(), route.Weak), time.Minute), "", route.Weak, ""},
		{rwdb.WithLevel(t.Context(), route.Eventual), "/*+ mysqlrw(consistency=strong) */", route.Strong, "primary"},
		{t.Context(), "/* to server replica2 */", route.Eventual, "replica2"},
		{t.Context(), "/*FORCE_MASTER*/", route.Eventual, "primary"},
	} {
		if n := number(t, s.db, tt.ctx, "SELECT "+tt.hint+" price FROM item WHERE id = 1"); n != 1 {
			t.Errorf("%v %s reads %d", tt.level, tt.hint, n)
		}
		o := s.last(t)
		if o.Level != tt.level || o.Server != tt.server && (tt.server != "" || o.Server == "primary") {
			t.Errorf("level %v, hint %q: %+v", tt.level, tt.hint, o)
		}
	}
	conn := s.conn(t, s.db)
	exec(t, conn, t.Context(), "SET mysqlrw_consistency = strong")
	number(t, conn, t.Context(), priceOf1)
	if o := s.last(t); o.Level != route.Strong {
		t.Errorf("after SET mysqlrw_consistency: %+v", o)
	}
	number(t, conn, rwdb.WithLevel(t.Context(), route.Eventual), "SELECT COUNT(*) FROM item")
	number(t, conn, t.Context(), priceOf1)
	if o := s.last(t); o.Level != route.Strong {
		t.Errorf("what a context asks for holds for the next one: %+v", o)
	}
	if _, err := conn.ExecContext(t.Context(), "SET mysqlrw_consistency = nonsense"); err == nil {
		t.Error("a level that there is not is taken")
	}
	if _, err := conn.QueryContext(t.Context(), "SHOW MYSQLRW ROUTE"); err == nil {
		t.Error("SHOW MYSQLRW ROUTE is answered with nothing")
	}
}

// conn returns one connection of a pool.
func (s *site) conn(t *testing.T, db *sql.DB) *sql.Conn {
	t.Helper()
	c, err := db.Conn(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	return c
}

// testOneSessionAtOnce: goroutines that share a session see each other's writes that have returned.
func testOneSessionAtOnce(t *testing.T, s *site) {
	s = s.fresh(t, func(o *rwdb.Options) { o.Observe = nil })
	var se rwdb.Session
	ctx := rwdb.WithSession(t.Context(), &se)
	const goroutines, rounds = 8, 30
	for i := range goroutines {
		exec(t, s.db, ctx, "INSERT INTO item VALUES (?, 0)", i)
	}
	var mu sync.Mutex
	var written [goroutines]int // that have returned
	var all sync.WaitGroup
	for g := range goroutines {
		all.Go(func() {
			for n := 1; n <= rounds; n++ {
				if _, err := s.db.ExecContext(ctx, "UPDATE item SET price = ? WHERE id = ?", n, g); err != nil {
					t.Error(err)
					return
				}
				mu.Lock()
				written[g] = n
				at := (g + n) % goroutines
				want := written[at]
				mu.Unlock()
				var got int
				if err := s.db.QueryRowContext(ctx, fmt.Sprintf("SELECT price FROM item WHERE id = %d", at)).Scan(&got); err != nil {
					t.Error(err)
					return
				}
				if got < want {
					t.Errorf("goroutine %d reads %d of %d, which %d had been written to", g, got, at, want)
				}
			}
		})
	}
	all.Wait()
	if st := s.connector.Stats(); st.ReadsOnReplicas == 0 {
		t.Errorf("no read ran on a replica: %+v", st)
	}
}
