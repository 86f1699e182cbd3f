package verify

import (
	"strconv"
	"strings"
	"testing"
	"time"
)

// perform plays a text: "0w1" begins a write of session 0 to register 1, "0r1"
// a read, "0=5" ends the read with what it saw, "0." ends the write, "0?" loses
// it, "0!" ends one that found a higher number. It returns what was found of the last read.
func perform(t *testing.T, p *player, text string) finding {
	t.Helper()
	var last finding
	for _, word := range strings.Fields(text) {
		session, rest := int(word[0]-'0'), word[2:]
		switch word[1] {
		case 'w', 'r':
			register, _ := strconv.Atoi(rest)
			p.begin(session, register, word[1] == 'w')
		case '=':
			number, err := strconv.ParseInt(rest, 10, 64)
			if err != nil {
				t.Fatal(err)
			}
			last = p.end(session, number)
		case '.':
			p.end(session, 0)
		case '!':
			p.end(session, p.open[session].number+1)
		case '?':
			p.lose(session)
		default:
			t.Fatalf("what is %q?", word)
		}
	}
	return last
}

// TestJudge: what is found of the last read of a history. Numbers of each
// register begin at 1.
func TestJudge(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		name, history string
		want          finding
	}{
		{"nothing was written", "0r0 0=0", 0},
		{"own write seen", "0w0 0. 0r0 0=1", 0},
		{"own write missed", "0w0 0. 0r0 0=0", ownWriteMissing | stale},
		{"own newest write missed", "0w0 0. 0w0 0. 0r0 0=1", ownWriteMissing | stale},
		{"own write has no answer", "0w0 0? 0r0 0=0", 0},
		{"write without an answer seen and lost again", "0w0 0? 0r0 0=1 0r0 0=0", wentBack | inverted},
		{"write without an answer seen late", "0w0 0? 0r0 0=0 1w0 1. 1r0 1=2 0r0 0=2", 0},
		{"somebody else's write missed", "0w0 0. 1r0 1=0", stale},
		{"write that returns while the read runs", "0w0 1r0 0. 1=0", 0},
		{"write seen before it returns", "0w0 1r0 1=1", 0},
		{"number that nobody has written", "0w0 1r0 1=2", invented},
		{"write that begins while the read runs", "1r0 0w0 1=1", 0},
		{"gone back behind what was seen", "0w0 1r0 1=1 1r0 1=0", wentBack | inverted},
		{"seen by another session already", "0w0 1r0 1=1 2r0 2=0", inverted},
		{"seen by another session at the same time", "0w0 1r0 2r0 1=1 2=0", 0},
		{"no table, before anything", "1r0 1=-1", stale},
		{"no table, after it was there", "1r0 1=0 1r0 1=-1", wentBack | stale},
		{"no table, after a write", "0w0 0. 0r0 0=-1", ownWriteMissing | stale},
		{"later write seen, earlier one not", "0w0 0. 0w1 0. 1r1 1=1 1r0 1=0", outOfOrder | stale},
		{"earlier one of another session", "0w0 0. 2w1 2. 1r1 1=1 1r0 1=0", outOfOrder | stale},
		{"both at the same time", "0w0 2w1 0. 2. 1r1 1=1 1r0 1=0", stale},
		{"the later one not seen", "0w0 0. 0w1 0. 1r1 1=0 1r0 1=0", stale},
		{"an older one seen since", "0w0 0. 0w1 0. 0w2 0. 1r2 1=1 1r1 1=1 1r0 1=0", outOfOrder | stale},
		{"an older one seen last", "0w2 0. 0w0 0. 0w1 0. 1r1 1=1 1r2 1=1 1r0 1=0", outOfOrder | stale},
		{"a higher number that returned before", "2w0 0w0 0. 1w1 2. 1. 3r1 3=1 3r0 3=0", outOfOrder | stale},
		{"own write overtaken, and the higher one not seen", "0w0 1w0 0! 0r0 0=0", inverted},
		{"own write overtaken by one that returned", "0w0 1w0 1. 0! 0r0 0=0", stale},
		{"seen where a write was overtaken", "0w0 1w0 0! 2r0 2=2", 0},
		{"own writes put nothing in order", "0w0 0. 1w1 1. 1r0 1=0", stale},
	} {
		p := newPlayer(4, 3, 1000)
		if got := perform(t, p, test.history); got != test.want {
			t.Errorf("%s: found %06b, want %06b", test.name, got, test.want)
		}
		for _, o := range p.log {
			if want := p.found(o); !o.write && o.found != want {
				t.Errorf("%s: found %06b, by the definitions %06b", test.name, o.found, want)
			}
		}
	}
}

// TestJudge_staleness: from the return of the first write that was missed to
// the beginning of the read, however many were missed and whatever returned
// later.
func TestJudge_staleness(t *testing.T) {
	t.Parallel()
	r, s := newRegister(0, 1024), newSession(1, 1)
	clock := time.Duration(0)
	now := func() time.Duration { return clock }
	first, second := r.issue(2, now), r.issue(3, now)
	r.returnedOf(second, 20*time.Millisecond)
	r.returnedOf(first, 50*time.Millisecond)
	before := look{acked: r.acked, shown: r.shown}
	v := s.judgeRead(r, before, sight{number: 0, began: 100 * time.Millisecond, returned: 300 * time.Millisecond})
	if v.staleness != 80*time.Millisecond || v.missed.number != 2 {
		t.Errorf("stale by %s, for %d", v.staleness, v.missed.number)
	}
	v = s.judgeRead(r, before, sight{number: 2, began: 100 * time.Millisecond, returned: 300 * time.Millisecond})
	if v.staleness != 0 || v.found != 0 {
		t.Errorf("fresh, but stale by %s: %b", v.staleness, v.found)
	}
}

// TestJudge_forgotten: the newest writes are known however many there were, and
// a read of a number whose times are forgotten is still judged.
func TestJudge_forgotten(t *testing.T) {
	t.Parallel()
	p := newPlayer(2, 1, 1000)
	p.registers[0].limit = 8
	for range 100 {
		perform(t, p, "0w0 0.")
	}
	if len(p.registers[0].kept) != 8 {
		t.Errorf("%d writes are kept", len(p.registers[0].kept))
	}
	if got := perform(t, p, "1r0 1=100"); got != 0 {
		t.Errorf("found %b", got)
	}
	if got := perform(t, p, "1r0 1=3"); got != wentBack|stale {
		t.Errorf("found %b", got)
	}
}

// TestWindow: what the checker says of single windows.
func TestWindow(t *testing.T) {
	t.Parallel()
	read := func(call, returned, number int64) operation {
		return operation{call: call, returned: returned, number: number}
	}
	write := func(call, returned, number int64) operation {
		return operation{call: call, returned: returned, number: number, write: true}
	}
	for _, test := range []struct {
		name  string
		first int64
		ops   []operation
		want  Answer
	}{
		{"in order", 0, []operation{write(1, 2, 1), read(3, 4, 1)}, Yes},
		{"missed", 0, []operation{write(1, 2, 1), read(3, 4, 0)}, No},
		{"at the same time", 0, []operation{write(1, 4, 1), read(2, 3, 0)}, Yes},
		{"older than the window", 5, []operation{read(1, 2, 4)}, No},
		{"newer than the window, written outside", 5, []operation{read(1, 2, 7), read(3, 4, 7)}, Yes},
		{"written outside, and gone again", 5, []operation{read(1, 2, 7), read(3, 4, 6)}, No},
		{"read before it is written", 0, []operation{read(1, 2, 1), write(3, 4, 1)}, No},
		{"a lower write changes nothing", 0, []operation{write(1, 2, 2), write(3, 4, 1), read(5, 6, 2)}, Yes},
		{"a lower write is not seen", 0, []operation{write(1, 2, 2), write(3, 4, 1), read(5, 6, 1)}, No},
	} {
		w := window{first: test.first, operations: test.ops}
		if got := w.check(time.Minute); got != test.want {
			t.Errorf("%s: %d, want %d", test.name, got, test.want)
		}
	}
}

// TestHistogram: a quantile is right within 4 % of the value.
func TestHistogram(t *testing.T) {
	t.Parallel()
	var h histogram
	if h.spread() != (Spread{}) {
		t.Errorf("nothing measured: %+v", h.spread())
	}
	for i := range 10_000 {
		h.add(time.Duration(i+1) * time.Microsecond)
	}
	var half histogram
	half.add(time.Second)
	h.merge(&half)
	s := h.spread()
	near := func(got, want time.Duration) bool { return got >= want && got <= want+want/25 }
	if s.Count != 10_001 || !near(s.P50, 5*time.Millisecond) || !near(s.P99, 9900*time.Microsecond) || s.Max != time.Second {
		t.Errorf("got %+v", s)
	}
	for d := time.Duration(0); d < 1<<40; d = d*5/4 + 1 {
		if b := bucketOf(d); upper(b) < d || b > 0 && upper(b-1) >= d {
			t.Fatalf("%s is in bucket %d, which ends at %s", d, b, upper(b))
		}
	}
}
