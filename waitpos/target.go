package waitpos

import (
	"errors"
	"fmt"
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/status"
)

// Target is a position to reach: a GTID set or position, or a place in the
// binary log of a channel's source. The zero value is reached everywhere.
type Target struct {
	gtids gtid.Value
	file  gtid.FilePos
}

// GTIDs is the target of having applied every transaction of v.
func GTIDs(v gtid.Value) Target { return Target{gtids: v} }

// FilePosition is the target of having applied a source's binary log up to p.
// It needs no GTIDs, and means something only for replicas of that source.
func FilePosition(p gtid.FilePos) (Target, error) {
	if err := gtid.ParseLogName(p.File); err != nil {
		return Target{}, err
	}
	return Target{file: p}, nil
}

// String returns the GTID text or "file:offset".
func (t Target) String() string {
	if !t.file.IsZero() {
		return t.file.String()
	}
	return t.gtids.String()
}

// Reason says why a position is not reached. Its text is part of the output
// contract of the commands.
type Reason uint8

// The reasons, in the order in which they are looked for.
const (
	NoReason        Reason = iota // the position is reached
	Timeout                       // not reached in time; it may still arrive
	NotAReplica                   // nothing brings this server new data
	ApplierStopped                // the applier that would bring it does not run
	ReceiverStopped               // it is not received, and the receiver does not run
	Purged                        // the source has thrown it away
	Errant                        // no source has it
	Filtered                      // the channel leaves that domain out
)

// String returns the reason in kebab-case, "" for NoReason.
func (r Reason) String() string {
	switch r {
	case Timeout:
		return "timeout"
	case NotAReplica:
		return "not-a-replica"
	case ApplierStopped:
		return "applier-stopped"
	case ReceiverStopped:
		return "receiver-stopped"
	case Purged:
		return "purged"
	case Errant:
		return "errant"
	case Filtered:
		return "filtered"
	default:
		return ""
	}
}

// Errors of a target that does not fit the server.
var (
	// ErrFlavor is returned for a GTID set of the other flavor.
	ErrFlavor = errors.New("the position is of the other flavor")
	// ErrGTIDOff is returned for a GTID set on a server with gtid_mode off.
	ErrGTIDOff = errors.New("GTIDs are off on this server: wait for a binary log position")
	// ErrNoPositions is returned for a file position on a channel that does
	// not keep them (GTID_ONLY = 1).
	ErrNoPositions = errors.New("the channel keeps no binary log positions (GTID_ONLY = 1): wait for a GTID set")
	// ErrChannel is returned if a file position could mean several channels,
	// or one that is not there.
	ErrChannel = errors.New("no such channel")
)

// Misplaced reports whether err says that a target has no meaning on the server
// that was asked: the error of whoever chose the target, and not of the server.
func Misplaced(err error) bool {
	for _, e := range []error{ErrFlavor, ErrGTIDOff, ErrNoPositions, ErrChannel, gtid.ErrIncomparable} {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// sameChannel compares names as both servers do: without regard to case.
func sameChannel(a, b string) bool { return strings.EqualFold(a, b) }

// channelNames lists names for an error; the default channel is shown as ”.
func channelNames(channels []status.Channel) string {
	text := ""
	for i, c := range channels {
		if i > 0 {
			text += ", "
		}
		text += fmt.Sprintf("'%s'", c.Name)
	}
	return text
}
