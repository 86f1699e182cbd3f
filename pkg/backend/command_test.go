package backend_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/backend"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// rows makes the answer to a query, from packet 1 on: columns named c0, c1 ... and rows of these.
func rows(columns int, status wire.Status, values ...[]string) [][]byte {
	head := wire.ResultHead{Columns: columns}
	list := [][]byte{head.Append(nil, serverCaps)}
	for i := range columns {
		def := wire.Column{Name: fmt.Appendf(nil, "c%d", i), Type: wire.TypeVarString}
		list = append(list, def.Append(nil, serverCaps))
	}
	for _, row := range values {
		var b []byte
		for _, v := range row {
			if v == "NULL" {
				b = wire.AppendNull(b)
			} else {
				b = wire.AppendLenEncString(b, v)
			}
		}
		list = append(list, b)
	}
	end := wire.OK{AfterRows: true, Status: status}
	return append(list, end.Append(nil, serverCaps))
}

// answering logs the client in and answers each of its messages by answer, until that is nil.
func answering(answer func(p *peer, payload []byte) [][]byte) func(p *peer) {
	return func(p *peer) {
		p.login(wire.NativePlugin)
		for payload := p.read(); payload != nil; payload = p.read() {
			list := answer(p, payload)
			if list == nil {
				return
			}
			p.write(list...)
		}
	}
}

func sqlOf(payload []byte) string {
	var q wire.Query
	if q.Decode(payload, serverCaps) != nil {
		return fmt.Sprintf("command %d", payload[0])
	}
	return string(q.Text)
}

// serve is a server with some statements.
func serve(_ *peer, payload []byte) [][]byte {
	switch text := sqlOf(payload); text {
	case "one":
		return rows(2, wire.Autocommit, []string{"a", "NULL"}, []string{"", "b"})
	case "several":
		list := rows(1, wire.MoreResults, []string{"first"})
		return append(list, rows(2, wire.InTransaction, []string{"x", "y"})...)
	case "empty":
		return rows(1, 0)
	case "late error":
		list := rows(1, 0, []string{"x"})
		list[len(list)-1] = refusal(1317, "Query execution was interrupted")
		return list
	case "bad row":
		list := rows(2, 0, []string{"only one"})
		return list
	case "big":
		return rows(1, 0, []string{strings.Repeat("x", 3<<20)}, []string{strings.Repeat("x", 3<<20)})
	case "file":
		return [][]byte{append([]byte{0xFB}, "/etc/passwd"...)}
	case "garbage":
		return [][]byte{{0x00, 0xFF, 0xFF}}
	case "fails":
		return [][]byte{refusal(1064, "You have an error")}
	case "idle":
		return [][]byte{refusal(4031, "The client was disconnected by the server because of inactivity")}
	case "killed":
		return [][]byte{refusal(1927, "Connection was killed")}
	case "gone":
		return nil
	}
	ok := wire.OK{AffectedRows: 3, Status: wire.Autocommit | wire.InTransaction, Info: []byte("Rows matched: 3")}
	return [][]byte{ok.Append(nil, serverCaps)}
}

func TestQuery(t *testing.T) {
	for _, piece := range pieces {
		c := dial(t, against(t, piece, answering(serve)))
		r, err := c.Query(t.Context(), "one")
		if err != nil {
			t.Fatal(err)
		}
		if got := fmt.Sprintf("%s %q", r.Columns, r.Rows); got != `[c0 c1] [["a" ""] ["" "b"]]` || r.Rows[0][1] != nil || r.Rows[1][0] == nil {
			t.Errorf("got %s", got)
		}
		for _, tt := range []struct {
			row    int
			column string
			want   string
			ok     bool
		}{{0, "C0", "a", true}, {0, "c1", "", false}, {1, "c0", "", true}, {2, "c0", "", false}, {-1, "c0", "", false}, {0, "c2", "", false}} {
			if got, ok := r.Get(tt.row, tt.column); got != tt.want || ok != tt.ok {
				t.Errorf("Get(%d, %s) = %q, %v", tt.row, tt.column, got, ok)
			}
		}
		if r, err = c.Query(t.Context(), "several"); err != nil || fmt.Sprintf("%s %q", r.Columns, r.Rows) != `[c0 c1] [["x" "y"]]` {
			t.Errorf("several: %v, %v", r, err)
		}
		if c.Status() != wire.InTransaction {
			t.Errorf("status is %x", c.Status())
		}
		if r, err = c.Query(t.Context(), "empty"); err != nil || len(r.Rows) != 0 || len(r.Columns) != 1 {
			t.Errorf("empty: %v, %v", r, err)
		}
		if r, err = c.Query(t.Context(), "SET x = 1"); err != nil || len(r.Rows)+len(r.Columns) != 0 {
			t.Errorf("SET: %v, %v", r, err)
		}
	}
}

// TestErrors: which errors end the use of a connection, and what they say was sent.
func TestErrors(t *testing.T) {
	for _, tt := range []struct {
		sql          string
		sent, usable bool
		code         uint16
		is           error
	}{
		{"fails", true, true, 1064, nil},
		{"late error", true, true, 1317, nil},
		{"idle", false, false, 4031, nil},
		{"killed", true, false, 1927, nil},
		{"gone", true, false, 0, io.ErrUnexpectedEOF},
		{"garbage", true, false, 0, nil},
		{"file", true, false, 0, nil},
		{"big", true, true, 0, backend.ErrTooLarge},
		{"bad row", true, false, 0, backend.ErrNotMySQL},
	} {
		t.Run(tt.sql, func(t *testing.T) {
			c := dial(t, against(t, 0, answering(serve)))
			_, err := c.Query(t.Context(), tt.sql)
			if err == nil {
				t.Fatal("no error")
			}
			e := asError(t, err)
			if e.Sent != tt.sent || (c.Err() == nil) != tt.usable || e.Address != address {
				t.Errorf("error %+v, connection has %v", e, c.Err())
			}
			var s *wire.ServerError
			if errors.As(err, &s) != (tt.code != 0) || tt.code != 0 && s.Code != tt.code {
				t.Errorf("got %v, want code %d", err, tt.code)
			}
			if tt.is != nil && !errors.Is(err, tt.is) {
				t.Errorf("got %v, want %v", err, tt.is)
			}
			_, err = c.Query(t.Context(), "one")
			switch {
			case tt.usable && err != nil:
				t.Errorf("afterwards: %v", err)
			case !tt.usable:
				if e := asError(t, err); e.Sent || !errors.Is(e, backend.ErrClosed) {
					t.Errorf("afterwards: %+v", e)
				}
				if err := c.Write([]byte{1, 0, 0, 0, 14}); asError(t, err).Sent {
					t.Error("a closed connection says it sent something")
				}
				if _, err := c.Fill(1); err == nil {
					t.Error("a closed connection has read something")
				}
			}
		})
	}
}

func TestExec(t *testing.T) {
	for _, piece := range pieces {
		c := dial(t, against(t, piece, answering(serve)))
		ok, err := c.Exec(t.Context(), "UPDATE")
		if err != nil || ok.AffectedRows != 3 || string(ok.Info) != "Rows matched: 3" || c.Status() != ok.Status {
			t.Errorf("got %+v, %v", ok, err)
		}
		if ok, err = c.Exec(t.Context(), "several"); err != nil || ok.Status != wire.InTransaction {
			t.Errorf("several: %+v, %v", ok, err)
		}
		for name, run := range map[string]func() error{
			"ping": func() error { return c.Ping(t.Context()) }, "reset": func() error { return c.Reset(t.Context()) },
			"init": func() error { return c.InitDB(t.Context(), "shop") },
		} {
			if err := run(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
}

// TestExecAll: the answers come in order; a failure in the middle is one of them.
func TestExecAll(t *testing.T) {
	for _, piece := range pieces {
		script := func(p *peer) {
			p.login(wire.NativePlugin)
			b := make([]byte, 1<<10)
			n, _ := p.Read(b) // all of them came in one write
			p.buf = b[:n]
			for range 4 {
				p.write(serve(p, p.read())...)
			}
			p.drain()
		}
		c := dial(t, against(t, piece, script))
		list, err := c.ExecAll(t.Context(), "SET", "fails", "one", "SET")
		if err != nil || len(list) != 4 {
			t.Fatalf("got %v, %v", list, err)
		}
		for i, o := range list {
			if (o.Err != nil) != (i == 1) || i != 1 && !o.OK.Status.Has(wire.Autocommit) {
				t.Errorf("outcome %d is %+v", i, o)
			}
		}
	}
	c := dial(t, against(t, 0, func(p *peer) {
		p.login(wire.NativePlugin)
		p.write(serve(p, p.read())...)
	}))
	list, err := c.ExecAll(t.Context(), "SET", "gone", "SET")
	if e := asError(t, err); len(list) != 1 || !e.Sent || c.Err() == nil {
		t.Errorf("got %v, %+v", list, e)
	}
}

func TestChangeUser(t *testing.T) {
	const fresh = "ABCDEFGHIJKLMNOPQRST"
	said := make(chan wire.ChangeUser, 1)
	script := func(p *peer) {
		p.login(wire.SHA2Plugin)
		var m wire.ChangeUser
		if err := m.Decode(p.read(), serverCaps); err != nil {
			t.Error(err)
		}
		said <- m
		p.write((&wire.AuthSwitch{Plugin: wire.NativePlugin, Data: []byte(fresh)}).Append(nil))
		if got := p.read(); !bytes.Equal(got, wire.NativeResponse([]byte("other"), []byte(fresh))) {
			t.Errorf("response is %x", got)
		}
		p.write(okay(wire.Autocommit))
		p.read()
		p.write(refusal(1045, "Access denied"))
	}
	c := dial(t, against(t, 1, script))
	if err := c.ChangeUser(t.Context(), "bob", "other", "shop"); err != nil {
		t.Fatal(err)
	}
	m := <-said
	if m.User != "bob" || m.Database != "shop" || m.AuthPlugin != wire.SHA2Plugin ||
		!bytes.Equal(m.AuthResponse, wire.SHA2Response([]byte("other"), []byte(nonce))) {
		t.Errorf("client sends %+v", m)
	}
	err := c.ChangeUser(t.Context(), "bob", "wrong", "")
	if e := asError(t, err); !e.Sent || c.Err() == nil || strings.Contains(e.Error(), "wrong") {
		t.Errorf("got %+v, connection has %v", e, c.Err())
	}
}

// TestContext: one that has ended sends nothing; one that ends in an answer ends the connection.
func TestContext(t *testing.T) {
	c := dial(t, against(t, 0, func(p *peer) {
		p.login(wire.NativePlugin)
		p.drain()
	}))
	reason := errors.New("enough")
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(reason)
	if e := asError(t, c.Ping(ctx)); e.Sent || !errors.Is(e, reason) || c.Err() != nil {
		t.Errorf("ended before: %+v, connection has %v", e, c.Err())
	}
	ctx, stop := context.WithTimeout(t.Context(), 10*time.Millisecond)
	defer stop()
	if e := asError(t, c.Ping(ctx)); !e.Sent || !errors.Is(e, context.DeadlineExceeded) || c.Err() == nil {
		t.Errorf("ended in the answer: %+v, connection has %v", e, c.Err())
	}
}

// TestWrite: a write that did not begin says so, and one that was cut does too.
func TestWrite(t *testing.T) {
	c := dial(t, against(t, 0, func(p *peer) { p.login(wire.NativePlugin); p.read(); p.drain() }))
	if err := c.SetDeadline(time.Unix(1, 0)); err != nil {
		t.Fatal(err)
	}
	if e := asError(t, c.Write(make([]byte, 10))); e.Sent {
		t.Errorf("not begun: %+v", e)
	}
	c = dial(t, against(t, 0, func(p *peer) {
		p.login(wire.NativePlugin)
		_, _ = io.ReadFull(p, make([]byte, 3))
	}))
	if e := asError(t, c.Write(make([]byte, 10))); !e.Sent {
		t.Errorf("cut: %+v", e)
	}
}

// TestRelay: what a relay reads are the server's bytes, whatever their size, and buffers go back.
func TestRelay(t *testing.T) {
	sizes := []int{1, 4000, 4096, 5000, 65536, 70000, 1 << 20}
	for _, piece := range []int{0, 1000, 5001} {
		var want []byte
		o := against(t, piece, answering(func(p *peer, _ []byte) [][]byte {
			var values [][]string
			for _, size := range sizes {
				values = append(values, []string{strings.Repeat("x", size)})
			}
			list := rows(1, wire.Autocommit, values...)
			end := wire.OK{AfterRows: true, Trackers: wire.AppendGTIDs(nil, strings.Repeat("g", 100_000))}
			list[len(list)-1] = end.Append(nil, serverCaps) // must be seen whole
			seq := p.seq
			for _, b := range list {
				want, seq = wire.AppendMessage(want, b, seq)
			}
			return list
		}))
		o.Buffers = &backend.Buffers{}
		c := dial(t, o)
		packet := packets(0, wire.AppendQuery(nil, "q", c.Capabilities()))
		for range 2 {
			want = nil
			if got := relay(t, c, packet, nil); !bytes.Equal(got, want) {
				t.Errorf("pieces of %d: %d bytes are not the server's %d", piece, len(got), len(want))
			}
		}
	}
}

// relay sends a query's packets and returns the answer's.
func relay(t testing.TB, c *backend.Conn, query, to []byte) []byte {
	var a wire.Answer
	return relayInto(t, c, &a, query, to)
}

// TestAnswer: commands in front of a relayed one, in the same write.
func TestAnswer(t *testing.T) {
	c := dial(t, against(t, 3, func(p *peer) {
		p.login(wire.NativePlugin)
		for payload := p.read(); payload != nil; payload = p.read() {
			p.write(serve(p, payload)...)
		}
	}))
	var out []byte
	for _, sql := range []string{"SET", "fails", "one"} {
		out = append(out, packets(0, wire.AppendQuery(nil, sql, c.Capabilities()))...)
	}
	if err := c.Write(out); err != nil {
		t.Fatal(err)
	}
	if ok, err := c.Answer(wire.ComQuery); err != nil || ok.AffectedRows != 3 {
		t.Errorf("got %+v, %v", ok, err)
	}
	_, err := c.Answer(wire.ComQuery)
	var s *wire.ServerError
	if !errors.As(err, &s) || s.Code != 1064 || c.Err() != nil {
		t.Errorf("got %v, connection has %v", err, c.Err())
	}
	if ok, err := c.Answer(wire.ComQuery); err != nil || !ok.AfterRows || len(c.Peek()) > 0 {
		t.Errorf("got %+v, %v", ok, err)
	}
	if _, err := c.Answer(wire.ComBinlogDump); err == nil || c.Err() == nil {
		t.Error("a binlog dump has an end")
	}
}

// TestTooMuch: what does not fit a packet is not read.
func TestTooMuch(t *testing.T) {
	c := dial(t, against(t, 0, answering(serve)))
	if _, err := c.Fill(wire.MaxPayload + wire.HeaderSize + 1); !errors.Is(err, backend.ErrTooLarge) {
		t.Errorf("got %v", err)
	}
	defer func() {
		if recover() == nil {
			t.Error("advanced beyond what was read")
		}
	}()
	c.Advance(1)
}

func TestQuit(t *testing.T) {
	last := make(chan []byte, 1)
	c := dial(t, against(t, 0, func(p *peer) { p.login(wire.NativePlugin); last <- p.read() }))
	if err := c.Quit(); err != nil {
		t.Error(err)
	}
	if got := <-last; !bytes.Equal(got, []byte{byte(wire.ComQuit)}) {
		t.Errorf("server got %q", got)
	}
}
