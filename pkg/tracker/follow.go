package tracker

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/backend"
	"github.com/mysqlrw/mysqlrw/pkg/binlog"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/status"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// life tells one process of one server from another: a server that crashed may give numbers away once more.
type life struct {
	identity string
	started  time.Time
}

// same allows for the second that a server counts its time in.
func (l life) same(m life) bool {
	return l.identity == m.identity && l.started.Sub(m.started).Abs() <= 3*time.Second
}

// Bounds of what a server is asked for. One that is gone without a word must not keep the tracker from the next primary.
const (
	answerTimeout = 10 * time.Second
	schemaTimeout = time.Minute
)

// follow reads the log of the primary of this moment until something ends it.
func (t *Tracker) follow(ctx context.Context) error {
	conn, source, err := t.o.Connect(ctx)
	if err != nil {
		return err
	}
	defer func() { _ = conn.Close() }()
	defer context.AfterFunc(ctx, func() { _ = conn.Close() })()
	soon, cancel := context.WithTimeout(ctx, answerTimeout)
	defer cancel()
	now, err := lifeOf(soon, conn)
	if err != nil {
		return err
	}
	stands, err := standing(soon, conn)
	if err != nil {
		return err
	}
	from, ok := t.start(conn, source, now, stands)
	if !ok {
		return nil
	}
	r, err := binlog.Open(soon, conn, binlog.Options{From: from, ServerID: t.o.ServerID})
	if err != nil {
		return t.distrust(err)
	}
	t.askSchema()
	return t.distrust(t.read(r, &watchdog{conn: conn}))
}

// start decides where to go on: behind what has been read, if the server certainly has all of that, or from now. It is
// not ok if the server may not be the primary any more.
func (t *Tracker) start(conn *backend.Conn, source Source, now life, stands status.Standing) (from gtid.Value, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.began = true
	select {
	case <-t.again:
		return from, false
	default:
	}
	restarted := t.life.identity == now.identity && !t.life.same(now) || t.source.Server == source.Server && t.source.Epoch != source.Epoch
	if restarted || t.life.identity == "" || !stands.Everything.Has(t.book.read) {
		all := stands.Everything
		if conn.Server().Flavor == flavor.MySQL {
			all = stands.Executed // what is being committed may get its number after all, or another one
		}
		t.book.begin(all)
		t.learned = nil
	}
	t.source, t.life, t.conn, t.err = source, now, conn, ""
	return t.book.read, true
}

// distrust has the next start begin anew, if it is no matter of the connection: the server cannot go on from here,
// or what it sent cannot be read, and would come again.
func (t *Tracker) distrust(err error) error {
	var refused *wire.ServerError
	if errors.As(err, &refused) || errors.Is(err, binlog.ErrMalformed) || errors.Is(err, errAnonymous) {
		t.mu.Lock()
		t.life = life{}
		t.mu.Unlock()
	}
	return err
}

// errAnonymous is why a log is not read on. An incident is in it without a GTID, too.
var errAnonymous = errors.New("the primary's log has something without a GTID")

// maxTouched is how many tables of one transaction are told apart.
const maxTouched = 1000

// silence is how long nothing may come: a server that has nothing to send says so every second.
const silence = 10 * time.Second

// watchdog ends a connection on which nothing comes.
type watchdog struct {
	conn *backend.Conn
	last time.Time
}

// alive is called often, and costs nothing mostly.
func (w *watchdog) alive() error {
	now := time.Now()
	if now.Sub(w.last) < time.Second {
		return nil
	}
	w.last = now
	return w.conn.SetDeadline(now.Add(silence))
}

// read takes in what comes.
func (t *Tracker) read(r *binlog.Reader, dog *watchdog) error {
	var e binlog.Event
	var c change
	for first := true; ; first = false {
		if err := dog.alive(); err != nil {
			return err
		}
		if err := r.Next(&e); err != nil {
			return err
		}
		if first {
			t.reads()
		}
		switch e.Kind {
		case binlog.Begin:
			if e.Anonymous {
				return errAnonymous
			}
			c = change{tables: c.tables[:0]}
			if c.id = (gtid.DomainPos{}).With(e.Domain).Value(); e.GTID.Valid() {
				c.id = (gtid.Set{}).Add(e.GTID).Value()
			}
		case binlog.Table:
			k := KeyOf(e.Schema, e.Table)
			switch n := len(c.tables); {
			case n >= maxTouched:
				c.all = true
			case n == 0 || c.tables[n-1] != k:
				c.tables = append(c.tables, k)
			}
		case binlog.Statement:
			c.statement(e.Text)
		case binlog.Lost:
			c.all, c.ddl = true, true
		case binlog.End:
			t.took(&c)
		case binlog.Heartbeat:
		}
	}
}

// reads notes that the log is read.
func (t *Tracker) reads() {
	t.mu.Lock()
	t.following = t.conn != nil
	t.settle()
	t.mu.Unlock()
	t.tell()
}

// statement takes in one that is logged as text. What it writes cannot be told; of DML and XA COMMIT it can that
// no view and no foreign key is another one. So it can of temporary tables, but what fills one may call functions that
// write: MariaDB logs no more of that with binlog_format=STATEMENT.
func (c *change) statement(text []byte) {
	first, rest, _ := strings.Cut(strings.TrimSpace(string(text[:min(len(text), 64)])), " ")
	switch strings.ToUpper(first) {
	case "INSERT", "UPDATE", "DELETE", "REPLACE", "LOAD", "XA":
		c.all = true
	case "CREATE", "DROP":
		if second, _, _ := strings.Cut(rest, " "); strings.EqualFold(second, "TEMPORARY") {
			text = bytes.ToLower(text)
			filled := bytes.Contains(text, []byte("select")) || bytes.Contains(text, []byte("values"))
			c.all = c.all || filled && !strings.EqualFold(first, "DROP")
			return
		}
		c.all, c.ddl = true, true
	default:
		c.all, c.ddl = true, true
	}
}

// lifeOf asks a server who it is, and since when.
func lifeOf(ctx context.Context, conn *backend.Conn) (life, error) {
	query := "SELECT @@GLOBAL.server_uuid AS identity"
	if conn.Server().Flavor == flavor.MariaDB {
		query = "SELECT CONCAT(@@GLOBAL.server_id, ' ', @@GLOBAL.port, ' ', @@GLOBAL.hostname) AS identity"
	}
	r, err := conn.Query(ctx, query)
	if err != nil {
		return life{}, err
	}
	l := life{}
	l.identity = r.Text("identity")
	if r, err = conn.Query(ctx, "SHOW GLOBAL STATUS LIKE 'Uptime'"); err != nil {
		return life{}, err
	}
	text := r.Text("Value")
	up, err := strconv.Atoi(text)
	if err != nil {
		return life{}, fmt.Errorf("read Uptime: %w", err)
	}
	l.started = time.Now().Add(-time.Duration(up) * time.Second)
	return l, nil
}

// standing asks a server where it stands.
func standing(ctx context.Context, conn *backend.Conn) (status.Standing, error) {
	f := conn.Server().Flavor
	r, err := conn.Query(ctx, status.StandingQuery(f))
	if err != nil {
		return status.Standing{}, err
	}
	s, err := status.ReadStanding(f, r.Text)
	if err == nil && s.NoGTIDs {
		err = errors.New("gtid_mode is not ON")
	}
	return s, err
}
