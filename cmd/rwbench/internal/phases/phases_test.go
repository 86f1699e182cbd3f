package phases

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"
)

// scripted works until the run is over, is interrupted, or fails at a phase.
type scripted struct {
	failsAt Phase
	err     error
	met     []Phase
	waits   chan struct{} // closed by Interrupt; nil waits for nothing
}

func (s *scripted) Run(phase func() Phase) error {
	for {
		now := phase()
		if n := len(s.met); n == 0 || s.met[n-1] != now {
			s.met = append(s.met, now)
		}
		switch {
		case s.err != nil && now == s.failsAt:
			return s.err
		case now == Over:
			return nil
		case s.waits != nil:
			<-s.waits
			return nil
		}
		time.Sleep(100 * time.Microsecond)
	}
}

func (s *scripted) Interrupt() {
	if s.waits != nil {
		close(s.waits)
	}
}

// TestRun: clients meet all phases in order, and the borders are told in order.
func TestRun(t *testing.T) {
	t.Parallel()
	one, other := &scripted{}, &scripted{}
	var told []string
	tell := func(word string) func() { return func() { told = append(told, word) } }
	seconds, err := Run(t.Context(), 5*time.Millisecond, 20*time.Millisecond, []Client{one, other}, tell("begin"), tell("end"))
	if err != nil || seconds < 0.02 || strings.Join(told, " ") != "begin end" {
		t.Errorf("got %v s, %v, %q", seconds, err, told)
	}
	for _, c := range []*scripted{one, other} {
		if last := c.met[len(c.met)-1]; last != Over {
			t.Errorf("phases %v", c.met)
		}
	}
}

// TestRun_fails: the first error ends a run that would be long, in each phase, and who waits is interrupted.
func TestRun_fails(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	for _, at := range []Phase{Warming, Measuring, Over} {
		long := [3]time.Duration{time.Hour, time.Hour, time.Millisecond}[at]
		waiting := &scripted{waits: make(chan struct{})}
		clients := []Client{&scripted{failsAt: at, err: broken}}
		if at != Over {
			clients = append(clients, waiting)
		}
		warmup := time.Millisecond
		if at == Warming {
			warmup = long
		}
		if _, err := Run(t.Context(), warmup, long, clients, func() {}, func() {}); !errors.Is(err, broken) {
			t.Errorf("in phase %d: got %v", at, err)
		}
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Run(ctx, time.Hour, time.Hour, []Client{&scripted{}}, func() {}, func() {}); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
}

func TestLatencies(t *testing.T) {
	t.Parallel()
	var all Times
	for i := range 200 {
		all = append(all, uint32(200-i)*1000)
	}
	if got, want := all.Latencies(), (Latencies{100, 190, 198}); got != want {
		t.Errorf("got %v, want %v", got, want)
	}
	if got := (Times{}).Latencies(); got != (Latencies{}) {
		t.Errorf("got %v of nothing", got)
	}
}
