package proxy

import (
	"context"
	"errors"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/status"
)

// ledger is a primary whose commits are counted, and which says how many there were when it was asked.
type ledger struct {
	commits  atomic.Int64
	asked    atomic.Int64
	together atomic.Int64
	slow     time.Duration
}

func (l *ledger) ask() (*standing, error) {
	if l.together.Add(1) > 1 {
		return nil, errors.New("two queries at once")
	}
	defer l.together.Add(-1)
	l.asked.Add(1)
	sent := time.Now()
	n := l.commits.Load()
	time.Sleep(l.slow) // the clock is the test's own
	at := gtid.Set{}
	if n > 0 {
		at = at.Add(gtid.GTID{UUID: gtid.UUID{1}, Seq: n})
	}
	return &standing{sent: sent, Standing: status.Standing{Everything: at.Value()}}, nil
}

// later asks in a goroutine of its own, as the monitor's is.
func later(ask func() (*standing, error)) func(func(*standing, error)) error {
	return func(done func(*standing, error)) error {
		go func() { done(ask()) }()
		return nil
	}
}

func (l *ledger) saw(t *testing.T, s *standing) int64 {
	set, _ := s.Everything.Set()
	return set.Last(gtid.Source{UUID: gtid.UUID{1}})
}

// TestFetchInFlight: a read that arrives while a query is in flight must see what was committed between
// the two, so it must not use that query's answer.
func TestFetchInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{slow: 10 * time.Millisecond}
		f := fetcher{ask: later(l.ask)}
		l.commits.Store(1)
		var all sync.WaitGroup
		read := func(want int64) {
			since := time.Now()
			all.Go(func() {
				got, err := f.fetch(t.Context(), since)
				if err != nil {
					t.Error(err)
				} else if n := l.saw(t, got); n < want {
					t.Errorf("a read that arrived after commit %d sees %d", want, n)
				}
			})
		}
		read(1)
		time.Sleep(time.Millisecond) // the first query is in flight, and has seen one commit
		l.commits.Store(2)
		for range 50 {
			read(2)
		}
		time.Sleep(time.Millisecond)
		l.commits.Store(3)
		read(3)
		all.Wait()
		if n := l.asked.Load(); n != 2 {
			t.Errorf("%d queries for three moments of arrival, of which two came during the first query", n)
		}
	})
}

// TestFetchCrowd: with any number of readers one query is in flight, and no reader is told too little.
func TestFetchCrowd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{slow: time.Millisecond}
		f := fetcher{ask: later(l.ask)}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var all sync.WaitGroup
		var reads atomic.Int64
		for i := range 64 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 37 * time.Microsecond)
				for ctx.Err() == nil {
					want := l.commits.Add(1)
					got, err := f.fetch(t.Context(), time.Now())
					if err != nil {
						t.Error(err)
						return
					}
					if n := l.saw(t, got); n < want {
						t.Errorf("committed %d, sees %d", want, n)
					}
					reads.Add(1)
					time.Sleep(time.Duration(i+1) * 13 * time.Microsecond)
				}
			})
		}
		all.Wait()
		if asked, n := l.asked.Load(), reads.Load(); asked > 1001 || n < 10*asked {
			t.Errorf("%d queries for %d reads in a second of queries of a millisecond", asked, n)
		}
	})
}

// TestFetchAbandoned: whoever waits may go. The others get their answer all the same.
func TestFetchAbandoned(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{slow: 10 * time.Millisecond}
		f := fetcher{ask: later(l.ask)}
		gone, cancel := context.WithCancel(t.Context())
		var all sync.WaitGroup
		all.Go(func() { _, _ = f.fetch(t.Context(), time.Now()) })
		synctest.Wait()
		for range 3 { // they wait for the batch after
			all.Go(func() {
				if _, err := f.fetch(gone, time.Now()); err == nil {
					t.Error("who was gone got an answer")
				}
			})
		}
		synctest.Wait()
		cancel()
		synctest.Wait()
		for range 5 {
			all.Go(func() {
				if _, err := f.fetch(t.Context(), time.Now()); err != nil {
					t.Error(err)
				}
			})
		}
		all.Wait()
		if n := l.asked.Load(); n != 2 {
			t.Errorf("%d queries, want 2", n)
		}
	})
}

// TestFetchFails: an error is that of everybody in the batch, whether it comes at once or later, and the
// next batch asks again.
func TestFetchFails(t *testing.T) {
	broken := errors.New("broken")
	for name, ask := range map[string]func(func(*standing, error)) error{
		"later": later(func() (*standing, error) { time.Sleep(time.Millisecond); return nil, broken }),
		"now":   func(func(*standing, error)) error { return broken },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				f := fetcher{ask: ask}
				var all sync.WaitGroup
				for range 5 {
					all.Go(func() {
						if _, err := f.fetch(t.Context(), time.Now()); !errors.Is(err, broken) {
							t.Errorf("got %v", err)
						}
					})
				}
				all.Wait()
				f.ask = later((&ledger{}).ask)
				if _, err := f.fetch(t.Context(), time.Now()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}
