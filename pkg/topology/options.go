package topology

import (
	"database/sql"
	"errors"
	"fmt"
	"time"

	"github.com/mysqlrw/mysqlrw/lag"
)

// Role says what a server may become. The zero value finds that out.
type Role uint8

// The roles.
const (
	// Auto: the primary is the one server that takes writes and has no source.
	Auto Role = iota
	// FixedPrimary: this server is the primary as long as it answers, whatever
	// it says of itself, and no other is.
	FixedPrimary
	// FixedReplica: this server never is the primary, even if it takes writes.
	FixedReplica
)

// Server is one server to watch.
type Server struct {
	// Name is unique and not empty.
	Name string
	// Open returns a pool for connections to the server; it need not connect.
	// The monitor closes what it gets. It opens anew after each failed check,
	// so that a name is looked up again. It is called by one goroutine at a
	// time.
	Open   func() (*sql.DB, error)
	Role   Role
	Weight int    // share of reads, as route.Server has it
	Zone   string // as route.Server has it
}

// Defaults of Options.
const (
	DefaultInterval = time.Second
	DefaultTimeout  = time.Second
	DefaultFailures = 3
)

// Options describe what is watched and how.
type Options struct {
	// Servers in the order that settles ties.
	Servers []Server
	// Interval is the time between two checks of a server; 0 is DefaultInterval.
	Interval time.Duration
	// Timeout bounds one check, connecting included; 0 is DefaultTimeout.
	Timeout time.Duration
	// Failures is how many checks in a row must fail until a server counts as
	// offline; 0 is DefaultFailures. A replica is not read from the first one
	// on. A refused connection is proof enough by itself.
	Failures int
	// Heartbeat is the table that lag is measured by; without a name lag is
	// measured by what the servers themselves tell.
	Heartbeat lag.HeartbeatTable
	// ByLog has the positions of MySQL servers be places in binary logs instead of sets of GTIDs.
	ByLog bool
	// Now is the clock, time.Now if nil.
	Now func() time.Time
	// Events is told what happened, in order and after the snapshot that shows
	// it was published. It may call every method of the Monitor that does not
	// block; as long as it runs, no check is evaluated. nil drops events.
	Events func(Event)
	// Checked is called behind the events of each check, as Events is; nil is nobody.
	Checked func()
}

// Notice returns the time in which a monitor with such an interval and timeout sees what becomes of a server, if one
// check goes wrong: it has just begun one, that fails at its end, and so long can take the next one, too.
func Notice(interval, timeout time.Duration) time.Duration {
	if interval <= 0 {
		interval = DefaultInterval
	}
	if timeout <= 0 {
		timeout = DefaultTimeout
	}
	return interval + min(interval, askAgain) + 2*timeout
}

// complete fills in the defaults and refuses what cannot work.
func (o *Options) complete() error {
	if len(o.Servers) == 0 {
		return errors.New("no server to watch")
	}
	names, primary := map[string]bool{}, ""
	for _, s := range o.Servers {
		switch {
		case s.Name == "":
			return errors.New("a server has no name")
		case names[s.Name]:
			return fmt.Errorf("two servers are named %s", s.Name)
		case s.Open == nil:
			return fmt.Errorf("server %s cannot be opened", s.Name)
		case s.Role == FixedPrimary && primary != "":
			return fmt.Errorf("both %s and %s are to be the primary", primary, s.Name)
		case s.Role == FixedPrimary:
			primary = s.Name
		}
		names[s.Name] = true
	}
	if o.Interval <= 0 {
		o.Interval = DefaultInterval
	}
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Failures <= 0 {
		o.Failures = DefaultFailures
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	if o.Events == nil {
		o.Events = func(Event) {}
	}
	if o.Checked == nil {
		o.Checked = func() {}
	}
	return nil
}
