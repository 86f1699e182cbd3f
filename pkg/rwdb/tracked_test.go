package rwdb

import (
	"context"
	"database/sql"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/topology"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
	"github.com/mysqlrw/mysqlrw/route"
)

// scripted is a server that answers each text with what the test says.
type scripted struct {
	t    *testing.T
	conn net.Conn
	caps wire.Capability
	said []string // texts that came
	seq  byte     // of the last packet
}

// pieces is a connection that is read in pieces of one size at most.
type pieces struct {
	net.Conn
	size int
}

func (p pieces) Read(b []byte) (int, error) { return p.Conn.Read(b[:min(len(b), p.size)]) }

const serverCaps = wire.LongPassword | wire.Protocol41 | wire.SecureConnection | wire.PluginAuth | wire.Transactions |
	wire.SessionTrack | wire.DeprecateEOF | wire.MultiResults | wire.ConnectWithDB

// stand is the GTID set that answers carry.
const stand = "3e11fa47-71ca-11e1-9e33-c80aa9429562:1-5"

func (s *scripted) send(b []byte) { _, _ = s.conn.Write(b) }

// message reads one packet.
func (s *scripted) message() (payload []byte, ok bool) {
	head := make([]byte, wire.HeaderSize)
	if _, err := io.ReadFull(s.conn, head); err != nil {
		return nil, false
	}
	s.seq = head[3]
	payload = make([]byte, int(head[0])|int(head[1])<<8|int(head[2])<<16)
	_, err := io.ReadFull(s.conn, payload)
	return payload, err == nil
}

// ok is an OK packet that tells of a position.
func (s *scripted) ok(dst []byte, seq byte, afterRows bool, set string) ([]byte, byte) {
	m := wire.OK{AfterRows: afterRows, AffectedRows: 1, Status: wire.Autocommit}
	if set != "" {
		m.Status |= wire.SessionStateChanged
		m.Trackers = wire.AppendGTIDs(nil, set)
	}
	return wire.AppendMessage(dst, m.Append(nil, s.caps), seq)
}

// rows is a result of one column.
func (s *scripted) rows(values ...string) []byte {
	head := wire.ResultHead{Columns: 1}
	b, seq := wire.AppendMessage(nil, head.Append(nil, s.caps), 1)
	column := wire.Column{Name: []byte("c"), Charset: 45, Length: 1 << 24, Type: 0xFD}
	b, seq = wire.AppendMessage(b, column.Append(nil, s.caps), seq)
	for _, v := range values {
		row := wire.AppendLenEncString(nil, v)
		if v == "NULL" {
			row = wire.AppendNull(nil)
		}
		b, seq = wire.AppendMessage(b, row, seq)
	}
	b, _ = s.ok(b, seq, true, stand)
	return b
}

func (s *scripted) fail(code uint16) []byte {
	e := wire.ServerError{Code: code, State: "HY000", Message: "no"}
	b, _ := wire.AppendMessage(nil, e.Append(nil), 1)
	return b
}

// serve logs the client in and answers until it goes away.
func (s *scripted) serve(answer func(text string) []byte) {
	s.serveCommands(func(payload []byte) []byte {
		s.said = append(s.said, string(payload[1:]))
		return answer(string(payload[1:]))
	})
}

// serveCommands is serve for commands of all kinds.
func (s *scripted) serveCommands(answer func(payload []byte) []byte) {
	defer s.conn.Close()
	g := wire.Greeting{Version: "9.7.4", ThreadID: 1, AuthData: make([]byte, 20), Capabilities: serverCaps, Charset: 45, Status: wire.Autocommit, AuthPlugin: wire.NativePlugin}
	b, _ := wire.AppendMessage(nil, g.Append(nil), 0)
	s.send(b)
	login, ok := s.message()
	if !ok {
		return
	}
	var r wire.HandshakeResponse
	if err := r.Decode(login); err != nil {
		s.t.Error(err)
		return
	}
	s.caps = r.Capabilities & serverCaps
	b, _ = s.ok(nil, 2, false, "")
	s.send(b)
	for {
		payload, ok := s.message()
		if !ok || len(payload) > 0 && payload[0] == byte(wire.ComQuit) {
			return
		}
		s.send(answer(payload))
	}
}

// TestTracked goes through what servers say, in pieces of all sizes: the driver gets what it would get without, and
// what is said of the server is heard.
func TestTracked(t *testing.T) {
	for _, piece := range []int{1, 2, 3, 4, 5, 7, 11, 64, 4096, 1 << 20} {
		t.Run(fmt.Sprint(piece), func(t *testing.T) {
			large := strings.Repeat("x", min(70_000, 300*piece)) // an answer that is too late is not waited for for long
			client, server := connected(t)
			s := &scripted{t: t, conn: server}
			served := make(chan struct{})
			wait := "" // what the server answers to a wait
			go func() {
				defer close(served)
				s.serve(func(text string) []byte {
					switch {
					case text == "wait" && wait == "error":
						return s.fail(3024)
					case text == "wait":
						return s.rows(wait)
					case text == "write":
						b, _ := s.ok(nil, 1, false, stand)
						return b
					case text == "fail":
						return s.fail(1146)
					case text == "large":
						return s.rows("a", large, "b", large)
					}
					return s.rows(text)
				})
			}()
			l := openScripted(t, pieces{client, piece})
			if l.opaque() || !s.caps.Has(wire.SessionTrack) {
				t.Fatalf("nothing can be heard at stage %d, capabilities %x", l.net.stage, s.caps)
			}
			ctx := t.Context()
			heard := func(what string) {
				t.Helper()
				if h := l.heard(); !h.done || !h.known || h.position.String() != stand {
					t.Errorf("%s: heard %+v", what, h)
				}
			}
			if _, err := l.exec(ctx, "write", nil); err != nil {
				t.Fatal(err)
			}
			heard("a write")
			for _, text := range []string{"1", "large", "2"} {
				if got := allOf(t, l, text); text == "large" && got != "a"+large+"b"+large || text != "large" && got != text {
					t.Errorf("%s: %d bytes", text, len(got))
				}
				heard(text)
			}
			if _, err := l.query(ctx, "fail", nil); !isCode(err, 1146) || !l.heard().done || l.heard().known {
				t.Errorf("an error: %v, heard %+v", err, l.heard())
			}
			for _, answer := range []string{"0", "1", "NULL", "-1", "error", "00", "0"} {
				for _, text := range []string{"3", "large"} {
					wait = answer
					l.net.arm("wait")
					rows, err := l.query(ctx, text, nil)
					l.net.disarm()
					if answer == "0" {
						if err != nil || !l.net.ahead.reached || l.net.ahead.late {
							t.Fatalf("wait answered %s: %v, %+v", answer, err, l.net.ahead)
						}
						drain(t, rows)
						heard("behind a wait")
						continue
					}
					var e *mysql.MySQLError
					if !errors.As(err, &e) || e.Number != 1205 || e.Message != route.TimeoutText || l.net.ahead.reached || !l.net.ahead.late {
						t.Fatalf("wait answered %s: %v, %+v", answer, err, l.net.ahead)
					}
				}
				if got := allOf(t, l, "4"); got != "4" {
					t.Errorf("after a wait that was answered %s: %q", answer, got)
				}
			}
			wait = "0"
			l.net.arm("wait")
			if _, err := l.query(ctx, "fail", nil); !isCode(err, 1146) || !l.net.ahead.reached {
				t.Errorf("an error behind a wait: %v", err)
			}
			l.close()
			<-served
			waits := 0
			for _, text := range s.said {
				if text == "wait" {
					waits++
				}
			}
			if waits != 15 {
				t.Errorf("the server was told to wait %d times, want 15", waits)
			}
		})
	}
}

// connected returns the two ends of a connection.
func connected(t *testing.T) (client, server net.Conn) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if client, err = net.Dial("tcp", l.Addr().String()); err != nil {
		t.Fatal(err)
	}
	if server, err = l.Accept(); err != nil {
		t.Fatal(err)
	}
	return client, server
}

// openScripted opens a link whose server is at the other end of a pipe.
func openScripted(t *testing.T, client net.Conn) *link {
	t.Helper()
	config := mysql.NewConfig()
	config.Net, config.User, config.Logger = "tcp", "u", &mysql.NopLogger{}
	config.DialFunc = listening(func(context.Context, string, string) (net.Conn, error) { return client, nil })
	connector, err := mysql.NewConnector(config)
	if err != nil {
		t.Fatal(err)
	}
	monitor, err := topology.New(topology.Options{Servers: []topology.Server{{Name: "a", Open: func() (*sql.DB, error) { return nil, errors.New("it is not watched") }}}})
	if err != nil {
		t.Fatal(err)
	}
	from := &server{connector: connector, monitor: monitor, conns: map[net.Conn]struct{}{}}
	l := &link{from: from}
	conn, err := connector.Connect(context.WithValue(t.Context(), linkKey{}, l))
	if err != nil {
		t.Fatal(err)
	}
	l.conn = conn.(driverConn)
	return l
}

func drain(t *testing.T, rows driver.Rows) (all string) {
	t.Helper()
	defer rows.Close()
	value := make([]driver.Value, 1)
	for {
		switch err := rows.Next(value); err {
		case nil:
			all += string(value[0].([]byte))
		case io.EOF:
			return all
		default:
			t.Fatal(err)
		}
	}
}

func allOf(t *testing.T, l *link, text string) string {
	t.Helper()
	rows, err := l.query(t.Context(), text, nil)
	if err != nil {
		t.Fatalf("%s: %v", text, err)
	}
	return drain(t, rows)
}

func isCode(err error, code uint16) bool {
	var e *mysql.MySQLError
	return errors.As(err, &e) && e.Number == code
}
