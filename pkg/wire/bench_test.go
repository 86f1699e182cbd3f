package wire_test

import (
	"bytes"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// resultOf makes the answer to a query: rows of one value of size bytes.
func resultOf(caps wire.Capability, rows, size int) []byte {
	head := wire.ResultHead{Columns: 1}
	def := wire.Column{Name: []byte("c"), Type: wire.TypeVarString}
	b, seq := wire.AppendMessage(nil, head.Append(nil, caps), 1)
	b, seq = wire.AppendMessage(b, def.Append(nil, caps), seq)
	status := wire.OK{EOF: true, AfterRows: true, Status: wire.Autocommit}
	if !caps.Has(wire.DeprecateEOF) {
		b, seq = wire.AppendMessage(b, status.Append(nil, caps), seq)
	}
	row := wire.AppendLenEncString(nil, bytes.Repeat([]byte("x"), size))
	for range rows {
		b, seq = wire.AppendMessage(b, row, seq)
	}
	if caps.Has(wire.DeprecateEOF) {
		status.EOF = false
		status.Trackers = wire.AppendGTIDs(nil, "8a94f357-aab4-11df-86ab-c80aa9429562:1-123456")
	}
	b, _ = wire.AppendMessage(b, status.Append(nil, caps), seq)
	return b
}

// passAll lets an Answer pass b in pieces of a read buffer's size.
func passAll(tb testing.TB, a *wire.Answer, caps wire.Capability, b []byte, piece int) {
	a.Start(wire.ComQuery, caps)
	from, to := 0, min(piece, len(b))
	for !a.Done() {
		n, step, err := a.Next(b[from:to])
		if err != nil {
			tb.Fatal(err)
		}
		from += n
		if step == wire.StepMore || from == to {
			to = min(from+piece, len(b))
		}
	}
}

func BenchmarkAnswer(b *testing.B) {
	const caps = wire.DeprecateEOF | wire.SessionTrack
	for _, bb := range []struct {
		name       string
		rows, size int
	}{
		{"1 row of 120 B", 1, 120},
		{"1000 rows of 120 B", 1000, 120},
		{"100000 rows of 10 B", 100_000, 10},
	} {
		answer := resultOf(caps, bb.rows, bb.size)
		b.Run(bb.name, func(b *testing.B) {
			b.ReportAllocs()
			b.SetBytes(int64(len(answer)))
			var a wire.Answer
			for b.Loop() {
				passAll(b, &a, caps, answer, 64<<10)
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*bb.rows), "ns/row")
		})
	}
}

func BenchmarkConverter(b *testing.B) {
	const caps = wire.DeprecateEOF | wire.SessionTrack
	answer := resultOf(caps, 1000, 120)
	var c wire.Converter
	var out []byte
	b.ReportAllocs()
	b.SetBytes(int64(len(answer)))
	for b.Loop() {
		c.Start(wire.ComQuery, caps, 0, wire.Autocommit, nil)
		out = out[:0]
		for rest := answer; !c.Answer().Done(); {
			next, n, _, err := c.Append(out, rest)
			if err != nil {
				b.Fatal(err)
			}
			out, rest = next, rest[n:]
		}
	}
}

func BenchmarkTrackers(b *testing.B) {
	block := wire.AppendGTIDs(nil, "8a94f357-aab4-11df-86ab-c80aa9429562:1-123456")
	ok := wire.OK{AfterRows: true, Trackers: wire.AppendText(block, wire.TrackTransaction, "T_______")}
	p := ok.Append(nil, wire.SessionTrack)
	b.ReportAllocs()
	for b.Loop() {
		var m wire.OK
		if err := m.Decode(p, wire.SessionTrack); err != nil {
			b.Fatal(err)
		}
		r := wire.ReadTrackers(m.Trackers)
		for t, more := r.Next(); more; t, more = r.Next() {
			if t.Type == wire.TrackGTIDs {
				if _, err := t.GTIDs(); err != nil {
					b.Fatal(err)
				}
			}
		}
	}
}

func BenchmarkExecute(b *testing.B) {
	m := wire.Execute{
		StatementID: 1, Iterations: 1, Params: 2,
		Parameters: wire.Parameters{Count: 2, Nulls: []byte{0}, Values: []byte{1, 0, 0, 0, 2, 0, 0, 0}},
	}
	p, err := m.Append(nil, 0, nil)
	if err != nil {
		b.Fatal(err)
	}
	types := []byte{3, 0, 3, 0}
	var out []byte
	b.ReportAllocs()
	for b.Loop() {
		var m wire.Execute
		if err := m.Decode(p, 2, 0); err != nil {
			b.Fatal(err)
		}
		m.StatementID = 9
		m.Remember(types)
		if out, err = m.Append(out[:0], 0, nil); err != nil {
			b.Fatal(err)
		}
	}
}
