package wire_test

import (
	"bytes"
	"context"
	"crypto/rand"
	"crypto/rsa"
	"database/sql"
	"fmt"
	"io"
	"net"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// fakeServer answers real clients with what this package writes.
type fakeServer struct {
	address string
	plugin  string // by which clients log in
	key     *rsa.PrivateKey

	mu     sync.Mutex
	hash   map[string]wire.SHA2Hash // of users that logged in, for the fast path
	logins []string
	errors []error
}

// ed25519Secret is the public key of the password "secret", from the manual of MariaDB.
const ed25519Secret = "ZIgUREUg5PVgQ6LskhXmO+eZLS0nC8be6HPjYWR4YJY"

func newFakeServer(t *testing.T, plugin string) *fakeServer {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	s := &fakeServer{address: l.Addr().String(), plugin: plugin, key: key, hash: map[string]wire.SHA2Hash{}}
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			wait.Go(func() {
				defer conn.Close()
				_ = conn.SetDeadline(time.Now().Add(time.Minute))
				if err := s.serve(&session{Conn: conn, server: s}); err != nil {
					s.mu.Lock()
					s.errors = append(s.errors, err)
					s.mu.Unlock()
				}
			})
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		wait.Wait()
		for _, err := range s.errors {
			t.Error(err)
		}
	})
	return s
}

type session struct {
	net.Conn
	server *fakeServer
	buf    []byte
	seq    byte
	nonce  []byte
	caps   wire.Capability
}

func (s *session) read() ([]byte, error) {
	for {
		payload, seq, n, err := wire.Split(s.buf)
		if n > 0 || err != nil {
			s.buf, s.seq = s.buf[n:], seq+1
			return payload, err
		}
		b := make([]byte, 4096)
		got, err := s.Read(b)
		if err != nil {
			return nil, err
		}
		s.buf = append(s.buf, b[:got]...)
	}
}

func (s *session) write(payloads ...[]byte) error {
	var out []byte
	for _, p := range payloads {
		start := len(out)
		out, s.seq = wire.Finish(append(wire.Reserve(out), p...), start, s.seq)
	}
	_, err := s.Write(out)
	return err
}

func (s *fakeServer) serve(c *session) error {
	c.nonce = make([]byte, 20)
	for i := range c.nonce {
		c.nonce[i] = byte(1 + i*7)
	}
	g := wire.Greeting{
		Version: "8.4.0-fake", ThreadID: 7, AuthData: c.nonce, Charset: wire.CharsetUTF8MB4, Status: wire.Autocommit,
		Capabilities: newCaps, AuthPlugin: wire.SHA2Plugin,
	}
	if s.plugin == wire.Ed25519Plugin {
		g.Version = "5.5.5-10.11.9-MariaDB-fake"
	}
	if err := c.write(g.Append(nil)); err != nil {
		return err
	}
	p, err := c.read()
	if err != nil {
		return err
	}
	var r wire.HandshakeResponse
	if err := r.Decode(p); err != nil {
		return err
	}
	c.caps = r.Capabilities & g.Capabilities
	how, err := s.authenticate(c, &r)
	if err != nil {
		return err
	}
	s.mu.Lock()
	s.logins = append(s.logins, how)
	s.mu.Unlock()
	ok := wire.OK{Status: wire.Autocommit}
	if err := c.write(ok.Append(nil, c.caps)); err != nil {
		return err
	}
	for {
		p, err := c.read()
		if err == io.EOF || err == nil && p[0] == byte(wire.ComQuit) {
			return nil
		}
		if err == nil {
			err = s.answer(c, p)
		}
		if err != nil {
			return err
		}
	}
}

// authenticate lets everybody in whose password is "secret".
func (s *fakeServer) authenticate(c *session, r *wire.HandshakeResponse) (how string, err error) {
	response := r.AuthResponse
	if s.plugin != wire.SHA2Plugin || r.AuthPlugin != wire.SHA2Plugin {
		nonce := append([]byte("ANOTHER NONCE, OF TW"), "ENTY BYTES  "...)
		if s.plugin != wire.Ed25519Plugin {
			nonce = nonce[:20]
		}
		m := wire.AuthSwitch{Plugin: s.plugin, Data: nonce}
		if err := c.write(m.Append(nil)); err != nil {
			return "", err
		}
		c.nonce = nonce
		if response, err = c.read(); err != nil {
			return "", err
		}
	}
	switch s.plugin {
	case wire.NativePlugin:
		if !wire.CheckNative(response, c.nonce, wire.HashNative([]byte("secret"))) {
			return "", fmt.Errorf("native: wrong response %x", response)
		}
		return "native", nil
	case wire.Ed25519Plugin:
		if !wire.CheckEd25519(response, c.nonce, ed25519Secret) || wire.CheckEd25519(response, c.nonce[1:], ed25519Secret) {
			return "", fmt.Errorf("ed25519: wrong response %x", response)
		}
		return "ed25519", nil
	}
	return s.sha2(c, r.User, response)
}

func (s *fakeServer) sha2(c *session, user string, response []byte) (how string, err error) {
	s.mu.Lock()
	hash, known := s.hash[user]
	s.mu.Unlock()
	if known {
		if !wire.CheckSHA2(response, c.nonce, hash) {
			return "", fmt.Errorf("sha2: wrong response %x", response)
		}
		m := wire.AuthMoreData{Data: []byte{wire.SHA2FastOK}}
		return "sha2 fast", c.write(m.Append(nil))
	}
	m := wire.AuthMoreData{Data: []byte{wire.SHA2FullAuth}}
	if err := c.write(m.Append(nil)); err != nil {
		return "", err
	}
	p, err := c.read()
	if err == nil && bytes.Equal(p, []byte{wire.SHA2RequestKey}) {
		if m.Data, err = wire.FormatPublicKey(&s.key.PublicKey); err == nil {
			err = c.write(m.Append(nil))
		}
		if err == nil {
			p, err = c.read()
		}
	}
	if err != nil {
		return "", err
	}
	password, err := wire.DecryptPassword(p, c.nonce, s.key)
	if err != nil || string(password) != "secret" {
		return "", fmt.Errorf("sha2: password %q: %w", password, err)
	}
	s.mu.Lock()
	s.hash[user] = wire.HashSHA2(password)
	s.mu.Unlock()
	return "sha2 full", nil
}

// answer answers every query with two rows, and everything else with OK.
func (s *fakeServer) answer(c *session, p []byte) error {
	ok := wire.OK{Status: wire.Autocommit, Trackers: wire.AppendText(nil, wire.TrackSchema, "fake")}
	if p[0] != byte(wire.ComQuery) {
		return c.write(ok.Append(nil, c.caps))
	}
	var q wire.Query
	if err := q.Decode(p, c.caps); err != nil {
		return err
	}
	// mysql sends "select $$" to see an error, and reads nothing else.
	if strings.HasPrefix(string(q.Text), "fail") || strings.Contains(string(q.Text), "$$") {
		e := wire.ServerError{Code: 1105, State: "HY000", Message: "as you asked"}
		return c.write(e.Append(nil))
	}
	if !strings.HasPrefix(strings.ToUpper(string(q.Text)), "SELECT") {
		return c.write(ok.Append(nil, c.caps))
	}
	head := wire.ResultHead{Columns: 2}
	a := wire.Column{Name: []byte("a"), Charset: wire.CharsetUTF8MB4, Length: 400, Type: wire.TypeVarString}
	b := wire.Column{Name: []byte("b"), Charset: wire.CharsetBinary, Length: 20, Type: wire.TypeLongLong}
	payloads := [][]byte{head.Append(nil, c.caps), a.Append(nil, c.caps), b.Append(nil, c.caps)}
	if !c.caps.Has(wire.DeprecateEOF) {
		eof := wire.OK{EOF: true, Status: wire.Autocommit}
		payloads = append(payloads, eof.Append(nil, c.caps))
	}
	end := wire.OK{AfterRows: true, Status: wire.Autocommit, Trackers: wire.AppendGTIDs(nil, "uuid:1-5")}
	end.For(c.caps, nil, nil)
	return c.write(append(payloads,
		wire.AppendLenEncString(wire.AppendLenEncString(nil, "fake rows"), "7"),
		wire.AppendNull(wire.AppendNull(nil)),
		end.Append(nil, c.caps))...)
}

// TestFakeServerDriver logs the driver in by every plugin that it has.
func TestFakeServerDriver(t *testing.T) {
	for _, tt := range []struct {
		plugin string
		logins string
	}{
		{wire.SHA2Plugin, "sha2 full, sha2 fast"},
		{wire.NativePlugin, "native, native"},
		{wire.Ed25519Plugin, "ed25519, ed25519"},
	} {
		s := newFakeServer(t, tt.plugin)
		for range 2 {
			cfg := mysql.NewConfig()
			cfg.Net, cfg.Addr, cfg.User, cfg.Passwd, cfg.DBName = "tcp", s.address, "u", "secret", "d"
			connector, err := mysql.NewConnector(cfg)
			if err != nil {
				t.Fatal(err)
			}
			db := sql.OpenDB(connector)
			db.SetMaxOpenConns(1)
			var text string
			var number int
			if err := db.QueryRow("SELECT 1").Scan(&text, &number); err != nil || text != "fake rows" || number != 7 {
				t.Errorf("%s: read %q, %d: %v", tt.plugin, text, number, err)
			}
			if _, err := db.Exec("fail"); err == nil || err.Error() != "Error 1105 (HY000): as you asked" {
				t.Errorf("%s: error %v", tt.plugin, err)
			}
			_ = db.Close()
		}
		s.mu.Lock()
		if got := strings.Join(s.logins, ", "); got != tt.logins {
			t.Errorf("%s: logins by %s, want %s", tt.plugin, got, tt.logins)
		}
		s.mu.Unlock()
	}
}

// TestFakeServerShell does the same with the shells of both flavors, whose libraries have their
// own ideas of the protocol.
func TestFakeServerShell(t *testing.T) {
	for _, tt := range []struct {
		flavor flavor.Flavor
		plugin string
		logins string
	}{
		{flavor.MySQL, wire.SHA2Plugin, "sha2 full, sha2 fast"},
		{flavor.MariaDB, wire.NativePlugin, "native, native"},
		{flavor.MariaDB, wire.SHA2Plugin, "sha2 full, sha2 fast"},
		{flavor.MariaDB, wire.Ed25519Plugin, "ed25519, ed25519"},
	} {
		t.Run(tt.flavor.String()+"/"+tt.plugin, func(t *testing.T) {
			inst := sandboxtest.Installation(t, tt.flavor)
			s := newFakeServer(t, tt.plugin)
			host, port, _ := net.SplitHostPort(s.address)
			args := []string{"--no-defaults", "--protocol=tcp", "-h" + host, "-P" + port, "-uu", "-psecret", "--batch"}
			if tt.flavor == flavor.MySQL {
				args = append(args, "--ssl-mode=DISABLED", "--get-server-public-key")
			} else {
				args = append(args, "--skip-ssl")
				if dirs, _ := filepath.Glob(filepath.Join(sandboxtest.CacheDir(t), "mariadb/usr/lib/*/libmariadb3/plugin")); len(dirs) > 0 {
					args = append(args, "--plugin-dir="+dirs[0])
				}
			}
			argv, err := inst.Argv("mysql", append(args, "-e", "SELECT 1")...)
			if err != nil {
				t.Fatal(err)
			}
			for range 2 {
				ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
				out, err := exec.CommandContext(ctx, argv[0], argv[1:]...).CombinedOutput()
				cancel()
				if want := "a\tb\nfake rows\t7\nNULL\tNULL\n"; err != nil || !strings.HasSuffix(string(out), want) {
					t.Fatalf("%v: %s", err, out)
				}
			}
			s.mu.Lock()
			defer s.mu.Unlock()
			if got := strings.Join(s.logins, ", "); got != tt.logins {
				t.Errorf("logins by %s, want %s", got, tt.logins)
			}
		})
	}
}
