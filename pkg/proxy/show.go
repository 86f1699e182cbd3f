package proxy

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mysqlrw/mysqlrw/route"
)

// lastRoute is where the statement before went, for SHOW MYSQLRW ROUTE.
type lastRoute struct {
	d      route.Decision
	server int // -1 if none ran it
	waited time.Duration
	read   bool // it was one that a replica may have
	known  bool
}

// note keeps a decision. A SHOW MYSQLRW is none that anybody wants to see.
func (s *session) note(req *request, d *route.Decision, server int) {
	if req.st.Reason == route.AsksProxy && req.st.Class == route.Show {
		return
	}
	s.shown = lastRoute{d: *d, server: server, waited: req.waited, read: req.st.Target == route.ToReplica, known: true}
}

// showOwn answers SHOW MYSQLRW ROUTE, SESSION, SERVERS, TOKEN, TRACKER, VERSION or STATUS.
func (s *session) showOwn(req *request, text string) error {
	words := strings.Fields(strings.TrimRight(text, "; \t\r\n"))
	what := strings.ToLower(words[len(words)-1])
	switch what {
	case "route":
		return s.showRoute()
	case "session":
		return s.showSession()
	case "servers":
		return s.showServers()
	case "tracker":
		return s.showTracker()
	case "token":
		return s.showToken(req)
	case "version":
		return s.showVersion()
	case "status":
		var rows [][]string
		for _, c := range s.p.Counters() {
			rows = append(rows, []string{c.Name, strconv.FormatUint(c.Value, 10)})
		}
		return s.result([]resultColumn{{name: "name"}, {name: "value"}}, rows)
	}
	return s.fail(1064, "42000", "mysqlrw: SHOW MYSQLRW knows ROUTE, SESSION, SERVERS, TOKEN, TRACKER, VERSION and STATUS")
}

// showTracker shows how that stands which knows what tables change; no row is that there is none.
func (s *session) showTracker() error {
	columns := []resultColumn{{name: "state"}, {name: "transactions"}, {name: "tables"}, {name: "schemas"}, {name: "position"}}
	t := s.cluster.tracker
	if t == nil {
		return s.result(columns, nil)
	}
	is := t.State()
	return s.result(columns, [][]string{{
		is.String(), strconv.FormatUint(is.Transactions, 10), strconv.Itoa(is.Tables), strconv.FormatUint(is.Schemas, 10), is.Read.String(),
	}})
}

func (s *session) serverName(i int) string {
	if i < 0 || i >= len(s.cluster.servers) {
		return ""
	}
	return s.cluster.servers[i].Name
}

func (s *session) showRoute() error {
	columns := []resultColumn{
		{name: "server"},
		{name: "class"},
		{name: "target"},
		{name: "level"},
		{name: "reason"},
		{name: "token"},
		{name: "position"},
		{name: "waited"},
		{name: "explanation"},
	}
	if !s.shown.known {
		return s.result(columns, nil)
	}
	d := &s.shown.d
	var reasons, texts []string
	for _, r := range d.Reasons() {
		reasons, texts = append(reasons, r.String()), append(texts, r.Explanation())
	}
	level, waited := "", ""
	if s.shown.waited > 0 {
		waited = fmt.Sprintf("%.1fms", float64(s.shown.waited.Microseconds())/1000)
	}
	if s.shown.read {
		level = d.Level.String()
	}
	return s.result(columns, [][]string{{
		s.serverName(s.shown.server), d.Class.String(), d.Target.String(), level, strings.Join(reasons, ","), d.Token.String(), d.Require.String(),
		waited, strings.Join(texts, "; "),
	}})
}

func (s *session) showSession() error {
	columns := []resultColumn{{name: "name"}, {name: "value"}, {name: "server"}, {name: "until"}}
	rows := [][]string{
		{"id", strconv.FormatUint(uint64(s.id), 10), "", ""},
		{"user", s.user, "", ""},
		{"schema", s.state.Schema(), "", ""},
		{"consistency", s.level().String(), "", ""},
		{"prepared-statements", strconv.Itoa(len(s.statements)), "", ""},
	}
	if t := &s.route.Transaction; t.Open {
		kind := "read-write"
		if t.ReadOnly {
			kind = "read-only"
		}
		rows = append(rows, []string{"transaction", kind, t.Server, "COMMIT or ROLLBACK"})
	}
	for _, h := range s.route.Holds() {
		rows = append(rows, []string{"hold", strings.TrimSpace(h.Kind.String() + " " + h.Name), h.Server, h.Kind.Until()})
	}
	for i := range s.links {
		if one := &s.links[i]; one.h != nil {
			how := "left in the pool"
			if one.have {
				how = "kept"
			}
			rows = append(rows, []string{"connection", how, s.serverName(i), ""})
		}
	}
	return s.result(columns, rows)
}

// showVersion shows what all replicas that can be read have reached, how old that is, and which server the reads at
// weak run on.
func (s *session) showVersion() error {
	v, ok := s.cluster.versionNow(s.p.now())
	if !ok {
		return s.fail(1105, "HY000", "mysqlrw: there is no version: policy.weak-read-version-refresh-interval is 0")
	}
	age, checked, leftOut := "", "no", make([]string, len(v.LeftOut))
	if v.AgeKnown {
		age = fmt.Sprintf("%.3fs", v.Age.Seconds())
	}
	if v.Checked {
		checked = "yes"
	}
	for i, l := range v.LeftOut {
		leftOut[i] = l.Server + " (" + l.Why.String() + ")"
	}
	return s.result([]resultColumn{
		{name: "version"},
		{name: "age"},
		{name: "servers"},
		{name: "left_out"},
		{name: "chosen"},
		{name: "checked"},
	}, [][]string{{v.Position.String(), age, strings.Join(v.Servers, ","), strings.Join(leftOut, ","), v.Chosen, checked}})
}

func (s *session) level() route.Level {
	if s.route.HasLevel {
		return s.route.Level
	}
	return s.policy.Level
}

func (s *session) showServers() error {
	columns := []resultColumn{
		{name: "server"},
		{name: "role"},
		{name: "state"},
		{name: "lag"},
		{name: "weight"},
		{name: "active"},
		{name: "connections"},
		{name: "idle"},
		{name: "why"},
		{name: "position"},
	}
	s.cluster.fill(&s.snap, s.p.now())
	rows := make([][]string, 0, len(s.snap.Servers))
	for i := range s.snap.Servers {
		one := &s.snap.Servers[i]
		lag := ""
		if one.LagKnown {
			lag = fmt.Sprintf("%.3fs", one.Lag.Seconds())
		}
		stats := s.cluster.servers[i].dialing.pool.Stats()
		rows = append(rows, []string{
			one.Name, one.Role.String(), one.State.String(), lag, strconv.Itoa(one.Weight), strconv.Itoa(one.Active),
			strconv.Itoa(stats.Open), strconv.Itoa(stats.Idle), one.Why, one.Position.String(),
		})
	}
	return s.result(columns, rows)
}
