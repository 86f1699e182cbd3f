package proxy_test

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"

	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// step sends something and writes down every packet of what comes back.
type step func(r *raw)

// begin writes down what is sent.
func (r *raw) begin(name string) { fmt.Fprintf(&r.log, "%.100s\n", name) }

// note writes a packet down: its number, what it is, and its bytes.
func (r *raw) note(kind string, p []byte) {
	shown := fmt.Sprintf("%q", p)
	if len(shown) > 600 {
		shown = fmt.Sprintf("%s... %d bytes, sum %08x", shown[:500], len(p), sum(p))
	}
	seq := r.seq - 1
	if r.framed() {
		seq = 0
	}
	fmt.Fprintf(&r.log, "  %d %s %s\n", seq, kind, shown)
}

func sum(p []byte) (h uint32) {
	for _, b := range p {
		h = h*16777619 ^ uint32(b)
	}
	return h
}

// results reads the results of a command up to the last one.
func (r *raw) results() {
	for {
		p, err := r.read()
		if err != nil {
			r.lost(err)
			return
		}
		more := false
		switch {
		case len(p) == 0:
			r.note("EMPTY", p)
			return
		case p[0] == 0xff:
			r.noteError(p)
			return
		case p[0] == 0:
			more = r.noteOK("OK", p)
		case p[0] == 0xfb:
			r.note("FILE", p)
			return
		case p[0] == 0xfe && len(p) < 9:
			more = r.noteOK("EOF", p)
		default:
			more = r.rows(p)
		}
		if !more {
			return
		}
	}
}

// lost writes down that the connection is closed.
func (r *raw) lost(err error) {
	if errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET) {
		fmt.Fprintln(&r.log, "  closed")
		return
	}
	fmt.Fprintf(&r.log, "  closed: %v\n", err)
}

func (r *raw) noteError(p []byte) {
	var e wire.ServerError
	if err := e.Decode(p); err != nil {
		r.note("BAD "+err.Error(), p)
		return
	}
	r.note(fmt.Sprintf("ERR%d", e.Code), p)
}

// noteOK writes an OK or EOF down and tells whether another result follows.
func (r *raw) noteOK(kind string, p []byte) (more bool) {
	var ok wire.OK
	if err := ok.Decode(p, r.caps); err != nil {
		r.note("BAD "+err.Error(), p)
		return false
	}
	if ok.Trackers != nil {
		r.unasked(&ok)
		if p = ok.Append(nil, r.caps); ok.Trackers == nil {
			ok.Status &^= wire.SessionStateChanged
		}
	}
	r.note(fmt.Sprintf("%s status=%#x", kind, uint16(ok.Status)), p)
	return ok.Status.Has(wire.MoreResults)
}

// unasked takes out what MySQL says of transactions even if session_track_transaction_info is OFF, and
// puts the others in order: MariaDB has none.
func (r *raw) unasked(ok *wire.OK) {
	var all []wire.Tracker
	for t := wire.ReadTrackers(ok.Trackers); ; {
		one, more := t.Next()
		if !more {
			break
		}
		if one.Type != wire.TrackTransaction || r.transactions {
			all = append(all, one)
		}
	}
	slices.SortFunc(all, func(a, b wire.Tracker) int {
		return cmp.Or(cmp.Compare(a.Type, b.Type), bytes.Compare(a.Data, b.Data))
	})
	var kept []byte
	for _, one := range all {
		kept = wire.AppendTracker(kept, one.Type, one.Data)
	}
	if ok.Trackers = kept; kept == nil && len(ok.Info) == 0 {
		ok.Info = nil
	}
}

// noteMiddle writes the EOF behind definitions down. Its status is what a server knows before it has
// run the statement; a proxy with DEPRECATE_EOF is not told, and no client needs it.
func (r *raw) noteMiddle() (cursor bool) {
	p := r.packet()
	var ok wire.OK
	if err := ok.Decode(p, r.caps); err != nil || !ok.EOF {
		r.note("BAD EOF", p)
	}
	cursor = ok.Status.Has(wire.CursorExists)
	r.note(fmt.Sprintf("EOF cursor=%v", cursor), p[:1])
	return cursor
}

// rows reads a result whose head is p.
func (r *raw) rows(p []byte) (more bool) {
	r.note("HEAD", p)
	c := wire.NewCursor("head", p)
	n := int(c.LenEncInt())
	r.definitions(n)
	if !r.caps.Has(wire.DeprecateEOF) && r.noteMiddle() {
		return false
	}
	return r.fetched()
}

// definitions reads what describes columns or parameters.
func (r *raw) definitions(n int) {
	for range n {
		r.note("COLUMN", r.packet())
	}
}

// fetched reads rows and what ends them.
func (r *raw) fetched() (more bool) {
	for {
		p := r.packet()
		switch {
		case len(p) > 0 && p[0] == 0xff:
			r.noteError(p)
			return false
		case len(p) > 0 && p[0] == 0xfe && (len(p) < 9 || r.caps.Has(wire.DeprecateEOF) && len(p) < wire.MaxPayload):
			return r.noteOK("END", p)
		}
		r.note("ROW", p)
	}
}

// do sends a command that is answered by results.
func do(name string, payload []byte) step {
	return func(r *raw) {
		r.begin(name)
		r.send(payload)
		r.results()
	}
}

func query(text string) step {
	return func(r *raw) { do(text, wire.AppendQuery(nil, text, r.caps))(r) }
}

// queries are several texts, each a command.
func queries(texts ...string) step {
	return func(r *raw) {
		for _, text := range texts {
			query(text)(r)
		}
	}
}

func ping(r *raw) {
	r.begin("PING")
	r.send([]byte{byte(wire.ComPing)})
	r.noteStatus()
}

// noteStatus notes what an OK or EOF begins with and its status. The servers repeat the number of
// warnings of the statement before, and nobody asks such a command for it.
func (r *raw) noteStatus() {
	p := r.packet()
	if wire.IsError(p) {
		r.noteError(p)
		return
	}
	var ok wire.OK
	if err := ok.Decode(p, r.caps); err != nil {
		r.note("BAD", p)
		return
	}
	r.note(fmt.Sprintf("OK status=%#x", uint16(ok.Status)), p[:1])
}

func initDB(schema string) step {
	m := wire.InitDB{Schema: []byte(schema)}
	return do("INIT_DB "+schema, m.Append(nil))
}

func setOption(n uint16) step {
	return func(r *raw) {
		r.begin(fmt.Sprintf("SET_OPTION %d", n))
		m := wire.SetOption{Option: n}
		r.send(m.Append(nil))
		r.noteStatus()
	}
}

func resetConnection(r *raw) { do("RESET_CONNECTION", []byte{byte(wire.ComResetConnection)})(r) }

// fieldList reads definitions up to their end.
func fieldList(table, wildcard string) step {
	return func(r *raw) {
		r.begin("FIELD_LIST " + table + " " + wildcard)
		m := wire.FieldList{Table: []byte(table), Wildcard: []byte(wildcard)}
		r.send(m.Append(nil))
		for {
			p := r.packet()
			switch {
			case p[0] == 0xff:
				r.noteError(p)
				return
			case p[0] == 0xfe && len(p) < 64: // OK or EOF
				r.noteOK("END", p)
				return
			}
			r.note("COLUMN", p)
		}
	}
}

// prepare prepares a statement, the next of r.ids.
func prepare(text string) step {
	return func(r *raw) {
		r.begin("PREPARE " + text)
		r.send(append([]byte{byte(wire.ComStmtPrepare)}, text...))
		r.prepared()
	}
}

func (r *raw) prepared() {
	p := r.packet()
	if p[0] == 0xff {
		r.noteError(p)
		return
	}
	var m wire.PrepareOK
	if err := m.Decode(p, r.caps); err != nil {
		r.note("BAD "+err.Error(), p)
		return
	}
	r.ids, r.params = append(r.ids, m.StatementID), append(r.params, int(m.Params))
	binary.LittleEndian.PutUint32(p[1:], 0) // numbers are the server's own business
	r.note("PREPARED", p)
	for _, n := range []uint16{m.Params, m.Columns} {
		r.definitions(int(n))
		if n > 0 && !r.caps.Has(wire.DeprecateEOF) {
			r.noteMiddle()
		}
	}
}

// id is the number of the i-th prepared statement.
func (r *raw) id(i int) uint32 {
	if i < 0 || i >= len(r.ids) {
		return uint32(1000 + i) // one that nobody has
	}
	return r.ids[i]
}

// execute runs a statement. A parameter is a string, nil for NULL, or long{}.
func execute(i int, flags byte, params ...any) step {
	return func(r *raw) {
		r.begin(fmt.Sprint("EXECUTE ", i, flags, len(params)))
		r.send(r.execution(r.id(i), flags, nil, params...))
		r.results()
	}
}

// long marks a parameter that came by COM_STMT_SEND_LONG_DATA.
type long struct{}

func (r *raw) execution(id uint32, flags byte, dst []byte, params ...any) []byte {
	m := wire.Execute{StatementID: id, Flags: flags, Iterations: 1, Params: len(params)}
	p := &m.Parameters
	p.Count, p.NewTypes, p.Nulls = len(params), len(params) > 0, make([]byte, (len(params)+7)/8)
	if r.caps.Has(wire.QueryAttributes) {
		p.Named = true
	}
	for i, v := range params {
		p.Types = append(p.Types, byte(wire.TypeVarString), 0)
		if p.Named {
			p.Types = append(p.Types, 0)
		}
		switch v := v.(type) {
		case nil:
			p.Nulls[i/8] |= 1 << (i % 8)
		case string:
			p.Values = wire.AppendLenEncString(p.Values, v)
		case long:
		default:
			r.t.Fatalf("a parameter is a %T", v)
		}
	}
	b, err := m.Append(dst, r.caps, func(i int) bool { return params[i] == any(long{}) })
	if err != nil {
		r.t.Fatal(err)
	}
	return b
}

// fromColumn is a value that a row of a bulk execution takes from its column.
type fromColumn byte

const (
	standard fromColumn = 2 // DEFAULT
	ignored  fromColumn = 3 // as it is
)

// bulk runs a statement for many rows of as many values as it has parameters. Without types they are
// those of the execution before.
func bulk(i int, types []byte, values ...any) step {
	return func(r *raw) {
		r.begin(fmt.Sprint("BULK ", i, len(types), len(values)))
		m := wire.BulkExecute{StatementID: r.id(i)}
		if m.Remember(types); types != nil && len(types) == 0 {
			m.Flags = 0x80
		}
		for _, v := range values {
			switch v := v.(type) {
			case nil:
				m.Rows = append(m.Rows, 1)
			case string:
				m.Rows = wire.AppendLenEncString(append(m.Rows, 0), v)
			case fromColumn:
				m.Rows = append(m.Rows, byte(v))
			default:
				r.t.Fatalf("a parameter is a %T", v)
			}
		}
		r.send(m.Append(nil))
		r.results()
	}
}

func fetch(i int, n uint32) step {
	return func(r *raw) {
		r.begin(fmt.Sprint("FETCH ", i, n))
		m := wire.StmtFetch{StatementID: r.id(i), Rows: n}
		r.send(m.Append(nil))
		r.fetched()
	}
}

func stmtReset(i int) step {
	return func(r *raw) {
		m := wire.StmtReset{StatementID: r.id(i)}
		do(fmt.Sprint("RESET ", i), m.Append(nil))(r)
	}
}

func stmtClose(i int) step {
	return func(r *raw) {
		m := wire.StmtClose{StatementID: r.id(i)}
		r.send(m.Append(nil))
	}
}

func longData(i int, param uint16, data string) step {
	return func(r *raw) {
		m := wire.SendLongData{StatementID: r.id(i), Param: param, Data: []byte(data)}
		r.send(m.Append(nil))
	}
}

// file answers a request for a file with its pieces.
func file(pieces ...string) step {
	return func(r *raw) {
		for _, piece := range append(pieces, "") {
			r.write(r.seq, []byte(piece))
		}
		r.begin("sent a file")
		r.results()
	}
}

// transcript runs steps and returns what came back.
func (r *raw) transcript(steps []step) string {
	for _, s := range steps {
		s(r)
	}
	return r.log.String()
}

// difference shows the commands whose answers two transcripts do not share.
func difference(direct, proxied string) string {
	a, b := commands(direct), commands(proxied)
	var out strings.Builder
	for i := range max(len(a), len(b)) {
		var x, y []string
		if i < len(a) {
			x = a[i]
		}
		if i < len(b) {
			y = b[i]
		}
		for n := range max(len(x), len(y)) {
			if one, other := at(x, n), at(y, n); one != other {
				fmt.Fprintf(&out, "command %d: %s\n direct: %s\n proxy:  %s\n", i, at(x, 0), one, other)
				break
			}
		}
	}
	return out.String()
}

func at(lines []string, i int) string {
	if i < len(lines) {
		return lines[i]
	}
	return "nothing"
}

// commands cuts a transcript into what each command was answered.
func commands(transcript string) [][]string {
	var all [][]string
	for line := range strings.Lines(transcript) {
		if !strings.HasPrefix(line, "  ") || len(all) == 0 {
			all = append(all, nil)
		}
		last := &all[len(all)-1]
		*last = append(*last, strings.TrimRight(line, "\n"))
	}
	return all
}
