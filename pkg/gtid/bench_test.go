package gtid_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
)

const many = 100_000

func benchmarkParse(b *testing.B, text string) {
	b.SetBytes(int64(len(text)))
	b.ReportAllocs()
	for b.Loop() {
		if _, err := gtid.Parse(text); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkParse100k(b *testing.B) { benchmarkParse(b, manyText(many)) }

func BenchmarkParse100k_random(b *testing.B) {
	var text strings.Builder
	text.WriteString(uuidU)
	for _, i := range rand.New(rand.NewPCG(1, 2)).Perm(many) {
		fmt.Fprintf(&text, ":%d", 2*(i+1))
	}
	benchmarkParse(b, text.String())
}

// The worst order of sources: every interval begins a run of its own.
func BenchmarkParse100k_alternating(b *testing.B) {
	var text strings.Builder
	for i := range many {
		fmt.Fprintf(&text, "%s:%d,", []string{uuidU, uuidV}[i%2], 2*(i+1))
	}
	benchmarkParse(b, text.String())
}

func BenchmarkParse_usual(b *testing.B) {
	benchmarkParse(b, uuidV+":1-1042,\n"+uuidU+":1-998877:tag:1-7")
}

func BenchmarkContainsGTID(b *testing.B) {
	random := rand.New(rand.NewPCG(1, 2))
	var gaps strings.Builder
	gaps.WriteString(uuidU)
	for i, seq := 0, int64(1); i < many; i++ {
		fmt.Fprintf(&gaps, ":%d-%d", seq, seq+random.Int64N(5))
		seq += 7 + random.Int64N(100)
	}
	for name, text := range map[string]string{"even": manyText(many), "random": gaps.String()} {
		set, err := gtid.Parse(text)
		if err != nil {
			b.Fatal(err)
		}
		g := gtid.GTID{UUID: uuid(b, uuidU)}
		var probes [4096]int64
		for i := range probes {
			probes[i] = random.Int64N(set.Last(gtid.Source{UUID: g.UUID}))
		}
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			n := 0
			for b.Loop() {
				g.Seq = probes[n%len(probes)]
				set.ContainsGTID(g)
				n++
			}
		})
	}
}

func BenchmarkContains(b *testing.B) {
	set := manyIntervals(b, many)
	for _, text := range []string{uuidU + ":100000", uuidU + ":199998:200000"} {
		part, err := gtid.Parse(text)
		if err != nil {
			b.Fatal(err)
		}
		b.Run(text[len(uuidU):], func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !set.Contains(part) {
					b.Fatal(part)
				}
			}
		})
	}
	equal := manyIntervals(b, many)
	b.Run("equal", func(b *testing.B) {
		for b.Loop() {
			if !set.Contains(equal) {
				b.Fatal("not contained")
			}
		}
	})
}

func BenchmarkUnion(b *testing.B) {
	big := manyIntervals(b, many)
	usual, err := gtid.Parse(uuidV + ":1-1042,\n" + uuidU + ":1-998877:tag:1-7")
	if err != nil {
		b.Fatal(err)
	}
	for _, bench := range []struct {
		name string
		set  gtid.Set
		seq  int64
	}{{"usual+next", usual, 998878}, {"usual+known", usual, 5}, {"100k+next", big, 2*many + 1}, {"100k+known", big, 4}} {
		one := gtid.Set{}.Add(gtid.GTID{UUID: uuid(b, uuidU), Seq: bench.seq})
		b.Run(bench.name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if bench.set.Union(one).IsEmpty() {
					b.Fatal("empty")
				}
			}
		})
	}
}

func BenchmarkSubtract(b *testing.B) {
	big := manyIntervals(b, many)
	token, err := gtid.Parse(uuidU + ":100000:200000-200005")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if token.Subtract(big).IsEmpty() {
			b.Fatal("empty")
		}
	}
}

func BenchmarkString(b *testing.B) {
	set := manyIntervals(b, many)
	b.ReportAllocs()
	for b.Loop() {
		if set.String() == "" {
			b.Fatal("empty")
		}
	}
}

func BenchmarkReached(b *testing.B) {
	have, err := gtid.ParseDomainPos("0-1-1000,1-1-500,2-1-7")
	if err != nil {
		b.Fatal(err)
	}
	want, err := gtid.ParseDomainPos("0-1-999,2-1-7")
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	for b.Loop() {
		if !have.Reached(want) {
			b.Fatal("not reached")
		}
	}
}
