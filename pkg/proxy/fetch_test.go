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
	"github.com/mysqlrw/mysqlrw/pkg/netloop"
	"github.com/mysqlrw/mysqlrw/pkg/status"
)

// ledger is a primary whose commits are counted, and which says how many there were when it was asked.
type ledger struct {
	commits  atomic.Int64
	asked    atomic.Int64
	together atomic.Int64
	slow     time.Duration
}

func (l *ledger) waits() *netloop.Task { return nil }

func (l *ledger) standing() (*standing, error) {
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

func (l *ledger) saw(t *testing.T, s *standing) int64 {
	set, _ := s.Everything.Set()
	return set.Last(gtid.Source{UUID: gtid.UUID{1}})
}

// TestFetchInFlight: a read that arrives while a query is in flight must see what was committed between
// the two, so it must not use that query's answer.
func TestFetchInFlight(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		l := &ledger{slow: 10 * time.Millisecond}
		f := fetcher{}
		l.commits.Store(1)
		var all sync.WaitGroup
		read := func(want int64) {
			since := time.Now()
			all.Go(func() {
				got, err := f.fetch(l, since)
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
		f := fetcher{}
		ctx, cancel := context.WithTimeout(t.Context(), time.Second)
		defer cancel()
		var all sync.WaitGroup
		var reads atomic.Int64
		for i := range 64 {
			all.Go(func() {
				time.Sleep(time.Duration(i) * 37 * time.Microsecond)
				for ctx.Err() == nil {
					want := l.commits.Add(1)
					got, err := f.fetch(l, time.Now())
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

// TestFetchFails: an error is that of everybody in the batch, and the next batch asks again; so it is with a
// panic, which is its own session's.
func TestFetchFails(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var f fetcher
		broken := errors.New("broken")
		for _, how := range []*failing{{err: broken}, {err: broken, slow: time.Millisecond}, {panics: true, slow: time.Millisecond}} {
			var all sync.WaitGroup
			for range 5 {
				all.Go(func() {
					defer func() {
						if r := recover(); r != nil && !how.panics {
							t.Errorf("panic: %v", r)
						}
					}()
					if _, err := f.fetch(how, time.Now()); err == nil || how.err != nil && !errors.Is(err, how.err) {
						t.Errorf("got %v", err)
					}
				})
			}
			all.Wait()
			time.Sleep(time.Millisecond)
			if _, err := f.fetch(&ledger{}, time.Now()); err != nil {
				t.Error(err)
			}
			time.Sleep(time.Millisecond)
		}
	})
}

// failing is a primary that does not answer.
type failing struct {
	err    error
	panics bool
	slow   time.Duration
}

func (b *failing) waits() *netloop.Task { return nil }

func (b *failing) standing() (*standing, error) {
	time.Sleep(b.slow) // the clock is the test's own
	if b.panics {
		panic("broken")
	}
	return nil, b.err
}
