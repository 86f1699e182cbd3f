package route

import (
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
)

func mysqlOptions() *Options {
	return &Options{Options: sqltoken.Options{Flavor: flavor.MySQL, Oldest: 90704, Newest: 90704}}
}

// benchmarkTexts are what applications send.
func benchmarkTexts() []struct{ name, text string } {
	return []struct{ name, text string }{
		{"point", "SELECT c FROM sbtest1 WHERE id = 123456 AND k IN (1, 2, 345)"},
		{"join", "SELECT o.id, o.created_at, c.name, c.email, SUM(i.quantity * i.price) AS total, COUNT(*) AS n " +
			"FROM orders o INNER JOIN customers c ON c.id = o.customer_id LEFT JOIN order_items i ON i.order_id = o.id " +
			"WHERE o.status IN ('paid', 'shipped', 'delivered') AND o.created_at >= '2026-01-01 00:00:00' AND c.country = 'FR' " +
			"AND NOT EXISTS (SELECT 1 FROM refunds r WHERE r.order_id = o.id AND r.state <> 'void') " +
			"GROUP BY o.id, o.created_at, c.name, c.email HAVING total > 100 ORDER BY o.created_at DESC LIMIT 50 OFFSET 100"},
		{"update", "UPDATE sbtest1 SET k = k + 1, c = 'x' WHERE id = 123456"},
		{"insert100", "INSERT INTO t (id, name, price) VALUES " + strings.Repeat("(12345, 'some name or other', 99.95), ", 99) + "(1, 'x', 2)"},
		{"hint", "/* trace=4bf92f3577b34da6 */ SELECT /*+ READ_CONSISTENCY(WEAK) */ c FROM sbtest1 WHERE id = 123456 -- maxscale route to last"},
		{"begin", "BEGIN"},
		{"set", "SET NAMES utf8mb4, autocommit = 0"},
		{"megabytes16", "SELECT * FROM t WHERE a IN (" + strings.Repeat("'0123456789abcdef', ", 16<<20/20) + "1) FOR UPDATE"},
	}
}

func BenchmarkClassify(b *testing.B) {
	o := mysqlOptions()
	for _, bench := range benchmarkTexts() {
		b.Run(bench.name, func(b *testing.B) {
			b.SetBytes(int64(len(bench.text)))
			b.ReportAllocs()
			for b.Loop() {
				Classify(bench.text, o)
			}
		})
	}
}

// threeServers are a primary and two replicas without lag.
func threeServers() (*Policy, *Snapshot) {
	policy := DefaultPolicy()
	return &policy, &Snapshot{Servers: []Server{
		{Name: "primary", Role: Primary, State: Online},
		{Name: "replica1", State: Online, LagKnown: true, Weight: 100},
		{Name: "replica2", State: Online, LagKnown: true, Weight: 100},
	}}
}

// warmSession is one that has written, among three servers of which one replica
// has what it wrote.
func warmSession(t testing.TB) (*Session, *Policy, *Snapshot) {
	t.Helper()
	policy, snap := threeServers()
	for i, text := range []string{firstUUID + ":1-1000", firstUUID + ":1-999", firstUUID + ":1-1000"} {
		if err := snap.Servers[i].Position.UnmarshalText([]byte(text)); err != nil {
			t.Fatal(err)
		}
	}
	session := &Session{Options: *mysqlOptions()}
	for _, text := range []string{"INSERT INTO t VALUES (1)", "SELECT 1"} {
		st := Classify(text, &session.Options)
		d := session.Decide(&st, text, policy, snap, nil)
		session.Apply(&st, text, &d, snap, Outcome{Position: snap.Servers[0].Position, Wrote: st.Class == Write})
	}
	return session, policy, snap
}

func BenchmarkDecide(b *testing.B) {
	session, policy, snap := warmSession(b)
	text := benchmarkTexts()[0].text
	st := Classify(text, &session.Options)
	b.ReportAllocs()
	for b.Loop() {
		session.Decide(&st, text, policy, snap, nil)
	}
}

// BenchmarkStatement is all that a read costs.
func BenchmarkStatement(b *testing.B) {
	session, policy, snap := warmSession(b)
	text := benchmarkTexts()[0].text
	out := Outcome{Position: snap.Servers[2].Position}
	b.ReportAllocs()
	for b.Loop() {
		st := Classify(text, &session.Options)
		d := session.Decide(&st, text, policy, snap, nil)
		session.Apply(&st, text, &d, snap, out)
	}
}
