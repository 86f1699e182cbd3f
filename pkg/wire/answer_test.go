package wire_test

import (
	"bytes"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// trace is what a relay sees of an answer, however it comes in pieces.
type trace struct {
	steps []seen // relayed bytes are joined
	rows  uint64
	bytes int
	done  bool
	err   error
}

// seen is one step with what the Answer tells after it.
type seen struct {
	step     wire.Step
	from, to int // in the answer
	affected uint64
	insertID uint64
	status   wire.Status
	warnings uint16
	info     string
	trackers string
	failure  string
	head     wire.ResultHead
	prepared wire.PrepareOK
}

func (r *trace) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%d bytes, %d rows, done %v, error %v\n", r.bytes, r.rows, r.done, r.err)
	for _, s := range r.steps {
		fmt.Fprintf(&b, "%+v\n", s)
	}
	return b.String()
}

func (r *trace) equal(other *trace) bool {
	return r.bytes == other.bytes && r.rows == other.rows && r.done == other.done &&
		(r.err == nil) == (other.err == nil) && slices.Equal(r.steps, other.steps)
}

// follow gives the server's turns to an Answer, each in pieces that end at the cuts and at its
// end, and keeps what it was told. Cuts count the server's bytes of all turns, and are sorted.
func follow(e *exchange, command wire.Command, cuts ...int) *trace {
	var a wire.Answer
	r := &trace{}
	if !a.Start(command, e.caps) {
		r.err = fmt.Errorf("command %#x has no known answer", byte(command))
		return r
	}
	base := 0
	for _, t := range e.turns {
		if !t.server {
			continue
		}
		from := 0
		for _, to := range ends(base, len(t.bytes), cuts) {
			for from < to && !a.Done() {
				n, step, err := a.Next(t.bytes[from:to])
				if err != nil {
					r.err = err
					return r
				}
				if step == wire.StepMore {
					break
				}
				r.add(&a, step, base+from, n)
				from += n
			}
		}
		if from < len(t.bytes) && !a.Done() {
			r.err = fmt.Errorf("at %d of %d: more is wanted", base+from, base+len(t.bytes))
			return r
		}
		base += len(t.bytes)
	}
	r.rows, r.done = a.Rows(), a.Done()
	return r
}

// ends returns where the pieces end of n bytes that begin at base.
func ends(base, n int, cuts []int) []int {
	var list []int
	for _, at := range cuts {
		if at > base && at < base+n {
			list = append(list, at-base)
		}
	}
	return append(list, n)
}

func (r *trace) add(a *wire.Answer, step wire.Step, at, n int) {
	r.bytes += n
	if k := len(r.steps); k > 0 && step == wire.StepRelay && r.steps[k-1].step == step {
		r.steps[k-1].to += n
		return
	}
	s := seen{step: step, from: at, to: at + n}
	switch step {
	case wire.StepEnd:
		f := a.Final()
		s.affected, s.insertID, s.status, s.warnings = f.AffectedRows, f.LastInsertID, f.Status, f.Warnings
		s.info, s.trackers = string(f.Info), string(f.Trackers)
	case wire.StepHead:
		s.head, s.prepared = a.Head(), a.Prepared()
	case wire.StepError:
		s.failure = string(a.ErrorPayload())
	}
	r.steps = append(r.steps, s)
}

// checkAnswer holds for every real answer: it is done with its last byte, not before, and looks
// the same however it is cut: byte by byte, and in two at up to places places.
func checkAnswer(t testing.TB, e *exchange, places int) {
	t.Helper()
	command := wire.Command(e.command(t)[0])
	server := e.of(true)
	whole := follow(e, command)
	if !whole.done || whole.bytes != len(server) || whole.err != nil {
		t.Errorf("%s: of %d bytes: %v", e.name, len(server), whole)
		return
	}
	var all []int
	for at := 1; at < len(server); at++ {
		all = append(all, at)
	}
	if single := follow(e, command, all...); !single.equal(whole) {
		t.Errorf("%s: byte by byte:\n%v\nas a whole:\n%v", e.name, single, whole)
	}
	for at := 1; at < len(server); at += 1 + len(server)/places {
		if two := follow(e, command, at); !two.equal(whole) {
			t.Errorf("%s: cut at %d:\n%v\nas a whole:\n%v", e.name, at, two, whole)
			return
		}
	}
}

func TestAnswerFixtures(t *testing.T) {
	n := 0
	for file, list := range fixtures(t, "*-*.txt") {
		if strings.Contains(file, "login") {
			continue
		}
		t.Run(file, func(t *testing.T) {
			for _, e := range list {
				checkAnswer(t, e, 1<<20)
				n++
			}
		})
	}
	t.Logf("%d answers", n)
}

func TestAnswerAllocates(t *testing.T) {
	for file, list := range fixtures(t, "*-new.txt") {
		for _, e := range list {
			command, b := wire.Command(e.command(t)[0]), e.of(true)
			allocs := testing.AllocsPerRun(10, func() {
				var a wire.Answer
				a.Start(command, e.caps)
				for rest := b; !a.Done(); {
					n, _, err := a.Next(rest)
					if err != nil {
						t.Fatal(err)
					}
					rest = rest[n:]
				}
			})
			if allocs > 0 {
				t.Errorf("%s: %s: %v allocations", file, e.name, allocs)
			}
		}
	}
}

// TestAnswerLargeRows has rows that begin with 0xFE because their value has 16 MB or more, and
// continuation packets that look like everything else.
func TestAnswerLargeRows(t *testing.T) {
	if testing.Short() {
		t.Skip("rows of 16 MB")
	}
	for _, size := range []int{wire.MaxPayload + 1, wire.MaxPayload - 4, wire.MaxPayload - 5} {
		row := wire.AppendLenEncString(nil, bytes.Repeat([]byte{0xFE, 0xFF, 0, 0, 0}, size/5+1)[:size])
		if size > wire.MaxPayload && row[0] != 0xFE {
			t.Fatalf("a value of %d bytes begins with %#x", size, row[0])
		}
		for _, caps := range []wire.Capability{wire.DeprecateEOF, 0} {
			e := &exchange{name: "large", caps: caps}
			e.add(false, []byte{2, 0, 0, 0, byte(wire.ComQuery), 'x'})
			e.add(true, largeAnswer(caps, row))
			whole := follow(e, wire.ComQuery)
			if !whole.done || whole.bytes != len(e.turns[1].bytes) || whole.rows != 3 {
				t.Errorf("caps %#x, value of %d bytes: %v", uint64(caps), size, whole)
			}
			for _, piece := range []int{1 << 20, 65537} {
				var cuts []int
				for at := piece; at < whole.bytes; at += piece {
					cuts = append(cuts, at)
				}
				if got := follow(e, wire.ComQuery, cuts...); !got.equal(whole) {
					t.Errorf("caps %#x, value of %d bytes, pieces of %d: %v", uint64(caps), size, piece, got)
				}
			}
			other := wire.DeprecateEOF &^ caps
			got := convert(t, e, other, 10, 1<<20, 5<<20)
			if !bytes.Equal(got, largeAnswer(other, row)) {
				t.Errorf("caps %#x, value of %d bytes: converted to another answer", uint64(caps), size)
			}
		}
	}
}

// largeAnswer has three rows, the middle one of NULL.
func largeAnswer(caps wire.Capability, row []byte) []byte {
	def := wire.Column{Name: []byte("x"), Type: wire.TypeLongBlob}
	eof := wire.OK{EOF: true, AfterRows: true, Status: wire.Autocommit}
	b, seq := wire.AppendMessage(nil, []byte{1}, 1)
	b, seq = wire.AppendMessage(b, def.Append(nil, caps), seq)
	if caps == 0 {
		b, seq = wire.AppendMessage(b, eof.Append(nil, caps), seq)
	}
	for _, r := range [][]byte{row, {0xFB}, row[:100]} {
		if len(r) == 100 { // an ordinary row behind a large one
			r = wire.AppendLenEncString(nil, r)
		}
		b, seq = wire.AppendMessage(b, r, seq)
	}
	eof.EOF = caps == 0
	b, _ = wire.AppendMessage(b, eof.Append(nil, caps), seq)
	return b
}

// TestAnswer_error65535: an error may have the number that marks a progress packet, unless such packets
// were agreed on.
func TestAnswer_error65535(t *testing.T) {
	e := wire.ServerError{Code: 65535, State: "45000", Message: "raised by SIGNAL"}
	packet, _ := wire.AppendMessage(nil, e.Append(nil), 1)
	var a wire.Answer
	a.Start(wire.ComQuery, wire.Protocol41|wire.DeprecateEOF)
	if _, step, err := a.Next(packet); step != wire.StepError || err != nil || !a.Done() {
		t.Errorf("got step %d, %v", step, err)
	}
}
