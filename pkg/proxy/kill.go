package proxy

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/backend"
	"github.com/mysqlrw/mysqlrw/pkg/deadline"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// firstID is where the numbers of clients begin, far from those of servers: KILL of a number that a
// server gave out is not mistaken.
const firstID = 1 << 30

// killTimeout bounds a KILL on a server.
const killTimeout = 5 * time.Second

// killed is why a session ends that somebody else ended, or what is asked of its statement.
type killed uint8

const (
	notKilled killed = iota
	queryKilled
	connectionKilled
	clientGone
	shutDown
)

func (k killed) Error() string {
	return [...]string{"", "query was killed", "connection was killed", "client is gone", "shutdown"}[k]
}

// begins notes that a statement runs on a connection, for those who want to kill it.
func (s *session) begins(l *link) {
	s.lock()
	s.running = l
	s.mu.Unlock()
}

// ends waits for a KILL that is under way, which must not hit the next statement of somebody else.
func (s *session) ends() {
	s.lock()
	s.running = nil
	s.mu.Unlock()
}

// lock takes mu, for the session itself. A KILL that is under way has it while it asks a server.
func (s *session) lock() {
	if !s.mu.TryLock() {
		s.aside()
		s.mu.Lock()
	}
}

// wasKilled tells whether the statement was killed, and forgets it.
func (s *session) wasKilled() bool {
	s.lock()
	defer s.mu.Unlock()
	was := s.kill != notKilled
	s.kill = notKilled
	return was
}

// stop ends the session's statement on its server, with the rights of an account, or, unless how is
// queryKilled, the whole session.
func (s *session) stop(ctx context.Context, how killed, by *account) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	l := s.running
	if l == nil && by != nil && by.user != s.user && !s.cluster.mayKill(ctx, by) {
		return s.notOwner()
	}
	var err error
	if l != nil {
		if by == nil {
			by = l.account
		}
		l.spoiled = true
		s.kill = how
		err = l.from.kill(ctx, by, l.conn.ID(), how == queryKilled)
	}
	var refused *wire.ServerError
	if how == queryKilled || errors.As(err, &refused) && refused.Code != 1094 && by != nil {
		return err
	}
	s.cancel(how)
	_ = s.client.SetDeadline(deadline.Past())
	if err != nil && l != nil { // the server could not be asked: at least nobody waits any more
		_ = l.conn.Close()
	}
	return nil
}

// notOwner is what a server says to who may not kill, with the number that the client knows.
func (s *session) notOwner() *wire.ServerError {
	id := uint64(s.id)
	if told := s.told.Load(); told != 0 {
		id = told
	}
	return &wire.ServerError{Code: 1095, State: "HY000", Message: fmt.Sprintf("You are not owner of thread %d", id)}
}

// mayKill asks the primary whether an account may kill those of others.
func (c *cluster) mayKill(ctx context.Context, by *account) bool {
	i := c.monitor.Snapshot().Primary()
	if i < 0 {
		return false
	}
	ctx, cancel := context.WithTimeout(ctx, killTimeout)
	defer cancel()
	conn, err := c.servers[i].dialing.apart(ctx, by)
	if err != nil {
		return false
	}
	defer conn.Quit() //nolint:errcheck // it is done
	r, err := conn.Query(ctx, "SHOW GRANTS")
	if err != nil {
		return false
	}
	for _, row := range r.Rows {
		grant := string(row[0])
		privileges, _, everywhere := strings.Cut(grant, " ON *.* ")
		for _, enough := range [...]string{"SUPER", "CONNECTION_ADMIN", "CONNECTION ADMIN", "ALL PRIVILEGES"} {
			if everywhere && strings.Contains(privileges, enough) {
				return true
			}
		}
	}
	return false
}

// apart opens a connection outside of the pool, which may be full.
func (d *dialing) apart(ctx context.Context, by *account) (*backend.Conn, error) {
	return backend.Dial(ctx, d.options(by))
}

// kill runs KILL on a connection of its own: the pool may be full.
func (d *dialing) kill(ctx context.Context, by *account, id uint32, query bool) error {
	ctx, cancel := context.WithTimeout(ctx, killTimeout)
	defer cancel()
	conn, err := d.apart(ctx, by)
	if err != nil {
		return err
	}
	defer conn.Quit() //nolint:errcheck // it is done
	what := "KILL "
	if query {
		what = "KILL QUERY "
	}
	_, err = conn.Exec(ctx, what+strconv.FormatUint(uint64(id), 10))
	return err
}

// killStatement runs KILL of a number. One that the proxy did not give out is the primary's.
func (s *session) killStatement(text string) error {
	fields := strings.Fields(strings.TrimRight(text, "; \t\r\n"))
	query := false
	var id uint64
	for _, f := range fields {
		query = query || strings.EqualFold(f, "query")
		if n, err := strconv.ParseUint(f, 0, 64); err == nil {
			id = n
		}
	}
	if id < firstID {
		if id = s.p.sessions.withIdentity(id); id == 0 {
			return s.onPrimaryText(text)
		}
	}
	return s.killSession(id, query)
}

// killSession kills a client of the proxy.
func (s *session) killSession(id uint64, query bool) error {
	s.aside()
	target := s.p.sessions.find(id)
	if target == nil {
		return s.fail(1094, "HY000", fmt.Sprintf("Unknown thread id: %d", id))
	}
	if target == s {
		if query {
			return s.fail(1317, "70100", "Query execution was interrupted")
		}
		_ = s.fail(1317, "70100", "Query execution was interrupted")
		return errEnd
	}
	how := connectionKilled
	if query {
		how = queryKilled
	}
	err := target.stop(s.ctx, how, s.account)
	var refused *wire.ServerError
	switch {
	case errors.As(err, &refused):
		if refused.Code == 1095 {
			refused = target.notOwner()
		}
		return s.fail(refused.Code, refused.State, refused.Message)
	case err != nil:
		return s.fail(1105, "HY000", "mysqlrw: KILL: "+plain(err))
	}
	return s.ok()
}

// processKill runs a COM_PROCESS_KILL.
func (s *session) processKill(payload []byte) error {
	if len(payload) < 5 {
		return s.fail(1047, "08S01", "Unknown command")
	}
	id := uint64(payload[1]) | uint64(payload[2])<<8 | uint64(payload[3])<<16 | uint64(payload[4])<<24
	if id < firstID {
		if id = s.p.sessions.withIdentity(id); id == 0 {
			return s.onPrimary(payload)
		}
	}
	return s.killSession(id, false)
}
