package wire_test

import (
	"context"
	"database/sql"
	"fmt"
	"net"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// tap relays TCP connections to a server and keeps what goes over the first.
type tap struct {
	address string

	mu   sync.Mutex
	seen exchange
}

func newTap(t *testing.T, server string) *tap {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &tap{address: l.Addr().String()}
	var wait sync.WaitGroup
	wait.Go(func() {
		for {
			near, err := l.Accept()
			if err != nil {
				return
			}
			far, err := net.Dial("tcp", server)
			if err != nil {
				_ = near.Close()
				return
			}
			wait.Go(func() { p.copy(far, near, false) })
			wait.Go(func() { p.copy(near, far, true) })
		}
	})
	t.Cleanup(func() { _ = l.Close(); wait.Wait() })
	return p
}

func (p *tap) copy(dst, src net.Conn, server bool) {
	defer dst.Close()
	b := make([]byte, 64<<10)
	for {
		n, err := src.Read(b)
		if n > 0 {
			p.mu.Lock()
			p.seen.add(server, b[:n])
			p.mu.Unlock()
			if _, err := dst.Write(b[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *tap) take(name, note string) *exchange {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.seen
	e.name, e.note = name, note
	return &e
}

var loginSetup = map[flavor.Flavor][]string{
	flavor.MySQL: {
		"CREATE USER wire@'%' IDENTIFIED WITH caching_sha2_password BY 'secret'",
		"CREATE USER nobody@'%' IDENTIFIED WITH caching_sha2_password BY ''",
		"GRANT ALL ON *.* TO wire@'%'",
	},
	flavor.MariaDB: {
		"CREATE USER wire@'%' IDENTIFIED BY 'secret'",
		"CREATE USER nobody@'%'",
		"GRANT ALL ON *.* TO wire@'%'",
	},
}

// TestCaptureLogin lets other clients log in and run statements, on real servers, and checks that
// their packets are understood. With -update it keeps them.
func TestCaptureLogin(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		c := sandboxtest.Cluster(t, sandbox.Options{Flavor: f, Replicas: -1})
		sandboxtest.Exec(t, c.Primary(), loginSetup[f]...)
		var list []*exchange
		keep := func(name, note string, run func(address string)) {
			t.Helper()
			p := newTap(t, c.Primary().Address())
			run(p.address)
			e := p.take(name, note)
			checkLogin(t, e)
			list = append(list, e)
		}
		for _, name := range []string{"driver-first", "driver-again"} { // full authentication, then fast
			keep(name, "password secret", func(address string) { useDriver(t, address, "wire", "secret") })
		}
		keep("driver-no-password", "password", func(address string) { useDriver(t, address, "nobody", "") })
		keep("shell", "password secret", func(address string) { useShell(t, c, address, "wire", "secret") })
		if *update {
			storeFixture(t, strings.ToLower(f.String())+"-login.txt",
				fmt.Sprintf("%s %s, captured by TestCaptureLogin", f, c.Version), list)
		}
	})
}

func useDriver(t *testing.T, address, user, password string) {
	t.Helper()
	cfg := mysql.NewConfig()
	cfg.Net, cfg.Addr, cfg.User, cfg.Passwd, cfg.DBName = "tcp", address, user, password, "information_schema"
	cfg.ConnectionAttributes = "program:wire_test"
	connector, err := mysql.NewConnector(cfg)
	if err != nil {
		t.Fatal(err)
	}
	db := sql.OpenDB(connector)
	defer db.Close()
	db.SetMaxOpenConns(1)
	var a, b string
	err = db.QueryRow("SELECT ?, ?", "text", 5).Scan(&a, &b)
	if err == nil {
		err = db.QueryRow("SELECT CURRENT_USER()").Scan(&a)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// useShell runs the flavor's own client in the clear.
func useShell(t *testing.T, c *sandbox.Cluster, address, user, password string) {
	t.Helper()
	host, port, _ := net.SplitHostPort(address)
	args := []string{
		"--no-defaults", "--protocol=tcp", "-h" + host, "-P" + port, "-u" + user, "-p" + password, "--batch",
	}
	script := "SELECT 'shell';\nUSE information_schema;\n"
	if c.Flavor == flavor.MySQL {
		args = append(args, "--ssl-mode=DISABLED", "--get-server-public-key", "--commands")
		script = "query_attributes colour blue size 7;\n" + script
	} else {
		args = append(args, "--skip-ssl")
	}
	argv, err := c.Installation().Argv("mysql", args...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin = strings.NewReader(script)
	out, err := cmd.CombinedOutput()
	if err != nil || !strings.Contains(string(out), "shell") {
		t.Fatalf("%v: %s", err, out)
	}
}

// checkLogin walks through a connection from its greeting on: every packet is decoded and written
// again, and the proof of the password is checked as a server would.
func checkLogin(t testing.TB, e *exchange) {
	t.Helper()
	if len(e.turns) < 3 {
		t.Fatalf("%s: %d turns", e.name, len(e.turns))
	}
	s := &serverSide{t: t, e: e}
	for i, turn := range e.turns {
		payloads, _ := packets(t, turn.bytes)
		for _, p := range payloads {
			switch {
			case s.loggedIn && !turn.server:
				s.command(p)
			case s.loggedIn:
			case turn.server:
				s.fromServer(p, i == 0)
			default:
				s.fromClient(p, i == 1)
			}
		}
	}
	if !s.proven || !s.loggedIn || s.commands == 0 {
		t.Errorf("%s: proven %v, logged in %v, %d commands", e.name, s.proven, s.loggedIn, s.commands)
	}
}

// serverSide is what a server knows of a connection.
type serverSide struct {
	t                testing.TB
	e                *exchange
	caps             wire.Capability
	nonce            []byte
	plugin           string
	proven, loggedIn bool
	commands         int
}

func (s *serverSide) same(what string, got, want []byte, err error) {
	s.t.Helper()
	if err != nil || string(got) != string(want) {
		s.t.Errorf("%s: %s: written again:\n got %x\nwant %x\n%v", s.e.name, what, got, want, err)
	}
}

func (s *serverSide) fromServer(p []byte, first bool) {
	switch {
	case first:
		var g wire.Greeting
		err := g.Decode(p)
		s.same("greeting", g.Append(nil), p, err)
		s.nonce, s.plugin = g.AuthData, g.AuthPlugin
	case p[0] == 0xFE:
		var m wire.AuthSwitch
		err := m.Decode(p)
		s.same("switch", m.Append(nil), p, err)
		s.nonce, s.plugin = m.Data, m.Plugin
	case p[0] == 0x01:
		var m wire.AuthMoreData
		err := m.Decode(p)
		s.same("more data", m.Append(nil), p, err)
		if len(m.Data) > 1 {
			key, err := wire.ParsePublicKey(m.Data)
			if err != nil {
				s.t.Fatal(err)
			}
			text, err := wire.FormatPublicKey(key)
			s.same("public key", text, m.Data, err)
		}
	case p[0] == 0x00:
		s.loggedIn = true
	default:
		s.t.Errorf("%s: unexpected %x", s.e.name, p)
	}
}

func (s *serverSide) fromClient(p []byte, first bool) {
	if !first {
		s.prove(p)
		return
	}
	var r wire.HandshakeResponse
	err := r.Decode(p)
	s.same("response", r.Append(nil), p, err)
	s.caps = r.Capabilities
	if r.AuthPlugin == s.plugin {
		s.prove(r.AuthResponse)
	}
	attributes, err := wire.DecodeAttributes(r.Attributes)
	if err != nil || len(attributes) == 0 {
		s.t.Errorf("%s: attributes %v: %v", s.e.name, attributes, err)
	}
}

func (s *serverSide) prove(response []byte) {
	secret := strings.TrimPrefix(strings.TrimPrefix(s.e.note, "password"), " ")
	wrong := []byte(secret + "?")
	switch {
	case s.proven: // the key's request and the encrypted password follow
		return
	case s.plugin == wire.SHA2Plugin:
		s.proven = wire.CheckSHA2(response, s.nonce, wire.HashSHA2([]byte(secret))) &&
			!wire.CheckSHA2(response, s.nonce, wire.HashSHA2(wrong))
	case s.plugin == wire.NativePlugin:
		s.proven = wire.CheckNative(response, s.nonce, wire.HashNative([]byte(secret))) &&
			!wire.CheckNative(response, s.nonce, wire.HashNative(wrong))
	}
}

func (s *serverSide) command(p []byte) {
	s.commands++
	if p[0] != byte(wire.ComQuery) {
		return
	}
	var q wire.Query
	err := q.Decode(p, s.caps)
	if err != nil {
		s.t.Fatalf("%s: %v", s.e.name, err)
	}
	again, err := q.Append(nil, s.caps)
	s.same("query", again, p, err)
}

func TestLoginFixtures(t *testing.T) {
	for file, list := range fixtures(t, "*-login.txt") {
		for _, e := range list {
			t.Run(file+"/"+e.name, func(t *testing.T) { checkLogin(t, e) })
		}
	}
}
