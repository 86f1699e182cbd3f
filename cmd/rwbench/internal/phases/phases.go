// Package phases answers: which statements of a load that many clients run at the same time are counted?
package phases

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"
)

// Phase is a part of a run.
type Phase int32

// The phases, in their order. What begins and ends in Measuring counts.
const (
	Warming Phase = iota
	Measuring
	Over
)

// Client is one of those that work.
type Client interface {
	// Run works until the phase is Over, or returns an error, which ends the run.
	Run(phase func() Phase) error
	// Interrupt makes Run return soon, whatever it waits for.
	Interrupt()
}

// Run has all clients work, and calls begin and end at the borders of the part that counts, whose seconds it returns.
func Run(ctx context.Context, warmup, d time.Duration, clients []Client, begin, end func()) (seconds float64, err error) {
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	var phase atomic.Int32
	now := func() Phase { return Phase(phase.Load()) }
	var all sync.WaitGroup
	for _, c := range clients {
		all.Go(func() {
			if err := c.Run(now); err != nil {
				cancel(err)
			}
		})
	}
	wait := func(d time.Duration) {
		select {
		case <-ctx.Done():
		case <-time.After(d):
		}
	}
	wait(warmup)
	begin()
	started := time.Now()
	phase.Store(int32(Measuring))
	wait(d)
	phase.Store(int32(Over))
	seconds = time.Since(started).Seconds()
	end()
	if ctx.Err() != nil {
		for _, c := range clients {
			c.Interrupt()
		}
	}
	all.Wait()
	return seconds, context.Cause(ctx)
}

// Times are microseconds that statements took.
type Times []uint32

// Add counts one that began then.
func (t *Times) Add(began time.Time) {
	*t = append(*t, uint32(min(time.Since(began).Microseconds(), 1<<32-1)))
}

// Latencies are some of the times, in ms; 0 if there are none.
type Latencies struct{ P50, P95, P99 float64 }

// Latencies sorts the times.
func (t Times) Latencies() Latencies {
	if len(t) == 0 {
		return Latencies{}
	}
	slices.Sort(t)
	at := func(p int) float64 { return float64(t[(len(t)*p+99)/100-1]) / 1000 }
	return Latencies{P50: at(50), P95: at(95), P99: at(99)}
}
