package wire_test

import (
	"bytes"
	"errors"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// seeds adds every payload of the fixtures from one side.
func seeds(f *testing.F, server bool, wanted func(p []byte) bool) {
	f.Helper()
	seen := map[string]bool{}
	for _, list := range fixtures(f, "*.txt") {
		for _, e := range list {
			for _, turn := range e.turns {
				if turn.server != server {
					continue
				}
				payloads, _ := packets(f, turn.bytes)
				for _, p := range payloads {
					if len(p) > 0 && len(p) < 500 && wanted(p) && !seen[string(p)] {
						seen[string(p)] = true
						f.Add(p, uint64(e.caps))
					}
				}
			}
		}
	}
}

// fuzzMessage: no input panics; an error says where; and what was read is read again from what is
// written of it.
func fuzzMessage[M any](f *testing.F, server bool, first ...byte) {
	seeds(f, server, func(p []byte) bool { return len(first) == 0 || bytes.IndexByte(first, p[0]) >= 0 })
	f.Fuzz(func(t *testing.T, p []byte, bits uint64) {
		caps := wire.Capability(bits)
		m := any(new(M))
		written, err := again(m, bytes.Clone(p), caps)
		if err != nil {
			checkDecodeError(t, err, len(p))
			return
		}
		twice, err := again(any(new(M)), written, caps)
		if err != nil || !bytes.Equal(twice, written) {
			t.Errorf("caps %#x: %x is written %x, and that %x: %v", bits, p, written, twice, err)
		}
	})
}

func checkDecodeError(t *testing.T, err error, length int) {
	t.Helper()
	var e *wire.DecodeError
	if !errors.As(err, &e) || e.Offset < 0 || e.Offset > length || e.Want == "" || e.Message == "" {
		t.Errorf("error %#v of %d bytes", err, length)
	}
}

func FuzzGreeting(f *testing.F)     { fuzzMessage[wire.Greeting](f, true, 10) }
func FuzzResponse(f *testing.F)     { fuzzMessage[wire.HandshakeResponse](f, false) }
func FuzzAuthSwitch(f *testing.F)   { fuzzMessage[wire.AuthSwitch](f, true, 0xFE) }
func FuzzOK(f *testing.F)           { fuzzMessage[wire.OK](f, true, 0, 0xFE) }
func FuzzServerError(f *testing.F)  { fuzzMessage[wire.ServerError](f, true, 0xFF) }
func FuzzProgress(f *testing.F)     { fuzzMessage[wire.Progress](f, true, 0xFF) }
func FuzzColumn(f *testing.F)       { fuzzMessage[wire.Column](f, true, 3) }
func FuzzResultHead(f *testing.F)   { fuzzMessage[wire.ResultHead](f, true, 1, 2, 3) }
func FuzzPrepareOK(f *testing.F)    { fuzzMessage[wire.PrepareOK](f, true, 0) }
func FuzzChangeUser(f *testing.F)   { fuzzMessage[wire.ChangeUser](f, false, 0x11) }
func FuzzFieldList(f *testing.F)    { fuzzMessage[wire.FieldList](f, false, 4) }
func FuzzSendLongData(f *testing.F) { fuzzMessage[wire.SendLongData](f, false, 0x18) }

// FuzzShort has the messages of a few fixed bytes.
func FuzzShort(f *testing.F) {
	seeds(f, false, func(p []byte) bool { return len(p) < 20 })
	f.Fuzz(func(t *testing.T, p []byte, _ uint64) {
		for _, m := range []message{
			&wire.InitDB{}, &wire.SetOption{}, &wire.ProcessKill{}, &wire.StmtClose{}, &wire.StmtReset{}, &wire.StmtFetch{},
			&wire.LocalInfile{}, &wire.AuthMoreData{},
		} {
			if err := m.Decode(p); err != nil {
				checkDecodeError(t, err, len(p))
			} else if got := m.Append(nil); !bytes.HasPrefix(p, got) {
				t.Errorf("%T: %x is written %x", m, p, got)
			}
		}
		if id, ok := wire.StatementID(p); ok {
			b := bytes.Clone(p)
			if !wire.PutStatementID(b, id) || !bytes.Equal(b, p) {
				t.Errorf("id %d of %x", id, p)
			}
		}
	})
}

func FuzzQuery(f *testing.F) {
	seeds(f, false, func(p []byte) bool { return p[0] == byte(wire.ComQuery) })
	f.Fuzz(func(t *testing.T, p []byte, bits uint64) {
		caps := wire.Capability(bits)
		var q wire.Query
		if err := q.Decode(p, caps); err != nil {
			checkDecodeError(t, err, len(p))
			return
		}
		readParams(t, &q.Attributes)
		plain, err := q.Append(nil, caps&^wire.QueryAttributes)
		if err != nil || string(plain[1:]) != string(q.Text) {
			t.Errorf("without attributes: %x: %v", plain, err)
		}
		full, err := q.Append(nil, caps)
		var back wire.Query
		if err == nil {
			err = back.Decode(full, caps)
		}
		if err != nil || string(back.Text) != string(q.Text) || back.Attributes.Count != q.Attributes.Count {
			t.Errorf("%x is written %x: %v", p, full, err)
		}
	})
}

// readParams reads values, and returns how many there were.
func readParams(t *testing.T, p *wire.Parameters) int {
	t.Helper()
	n := 0
	r := p.Read(func(i int) bool { return i == 3 })
	for _, ok := r.Next(); ok; _, ok = r.Next() {
		n++
	}
	if err := r.Err(); err != nil {
		checkDecodeError(t, err, 1<<30)
	} else if n != p.Count {
		t.Errorf("%d of %d values without an error", n, p.Count)
	}
	return n
}

func FuzzExecute(f *testing.F) {
	seeds(f, false, func(p []byte) bool { return p[0] == byte(wire.ComStmtExecute) })
	f.Fuzz(func(t *testing.T, p []byte, bits uint64) {
		caps, params := wire.Capability(bits), int(bits>>56)
		var m wire.Execute
		if err := m.Decode(p, params, caps); err != nil {
			checkDecodeError(t, err, len(p))
			return
		}
		readParams(t, &m.Parameters)
		for _, server := range []wire.Capability{caps, caps | wire.QueryAttributes, caps &^ wire.QueryAttributes} {
			out, err := m.Append(nil, server, nil)
			if err != nil {
				if server.Has(wire.QueryAttributes) == caps.Has(wire.QueryAttributes) {
					t.Errorf("%x is not written again: %v", p, err)
				}
				continue
			}
			var back wire.Execute
			if err := back.Decode(out, params, server); err != nil {
				t.Errorf("%x is written %x for %#x: %v", p, out, uint64(server), err)
			}
			if back.StatementID != m.StatementID || !bytes.HasPrefix(m.Parameters.Values, back.Parameters.Values) {
				t.Errorf("%x is written %x for %#x", p, out, uint64(server))
			}
		}
		m.Remember([]byte{3, 0, 3, 0})
	})
}

func FuzzBulkExecute(f *testing.F) {
	seeds(f, false, func(p []byte) bool { return p[0] == byte(wire.ComStmtBulkExecute) })
	f.Fuzz(func(t *testing.T, p []byte, bits uint64) {
		var m wire.BulkExecute
		if err := m.Decode(p, int(bits>>56)); err != nil {
			checkDecodeError(t, err, len(p))
		} else if got := m.Append(nil); !bytes.Equal(got, p) {
			t.Errorf("%x is written %x", p, got)
		}
	})
}

func FuzzTrackers(f *testing.F) {
	for _, e := range loadFixture(f, "testdata/mysql-new.txt") {
		payloads, _ := packets(f, e.of(true))
		for _, p := range payloads {
			var ok wire.OK
			if ok.Decode(p, e.caps) == nil && ok.Trackers != nil {
				f.Add(ok.Trackers)
			}
		}
	}
	f.Fuzz(func(t *testing.T, block []byte) {
		r := wire.ReadTrackers(block)
		for tr, ok := r.Next(); ok; tr, ok = r.Next() {
			_, err := tr.Text()
			_, err2 := tr.GTIDs()
			v := tr.Variables()
			for _, _, ok := v.Next(); ok; _, _, ok = v.Next() {
			}
			for _, err := range []error{err, err2, v.Err()} {
				if err != nil {
					checkDecodeError(t, err, len(tr.Data))
				}
			}
		}
		if err := r.Err(); err != nil {
			checkDecodeError(t, err, len(block))
		}
		ok := wire.OK{Trackers: block}
		ok.For(wire.SessionTrack, func(tr wire.Tracker) bool { return tr.Type != wire.TrackGTIDs }, nil)
	})
}

func FuzzTextRow(f *testing.F) {
	f.Add([]byte{0xFB, 1, 'x', 0})
	f.Fuzz(func(t *testing.T, p []byte) {
		row := wire.ReadTextRow(p)
		for _, ok := row.Next(); ok; _, ok = row.Next() {
		}
		if err := row.Err(); err != nil {
			checkDecodeError(t, err, len(p))
		}
		if _, err := wire.DecodeAttributes(p); err != nil {
			checkDecodeError(t, err, len(p))
		}
	})
}

func FuzzSplit(f *testing.F) {
	f.Add([]byte{1, 0, 0, 0, 14, 2, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		payload, _, n, err := wire.Split(b)
		if err != nil {
			checkDecodeError(t, err, len(b))
			return
		}
		if need := wire.Need(b); n > 0 && (need != n || len(payload) != n-wire.HeaderSize) || n == 0 && need <= len(b) {
			t.Errorf("%d bytes: n %d, need %d, payload %d", len(b), n, need, len(payload))
		}
	})
}

// FuzzAnswer: whatever a server sends, the answer and what a client gets of it do not depend on
// how it is cut.
func FuzzAnswer(f *testing.F) {
	for _, list := range fixtures(f, "*-*.txt") {
		for i, e := range list {
			if len(e.turns) > 0 && !e.turns[0].server && i%3 == 0 {
				f.Add(e.command(f)[0], e.of(true), uint64(e.caps), uint64(wire.SessionTrack), 3)
			}
		}
	}
	f.Fuzz(func(t *testing.T, command byte, b []byte, server, client uint64, at int) {
		e := &exchange{name: "fuzz", caps: wire.Capability(server)}
		e.add(true, b)
		whole := follow(e, wire.Command(command))
		if at > 0 && at < len(b) {
			if cut := follow(e, wire.Command(command), at); !cut.equal(whole) {
				t.Errorf("cut at %d:\n%v\nas a whole:\n%v", at, cut, whole)
			}
		}
		var c wire.Converter
		if !c.Start(wire.Command(command), e.caps, wire.Capability(client), 0, nil) {
			return
		}
		var out []byte
		for rest := b; len(rest) > 0 && !c.Answer().Done(); {
			next, n, step, err := c.Append(out, rest)
			if err != nil || step == wire.StepMore {
				break
			}
			if n == 0 {
				t.Fatalf("step %d of no bytes", step)
			}
			out, rest = next, rest[n:]
		}
		if c.Answer().Done() != whole.done {
			t.Errorf("Converter done %v, Answer %v", c.Answer().Done(), whole.done)
		}
	})
}
