package proxy

import (
	"flag"
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/route"
)

var chosenWorlds = flag.Uint64("chosen.worlds", 10, "worlds of TestChosen")

// world is servers and proxies that exist on paper only. Time is in steps; what a server has is a number that only
// grows, up to the primary's.
type world struct {
	r       *rand.Rand
	at      time.Time
	primary int
	servers []paperServer // in the order in which they are chosen
	proxies []*paperProxy
	shown   int // the largest number that a client has been shown
	reads   int
	unread  int // reads for which there was no server
	back    []string
	// blips is every how many steps a server seems to be what it is not, for a moment; 0 for never.
	blips int
	// careless proxies read on whatever they have not looked at.
	careless bool
}

type paperServer struct {
	has  int
	lag  int // steps that it is late at least
	fit  bool
	down bool // it answers nobody
	life uint64
	keep int // steps until it may change
	blip int // steps for which it seems to be the other way
	log  []int
}

// paperProxy looks at each server at its own times, an interval apart at most, and now and then in vain.
type paperProxy struct {
	*chosen
	sees []paperView
	// paused is for how many steps it does nothing.
	paused int
}

// paperView is what a proxy has seen of a server.
type paperView struct {
	paperServer
	answered, checked time.Time
	failures          int // looks without an answer, of which three mean that it is gone
	next              int // steps until the next look
}

func (v *paperView) gone() bool { return v.failures >= 3 }

const (
	tick     = 10 * time.Millisecond // a step
	interval = 10                    // steps between two looks, at most
)

// newWorld has proxies that take hold for the time in which each notices what the others do.
func newWorld(seed uint64, proxies int, hold time.Duration) *world {
	w := &world{r: rand.New(rand.NewPCG(seed, 1)), at: time.Unix(1_000_000, 0)}
	for range 3 {
		w.servers = append(w.servers, paperServer{fit: true, lag: w.r.IntN(8)})
	}
	for range proxies {
		p := &paperProxy{chosen: newChosen(hold), sees: make([]paperView, 3)}
		for i := range p.sees {
			p.sees[i].next = w.r.IntN(interval)
		}
		w.proxies = append(w.proxies, p)
	}
	return w
}

// step lets time pass. What becomes of a server lasts for lasting steps at least.
func (w *world) step(lasting int) {
	w.at = w.at.Add(tick)
	if w.r.IntN(3) > 0 {
		w.primary++
	}
	for i := range w.servers {
		s := &w.servers[i]
		s.log = append(s.log, w.primary)
		if late := len(s.log) - 1 - s.lag; late >= 0 && s.fit { // one that is not fit applies nothing
			s.has = max(s.has, s.log[late])
		}
		if s.blip--; w.blips > 0 && s.blip < 0 && w.r.IntN(w.blips) == 0 {
			s.blip = 1 + w.r.IntN(interval/2)
		}
		if s.keep--; s.keep > 0 {
			continue
		}
		s.keep = lasting + w.r.IntN(4*lasting)
		switch w.r.IntN(6) {
		case 0, 1:
			s.fit = !s.fit
		case 2:
			s.down = !s.down
			s.life++ // whichever way
		case 3:
			s.life++
		case 4:
			s.lag = w.r.IntN(30)
		}
	}
	for _, p := range w.proxies {
		if p.paused--; p.paused > 0 {
			continue
		}
		if w.r.IntN(2000) == 0 {
			p.paused = w.r.IntN(10 * interval)
		}
		for i := range p.sees {
			v := &p.sees[i]
			if v.next--; v.next > 0 {
				continue
			}
			v.next, v.checked = 1+w.r.IntN(interval), w.at
			if w.servers[i].down || v.failures == 0 && w.r.IntN(20) == 0 {
				v.failures++
			} else {
				v.paperServer, v.answered, v.failures = w.servers[i], w.at, 0
				v.fit = v.fit != (v.blip > 0)
			}
			p.look(w.at)
		}
	}
}

func (p *paperProxy) look(now time.Time) {
	best, fits, oldest := nobody, make([]bool, len(p.sees)), now
	for i := range p.sees {
		v := &p.sees[i]
		if fits[i] = p.fits(i, v.fit && !v.gone(), v.failures > 0 && !v.gone(), v.answered, now); fits[i] && best == nobody {
			best = self{i, v.life}
		}
		if v.checked.Before(oldest) {
			oldest = v.checked
		}
	}
	p.judge(now, oldest, best, func(one self) bool { return fits[one.server] && p.sees[one.server].life == one.life })
}

// read has a client that was shown what it was shown read through any proxy.
func (w *world) read() {
	p := w.proxies[w.r.IntN(len(w.proxies))]
	if p.paused > 0 {
		return
	}
	snap := route.Snapshot{Servers: make([]route.Server, len(w.servers))}
	for i := range snap.Servers {
		snap.Servers[i].Position = number(w.servers[i].has)
	}
	if w.careless {
		p.known.Store(&w.at)
	}
	g := p.put(&snap, w.at)
	i := snap.Chosen.Server
	if i < 0 || w.servers[i].down || p.sees[i].failures > 0 { // one that is not fit can be read by who has not noticed that
		w.unread++
		return
	}
	needs := snap.Chosen.Needs
	if snap.Chosen.Fetch {
		needs = number(w.primary)
		if _, checked := g.at(w.at, p.hold); !checked {
			p.learn(g, needs)
		}
	}
	if !snap.Servers[i].Position.Has(needs) {
		w.unread++ // it would wait
		return
	}
	w.reads++
	if has := w.servers[i].has; has < w.shown {
		w.back = append(w.back, fmt.Sprintf("step %d: server %d shows %d after %d", w.at.Sub(time.Unix(1_000_000, 0))/tick, i, has, w.shown))
	}
	w.shown = max(w.shown, w.servers[i].has)
}

// number is a position that has so many transactions.
func number(n int) gtid.Value {
	if n == 0 {
		return gtid.Value{}
	}
	return gtid.DomainPos{}.With(gtid.DomainGTID{Server: 1, Seq: uint64(n)}).Value()
}

// TestChosen: reads through proxies that notice everything late, and pause, never go back, as long as what
// becomes of a server lasts longer than they need to notice it.
func TestChosen(t *testing.T) {
	run := func(seed uint64, hold time.Duration, careless bool) *world {
		w := newWorld(seed, 4, hold)
		w.careless = careless
		for range 4000 {
			w.step(3 * interval)
			for range 4 {
				w.read()
			}
		}
		return w
	}
	seeds := *chosenWorlds
	noticed := (2*interval + 1) * tick
	reads, changes := 0, uint64(0)
	for seed := range seeds {
		w := run(seed, noticed, false)
		if len(w.back) > 0 {
			t.Errorf("seed %d: %d of %d reads went back: %s", seed, len(w.back), w.reads, w.back[0])
		}
		reads += w.reads
		for _, p := range w.proxies {
			changes += p.changes.Load()
		}
	}
	t.Logf("%d reads, %d changes", reads, changes)
	if uint64(reads) < seeds*1000 || changes < seeds*4*10 {
		t.Errorf("%d reads and %d changes prove little", reads, changes)
	}
	for _, control := range []struct {
		name     string
		hold     time.Duration
		careless bool
	}{{"a hold that is too short", noticed / 3, true}, {"no hold", 0, true}, {"no thought for what was not looked at", noticed, true}} {
		back := 0
		for seed := range seeds {
			back += len(run(seed, control.hold, control.careless).back)
		}
		t.Logf("with %s %d reads go back", control.name, back)
		if back == 0 {
			t.Errorf("with %s no read goes back either: the check above proves nothing", control.name)
		}
	}
}

// TestChosenBlips: that a server seems for a moment to be what it is not, to some proxies and not to others, mostly does no
// harm: who is in the middle of a change leaves the server of before at the same time all the same.
func TestChosenBlips(t *testing.T) {
	reads := 0
	for seed := range uint64(60) {
		w := newWorld(seed, 4, (2*interval+1)*tick)
		w.blips = 80
		for range 4000 {
			w.step(3 * interval)
			for range 4 {
				w.read()
			}
		}
		if len(w.back) > 0 {
			t.Errorf("seed %d: %d of %d reads went back: %s", seed, len(w.back), w.reads, w.back[0])
		}
		reads += w.reads
	}
	if reads < 60*1000 {
		t.Errorf("%d reads prove little", reads)
	}
}

// TestChosenNeeds: who is read without a check must have a position once, which is fetched again if a failover has
// lost what it has.
func TestChosenNeeds(t *testing.T) {
	const hold = time.Second
	c, now := newChosen(hold), time.Unix(1_000_000, 0)
	snap := route.Snapshot{Servers: []route.Server{{Position: number(5)}}}
	first, fit := self{server: 0}, func(self) bool { return true }
	put := func(what string, want route.Chosen) *choosing {
		t.Helper()
		g := c.put(&snap, now)
		if got := snap.Chosen; !snap.Choose || got.Server != want.Server || got.Fetch != want.Fetch || !got.Needs.Equal(want.Needs) {
			t.Errorf("%s: %+v, want %+v", what, got, want)
		}
		return g
	}
	put("nobody was asked", route.Chosen{Server: -1, Fetch: true})
	c.judge(now, now, first, fit)
	put("in the first hold", route.Chosen{Server: -1, Fetch: true})
	now = now.Add(hold)
	c.judge(now, now, first, fit)
	put("in the second hold", route.Chosen{Server: 0, Fetch: true})
	now = now.Add(hold)
	c.judge(now, now, first, fit)
	g := put("behind both", route.Chosen{Server: 0, Fetch: true})
	c.learn(g, number(7))
	put("it is behind", route.Chosen{Server: 0, Needs: number(7)})
	c.doubt()
	g = put("that was lost", route.Chosen{Server: 0, Fetch: true})
	c.learn(g, number(6))
	snap.Servers[0].Position = number(6)
	put("it has it", route.Chosen{Server: 0})
	c.learn(g, number(9))
	put("it was for a choice of before", route.Chosen{Server: 0})
	now = now.Add(2 * hold)
	put("nobody has looked for too long", route.Chosen{Server: -1})
	c.judge(now, now, first, fit)
	put("so it begins anew", route.Chosen{Server: -1, Fetch: true})
	if n := c.changes.Load(); n != 1 {
		t.Errorf("%d changes", n)
	}
	c = nil
	if c.put(&snap, now); snap.Choose {
		t.Error("nil chooses")
	}
}
