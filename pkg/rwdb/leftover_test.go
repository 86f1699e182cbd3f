package rwdb

import (
	"io"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// answering opens a link to a server that answers as the test says, and returns what the server was sent after it
// has ended.
func answering(t *testing.T, answer func(s *scripted, payload []byte) []byte) (l *link, sent func() [][]byte) {
	t.Helper()
	client, server := connected(t)
	s := &scripted{t: t, conn: server}
	var all [][]byte
	served := make(chan struct{})
	go func() {
		defer close(served)
		s.serveCommands(func(payload []byte) []byte {
			all = append(all, payload)
			return answer(s, payload)
		})
	}()
	return openScripted(t, client), func() [][]byte { <-served; return all }
}

// TestLatePrepare: what a server has prepared for a read that came too late is closed there.
func TestLatePrepare(t *testing.T) {
	l, sent := answering(t, func(s *scripted, payload []byte) []byte {
		switch {
		case wire.Command(payload[0]) == wire.ComStmtPrepare:
			ok := []byte{0, 7, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0}
			b, _ := wire.AppendMessage(nil, ok, 1)
			return b
		case string(payload[1:]) == "wait":
			return s.rows("1")
		case wire.Command(payload[0]) == wire.ComStmtClose:
			return nil
		}
		return s.rows("2")
	})
	l.net.arm("wait")
	if _, err := l.prepare(t.Context(), "SELECT 1"); !isCode(err, 1205) || !l.net.ahead.late {
		t.Fatalf("%v, %+v", err, l.net.ahead)
	}
	if got := allOf(t, l, "2"); got != "2" {
		t.Errorf("the next answer is %q", got)
	}
	l.close()
	closed := 0
	for _, payload := range sent() {
		if id, ok := wire.StatementID(payload); ok && wire.Command(payload[0]) == wire.ComStmtClose && id == 7 {
			closed++
		}
	}
	if closed != 1 {
		t.Errorf("the statement was closed %d times", closed)
	}
}

// TestOwnPositions: an answer with several positions, each of one write, has all of them.
func TestOwnPositions(t *testing.T) {
	const source = "3e11fa47-71ca-11e1-9e33-c80aa9429562:"
	l, sent := answering(t, func(s *scripted, _ []byte) []byte {
		one := wire.OK{AffectedRows: 1, Status: wire.Autocommit | wire.SessionStateChanged | wire.MoreResults, Trackers: wire.AppendGTIDs(nil, source+"7")}
		b, seq := wire.AppendMessage(nil, one.Append(nil, s.caps), 1)
		b, _ = s.ok(b, seq, false, source+"9")
		return b
	})
	if _, err := l.exec(t.Context(), "UPDATE a; UPDATE b", nil); err != nil {
		t.Fatal(err)
	}
	if h := l.heard(); !h.done || h.position.String() != source+"7:9" {
		t.Errorf("heard %+v, position %s", h, h.position)
	}
	l.close()
	sent()
}

// TestUpload: a file that is so long that its packets count from 0 again is no command, whatever it says.
func TestUpload(t *testing.T) {
	const size = 300 * 16 << 10
	mysql.RegisterReaderHandler("tabs", func() io.Reader { return strings.NewReader(strings.Repeat("\t", size)) })
	defer mysql.DeregisterReaderHandler("tabs")
	uploads := false
	l, sent := answering(t, func(s *scripted, payload []byte) []byte {
		switch {
		case !uploads:
			uploads = true
			b, _ := wire.AppendMessage(nil, append([]byte{0xFB}, "Reader::tabs"...), 1)
			return b
		case len(payload) > 0:
			return nil
		}
		b, _ := s.ok(nil, s.seq+1, false, stand)
		return b
	})
	if _, err := l.exec(t.Context(), "LOAD", nil); err != nil {
		t.Fatal(err)
	}
	if h := l.heard(); !h.done || h.position.String() != stand {
		t.Errorf("heard %+v", h)
	}
	l.close()
	sent()
}

// TestNoFollow: a connection whose first question fails is closed.
func TestNoFollow(t *testing.T) {
	l, sent := answering(t, func(s *scripted, payload []byte) []byte { return s.fail(1193) })
	from := l.from
	from.Server.Config = mysql.NewConfig()
	c := newConn(&Connector{servers: []*server{from}, monitor: from.monitor})
	c.links[0], c.checker = l, l.conn
	if err := c.first(t.Context()); !isCode(err, 1193) {
		t.Errorf("first: %v", err)
	}
	sent() // it ends when the connection does
}
