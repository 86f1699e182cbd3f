package commands

import (
	"fmt"
	"os"
	"strconv"
	"strings"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/route"
)

// defaultWeight is a replica's share of reads where none is given. A primary
// has 0: it is read only if no replica can be.
const defaultWeight = 100

// exampleUUID is the primary's of the example, as the manual's examples have it.
const exampleUUID = "3e11fa47-71ca-11e1-9e33-c80aa9429562"

// exampleServers are a primary and two replicas that have all of it.
func exampleServers(f flavor.Flavor) (route.Snapshot, error) {
	position, err := gtid.ParseValue(exampleUUID + ":1-100")
	if f == flavor.MariaDB {
		position, err = gtid.ParseValue("0-1-100")
	}
	s := route.Snapshot{Servers: []route.Server{
		{Name: "primary", Role: route.Primary},
		{Name: "replica1", LagKnown: true, Weight: defaultWeight},
		{Name: "replica2", LagKnown: true, Weight: defaultWeight},
	}}
	for i := range s.Servers {
		s.Servers[i].State, s.Servers[i].Position = route.Online, position
	}
	return s, err
}

// readState reads a file of servers, one a line:
//
//	NAME primary|replica [online|broken|offline|unproven] KEY=VALUE...
//
// The keys are position, lag, weight, active, zone and why. A # begins a comment.
func readState(path string) (route.Snapshot, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return route.Snapshot{}, usagef("--state: %w", err)
	}
	var s route.Snapshot
	number := 0
	for line := range strings.Lines(string(data)) {
		number++
		r := stateLine{rest: strings.TrimRight(line, "\r\n"), snapshot: &s}
		if err := r.read(); err != nil {
			return s, usagef("%s:%d:%d: %w", path, number, r.column(), err)
		}
	}
	if len(s.Servers) == 0 {
		return s, usagef("%s: there is no server in it", path)
	}
	return s, nil
}

// stateLine is one line being read.
type stateLine struct {
	rest     string // from the present word on
	at       int    // bytes before it
	snapshot *route.Snapshot
	server   route.Server
	seen     map[string]bool
}

// column is the one of the present word, from 1.
func (l *stateLine) column() int { return l.at + 1 }

// word returns the next word; quotes keep blanks together. It stays the
// present one until step.
func (l *stateLine) word() string {
	trimmed := strings.TrimLeft(l.rest, " \t")
	l.at += len(l.rest) - len(trimmed)
	l.rest = trimmed
	quoted := false
	for i := 0; i < len(l.rest); i++ {
		switch c := l.rest[i]; {
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == ' ', c == '\t':
			return l.rest[:i]
		case c == '#' && i == 0:
			return ""
		}
	}
	return l.rest
}

func (l *stateLine) step(word string) {
	l.rest = l.rest[len(word):]
	l.at += len(word)
}

func (l *stateLine) read() error {
	name := l.word()
	if name == "" {
		return nil
	}
	if strings.ContainsAny(name, `="`) {
		return fmt.Errorf("a line begins with the server's name, not with %s", name)
	}
	if l.snapshot.Find(name) >= 0 {
		return fmt.Errorf("%s stands there twice", name)
	}
	l.step(name)
	l.server = route.Server{Name: name, State: route.Online, Weight: defaultWeight}
	role := l.word()
	switch role {
	case "primary":
		l.server.Role, l.server.Weight = route.Primary, 0
	case "replica":
	default:
		return fmt.Errorf("behind the name stands primary or replica, not %s", strconv.Quote(role))
	}
	l.step(role)
	l.seen = map[string]bool{}
	for first := true; ; first = false {
		word := l.word()
		if word == "" {
			break
		}
		key, value, assigned := strings.Cut(word, "=")
		if !assigned {
			if err := l.state(word, first); err != nil {
				return err
			}
		} else if err := l.set(key, value); err != nil {
			return err
		}
		l.step(word)
	}
	if err := l.complete(); err != nil {
		return err
	}
	l.snapshot.Servers = append(l.snapshot.Servers, l.server)
	return nil
}

func (l *stateLine) state(word string, first bool) error {
	states := []route.State{route.Online, route.Broken, route.Offline, route.Unproven}
	for _, s := range states {
		if first && s.String() == word && (l.server.Role == route.Replica || s == route.Online || s == route.Offline) {
			l.server.State = s
			return nil
		}
	}
	return fmt.Errorf("%s is neither a state nor KEY=VALUE", strconv.Quote(word))
}

func (l *stateLine) set(key, value string) (err error) {
	if l.seen[key] {
		return fmt.Errorf("%s stands there twice", key)
	}
	l.seen[key] = true
	if strings.Contains(value, `"`) {
		n := len(value)
		if n < 2 || value[0] != '"' || value[n-1] != '"' || strings.Count(value, `"`) != 2 {
			return fmt.Errorf("quotes stand around the whole value: %s=\"...\"", key)
		}
		value = value[1 : n-1]
	}
	sv := &l.server
	switch key {
	case "position":
		sv.Position, err = gtid.ParseValue(value)
	case "lag":
		if sv.LagKnown = value != "unknown"; sv.LagKnown {
			sv.Lag, err = parseDuration(value)
		}
	case "weight":
		sv.Weight, err = wholeNumber(value)
	case "active":
		sv.Active, err = wholeNumber(value)
	case "zone":
		sv.Zone = value
	case "why":
		sv.Why = value
	default:
		return fmt.Errorf("unknown key %s: position, lag, weight, active, zone and why are known", strconv.Quote(key))
	}
	if err != nil {
		return fmt.Errorf("%s: %w", key, err)
	}
	return nil
}

// wholeNumber reads a number that a sum of some of them does not overflow.
func wholeNumber(text string) (int, error) {
	n, err := strconv.ParseUint(text, 10, 31)
	if err != nil {
		return 0, fmt.Errorf("%q is not a whole number", text)
	}
	return int(n), nil
}

// complete checks what a server of that role must say.
func (l *stateLine) complete() error {
	sv := &l.server
	l.rest = strings.TrimLeft(l.rest, " \t")
	switch {
	case sv.Role == route.Primary && l.seen["lag"]:
		return fmt.Errorf("a primary has no lag")
	case sv.Role == route.Primary && sv.State == route.Online && sv.Position.IsEmpty():
		return fmt.Errorf("a primary needs position=...: what its replicas have is compared with it")
	case sv.Role == route.Replica && sv.State == route.Online && !l.seen["lag"]:
		return fmt.Errorf("a replica that is online needs lag=0.2s or lag=unknown")
	}
	for i := range l.snapshot.Servers {
		other := l.snapshot.Servers[i].Position
		if a, b := other.Kind(), sv.Position.Kind(); a != b && a != gtid.KindEither && b != gtid.KindEither {
			return fmt.Errorf("the position is a %s, that of %s a %s: they cannot be compared", b, l.snapshot.Servers[i].Name, a)
		}
	}
	return nil
}
