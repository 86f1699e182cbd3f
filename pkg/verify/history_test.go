package verify

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	"pgregory.net/rapid"
)

// past is what a player's operation was, with its place among all beginnings
// and ends of operations.
type past struct {
	session, register int
	write             bool
	overtaken         bool // a write that changed nothing
	number            int64
	began, returned   time.Duration // returned < 0: never
	issued            int64         // highest number begun when a read returned
	found             finding
}

// player performs a history on registers and sessions as clients do. Every
// beginning and end has a moment of its own.
type player struct {
	at        time.Duration
	clock     atomic.Int64
	registers []*register
	sessions  []*session
	open      []*pending // by session
	log       []past
	sample    sample
}

type pending struct {
	past
	before look
	w      write
}

func newPlayer(sessions, registers, window int) *player {
	p := &player{open: make([]*pending, sessions)}
	p.sample = sample{random: rand.New(rand.NewPCG(1, 2)), size: window, limit: 1000}
	for i := range registers {
		p.registers = append(p.registers, newRegister(i, 1024))
		p.registers[i].window.sample = &p.sample
	}
	for i := range sessions {
		p.sessions = append(p.sessions, newSession(i, registers))
	}
	return p
}

func (p *player) now() time.Duration { p.at++; return p.at }

func (p *player) begin(session, register int, isWrite bool) {
	r := p.registers[register]
	o := &pending{past: past{session: session, register: register, write: isWrite, returned: -1}}
	o.before = r.look(&p.clock)
	if isWrite {
		o.w = r.issue(session, p.now)
		o.began, o.number = o.w.began, o.w.number
	} else {
		o.began = p.now()
	}
	p.open[session] = o
}

// end finishes a session's operation. A read has seen the number, and so has a
// write if it is above its own.
func (p *player) end(session int, number int64) finding {
	o := p.open[session]
	p.open[session] = nil
	r, s := p.registers[o.register], p.sessions[session]
	o.returned = p.now()
	if o.write {
		if o.overtaken = number > o.number; o.overtaken {
			s.overtaken(r, o.w, o.returned)
		} else {
			s.wrote(r, o.w, o.returned)
		}
		r.end(&p.clock, o.before.span, o.number, session, true)
	} else {
		o.number, o.issued = number, r.issued
		got := sight{number: number, session: session, began: o.began, returned: o.returned}
		o.found = s.judgeRead(r, o.before, got).found
		if o.found&invented == 0 {
			r.end(&p.clock, o.before.span, number, session, false)
		}
	}
	p.log = append(p.log, o.past)
	return o.found
}

// lose leaves a write without an answer.
func (p *player) lose(session int) {
	p.log = append(p.log, p.open[session].past)
	p.open[session] = nil
}

// found applies the definitions of doc.go to the whole history.
func (p *player) found(read past) finding {
	var f finding
	var own, back, acked, shown int64 = 0, absent, 0, 0
	for _, o := range p.log {
		if o.returned < 0 || o.returned >= read.began || o.register != read.register || o.found&invented != 0 {
			continue
		}
		shown = max(shown, o.number)
		switch {
		case o.overtaken:
		case o.write:
			acked = max(acked, o.number)
			if o.session == read.session {
				own = max(own, o.number)
			}
		case o.session == read.session:
			back = max(back, o.number)
		}
	}
	n := read.number
	if own > 0 && n < own {
		f |= ownWriteMissing
	}
	if n < back {
		f |= wentBack
	}
	if f == 0 && p.disordered(read) {
		f |= outOfOrder
	}
	switch {
	case n < acked:
		f |= stale
	case n < shown:
		f |= inverted
	case n > read.issued:
		f |= invented
	}
	return f
}

// disordered: the session has seen a write that began after one had returned
// that this read does not see.
func (p *player) disordered(read past) bool {
	for _, seen := range p.log {
		if seen.write || seen.found&invented != 0 || seen.session != read.session || seen.returned >= read.began {
			continue
		}
		for _, later := range p.log {
			if !later.write || later.register != seen.register || later.number != seen.number {
				continue
			}
			if read.number == absent {
				return true // what the run began with was there before any write
			}
			for _, earlier := range p.log {
				if earlier.write && !earlier.overtaken && earlier.register == read.register && earlier.number > read.number &&
					earlier.returned >= 0 && earlier.returned < later.began {
					return true
				}
			}
		}
	}
	return false
}

// play performs a random history. choose picks what a read sees.
func play(t *rapid.T, p *player, steps int, choose func(t *rapid.T, o *pending) int64) {
	for range steps {
		i := rapid.IntRange(0, len(p.sessions)-1).Draw(t, "session")
		switch o := p.open[i]; {
		case o == nil:
			p.begin(i, rapid.IntRange(0, len(p.registers)-1).Draw(t, "register"), rapid.IntRange(0, 2).Draw(t, "write") == 0)
		case o.write && rapid.IntRange(0, 9).Draw(t, "lost") == 0:
			p.lose(i)
		case o.write:
			p.end(i, rapid.Int64Range(0, p.registers[o.register].issued).Draw(t, "there"))
		default:
			p.end(i, choose(t, o))
		}
	}
	for i, o := range p.open {
		if o != nil && o.write {
			p.lose(i)
		}
	}
}

// TestJudge_model: what is found read by read is what the definitions find in
// the whole history, whatever the reads return.
func TestJudge_model(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := newPlayer(3, 2, 1000)
		play(t, p, rapid.IntRange(1, 60).Draw(t, "steps"), func(t *rapid.T, o *pending) int64 {
			issued := p.registers[o.register].issued
			return max(absent, issued+1-int64(rapid.IntRange(0, 4).Draw(t, "back")))
		})
		for _, o := range p.log {
			if want := p.found(o); !o.write && o.found != want {
				t.Fatalf("found %b, want %b of %+v in\n%s", o.found, want, o, p)
			}
		}
	})
}

func (p *player) String() string {
	text := ""
	for _, o := range p.log {
		text += fmt.Sprintf("%+v\n", o)
	}
	return text
}

// TestJudge_linearizable: a history of one register is linearizable, as the
// checker sees it, exactly if nothing was found.
func TestJudge_linearizable(t *testing.T) {
	t.Parallel()
	verdicts := map[bool]int{}
	rapid.Check(t, func(t *rapid.T) {
		p := newPlayer(4, 1, 1000)
		play(t, p, rapid.IntRange(1, 40).Draw(t, "steps"), func(t *rapid.T, o *pending) int64 {
			shown, issued := p.registers[0].shown, p.registers[0].issued
			if rapid.IntRange(0, 19).Draw(t, "wild") == 0 {
				return shown - 1
			}
			return rapid.Int64Range(shown, issued).Draw(t, "number")
		})
		clean, history, written := true, []porcupine.Operation{}, map[int64]bool{}
		for _, o := range p.log {
			if o.write {
				written[o.number] = true
			}
			clean = clean && o.found == 0
			returned := o.returned
			if returned < 0 {
				returned = p.at + 1
			}
			history = append(history, porcupine.Operation{
				ClientId: o.session, Input: operation{write: o.write, number: o.number},
				Call: int64(o.began), Return: int64(returned),
			})
		}
		if want := porcupine.CheckOperations(highest(0, written), history); clean != want {
			t.Fatalf("nothing found: %t, linearizable: %t\n%s", clean, want, p)
		}
		verdicts[clean]++
	})
	if verdicts[true] == 0 || verdicts[false] == 0 {
		t.Errorf("histories of one kind only: %v", verdicts)
	}
}

// TestJudge_legal: nothing is found where every read sees something between
// what had been reached when it began and what has begun when it returns, and
// the windows of such a history are linearizable.
func TestJudge_legal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := newPlayer(6, 2, 8)
		play(t, p, rapid.IntRange(1, 150).Draw(t, "steps"), func(t *rapid.T, o *pending) int64 {
			return rapid.Int64Range(o.before.shown, p.registers[o.register].issued).Draw(t, "number")
		})
		for _, o := range p.log {
			if o.found&^outOfOrder != 0 {
				t.Fatalf("found %b in %+v in\n%s", o.found, o, p)
			}
		}
		for _, r := range p.registers {
			if w := r.window.current; w != nil {
				p.sample.keep(w)
			}
		}
		for _, w := range p.sample.windows {
			if w.check(time.Minute) != Yes {
				t.Fatalf("window from %d is not linearizable: %+v of\n%s", w.first, w.operations, p)
			}
		}
	})
}

// TestWindow_illegal: a violation within a window is found by the checker too.
func TestWindow_illegal(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		p := newPlayer(4, 1, 20)
		play(t, p, rapid.IntRange(1, 30).Draw(t, "steps"), func(t *rapid.T, _ *pending) int64 {
			return rapid.Int64Range(max(0, p.registers[0].shown-1), p.registers[0].issued).Draw(t, "number")
		})
		w := p.registers[0].window.current
		if w == nil || len(p.sample.windows) > 0 {
			return
		}
		// What began after the window did, and whose missed write is in it or before it.
		wrong := slices.ContainsFunc(w.operations, func(op operation) bool {
			return slices.ContainsFunc(w.operations, func(other operation) bool {
				return !op.write && other.returned < op.call && other.number > op.number
			})
		})
		if got := w.check(time.Minute); wrong && got != No {
			t.Fatalf("answer %d on %+v", got, w.operations)
		}
	})
}
