package admin

import (
	"net/http"
	"runtime"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/mysqlrw/mysqlrw/pkg/proxy"
	"github.com/mysqlrw/mysqlrw/pkg/tracker"
	"github.com/mysqlrw/mysqlrw/route"
)

// Metric describes one metric.
type Metric struct {
	Name   string
	Kind   string // "counter", "gauge" or "histogram"
	Labels []string
	Help   string
}

// Metrics returns every metric of the proxy, in the order of docs/operations.md. Those of the Go runtime and of the process
// come besides.
func Metrics() []Metric {
	return []Metric{
		{"mysqlrw_build_info", "gauge", []string{"version", "go"}, "Always 1."},
		{"mysqlrw_ready", "gauge", nil, "1 if clients are served and a primary is known."},
		{"mysqlrw_server_role", "gauge", []string{"server", "role"}, "1 for the role that a server has: primary or replica."},
		{"mysqlrw_server_state", "gauge", []string{"server", "state"}, "1 for the state that a server is in: online, lagging (more than max-lag), broken, offline or unproven."},
		{"mysqlrw_server_lag_seconds", "gauge", []string{"server"}, "How far a replica is behind; without a value while that is unknown."},
		{"mysqlrw_server_missing_transactions", "gauge", []string{"server"}, "Transactions of the primary that a replica is not known to have."},
		{"mysqlrw_server_weight", "gauge", []string{"server"}, "Its share of reads now."},
		{"mysqlrw_server_active_statements", "gauge", []string{"server"}, "Statements of clients that run on it."},
		{"mysqlrw_server_queued_statements", "gauge", []string{"server"}, "Statements that wait for it because of max-concurrent-queries."},
		{"mysqlrw_server_connections", "gauge", []string{"server", "state"}, "Connections to it: used or idle."},
		{"mysqlrw_server_connections_max", "gauge", []string{"server"}, "How many there may be."},
		{"mysqlrw_events_total", "counter", []string{"kind"}, "What happened to the servers, as the log has it: state-changed, primary-lost, two-primaries, lost-writes and others."},
		{"mysqlrw_clients", "gauge", []string{"endpoint"}, "Clients that are there."},
		{"mysqlrw_clients_accepted_total", "counter", []string{"endpoint"}, "Clients that came."},
		{"mysqlrw_clients_refused_total", "counter", []string{"endpoint"}, "Of these, those that could not log in or were one too many."},
		{"mysqlrw_sessions_held", "gauge", []string{"hold"}, "Sessions that something ties to a connection, by what; transaction is an open one."},
		{"mysqlrw_statements_total", "counter", []string{"endpoint", "server", "role", "level", "reason"}, "Statements that a server has answered, but for preparations. level is that of a read, else empty; reason is the first that SHOW MYSQLRW ROUTE would show."},
		{"mysqlrw_statement_errors_total", "counter", []string{"server"}, "Of these, those that ended with an error of the server."},
		{"mysqlrw_repeated_statements_total", "counter", []string{"server"}, "Statements whose answer no client got, because it came too early or another server had to run them; they are in no other count."},
		{"mysqlrw_prepares_total", "counter", []string{"server"}, "Preparations, those included that were repeated on another connection."},
		{"mysqlrw_own_statements_total", "counter", []string{"server", "kind"}, "Statements of the proxy in front of those of clients: state, schema, insert-id, wait or begin; and position, which asks where the primary stands."},
		{"mysqlrw_statement_seconds", "histogram", []string{"server", "kind"}, "How long clients waited: read is what a replica may run, other the rest."},
		{"mysqlrw_fall_backs_total", "counter", []string{"reason"}, "Reads that ran on the primary because no replica could have them."},
		{"mysqlrw_waits_total", "counter", []string{"result"}, "Waits for a position on a replica: reached, late, joined to the wait of another session, or skipped because the one before was late."},
		{"mysqlrw_timeouts_total", "counter", nil, "Reads that got error 1205 because no server had the position in time."},
		{"mysqlrw_primary_read_limited_total", "counter", nil, "Reads that got an error because of primary-read-limit."},
		{"mysqlrw_position_wanted_total", "counter", nil, "Reads that needed to know where the primary stands."},
		{"mysqlrw_position_queries_total", "counter", nil, "Questions that the primary got for them."},
		{"mysqlrw_sessions_moved_total", "counter", nil, "Reads that needed it because their session's server could not be read any more."},
		{"mysqlrw_weak_version_age_seconds", "gauge", nil, "How old the version is that all replicas have reached; without a value while that is unknown or there is none."},
		{"mysqlrw_weak_chosen", "gauge", []string{"server"}, "1 for the server that all reads at level weak run on; without a value while it is changing, or they run on any."},
		{"mysqlrw_weak_changes_total", "counter", nil, "How often another one was chosen."},
		{"mysqlrw_weak_reads_repeated_total", "counter", nil, "Reads at weak that ran again, since another one had been chosen meanwhile."},
		{"mysqlrw_weak_reads_unproven_total", "counter", nil, "Reads at weak behind such a change for which no primary could say what other proxies have shown."},
		{"mysqlrw_lost_writes_total", "counter", nil, "Sessions that had seen what a failover has lost."},
		{"mysqlrw_tracker_ready", "gauge", nil, "With track-tables: 1 if it is known which tables change, 0 if reads at scc wait as those at global."},
		{"mysqlrw_tracker_transactions_total", "counter", nil, "Transactions that were read of the primary's binary log."},
		{"mysqlrw_tracker_tables", "gauge", nil, "Tables with changes that a replica may lack."},
		{"mysqlrw_tracker_schemas_total", "counter", nil, "How often views and foreign keys were read: at the start, and after a DDL."},
		{"mysqlrw_tracker_reads_total", "counter", []string{"outcome"}, "Reads that would have waited for changes of any table: narrowed to the tables that they name, or why not."},
	}
}

// collector reads the proxy at each scrape: it keeps no second account.
type collector struct {
	s    *Server
	desc map[string]*prometheus.Desc
}

func (s *Server) metrics() http.Handler {
	c := &collector{s: s, desc: map[string]*prometheus.Desc{}}
	for _, m := range Metrics() {
		c.desc[m.Name] = prometheus.NewDesc(m.Name, m.Help, m.Labels, nil)
	}
	r := prometheus.NewRegistry()
	r.MustRegister(c, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return promhttp.HandlerFor(r, promhttp.HandlerOpts{MaxRequestsInFlight: 4})
}

// Describe is for prometheus.Collector.
func (c *collector) Describe(to chan<- *prometheus.Desc) {
	for _, m := range Metrics() {
		to <- c.desc[m.Name]
	}
}

// Collect is for prometheus.Collector.
func (c *collector) Collect(to chan<- prometheus.Metric) {
	kinds := map[string]prometheus.ValueType{}
	for _, m := range Metrics() {
		kinds[m.Name] = prometheus.GaugeValue
		if m.Kind == "counter" {
			kinds[m.Name] = prometheus.CounterValue
		}
	}
	put := func(name string, v float64, labels ...string) {
		to <- prometheus.MustNewConstMetric(c.desc[name], kinds[name], v, labels...)
	}
	stats := c.s.o.Proxy.Statistics()
	put("mysqlrw_build_info", 1, c.s.o.Version, runtime.Version())
	put("mysqlrw_ready", one(c.s.o.Control.Ready() == ""))
	c.servers(put)
	for kind, n := range heldBy(c.s.o.Proxy.SessionList()) {
		put("mysqlrw_sessions_held", float64(n), kind)
	}
	for kind, n := range c.s.events.counts() {
		put("mysqlrw_events_total", float64(n), kind)
	}
	for _, e := range stats.Endpoints {
		put("mysqlrw_clients", float64(e.Clients), e.Endpoint)
		put("mysqlrw_clients_accepted_total", float64(e.Accepted), e.Endpoint)
		put("mysqlrw_clients_refused_total", float64(e.Refused), e.Endpoint)
	}
	for _, s := range stats.Statements {
		level := ""
		if s.HasLevel {
			level = s.Level.String()
		}
		put("mysqlrw_statements_total", float64(s.N), s.Endpoint, s.Server, s.Role.String(), level, s.Reason.String())
	}
	for _, s := range stats.Servers {
		put("mysqlrw_statement_errors_total", float64(s.Failed), s.Server)
		put("mysqlrw_repeated_statements_total", float64(s.Repeated), s.Server)
		put("mysqlrw_prepares_total", float64(s.Prepared), s.Server)
		for _, o := range s.Own {
			put("mysqlrw_own_statements_total", float64(o.N), s.Server, o.Kind)
		}
		to <- c.histogram(&s.Reads, s.Server, "read")
		to <- c.histogram(&s.Others, s.Server, "other")
	}
	for _, f := range stats.FallBacks {
		put("mysqlrw_fall_backs_total", float64(f.N), f.Reason.String())
	}
	put("mysqlrw_waits_total", float64(stats.Waits-min(stats.WaitsLate, stats.Waits)), "reached")
	put("mysqlrw_waits_total", float64(stats.WaitsLate), "late")
	put("mysqlrw_waits_total", float64(stats.WaitsJoined), "joined")
	put("mysqlrw_waits_total", float64(stats.WaitsSkipped), "skipped")
	put("mysqlrw_timeouts_total", float64(stats.Timeouts))
	put("mysqlrw_primary_read_limited_total", float64(stats.Limited))
	put("mysqlrw_position_wanted_total", float64(stats.PositionWanted))
	put("mysqlrw_position_queries_total", float64(stats.PositionQueries))
	put("mysqlrw_sessions_moved_total", float64(stats.SessionsMoved))
	put("mysqlrw_weak_reads_repeated_total", float64(stats.WeakRepeated))
	put("mysqlrw_weak_reads_unproven_total", float64(stats.WeakUnproven))
	put("mysqlrw_lost_writes_total", float64(stats.LostWrites))
	if is := stats.Tracker; is != nil {
		put("mysqlrw_tracker_ready", one(is.Ready))
		put("mysqlrw_tracker_transactions_total", float64(is.Transactions))
		put("mysqlrw_tracker_tables", float64(is.Tables))
		put("mysqlrw_tracker_schemas_total", float64(is.Schemas))
		for _, w := range tracker.AllWhys() {
			put("mysqlrw_tracker_reads_total", float64(stats.Tables[w]), w.String())
		}
	}
	if v, ok := c.s.o.Proxy.Version(); ok {
		put("mysqlrw_weak_changes_total", float64(v.Changes))
		if v.AgeKnown {
			put("mysqlrw_weak_version_age_seconds", v.Age.Seconds())
		}
		if v.Chosen != "" {
			put("mysqlrw_weak_chosen", 1, v.Chosen)
		}
	}
}

func (c *collector) servers(put func(name string, v float64, labels ...string)) {
	maxLag := c.s.o.Control.Config().Policy.MaxLag
	for _, sv := range c.s.o.Proxy.Servers() {
		for _, role := range []route.Role{route.Primary, route.Replica} {
			put("mysqlrw_server_role", one(sv.Role == role), sv.Name, role.String())
		}
		is := stateOf(&sv, maxLag)
		for _, state := range []string{"online", "lagging", "broken", "offline", "unproven"} {
			put("mysqlrw_server_state", one(state == is), sv.Name, state)
		}
		if sv.LagKnown {
			put("mysqlrw_server_lag_seconds", sv.Lag.Seconds(), sv.Name)
		}
		if sv.MissingKnown {
			put("mysqlrw_server_missing_transactions", float64(sv.Missing), sv.Name)
		}
		put("mysqlrw_server_weight", float64(sv.Weight), sv.Name)
		put("mysqlrw_server_active_statements", float64(sv.Active), sv.Name)
		put("mysqlrw_server_queued_statements", float64(sv.Queued), sv.Name)
		put("mysqlrw_server_connections", float64(sv.Connections-sv.Idle), sv.Name, "used")
		put("mysqlrw_server_connections", float64(sv.Idle), sv.Name, "idle")
		put("mysqlrw_server_connections_max", float64(sv.MaxConnections), sv.Name)
	}
}

func (c *collector) histogram(d *proxy.Durations, labels ...string) prometheus.Metric {
	buckets := map[float64]uint64{}
	for i, bound := range proxy.Bounds() {
		buckets[bound.Seconds()] = d.UpTo[i]
	}
	return prometheus.MustNewConstHistogram(c.desc["mysqlrw_statement_seconds"], d.Count, d.Sum.Seconds(), buckets, labels...)
}

func one(yes bool) float64 {
	if yes {
		return 1
	}
	return 0
}
