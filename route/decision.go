package route

import (
	"slices"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
)

// Token says which position a read must not be older than.
type Token uint8

// The tokens.
const (
	// NoToken: none.
	NoToken Token = iota
	// SessionToken: what the session wrote and has seen.
	SessionToken
	// GlobalToken: the primary's position, fetched after the read arrived.
	GlobalToken
	// GivenToken: the position of a hint.
	GivenToken
)

// String returns the token's name: "", "session", "global" or "given".
func (t Token) String() string {
	return [...]string{"", "session", "global", "given"}[t&3]
}

// Decision is where one statement goes, and why.
type Decision struct {
	// Class is the statement's, and Target where it runs in this session, which can be another one than Statement.Target.
	Class  Class
	Target Target
	// Server is an index into the snapshot's servers, or -1: nobody needs one
	// (Answer, Refuse), any connection of the session does (ToAll), or there is none now.
	Server int
	// Level is the one that holds for a read.
	Level Level
	// Token and Require are what the chosen server must have applied. With
	// GlobalToken and no position in the snapshot, Fetch says that it must be
	// asked for, and the decision be made again.
	Token   Token
	Require gtid.Value
	Fetch   bool
	// Wait is how long the server may be waited for to reach Require; 0 is not
	// at all: it has it.
	Wait time.Duration
	// Hold is how long the read must be held back before it is decided anew; 0 is not at all.
	Hold time.Duration
	// Chosen says that Server is that of Snapshot.Chosen.
	Chosen bool
	// Unchosen says that the read is refused only because the server that reads at Weak run on is changing, or
	// cannot be read at this moment: it can be decided anew when that may have changed.
	Unchosen bool
	// Fallback is where the statement goes if the wait ends in vain: ToPrimary
	// or Refuse.
	Fallback Target
	// Error is what a client is told with Refuse, or if nobody waits for a server that is not there now.
	Error string
	// Starts is the state that the statement will leave on the connection.
	Starts Holds
	// Split says that a read of a transaction leaves it.
	Split bool
	// Covers says that Require is, or that the server is the one that has shown,
	// all that the session has seen.
	Covers bool

	reasons [6]Reason
	count   int
}

// Reasons returns why, the deciding reason first. The slice lies in d.
func (d *Decision) Reasons() []Reason { return d.reasons[:d.count] }

// Reason returns the deciding reason.
func (d *Decision) Reason() Reason { return d.reasons[0] }

// because adds a reason, once. What does not fit is the least of them.
func (d *Decision) because(r Reason) {
	if r != NoReason && d.count < len(d.reasons) && !slices.Contains(d.Reasons(), r) {
		d.reasons[d.count] = r
		d.count++
	}
}

// Outcome is what a server said about a statement. The zero value is of one
// that succeeded on a server that says nothing about its state.
type Outcome struct {
	// Failed says that the server answered with an error. Of a text with several
	// statements the ones in front may have run.
	Failed bool
	// StatusKnown says that InTransaction and AutocommitOff are the server's
	// status flags, which are believed over anything the text says.
	StatusKnown                  bool
	InTransaction, AutocommitOff bool
	// Position is the position that came with the answer, empty if none did.
	Position gtid.Value
	// Wrote says that the statement certainly got a number of its own in the
	// primary's order of transactions, which Position has: then everything that
	// anybody could see before is in Position as well.
	Wrote bool
	// At is when the answer came, for the methods that go by time.
	At time.Time
	// StateChanged is the server's tracker: the statement changed session state
	// that no other tracker names.
	StateChanged bool
}
