package frontend_test

import (
	"bytes"
	"crypto/x509"
	"encoding/json"
	"fmt"
	"log/slog"
	"strings"
	"testing"

	"github.com/mysqlrw/mysqlrw/pkg/frontend"
)

// TestPassword: no way to print a login shows its password.
func TestPassword(t *testing.T) {
	l := frontend.Login{User: "app", Password: "secret", Full: true}
	var log bytes.Buffer
	slog.New(slog.NewTextHandler(&log, nil)).Info("x", "login", l, "password", l.Password)
	slog.New(slog.NewJSONHandler(&log, nil)).Info("x", "login", l, "password", l.Password)
	encoded, err := json.Marshal(l)
	if err != nil {
		t.Fatal(err)
	}
	all := log.String() + string(encoded) + fmt.Sprint(l, l.Password, &l)
	for _, verb := range []string{"%v", "%+v", "%#v", "%s", "%q", "%x", "%X", "%d"} {
		all += fmt.Sprintf(verb+verb, l, l.Password)
	}
	if strings.Contains(all, "secret") || strings.Contains(strings.ToLower(all), fmt.Sprintf("%x", "secret")) {
		t.Error(all)
	}
	if s := fmt.Sprint(l.Password, frontend.Password("")); s != "***" && s != "*** " {
		t.Errorf("prints as %q", s)
	}
}

// TestSelfSigned: a certificate without an end, of another number each time, that signs itself.
func TestSelfSigned(t *testing.T) {
	cert := certificate(t)
	leaf, err := x509.ParseCertificate(cert.Certificate[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := leaf.CheckSignature(leaf.SignatureAlgorithm, leaf.RawTBSCertificate, leaf.Signature); err != nil {
		t.Error(err)
	}
	if leaf.NotAfter.Year() != 9999 || leaf.Subject.CommonName == "" || leaf.IsCA || leaf.PublicKeyAlgorithm != x509.RSA {
		t.Errorf("%v until %v", leaf.Subject, leaf.NotAfter)
	}
}
