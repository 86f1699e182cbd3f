package backend_test

import (
	"bytes"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"math/big"
	"strings"
	"testing"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/backend"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// certificate makes one that signs itself, for a host.
func certificate(t *testing.T, host string) (tls.Certificate, *x509.CertPool) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	leaf := &x509.Certificate{
		SerialNumber: big.NewInt(1), DNSNames: []string{host}, IsCA: true, BasicConstraintsValid: true,
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, leaf, leaf, &key.PublicKey, key)
	if err != nil {
		t.Fatal(err)
	}
	parsed, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	pool := x509.NewCertPool()
	pool.AddCert(parsed)
	return tls.Certificate{Certificate: [][]byte{der}, PrivateKey: key}, pool
}

// TestTLS: who is let in by which certificate, and that the password goes inside only.
func TestTLS(t *testing.T) {
	cert, pool := certificate(t, "db.example")
	var verification *tls.CertificateVerificationError
	for _, tt := range []struct {
		name   string
		mode   backend.TLSMode
		config *tls.Config
		works  bool
	}{
		{"preferred", backend.TLSPreferred, nil, true},
		{"required", backend.TLSRequired, nil, true},
		{"verified", backend.TLSRequired, &tls.Config{RootCAs: pool}, true},
		{"verified by name", backend.TLSRequired, &tls.Config{RootCAs: pool, ServerName: "db.example"}, true},
		{"other name", backend.TLSRequired, &tls.Config{RootCAs: pool, ServerName: "other.example"}, false},
		{"unknown CA", backend.TLSPreferred, &tls.Config{RootCAs: x509.NewCertPool()}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := against(t, 0, func(p *peer) {
				p.write(greeting(wire.SHA2Plugin, func(g *wire.Greeting) { g.Capabilities |= wire.SSL }))
				if b := p.read(); !wire.IsSSLRequest(b) {
					t.Errorf("client sends %q before TLS", b)
				}
				p.Conn = tls.Server(p.Conn, &tls.Config{Certificates: []tls.Certificate{cert}})
				p.read()
				p.write([]byte{1, wire.SHA2FullAuth})
				if got := p.read(); tt.works && !bytes.Equal(got, []byte("secret\x00")) {
					t.Errorf("client answers %q", got)
				}
				p.write((&wire.AuthSwitch{Plugin: wire.ClearPlugin}).Append(nil))
				if got := p.read(); tt.works && !bytes.Equal(got, []byte("secret\x00")) {
					t.Errorf("client answers %q", got)
				}
				p.write(okay(0))
				p.drain()
			})
			o.TLSMode, o.TLS = tt.mode, tt.config
			c, err := backend.Dial(t.Context(), o)
			if (err == nil) != tt.works || err != nil && !errors.As(err, &verification) {
				t.Fatalf("got %v", err)
			}
			if err != nil {
				checkDial(t, err, err)
				if hint := asError(t, err).Hint; !strings.Contains(hint, "CA") {
					t.Errorf("hint %q", hint)
				}
				return
			}
			if !c.Secure() || !c.Capabilities().Has(wire.SSL) {
				t.Error("connection is not encrypted")
			}
			_ = c.Close()
		})
	}
	o := against(t, 0, func(p *peer) {
		p.write(greeting(wire.SHA2Plugin, func(g *wire.Greeting) { g.Capabilities |= wire.SSL }))
		p.read()
		_, _ = p.Read(make([]byte, 4096)) // its part of the handshake, in one write
		_, _ = p.Write([]byte("no TL"))   // as long as the head of a record
		p.drain()
	})
	_, err := backend.Dial(t.Context(), o)
	if err == nil {
		t.Fatal("connected")
	}
	checkDial(t, err, err)
}
