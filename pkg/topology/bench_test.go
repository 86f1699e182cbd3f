package topology

import (
	"database/sql"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/route"
)

func BenchmarkFill(b *testing.B) {
	open := func() (*sql.DB, error) { return nil, nil }
	m, err := New(Options{Servers: []Server{{Name: "a", Open: open}, {Name: "b", Open: open}, {Name: "c", Open: open}}})
	if err != nil {
		b.Fatal(err)
	}
	var s route.Snapshot
	now := time.Now()
	b.ReportAllocs()
	for b.Loop() {
		m.Fill(&s, now)
	}
}

func BenchmarkLearn(b *testing.B) {
	open := func() (*sql.DB, error) { return nil, nil }
	m, err := New(Options{Servers: []Server{{Name: "a", Open: open}}})
	if err != nil {
		b.Fatal(err)
	}
	v, w := value(b, uuidA+":1-500"), value(b, uuidA+":1-400")
	m.Learn(0, 0, v)
	for _, c := range []struct {
		name string
		v    func() bool
	}{
		{"same", func() bool { m.Learn(0, 0, v); return true }},
		{"contained", func() bool { m.Learn(0, 0, w); return true }},
	} {
		b.Run(c.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				c.v()
			}
		})
	}
}
