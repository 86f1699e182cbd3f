package config

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"io/fs"
	"math/big"
	"testing"
	"time"
)

// pair makes a certificate and its key.
func pair(t *testing.T) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "x"}, NotAfter: time.Now().Add(time.Hour),
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}),
		pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
}

func TestParse_certificates(t *testing.T) {
	t.Parallel()
	files := map[string][]byte{"text": []byte("not PEM")}
	files["cert"], files["key"] = pair(t)
	_, files["other"] = pair(t)
	for _, test := range []struct{ lines, want string }{
		{"ssl-cert = 'cert'\nssl-key = 'key'\nssl-ca = 'cert'\nssl-mode = 'verify-ca'\n", ""},
		{"ssl-cert = 'cert'\nssl-key = 'other'\n", "f:15:11: ssl-key: tls: private key does not match public key"},
		{"ssl-cert = 'none'\nssl-key = 'key'\n", "f:14:12: ssl-cert: open none: file does not exist"},
		{"ssl-cert = 'cert'\nssl-key = 'none'\n", "f:15:11: ssl-key: open none: file does not exist"},
		{"ssl-ca = 'key'\n", "f:14:10: ssl-ca: key: there is no certificate in PEM format in it"},
		{"ssl-ca = 'text'\n", "f:14:10: ssl-ca: text: there is no certificate in PEM format in it"},
	} {
		text := least + "[[server]]\naddress = 'x'\n" + test.lines
		_, _, err := Parse("f", []byte(text), Options{Getenv: testEnv, ReadFile: reader(files)})
		if got := errText(err); got != test.want {
			t.Errorf("%sgot %q, want %q", test.lines, got, test.want)
		}
	}
}

// reader reads from a map.
func reader(files map[string][]byte) func(string) ([]byte, error) {
	return func(path string) ([]byte, error) {
		if data, ok := files[path]; ok {
			return data, nil
		}
		return nil, &fs.PathError{Op: "open", Path: path, Err: fs.ErrNotExist}
	}
}

func errText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
