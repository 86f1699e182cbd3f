package proxy_test

import (
	"database/sql"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/proxy"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/status/statustest"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// actor is a server that answers from a script, and writes in pieces of the test's choice. It speaks
// as MariaDB, whose clients send before they were answered.
type actor struct {
	t      *testing.T
	listen net.Listener
	wait   sync.WaitGroup

	mu sync.Mutex
	// answers are by what the command begins with behind its first byte, or the text that was prepared.
	answers map[string]func(caps wire.Capability) []byte
	cuts    []int // where an answer of the script is cut; nil: nowhere
	conns   []net.Conn
}

const actorCaps = wire.LongFlag | wire.FoundRows | wire.ConnectWithDB | wire.LocalFiles | wire.IgnoreSpace | wire.Protocol41 | wire.Interactive | wire.Transactions |
	wire.SecureConnection | wire.MultiStatements | wire.MultiResults | wire.PSMultiResults | wire.PluginAuth | wire.ConnectAttrs | wire.PluginAuthLenEnc |
	wire.SessionTrack | wire.DeprecateEOF

const actorVersion = "5.5.5-10.11.19-MariaDB"

// newActor starts one with a proxy in front, and returns the proxy's socket.
func newActor(t *testing.T) (a *actor, socket string) {
	t.Helper()
	dir := t.TempDir()
	l, err := net.Listen("unix", filepath.Join(dir, "server"))
	if err != nil {
		t.Fatal(err)
	}
	a = &actor{t: t, listen: l, answers: map[string]func(wire.Capability) []byte{}}
	a.wait.Go(a.accept)
	socket = filepath.Join(dir, "proxy")
	o := options(t, &sandbox.Cluster{})
	o.Listeners[0].Network, o.Listeners[0].Address = "unix", socket
	o.Accounts = []proxy.Account{{Name: appUser, Password: appPassword}}
	o.Servers = []proxy.Server{{
		Name: "primary", Network: "unix", Address: l.Addr().String(), Weight: 100, Monitor: func() (*sql.DB, error) {
			return statustest.Open(t, statustest.Version("10.11.19-MariaDB"), statustest.Row("Uptime", "Variable_name", "Uptime", "Value", "1000"),
				statustest.Row("@@GLOBAL.server_id", "id", "7", "ro", "0"), statustest.Row("@@GLOBAL.gtid_current_pos AS v", "v", ""),
				statustest.Answer{Query: "STATUS", Columns: []string{"Connection_name"}}), nil
		},
	}}
	t.Cleanup(func() {
		_ = l.Close()
		a.mu.Lock()
		for _, c := range a.conns {
			_ = c.Close()
		}
		a.mu.Unlock()
		a.wait.Wait()
	})
	start(t, &sandbox.Cluster{Servers: make([]*sandbox.Server, 1)}, o)
	return a, socket
}

func (a *actor) accept() {
	for {
		c, err := a.listen.Accept()
		if err != nil {
			return
		}
		a.mu.Lock()
		a.conns = append(a.conns, c)
		a.mu.Unlock()
		a.wait.Go(func() {
			defer c.Close()
			if err := a.serve(c); err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, net.ErrClosed) {
				a.t.Errorf("the proxy sent: %v", err)
			}
		})
	}
}

// stage is one connection of the proxy.
type stage struct {
	*actor
	c        net.Conn
	caps     wire.Capability
	in       []byte
	prepared []string
}

func (a *actor) serve(c net.Conn) error {
	s := &stage{actor: a, c: c}
	g := wire.Greeting{
		Version: actorVersion, ThreadID: 1, AuthData: []byte("01234567890123456789"), Capabilities: actorCaps, Charset: wire.CharsetUTF8MB4,
		Status: wire.Autocommit, AuthPlugin: wire.NativePlugin,
	}
	b, _ := wire.AppendMessage(nil, g.Append(nil), 0)
	if _, err := c.Write(b); err != nil {
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
	if !wire.CheckNative(login.AuthResponse, g.AuthData, wire.HashNative([]byte(appPassword))) {
		return errors.New("a wrong password")
	}
	s.caps = login.Capabilities & actorCaps
	ok := wire.OK{Status: wire.Autocommit}
	b, _ = wire.AppendMessage(nil, ok.Append(nil, s.caps), 2)
	if _, err := c.Write(b); err != nil {
		return err
	}
	for {
		payload, seq, err := s.read()
		if err != nil {
			return err
		}
		if err := s.command(payload, seq+1); err != nil {
			return err
		}
	}
}

// read reads one message.
func (s *stage) read() ([]byte, byte, error) {
	for {
		payload, seq, n, err := wire.Split(s.in)
		if err != nil {
			return nil, 0, err
		}
		if n > 0 {
			s.in = s.in[n:]
			return payload, seq, nil
		}
		b := make([]byte, 1<<16)
		n, err = s.c.Read(b)
		if err != nil {
			return nil, 0, err
		}
		s.in = append(s.in, b[:n]...)
	}
}

// command answers one command, the first packet with the number seq.
func (s *stage) command(payload []byte, seq byte) error {
	name := string(payload[1:])
	switch wire.Command(payload[0]) {
	case wire.ComQuit:
		return io.EOF
	case wire.ComStmtClose, wire.ComStmtSendLongData:
		return nil
	case wire.ComQuery:
		if b := s.ownAnswer(name); b != nil {
			_, err := s.c.Write(b)
			return err
		}
	case wire.ComInitDB:
		return s.plain(wire.OK{Status: wire.Autocommit, Trackers: wire.AppendText(nil, wire.TrackSchema, name)})
	case wire.ComResetConnection:
		s.prepared = nil
		return s.plain(wire.OK{Status: wire.Autocommit})
	case wire.ComStmtPrepare:
		s.prepared = append(s.prepared, name)
		name = "PREPARE " + name
	case wire.ComStmtExecute:
		id, _ := wire.StatementID(payload)
		if id == 0 || int(id) > len(s.prepared) {
			return fmt.Errorf("EXECUTE of statement %d of %d", id, len(s.prepared))
		}
		name = fmt.Sprintf("EXECUTE %s %q", s.prepared[id-1], payload[9:])
	case wire.ComStatistics:
		name = "STATISTICS"
	}
	s.mu.Lock()
	answer, cuts := s.answers[name], s.cuts
	s.mu.Unlock()
	if answer == nil {
		return fmt.Errorf("%#x %q, which the script has not", payload[0], name)
	}
	b := answer(s.caps)
	if strings.HasPrefix(name, "PREPARE ") {
		binary.LittleEndian.PutUint32(b[wire.HeaderSize+1:], uint32(len(s.prepared))) // its id
	}
	return writeCut(s.c, b, cuts)
}

func (s *stage) plain(ok wire.OK) error {
	b, _ := wire.AppendMessage(nil, ok.Append(nil, s.caps), 1)
	_, err := s.c.Write(b)
	return err
}

// ownAnswer answers what the proxy asks for itself.
func (s *stage) ownAnswer(text string) []byte {
	vars := func(block []byte, pairs ...string) []byte {
		for i := 0; i < len(pairs); i += 2 {
			block = wire.AppendVariable(block, pairs[i], pairs[i+1])
		}
		return block
	}
	switch {
	case strings.Contains(text, "SYSTEM_VARIABLES"):
		return result{columns: 3, rows: [][]string{
			{"CHARACTER_SET_CLIENT", "ENUM", "1"}, {"CHARACTER_SET_RESULTS", "ENUM", "1"}, {"COLLATION_CONNECTION", "ENUM", "1"}, {"AUTOCOMMIT", "BOOLEAN", "1"}, {"SQL_MODE", "SET", "1"},
		}}.bytes(s.caps, 1)
	case strings.Contains(text, "COLLATION_CHARACTER_SET_APPLICABILITY"):
		return result{columns: 3, rows: [][]string{{"utf8mb4_general_ci", "utf8mb4", "45"}, {"binary", "binary", "63"}}}.bytes(s.caps, 1)
	case strings.HasPrefix(text, "SELECT @@global.character_set_client"):
		return result{columns: 3, rows: [][]string{{"utf8mb4", "utf8mb4", "utf8mb4_general_ci"}}}.bytes(s.caps, 1)
	case strings.HasPrefix(text, "SELECT HEX(CONVERT(@@session.autocommit"): // the session has what is global
		var row []string
		for _, v := range []string{"1", "utf8mb4", "utf8mb4", "utf8mb4_general_ci", ""} {
			row = append(row, fmt.Sprintf("%X", v), fmt.Sprintf("%X", v))
		}
		return result{columns: len(row), rows: [][]string{row}}.bytes(s.caps, 1)
	case strings.HasPrefix(text, "SELECT @@global.sql_mode"):
		return result{columns: 5, rows: [][]string{{"", "1", "", "autocommit,time_zone", "REPEATABLE-READ"}}}.bytes(s.caps, 1)
	case strings.HasPrefix(text, "SHOW CREATE USER"):
		return result{columns: 1, rows: [][]string{{"CREATE USER app"}}}.bytes(s.caps, 1)
	case strings.HasPrefix(text, "SET session_track_system_variables"):
		ok := wire.OK{Status: wire.Autocommit, Trackers: vars(nil, "character_set_client", "utf8mb4", "character_set_results", "utf8mb4", "collation_connection", "utf8mb4_general_ci")}
		b, _ := wire.AppendMessage(nil, ok.Append(nil, s.caps), 1)
		return b
	case strings.HasPrefix(text, "KILL "): // a client closed as soon as it had its answer, and is found before that is noted
		e := &wire.ServerError{Code: 1094, State: "HY000", Message: "Unknown thread id: 1"}
		b, _ := wire.AppendMessage(nil, e.Append(nil), 1)
		return b
	case strings.HasPrefix(text, "SET last_insert_id"), strings.HasPrefix(text, "DO "):
		ok := wire.OK{Status: wire.Autocommit}
		b, _ := wire.AppendMessage(nil, ok.Append(nil, s.caps), 1)
		return b
	}
	return nil
}

// result is an answer with rows, as it is for any capabilities.
type result struct {
	columns int
	rows    [][]string // of texts; a row of one string and more columns is sent as it is
	binary  bool
	status  wire.Status
	failed  *wire.ServerError // in the place of the end
}

// bytes are the packets from the number seq on.
func (m result) bytes(caps wire.Capability, seq byte) []byte {
	b, _ := m.append(nil, caps, seq)
	return b
}

func (m result) append(b []byte, caps wire.Capability, seq byte) ([]byte, byte) {
	put := func(payload []byte) { b, seq = wire.AppendMessage(b, payload, seq) }
	head := wire.ResultHead{Columns: m.columns}
	put(head.Append(nil, caps))
	for i := range m.columns {
		c := column(i)
		put(c.Append(nil, caps))
	}
	end := wire.OK{AfterRows: true, Status: wire.Autocommit | m.status}
	if !caps.Has(wire.DeprecateEOF) {
		middle := wire.OK{AfterRows: true, EOF: true, Status: end.Status} // it tells already that another result follows
		put(middle.Append(nil, caps))
		end.EOF = true
	}
	for _, row := range m.rows {
		var p []byte
		if m.binary {
			p = append(p, 0, 0)
		}
		for _, v := range row {
			p = wire.AppendLenEncString(p, v)
		}
		put(p)
	}
	if m.failed != nil {
		put(m.failed.Append(nil))
		return b, seq
	}
	put(end.Append(nil, caps))
	return b, seq
}

func column(i int) wire.Column {
	name := []byte{'c', byte('a' + i)}
	return wire.Column{Table: []byte("t"), OrgTable: []byte("t"), Name: name, OrgName: name, Charset: wire.CharsetUTF8MB4, Length: 80, Type: wire.TypeVarString}
}
