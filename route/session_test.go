package route

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/gtid"
)

// The directives of a session:
//
//	@ policy level=strong splitting=reads_before_write endpoint=read-only max_lag=30s ...
//	@ server NAME role=replica state=online lag=1s position=U:1-10 weight=100 ...  a new one, or a change
//	@ drop NAME                                  the server is gone from the list
//	@ session read_committed schema=d            what the proxy told the session
//	@ options flavor=mysql sql_mode=ANSI_QUOTES  how texts are read, as for statements
//	@ setting NAME=VALUE                         Session.Setting, which must take it
//	@ current U:1-10                             the primary's position, fetched after the read arrived; "none" forgets it
//	@ needed U:1-12 U:1-10                       of the first position the tables of a read need the second; "none" forgets it
//	@ chosen replica1 fetch needs=U:1-11         Snapshot.Chosen; "none" is none, "off" that reads at weak run anywhere
//	@ reset, @ reset keep_token                  COM_RESET_CONNECTION
//
// Each session starts with primary (weight 0), replica1 and replica2 (weight 100), online, no lag, all at U:1-10.
// The expectation is: target node reason reason ... and name=value; the node is "-" for none. Of the values wait,
// fetch and split are zero unless they are named, the others are compared only if they are named:
//
//	wait=10ms fallback=refuse fetch split level=weak token=session require=U:1-11 class=write
//	holds=kind:name@server,...  what the session holds afterwards, "none" for nothing
//	trx=none|unsent|SERVER|SERVER,written        the transaction afterwards
//	error=TEXT                  up to the end of the line
//
// An outcome is: < failed in_transaction=true autocommit_off=false position=U:1-11 state_changed

const firstUUID = "00000000-0000-0000-0000-000000000001"

// player is one session of the corpus being played.
type player struct {
	t        *testing.T
	place    string
	session  Session
	policy   Policy
	snap     Snapshot
	rotation Rotation
	// unsettled keeps what the session has seen that no position names; most of the corpus is about the rest.
	unsettled bool
}

func newPlayer(t *testing.T) *player {
	p := &player{t: t, policy: DefaultPolicy()}
	p.directive("server primary role=primary weight=0 position=U:1-10")
	p.directive("server replica1 position=U:1-10")
	p.directive("server replica2 position=U:1-10")
	return p
}

func (p *player) fatalf(format string, args ...any) {
	p.t.Helper()
	p.t.Fatalf("%s: %s", p.place, fmt.Sprintf(format, args...))
}

func (p *player) position(text string) gtid.Value {
	p.t.Helper()
	v, err := gtid.ParseValue(strings.ReplaceAll(text, "U:", firstUUID+":"))
	if err != nil {
		p.fatalf("%v", err)
	}
	return v
}

func (p *player) duration(text string) time.Duration {
	p.t.Helper()
	d, err := time.ParseDuration(text)
	if err != nil {
		p.fatalf("%v", err)
	}
	return d
}

// clock is a time of day.
func (p *player) clock(text string) time.Time {
	p.t.Helper()
	return time.Date(2026, 1, 1, 12, 0, 0, 0, time.UTC).Add(p.duration(text))
}

func (p *player) number(text string) int {
	p.t.Helper()
	n, err := strconv.Atoi(text)
	if err != nil {
		p.fatalf("%v", err)
	}
	return n
}

func (p *player) level(text string) Level {
	p.t.Helper()
	l, ok := ParseLevel(text)
	if !ok {
		p.fatalf("no level: %s", text)
	}
	return l
}

// directive does what one line that begins with @ says.
func (p *player) directive(line string) {
	p.t.Helper()
	words := strings.Fields(line)
	verb, words := words[0], words[1:]
	if verb == "server" || verb == "drop" {
		p.server(verb, words[0], words[1:])
		return
	}
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		ok := true
		switch verb {
		case "policy":
			ok = p.setPolicy(name, value)
		case "session":
			ok = p.setSession(name, value)
		case "options":
			r := reading{Options: p.session.Options}
			ok = r.option(p.t, p.place, name, value)
			p.session.Options = r.Options
		case "setting":
			if err := p.session.Setting(name, value); err != nil {
				p.fatalf("%v", err)
			}
		case "clock":
			p.snap.At = p.clock(word)
			p.session.Arrived = p.snap.At
		case "ahead":
			p.snap.Ahead = p.position(word)
		case "needed":
			p.snap.NeededKnown = word != "none"
			if p.snap.NeededKnown {
				p.snap.Whole, p.snap.Needed = p.position(words[0]), p.position(words[1])
			}
		case "current":
			p.snap.CurrentKnown = word != "none"
			if p.snap.Current = (gtid.Value{}); p.snap.CurrentKnown {
				p.snap.Current = p.position(word)
			}
		case "chosen":
			ok = p.setChosen(word)
		case "reset":
			ok = word == "keep_token"
		default:
			ok = false
		}
		if !ok {
			p.fatalf("unknown: %s %s", verb, word)
		}
	}
	if verb == "reset" {
		p.session.Reset(len(words) == 1)
	}
}

// setChosen reads "NAME", which begins a choice anew, "none", "off", "fetch" and "needs=U:1-11".
func (p *player) setChosen(word string) bool {
	one := &p.snap.Chosen
	switch name, value, _ := strings.Cut(word, "="); name {
	case "off":
		p.snap.Choose = false
	case "fetch":
		one.Fetch = true
	case "needs":
		one.Needs = p.position(value)
	default:
		p.snap.Choose, *one = true, Chosen{Server: p.snap.Find(name)}
		return one.Server >= 0 || name == "none"
	}
	return true
}

func (p *player) setPolicy(name, value string) bool {
	p.t.Helper()
	switch name {
	case "level":
		p.policy.Level = p.level(value)
	case "splitting":
		p.policy.Splitting = SplitOff
		if value == "reads_before_write" {
			p.policy.Splitting = SplitBeforeWrite
		}
	case "endpoint":
		p.policy.Endpoint = ReadWrite
		if value == "read-only" {
			p.policy.Endpoint = ReadOnly
		}
	case "max_lag":
		p.policy.MaxLag = p.duration(value)
	case "max_staleness":
		p.policy.MaxStaleness = p.duration(value)
	case "method":
		method, ok := ParseMethod(value)
		if !ok {
			p.t.Fatalf("there is no method %s", value)
		}
		p.policy.Method = method
	case "sleep":
		p.policy.Sleep = p.duration(value)
	case "monotonic":
		p.policy.Monotonic = true
	case "min_reserved":
		p.policy.MinReserved = p.number(value)
	case "session_timeout":
		p.policy.SessionTimeout = p.duration(value)
	case "global_timeout":
		p.policy.GlobalTimeout = p.duration(value)
	case "error_on_timeout":
		p.policy.ErrorOnTimeout = value != "false"
	case "system_schemas_on_replicas":
		p.policy.SystemSchemasOnReplicas = true
		p.session.Options.SystemSchemasOnReplicas = true
	default:
		return false
	}
	return true
}

func (p *player) setSession(name, value string) bool {
	switch name {
	case "read_committed":
		p.session.SetReadCommitted(value != "false")
	case "schema":
		p.session.Schema = value
	case "autocommit_off":
		p.session.AutocommitOff = true
	case "unsettled":
		p.unsettled = true
	default:
		return false
	}
	return true
}

func (p *player) server(verb, name string, words []string) {
	p.t.Helper()
	i := p.snap.Find(name)
	if verb == "drop" {
		p.snap.Servers = slices.Delete(p.snap.Servers, i, i+1)
		return
	}
	if i < 0 {
		i = len(p.snap.Servers)
		p.snap.Servers = append(p.snap.Servers, Server{Name: name, State: Online, LagKnown: true, Weight: 100})
	}
	sv := &p.snap.Servers[i]
	for _, word := range words {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "role":
			if sv.Role = Replica; value == Primary.String() {
				sv.Role = Primary
			}
		case "state":
			states := []State{Unproven, Online, Broken, Offline}
			at := slices.IndexFunc(states, func(s State) bool { return s.String() == value })
			if at < 0 {
				p.fatalf("no state: %s", value)
			}
			sv.State = states[at]
		case "lag":
			if sv.Lag, sv.LagKnown = 0, value != "unknown"; sv.LagKnown {
				sv.Lag = p.duration(value)
			}
		case "position":
			sv.Position = p.position(value)
		case "weight":
			sv.Weight = p.number(value)
		case "active":
			sv.Active = p.number(value)
		case "no_delay_at":
			sv.NoDelayAt = p.clock(value)
		case "epoch":
			sv.Epoch = uint64(p.number(value))
		default:
			p.fatalf("unknown: server %s", word)
		}
	}
}

func (p *player) outcome(line string) Outcome {
	p.t.Helper()
	out := Outcome{At: p.snap.At}
	for _, word := range strings.Fields(line) {
		name, value, _ := strings.Cut(word, "=")
		switch name {
		case "failed":
			out.Failed = true
		case "in_transaction":
			out.StatusKnown, out.InTransaction = true, value == "true"
		case "autocommit_off":
			out.StatusKnown, out.AutocommitOff = true, value == "true"
		case "position":
			out.Position = p.position(value)
		case "state_changed":
			out.StateChanged = true
		case "wrote":
			out.Wrote = true
		default:
			p.fatalf("unknown outcome: %s", word)
		}
	}
	return out
}

// step plays one statement and compares.
func (p *player) step(c corpusCase) {
	p.t.Helper()
	p.place = c.place
	for _, line := range c.directives {
		p.directive(line)
	}
	p.rotation = Rotation{}
	text := (&reading{bytes: true}).text(c.sql)
	st := Classify(text, &p.session.Options)
	if !p.unsettled {
		p.session.seen = seen{} // as if the server had proven what it showed
	}
	d := p.session.Decide(&st, text, &p.policy, &p.snap, &p.rotation)
	p.promise(&st, &d, c.sql)
	if !d.Fetch && d.Hold == 0 && (d.Server >= 0 || d.Error == "") { // else it is decided again, or never sent
		p.session.Apply(&st, text, &d, &p.snap, p.outcome(c.outcome))
	}
	line, wantError, _ := strings.Cut(c.want, " error=")
	if wantError != "" && d.Error != wantError {
		p.t.Errorf("%s: %s\n got error=%s\nwant error=%s", p.place, c.sql, d.Error, wantError)
	}
	want := strings.Fields(line)
	if got := p.describe(&d, want); got != strings.Join(want, " ") {
		p.t.Errorf("%s: %s\n got %s\nwant %s", p.place, c.sql, got, strings.Join(want, " "))
	}
}

// promise holds for every statement of every session.
func (p *player) promise(st *Statement, d *Decision, sql string) {
	p.t.Helper()
	if broken := brokenPromise(st, d, &p.policy, &p.snap); broken != "" {
		p.t.Errorf("%s: %s: %s", p.place, sql, broken)
	}
}

// brokenPromise says what must never be, "" if it is not.
func brokenPromise(st *Statement, d *Decision, p *Policy, snap *Snapshot) string {
	if d.Server >= len(snap.Servers) {
		return "no such server"
	}
	if d.Server < 0 {
		if d.Target == ToReplica && !d.Fetch && d.Hold == 0 {
			return "a replica without a server"
		}
		return ""
	}
	sv := &snap.Servers[d.Server]
	switch {
	case d.Target == Answer || d.Target == Refuse:
		return d.Target.String() + " with a server"
	case len(d.Reasons()) == 0:
		return "no reason"
	case p.Endpoint == ReadOnly && sv.Role == Primary:
		return "a read-only endpoint reaches the primary"
	case st.Reason == UnknownFunction && d.Reason() == InReadOnlyTransaction: // the server refuses its writes
		return ""
	case p.Endpoint == ReadWrite && sv.Role == Replica && st.Target == ToPrimary && st.Class.rank() >= LockingRead.rank():
		return "a " + st.Class.String() + " goes to a replica"
	case sv.State == Offline, sv.State == Unproven && (d.Target == ToReplica || d.Target == ToPrimary):
		return "a server that is " + sv.State.String() + " is used"
	case d.Chosen && (!snap.Choose || d.Server != snap.Chosen.Server):
		return "another server than the chosen one"
	case snap.Choose && d.Level == Weak && !d.Chosen && p.Endpoint == ReadWrite && d.Target != ToHolder &&
		!slices.Contains(d.Reasons(), HintNode) && !slices.Contains(d.Reasons(), NodePinned):
		return "a read at weak on any server"
	}
	return ""
}

// describe writes a decision and the session after it as the corpus does, with
// those of the optional values that are asked for.
func (p *player) describe(d *Decision, want []string) string {
	node := "-"
	if d.Server >= 0 {
		node = p.snap.Servers[d.Server].Name
	}
	words := []string{d.Target.String(), node}
	for _, r := range d.Reasons() {
		words = append(words, r.String())
	}
	values := map[string]string{
		"fallback": d.Fallback.String(), "level": d.Level.String(), "token": d.Token.String(), "class": d.Class.String(),
		"require": strings.ReplaceAll(d.Require.String(), firstUUID+":", "U:"),
		"holds":   p.holds(), "trx": p.transaction(), "unchosen": strconv.FormatBool(d.Unchosen),
	}
	always := map[string]string{"wait": "", "fetch": "", "hold": "", "split": ""}
	if d.Wait != 0 {
		always["wait"] = "wait=" + d.Wait.String()
	}
	if d.Fetch {
		always["fetch"] = "fetch"
	}
	if d.Hold != 0 {
		always["hold"] = "hold=" + d.Hold.String()
	}
	if d.Split {
		always["split"] = "split"
	}
	for _, word := range want { // in the order in which they are asked for
		name, _, is := strings.Cut(word, "=")
		if got, ok := values[name]; ok && is {
			words = append(words, name+"="+got)
		} else if got, ok := always[name]; ok && got != "" {
			words = append(words, got)
			delete(always, name)
		}
	}
	for _, name := range []string{"wait", "fetch", "hold", "split"} { // nobody asked
		if always[name] != "" {
			words = append(words, always[name])
		}
	}
	return strings.Join(words, " ")
}

func (p *player) holds() string {
	var words []string
	for _, h := range p.session.Holds() {
		word := h.Kind.String()
		if h.Name != "" {
			word += ":" + strings.ReplaceAll(h.Name, " ", `\x20`)
		}
		if h.Server != "primary" {
			word += "@" + h.Server
		}
		words = append(words, word)
	}
	if words == nil {
		return "none"
	}
	return strings.Join(words, ",")
}

func (p *player) transaction() string {
	t := &p.session.Transaction
	switch {
	case !t.Open:
		return "none"
	case t.Server == "":
		return "unsent"
	case t.Written:
		return t.Server + ",written"
	}
	return t.Server
}

// TestSessions plays testdata/sessions.
func TestSessions(t *testing.T) {
	for _, path := range corpusFiles(t, "sessions") {
		t.Run(strings.TrimSuffix(path[strings.LastIndexByte(path, '/')+1:], ".txt"), func(t *testing.T) {
			p := newPlayer(t)
			for _, c := range corpus(t, path) {
				p.step(c)
			}
		})
	}
}

// TestReasonsCoverage asks for a case of every reason, in statements or sessions.
func TestReasonsCoverage(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range statementCases(t) {
		seen[strings.Fields(c.line)[2]] = true
	}
	for _, path := range corpusFiles(t, "sessions") {
		for _, c := range corpus(t, path) {
			line, _, _ := strings.Cut(c.want, " error=")
			for _, word := range strings.Fields(line)[2:] {
				seen[word] = true
			}
		}
	}
	for _, r := range AllReasons() {
		if !seen[r.String()] {
			t.Errorf("no case of the corpus has the reason %v", r)
		}
	}
}
