package binlog_test

import (
	"context"
	"errors"
	"flag"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/backend"
	"github.com/mysqlrw/mysqlrw/pkg/binlog"
	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

var update = flag.Bool("update", false, "write what servers send to testdata")

// recorder keeps what is read.
type recorder struct {
	net.Conn
	b []byte
}

func (c *recorder) Read(b []byte) (int, error) {
	n, err := c.Conn.Read(b)
	c.b = append(c.b, b[:n]...)
	return n, err
}

// recorded are the statements of the recordings: the same without checksums and with them.
func recorded(f flavor.Flavor) (list []string) {
	list = append(list, "SET GLOBAL binlog_checksum = NONE")
	add := func(from []logged) {
		for _, l := range from {
			if (l.only == flavor.Unknown || l.only == f) && l.name != "long" && len(strings.Join(l.statements, "")) < 2000 {
				list = append(list, l.statements...)
			}
		}
	}
	add(rowStatements)
	add(xaStatements)
	add(mysqlStatements)
	add(mariadbStatements)
	return append(append(list, "SET GLOBAL binlog_checksum = CRC32"), sysbench...)
}

// sysbench is what its usual transaction writes.
var sysbench = slices.Concat([]string{
	"CREATE TABLE sbtest1 (id INT PRIMARY KEY, k INT, c CHAR(120), pad CHAR(60))",
	"INSERT INTO sbtest1 VALUES (1, 1, REPEAT('x', 119), REPEAT('y', 59)), (2, 2, REPEAT('x', 119), REPEAT('y', 59))",
}, slices.Repeat([]string{
	"BEGIN", "UPDATE sbtest1 SET k = k + 1 WHERE id = 1", "UPDATE sbtest1 SET c = CONCAT(k, 'z') WHERE id = 1", "DELETE FROM sbtest1 WHERE id = 2",
	"INSERT INTO sbtest1 VALUES (2, 2, REPEAT('x', 119), REPEAT('y', 59))", "COMMIT",
}, 20))

// TestRecord keeps what servers send, with -update, for the tests without servers.
func TestRecord(t *testing.T) {
	if !*update {
		t.Skip("without -update")
	}
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		s := start(t, f)
		s.exec(t, recorded(f)...)
		var c *recorder
		conn, err := backend.Dial(t.Context(), &backend.Options{
			Address: s.Address(), User: s.User, Password: s.Password, ConnectTimeout: 20 * time.Second, TLSMode: backend.TLSDisabled,
			Connect: func(ctx context.Context, network, address string) (net.Conn, error) {
				conn, err := (&net.Dialer{}).DialContext(ctx, network, address)
				c = &recorder{Conn: conn}
				return c, err
			},
		})
		if err != nil {
			t.Fatal(err)
		}
		r := s.read(t, conn, gtid.Value{})
		c.b = nil
		transactions := r.until(t, s.position(t))
		length := 0 // without what was read and is not whole
		for b := c.b; ; {
			_, _, n, err := wire.Split(b)
			if err != nil {
				t.Fatal(err)
			}
			if n == 0 {
				break
			}
			length, b = length+n, b[n:]
		}
		list, n, err := play(t, &tape{b: c.b[:length], piece: 1})
		if !errors.Is(err, io.ErrUnexpectedEOF) || n != len(transactions) {
			t.Fatalf("%d transactions, recorded %d: %v", len(transactions), n, err)
		}
		for name, text := range map[string]string{".bin": string(c.b[:length]), ".txt": strings.Join(list, "\n") + "\n"} {
			if err := os.WriteFile("testdata/"+f.String()+name, []byte(text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// recording is what TestRecord has kept: a server's answer, and what it means.
func recording(t testing.TB, f flavor.Flavor) (answer []byte, want []string) {
	t.Helper()
	answer, err := os.ReadFile("testdata/" + f.String() + ".bin")
	if err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile("testdata/" + f.String() + ".txt")
	if err != nil {
		t.Fatal(err)
	}
	return answer, strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
}

// TestRecorded: what servers have sent means the same, however it comes.
func TestRecorded(t *testing.T) {
	t.Parallel()
	for _, f := range []flavor.Flavor{flavor.MySQL, flavor.MariaDB} {
		answer, want := recording(t, f)
		for _, piece := range []int{1, 7, 1000, len(answer)} {
			got, _, err := play(t, &tape{b: answer, piece: piece})
			for i := range min(len(got), len(want)) {
				if got[i] != want[i] {
					t.Fatalf("%v in pieces of %d: got %q, want %q", f, piece, got[i], want[i])
				}
			}
			if !errors.Is(err, io.ErrUnexpectedEOF) || len(got) != len(want) {
				t.Errorf("%v in pieces of %d: %v, %d events, want %d", f, piece, err, len(got), len(want))
			}
		}
	}
}

// repeated is a recording with its last n transactions repeated, and the number of all events in it that
// a server sends.
func repeated(t testing.TB, f flavor.Flavor, last, times int) (b []byte, events int) {
	t.Helper()
	b, _ = recording(t, f)
	var starts []int // of transactions
	at := 0
	for at < len(b) {
		p, _, n, err := wire.Split(b[at:])
		if err != nil {
			t.Fatal(err)
		}
		if kind := p[5]; kind == gtidLog || kind == tagged || kind == mariadbGTID {
			starts = append(starts, at)
		}
		at += n
	}
	more := b[starts[len(starts)-last]:]
	b = append(b, []byte(strings.Repeat(string(more), times))...)
	for at := 0; at < len(b); events++ {
		_, _, n, _ := wire.Split(b[at:])
		at += n
	}
	return b, events
}

// TestAllocations: a usual log costs no memory, however long it is.
func TestAllocations(t *testing.T) {
	for _, f := range []flavor.Flavor{flavor.MySQL, flavor.MariaDB} {
		b, events := repeated(t, f, 10, 100)
		s := &tape{b: b, piece: 64 << 10}
		r := binlog.ReadFrom(s)
		var e binlog.Event
		for s.from < len(b)/2 {
			if err := r.Next(&e); err != nil {
				t.Fatal(err)
			}
		}
		if got := testing.AllocsPerRun(100, func() {
			for range events / 500 {
				if err := r.Next(&e); err != nil {
					t.Fatal(err)
				}
			}
		}); got != 0 {
			t.Errorf("%v: %v allocations", f, got)
		}
	}
}

// BenchmarkRead: the time of one event that a server sends, which is a fifth to a tenth of a transaction's.
func BenchmarkRead(b *testing.B) {
	for _, f := range []flavor.Flavor{flavor.MySQL, flavor.MariaDB} {
		b.Run(f.String(), func(b *testing.B) {
			answer, events := repeated(b, f, 10, 1000)
			b.ReportAllocs()
			b.SetBytes(int64(len(answer)))
			var e binlog.Event
			for b.Loop() {
				r := binlog.ReadFrom(&tape{b: answer, piece: 64 << 10})
				var err error
				for err == nil {
					err = r.Next(&e)
				}
			}
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*events), "ns/event")
		})
	}
}

// BenchmarkRead_payload: the time of a small transaction that is compressed.
func BenchmarkRead_payload(b *testing.B) {
	const transactions = 1000
	l := newLog(true)
	body := pack(
		packedZstd, makeEvent(query, 0, queryBody("", "BEGIN")), makeEvent(tableMap, 0, tableBody("shop", "a")),
		makeEvent(writeRows, 0, make([]byte, 300)), makeEvent(xid, 0, nil),
	)
	for range transactions {
		l.gtid(1, -1).event(payload, body...)
	}
	b.ReportAllocs()
	var e binlog.Event
	for b.Loop() {
		r := binlog.ReadFrom(&tape{b: l.b, piece: 64 << 10})
		var err error
		for err == nil {
			err = r.Next(&e)
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*transactions), "ns/transaction")
}
