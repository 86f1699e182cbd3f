//go:build linux

package pagetest

import (
	"context"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
)

// seen is a state that the page has shown, and when.
type seen struct {
	State string
	At    int64 // milliseconds since 1970
}

// record has the page note each state of a server that it shows.
func (p *tab) record(server string) {
	p.t.Helper()
	p.eval(`(() => {
		const node = document.querySelector('.server[data-server=`+server+`]');
		globalThis.seen = [{state: node.dataset.state, at: Date.now()}];
		new MutationObserver(() => seen.push({state: node.dataset.state, at: Date.now()})).observe(node, {attributeFilter: ["data-state"]});
	})()`, nil)
}

// watch notes each state of a server that the proxy itself would tell, until the test ends.
func (s *site) watch(t *testing.T, server string) (so func() []seen) {
	var mu sync.Mutex
	var all []seen
	var watching sync.WaitGroup
	ctx, cancel := context.WithCancel(t.Context())
	watching.Go(func() {
		tick := time.NewTicker(10 * time.Millisecond)
		defer tick.Stop()
		for ctx.Err() == nil {
			for _, one := range s.admin.Load().Servers() {
				mu.Lock()
				if one.Name == server && (len(all) == 0 || all[len(all)-1].State != one.State) {
					all = append(all, seen{one.State, time.Now().UnixMilli()})
				}
				mu.Unlock()
			}
			<-tick.C
		}
	})
	t.Cleanup(func() {
		cancel()
		watching.Wait()
	})
	return func() []seen {
		mu.Lock()
		defer mu.Unlock()
		return slices.Clone(all)
	}
}

// TestStates: a replica goes from online to lagging to stopped to online, and the page shows each. What an event is of
// the first is that the lag is more than max-lag; the proxy learns it at its next check.
func TestStates(t *testing.T) {
	b := startBrowser(t)
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		s := newSite(t, f, "127.0.0.1:0")
		p := b.openTab(t, s.url(), desk)
		p.loaded(3)
		p.record("replica1")
		known := s.watch(t, "replica1")
		replica := s.cluster.Replica(1)
		shows := func(state string) {
			t.Helper()
			p.await("replica1 is "+state, `document.querySelector('.server[data-server=replica1]').dataset.state === `+quote(state))
		}

		release := s.hold("replica1")
		var happened []time.Time
		sandboxtest.Exec(t, s.cluster.Primary(), "UPDATE shop.item SET price = 100")
		happened = append(happened, time.Now().Add(maxLag))
		shows("lagging")
		p.await("the lag is told", `document.querySelector("#now").innerText.match(/replica1 is lagging: \d.* behind, 1 transactions? missing/)`)
		happened = append(happened, time.Now())
		sandboxtest.Exec(t, replica, flavor.StopThread(f, flavor.Receiver, ""))
		shows("broken")
		p.await("why is told", `document.querySelector('.server[data-server=replica1] .why').innerText !== ""`)
		p.await("it is announced", `document.querySelector("#announce").textContent.startsWith("replica1 is broken, was lagging: ")`)
		happened = append(happened, time.Now())
		release()
		sandboxtest.Exec(t, replica, flavor.StartThread(f, flavor.Receiver, ""))
		shows("online")
		happened = append(happened, time.Now())
		sandboxtest.Exec(t, replica, flavor.StopThread(f, flavor.Applier, ""))
		shows("broken")
		happened = append(happened, time.Now())
		sandboxtest.Exec(t, replica, flavor.StartThread(f, flavor.Applier, ""))
		shows("online")

		var shown []seen
		p.eval(`seen`, &shown)
		want := []string{"online", "lagging", "broken", "online", "broken", "online"}
		page, proxy := find(shown, want), find(known(), want)
		if len(page) != len(want) || len(proxy) != len(want) {
			t.Fatalf("the page showed %v, and the proxy knew %v; want %v among them", shown, known(), want)
		}
		for i, at := range happened {
			after := func(one seen) time.Duration { return time.UnixMilli(one.At).Sub(at).Round(time.Millisecond) }
			t.Logf("%s: %s is known after %s, and shown after %s", f, want[i+1], after(proxy[i+1]), after(page[i+1]))
		}
		p.await("events are listed", fmt.Sprintf(`document.querySelectorAll("#events li").length >= %d`, len(happened)))
	})
}

// find returns the states that are wanted, in their order. Others may lie between: a replica that comes back is unproven until
// it has been seen to replicate, and MariaDB may tell a smaller lag for a moment.
func find(all []seen, want []string) []seen {
	var out []seen
	for _, one := range all {
		if len(out) < len(want) && one.State == want[len(out)] {
			out = append(out, one)
		}
	}
	return out
}
