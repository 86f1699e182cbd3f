package proxy

import (
	"context"
	"errors"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/backend"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/pool"
	"github.com/mysqlrw/mysqlrw/pkg/sessionstate"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
	"github.com/mysqlrw/mysqlrw/route"
)

// errExpired is why a server is not asked anything.
var errExpired = errors.New("the password has expired")

// handle is a link as its pool knows it.
type handle = pool.Handle[key, *link]

// link is a connection to a server and what is known of the session on it. It is used by whoever
// has it from the pool.
type link struct {
	conn    *backend.Conn
	from    *dialing
	account *account
	catalog *sessionstate.Catalog

	// born is when it logged in, with the privileges of then; rights is the number of the last change
	// of privileges before that.
	born   time.Time
	rights uint64
	// again: it was reset, and is not in all as a new connection: see asNew.
	again bool
	// unselected: a reset has set the character set of the schema to the server's default, which only
	// selecting it again mends.
	unselected bool
	// generation is that of the server's global variables, and MySQL's costs, which a session begins with.
	generation uint64
	state      *sessionstate.State // what the connection's session is in
	// dirty: something is left on it that no state names, and that a reset ends. spoiled: not even
	// that does.
	dirty, spoiled bool
	// listed: there may be something in its list of warnings and errors, which MariaDB keeps over
	// statements that use no table.
	listed bool
	// noisy: a statement was prepared or closed on it, which the next answer reports as a change of
	// the session's state.
	noisy bool
	// expired is what the server says to everything but another password, which it wants first. What a
	// connection is told at its start is still to be told then.
	expired  *wire.ServerError
	next     bool   // it reports what waits for the next transaction; see sessionstate.Catalog.WatchNext
	shows    string // the SET that has it report what a client asked for, if it does: see showTracks
	ownGTIDs bool   // it reports the client's own GTIDs, since the client asked for them
	// prepared are the statements that it has, by what they were prepared from.
	prepared map[*preparedText]*preparedOn
	uses     uint64   // counts uses of prepared statements, to drop those used longest ago
	unwanted []uint32 // statements to be closed with the next write

	position []byte     // the GTID text that it reported last
	at       gtid.Value // the same
	question *question
	insertID insertID // what LAST_INSERT_ID() gives on it
}

// insertID is a value of LAST_INSERT_ID().
type insertID struct {
	value uint64
	known bool
	// owed is there while only the server knows the value. Whoever takes the link away from the
	// session asks the server first, and pays.
	owed *debt
}

// debt is a LAST_INSERT_ID() that a session is to be told.
type debt struct{ paid chan uint64 }

func newDebt() *debt { return &debt{paid: make(chan uint64, 1)} }

// pay tells the value, or, by known, that nobody knows it any more. It is called once.
func (d *debt) pay(value uint64, known bool) {
	if known {
		d.paid <- value
	}
	close(d.paid)
}

// question is what a server is to be asked about a session's state before the connection goes to
// another one; whoever does it tells the session the trackers of the answer.
type question struct {
	text string
	paid chan []byte
}

func newQuestion(text string) *question { return &question{text: text, paid: make(chan []byte, 1)} }

// answerTo runs a SET whose trackers are wanted.
func (l *link) answerTo(ctx context.Context, text string) ([]byte, bool) {
	ok, err := l.conn.Exec(ctx, text)
	return ok.Trackers, err == nil
}

// CheckIdle is for the pool.
func (l *link) CheckIdle() error { return l.conn.CheckIdle() }

// Close is for the pool. It does not wait.
func (l *link) Close() error {
	l.from.mu.Lock()
	delete(l.from.links, l)
	l.from.mu.Unlock()
	if owed := l.insertID.owed; owed != nil {
		l.insertID.owed = nil
		owed.pay(0, false)
	}
	if q := l.question; q != nil {
		l.question = nil
		close(q.paid)
	}
	return l.conn.Quit()
}

// reset makes the connection's session a new one, at once and not with the next statement: locks and
// transactions must not outlive the one who had them. The link is good for anybody afterwards.
func (l *link) reset(ctx context.Context) error {
	if err := l.conn.Reset(ctx); err != nil {
		return err
	}
	l.again, l.unselected = true, true
	return l.wasReset(ctx, l.state.Schema())
}

// asNew tells whether a new session may have the connection. MySQL from 9.6 on, at least up to 9.7.4,
// does not give a connection that was reset all that a new one has: its foreign keys cascade without
// a word in the binary log. And no server runs its init_connect again, or puts IGNORE_SPACE into the
// sql_mode again for a client that asked for it at the login.
func (l *link) asNew() bool {
	v := l.catalog.Server()
	if l.again && l.conn.Capabilities().Has(wire.IgnoreSpace) {
		return false
	}
	return !l.again || (v.Flavor != flavor.MySQL || !v.Version.AtLeast(9, 6, 0)) && !l.from.runsInit.Load()
}

// current tells whether the connection has the privileges that a login of now would have, as far as
// the proxy knows.
func (l *link) current(now time.Time) bool {
	return l.rights == l.from.rights.Load() && now.Sub(l.born) < l.from.p.conf.Load().maxLifetime()
}

// movable tells whether a session that leaves the connection finds the same elsewhere, and another one
// here what it needs. Account and global variables may have changed since its login: it has what was
// then, and others have what is now.
func (l *link) movable() bool {
	return l.asNew() && !l.dirty && l.generation == l.from.generation.Load() && l.rights == l.from.rights.Load()
}

// wasReset notes what a reset or login did, and tells the server what to report. schema is the one
// that is selected.
func (l *link) wasReset(ctx context.Context, schema string) error {
	generation := l.from.generation.Load()
	ok, err := l.setUp(ctx)
	if err == nil && l.conn.Capabilities().Has(wire.ExpiredPasswords) && (l.state == nil || l.expired != nil) {
		_, err = l.conn.Exec(ctx, "DO 0") // MariaDB takes a SET
	}
	var refused *wire.ServerError
	if errors.As(err, &refused) && refused.Code == 1820 {
		l.expired = refused
	} else if l.expired = nil; err != nil {
		return err
	}
	l.state = l.catalog.New(0).Track(ok.Trackers).WithSchema(schema)
	l.dirty, l.listed, l.ownGTIDs, l.shows, l.next, l.generation = false, false, false, "", false, generation
	clear(l.prepared)
	l.unwanted = l.unwanted[:0]
	l.insertID, l.question = insertID{known: true}, nil
	return nil
}

// lists notes that a statement may have left something in the list of warnings.
func (l *link) lists(req *request, out *outcome) {
	if l.catalog.Server().Flavor != flavor.MariaDB {
		return
	}
	l.listed = l.listed || out.warnings > 0 || out.failed || out.elsewhere || out.anew ||
		req.st.Count > 1 || req.st.Facts.Any(route.FactRoutine|route.FactExecutes|route.FactUnseen)
}

// setUp tells the server what to report.
func (l *link) setUp(ctx context.Context) (wire.OK, error) {
	if l.from.small.Load() {
		return l.conn.Exec(ctx, l.catalog.SetupSmall())
	}
	return l.conn.Exec(ctx, l.catalog.Setup())
}

// tell tells the server again what to report, and no more.
func (l *link) tell(ctx context.Context) bool {
	_, err := l.conn.Exec(ctx, l.catalog.Watch())
	if set := l.catalog.WatchNext(false); set != "" && err == nil {
		_, err = l.conn.Exec(ctx, set)
	}
	l.ownGTIDs, l.next, l.shows = false, false, ""
	return err == nil
}
