package proxy

import (
	"context"
	"math/rand/v2"
	"slices"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/backend"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/topology"
	"github.com/mysqlrw/mysqlrw/pkg/tracker"
	"github.com/mysqlrw/mysqlrw/route"
)

// newTracker makes the one that follows the cluster's primary as this account, without whom there is none.
func (c *cluster) newTracker(p *Proxy, a *Account) *tracker.Tracker {
	if a == nil || c.byLog {
		return nil
	}
	as := &account{user: a.Name, password: a.Password}
	var seen route.Snapshot
	return tracker.New(tracker.Options{
		Connect:    func(ctx context.Context) (*backend.Conn, tracker.Source, error) { return c.toPrimary(ctx, as) },
		Everywhere: func() (gtid.Value, bool) { return c.everywhere(&seen) },
		// The range is above that of servers that people number.
		ServerID: 1<<31 + rand.Uint32N(1<<31-1),
		Changed: func(s tracker.State) {
			switch {
			case s.Ready:
				p.log.Info("tracker-ready", "read", s.Read.String())
			case s.Err != "":
				p.log.Warn("tracker-not-ready", "error", s.Err)
			}
		},
	})
}

// toPrimary connects to the primary, for which it waits.
func (c *cluster) toPrimary(ctx context.Context, a *account) (*backend.Conn, tracker.Source, error) {
	source := tracker.Source{Server: -1}
	err := c.monitor.Wait(ctx, func(s *route.Snapshot) bool {
		source.Server = s.Primary()
		return source.Server >= 0
	})
	if err != nil {
		return nil, source, err
	}
	source.Epoch = uint64(c.monitor.Epoch(source.Server))
	ctx, cancel := context.WithTimeout(ctx, trackerTimeout)
	defer cancel()
	conn, err := backend.Dial(ctx, c.servers[source.Server].dialing.options(a))
	return conn, source, err
}

// trackerTimeout bounds the login of the tracker.
const trackerTimeout = 10 * time.Second

// everywhere returns what every replica that is online has.
func (c *cluster) everywhere(seen *route.Snapshot) (all gtid.Value, some bool) {
	c.monitor.Fill(seen, time.Time{})
	for i := range seen.Servers {
		sv := &seen.Servers[i]
		if sv.Role != route.Replica || sv.State != route.Online {
			continue
		}
		both, err := sv.Position, error(nil)
		if some {
			both, err = all.Intersect(sv.Position)
		}
		if err != nil {
			return gtid.Value{}, false
		}
		all, some = both, true
	}
	return all, some
}

// trackAgain has the tracker look for the primary after what has happened to the servers.
func (c *cluster) trackAgain(e *topology.Event) {
	switch e.Kind {
	case topology.PrimaryChanged, topology.Restarted, topology.Replaced, topology.PositionLost:
		if c.tracker != nil {
			c.tracker.Again()
		}
	}
}

// narrowable tells whether less may do than a read waits for, or is sent to the primary for.
func (s *session) narrowable(req *request, d *route.Decision) bool {
	switch {
	case req.narrowed || req.st.Target != route.ToReplica || s.cluster.tracker == nil || !s.policy.Method.Proves():
		return false
	case s.route.Transaction.Open: // its snapshot is for statements that are still to come, too
		return false
	case d.Level != route.SCC && (d.Level != route.SessionLevel || !s.policy.TrackTables):
		return false
	case d.Token == route.GivenToken || d.Target == route.Answer:
		return false
	}
	return d.Wait > 0 || slices.Contains(d.Reasons(), route.NothingCaughtUp)
}

// narrow makes such a decision again, with what the read needs of the tables that it names.
func (s *session) narrow(req *request, d route.Decision) route.Decision {
	req.narrowed = true
	c := s.cluster
	source := tracker.Source{Server: s.snap.Primary()}
	var whole gtid.Value
	if d.Level == route.SessionLevel {
		whole = s.route.Token
	}
	if req.current != nil {
		source = req.current.source
		var err error
		if whole, err = whole.Union(req.current.Everything); err != nil {
			return d
		}
	} else if source.Server >= 0 {
		source.Epoch = uint64(c.monitor.Epoch(source.Server))
	}
	names, known := s.tablesOf(req)
	why := tracker.WhyUnknown
	var needed gtid.Value
	if known {
		if needed, why = c.tracker.Need(names, whole, source); why == tracker.WhyBehind && s.awaitTracker(req, whole, source, d.Level) {
			needed, why = c.tracker.Need(names, whole, source)
		}
	}
	s.p.counts.narrowed[why].Add(1)
	if why != tracker.WhyNot {
		return d
	}
	req.whole, req.needed, req.hasNeeded = whole, needed, true
	return s.decideOnce(req)
}

// awaitTracker waits for the tracker to read on, which is a moment behind the primary.
func (s *session) awaitTracker(req *request, whole gtid.Value, source tracker.Source, level route.Level) bool {
	began := s.p.now()
	reached := s.cluster.tracker.Wait(s.task, whole, source, s.route.Budget(&req.st.Hint, level, &s.policy))
	req.waited += s.p.now().Sub(began)
	return reached
}

// tablesOf returns the keys of the tables that a statement may read. They are good until the next call.
func (s *session) tablesOf(req *request) (names []tracker.Key, known bool) {
	text, schema := req.text, s.state.Schema()
	if req.stmt != nil && req.stmt.text.preparedKey != s.preparedKey(req.stmt.text.text) {
		return nil, false // it means what it meant in another schema, or mode
	}
	s.names, known = tracker.Names(s.names[:0], text, schema, &s.route.Options.Options)
	return s.names, known
}
