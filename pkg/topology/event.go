package topology

import (
	"log/slog"
	"strings"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
)

// Kind is what happened. Its text is what an operator's filters look for.
type Kind uint8

// The kinds.
const (
	// StateChanged: Server went from state Old to New; Detail says why.
	StateChanged Kind = iota
	// PrimaryLost: Old was the primary, and now there is none.
	PrimaryLost
	// PrimaryChanged: New is the primary. Old was it last; it is empty at the
	// start, and New if it came back.
	PrimaryChanged
	// LostWrites: New became the primary after Old and does not have all that
	// Old was known to have; Detail is what is missing.
	LostWrites
	// TwoPrimaries: the servers in Detail all look like the primary, so none is.
	TwoPrimaries
	// Restarted: Server's process is another one than before.
	Restarted
	// Replaced: another server answers under the name of Server; Old and New
	// are their identities.
	Replaced
	// PositionLost: Server does not have any more what it was known to have;
	// Detail is what is missing.
	PositionLost
	// Errant: Server is a replica and wrote a transaction of its own; Detail is
	// its number under the server's own identity.
	Errant
)

var kindWords = [...]string{
	StateChanged:   "state-changed",
	PrimaryLost:    "primary-lost",
	PrimaryChanged: "primary-changed",
	LostWrites:     "lost-writes",
	TwoPrimaries:   "two-primaries",
	Restarted:      "restarted",
	Replaced:       "replaced",
	PositionLost:   "position-lost",
	Errant:         "errant-transaction",
}

// String returns the kind in kebab-case.
func (k Kind) String() string {
	if int(k) < len(kindWords) {
		return kindWords[k]
	}
	return "unknown"
}

// Event is one thing that an operator wants to know. What a field means
// depends on the kind; what a kind does not name is empty.
type Event struct {
	Kind   Kind
	At     time.Time
	Server string
	Old    string
	New    string
	Detail string // for people, never parsed
	// Lost and Kept are, with LostWrites, what is missing and what New had.
	Lost, Kept gtid.Value
}

// Level returns how loudly the event is to be said.
func (e Event) Level() slog.Level {
	switch e.Kind {
	case PrimaryLost, LostWrites, TwoPrimaries, PositionLost, Errant:
		return slog.LevelError
	case Restarted, Replaced:
		return slog.LevelWarn
	case StateChanged:
		if e.New != "online" {
			return slog.LevelWarn
		}
	}
	return slog.LevelInfo
}

// Attrs returns the fields that are set, for a log record whose message is the
// kind.
func (e Event) Attrs() []slog.Attr {
	var attrs []slog.Attr
	for _, a := range []slog.Attr{
		slog.String("server", e.Server), slog.String("old", e.Old), slog.String("new", e.New), slog.String("detail", e.Detail),
	} {
		if a.Value.String() != "" {
			attrs = append(attrs, a)
		}
	}
	return attrs
}

// String returns the event on one line, without its time.
func (e Event) String() string {
	var b strings.Builder
	b.WriteString(e.Kind.String())
	for _, a := range e.Attrs() {
		b.WriteString(" " + a.Key + "=" + a.Value.String())
	}
	return b.String()
}
