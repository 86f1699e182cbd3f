package target_test

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/target"
)

// configOf parses arg and returns the driver's configuration.
func configOf(t *testing.T, arg string, s target.Settings) *mysql.Config {
	t.Helper()
	tgt, err := target.Parse(arg, s)
	if err != nil {
		t.Fatal(err)
	}
	cfg, err := tgt.Config()
	if err != nil {
		t.Fatal(err)
	}
	return cfg
}

func TestTarget_Config(t *testing.T) {
	t.Parallel()
	s := target.Settings{User: "u", Password: "p", ConnectTimeout: 7 * time.Second, SSLMode: target.SSLDisabled}
	for arg, want := range map[string]string{
		"db1":         "u:p@tcp(db1:3306)/?connectionAttributes=program_name%3Amysqlrw&interpolateParams=true&timeout=7s",
		"v@[::1]:3":   "v:p@tcp([::1]:3)/?connectionAttributes=program_name%3Amysqlrw&interpolateParams=true&timeout=7s",
		"/run/m.sock": "u:p@unix(/run/m.sock)/?allowCleartextPasswords=true&connectionAttributes=program_name%3Amysqlrw&interpolateParams=true&timeout=7s",
		"mysql://db1/d%2Fb": "u:p@tcp(db1:3306)/d%2Fb?connectionAttributes=program_name%3Amysqlrw" +
			"&interpolateParams=true&timeout=7s",
		// What a DSN sets stays, but for what changes how rows look, and for
		// passwords in clear text.
		"v:q@tcp(db1:1)/d?timeout=1s&readTimeout=2s&interpolateParams=false&connectionAttributes=a:b&maxAllowedPacket=9" +
			"&parseTime=true&columnsWithAlias=true&allowCleartextPasswords=true&sql_mode=%27%27&allowNativePasswords=false": "v:q@tcp(db1:1)/d?allowNativePasswords=false" +
			"&connectionAttributes=a%3Ab%2Cprogram_name%3Amysqlrw&readTimeout=2s&timeout=1s&maxAllowedPacket=9&sql_mode=%27%27",
		"tcp(db1:1)/?connectionAttributes=program_name:x&collation=big5_chinese_ci": "u:p@tcp(db1:1)/?collation=big5_chinese_ci" +
			"&connectionAttributes=program_name%3Ax&timeout=7s",
		"tcp(db1:1)/?allowFallbackToPlaintext=true&tls=true": "u:p@tcp(db1:1)/?allowFallbackToPlaintext=true" +
			"&connectionAttributes=program_name%3Amysqlrw&interpolateParams=true&timeout=7s",
	} {
		cfg := configOf(t, arg, s)
		if got := cfg.FormatDSN(); got != want {
			t.Errorf("%s:\ngot  %s\nwant %s", arg, got, want)
		}
		if _, silent := cfg.Logger.(*mysql.NopLogger); !silent {
			t.Errorf("%s: got logger %T", arg, cfg.Logger)
		}
		if _, err := mysql.NewConnector(cfg); err != nil {
			t.Errorf("%s: %v", arg, err)
		}
	}
	var none target.Target
	if _, err := none.Config(); err == nil {
		t.Error("the zero target: got no error")
	}
	if _, err := none.Open(); err == nil {
		t.Error("open the zero target: got no error")
	}
}

func TestTarget_Config_copies(t *testing.T) {
	t.Parallel()
	tgt, err := target.Parse("u:p@tcp(db1)/?tls=true&a=b", target.Settings{})
	if err != nil {
		t.Fatal(err)
	}
	first, err := tgt.Config()
	if err != nil {
		t.Fatal(err)
	}
	first.TLS.ServerName, first.Params["a"], first.Passwd = "other", "c", "q"
	second, err := tgt.Config()
	if err != nil {
		t.Fatal(err)
	}
	if second.TLS.ServerName != "db1" || second.Params["a"] != "b" || second.Passwd != "p" {
		t.Errorf("a change reached the next Config: %s, %s", second.TLS.ServerName, second.FormatDSN())
	}
}

// certificates writes a CA and a key pair signed by it.
func certificates(t *testing.T) (ca, cert, key string) {
	t.Helper()
	dir := t.TempDir()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	write := func(name, kind string, data []byte) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, pem.EncodeToMemory(&pem.Block{Type: kind, Bytes: data}), 0o600); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ca = write("ca.pem", "CERTIFICATE", der)
	return ca, ca, write("key.pem", "PRIVATE KEY", keyDER)
}

func TestTarget_Config_TLS(t *testing.T) {
	t.Parallel()
	ca, cert, key := certificates(t)
	type want struct{ tls, fallback, cleartext, skip, verifies, roots bool }
	tests := []struct {
		name string
		arg  string
		s    target.Settings
		want want
	}{
		{"unset", "db1", target.Settings{}, want{tls: true, fallback: true, skip: true}},
		{"preferred", "db1", target.Settings{SSLMode: target.SSLPreferred, SSLCA: ca}, want{tls: true, fallback: true, skip: true}},
		{"disabled", "db1", target.Settings{SSLMode: target.SSLDisabled, SSLCA: ca}, want{}},
		{"required", "db1", target.Settings{SSLMode: target.SSLRequired, SSLCA: ca}, want{tls: true, cleartext: true, skip: true}},
		{"unset with a CA", "db1", target.Settings{SSLCA: ca}, want{tls: true, cleartext: true, skip: true, verifies: true, roots: true}},
		{"verify CA of the system", "db1", target.Settings{SSLMode: target.SSLVerifyCA}, want{tls: true, cleartext: true, skip: true, verifies: true}},
		{"verify CA of a folder", "db1", target.Settings{SSLCAPath: filepath.Dir(ca)}, want{tls: true, cleartext: true, skip: true, verifies: true, roots: true}},
		{"verify identity", "db1", target.Settings{SSLMode: target.SSLVerifyIdentity, SSLCA: ca}, want{tls: true, cleartext: true, roots: true}},
		{"socket, unset", "/s", target.Settings{}, want{cleartext: true}},
		{"socket, preferred", "/s", target.Settings{SSLMode: target.SSLPreferred}, want{cleartext: true}},
		{"socket, required", "/s", target.Settings{SSLMode: target.SSLRequired}, want{tls: true, cleartext: true, skip: true}},
		{"DSN, settings' mode", "tcp(db1)/", target.Settings{SSLMode: target.SSLRequired}, want{tls: true, cleartext: true, skip: true}},
		{"DSN, own mode", "tcp(db1)/?tls=false", target.Settings{SSLMode: target.SSLRequired}, want{}},
		{"DSN, verified", "tcp(db1)/?tls=true", target.Settings{SSLCA: ca}, want{tls: true, cleartext: true, roots: true}},
		{"DSN, fallback", "tcp(db1)/?tls=true&allowFallbackToPlaintext=1", target.Settings{}, want{tls: true, fallback: true}},
		{"URL", "mysql://db1/?ssl-mode=verify-ca", target.Settings{SSLCA: ca}, want{tls: true, cleartext: true, skip: true, verifies: true, roots: true}},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			t.Parallel()
			tt.s.SSLCert, tt.s.SSLKey = cert, key
			cfg := configOf(t, tt.arg, tt.s)
			got := want{tls: cfg.TLS != nil, fallback: cfg.AllowFallbackToPlaintext, cleartext: cfg.AllowCleartextPasswords}
			if c := cfg.TLS; c != nil {
				got.skip, got.verifies, got.roots = c.InsecureSkipVerify, c.VerifyConnection != nil, c.RootCAs != nil
				if len(c.Certificates) != 1 {
					t.Errorf("got %d own certificates, want 1", len(c.Certificates))
				}
			}
			if got != tt.want {
				t.Errorf("got %+v, want %+v", got, tt.want)
			}
		})
	}
	for arg, name := range map[string]string{"db1:1": "db1", "/s": "localhost", "[fe80::1%eth0]": "fe80::1"} {
		cfg := configOf(t, arg, target.Settings{SSLMode: target.SSLVerifyIdentity})
		if cfg.TLS.ServerName != name || cfg.TLS.InsecureSkipVerify {
			t.Errorf("%s: got server name %s, want %s", arg, cfg.TLS.ServerName, name)
		}
	}
}

func TestTarget_Config_TLSFiles(t *testing.T) {
	t.Parallel()
	ca, cert, key := certificates(t)
	empty := t.TempDir()
	none := filepath.Join(empty, "none")
	tests := []struct {
		s    target.Settings
		want string
	}{
		{target.Settings{SSLCA: none}, "read ssl-ca: open " + none},
		{target.Settings{SSLCA: key}, "read ssl-ca " + key + ": no certificate"},
		{target.Settings{SSLCAPath: none}, "read ssl-capath: open " + none},
		{target.Settings{SSLCAPath: empty}, "no certificate"},
		{target.Settings{SSLCert: cert}, "needed together"},
		{target.Settings{SSLKey: key}, "needed together"},
		{target.Settings{SSLCert: key, SSLKey: ca}, "read ssl-cert " + key},
		{target.Settings{SSLCert: cert, SSLKey: none}, none},
	}
	for _, tt := range tests {
		tgt, err := target.Parse("db1", tt.s)
		if err != nil {
			t.Fatal(err)
		}
		_, err = tgt.Open()
		if err == nil || !strings.HasPrefix(err.Error(), "configure TLS of db1:3306: ") || !strings.Contains(err.Error(), tt.want) {
			t.Errorf("%+v: got %v, want an error with %q", tt.s, err, tt.want)
		}
		if strings.HasSuffix(tt.want, none) && !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%+v: got %v, want fs.ErrNotExist in its chain", tt.s, err)
		}
	}
	// The files matter only where they are used.
	configOf(t, "db1", target.Settings{SSLMode: target.SSLDisabled, SSLCA: none, SSLCert: none})
	configOf(t, "db1", target.Settings{SSLMode: target.SSLRequired, SSLCA: none})
}

// TestTarget_Open_hangingServer: a server that takes the connection and says
// nothing, as one that is stopped does, costs ConnectTimeout and no more.
func TestTarget_Open_hangingServer(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	tgt, err := target.Parse(l.Addr().String(), target.Settings{ConnectTimeout: 50 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	db, err := tgt.Open()
	if err != nil {
		t.Fatal(err)
	}
	defer db.Close()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	err = db.PingContext(ctx)
	if got, want := target.Explain(err).String(), "timed out"; got != want || ctx.Err() != nil {
		t.Errorf("got %s (%v), want %s before the context ends", got, err, want)
	}
}
