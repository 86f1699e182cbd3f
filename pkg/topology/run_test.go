package topology

import (
	"context"
	"database/sql"
	"errors"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
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
