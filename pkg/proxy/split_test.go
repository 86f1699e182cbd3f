package proxy_test

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// exchange is what a client sends and must get, byte by byte, for its capabilities.
type exchange struct {
	name string
	send [][]byte // commands: the payloads, each a packet with the number 0
	want func(caps wire.Capability) []byte
	// prepares: the numbers of statements, the proxy's own business, are left out.
	prepares bool
}

// splitCaps are the kinds of clients that the answers differ for.
var splitCaps = map[string]wire.Capability{
	"today": ordinary &^ wire.LongPassword, "EOF": ordinary &^ (wire.LongPassword | wire.DeprecateEOF),
	"untracked": ordinary &^ (wire.LongPassword | wire.SessionTrack), "old": ordinary &^ (wire.LongPassword | wire.DeprecateEOF | wire.SessionTrack),
}

// TestSplit has a server's answers cut at every byte, and a client's commands at every byte (at some of
// them under -short), and the client must get every byte as it is.
func TestSplit(t *testing.T) {
	a, socket := newActor(t)
	all := a.script()
	for kind, caps := range splitCaps {
		t.Run(kind, func(t *testing.T) {
			for _, x := range all {
				t.Run(x.name, func(t *testing.T) { a.everyCut(t, socket, caps, &x) })
			}
		})
	}
}

// client logs in to the proxy's socket.
func splitClient(t *testing.T, socket string, caps wire.Capability) *raw {
	t.Helper()
	c, err := net.DialTimeout("unix", socket, rawLimit)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = c.Close() })
	r := &raw{t: t, c: c, in: bufio.NewReader(c)}
	if err := r.login(&rawOptions{user: appUser, password: appPassword, caps: caps}); err != nil {
		t.Fatal(err)
	}
	return r
}

// everyCut runs an exchange with the answers cut at each place, byte by byte, and then with the commands
// cut so.
func (a *actor) everyCut(t *testing.T, socket string, caps wire.Capability, x *exchange) {
	var commands []byte
	for _, payload := range x.send {
		commands, _ = wire.AppendMessage(commands, payload, 0)
	}
	r := splitClient(t, socket, caps)
	r.prepares = x.prepares
	answer := x.want(r.caps)
	single := make([]int, max(len(answer), len(commands))+64)
	for i := range single {
		single[i] = i + 1
	}
	every := 1
	if testing.Short() {
		every = 9
	}
	for k := 0; k < len(answer)+64; k += every { // the server's form of it may be longer
		a.run(t, r, commands, nil, []int{k + 1}, answer, fmt.Sprintf("answer cut at %d", k+1))
	}
	a.run(t, r, commands, nil, single, answer, "answer byte by byte")
	for k := 0; k < len(commands)-1; k += every {
		a.run(t, r, commands, []int{k + 1}, nil, answer, fmt.Sprintf("commands cut at %d", k+1))
	}
	a.run(t, r, commands, single, single, answer, "all byte by byte")
}

// run makes one exchange.
func (a *actor) run(t *testing.T, r *raw, commands []byte, clientCuts, serverCuts []int, want []byte, how string) {
	t.Helper()
	if t.Failed() {
		return
	}
	a.mu.Lock()
	a.cuts = serverCuts
	a.mu.Unlock()
	_ = r.c.SetDeadline(time.Now().Add(rawLimit))
	if err := writeCut(r.c, commands, clientCuts); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, len(want))
	n, err := io.ReadFull(r.in, got)
	got = got[:n]
	if r.in.Buffered() > 0 {
		rest, _ := r.in.Peek(r.in.Buffered())
		got = append(got, rest...)
	}
	if r.prepares {
		unnumber(got)
	}
	if !bytes.Equal(got, want) {
		t.Fatalf("%s: %v\n got  %.2000q\n want %.2000q", how, err, got, want)
	}
}

// unnumber puts 1 for every number of a statement that was prepared.
func unnumber(packets []byte) {
	for b := packets; len(b) >= wire.HeaderSize; {
		n, seq := wire.Header(b)
		b = b[wire.HeaderSize:]
		if n > len(b) {
			return
		}
		if n == 12 && seq == 1 && b[0] == 0 {
			b[1], b[2], b[3], b[4] = 1, 0, 0, 0
		}
		b = b[n:]
	}
}

// TestSplitLarge has a row that does not fit one packet, cut about where the second one begins.
func TestSplitLarge(t *testing.T) {
	if testing.Short() {
		t.Skip("16 MB and the race detector take longer than -short has")
	}
	a, socket := newActor(t)
	sizes := []int{wire.MaxPayload - 4, wire.MaxPayload - 5, wire.MaxPayload - 3, wire.MaxPayload + 100}
	for _, size := range sizes {
		answer := a.says("SELECT large", func(caps wire.Capability) []byte {
			return result{columns: 1, rows: [][]string{{strings.Repeat("l", size)}}}.bytes(caps, 1)
		})
		for _, caps := range splitCaps {
			r := splitClient(t, socket, caps)
			want := answer(r.caps)
			at := bytes.IndexByte(want, 'l') + wire.MaxPayload - 4
			a.run(t, r, pack("SELECT large"), nil, []int{at - 1, at, at + 1, at + 2, at + 3, at + 4, at + 5}, want, fmt.Sprint("a row of ", size))
		}
	}
}

// says scripts an answer and returns it.
func (a *actor) says(command string, answer func(caps wire.Capability) []byte) func(wire.Capability) []byte {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.answers[command] = answer
	return answer
}

func okBytes(ok wire.OK) func(wire.Capability) []byte {
	return func(caps wire.Capability) []byte {
		b, _ := wire.AppendMessage(nil, ok.Append(nil, caps), 1)
		return b
	}
}

// script has an answer of every kind.
func (a *actor) script() []exchange {
	text := func(query string) [][]byte { return [][]byte{append([]byte{byte(wire.ComQuery)}, query...)} }
	add := func(all []exchange, name, query string, answer func(wire.Capability) []byte) []exchange {
		return append(all, exchange{name: name, send: text(query), want: a.says(query, answer)})
	}
	failed := &wire.ServerError{Code: 1146, State: "42S02", Message: "Table 'f.missing' doesn't exist"}
	wide := make([]string, 40)
	for i := range wide {
		wide[i] = strings.Repeat("w", i)
	}
	all := add(nil, "OK", "UPDATE a", okBytes(wire.OK{AffectedRows: 300, Status: wire.Autocommit | wire.NoIndex, Warnings: 1, Info: []byte("Rows matched: 300")}))
	all = add(all, "OK with a number", "INSERT INTO a", okBytes(wire.OK{AffectedRows: 1, LastInsertID: 70000, Status: wire.Autocommit}))
	all = add(all, "ERR", "UPDATE missing", func(wire.Capability) []byte {
		b, _ := wire.AppendMessage(nil, failed.Append(nil), 1)
		return b
	})
	all = add(all, "rows", "SELECT a", func(caps wire.Capability) []byte {
		return result{columns: 2, rows: [][]string{{"1", "one"}, {"", ""}, {"3", strings.Repeat("x", 260)}}}.bytes(caps, 1)
	})
	all = add(all, "no rows", "SELECT b", func(caps wire.Capability) []byte { return result{columns: 1}.bytes(caps, 1) })
	all = add(all, "many columns", "SELECT c", func(caps wire.Capability) []byte {
		return result{columns: len(wide), rows: [][]string{wide}}.bytes(caps, 1)
	})
	all = add(all, "rows and an error", "SELECT d", func(caps wire.Capability) []byte {
		return result{columns: 1, rows: [][]string{{"1"}, {"2"}}, failed: failed}.bytes(caps, 1)
	})
	all = add(all, "several results", "SELECT 1; UPDATE b; SELECT 2", func(caps wire.Capability) []byte {
		b, seq := result{columns: 1, rows: [][]string{{"1"}}, status: wire.MoreResults}.append(nil, caps, 1)
		ok := wire.OK{AffectedRows: 2, Status: wire.Autocommit | wire.MoreResults}
		b, seq = wire.AppendMessage(b, ok.Append(nil, caps), seq)
		b, _ = result{columns: 2, rows: [][]string{{"2", "3"}}}.append(b, caps, seq)
		return b
	})
	all = add(all, "several results and an error", "UPDATE c; SELECT 3 FROM missing", func(caps wire.Capability) []byte {
		ok := wire.OK{AffectedRows: 2, Status: wire.Autocommit | wire.MoreResults}
		b, seq := wire.AppendMessage(nil, ok.Append(nil, caps), 1)
		b, _ = wire.AppendMessage(b, failed.Append(nil), seq)
		return b
	})
	all = append(all, exchange{name: "statistics", send: [][]byte{{byte(wire.ComStatistics)}}, want: a.says("STATISTICS", func(wire.Capability) []byte {
		b, _ := wire.AppendMessage(nil, []byte("Uptime: 1  Threads: 2"), 1)
		return b
	})})
	fields := wire.FieldList{Table: []byte("a")}
	all = append(all, exchange{name: "field list", send: [][]byte{fields.Append(nil)}, want: a.says("a\x00", func(caps wire.Capability) []byte {
		c := column(0)
		c.HasDefault, c.Default = true, []byte("d")
		b, seq := wire.AppendMessage(nil, c.Append(nil, caps), 1)
		end := wire.OK{AfterRows: true, EOF: !caps.Has(wire.DeprecateEOF), Status: wire.Autocommit}
		b, _ = wire.AppendMessage(b, end.Append(nil, caps), seq)
		return b
	})})
	return append(all, a.pipelines()...)
}
