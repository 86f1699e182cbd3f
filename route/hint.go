package route

import (
	"strconv"
	"strings"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sqltoken"
)

// Hint is what the comments of a statement ask for. It is advice: it never sends
// a write to a replica. The zero value asks for nothing.
//
// Of two comments that ask for different things the first one counts, except
// that the primary is always the safer answer and wins.
type Hint struct {
	// Start and End are the bytes of the first comment that is a hint; the
	// server does not need it.
	Start, End int
	// Route is the server that it asks for.
	Route HintRoute
	// Only, with HintToReplica, never falls back on the primary.
	Only bool
	// Level counts if HasLevel, MaxStaleness if HasMaxStaleness and Timeout, for the wait, if HasTimeout.
	Level           Level
	HasLevel        bool
	MaxStaleness    time.Duration
	HasMaxStaleness bool
	Timeout         time.Duration
	HasTimeout      bool
	// Malformed says that a comment looked like a hint and could not be read.
	// It asks for nothing then.
	Malformed bool

	node, after span
}

// HintRoute is the server that a hint asks for.
type HintRoute uint8

// The routes.
const (
	// HintNone leaves the server to the session and the policy.
	HintNone HintRoute = iota
	// HintToPrimary asks for the primary, also for a read that a replica could answer.
	HintToPrimary
	// HintToReplica asks for a replica and for no position: only max_lag holds.
	HintToReplica
	// HintToNode asks for the server that Hint.Node names.
	HintToNode
	// HintToLast asks for the connection of the previous statement.
	HintToLast
)

// span is a part of the text.
type span struct{ start, end int }

// Node returns the server that HintToNode asks for; text is the one that was
// classified.
func (h *Hint) Node(text string) string { return text[h.node.start:h.node.end] }

// After returns the position that the read must not be older than, or "".
func (h *Hint) After(text string) string { return text[h.after.start:h.after.end] }

// Asks says whether there is anything to follow.
func (h *Hint) Asks() bool {
	return h.Route != HintNone || h.HasLevel || h.HasMaxStaleness || h.HasTimeout || h.after.end > 0
}

// Text returns the comment, or "" without one.
func (h *Hint) Text(text string) string { return text[h.Start:h.End] }

// hint looks at the comment that has just been read.
func (s *scan) hint() {
	start, end := s.tok.Start, s.tok.End
	var body span
	switch s.text[start] {
	case '/':
		body = span{start + 2, end - 2}
		if s.tok.Kind == sqltoken.Hint {
			body.start++
		} else if s.text[body.start] == '!' {
			return
		}
	case '#':
		body = span{start + 1, end}
	default:
		body = span{start + 2, end}
	}
	if body.start >= body.end {
		return
	}
	r := hintReader{text: s.text, at: body.start, end: body.end, found: Hint{Start: start, End: end}}
	r.next()
	if s.tok.Kind == sqltoken.Hint {
		r.optimizerHints()
	} else {
		r.comment()
	}
	if r.failed {
		r.found = Hint{Start: start, End: end, Malformed: true}
	} else if !r.found.Asks() {
		return
	}
	s.whole.Hint.add(&r.found)
}

// add joins a later hint to the ones before it.
func (h *Hint) add(other *Hint) {
	if h.End == 0 {
		h.Start, h.End = other.Start, other.End
	}
	h.Malformed = h.Malformed || other.Malformed
	switch {
	case h.Route == HintNone || other.Route == HintToPrimary:
		h.Route, h.node, h.Only = other.Route, other.node, other.Only
	}
	if !h.HasLevel && other.HasLevel {
		h.Level, h.HasLevel = other.Level, true
	}
	if !h.HasMaxStaleness && other.HasMaxStaleness {
		h.MaxStaleness, h.HasMaxStaleness = other.MaxStaleness, true
	}
	if !h.HasTimeout && other.HasTimeout {
		h.Timeout, h.HasTimeout = other.Timeout, true
	}
	if h.after.end == 0 {
		h.after = other.after
	}
}

// hintReader reads the inside of one comment, a word or a byte at a time.
type hintReader struct {
	text   string
	at     int // behind the present piece
	end    int
	word   span // the present piece; empty at the end
	begun  bool // it is a hint, so that what cannot be read is an error
	failed bool
	found  Hint
}

func wordByte(c byte) bool {
	return c|0x20 >= 'a' && c|0x20 <= 'z' || c >= '0' && c <= '9' || c == '_' || c == '.' || c >= 0x80
}

// next steps to the next piece: a word, a quoted text without its quotes, or a
// byte of punctuation.
func (r *hintReader) next() {
	i := r.at
	for i < r.end && r.text[i] <= ' ' {
		i++
	}
	j := i
	for j < r.end && wordByte(r.text[j]) {
		j++
	}
	if i < r.end && j == i {
		j++
		if q := r.text[i]; q == '\'' || q == '"' || q == '`' {
			n := strings.IndexByte(r.text[j:r.end], q)
			if n < 0 {
				r.failed = r.begun
				n = r.end - j
			}
			r.word = span{j, j + n}
			r.at = min(j+n+1, r.end)
			return
		}
	}
	r.word, r.at = span{i, j}, j
}

func (r *hintReader) is(keyword string) bool {
	return equal(r.text[r.word.start:r.word.end], keyword)
}

func (r *hintReader) piece() string { return r.text[r.word.start:r.word.end] }

func (r *hintReader) done() bool { return r.word.start >= r.end }

// accept steps over the piece if it is the one that is asked for.
func (r *hintReader) accept(piece string) bool {
	if !r.is(piece) {
		return false
	}
	r.next()
	return true
}

// expect is accept for what must be there.
func (r *hintReader) expect(piece string) {
	if !r.accept(piece) {
		r.failed = true
	}
}

// comment reads a plain comment. Any that does not begin as a hint does is
// somebody's remark.
func (r *hintReader) comment() {
	w := r.piece()
	switch {
	case flavor.PrimaryWord(w), len(w) > 6 && equal(w[:6], "force_") && flavor.PrimaryWord(w[6:]):
		r.alone(HintToPrimary)
	case len(w) > 6 && equal(w[:6], "force_") && flavor.ReplicaWord(w[6:]):
		r.alone(HintToReplica)
	case flavor.ReplicaWord(w):
		r.replica()
	case r.is("force_node"):
		r.begun = true
		r.next()
		r.expect("=")
		r.found.Route, r.found.node = HintToNode, r.rest()
		r.failed = r.failed || r.found.node.end <= r.found.node.start
	case r.is("to"):
		r.to(false)
	case r.is("maxscale"):
		r.begun = true
		r.next()
		r.maxscale()
	case r.is("mysqlrw"):
		r.optimizerHints()
	}
}

// alone records the route of a hint whose last word is the present one. More
// words make it a remark.
func (r *hintReader) alone(route HintRoute) {
	r.next()
	if r.done() {
		r.found.Route = route
	}
}

// replica reads replica, replica:20, replica:replicaonly and
// replica:replicaonly,20, in the old words too.
func (r *hintReader) replica() {
	r.next()
	if r.done() {
		r.found.Route = HintToReplica
		return
	}
	if !r.accept(":") {
		return
	}
	r.found.Route, r.found.Only = HintToReplica, true
	if w := r.piece(); len(w) > 4 && equal(w[len(w)-4:], "only") && flavor.ReplicaWord(w[:len(w)-4]) {
		r.next()
		if r.done() {
			return
		}
		r.expect(",")
	}
	r.found.MaxStaleness, r.found.HasMaxStaleness = r.duration(time.Second), true
	r.failed = r.failed || !r.done()
}

// to reads to primary, to replica, to server name and, behind maxscale route,
// to last.
func (r *hintReader) to(sure bool) {
	r.next()
	switch w := r.piece(); {
	case flavor.PrimaryWord(w):
		r.alone(HintToPrimary)
	case flavor.ReplicaWord(w):
		r.alone(HintToReplica)
	case r.is("last") && sure:
		r.alone(HintToLast)
	case r.accept("server"):
		r.found.node = r.rest()
		if r.found.node.end > r.found.node.start && !strings.ContainsAny(r.text[r.found.node.start:r.found.node.end], " \t\n") {
			r.found.Route = HintToNode
		}
	default:
		r.failed = sure
	}
}

// rest returns the present piece and all behind it: a server's name may have
// dashes and colons in it.
func (r *hintReader) rest() span {
	if r.word.start > 0 && strings.IndexByte("'\"`", r.text[r.word.start-1]) >= 0 {
		return r.word
	}
	text := strings.TrimRight(r.text[r.word.start:r.end], " \t\r\n")
	return span{r.word.start, r.word.start + len(text)}
}

// maxscale reads "route to x" and the greatest lag of a replica.
func (r *hintReader) maxscale() {
	if r.accept("route") {
		if !r.is("to") {
			r.failed = true
			return
		}
		r.to(true)
		return
	}
	w := r.piece()
	const before, behind = "max_", "_replication_lag"
	if len(w) > len(before)+len(behind) && equal(w[:len(before)], before) && equal(w[len(w)-len(behind):], behind) &&
		flavor.ReplicaWord(w[len(before):len(w)-len(behind)]) {
		r.next()
		r.expect("=")
		r.found.MaxStaleness, r.found.HasMaxStaleness = r.duration(time.Second), true
		return
	}
	r.failed = true
}

// optimizerHints looks for ours and OceanBase's among the hints for the
// server's optimizer, which are none of our business.
func (r *hintReader) optimizerHints() {
	first := r.word
	for !r.done() && !r.failed {
		switch {
		case r.is("mysqlrw"):
			r.begun = true
			r.next()
			r.settings()
		case r.is("read_consistency"):
			r.next()
			r.expect("(")
			r.consistency()
			r.expect(")")
		case r.word == first && (flavor.PrimaryWord(r.piece()) || flavor.ReplicaWord(r.piece())):
			r.comment()
		default:
			r.next()
		}
	}
}

// consistency reads a level.
func (r *hintReader) consistency() {
	level, ok := ParseLevel(r.piece())
	if !ok {
		r.failed = true
		return
	}
	r.found.Level, r.found.HasLevel = level, true
	r.next()
}

// settings reads (name=value, ...).
func (r *hintReader) settings() {
	r.expect("(")
	for !r.failed {
		key := r.piece()
		r.next()
		r.expect("=")
		switch {
		case r.failed:
		case equal(key, "consistency"):
			r.consistency()
		case equal(key, "timeout"):
			r.found.Timeout, r.found.HasTimeout = r.duration(0), true
		case equal(key, "max_staleness"):
			r.found.MaxStaleness, r.found.HasMaxStaleness = r.duration(0), true
		case equal(key, "after"):
			r.found.after = r.word
			r.next()
		case equal(key, "node"):
			r.found.node, r.found.Route = r.word, HintToNode
			r.next()
			for !r.done() && !r.is(",") && !r.is(")") { // a name with dashes
				r.found.node.end = r.word.end
				r.next()
			}
		default:
			r.failed = true
		}
		if r.accept(")") {
			return
		}
		r.expect(",")
	}
}

// duration reads 50ms, 2s or 1m30s or, where a unit is given, a bare number of
// it.
func (r *hintReader) duration(unit time.Duration) time.Duration {
	text := r.piece()
	r.next()
	number, letters, pairs := 0, 0, 0
	for i := range len(text) {
		switch c := text[i]; {
		case c >= '0' && c <= '9' || c == '.' && number > 0:
			if letters > 0 {
				number, letters, pairs = 0, 0, pairs+1
			}
			number++
		case strings.IndexByte("hmsun", c|0x20) >= 0 && number > 0:
			letters++
		default:
			r.failed = true
			return 0
		}
	}
	var d time.Duration
	var err error
	switch {
	case letters > 0:
		d, err = time.ParseDuration(strings.ToLower(text))
	case number == 0 || number > 9 || pairs > 0 || unit == 0 && strings.Trim(text, "0") != "":
		r.failed = true
	default:
		n := 0
		n, err = strconv.Atoi(text)
		d = time.Duration(n) * unit
	}
	if err != nil {
		r.failed = true
		return 0
	}
	return d
}
