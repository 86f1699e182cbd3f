package binlog_test

import (
	"encoding/binary"
	"errors"
	"hash/crc32"
	"io"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/binlog"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// tape is a server's answer that was kept. It is played in pieces, the buffer as small as is asked for, so
// that nothing is there by luck.
type tape struct {
	b       []byte
	from    int // passed
	have    int // read
	piece   int // that is read at once, at least
	longest int // that was asked for
}

func (s *tape) Peek() []byte { return s.b[s.from:s.have:s.have] }

func (s *tape) Fill(need int) ([]byte, error) {
	s.longest = max(s.longest, need)
	if s.from+need > len(s.b) {
		return nil, io.ErrUnexpectedEOF
	}
	if s.have-s.from < need {
		s.have = min(s.from+max(need, s.piece), len(s.b))
	}
	return s.Peek(), nil
}

func (s *tape) Advance(n int) {
	if n < 0 || n > s.have-s.from {
		panic("advance beyond what was read")
	}
	s.from += n
}

func (s *tape) Release() {}

// Events of the tests, by the numbers of the manuals.
const (
	query        = 2
	rotate       = 4
	load         = 6
	description  = 15
	xid          = 16
	tableMap     = 19
	incident     = 26
	heartbeat    = 27
	writeRows    = 30
	gtidLog      = 33
	anonymous    = 34
	xaPrepare    = 38
	payload      = 40
	tagged       = 42
	mariadbGTID  = 162
	queryPacked  = 165
	unknown      = 120
	maxEvent     = 1 << 20
	ignorable    = 0x80
	standalone   = 1
	serverID     = 7
	crcAlgorithm = 1
)

// log puts events together as a server sends them.
type log struct {
	b        []byte
	checksum bool
}

// newLog begins with a format description.
func newLog(checksum bool) *log {
	l := &log{}
	body := make([]byte, 2+50+4+1+50+1) // version, server, time, length of headers, lengths of post-headers, checksum
	body[2+50+4] = 19
	posts := body[2+50+4:]
	posts[query], posts[tableMap], posts[18] = 13, 8, 26
	if checksum {
		body[len(body)-1] = crcAlgorithm
	}
	event := makeEvent(description, 1, body) // the log is in use
	sum := crc32.ChecksumIEEE(makeEvent(description, 0, body, 4))
	l.message(binary.LittleEndian.AppendUint32(resize(event, 4), sum))
	l.checksum = checksum
	return l
}

// makeEvent makes one as long as it says, with room for a checksum in its length if more says so.
func makeEvent(kind byte, flags uint16, body []byte, more ...int) []byte {
	b := make([]byte, 19, 19+len(body)+4)
	b[4] = kind
	binary.LittleEndian.PutUint32(b[5:], serverID)
	binary.LittleEndian.PutUint16(b[17:], flags)
	b = append(b, body...)
	size := len(b)
	for _, n := range more {
		size += n
	}
	binary.LittleEndian.PutUint32(b[9:], uint32(size))
	return b
}

// resize says that an event is longer.
func resize(event []byte, more int) []byte {
	binary.LittleEndian.PutUint32(event[9:], uint32(len(event)+more))
	return event
}

// message appends what a server sends as one.
func (l *log) message(event []byte) *log {
	l.b, _ = wire.AppendMessage(l.b, append([]byte{0}, event...), 9)
	return l
}

func (l *log) event(kind byte, body ...byte) *log { return l.flagged(kind, 0, body) }

func (l *log) flagged(kind byte, flags uint16, body []byte) *log {
	event := makeEvent(kind, flags, body)
	if l.checksum {
		resize(event, 4)
		event = binary.LittleEndian.AppendUint32(event, crc32.ChecksumIEEE(event))
	}
	return l.message(event)
}

// gtid appends MySQL's event, with the length that the transaction has beyond it, if not negative.
func (l *log) gtid(seq byte, beyond int) *log {
	body := append(make([]byte, 1), []byte(strings.Repeat("U", 16))...)
	body = binary.LittleEndian.AppendUint64(body, uint64(seq))
	if beyond >= 0 {
		body = append(body, 2)                           // logical clock
		body = append(body, make([]byte, 8+8+7)...)      // and time
		body = append(body, byte(19+len(body)+1+beyond)) // which must be short
	}
	return l.event(gtidLog, body...)
}

func (l *log) domain(seq, flags byte) *log {
	body := binary.LittleEndian.AppendUint64(nil, uint64(seq))
	return l.event(mariadbGTID, append(binary.LittleEndian.AppendUint32(body, 3), flags, 0, 0, 0, 0, 0, 0)...)
}

func queryBody(schema, text string) []byte {
	b := make([]byte, 13)
	b[8] = byte(len(schema))
	settings := []byte{0, 1, 2, 3, 4, 1, 8, 0, 0, 0, 0, 0, 0, 0, 6, 3, 's', 't', 'd', 4, 45, 0, 45, 0, 45, 0, 12, 1}
	b[11] = byte(len(settings))
	b = append(append(b, settings...), schema...)
	return append(append(b, 0), text...)
}

func (l *log) query(text string) *log { return l.event(query, queryBody("shop", text)...) }

func tableBody(schema, table string) []byte {
	b := append(make([]byte, 8), byte(len(schema)))
	b = append(append(b, schema...), 0, byte(len(table)))
	return append(append(b, table...), 0, 1, 3, 0, 0)
}

func (l *log) table(name string) *log { return l.event(tableMap, tableBody("shop", name)...) }

// read returns all events of a log as text, and the error that ended it.
func (l *log) read(t testing.TB) (list []string, err error) {
	t.Helper()
	list, _, err = play(t, &tape{b: l.b, piece: 1000})
	return list, err
}

// play returns the events, one a string, and how many transactions have ended. That they come in order is
// checked.
func play(t testing.TB, s *tape) (list []string, transactions int, err error) {
	t.Helper()
	r := binlog.ReadFrom(s)
	var e binlog.Event
	open := false
	for {
		if err := r.Next(&e); err != nil {
			if again := r.Next(&e); !errors.Is(again, err) {
				t.Fatalf("%v, then %v", err, again)
			}
			return list, transactions, err
		}
		if e.Kind != binlog.Heartbeat && open == (e.Kind == binlog.Begin) {
			t.Fatalf("%v, and a transaction is open: %v, behind %q", e.Kind, open, list)
		}
		text := e.Kind.String()
		switch e.Kind {
		case binlog.Begin:
			open = true
			text += beginText(&e)
		case binlog.Table:
			text += " " + string(e.Schema) + "." + string(e.Table)
		case binlog.Statement:
			text += " " + string(e.Schema) + ": " + strings.Join(strings.Fields(string(e.Text)), " ")
			if e.Alone {
				text += " alone"
			}
		case binlog.Lost:
			text += " " + e.Reason
		case binlog.End:
			open = false
			transactions++
			if e.Prepared {
				text += " " + string(e.XID)
			}
		case binlog.Heartbeat:
		}
		list = append(list, text)
	}
}

func beginText(e *binlog.Event) string {
	text := ""
	switch {
	case e.Anonymous:
		text = " anonymous"
	case e.GTID.Valid():
		text = " " + e.GTID.String()
	default:
		text = " " + e.Domain.String()
	}
	if e.Alone {
		text += " alone"
	}
	return text
}
