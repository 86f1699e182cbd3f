package binlog_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"slices"
	"strings"
	"testing"

	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/mysqlrw/mysqlrw/pkg/binlog"
	"github.com/mysqlrw/mysqlrw/pkg/gtid"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

const uuid = " 55555555-5555-5555-5555-555555555555:"

// TestRead: logs that no server here writes, each with checksums and without.
func TestRead(t *testing.T) {
	t.Parallel()
	const anon = "begin anonymous"
	tests := []struct {
		name string
		make func(l *log)
		want []string
	}{
		{"nothing but a log's own", func(l *log) {
			l.event(rotate, 4, 0, 0, 0, 0, 0, 0, 0, 'b').flagged(unknown, ignorable, nil).event(writeRows)
		}, nil},
		{"heartbeat within", func(l *log) { l.gtid(1, -1).query("BEGIN").event(heartbeat).table("a").event(xid) }, []string{
			"begin" + uuid + "1", "heartbeat", "table shop.a", "end",
		}},
		{"no GTIDs", func(l *log) {
			l.query("BEGIN").table("a").event(writeRows).query("COMMIT").query("DROP TABLE a").event(tableMap, tableBody("", "")...).event(xid)
		}, []string{anon, "table shop.a", "end", anon, "statement shop: DROP TABLE a alone", "end", anon, "table .", "end"}},
		{"anonymous", func(l *log) {
			l.event(anonymous, make([]byte, 25)...).query("BEGIN").table("a").query("ROLLBACK").event(anonymous, make([]byte, 42)...).query("DROP TABLE a")
		}, []string{anon, "table shop.a", "end", anon, "statement shop: DROP TABLE a alone", "end"}},
		{"incident", func(l *log) { l.event(incident, 1, 0).gtid(1, -1).event(incident, 1, 0) }, []string{
			anon, lost("the server has logged an incident: events may be missing"), "end",
			"begin" + uuid + "1", lost("the server has logged an incident: events may be missing"), "end",
		}},
		{"unknown events", func(l *log) {
			l.domain(5, 0).event(load).event(unknown).event(xid).domain(6, standalone).event(unknown)
		}, []string{
			"begin 3-7-5", lost("a LOAD DATA of an old server"), lost("an event of an unknown type, 120"), "end",
			"begin 3-7-6 alone", lost("an event of an unknown type, 120"), "end",
		}},
		{"too large", func(l *log) {
			l.domain(5, 0).event(query, queryBody("shop", strings.Repeat("x", maxEvent))...).event(writeRows, make([]byte, maxEvent)...).event(xid)
			l.domain(6, standalone).event(query, queryBody("shop", strings.Repeat("x", maxEvent))...)
		}, []string{"begin 3-7-5", lost("an event is too large"), "end", "begin 3-7-6 alone", lost("an event is too large"), "end"}},
		{"cut off", func(l *log) {
			l.gtid(1, -1).table("a").gtid(2, -1).query("BEGIN").b = append(l.b, newLog(l.checksum).b...)
			l.gtid(3, -1).gtid(4, -1).event(xid)
		}, []string{
			"begin" + uuid + "1", "table shop.a", lost("a transaction begins before the one before has ended"), "end",
			"begin" + uuid + "2", lost("a log ends within a transaction"), "end",
			"begin" + uuid + "3", lost("a transaction begins before the one before has ended"), "end", "begin" + uuid + "4", "end",
		}},
		{"more than a statement", func(l *log) {
			more := 0
			if l.checksum {
				more = 4 // of the first event and the last
			}
			l.gtid(1, 19+len(queryBody("shop", "CREATE TABLE a"))+19+3*more).query("CREATE TABLE a").event(xid).gtid(2, more).query("CREATE TABLE b")
		}, []string{
			"begin" + uuid + "1", "statement shop: CREATE TABLE a", "end", "begin" + uuid + "2", "statement shop: CREATE TABLE b alone", "end",
		}},
		{"parts", func(l *log) {
			l.domain(5, 0).query("begin").query("savepoint `a`").query("Rollback to `a`").query("RELEASE SAVEPOINT `a`").query("").query("RollBack")
			l.query("XA START X'61',X'',1").query("INSERT").query("XA END X'61',X'',1").event(xaPrepare, 0, 1, 0, 0, 0, 1, 0, 0, 0, 1, 0, 0, 0, 'a', 0xAB)
			l.query("BEGINS").query("ROLLBACK PREPARED")
		}, []string{
			"begin 3-7-5", "end", anon, "statement shop: INSERT", "end X'61',X'ab',1", anon, "statement shop: BEGINS alone", "end",
			anon, "statement shop: ROLLBACK PREPARED alone", "end",
		}},
		{"tags", func(l *log) {
			l.event(tagged, tagBody("one", 300)...).query("BEGIN").event(xid).event(tagged, tagBody("one", 1<<40)...).event(xid).event(tagged, tagBody("", 1)...).event(xid)
		}, []string{"begin" + uuid + "one:300", "end", "begin" + uuid + "one:1099511627776", "end", "begin" + uuid + "1", "end"}},
		{"compressed statement", func(l *log) {
			l.event(queryPacked, queryBody("shop", packText("INSERT"))...).event(queryPacked, queryBody("shop", "\x82\x00\x05x")...)
			l.event(queryPacked, queryBody("shop", "\x84\x7f\xff\xff\xffx")...).event(queryPacked, queryBody("shop", "")...)
		}, []string{
			anon, "statement shop: INSERT alone", "end", anon, lost("a statement is too large, or compressed in an unknown way"), "end",
			anon, lost("a statement is too large, or compressed in an unknown way"), "end",
			anon, lost("a statement is too large, or compressed in an unknown way"), "end",
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			for _, checksum := range []bool{false, true} {
				l := newLog(checksum)
				test.make(l)
				for _, piece := range sizes(l.b) {
					got, _, err := play(t, &tape{b: l.b, piece: piece})
					if !errors.Is(err, io.ErrUnexpectedEOF) || !slices.Equal(got, test.want) {
						t.Errorf("checksum %v: %v, got\n%s\nwant\n%s", checksum, err, strings.Join(got, "\n"), strings.Join(test.want, "\n"))
					}
				}
			}
		})
	}
}

// sizes are pieces to play a log in.
func sizes(b []byte) []int {
	if len(b) > 1<<20 {
		return []int{50000}
	}
	return []int{1, 100, 1 << 20}
}

func lost(reason string) string { return "lost " + reason }

// varint appends a number of mysql::serialization.
func varint(b []byte, v uint64) []byte {
	n := 0 // bytes behind the first
	for n < 7 && v>>(7*(n+1)) != 0 {
		n++
	}
	if v>>56 != 0 {
		return binary.LittleEndian.AppendUint64(append(b, 0xFF), v)
	}
	var all [8]byte
	binary.LittleEndian.PutUint64(all[:], v<<(n+1)|(1<<n-1))
	if n == 7 {
		binary.LittleEndian.PutUint64(all[:], v)
		return append(append(b, 0x7F), all[:7]...)
	}
	return append(b, all[:n+1]...)
}

// tagBody is an event with a tag, with more fields than are read.
func tagBody(tag string, seq uint64) []byte {
	b := varint(varint(varint(nil, 1), 60), 0)
	b = varint(varint(b, 0), 1)
	b = varint(b, 1)
	for range 16 {
		b = varint(b, 'U')
	}
	b = varint(varint(b, 2), seq<<1)
	b = append(varint(varint(b, 3), uint64(len(tag))), tag...)
	b = varint(varint(b, 4), 3<<1)
	b = varint(varint(b, 6), 1<<50)
	b = varint(varint(b, 9), 90704)
	return append(b, 12, 1, 2, 3)
}

func packText(text string) string {
	var b bytes.Buffer
	z := zlib.NewWriter(&b)
	_, _ = z.Write([]byte(text))
	_ = z.Close()
	return "\x81" + string([]byte{byte(len(text))}) + b.String()
}

// TestRead_broken: what makes no sense ends the reading with an error that says so.
func TestRead_broken(t *testing.T) {
	t.Parallel()
	refusal := wire.ServerError{Code: 1236, State: "HY000", Message: "purged"}
	tests := []struct {
		name  string
		bytes []byte
		want  error
	}{
		{"ended", append(newLog(true).b, 1, 0, 0, 9, 0xFE), io.EOF},
		{"empty message", append(newLog(true).b, 0, 0, 0, 9), binlog.ErrMalformed},
		{"other message", append(newLog(true).b, 1, 0, 0, 9, 7), binlog.ErrMalformed},
		{"short event", append(newLog(true).b, 2, 0, 0, 9, 0, 1), binlog.ErrMalformed},
		{"flipped bit", flip(newLog(true).gtid(1, 0).b, -1), binlog.ErrMalformed},
		{"flipped bit in the description", flip(newLog(true).b, 40), binlog.ErrMalformed},
		{"flipped bit in a payload", flip(newLog(true).event(payload, pack(packedNone, makeEvent(xid, 0, nil))...).b, -30), binlog.ErrMalformed},
		{"longer event", newLog(false).message(resize(makeEvent(xid, 0, nil), 1)).b, binlog.ErrMalformed},
		{"longer event that is skipped", newLog(false).message(resize(makeEvent(rotate, 0, nil), 1)).b, binlog.ErrMalformed},
		{"shorter event", newLog(false).message(resize(makeEvent(rotate, 0, make([]byte, 9)), -1)).b, binlog.ErrMalformed},
		{"event of 18 bytes", newLog(false).message(resize(makeEvent(rotate, 0, nil), -1)).b, binlog.ErrMalformed},
		{"no number", newLog(false).gtid(0, -1).b, binlog.ErrMalformed},
		{"short GTID", newLog(false).event(gtidLog, 1, 2).b, binlog.ErrMalformed},
		{"short table", newLog(false).event(tableMap, 1, 2, 3, 4, 5, 6, 7, 8, 200).b, binlog.ErrMalformed},
		{"short query", newLog(false).event(query, make([]byte, 12)...).b, binlog.ErrMalformed},
		{"short description", newLog(false).event(description, make([]byte, 60)...).b, binlog.ErrMalformed},
		{"long tag", newLog(false).event(tagged, tagBody(strings.Repeat("x", 33), 1)...).b, binlog.ErrMalformed},
		{"bad tag", newLog(false).event(tagged, tagBody("A-", 1)...).b, binlog.ErrMalformed},
		{"long XA name", newLog(false).event(xaPrepare, 0, 1, 0, 0, 0, 255, 255, 255, 127, 255, 255, 255, 127).b, binlog.ErrMalformed},
		{"payload without a size", newLog(false).event(payload, 2, 1, 0, 0).b, binlog.ErrMalformed},
		{"payload beyond its event", newLog(false).event(payload, 2, 1, 0, 1, 1, 9, 0, 1, 2, 3).b, binlog.ErrMalformed},
	}
	for _, test := range tests {
		got, _, err := play(t, &tape{b: test.bytes, piece: 100})
		if !errors.Is(err, test.want) || !strings.HasPrefix(err.Error(), "read the binary log of test: ") ||
			slices.Contains(got, "begin 0-0-0") {
			t.Errorf("%s: %v, behind %q", test.name, err, got)
		}
	}
	l := newLog(true)
	l.b, _ = wire.AppendMessage(l.b, refusal.Append(nil), 3)
	_, err := l.read(t)
	var e *wire.ServerError
	if !errors.As(err, &e) || *e != refusal {
		t.Errorf("refused: %v", err)
	}
}

func flip(b []byte, at int) []byte {
	if at < 0 {
		at += len(b)
	}
	b[at] ^= 1
	return b
}

// TestRead_packets: messages of exactly one packet, which have an empty one behind, and of a byte more.
func TestRead_packets(t *testing.T) {
	t.Parallel()
	const around = 1 + 19 + 4 // what a message has besides the body
	body := make([]byte, wire.MaxPayload-around+1)
	l := newLog(true).domain(1, 0).table("a").event(writeRows, body[:len(body)-1]...)
	exact := len(l.b)
	l.event(query, body...).event(xid)
	s := &tape{b: l.b, piece: 60000}
	got, _, err := play(t, s)
	want := []string{"begin 3-7-1", "table shop.a", "lost an event is too large", "end"}
	if !errors.Is(err, io.ErrUnexpectedEOF) || !slices.Equal(got, want) || s.longest > 1000 {
		t.Errorf("%v, %q, %d bytes at once", err, got, s.longest)
	}
	l.b[exact-1]++ // the number of the empty packet
	if got, err := l.read(t); !errors.Is(err, binlog.ErrMalformed) || len(got) != 2 {
		t.Errorf("packet out of order: %v, %q", err, got)
	}
}

const (
	packedZstd = 0
	packedNone = 255
)

// pack makes the body of a payload.
func pack(kind uint64, events ...[]byte) []byte {
	b := bytes.Join(events, nil)
	fields := appendField([]byte{77, 2, 1, 1}, 2, kind) // behind one of a later version
	fields = appendField(fields, 3, uint64(len(b)))
	if kind == packedZstd {
		e, _ := zstd.NewWriter(nil)
		b = e.EncodeAll(b, nil)
	}
	return append(append(appendField(fields, 1, uint64(len(b))), 0), b...)
}

func appendField(b []byte, field byte, value uint64) []byte {
	v := wire.AppendLenEncInt(nil, value)
	return append(append(b, field, byte(len(v))), v...)
}

// TestRead_payload: compressed transactions, well and not well.
func TestRead_payload(t *testing.T) {
	t.Parallel()
	begin, commit := makeEvent(query, 0, queryBody("", "BEGIN")), makeEvent(xid, 0, nil)
	table, rows := makeEvent(tableMap, 0, tableBody("shop", "a")), makeEvent(writeRows, 0, make([]byte, 5<<20))
	const cannot = "lost a compressed transaction cannot be read: "
	small := pack(packedZstd, begin, table, commit)
	tests := []struct {
		name string
		body []byte
		want []string
	}{
		{"zstd", pack(packedZstd, begin, table, rows, commit), []string{"table shop.a"}},
		{"not compressed", pack(packedNone, begin, table, rows, commit), []string{"table shop.a"}},
		{"several packets", pack(packedNone, begin, table, rows, rows, rows, rows, table, commit), []string{"table shop.a", "table shop.a"}},
		{"more behind it", append(pack(packedZstd, begin, table, commit), 1, 2, 3), []string{"table shop.a"}},
		{"without an end", pack(packedZstd, begin, table), []string{"table shop.a"}},
		{"empty", pack(packedNone), nil},
		{"statements", pack(packedZstd, makeEvent(query, 0, queryBody("shop", "CREATE")), table, commit), []string{"statement shop: CREATE", "table shop.a"}},
		{
			"prepared", pack(packedZstd, table, makeEvent(xaPrepare, 0, []byte{0, 1, 0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 'a'})),
			[]string{"table shop.a", "end X'61',X'',1"},
		},
		{
			"other events", pack(packedZstd, makeEvent(gtidLog, 0, nil), makeEvent(description, 0, nil), makeEvent(heartbeat, 0, nil), commit),
			[]string{lost("an event of an unknown type, 33"), lost("an event of an unknown type, 15"), lost("an event of an unknown type, 27")},
		},
		{"large event", pack(packedZstd, makeEvent(query, 0, make([]byte, maxEvent)), table, commit), []string{lost("an event is too large"), "table shop.a"}},
		{"too large", pack(packedZstd, begin, table, bytes.Repeat(rows, 13)), []string{"table shop.a", cannot + "a compressed transaction is too large"}},
		{"unknown compression", pack(9, begin, table), []string{cannot + "unknown compression 9 of a transaction"}},
		{"not zstd", append([]byte{2, 1, 0, 1, 1, 9, 0}, "123456789"...), []string{cannot + "invalid input: magic number mismatch"}},
		{"cut off", pack(packedNone, begin, table, commit[:7]), []string{"table shop.a", cannot + "unexpected EOF"}},
		{"cut off behind a header", pack(packedNone, begin, table, rows[:50]), []string{"table shop.a", cannot + "EOF"}},
		{"short table", pack(packedNone, makeEvent(tableMap, 0, nil), commit), []string{
			cannot + "malformed binary log: event of type 19: read the body of an event: at offset 0 of 0 bytes: want more bytes",
		}},
		{"event of 0 bytes", pack(packedNone, make([]byte, 19)), []string{cannot + "malformed binary log: event of 0 bytes"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			t.Parallel()
			want := append([]string{"begin" + uuid + "1"}, test.want...)
			if !strings.HasPrefix(want[len(want)-1], "end") {
				want = append(want, "end")
			}
			want = append(want, "heartbeat", "begin 3-7-2", "table shop.a", "end")
			for _, checksum := range []bool{false, true} {
				l := newLog(checksum).gtid(1, -1).event(payload, test.body...).event(heartbeat).domain(2, 0)
				l.event(payload, small...)
				for _, piece := range sizes(l.b) {
					s := &tape{b: l.b, piece: piece}
					got, _, err := play(t, s)
					if !errors.Is(err, io.ErrUnexpectedEOF) || !slices.Equal(got, want) || s.longest > maxEvent {
						t.Errorf("checksum %v: %v, got\n%s\nwant\n%s", checksum, err, strings.Join(got, "\n"), strings.Join(want, "\n"))
					}
				}
			}
		})
	}
}

// TestRead_settings: how a statement is to be read.
func TestRead_settings(t *testing.T) {
	t.Parallel()
	r := binlog.ReadFrom(&tape{b: newLog(true).query("DROP TABLE a").b})
	var e binlog.Event
	for e.Kind != binlog.Statement {
		if err := r.Next(&e); err != nil {
			t.Fatal(err)
		}
	}
	if e.SQLMode != 8 || e.Charset != 45 {
		t.Errorf("sql_mode %d, character set %d", e.SQLMode, e.Charset)
	}
}

// TestAppendSet: as the manual of COM_BINLOG_DUMP_GTID has it, and with tags as MySQL 8.3 does.
func TestAppendSet(t *testing.T) {
	t.Parallel()
	const u, v = "55555555-5555-5555-5555-555555555555", "66666666-6666-6666-6666-666666666666"
	number := func(n uint64) string { return string(binary.LittleEndian.AppendUint64(nil, n)) }
	us, vs := strings.Repeat("U", 16), strings.Repeat("f", 16)
	tests := []struct{ set, want string }{
		{"", number(0)},
		{u + ":1-5:7", number(1) + us + number(2) + number(1) + number(6) + number(7) + number(8)},
		{u + ":1," + v + ":9223372036854775806", number(2) + us + number(1) + number(1) + number(2) + vs + number(1) + number(1<<63-2) + number(1<<63-1)},
		{
			u + ":1:one:2," + v + ":1-3",
			"\x01\x03\x00\x00\x00\x00\x00\x01" + us + "\x00" + number(1) + number(1) + number(2) + us + "\x06one" + number(1) + number(2) + number(3) +
				vs + "\x00" + number(1) + number(1) + number(4),
		},
	}
	for _, test := range tests {
		set, err := gtid.Parse(test.set)
		if err != nil {
			t.Fatal(err)
		}
		if got := string(binlog.AppendSet(nil, set)); got != test.want {
			t.Errorf("%s: got %q, want %q", test.set, got, test.want)
		}
	}
}
