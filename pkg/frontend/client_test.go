package frontend_test

import (
	"context"
	"database/sql"
	"errors"
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
	"github.com/mysqlrw/mysqlrw/pkg/frontend"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox/sandboxtest"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// server answers real clients. Every query gets one row: its length, and as many x as it has names them.
type server struct {
	*accounts
	o       frontend.Options
	address string // host:port
	socket  string
	quiet   bool // sessions may end in errors
}

func newServer(t *testing.T, o frontend.Options) *server {
	t.Helper()
	s := &server{accounts: &accounts{passwords: map[string]string{"app": "secret", "bare": "", "other": "word"}}, o: o}
	s.o.Auth, s.o.Offer, s.o.Buffers, s.o.LoginTimeout = s.accounts, offer, &frontend.Buffers{}, time.Minute
	s.o.TLS, s.o.Key = serverTLS(t), rsaKey(t)
	if s.o.Version == "" {
		s.o.Version = "9.7.4"
	}
	s.socket = filepath.Join(t.TempDir(), "s")
	var wait sync.WaitGroup
	var listeners []net.Listener
	for _, where := range [][2]string{{"tcp", "127.0.0.1:0"}, {"unix", s.socket}} {
		l, err := net.Listen(where[0], where[1])
		if err != nil {
			t.Fatal(err)
		}
		listeners = append(listeners, l)
		if where[0] == "tcp" {
			s.address = l.Addr().String()
		}
		wait.Go(func() {
			for {
				raw, err := l.Accept()
				if err != nil {
					return
				}
				wait.Go(func() { s.serve(t, raw) })
			}
		})
	}
	t.Cleanup(func() {
		for _, l := range listeners {
			_ = l.Close()
		}
		wait.Wait()
	})
	return s
}

// note remembers how somebody logged in, or why not.
func (s *server) note(what string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logins = append(s.logins, what)
}

// noted returns what was noted, and forgets it. The server notes after the client has its answer.
func (s *server) noted(t *testing.T) string {
	t.Helper()
	until(t, "nobody came", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return len(s.logins) > 0
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	all := strings.Join(s.logins, ", ")
	s.logins = nil
	return all
}

func (s *server) serve(t *testing.T, raw net.Conn) {
	c, l, err := frontend.Accept(t.Context(), raw, &s.o)
	if err != nil {
		var e *wire.ServerError
		if errors.As(err, &e) {
			s.note(fmt.Sprintf("refused %d", e.Code))
		} else {
			s.note("failed")
		}
		return
	}
	defer c.Close()
	how := "fast"
	if l.Full {
		how = "full"
	}
	for _, extra := range []struct {
		flag wire.Capability
		name string
	}{{wire.SSL, " TLS"}, {wire.Compress, " zlib"}, {wire.ZstdCompression, " zstd"}} {
		if l.Capabilities.Has(extra.flag) {
			how += extra.name
		}
	}
	s.note(how)
	_ = c.WriteOK(&wire.OK{Status: wire.Autocommit})
	for err == nil {
		var p []byte
		if p, err = c.ReadCommand(); err == nil {
			err = answer(t, c, p)
		}
	}
	if !errors.Is(err, io.EOF) && !s.quiet {
		t.Errorf("session of %s: %v", l.User, err)
	}
}

func answer(t *testing.T, c *frontend.Conn, p []byte) error {
	switch wire.Command(p[0]) {
	case wire.ComQuit:
		return io.EOF
	case wire.ComChangeUser:
		if _, err := c.ChangeUser(t.Context(), p); err != nil {
			return err
		}
	case wire.ComQuery:
		var q wire.Query
		if err := q.Decode(p, c.Capabilities()); err != nil {
			return err
		}
		text := string(q.Text)
		if strings.Contains(text, "$$") { // the mysql client looks at the error
			return c.WriteError(1064, "42000", "no")
		}
		if strings.HasPrefix(strings.ToUpper(text), "SELECT") {
			return row(c, text)
		}
	}
	return c.WriteOK(&wire.OK{Status: wire.Autocommit})
}

func row(c *frontend.Conn, text string) error {
	caps := c.Capabilities()
	head := wire.ResultHead{Columns: 2}
	payloads := [][]byte{head.Append(nil, caps)}
	for _, name := range []string{"length", "text"} {
		col := wire.Column{Name: []byte(name), Charset: wire.CharsetUTF8MB4, Length: 400, Type: wire.TypeVarString}
		payloads = append(payloads, col.Append(nil, caps))
	}
	if !caps.Has(wire.DeprecateEOF) {
		eof := wire.OK{EOF: true}
		payloads = append(payloads, eof.Append(nil, caps))
	}
	n := 0
	_, _ = fmt.Sscanf(text, "SELECT %d", &n)
	end := wire.OK{AfterRows: true, Status: wire.Autocommit}
	end.For(caps, nil, nil)
	values := wire.AppendLenEncString(wire.AppendLenEncString(nil, fmt.Sprint(len(text))), strings.Repeat("x", n))
	var out []byte
	seq := c.Seq()
	for _, p := range append(payloads, values, end.Append(nil, caps)) {
		out, seq = wire.AppendMessage(out, p, seq)
	}
	return c.Write(out)
}

// shellTests are logins by the shells of both flavours, in this order with one server for each greeting.
var shellTests = []struct {
	flavor  flavor.Flavor
	greeted string
	args    string // SOCKET stands for the socket, and then there is no host
	logins  string
	denied  string // in the shell's message
}{
	{flavor.MySQL, sha2, "--ssl-mode=DISABLED", "failed", "Authentication requires secure connection"},
	{flavor.MySQL, sha2, "--ssl-mode=DISABLED --get-server-public-key", "full", ""},
	{flavor.MySQL, sha2, "--ssl-mode=DISABLED", "fast", ""},
	{flavor.MySQL, sha2, "--ssl-mode=REQUIRED", "fast TLS", ""},
	{flavor.MySQL, sha2, "--ssl-mode=REQUIRED -pwrong", "refused 1045", "ERROR 1045 (28000): Access denied by the server"},
	{flavor.MySQL, sha2, "-uother -pword --ssl-mode=REQUIRED", "full TLS", ""},
	{flavor.MySQL, sha2, "-ubare --skip-password --ssl-mode=DISABLED", "full", ""},
	{flavor.MySQL, sha2, "-ubare --skip-password --ssl-mode=DISABLED", "full", ""},
	{flavor.MySQL, sha2, "--ssl-mode=DISABLED --compression-algorithms=zlib", "fast zlib", ""},
	{flavor.MySQL, sha2, "--ssl-mode=REQUIRED --compression-algorithms=zlib", "fast TLS zlib", ""},
	{flavor.MySQL, sha2, "--ssl-mode=DISABLED --compression-algorithms=zstd", "fast zstd", ""},
	{flavor.MySQL, sha2, "--compression-algorithms=zstd --zstd-compression-level=22", "fast TLS zstd", ""},
	{flavor.MySQL, sha2, "SOCKET", "fast", ""},
	{flavor.MySQL, sha2, "SOCKET -pwrong", "refused 1045", "ERROR 1045 (28000): Access denied by the server"},
	{flavor.MySQL, sha2, "--enable-cleartext-plugin --default-auth=mysql_clear_password --ssl-mode=REQUIRED", "full TLS", ""},
	{flavor.MySQL, native, "SOCKET", "full", ""},
	{flavor.MySQL, native, "--ssl-mode=DISABLED", "fast", ""},
	{flavor.MySQL, native, "--ssl-mode=DISABLED -pwrong --get-server-public-key", "refused 1045", "ERROR 1045 (28000): Access denied by the server"},

	{flavor.MariaDB, native, "--skip-ssl", "full", ""},
	{flavor.MariaDB, native, "--skip-ssl", "fast", ""},
	{flavor.MariaDB, native, "--ssl", "fast TLS", ""},
	{flavor.MariaDB, native, "--ssl -pwrong", "refused 1045", "ERROR 1045 (28000): Access denied by the server"},
	{flavor.MariaDB, native, "--ssl -uother -pword", "full TLS", ""},
	{flavor.MariaDB, native, "--skip-ssl -ubare --skip-password", "full", ""},
	{flavor.MariaDB, native, "--skip-ssl --compress", "fast zlib", ""},
	{flavor.MariaDB, native, "--ssl --compress", "fast TLS zlib", ""},
	{flavor.MariaDB, native, "SOCKET --skip-ssl", "fast", ""},
	{flavor.MariaDB, sha2, "SOCKET --skip-ssl", "full", ""},
	{flavor.MariaDB, sha2, "--skip-ssl", "fast", ""},
	{flavor.MariaDB, sha2, "--ssl -uother -pword --compress", "full TLS zlib", ""},
	{flavor.MariaDB, sha2, "--skip-ssl -pwrong", "refused 1045", "ERROR 1045 (28000): Access denied by the server"},
	{flavor.MariaDB, sha2, "--skip-ssl --default-auth=mysql_native_password", "fast", ""},
}

// TestShells logs the shells in, whose libraries have their own ideas of the protocol.
func TestShells(t *testing.T) {
	sandboxtest.Flavors(t, func(t *testing.T, f flavor.Flavor) {
		servers := map[string]*server{}
		version := "9.7.4"
		if f == flavor.MariaDB {
			version = "5.5.5-10.11.6-MariaDB"
		}
		for _, plugin := range []string{native, sha2} {
			servers[plugin] = newServer(t, frontend.Options{Version: version, Plugin: plugin})
		}
		for _, tt := range shellTests {
			if tt.flavor != f {
				continue
			}
			t.Run(tt.greeted+" "+tt.args, func(t *testing.T) {
				s := servers[tt.greeted]
				out, err := shell(t, s, f, strings.Fields(tt.args))
				switch want := "8\t\n13\t" + strings.Repeat("x", 300000) + "\n100009\t\n"; {
				case tt.denied != "":
					if err == nil || !strings.Contains(out, tt.denied) {
						t.Errorf("%v: %s", err, out)
					}
				case err != nil || !strings.HasSuffix(strings.ReplaceAll(out, "length\ttext\n", ""), want):
					t.Errorf("%v: %.300s", err, out)
				}
				if got := s.noted(t); got != tt.logins {
					t.Errorf("logged in %q, want %q", got, tt.logins)
				}
			})
		}
	})
}

// shell runs the mysql or mariadb shell with three queries: a short one, one of a long row, and a long
// one.
func shell(t *testing.T, s *server, f flavor.Flavor, args []string) (string, error) {
	t.Helper()
	inst := sandboxtest.Installation(t, f)
	host, port, _ := net.SplitHostPort(s.address)
	all := []string{"--no-defaults", "--batch", "--protocol=tcp", "-h" + host, "-P" + port, "-uapp", "-psecret"}
	for _, a := range args {
		if a == "SOCKET" {
			all = append([]string{"--no-defaults", "--batch", "--protocol=socket", "-S" + s.socket}, all[5:]...)
			continue
		}
		all = append(all, a)
	}
	if f == flavor.MariaDB {
		if dirs, _ := filepath.Glob(filepath.Join(sandboxtest.CacheDir(t), "mariadb/usr/lib/*/libmariadb3/plugin")); len(dirs) > 0 {
			all = append(all, "--plugin-dir="+dirs[0])
		}
	}
	argv, err := inst.Argv("mysql", all...)
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, argv[0], argv[1:]...)
	cmd.Stdin = strings.NewReader("SELECT 0;\nSELECT 300000;\nSELECT '" + strings.Repeat("y", 100000) + "';\n")
	out, err := cmd.CombinedOutput()
	return string(out), err
}

// TestDriver does the same with Go's driver.
func TestDriver(t *testing.T) {
	for _, plugin := range []string{native, sha2} {
		s := newServer(t, frontend.Options{Plugin: plugin})
		for _, tt := range []struct {
			dsn    string
			logins string
			denied string
		}{
			{"app:secret@tcp(TCP)/?tls=false", "full", ""},
			{"app:secret@tcp(TCP)/?tls=false", "fast", ""},
			{"app:secret@tcp(TCP)/?tls=skip-verify&compress=true", "fast TLS zlib", ""},
			{"app:secret@tcp(TCP)/db?compress=true", "fast zlib", ""},
			{"app:secret@unix(SOCKET)/", "fast", ""},
			{"app:wrong@unix(SOCKET)/", "refused 1045", "Error 1045 (28000): Access denied by the server"},
			{"app:wrong@tcp(TCP)/", "refused 1045", "Error 1045 (28000): Access denied by the server"},
			{"other:word@tcp(TCP)/?tls=skip-verify", "full TLS", ""},
			{"bare@tcp(TCP)/", "full", ""},
		} {
			t.Run(plugin+" "+tt.dsn, func(t *testing.T) {
				config, err := mysql.ParseDSN(strings.NewReplacer("TCP", s.address, "SOCKET", s.socket).Replace(tt.dsn))
				if err != nil {
					t.Fatal(err)
				}
				config.Logger = &mysql.NopLogger{}
				connector, err := mysql.NewConnector(config)
				if err != nil {
					t.Fatal(err)
				}
				db := sql.OpenDB(connector)
				defer db.Close()
				conn, err := db.Conn(t.Context())
				if tt.denied != "" {
					if err == nil || !strings.Contains(err.Error(), tt.denied) {
						t.Errorf("%v", err)
					}
				} else if err != nil {
					t.Fatal(err)
				}
				for _, text := range []string{"SELECT 1", "SELECT 300000", "SELECT '" + strings.Repeat("y", 1<<20) + "'"} {
					if tt.denied != "" {
						break
					}
					var length int
					var value string
					if err := conn.QueryRowContext(t.Context(), text).Scan(&length, &value); err != nil || length != len(text) {
						t.Errorf("%.20s: length %d: %v", text, length, err)
					}
				}
				if conn != nil {
					_ = conn.Close()
				}
				if got := s.noted(t); got != tt.logins {
					t.Errorf("logged in %q, want %q", got, tt.logins)
				}
			})
		}
	}
}
