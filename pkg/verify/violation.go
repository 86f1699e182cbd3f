package verify

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Kind is a kind of violation.
type Kind uint8

// The kinds. Their words are part of what scripts may look for.
const (
	OwnWrite     Kind = iota // the session's own write was not seen
	WentBack                 // the session had seen a newer number
	OutOfOrder               // a later write had been seen before this earlier one
	CrossSession             // a write that had returned was not seen
	Inversion                // somebody had read a newer number already
	Invented                 // a number that nobody has begun to write
)

const kinds = int(Invented) + 1

// String returns the kind's word in kebab-case.
func (k Kind) String() string {
	return [...]string{"own-write", "went-back", "out-of-order", "cross-session", "inversion", "invented"}[k]
}

// Op is one operation of a violation's history.
type Op struct {
	Write           bool          // else a read
	Session         int           // from 1: a client that lost its connection goes on as another one
	Register        int           // its row in the table
	Number          int64         // written or read; -1: no table or row
	Server          int           // of a read; 0 is not known
	Began, Returned time.Duration // since the start of the run
	Unfinished      bool          // a write that has not returned
}

// String is "session 3 writes 17 to register 2 at 1.200s..1.203s".
func (o Op) String() string {
	end := seconds(o.Returned)
	if o.Unfinished {
		end = "(no answer)"
	}
	if o.Write && o.Number == initial {
		return fmt.Sprintf("register %d begins with %d", o.Register, o.Number)
	}
	if o.Write {
		return fmt.Sprintf("session %d writes %d to register %d: %s..%s", o.Session, o.Number, o.Register, seconds(o.Began), end)
	}
	value, from := fmt.Sprint(o.Number), "an unknown server"
	if o.Number == absent {
		value = "no table or row"
	}
	if o.Server != 0 {
		from = fmt.Sprintf("server %d", o.Server)
	}
	return fmt.Sprintf("session %d reads %s in register %d from %s: %s..%s", o.Session, value, o.Register, from, seconds(o.Began), end)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.6fs", d.Seconds()) }

// Violation is the shortest history that shows one: its last operation is the
// read that the others make wrong.
type Violation struct {
	Kind Kind // which rule the last of Ops breaks
	Ops  []Op // the read that breaks it comes last
}

// String has a line for the kind and one for each operation.
func (v Violation) String() string {
	lines := []string{v.Kind.String()}
	for _, op := range v.Ops {
		lines = append(lines, "  "+op.String())
	}
	return strings.Join(lines, "\n")
}

// entitled is what a session was entitled to before a read.
type entitled struct {
	own  write
	seen sight
	past newest
}

// examples keeps the first violations of each kind.
type examples struct {
	limit int
	mu    sync.Mutex
	kept  [kinds][]Violation
}

func (e *examples) keep(s *session, r *register, before look, had entitled, v verdict, got sight) {
	e.mu.Lock()
	defer e.mu.Unlock()
	read := readOp(r.id, got)
	add := func(k Kind, ops ...Op) {
		if len(e.kept[k]) < e.limit {
			e.kept[k] = append(e.kept[k], Violation{k, append(ops, read)})
		}
	}
	if v.found&ownWriteMissing != 0 {
		add(OwnWrite, writeOp(r.id, had.own))
	}
	if v.found&wentBack != 0 {
		add(WentBack, readOp(r.id, had.seen))
	}
	if v.found&outOfOrder != 0 {
		add(OutOfOrder, writeOp(r.id, v.earlier), writeOp(had.past.register, had.past.write),
			readOp(had.past.register, had.past.sight))
	}
	if v.found&(stale|ownWriteMissing) == stale { // else it is told already
		add(CrossSession, writeOp(r.id, v.missed))
	}
	if v.found&inverted != 0 {
		add(Inversion, readOp(r.id, before.by))
	}
	if v.found&invented != 0 {
		add(Invented)
	}
}

func readOp(register int, s sight) Op {
	return Op{
		Write: s.byWrite, Session: s.session, Register: register, Number: s.number, Server: s.server,
		Began: s.began, Returned: s.returned,
	}
}

func writeOp(register int, w write) Op {
	return Op{
		Write: true, Session: w.session, Register: register, Number: w.number,
		Began: w.began, Returned: w.returned, Unfinished: w.returned < 0,
	}
}

// all returns the kept ones, by kind and time.
func (e *examples) all() []Violation {
	var all []Violation
	for _, kept := range e.kept {
		slices.SortFunc(kept, func(a, b Violation) int {
			return cmp.Compare(a.Ops[len(a.Ops)-1].Began, b.Ops[len(b.Ops)-1].Began)
		})
		all = append(all, kept...)
	}
	return all
}
