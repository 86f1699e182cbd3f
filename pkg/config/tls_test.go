package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"strings"
	"testing"
	"time"
)

// authority signs certificates.
type authority struct {
	cert *x509.Certificate
	key  *ecdsa.PrivateKey
	pem  []byte
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "authority"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return &authority{cert, key, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})}
}

// sign makes a certificate for a host, and its key.
func (a *authority) sign(t *testing.T, host string) (cert, key []byte) {
	t.Helper()
	own, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(2), Subject: pkix.Name{CommonName: host}, NotAfter: time.Now().Add(time.Hour), DNSNames: []string{host},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, &own.PublicKey, a.key)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(own)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}

// shake lets both sides greet each other, and returns what the client says about it.
func shake(t *testing.T, client, server *tls.Config) error {
	t.Helper()
	l, err := tls.Listen("tcp", "127.0.0.1:0", server)
	if err != nil {
		t.Fatal(err)
	}
	done := make(chan struct{})
	go func() {
		defer close(done)
		if c, err := l.Accept(); err == nil {
			_, _ = c.Write([]byte("x")) // an error if the client or this side refuses
			_ = c.Close()
		}
	}()
	defer func() {
		_ = l.Close()
		<-done
	}()
	c, err := tls.Dial("tcp", l.Addr().String(), client)
	if err != nil {
		return err
	}
	defer c.Close()
	_, err = io.ReadFull(c, make([]byte, 1)) // where a certificate of the client is refused, in TLS 1.3
	return err
}

func TestServer_TLS(t *testing.T) {
	t.Parallel()
	ours, other := newAuthority(t), newAuthority(t)
	files := map[string][]byte{"ours": ours.pem, "other": other.pem}
	files["cert"], files["key"] = ours.sign(t, "db1")
	server := func(lines string) *Server {
		text := strings.Replace(least, `address = "10.0.0.1"`, "address = 'db1'\n"+lines, 1)
		c, _, err := Parse("f", []byte(text), Options{Getenv: testEnv, ReadFile: reader(files)})
		if err != nil {
			t.Fatal(err)
		}
		return &c.Servers[0]
	}
	known := func(host string) *tls.Config { return serverSide(t, ours, host) }
	for _, test := range []struct {
		lines, host string
		want        string // in the client's error
	}{
		{"", "elsewhere", ""},
		{"ssl-mode = 'required'", "elsewhere", ""},
		{"ssl-mode = 'as-client'", "elsewhere", ""},
		{"ssl-mode = 'verify-ca'\nssl-ca = 'ours'", "elsewhere", ""},
		{"ssl-mode = 'verify-ca'\nssl-ca = 'other'", "db1", "unknown authority"},
		{"ssl-mode = 'verify-identity'\nssl-ca = 'ours'", "db1", ""},
		{"ssl-mode = 'verify-identity'\nssl-ca = 'ours'", "elsewhere", "not db1"},
		{"ssl-mode = 'verify-identity'\nssl-ca = 'other'", "db1", "unknown authority"},
	} {
		err := shake(t, server(test.lines).TLS(), known(test.host))
		if got := errText(err); (got == "") != (test.want == "") || !strings.Contains(got, test.want) {
			t.Errorf("%s, certificate of %s: got %q, want %q", test.lines, test.host, got, test.want)
		}
	}
	if c := server("ssl-mode = 'disabled'").TLS(); c != nil {
		t.Errorf("disabled: got %v", c)
	}
	if c := server("ssl-cert = 'cert'\nssl-key = 'key'").TLS(); len(c.Certificates) != 1 {
		t.Errorf("own certificate: got %d of them", len(c.Certificates))
	}
	if text := fmt.Sprintf("%v %+v %#v", *server("ssl-cert = 'cert'\nssl-key = 'key'"), server("").loaded, certificates{}); strings.Contains(text, "PRIVATE") {
		t.Errorf("a key is printed: %s", text)
	}
}

// serverSide is a server with a certificate that the authority signed for a host.
func serverSide(t *testing.T, a *authority, host string) *tls.Config {
	t.Helper()
	cert, key := a.sign(t, host)
	pair, err := tls.X509KeyPair(cert, key)
	if err != nil {
		t.Fatal(err)
	}
	return &tls.Config{Certificates: []tls.Certificate{pair}}
}

func TestListener_TLS(t *testing.T) {
	t.Parallel()
	ours, other := newAuthority(t), newAuthority(t)
	files := map[string][]byte{"ours": ours.pem}
	files["cert"], files["key"] = ours.sign(t, "proxy")
	made := serverSide(t, other, "made").Certificates[0]
	listener := func(lines string) *tls.Config {
		text := strings.Replace(least, `address = ":6446"`, "address = ':1'\n"+lines, 1)
		c, _, err := Parse("f", []byte(text), Options{Getenv: testEnv, ReadFile: reader(files)})
		if err != nil {
			t.Fatal(err)
		}
		return c.Listeners[0].TLS(&made)
	}
	own := serverSide(t, ours, "client").Certificates
	foreign := serverSide(t, other, "client").Certificates
	for _, test := range []struct {
		name, lines string
		certificate []tls.Certificate // of the client
		seen        string            // the server's certificate
		refused     bool
	}{
		{"none named", "", nil, "made", false},
		{"named", "ssl-cert = 'cert'\nssl-key = 'key'", nil, "proxy", false},
		{"verify-ca", "ssl-mode = 'verify-ca'\nssl-ca = 'ours'", own, "made", false},
		{"verify-ca, another's", "ssl-mode = 'verify-ca'\nssl-ca = 'ours'", foreign, "made", true},
		{"verify-ca, without", "ssl-mode = 'verify-ca'\nssl-ca = 'ours'", nil, "made", true},
	} {
		seen := ""
		err := shake(t, &tls.Config{InsecureSkipVerify: true, Certificates: test.certificate, VerifyConnection: func(s tls.ConnectionState) error {
			seen = s.PeerCertificates[0].Subject.CommonName
			return nil
		}}, listener(test.lines))
		if seen != test.seen || (err != nil) != test.refused {
			t.Errorf("%s: certificate of %q, want %q; error %v", test.name, seen, test.seen, err)
		}
	}
	if c := listener("ssl-mode = 'disabled'"); c != nil {
		t.Errorf("disabled: got %v", c)
	}
}

// TestReload_certificates: files that hold something else under the same name are a change, and TLS
// is another one then.
func TestReload_certificates(t *testing.T) {
	t.Parallel()
	a, b := newAuthority(t), newAuthority(t)
	load := func(from *authority, cert, key []byte) *Config {
		files := map[string][]byte{"ca": from.pem, "cert": cert, "key": key}
		tables := strings.Replace(least, `address = ":6446"`, "address = ':1'\nssl-cert = 'cert'\nssl-key = 'key'", 1)
		tables = strings.Replace(tables, `address = "10.0.0.1"`, "address = 'db1'\nssl-mode = 'verify-ca'\nssl-ca = 'ca'", 1)
		c, _, err := Parse("f", []byte(tables), Options{Getenv: testEnv, ReadFile: reader(files)})
		if err != nil {
			t.Fatal(err)
		}
		return c
	}
	cert, key := a.sign(t, "x")
	before, same := load(a, cert, key), load(a, cert, key)
	if d := Diff(before, same); len(d) > 0 || !before.Servers[0].SameTLS(&same.Servers[0]) {
		t.Errorf("the same files: got %v", d)
	}
	cert, key = a.sign(t, "x")
	after := load(b, cert, key)
	d := fmt.Sprint(Diff(before, after))
	if want := "[listener[:1].ssl-cert: as it was -> as it is now server[db1].ssl-ca: as it was -> as it is now]"; d != want {
		t.Errorf("other files: got %s", d)
	}
	if before.Servers[0].SameTLS(&after.Servers[0]) || !before.Servers[1].SameTLS(&after.Servers[1]) {
		t.Error("SameTLS does not tell which server has another certificate")
	}
}
