package target_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/optionfile"
	"github.com/mysqlrw/mysqlrw/pkg/target"
)

// readOptions reads the text of an option file.
func readOptions(t *testing.T, content string) optionfile.Result {
	t.Helper()
	path := filepath.Join(t.TempDir(), "my.cnf")
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		t.Fatal(err)
	}
	res, err := optionfile.Read(optionfile.Options{
		DefaultsFile: path, Groups: []string{"client", "mysqlrw"}, GroupSuffix: "_b",
	})
	if err != nil {
		t.Fatal(err)
	}
	return res
}

func TestFromOptions(t *testing.T) {
	t.Parallel()
	tests := []struct {
		name    string
		content string
		want    target.Settings
	}{
		{"nothing", "", target.Settings{}},
		{
			"everything", `
				host = db1
				port = 3307
				user = u
				password = "p#w"
				socket = /s
				protocol = tcp
				ssl-mode = verify_identity
				ssl_ca = /ca
				ssl-capath = /cas
				ssl-cert = /cert
				ssl-key = /key
				connect_timeout = 7
				default-character-set = utf8mb4`,
			target.Settings{
				Host: "db1", Port: 3307, User: "u", Password: "p#w", PasswordSet: true, Socket: "/s",
				Protocol: target.ProtocolTCP, SSLMode: target.SSLVerifyIdentity, SSLCA: "/ca",
				SSLCAPath: "/cas", SSLCert: "/cert", SSLKey: "/key", ConnectTimeout: 7 * time.Second,
			},
		},
		{"later wins", "host=a\n[mysqlrw]\nhost=b\n[client]\nhost=c", target.Settings{Host: "c"}},
		{"emptied", "host=a\nsocket=/s\nport=1\nhost=\nsocket=\nport=0", target.Settings{}},
		{"loose", "loose-host=a\nloose_unknown=1", target.Settings{Host: "a"}},
		{"password asked for", "password=x\npassword", target.Settings{AskPassword: true}},
		{"password empty", "password=x\npassword=", target.Settings{PasswordSet: true}},
		{"password skipped", "password=x\nskip-password", target.Settings{PasswordSet: true}},
		{"password after all", "password\npassword=1", target.Settings{Password: "1", PasswordSet: true}},
		{"letter case matters", "HOST=a\nPort=1", target.Settings{}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			got, warnings, err := target.FromOptions(readOptions(t, "[client]\n"+tt.content))
			if err != nil || len(warnings) > 0 {
				t.Fatalf("got error %v, warnings %q", err, warnings)
			}
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
}

func TestFromOptions_sslMode(t *testing.T) {
	t.Parallel()
	tests := []struct {
		content string
		want    target.SSLMode
	}{
		{"", target.SSLUnset},
		{"ssl", target.SSLRequired},
		{"ssl=1", target.SSLRequired},
		{"ssl=ON", target.SSLRequired},
		{"enable-ssl", target.SSLRequired},
		{"enable-ssl=0", target.SSLDisabled},
		{"ssl=0", target.SSLDisabled},
		{"ssl=false", target.SSLDisabled},
		{"skip-ssl", target.SSLDisabled},
		{"disable_ssl", target.SSLDisabled},
		{"skip-ssl=0", target.SSLRequired},
		{"skip-ssl\nssl", target.SSLRequired},
		{"ssl\nskip-ssl", target.SSLDisabled},
		{"ssl-ca=/ca", target.SSLUnset},
		{"ssl\nssl-ca=/ca", target.SSLUnset}, // so that the CA means VERIFY_CA
		{"ssl-ca=/ca\nskip-ssl", target.SSLDisabled},
		{"ssl-verify-server-cert", target.SSLVerifyIdentity},
		{"ssl-verify-server-cert=1\nskip-ssl", target.SSLDisabled},
		{"ssl-verify-server-cert=0", target.SSLUnset},
		{"ssl\nskip-ssl-verify-server-cert", target.SSLRequired},
		{"ssl-ca=/ca\ndisable-ssl-verify-server-cert", target.SSLRequired},
		{"ssl-mode=PREFERRED\nssl\nssl-verify-server-cert", target.SSLPreferred},
		{"skip-ssl\nssl-mode=Required", target.SSLRequired},
		{"ssl-mode=DISABLED\nssl-ca=/ca", target.SSLDisabled},
	}
	for _, tt := range tests {
		got, warnings, err := target.FromOptions(readOptions(t, "[client]\n"+tt.content+"\n"))
		if err != nil || len(warnings) > 0 || got.SSLMode != tt.want {
			t.Errorf("%q: got %v, %q, %v, want %v", tt.content, got.SSLMode, warnings, err, tt.want)
		}
	}
}

func TestFromOptions_malformed(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	tests := []struct{ line, want string }{
		{"host", "host: option needs a value"},
		{"port", "port: option needs a value"},
		{"port=" + secret, "port: port is not a number from 1 to 65535"},
		{"port=", "port: port is not a number from 1 to 65535"},
		{"ssl-mode=" + secret, "ssl-mode: ssl-mode is none of"},
		{"ssl=" + secret, "ssl: value is none of 0, 1"},
		{"ssl-verify-server-cert=2", "ssl-verify-server-cert: value is none of"},
		{"protocol=MEMORY", "protocol: protocol is neither TCP nor SOCKET"},
		{"connect-timeout=" + secret, "connect-timeout: value is not a number of seconds"},
		{"connect-timeout=-1", "connect-timeout: value is not a number of seconds"},
		{"connect-timeout=4294967296", "connect-timeout: value is not a number of seconds"},
	}
	for _, tt := range tests {
		_, _, err := target.FromOptions(readOptions(t, "[client]\n"+tt.line+"\n"))
		if err == nil || !strings.Contains(err.Error(), "my.cnf:2: "+tt.want) || strings.Contains(err.Error(), secret) {
			t.Errorf("%q: got %v, want an error with %q", tt.line, err, tt.want)
		}
	}
}

func TestFromOptions_unknown(t *testing.T) {
	t.Parallel()
	const secret = "hunter2"
	res := readOptions(t, "[client]\nno-beep\npassword "+secret+"\n[mysqlrw]\nhots="+secret+
		"\nloose-later="+secret+"\n[mysqlrw_b]\nskip-hots\n")
	_, warnings, err := target.FromOptions(res)
	if err != nil || len(warnings) != 3 {
		t.Fatalf("got %q, %v, want three warnings", warnings, err)
	}
	for i, want := range []string{
		"unknown option password... (", "unknown option hots (", "unknown option skip-hots (",
	} {
		if !strings.HasPrefix(warnings[i], want) || strings.Contains(warnings[i], secret) {
			t.Errorf("got %q, want it to begin with %q", warnings[i], want)
		}
	}
	if !strings.HasSuffix(warnings[0], "my.cnf:3): is a '=' missing?") {
		t.Errorf("got %q, want the place and a hint", warnings[0])
	}
}
