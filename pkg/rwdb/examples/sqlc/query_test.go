package shop_test

import (
	"os"
	"strings"
	"testing"
)

// TestGenerated: query.sql was not changed without making the code anew. sqlc
// itself takes minutes to be built.
func TestGenerated(t *testing.T) {
	t.Parallel()
	source, err := os.ReadFile("query.sql")
	if err != nil {
		t.Fatal(err)
	}
	code, err := os.ReadFile("query/query.sql.go")
	if err != nil {
		t.Fatal(err)
	}
	want := strings.NewReplacer(" ;", "", ";", "", "sqlc.slice('ids')", "/*SLICE:ids*/?", "sqlc.arg(quantity)", "?", "sqlc.arg(id)", "?",
		"SELECT * FROM items", "SELECT id, name, price, stock FROM items",
		"SELECT * FROM orders", "SELECT id, item_id, quantity, total, placed_at FROM orders",
		"SELECT items.*", "SELECT items.id, items.name, items.price, items.stock")
	queries := strings.Split(strings.TrimSpace(string(source)), "\n\n")
	for _, q := range queries {
		if !strings.Contains(string(code), "`"+want.Replace(q)+"\n`") {
			t.Errorf("this is not in the generated code; run go generate:\n%s", q)
		}
	}
	if n := strings.Count(string(code), "`-- name: "); n != len(queries) {
		t.Errorf("%d queries are generated, %d are written", n, len(queries))
	}
}
