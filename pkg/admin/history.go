package admin

import (
	"slices"
	"sync"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/proxy"
	"github.com/mysqlrw/mysqlrw/route"
)

const (
	// sampleEvery is how often a sample is taken, and the page told how things are.
	sampleEvery = time.Second
	// lookEvery is how often a page is told at once if the state of a server is another one: that a replica lags is
	// no event of the topology.
	lookEvery = sampleEvery / 5
	// kept is how many samples there are.
	kept = 300
	// window is over how many of them rates and percentiles go.
	window = 10
)

// Sample is what was seen at one moment.
type Sample struct {
	Time    time.Time               `json:"time"`
	Servers map[string]ServerSample `json:"servers"`
}

// ServerSample is what was seen of one server. Rates are those since the sample before.
type ServerSample struct {
	State      string   `json:"state"`
	LagSeconds *float64 `json:"lag_seconds"`          // null: unknown, or it is the primary
	Missing    *uint64  `json:"missing_transactions"` // null if that cannot be said
	Active     int      `json:"active"`
	Reads      float64  `json:"reads_per_second"`
	Others     float64  `json:"others_per_second"`
}

// past is what was sampled.
type past struct {
	mu      sync.Mutex
	samples []Sample  // of the last five minutes, oldest first
	counted []counted // of the last window, oldest first
}

// counted are the counts at one moment.
type counted struct {
	at      time.Time
	servers map[string]proxy.ServerCount
}

// rate is what a server did in the last window.
type rate struct {
	reads, others float64 // a second
	read, other   Summary
}

// sample takes samples until the server is closed.
func (s *Server) sample() {
	tick := time.NewTicker(lookEvery)
	defer tick.Stop()
	var before []string
	for n := 1; ; n++ {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		}
		maxLag := s.o.Control.Config().Policy.MaxLag
		due := n%int(sampleEvery/lookEvery) == 0
		if due {
			s.past.add(s.o.Now(), s.o.Proxy, maxLag)
		}
		if !s.events.watched() {
			continue
		}
		var states []string
		for _, sv := range s.o.Proxy.Servers() {
			states = append(states, stateOf(&sv, maxLag))
		}
		if due || !slices.Equal(states, before) {
			s.events.poke()
		}
		before = states
	}
}

func (p *past) add(now time.Time, from *proxy.Proxy, maxLag time.Duration) {
	stats := from.Statistics()
	servers := from.Servers()
	p.mu.Lock()
	defer p.mu.Unlock()
	next := counted{now, map[string]proxy.ServerCount{}}
	for _, c := range stats.Servers {
		next.servers[c.Server] = c
	}
	one := Sample{Time: now, Servers: map[string]ServerSample{}}
	for i := range servers {
		sv := &servers[i]
		v := ServerSample{State: stateOf(sv, maxLag), Active: sv.Active}
		if sv.LagKnown && sv.State == route.Online {
			lag := sv.Lag.Seconds()
			v.LagSeconds = &lag
		}
		if sv.MissingKnown {
			v.Missing = &sv.Missing
		}
		if n := len(p.counted); n > 0 {
			before, seconds := p.counted[n-1], now.Sub(p.counted[n-1].at).Seconds()
			was, is := before.servers[sv.Name], next.servers[sv.Name]
			v.Reads, v.Others = perSecond(was.Reads, is.Reads, seconds), perSecond(was.Others, is.Others, seconds)
		}
		one.Servers[sv.Name] = v
	}
	p.samples = append(p.samples, one)
	if len(p.samples) > kept {
		p.samples = p.samples[1:]
	}
	p.counted = append(p.counted, next)
	if len(p.counted) > window+1 {
		p.counted = p.counted[1:]
	}
}

func perSecond(was, is proxy.Durations, seconds float64) float64 {
	if seconds <= 0 || is.Count < was.Count {
		return 0
	}
	return float64(is.Count-was.Count) / seconds
}

// rates returns what each server did in the last window.
func (p *past) rates() map[string]rate {
	p.mu.Lock()
	defer p.mu.Unlock()
	all := map[string]rate{}
	if len(p.counted) < 2 {
		return all
	}
	first, last := &p.counted[0], &p.counted[len(p.counted)-1]
	seconds := last.at.Sub(first.at).Seconds()
	for name, is := range last.servers {
		was := first.servers[name]
		all[name] = rate{
			reads: perSecond(was.Reads, is.Reads, seconds), others: perSecond(was.Others, is.Others, seconds),
			read: summary(was.Reads, is.Reads), other: summary(was.Others, is.Others),
		}
	}
	return all
}

// summary returns the percentiles of what came between two counts.
func summary(was, is proxy.Durations) Summary {
	return Summary{percentile(was, is, 0.5), percentile(was, is, 0.95), percentile(was, is, 0.99)}
}

// percentile returns the duration, in milliseconds, that a share of what came between two counts did not exceed. It is
// taken to be spread evenly between two bounds.
func percentile(was, is proxy.Durations, share float64) *float64 {
	n := is.Count - was.Count
	if n == 0 || is.Count < was.Count {
		return nil
	}
	up := func(i int) float64 { // how many came up to bound i
		if i >= len(was.UpTo) {
			return float64(is.UpTo[i])
		}
		return float64(is.UpTo[i] - was.UpTo[i])
	}
	rank, below, from := share*float64(n), 0.0, time.Duration(0)
	bounds := proxy.Bounds()
	for i, to := range bounds {
		at := up(i)
		if at >= rank && at > below {
			part := (rank - below) / (at - below)
			ms := (float64(from) + part*float64(to-from)) / float64(time.Millisecond)
			return &ms
		}
		below, from = at, to
	}
	ms := float64(bounds[len(bounds)-1]) / float64(time.Millisecond) // or more
	return &ms
}

// History returns the samples of the last minutes, oldest first.
func (s *Server) History() []Sample {
	s.past.mu.Lock()
	defer s.past.mu.Unlock()
	return append([]Sample{}, s.past.samples...)
}
