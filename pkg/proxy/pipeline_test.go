package proxy_test

import (
	"encoding/binary"
	"fmt"
	"io"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// pipelines are what MariaDB Connector/J sends without waiting for answers: see its options
// usePipelineAuth and useBatchMultiSend.
func (a *actor) pipelines() []exchange {
	prepare := func(text string) []byte { return append([]byte{byte(wire.ComStmtPrepare)}, text...) }
	execute := func(id uint32, parameter string) []byte {
		b := binary.LittleEndian.AppendUint32([]byte{byte(wire.ComStmtExecute)}, id)
		b = append(b, 0, 1, 0, 0, 0, 0, 1, byte(wire.TypeVarString), 0)
		return wire.AppendLenEncString(b, parameter)
	}
	query := func(text string) []byte { return append([]byte{byte(wire.ComQuery)}, text...) }
	// The answers of the server, by its own text.
	rows := func(value string) func(wire.Capability) []byte {
		return func(caps wire.Capability) []byte {
			return result{columns: 1, rows: [][]string{{value}}, binary: true}.bytes(caps, 1)
		}
	}
	prepared := func(caps wire.Capability) []byte {
		m := wire.PrepareOK{StatementID: 1, Columns: 1, Params: 1}
		b, seq := wire.AppendMessage(nil, m.Append(nil, caps), 1)
		for i := range 2 {
			c := column(i)
			b, seq = wire.AppendMessage(b, c.Append(nil, caps), seq)
			if !caps.Has(wire.DeprecateEOF) {
				end := wire.OK{AfterRows: true, EOF: true, Status: wire.Autocommit}
				b, seq = wire.AppendMessage(b, end.Append(nil, caps), seq)
			}
		}
		return b
	}
	a.says("PREPARE SELECT ?", prepared)
	for _, v := range []string{"x", "y", "z"} {
		a.says(fmt.Sprintf("EXECUTE SELECT ? %q", execute(0, v)[9:]), rows(v))
	}
	a.says("DO 1", okBytes(wire.OK{Status: wire.Autocommit}))
	a.says("SELECT e", func(caps wire.Capability) []byte { return result{columns: 1, rows: [][]string{{"e"}}}.bytes(caps, 1) })
	last := wire.LastPrepared
	closing := func(id uint32) []byte { m := wire.StmtClose{StatementID: id}; return m.Append(nil) }
	together := func(parts ...func(wire.Capability) []byte) func(wire.Capability) []byte {
		return func(caps wire.Capability) (b []byte) {
			for _, part := range parts {
				b = append(b, part(caps)...)
			}
			return b
		}
	}
	do, selects := okBytes(wire.OK{Status: wire.Autocommit}), a.answers["SELECT e"]
	return []exchange{
		{"prepare, execute the last, and close it", [][]byte{prepare("SELECT ?"), execute(last, "x"), closing(last)}, together(prepared, rows("x")), true},
		{"prepare and a batch", [][]byte{prepare("SELECT ?"), execute(last, "x"), execute(last, "y"), execute(last, "z"), closing(last)}, together(prepared, rows("x"), rows("y"), rows("z")), true},
		{"close one and prepare the next", [][]byte{prepare("SELECT ?"), closing(last), prepare("SELECT ?"), execute(last, "y"), closing(last)}, together(prepared, prepared, rows("y")), true},
		{"several queries", [][]byte{query("DO 1"), query("SELECT e"), {byte(wire.ComPing)}, query("SELECT e"), query("DO 1")}, together(do, selects, do, selects, do), false},
		{"an error among several", [][]byte{query("UPDATE missing"), query("SELECT e")}, together(a.answers["UPDATE missing"], selects), false},
	}
}

// TestPipelines are those whose end is the connection's, or its beginning.
func TestPipelines(t *testing.T) {
	a, socket := newActor(t)
	a.script()
	a.says("SET autocommit=1", okBytes(wire.OK{Status: wire.Autocommit}))
	first := pack("SET autocommit=1", "SELECT e")
	for kind, caps := range splitCaps {
		t.Run(kind, func(t *testing.T) {
			every := 1
			if testing.Short() {
				every = 9
			}
			for k := 0; k < len(first); k += every { // the statements that follow a login, in one write
				r := splitClient(t, socket, caps)
				want := append(okBytes(wire.OK{Status: wire.Autocommit})(r.caps), a.answers["SELECT e"](r.caps)...)
				a.run(t, r, first, []int{k + 1}, []int{k + 1}, want, fmt.Sprintf("behind a login, cut at %d", k+1))
			}
			for k := range 8 { // a client that goes without waiting for the answer still gets it
				r := splitClient(t, socket, caps)
				want := a.answers["SELECT e"](r.caps)
				commands, _ := wire.AppendMessage(pack("SELECT e"), []byte{byte(wire.ComQuit)}, 0)
				a.run(t, r, commands, []int{len(commands) - k}, []int{k * 5}, want, "QUIT behind a query")
				_ = r.c.SetReadDeadline(time.Now().Add(rawLimit))
				if b, err := io.ReadAll(r.in); err != nil || len(b) > 0 && len(b) != r.in.Buffered() {
					t.Errorf("behind QUIT: %q, %v", b, err)
				}
			}
		})
	}
}

// pack makes a packet of each text.
func pack(texts ...string) (b []byte) {
	for _, text := range texts {
		b, _ = wire.AppendMessage(b, append([]byte{byte(wire.ComQuery)}, text...), 0)
	}
	return b
}
