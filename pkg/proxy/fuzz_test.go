package proxy_test

import (
	"bufio"
	"bytes"
	"database/sql"
	"errors"
	"hash/fnv"
	"io"
	"log/slog"
	"net"
	"path/filepath"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/proxy"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/status/statustest"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// whim is a server that gives every statement an answer of some kind, a wrong one too. The same text
// always gets the same.
type whim struct {
	listen net.Listener
	wait   sync.WaitGroup

	mu    sync.Mutex
	conns []net.Conn
}

func (w *whim) accept() {
	for {
		c, err := w.listen.Accept()
		if err != nil {
			return
		}
		w.mu.Lock()
		w.conns = append(w.conns, c)
		w.mu.Unlock()
		w.wait.Go(func() {
			defer c.Close()
			_ = w.serve(&stage{c: c}) // the proxy may go at any time
		})
	}
}

func (w *whim) close() {
	_ = w.listen.Close()
	w.mu.Lock()
	for _, c := range w.conns {
		_ = c.Close()
	}
	w.mu.Unlock()
	w.wait.Wait()
}

func (w *whim) serve(s *stage) error {
	g := wire.Greeting{
		Version: actorVersion, ThreadID: 1, AuthData: []byte("01234567890123456789"), Capabilities: actorCaps, Charset: wire.CharsetUTF8MB4,
		Status: wire.Autocommit, AuthPlugin: wire.NativePlugin,
	}
	b, _ := wire.AppendMessage(nil, g.Append(nil), 0)
	if _, err := s.c.Write(b); err != nil {
		return err
	}
	payload, _, err := s.read()
	if err != nil {
		return err
	}
	var login wire.HandshakeResponse
	if err := login.Decode(payload); err != nil {
		return err
	}
	s.caps = login.Capabilities & actorCaps
	ok := wire.OK{Status: wire.Autocommit}
	b, _ = wire.AppendMessage(nil, ok.Append(nil, s.caps), 2)
	if _, err := s.c.Write(b); err != nil {
		return err
	}
	for {
		payload, seq, err := s.read()
		if err != nil {
			return err
		}
		if err := w.command(s, payload, seq+1); err != nil {
			return err
		}
	}
}

func (w *whim) command(s *stage, payload []byte, seq byte) error {
	ok := wire.OK{Status: wire.Autocommit}
	if len(payload) == 0 {
		return errors.New("an empty command")
	}
	switch wire.Command(payload[0]) {
	case wire.ComQuit:
		return io.EOF
	case wire.ComStmtClose, wire.ComStmtSendLongData:
		return nil
	case wire.ComQuery:
		if b := s.ownAnswer(string(payload[1:])); b != nil {
			_, err := s.c.Write(b)
			return err
		}
		if bytes.HasPrefix(payload[1:], []byte("SET ")) && bytes.Contains(payload, []byte("session_track")) {
			return s.plain(ok)
		}
	case wire.ComResetConnection, wire.ComChangeUser:
		return s.plain(ok)
	case wire.ComStmtPrepare:
		m := wire.PrepareOK{StatementID: 7}
		b, _ := wire.AppendMessage(nil, m.Append(nil, s.caps), seq)
		_, err := s.c.Write(b)
		return err
	}
	b, again, end := w.answer(payload, s.caps, seq)
	if _, err := s.c.Write(b); err != nil {
		return err
	}
	if again { // the client's file comes, up to an empty packet
		for {
			part, seq, err := s.read()
			if err != nil {
				return err
			}
			if len(part) == 0 {
				b, _ := wire.AppendMessage(nil, ok.Append(nil, s.caps), seq+1)
				_, err := s.c.Write(b)
				return err
			}
		}
	}
	if end {
		return io.EOF
	}
	return nil
}

// answer chooses by the command's sum.
func (w *whim) answer(payload []byte, caps wire.Capability, seq byte) (b []byte, file, end bool) {
	sum := fnv.New32a()
	_, _ = sum.Write(payload)
	rows := result{columns: 2, rows: [][]string{{"1", "one"}, {"2", "two"}}, binary: wire.Command(payload[0]) == wire.ComStmtExecute}
	ok := wire.OK{Status: wire.Autocommit, AffectedRows: 1}
	failed := &wire.ServerError{Code: 1064, State: "42000", Message: "no"}
	message := func(payload []byte) []byte {
		b, _ := wire.AppendMessage(nil, payload, seq)
		return b
	}
	switch sum.Sum32() % 16 {
	case 0:
		rows.status = wire.MoreResults
		b, seq = rows.append(nil, caps, seq)
		return append(b, message(ok.Append(nil, caps))...), false, false
	case 1:
		rows.failed = failed
		return rows.bytes(caps, seq), false, false
	case 2:
		return message(failed.Append(nil)), false, false
	case 3:
		ok.LastInsertID, ok.Status = 77, wire.Autocommit|wire.InTransaction
	case 4:
		ok.Trackers = wire.AppendVariable(wire.AppendText(nil, wire.TrackSchema, "other"), "sql_mode", "ANSI_QUOTES")
	case 5:
		readOnly := &wire.ServerError{Code: 1290, State: "HY000", Message: "The server is running with the --read-only option"}
		return message(readOnly.Append(nil)), false, false
	case 6:
		m := wire.LocalInfile{Name: []byte("a file")}
		return message(m.Append(nil)), wire.Command(payload[0]) == wire.ComQuery, false
	case 7:
		return []byte{0xFF, 0xFF, 0xFF, seq, 0xFD, 1, 2, 3}, false, true
	case 8:
		return rows.bytes(caps, seq)[:30], false, true
	case 9:
		return nil, false, true
	case 10:
		return message(nil), false, true
	case 11, 12, 13:
		return rows.bytes(caps, seq), false, false
	}
	return message(ok.Append(nil, caps)), false, false
}

// panics takes in a log and sees panics in it.
type panics struct{ seen atomic.Pointer[string] }

func (p *panics) Write(b []byte) (int, error) {
	if bytes.Contains(b, []byte("msg=panic")) {
		text := string(b)
		p.seen.Store(&text)
	}
	return len(b), nil
}

// script makes the input of FuzzCommands: each command with its length in front.
func commandScript(commands ...string) []byte {
	var b []byte
	for _, c := range commands {
		b = append(append(b, byte(len(c))), c...)
	}
	return b
}

// FuzzCommands: whatever commands a client sends after its login, and whatever a server answers, the
// session ends when the client does, and does not panic.
func FuzzCommands(f *testing.F) {
	for _, seed := range [][]string{
		{"\x03SELECT 1"},
		{"\x03SELECT 1", "\x03SELECT 2", "\x03SELECT 3", "\x03SELECT 4"},
		{"\x03BEGIN", "\x03UPDATE a SET b = 1", "\x03SELECT 1", "\x03COMMIT"},
		{"\x03SET @a = 1", "\x03SELECT @a", "\x03USE other", "\x03SET sql_mode = ''", "\x1f", "\x03SELECT 1"},
		{"\x16SELECT ?", "\x17\x01\x00\x00\x00\x00\x01\x00\x00\x00", "\x17\xff\xff\xff\xff\x00\x01\x00\x00\x00", "\x1c\x01\x00\x00\x00\x01\x00\x00\x00", "\x1a\x01\x00\x00\x00", "\x19\x01\x00\x00\x00"},
		{"\x16INSERT INTO a VALUES (?)", "\x18\x01\x00\x00\x00\x00\x00abc", "\x17\x01\x00\x00\x00\x01\x01\x00\x00\x00"},
		{"\x02other", "\x04t\x00", "\x09", "\x0a", "\x0e", "\x0d", "\x1b\x00\x00", "\x1b\x01\x00", "\x0c\x01\x00\x00\x40"},
		{"\x11app\x00\x00other\x00\x2d\x00mysql_native_password\x00", "\x03SELECT 1"},
		{"\x03LOAD DATA LOCAL INFILE 'x' INTO TABLE t", "abc", "", "\x03SELECT 1"},
		{"\x03CREATE TEMPORARY TABLE t (a INT)", "\x03SELECT GET_LOCK('a', 0)", "\x03KILL 1073741825", "\x03SHOW MYSQLRW ROUTE"},
		{"", "\x00", "\xff", "\x03", "\x16", "\x17", "\x18", "\x19", "\x1a", "\x1b", "\x1c"},
		{"\x03PREPARE s FROM 'SELECT 1'", "\x03EXECUTE s", "\x03SET @@timestamp = 1", "\x03SELECT LAST_INSERT_ID(), FOUND_ROWS(), ROW_COUNT()"},
	} {
		f.Add(commandScript(seed...))
	}
	address, log := whimsical(f)
	f.Fuzz(func(t *testing.T, script []byte) {
		conn, err := net.Dial("unix", address)
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
		c := &bareClient{t: t, conn: conn, in: bufio.NewReader(conn), caps: bareCaps | wire.LocalFiles | wire.MultiStatements, limit: 20 * time.Second}
		g, err := c.greeting()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.login(g, appUser, appPassword); err != nil {
			t.Fatalf("login: %v", err)
		}
		var b []byte
		for n := 0; len(script) > 0 && n < 30; n++ {
			size := min(int(script[0]), len(script)-1)
			b, _ = wire.AppendMessage(b, script[1:1+size], 0)
			script = script[1+size:]
		}
		b, _ = wire.AppendMessage(b, []byte{byte(wire.ComQuit)}, 0)
		written := make(chan struct{})
		go func() { // the proxy may answer more than the socket holds, before it has read all
			defer close(written)
			_ = c.write(b) // it may have closed
			_ = conn.(*net.UnixConn).CloseWrite()
		}()
		_, err = io.Copy(io.Discard, c.in)
		<-written
		var timeout net.Error
		if errors.As(err, &timeout) && timeout.Timeout() {
			t.Fatal("the session does not end")
		}
		if text := log.seen.Load(); text != nil {
			t.Fatal(*text)
		}
	})
}

// whimsical starts the server and a proxy in front of it.
func whimsical(f *testing.F) (address string, log *panics) {
	dir := f.TempDir()
	w := &whim{}
	var err error
	if w.listen, err = net.Listen("unix", filepath.Join(dir, "server")); err != nil {
		f.Fatal(err)
	}
	w.wait.Go(w.accept)
	f.Cleanup(w.close)
	o, log := options(f, &sandbox.Cluster{}), &panics{}
	address = filepath.Join(dir, "proxy")
	o.Log = slog.New(slog.NewTextHandler(log, nil))
	o.Listeners[0].Network, o.Listeners[0].Address = "unix", address
	o.Accounts = []proxy.Account{{Name: appUser, Password: appPassword}}
	o.PrimaryWait, o.AcquireTimeout = 50*time.Millisecond, time.Second
	o.Servers = []proxy.Server{{
		Name: "primary", Network: "unix", Address: w.listen.Addr().String(), Weight: 100, Monitor: func() (*sql.DB, error) {
			return statustest.Open(f, statustest.Version("10.11.19-MariaDB"), statustest.Row("Uptime", "Variable_name", "Uptime", "Value", "1000"),
				statustest.Row("@@GLOBAL.server_id", "id", "7", "ro", "0"), statustest.Row("@@GLOBAL.gtid_current_pos AS v", "v", ""),
				statustest.Answer{Query: "STATUS", Columns: []string{"Connection_name"}}), nil
		},
	}}
	start(f, &sandbox.Cluster{Servers: make([]*sandbox.Server, 1)}, o)
	return address, log
}
