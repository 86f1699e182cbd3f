package target

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// fake is a parser for which only these paths exist.
func fake(paths ...string) parser {
	return parser{exists: func(path string) bool {
		for _, p := range paths {
			if p == path {
				return true
			}
		}
		return false
	}}
}

// The sockets of distributions, of which the fake system has the second.
const debian, source = "/var/run/mysqld/mysqld.sock", "/tmp/mysql.sock"

// addressCase is an argument and the address that it means.
type addressCase struct {
	name     string
	arg      string
	defaults Settings
	network  string
	want     string // name and address
	host     string // for the certificate
}

func checkAddresses(t *testing.T, tests []addressCase) {
	t.Helper()
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, err := fake(source).parse(tt.arg, tt.defaults)
			if err != nil {
				t.Fatal(err)
			}
			if got.Name != tt.want || got.to.address != tt.want || got.to.network != tt.network || got.to.host != tt.host {
				t.Errorf("got %s, %s %s for %s, want %s %s for %s",
					got.Name, got.to.network, got.to.address, got.to.host, tt.network, tt.want, tt.host)
			}
		})
	}
}

func TestParse_defaults(t *testing.T) {
	t.Parallel()
	checkAddresses(t, []addressCase{
		{"nothing said", "", Settings{}, "unix", source, "localhost"},
		{"defaults: host", "", Settings{Host: "db1"}, "tcp", "db1:3306", "db1"},
		{"defaults: host, port", "", Settings{Host: "db1", Port: 3307}, "tcp", "db1:3307", "db1"},
		{"defaults: port alone", "", Settings{Port: 3307}, "unix", source, "localhost"},
		{"defaults: socket", "", Settings{Socket: "/s"}, "unix", "/s", "localhost"},
		{"defaults: socket and host", "", Settings{Socket: "/s", Host: "db1"}, "tcp", "db1:3306", "db1"},
		{"defaults: socket and localhost", "", Settings{Socket: "/s", Host: "localhost"}, "unix", "/s", "localhost"},
		{"defaults: socket by protocol", "", Settings{Socket: "/s", Host: "db1", Protocol: ProtocolSocket}, "unix", "/s", "localhost"},
		{"defaults: TCP by protocol", "", Settings{Socket: "/s", Port: 3307, Protocol: ProtocolTCP}, "tcp", "localhost:3307", "localhost"},
		{"defaults: IPv6", "", Settings{Host: "::1", Port: 3307}, "tcp", "[::1]:3307", "::1"},
	})
}

func TestParse_host(t *testing.T) {
	t.Parallel()
	checkAddresses(t, []addressCase{
		{"host", "db1", Settings{}, "tcp", "db1:3306", "db1"},
		{"host, port of defaults", "db1", Settings{Host: "db9", Port: 3307}, "tcp", "db1:3307", "db1"},
		{"host over socket", "db1", Settings{Protocol: ProtocolSocket, Socket: "/s"}, "tcp", "db1:3306", "db1"},
		{"host:port", "db1.example.com:3308", Settings{Port: 3307}, "tcp", "db1.example.com:3308", "db1.example.com"},
		{"IPv4", "127.0.0.1", Settings{}, "tcp", "127.0.0.1:3306", "127.0.0.1"},
		{"IPv4:port", "127.0.0.1:1", Settings{}, "tcp", "127.0.0.1:1", "127.0.0.1"},
		{"IPv6", "::1", Settings{}, "tcp", "[::1]:3306", "::1"},
		{"[IPv6]", "[::1]", Settings{Port: 65535}, "tcp", "[::1]:65535", "::1"},
		{"[IPv6]:port", "[fe80::1%eth0]:3307", Settings{}, "tcp", "[fe80::1%eth0]:3307", "fe80::1%eth0"},
		{"underscore", "db_1-a", Settings{}, "tcp", "db_1-a:3306", "db_1-a"},
		{"other letters", "bücher.example", Settings{}, "tcp", "bücher.example:3306", "bücher.example"},
		{"user@host", "repl@db1", Settings{}, "tcp", "db1:3306", "db1"},
		{"user@[IPv6]:port", "repl@[::1]:3307", Settings{}, "tcp", "[::1]:3307", "::1"},
		{"@ in the user", "a@b@db1:3307", Settings{}, "tcp", "db1:3307", "db1"},
	})
}

func TestParse_localhost(t *testing.T) {
	t.Parallel()
	checkAddresses(t, []addressCase{
		{"localhost", "localhost", Settings{Port: 3307}, "unix", source, "localhost"},
		{"localhost, socket of defaults", "localhost", Settings{Host: "db1", Socket: "/s"}, "unix", "/s", "localhost"},
		{"localhost by TCP", "localhost", Settings{Protocol: ProtocolTCP}, "tcp", "localhost:3306", "localhost"},
		{"localhost:port", "localhost:3307", Settings{Socket: "/s", Protocol: ProtocolSocket}, "tcp", "localhost:3307", "localhost"},
		{"user@localhost", "root@localhost", Settings{}, "unix", source, "localhost"},
		{"Localhost is another name", "Localhost", Settings{}, "tcp", "Localhost:3306", "Localhost"},

		{"path", "/run/my sql/a@b:1.sock", Settings{Host: "db1", Protocol: ProtocolTCP}, "unix", "/run/my sql/a@b:1.sock", "localhost"},
		{"relative path", "./m.sock", Settings{}, "unix", "./m.sock", "localhost"},
		{"path upwards", "../m.sock", Settings{}, "unix", "../m.sock", "localhost"},
	})
}

func TestParse_url(t *testing.T) {
	t.Parallel()
	checkAddresses(t, []addressCase{
		{"URL", "mysql://db1", Settings{Port: 3307}, "tcp", "db1:3307", "db1"},
		{"URL with everything", "mysql://u:p@db1:3307/test?ssl-mode=required", Settings{}, "tcp", "db1:3307", "db1"},
		{"URL, letter case", "MariaDB://db1/", Settings{}, "tcp", "db1:3306", "db1"},
		{"URL, IPv6", "mysql://u@[::1]:3307/", Settings{}, "tcp", "[::1]:3307", "::1"},
		{"URL, zone", "mysql://u@[fe80::1%25eth0]/", Settings{}, "tcp", "[fe80::1%eth0]:3306", "fe80::1%eth0"},
		{"URL, localhost", "mysql://root@localhost/", Settings{}, "unix", source, "localhost"},
		{"URL, localhost:port", "mysql://root@localhost:3306/", Settings{}, "tcp", "localhost:3306", "localhost"},
		{"URL, localhost by TCP", "mysql://localhost/?protocol=tcp", Settings{}, "tcp", "localhost:3306", "localhost"},
		{"URL, socket", "mysql://u@localhost/?socket=%2Frun%2Fm.sock", Settings{Protocol: ProtocolTCP}, "unix", "/run/m.sock", "localhost"},
		{"URL without host", "mysql://u:p@/", Settings{Host: "db9"}, "tcp", "db9:3306", "db9"},
		{"URL with port alone", "mysql://:3307", Settings{}, "tcp", "localhost:3307", "localhost"},
		{"URL with port, host of defaults", "mysql://u@:3307/", Settings{Host: "db9"}, "tcp", "db9:3307", "db9"},
	})
}

func TestParse_dsn(t *testing.T) {
	t.Parallel()
	checkAddresses(t, []addressCase{
		{"DSN", "u:p@tcp(db1:3307)/test", Settings{Port: 9}, "tcp", "db1:3307", "db1"},
		{"DSN without port", "u@tcp(db1)/", Settings{Port: 9}, "tcp", "db1:3306", "db1"},
		{"DSN without user", "tcp(db1:3307)/", Settings{}, "tcp", "db1:3307", "db1"},
		{"DSN, IPv6", "u@tcp([::1]:3307)/", Settings{}, "tcp", "[::1]:3307", "::1"},
		{"DSN, localhost is TCP", "u@tcp(localhost)/", Settings{}, "tcp", "localhost:3306", "localhost"},
		{"DSN, socket", "u:p@unix(/run/m.sock)/test?timeout=1s", Settings{Host: "db9"}, "unix", "/run/m.sock", "localhost"},
		{"DSN without address", "u:p@/", Settings{Host: "db9"}, "tcp", "127.0.0.1:3306", "127.0.0.1"},
		{"DSN, slash and @ in the password", "u:p@/:(x)@tcp(db1:3307)/", Settings{}, "tcp", "db1:3307", "db1"},
		{"DSN, URL in the password", "u:a://b@tcp(db1)/", Settings{}, "tcp", "db1:3306", "db1"},
	})
}

func TestParse_findsSocket(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		exist []string
		want  string
	}{
		{nil, debian},
		{[]string{source, debian}, debian},
		{[]string{"/var/lib/mysql/mysql.sock", source}, source},
		{[]string{"/var/lib/mysql/mysql.sock"}, "/var/lib/mysql/mysql.sock"},
	} {
		if got, err := fake(tt.exist...).parse("", Settings{}); err != nil || got.Name != tt.want {
			t.Errorf("of %q: got %s, %v, want %s", tt.exist, got.Name, err, tt.want)
		}
	}
	windows := fake()
	windows.noSocket = true
	if got, err := windows.parse("", Settings{}); err != nil || got.Name != "localhost:3306" {
		t.Errorf("without sockets: got %s, %v, want localhost:3306", got.Name, err)
	}
}

func TestParse_settings(t *testing.T) {
	t.Parallel()
	defaults := Settings{
		User: "def", Password: "defpw", SSLMode: SSLRequired, SSLCA: "/ca",
		ConnectTimeout: time.Second, AskPassword: true,
	}
	change := func(f func(*Settings)) Settings {
		s := defaults
		f(&s)
		return s
	}
	tcp := func(s *Settings, host string, port int) { s.Host, s.Port, s.Protocol = host, port, ProtocolTCP }
	password := func(s *Settings, p Secret) { s.Password, s.PasswordSet, s.AskPassword = p, true, false }
	tests := []struct {
		arg  string
		want Settings
	}{
		{"", defaults},
		{"db1", change(func(s *Settings) { tcp(s, "db1", 0) })},
		{"u@db1", change(func(s *Settings) { tcp(s, "db1", 0); s.User = "u" })},
		{"@db1", change(func(s *Settings) { tcp(s, "db1", 0); s.User = "" })},
		{"/s", change(func(s *Settings) { s.Socket, s.Protocol = "/s", ProtocolSocket })},
		{"mysql://db1:1", change(func(s *Settings) { tcp(s, "db1", 1) })},
		{"mysql://u@db1:1", change(func(s *Settings) { tcp(s, "db1", 1); s.User = "u" })},
		{"mysql://u:@db1:1", change(func(s *Settings) { tcp(s, "db1", 1); s.User = "u"; password(s, "") })},
		{
			"mysql://a%40b:p%2F%3F%23%40%3Aw%25@db1:1/d%2Fb",
			change(func(s *Settings) { tcp(s, "db1", 1); s.User, s.Database = "a@b", "d/b"; password(s, "p/?#@:w%") }),
		},
		{
			"mysql://db1:1/?ssl-mode=verify-ca&ssl_ca=%2Fx&ssl-cert=c&ssl-key=k&connect-timeout=7&ssl-capath=p",
			change(func(s *Settings) {
				tcp(s, "db1", 1)
				s.SSLMode, s.SSLCA, s.SSLCert, s.SSLKey, s.SSLCAPath = SSLVerifyCA, "/x", "c", "k", "p"
				s.ConnectTimeout = 7 * time.Second
			}),
		},
		{"u@tcp(db1:1)/", change(func(s *Settings) { tcp(s, "db1", 1); s.User = "u" })},
		{"u:p/@:w@tcp(db1:1)/d%2Fb", change(func(s *Settings) {
			tcp(s, "db1", 1)
			s.User, s.Database = "u", "d/b"
			password(s, "p/@:w")
		})},
		{"tcp(db1:1)/?tls=false", change(func(s *Settings) { tcp(s, "db1", 1); s.SSLMode = SSLDisabled })},
		{"tcp(db1:1)/?tls=preferred", change(func(s *Settings) { tcp(s, "db1", 1); s.SSLMode = SSLPreferred })},
		{"tcp(db1:1)/?tls=skip-verify", change(func(s *Settings) { tcp(s, "db1", 1); s.SSLMode = SSLRequired })},
		{"tcp(db1:1)/?tls=true", change(func(s *Settings) { tcp(s, "db1", 1); s.SSLMode = SSLVerifyIdentity })},
	}
	for _, tt := range tests {
		got, err := fake().parse(tt.arg, defaults)
		if err != nil {
			t.Errorf("%s: %v", tt.arg, err)
			continue
		}
		settings := got.to.settings
		settings.Password = Secret(got.to.password())
		if settings != tt.want {
			t.Errorf("%s: got %+v, %s, want %+v, %s", tt.arg,
				settings, settings.Password.Reveal(), tt.want, tt.want.Password.Reveal())
		}
		if got.User() != tt.want.User || got.AskPassword() != tt.want.AskPassword {
			t.Errorf("%s: got user %s, ask %t", tt.arg, got.User(), got.AskPassword())
		}
	}
}

// pw stands, in arguments that are malformed, where a password can go astray.
const pw = "hunter2"

// malformed is an argument and the error that it gives.
type malformed struct {
	arg  string
	want error
}

func checkMalformed(t *testing.T, tests []malformed) {
	t.Helper()
	for _, tt := range tests {
		got, err := fake().parse(tt.arg, Settings{})
		if !errors.Is(err, tt.want) {
			t.Errorf("%q: got %v, %v, want %v", tt.arg, got, err, tt.want)
		}
		if err != nil && strings.Contains(err.Error(), pw) {
			t.Errorf("%q: the error shows the password: %v", tt.arg, err)
		}
	}
}

func TestParse_malformedHost(t *testing.T) {
	t.Parallel()
	checkMalformed(t, []malformed{
		{"root:" + pw, errPort},
		{"root:" + pw + "@db1", errPasswordHere},
		{"root:" + pw + "@db1:3306", errPasswordHere},
		{"db1:" + pw, errPort},
		{"db1:", errPort},
		{"db1:0", errPort},
		{"db1:65536", errPort},
		{"db1:+1", errPort},
		{"db1:1:" + pw, errPort},
		{":3306", errHost},
		{"root@", errHost},
		{"root@" + pw + "!", errHost},
		{"db 1", errHost},
		{"db1\n", errHost},
		{"\xff", errHost},
		{strings.Repeat("a", 256), errHost},
		{"[::1", errBrackets},
		{"[::1]" + pw, errBrackets},
		{"[db1]:3306", errBrackets},
		{"[127.0.0.1]:3306", errBrackets},
		{"[fe80::1%a b]", errBrackets},
		{"[::1]:" + pw, errPort},
	})
}

func TestParse_malformedURL(t *testing.T) {
	t.Parallel()
	checkMalformed(t, []malformed{
		{"mysql://root:" + pw + "#@db1/", errURL},
		{"mysql://root:12#" + pw + "@db1", errURL},
		{"mysql://db1/#", errURL},
		{"mysql://root:" + pw + "/x@db1/", errURL},
		{"mysql://root:12/" + pw + "@db1", errURL},
		{"mysql://root:12?" + pw + "@db1", errURL},
		{"mysql://root:12?" + pw + "=@db1", errURL},
		{"mysql://root:%zz" + pw + "@db1", errURL},
		{"mysql://db1:" + pw + "/", errURL},
		{"mysql://db1:0/", errPort},
		{"mysql://db1/a/b", errURL},
		{"mysql://db1/?password=" + pw, errURLParameter},
		{"mysql://db1/?ssl-mode=" + pw, errSSLMode},
		{"mysql://db1/?connect-timeout=1s", errSeconds},
		{"mysql://db1/?protocol=pipe", errProtocol},
		{"mysql://db1/?ssl-ca=%zz", errURL},
		{"mysql://%2Frun%2Fm.sock/", errURL},
		{"mysql://db 1/", errURL},
		{"mysql://db1!/", errHost},
		{"postgres://root:" + pw + "@db1/", errScheme},
	})
}

func TestParse_malformedDSN(t *testing.T) {
	t.Parallel()
	checkMalformed(t, []malformed{
		{"root:" + pw + "@db1:3306/test", errDSN},
		{"root:" + pw + "@tcp(db1:3306)", errDSN},
		{"root:" + pw + "@tcp(db1:3306/", errDSN},
		{"root:x@tcp(y)/" + pw + "@tcp(db1:3306)", errDSN},
		{"root:" + pw + "@tcp(db1:0)/", errPort},
		{"root:" + pw + "@tcp(" + pw + "!:1)/", errHost},
		{"root:" + pw + "@pipe(x)/", errDSNNetwork},
		{"root:" + pw + "@tcp(db1)/?tls=" + pw, errDSN}, // no such registered configuration
		{"root:" + pw + "@tcp(db1)/?tls=", errDSNTLS},
		{"root:" + pw + "@tcp(db1)/?timeout=" + pw, errDSN},
		{"root:" + pw + "@tcp(db1)/?strict=true", errDSNStrict},
		{"root:" + pw + "@tcp(db1)/%zz", errDSN},
		{"run/mysqld.sock", errDSN},
	})
}

func TestParse_malformedDefaults(t *testing.T) {
	t.Parallel()
	for _, s := range []Settings{{Host: "a b"}, {Host: "db1", Port: -1}, {Host: "db1", Port: 65536}} {
		if _, err := fake().parse("", s); err == nil {
			t.Errorf("%+v: got no error", s)
		}
	}
	if _, err := Parse("a b", Settings{}); err == nil || !strings.HasPrefix(err.Error(), "parse target: ") {
		t.Errorf("got %v, want the error of Parse", err)
	}
}
