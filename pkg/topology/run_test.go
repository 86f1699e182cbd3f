package topology

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/status"
	"github.com/mysqlrw/mysqlrw/pkg/status/statustest"
	"github.com/mysqlrw/mysqlrw/route"
)

// TestRun: a failed check is followed by one over a newly opened pool, Recheck
// does not wait for the interval, and Wait wakes for what they find.
func TestRun(t *testing.T) {
	t.Parallel()
	var opened atomic.Int64
	m, err := New(Options{
		Interval: time.Hour,
		Servers: []Server{
			{Name: "a", Open: func() (*sql.DB, error) { return statustest.Open(t, says{uuid: uuidA}.answers()...), nil }},
			{Name: "b", Role: FixedReplica, Open: func() (*sql.DB, error) {
				if opened.Add(1) == 1 {
					return nil, errOther
				}
				return statustest.Open(t, replica().answers()...), nil
			}},
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() { defer close(done); m.Run(ctx) }()
	limited, stop := context.WithTimeout(ctx, patience)
	defer stop()
	if err := m.Wait(limited, func(s *route.Snapshot) bool {
		return primaryName(s) == "a" && strings.Contains(s.Servers[1].Why, errOther.Error())
	}); err != nil {
		t.Fatalf("%v: %+v", err, m.Snapshot())
	}
	m.Recheck(1)
	if err := m.Wait(limited, func(s *route.Snapshot) bool { return s.Servers[1].State == route.Online }); err != nil {
		t.Fatalf("%v: %+v", err, m.Snapshot())
	}
	if n := opened.Load(); n != 2 {
		t.Errorf("opened %d times", n)
	}
	if s := m.Server(1); s.Flavor != flavor.MySQL || s.Version.Major != 8 {
		t.Errorf("server %+v", s)
	}
	cancel()
	<-done
}

func TestWait_ends(t *testing.T) {
	t.Parallel()
	w := newWorld(t, Server{Name: "a"})
	enough := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(enough)
	if err := w.Wait(ctx, func(*route.Snapshot) bool { return false }); !errors.Is(err, enough) {
		t.Errorf("error %v", err)
	}
	if err := w.Wait(ctx, func(*route.Snapshot) bool { return true }); err != nil {
		t.Errorf("error %v for what is so already", err)
	}
}

// TestAsk: a question is put between checks, over their connection, and is always answered.
func TestAsk(t *testing.T) {
	t.Parallel()
	var opened atomic.Int64
	m, err := New(Options{
		Interval: notKept - 1,
		Servers: []Server{{Name: "a", Open: func() (*sql.DB, error) {
			if opened.Add(1) == 2 {
				return nil, errOther
			}
			return statustest.Open(t, says{uuid: uuidA}.answers()...), nil
		}}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if m.Ask(0, nil, nil) {
		t.Error("a question was taken before anybody watches")
	}
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() { defer close(ended); m.Run(ctx) }()
	if err := m.Wait(ctx, func(s *route.Snapshot) bool { return primaryName(s) == "a" }); err != nil {
		t.Fatal(err)
	}
	answers := make(chan error, 1)
	ask := func(result error) error {
		question := func(_ context.Context, _ status.Querier, s flavor.Server) error {
			if s.Flavor != flavor.MySQL {
				t.Errorf("asked a server that is %v", s)
			}
			return result
		}
		if !m.Ask(0, question, func(err error) { answers <- err }) {
			t.Fatal("the question was not taken")
		}
		return <-answers
	}
	if err := ask(nil); err != nil {
		t.Error(err)
	}
	if n := opened.Load(); n != 1 {
		t.Errorf("opened %d times", n)
	}
	wrong := errors.New("wrong")
	if err := ask(wrong); !errors.Is(err, wrong) {
		t.Errorf("got %v", err)
	}
	if err := ask(nil); !errors.Is(err, errOther) { // what failed is opened anew, and cannot be
		t.Errorf("got %v", err)
	}
	before := m.members[0].started
	if err := ask(nil); err != nil {
		t.Error(err)
	}
	m.Recheck(0)
	if err := m.Wait(ctx, func(*route.Snapshot) bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		return m.members[0].started.After(before) // a check has taken note of the new connection
	}); err != nil {
		t.Error(err)
	}
	cancel()
	<-ended
	if m.Ask(0, nil, nil) {
		t.Error("a question was taken when nobody watches any more")
	}
}

// TestAsk_ends: who asks while the watch ends is told so.
func TestAsk_ends(t *testing.T) {
	t.Parallel()
	for range 50 {
		m, err := New(Options{Interval: time.Hour, Servers: []Server{{Name: "a", Open: func() (*sql.DB, error) {
			return statustest.Open(t, says{uuid: uuidA}.answers()...), nil
		}}}})
		if err != nil {
			t.Fatal(err)
		}
		ctx, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { m.Run(ctx) })
		for range 4 {
			all.Go(func() {
				for n := 0; ; n++ {
					answered := make(chan struct{})
					question := func(context.Context, status.Querier, flavor.Server) error { return nil }
					if m.Ask(0, question, func(error) { close(answered) }) {
						<-answered
					} else if ctx.Err() != nil {
						return
					}
					if n == 3 {
						cancel()
					}
				}
			})
		}
		all.Wait()
		cancel()
	}
}
