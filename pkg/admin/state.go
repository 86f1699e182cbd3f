package admin

import (
	"net/http"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/proxy"
	"github.com/mysqlrw/mysqlrw/route"
)

// Status is the proxy as a whole.
type Status struct {
	Version  string    `json:"version"`
	Started  time.Time `json:"started"`
	Ready    bool      `json:"ready"`
	Why      string    `json:"why,omitempty"`     // it is not ready
	Primary  string    `json:"primary,omitempty"` // "" if none is known
	Clients  int       `json:"clients"`
	Endpoint []string  `json:"endpoints"`
}

// ServerState is one server.
type ServerState struct {
	Name    string `json:"name"`
	Address string `json:"address"`
	Version string `json:"version,omitempty"`
	Role    string `json:"role"`
	// State is "online", "broken", "offline" or "unproven", or for a replica that is online "lagging" if it has
	// more lag than reads may see.
	State      string   `json:"state"`
	Why        string   `json:"why,omitempty"`
	Zone       string   `json:"zone,omitempty"`
	LagSeconds *float64 `json:"lag_seconds"` // null: unknown, or it is the primary
	// Missing are the primary's transactions that it is not known to have; null if that cannot be said.
	Missing           *uint64 `json:"missing_transactions"`
	Position          string  `json:"position"`
	Weight            int     `json:"weight"` // now
	ReplicaWeight     int     `json:"replica_weight"`
	PrimaryWeight     int     `json:"primary_weight"`
	ConfiguredWeight  int     `json:"configured_weight"`
	WeightChanged     bool    `json:"weight_changed"`
	SlowStartSeconds  float64 `json:"slow_start_seconds"` // until its share is whole
	Active            int     `json:"active"`
	Queued            int     `json:"queued"`
	MaxConcurrent     int     `json:"max_concurrent_queries"` // 0: no limit
	Connections       int     `json:"connections"`
	IdleConnections   int     `json:"idle_connections"`
	MaxConnections    int     `json:"max_connections"`
	BusySessions      int     `json:"busy_sessions"` // that it is still needed for
	ReadsPerSecond    float64 `json:"reads_per_second"`
	OthersPerSecond   float64 `json:"others_per_second"`
	ReadMilliseconds  Summary `json:"read_ms"`
	OtherMilliseconds Summary `json:"other_ms"`
}

// Summary is how long statements took in the last ten seconds, in milliseconds; null if there were none.
type Summary struct {
	P50 *float64 `json:"p50"`
	P95 *float64 `json:"p95"`
	P99 *float64 `json:"p99"`
}

// SessionState is one client.
type SessionState struct {
	ID             uint32   `json:"id"`
	User           string   `json:"user"`
	Client         string   `json:"client"`
	Endpoint       string   `json:"endpoint"`
	Schema         string   `json:"schema,omitempty"`
	Level          string   `json:"level"`
	AgeSeconds     float64  `json:"age_seconds"`
	Running        string   `json:"running,omitempty"` // the server of its statement
	RunningSeconds float64  `json:"running_seconds"`
	Last           string   `json:"last,omitempty"` // the server of the statement before
	Reason         string   `json:"reason,omitempty"`
	Explanation    string   `json:"explanation,omitempty"`
	Transaction    string   `json:"transaction,omitempty"` // the server, or "not begun"
	Holds          []Hold   `json:"holds"`
	Kept           []string `json:"kept"` // servers of which it keeps a connection
}

// Hold is something that ties a session to a connection.
type Hold struct {
	Kind   string `json:"kind"`
	Name   string `json:"name,omitempty"`
	Server string `json:"server"`
	Until  string `json:"until"`
}

// RouteState is where statements ran, and why.
type RouteState struct {
	Statements []StatementCount  `json:"statements"`
	FallBacks  []ReasonCount     `json:"fall_backs"` // reads on the primary because no replica could have them
	Counters   map[string]uint64 `json:"counters"`   // as SHOW MYSQLRW STATUS has them
}

// StatementCount is how many statements ran on a server for one reason.
type StatementCount struct {
	Endpoint string `json:"endpoint"`
	Server   string `json:"server"`
	Role     string `json:"role"`
	Level    string `json:"level,omitempty"` // of a read
	Reason   string `json:"reason"`
	Count    uint64 `json:"count"`
}

// ReasonCount is how often something happened for a reason.
type ReasonCount struct {
	Reason      string `json:"reason"`
	Explanation string `json:"explanation"`
	Count       uint64 `json:"count"`
}

// ConfigValue is one value that is in force.
type ConfigValue struct {
	Key   string `json:"key"`
	Value string `json:"value"`
	// From is "default", "file" or "set", by an operator while it runs.
	From string `json:"from"`
}

// State is all that the page shows and that changes.
type State struct {
	Time      time.Time      `json:"time"`
	Status    Status         `json:"status"`
	Servers   []ServerState  `json:"servers"`
	Sessions  []SessionState `json:"sessions"` // the busiest few
	Held      map[string]int `json:"held"`     // sessions by what ties them
	FallBacks []ReasonCount  `json:"fall_backs"`
	Reads     []LevelCount   `json:"reads"`
}

// LevelCount is how many reads there were at a level, by the role of the server.
type LevelCount struct {
	Level   string `json:"level"`
	Replica uint64 `json:"replica"`
	Primary uint64 `json:"primary"`
}

// Status returns the proxy as a whole.
func (s *Server) Status() Status {
	stats := s.o.Proxy.Statistics()
	return s.status(&stats)
}

func (s *Server) status(stats *proxy.Statistics) Status {
	one := Status{Version: s.o.Version, Started: s.started, Why: s.o.Control.Ready()}
	one.Ready = one.Why == ""
	snap := s.o.Proxy.Snapshot()
	if i := snap.Primary(); i >= 0 {
		one.Primary = snap.Servers[i].Name
	}
	for _, e := range stats.Endpoints {
		one.Clients += e.Clients
		one.Endpoint = append(one.Endpoint, e.Endpoint)
	}
	return one
}

// Servers returns all servers in the order of the configuration.
func (s *Server) Servers() []ServerState { return s.servers(s.o.Proxy.SessionList()) }

func (s *Server) servers(sessions []proxy.SessionStatus) []ServerState {
	maxLag := s.o.Control.Config().Policy.MaxLag
	busy := map[string]int{}
	for i := range sessions {
		for _, name := range sessions[i].Needs() {
			busy[name]++
		}
	}
	rates := s.past.rates()
	all := []ServerState{}
	for _, sv := range s.o.Proxy.Servers() {
		one := ServerState{
			Name: sv.Name, Address: sv.Address, Version: sv.Version, Role: sv.Role.String(), State: stateOf(&sv, maxLag), Why: sv.Why,
			Zone: sv.Zone, Position: sv.Position.String(), Weight: sv.Weight, ReplicaWeight: sv.Weights.Replica,
			PrimaryWeight: sv.Weights.Primary, ConfiguredWeight: sv.Configured.Replica, WeightChanged: sv.Changed,
			SlowStartSeconds: sv.SlowStart.Seconds(), Active: sv.Active, Queued: sv.Queued, MaxConcurrent: sv.Limit,
			Connections: sv.Connections, IdleConnections: sv.Idle, MaxConnections: sv.MaxConnections, BusySessions: busy[sv.Name],
		}
		if sv.Role == route.Primary {
			one.ConfiguredWeight = sv.Configured.Primary
		}
		if sv.LagKnown {
			lag := sv.Lag.Seconds()
			one.LagSeconds = &lag
		}
		if sv.MissingKnown {
			one.Missing = &sv.Missing
		}
		r := rates[sv.Name]
		one.ReadsPerSecond, one.OthersPerSecond, one.ReadMilliseconds, one.OtherMilliseconds = r.reads, r.others, r.read, r.other
		all = append(all, one)
	}
	return all
}

// stateOf is the state in the word that an operator looks for.
func stateOf(sv *proxy.ServerStatus, maxLag time.Duration) string {
	if sv.State == route.Online && sv.Role == route.Replica && maxLag > 0 && (!sv.LagKnown || sv.Lag > maxLag) {
		return "lagging"
	}
	return sv.State.String()
}

// heldBy counts sessions by what ties them to a connection; transaction is an open one.
func heldBy(sessions []proxy.SessionStatus) map[string]int {
	held := map[string]int{}
	for i := range sessions {
		if sessions[i].Transaction.Open {
			held["transaction"]++
		}
		seen := map[string]bool{}
		for _, h := range sessions[i].Holds {
			if kind := h.Kind.String(); !seen[kind] {
				seen[kind] = true
				held[kind]++
			}
		}
	}
	return held
}

// session translates what the proxy tells of a client.
func session(one *proxy.SessionStatus, now time.Time) SessionState {
	v := SessionState{
		ID: one.ID, User: one.User, Client: one.Client.String(), Endpoint: one.Endpoint, Schema: one.Schema, Level: one.Level.String(),
		AgeSeconds: now.Sub(one.Began).Seconds(), Running: one.Running, Last: one.Last, Holds: []Hold{}, Kept: []string{},
	}
	if !one.Since.IsZero() {
		v.RunningSeconds = now.Sub(one.Since).Seconds()
	}
	if one.Reason != route.NoReason {
		v.Reason, v.Explanation = one.Reason.String(), one.Reason.Explanation()
	}
	if one.Transaction.Open {
		if v.Transaction = one.Transaction.Server; v.Transaction == "" {
			v.Transaction = "not begun"
		}
	}
	for _, h := range one.Holds {
		v.Holds = append(v.Holds, Hold{h.Kind.String(), h.Name, h.Server, h.Kind.Until()})
	}
	v.Kept = append(v.Kept, one.Kept...)
	return v
}

// sessions answers with those that the query asks for.
func (s *Server) sessions(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	limit := maxSessions
	if text := q.Get("limit"); text != "" {
		n, err := strconv.Atoi(text)
		if err != nil || n < 1 {
			fail(w, http.StatusBadRequest, "limit: want a number from 1")
			return
		}
		limit = min(n, maxSessions)
	}
	user, server := q.Get("user"), q.Get("server")
	all := []SessionState{}
	now := s.o.Now()
	for _, one := range s.o.Proxy.SessionList() {
		if len(all) == limit {
			break
		}
		if user != "" && one.User != user || server != "" && !slices.Contains(one.Needs(), server) {
			continue
		}
		all = append(all, session(&one, now))
	}
	send(w, http.StatusOK, all)
}

// maxSessions is how many are told in one answer.
const maxSessions = 10_000

// busy answers with the sessions that a server is still needed for.
func (s *Server) busy(w http.ResponseWriter, r *http.Request) {
	name := r.PathValue("name")
	if s.find(w, name) == nil {
		return
	}
	all := []SessionState{}
	now := s.o.Now()
	for _, one := range s.o.Proxy.Busy(name) {
		all = append(all, session(&one, now))
	}
	send(w, http.StatusOK, all)
}

// find returns a server, or answers that there is none.
func (s *Server) find(w http.ResponseWriter, name string) *ServerState {
	var names []string
	for _, one := range s.Servers() {
		if one.Name == name {
			return &one
		}
		names = append(names, one.Name)
	}
	fail(w, http.StatusNotFound, "there is no server "+quoted(name)+": there are "+strings.Join(names, ", "))
	return nil
}

// Routes returns where statements ran, and why.
func (s *Server) Routes() RouteState {
	stats := s.o.Proxy.Statistics()
	all := RouteState{Statements: []StatementCount{}, FallBacks: fallBacks(&stats), Counters: map[string]uint64{}}
	for _, c := range stats.Statements {
		one := StatementCount{Endpoint: c.Endpoint, Server: c.Server, Role: c.Role.String(), Reason: c.Reason.String(), Count: c.N}
		if c.HasLevel {
			one.Level = c.Level.String()
		}
		all.Statements = append(all.Statements, one)
	}
	for _, c := range s.o.Proxy.Counters() {
		all.Counters[c.Name] = c.Value
	}
	return all
}

func fallBacks(stats *proxy.Statistics) []ReasonCount {
	all := []ReasonCount{}
	for _, c := range stats.FallBacks {
		all = append(all, ReasonCount{c.Reason.String(), c.Reason.Explanation(), c.N})
	}
	return all
}

// Config returns what is in force.
func (s *Server) Config() []ConfigValue {
	set := map[string]bool{}
	for _, one := range s.o.Control.Settings() {
		set[one.Key] = true
	}
	all := []ConfigValue{}
	for _, v := range s.o.Control.Config().Values() {
		one := ConfigValue{Key: v.Key, Value: v.Value, From: "file"}
		switch {
		case set[v.Key]:
			one.From = "set"
		case v.Default:
			one.From = "default"
		}
		all = append(all, one)
	}
	return all
}
