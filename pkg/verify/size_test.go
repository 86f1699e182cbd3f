package verify

import (
	"math/rand/v2"
	"runtime"
	"testing"
	"time"
)

// busy performs steps of many sessions at once on a register that is read where
// it is written: three of four operations overlap with others.
func busy(p *player, steps, perWrite int) {
	random := rand.New(rand.NewPCG(1, 2))
	for range steps {
		i := random.IntN(len(p.sessions))
		switch o := p.open[i]; {
		case o == nil:
			p.begin(i, random.IntN(len(p.registers)), random.IntN(perWrite) == 0)
		case o.write:
			p.end(i, 0)
		default:
			r := p.registers[o.register]
			p.end(i, r.shown+random.Int64N(r.issued-r.shown+1))
		}
		p.log = p.log[:0]
	}
}

// TestMemory: a run does not keep its history.
func TestMemory(t *testing.T) {
	if testing.Short() {
		t.Skip("long under the race detector")
	}
	p := newPlayer(64, 16, windowSize)
	p.sample.limit = 200_000 / windowSize
	for i := range p.registers {
		p.registers[i].limit = keptWrites / 16
	}
	heap := func() int64 {
		var m runtime.MemStats
		runtime.GC()
		runtime.ReadMemStats(&m)
		return int64(m.HeapAlloc)
	}
	before := heap()
	busy(p, 600_000, 10)
	grown := heap() - before
	t.Logf("270,000 reads of 64 sessions: %d MB", grown>>20)
	if grown > 40<<20 {
		t.Errorf("%d bytes are kept", grown)
	}
	if c := p.sample.check(time.Minute); c.answer != Yes || c.inOrder < 150_000 {
		t.Errorf("checked: %+v", c)
	}
}

// BenchmarkCheck is 64 sessions on 4 registers, of which half of the operations
// write: what the checker has most trouble with.
func BenchmarkCheck(b *testing.B) {
	for range b.N {
		p := newPlayer(64, 4, windowSize)
		busy(p, 100_000, 2)
		began := time.Now()
		c := p.sample.check(20 * time.Second)
		b.ReportMetric(float64(c.inOrder)/time.Since(began).Seconds(), "ops/s")
		b.ReportMetric(float64(c.givenUp), "given-up")
	}
}

func BenchmarkJudge(b *testing.B) {
	p := newPlayer(64, 16, windowSize)
	p.sample.limit = 10
	b.ReportAllocs()
	busy(p, b.N, 10)
}
