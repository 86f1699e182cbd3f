package admin

import (
	"bytes"
	"cmp"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/proxy"
	"github.com/mysqlrw/mysqlrw/pkg/topology"
	"github.com/mysqlrw/mysqlrw/route"
)

// Happened is something that happened to a server.
type Happened struct {
	Time   time.Time `json:"time"`
	Kind   string    `json:"kind"`
	Server string    `json:"server,omitempty"`
	Old    string    `json:"old,omitempty"`
	New    string    `json:"new,omitempty"`
	Detail string    `json:"detail,omitempty"`
}

const (
	// maxViewers is how many pages are told at a time.
	maxViewers = 32
	// keptEvents is how many events a new page is shown.
	keptEvents = 50
	// sendLimit is how long a page may take to read what it is sent.
	sendLimit = 5 * time.Second
	// busiest is how many sessions a page is shown.
	busiest = 50
)

// hub tells pages that there is something new. A page that reads slowly is told less often, and never waited for.
type hub struct {
	mu      sync.Mutex
	viewers map[chan struct{}]int // how many of the events it has seen
	last    []Happened
	total   int // events that there ever were
	kinds   map[string]int
}

// poke tells all pages to look.
func (h *hub) poke() {
	h.mu.Lock()
	defer h.mu.Unlock()
	for v := range h.viewers {
		select {
		case v <- struct{}{}:
		default: // it will look at everything when it comes to it
		}
	}
}

// happened keeps an event, and tells all pages to look.
func (h *hub) happened(e topology.Event) {
	one := Happened{Time: e.At, Kind: e.Kind.String(), Server: e.Server, Old: e.Old, New: e.New, Detail: e.Detail}
	h.mu.Lock()
	if h.kinds == nil {
		h.kinds = map[string]int{}
	}
	h.kinds[one.Kind]++
	h.total++
	if h.last = append(h.last, one); len(h.last) > keptEvents {
		h.last = h.last[1:]
	}
	h.mu.Unlock()
	h.poke()
}

// counts returns how many events of each kind there were.
func (h *hub) counts() map[string]int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return maps.Clone(h.kinds)
}

// join makes a page one that is told. It is nil if there are too many.
func (h *hub) join() chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.viewers) >= maxViewers {
		return nil
	}
	if h.viewers == nil {
		h.viewers = map[chan struct{}]int{}
	}
	v := make(chan struct{}, 1)
	v <- struct{}{}
	h.viewers[v] = h.total - len(h.last)
	return v
}

// watched tells whether there is a page.
func (h *hub) watched() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.viewers) > 0
}

func (h *hub) leave(v chan struct{}) {
	h.mu.Lock()
	defer h.mu.Unlock()
	delete(h.viewers, v)
}

// news returns the events that a page has not seen.
func (h *hub) news(v chan struct{}) []Happened {
	h.mu.Lock()
	defer h.mu.Unlock()
	fresh := min(h.total-h.viewers[v], len(h.last))
	h.viewers[v] = h.total
	return slices.Clone(h.last[len(h.last)-fresh:])
}

// stream sends a page what is new, until it goes.
func (s *Server) stream(w http.ResponseWriter, r *http.Request) {
	v := s.events.join()
	if v == nil {
		fail(w, http.StatusServiceUnavailable, fmt.Sprintf("%d pages look already", maxViewers))
		return
	}
	defer s.events.leave(v)
	out := http.NewResponseController(w)
	w.Header().Set("Content-Type", "text/event-stream")
	w.WriteHeader(http.StatusOK)
	var b bytes.Buffer
	write := func(event string, body any) {
		text, err := json.Marshal(body)
		if err != nil {
			text = []byte("null")
		}
		fmt.Fprintf(&b, "event: %s\ndata: %s\n\n", event, text)
	}
	for {
		select {
		case <-r.Context().Done():
			return
		case <-v:
		}
		b.Reset()
		for _, e := range s.events.news(v) {
			write("happened", e)
		}
		write("state", s.State())
		if out.SetWriteDeadline(time.Now().Add(sendLimit)) != nil {
			return
		}
		if _, err := w.Write(b.Bytes()); err != nil || out.Flush() != nil {
			return
		}
	}
}

// State returns all that the page shows.
func (s *Server) State() State {
	now := s.o.Now()
	stats := s.o.Proxy.Statistics()
	sessions := s.o.Proxy.SessionList()
	one := State{
		Time: now, Status: s.status(&stats), Servers: s.servers(sessions), Sessions: []SessionState{}, Held: heldBy(sessions),
		FallBacks: fallBacks(&stats), Reads: readsOf(&stats),
	}
	slices.SortStableFunc(sessions, func(a, b proxy.SessionStatus) int { return cmp.Compare(weightOf(&b), weightOf(&a)) })
	for i := range sessions[:min(len(sessions), busiest)] {
		one.Sessions = append(one.Sessions, session(&sessions[i], now))
	}
	return one
}

// weightOf is how much an operator wants to see of a session.
func weightOf(one *proxy.SessionStatus) int {
	n := len(one.Holds) * 4
	if one.Transaction.Open {
		n += 2
	}
	if one.Running != "" {
		n++
	}
	return n
}

// readsOf adds up the reads at each level.
func readsOf(stats *proxy.Statistics) []LevelCount {
	all := []LevelCount{}
	for _, c := range stats.Statements {
		if !c.HasLevel {
			continue
		}
		i := slices.IndexFunc(all, func(l LevelCount) bool { return l.Level == c.Level.String() })
		if i < 0 {
			i = len(all)
			all = append(all, LevelCount{Level: c.Level.String()})
		}
		if c.Role == route.Replica {
			all[i].Replica += c.N
		} else {
			all[i].Primary += c.N
		}
	}
	return all
}
