package rwdb

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/route"
)

// ErrToken is wrapped by the error of a statement whose Session was unmarshalled from a token that no server has:
// one that was made up, of another cluster, or of writes that a failover has lost.
var ErrToken = errors.New("no server has what the session's token names")

// Session is what belongs together: statements with the same Session in their context see its writes and never go
// back behind what it has been shown, on whichever connection and server they run. It has no connection of its own.
//
// The zero value is a session that has done nothing. A Session is for one cluster, may be used by any number of
// goroutines, and must not be copied.
type Session struct {
	mu     sync.Mutex
	memory route.Memory
	given  bool // memory has a token that nobody has compared with the servers yet
	wrote  bool
}

// Wrote tells whether a statement of the session may have changed something since it was made or unmarshalled:
// whether its token is worth being passed on where only its own writes matter.
func (s *Session) Wrote() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.wrote
}

// The first letter of a token.
const (
	settledToken   = 's' // the position is all
	unsettledToken = 'u' // and whatever can be seen when it is used first
)

// MarshalText returns the token of the session, for another process that goes on in its place. It is text without
// quotes, semicolons and spaces, and has some 50 bytes for each server that ever was the primary. It proves
// nothing of who made it: sign it where a user can change it.
//
// Where the session has been shown what no position names, as every read does until the next write, the first
// read with the token asks the primary where it stands.
func (s *Session) MarshalText() ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	kind := byte(settledToken)
	if !s.memory.Settled() {
		kind = unsettledToken
	}
	text := strings.ReplaceAll(s.memory.Position().String(), "\n", "")
	return append([]byte{kind}, text...), nil
}

// UnmarshalText makes s the session that the token is of. Whether a server has what it names is found out by the
// first statement: see ErrToken.
func (s *Session) UnmarshalText(token []byte) error {
	if len(token) == 0 || token[0] != settledToken && token[0] != unsettledToken {
		return errors.New("rwdb: this is no token of a session")
	}
	position, err := gtid.ParseValue(string(token[1:]))
	if err != nil {
		return fmt.Errorf("rwdb: this is no token of a session: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.memory, s.given, s.wrote = route.Remembered(position, token[0] == settledToken), !position.IsEmpty(), false
	return nil
}

// recall returns what a statement of the session begins with.
func (s *Session) recall(lost []loss) (m route.Memory, given bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, l := range lost {
		s.memory.Forget(l.lost, l.kept)
	}
	return s.memory, s.given
}

// believe notes that a server has what the token names.
func (s *Session) believe() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.given = false
}

// remember takes in what a statement of the session has added.
func (s *Session) remember(then, now *route.Memory, wrote bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.memory.Merge(then, now)
	s.wrote = s.wrote || wrote
}

// wishes are what a context asks for. They are immutable.
type wishes struct {
	session                             *Session
	level                               route.Level
	hasLevel, hasStaleness, hasWaitTime bool
	staleness, waitTime                 time.Duration
}

type wishesKey struct{}

// noWishes are those of a context that asks for nothing.
var noWishes wishes

func wishesOf(ctx context.Context) *wishes {
	if w, ok := ctx.Value(wishesKey{}).(*wishes); ok {
		return w
	}
	return &noWishes
}

func wish(ctx context.Context, change func(*wishes)) context.Context {
	w := *wishesOf(ctx)
	change(&w)
	return context.WithValue(ctx, wishesKey{}, &w)
}

// WithSession returns a context whose statements belong to the session. Without one they see what any statement of
// the same pool has written, and a connection (sql.Conn, sql.Tx) never goes back behind what itself has been shown.
// The statements of a transaction belong to the session of the context that began it.
func WithSession(ctx context.Context, s *Session) context.Context {
	return wish(ctx, func(w *wishes) { w.session = s })
}

// SessionOf returns the session of a context, or nil.
func SessionOf(ctx context.Context) *Session { return wishesOf(ctx).session }

// WithLevel returns a context whose reads have that consistency level. SCC is kept as Global is.
func WithLevel(ctx context.Context, level route.Level) context.Context {
	return wish(ctx, func(w *wishes) { w.level, w.hasLevel = level, true })
}

// WithMaxStaleness returns a context whose reads run only where the lag is known and not more than d.
func WithMaxStaleness(ctx context.Context, d time.Duration) context.Context {
	return wish(ctx, func(w *wishes) { w.staleness, w.hasStaleness = d, true })
}

// WithWait returns a context whose reads wait for a replica to have what they must see for d at most, in the place
// of the policy's SessionTimeout and GlobalTimeout. 0 never waits.
func WithWait(ctx context.Context, d time.Duration) context.Context {
	return wish(ctx, func(w *wishes) { w.waitTime, w.hasWaitTime = d, true })
}
