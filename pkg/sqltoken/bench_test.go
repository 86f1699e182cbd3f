package sqltoken_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
)

// BenchmarkScanner shows the cost of a byte. The statements are what
// applications send; the large texts must cost as much per byte with 16 MB as
// with 1 MB.
func BenchmarkScanner(b *testing.B) {
	for _, s := range []struct{ name, text string }{
		{"point", "SELECT c FROM sbtest1 WHERE id=123456"},
		{"join", "SELECT o.id, c.name, SUM(i.quantity * i.price) AS total FROM orders o INNER JOIN customers c ON c.id = o.customer_id " +
			"LEFT JOIN order_items i ON i.order_id = o.id WHERE o.status IN ('paid','shipped') AND o.created_at >= '2026-01-01 00:00:00' GROUP BY o.id, c.name"},
		{"comments", "/* app:web */ SELECT /*+ MAX_EXECUTION_TIME(1000) */ a /*!50701 , b */ FROM t -- x\n WHERE c = 1 # y"},
		{"insert", "INSERT INTO t (a, b, c) VALUES (1, 'abc', NULL), (2, 'it''s', 1.5e3), (3, 'a\\'b', 0x41)"},
		{"variables", "SELECT @@session.autocommit, @@global.max_connections, @x, @`y` := 1"},
	} {
		b.Run(s.name, func(b *testing.B) { benchmarkScan(b, s.text, flavor.MySQL, "utf8mb4") })
	}
	for _, s := range []struct{ name, head, piece, tail string }{
		{"string", "SELECT '", "abcdefghijklmnop", "'"},
		{"escapes", "SELECT '", `\'`, "'"},
		{"comment", "SELECT 1 /* ", "abcdefgh * /", "*/"},
		{"list", "SELECT a FROM t WHERE b IN (1", ",123456", ")"},
		{"rows", "INSERT INTO t VALUES (1)", ",(1,'abc',2.5)", ""},
		{"words", "SELECT a", " FROM abc", ""},
		{"letters", "SELECT ", "a", ""},
		{"dollars", "SELECT ", "$", ""},
		{"openings", "SELECT 1 ", "/*!50000 ", ""},
		{"skipped", "SELECT 1 /*!999999 ", "/* x */", "*/"},
	} {
		for _, size := range []int{1 << 20, 16 << 20} {
			text := s.head + strings.Repeat(s.piece, size/len(s.piece)) + s.tail
			b.Run(fmt.Sprintf("%s/%dMB", s.name, size>>20), func(b *testing.B) { benchmarkScan(b, text, flavor.MySQL, "utf8mb4") })
		}
	}
	text := "SELECT '" + strings.Repeat("\xbf\\\xb0\xa1", 1<<18) + "'"
	b.Run("gbk/1MB", func(b *testing.B) { benchmarkScan(b, text, flavor.MySQL, "gbk") })
}

func benchmarkScan(b *testing.B, text string, f flavor.Flavor, charset string) {
	o := serverOptions(f, charset, "")
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		s := sqltoken.New(text, o)
		for s.Next().Kind != sqltoken.EOF {
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/float64(len(text)), "ns/byte")
}
