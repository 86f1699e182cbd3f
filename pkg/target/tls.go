package target

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/go-sql-driver/mysql"
)

var (
	errKeyPair = errors.New("ssl-cert and ssl-key are needed together")
	errNoCert  = errors.New("no certificate in PEM form")
)

// mode is what SSLMode means for this server. On a socket, where nobody
// listens in, PREFERRED means plain text, as with the client.
func (s *server) mode() SSLMode {
	m := s.settings.SSLMode
	if m == SSLUnset {
		m = SSLPreferred
		if s.settings.SSLCA != "" || s.settings.SSLCAPath != "" {
			m = SSLVerifyCA
		}
	}
	if m == SSLPreferred && s.network == "unix" {
		m = SSLDisabled
	}
	return m
}

// encrypt puts the TLS settings into cfg.
func (s *server) encrypt(cfg *mysql.Config) error {
	mode := s.mode()
	cfg.TLS, cfg.TLSConfig = nil, ""
	fallback := s.named["allowFallbackToPlaintext"] && cfg.AllowFallbackToPlaintext
	cfg.AllowFallbackToPlaintext = mode == SSLPreferred || fallback
	mandatory := mode > SSLPreferred && !cfg.AllowFallbackToPlaintext
	cfg.AllowCleartextPasswords = mandatory || s.network == "unix"
	if mode == SSLDisabled {
		return nil
	}
	conf := &tls.Config{InsecureSkipVerify: true} // as asked for; stronger modes change it
	if s.settings.SSLCert != "" || s.settings.SSLKey != "" {
		pair, err := s.keyPair()
		if err != nil {
			return err
		}
		conf.Certificates = []tls.Certificate{pair}
	}
	if mode >= SSLVerifyCA {
		roots, err := s.roots()
		if err != nil {
			return err
		}
		conf.RootCAs = roots
	}
	switch mode {
	case SSLVerifyCA:
		conf.VerifyConnection = verifyChain(conf.RootCAs)
	case SSLVerifyIdentity:
		conf.InsecureSkipVerify = false
		conf.ServerName, _, _ = strings.Cut(s.host, "%") // without the zone
	}
	cfg.TLS = conf
	return nil
}

// verifyChain checks that a certificate is signed by one of the roots, and no
// more: the host name is none of its business.
func verifyChain(roots *x509.CertPool) func(tls.ConnectionState) error {
	return func(state tls.ConnectionState) error {
		if len(state.PeerCertificates) == 0 {
			return errNoCert
		}
		intermediates := x509.NewCertPool()
		for _, cert := range state.PeerCertificates[1:] {
			intermediates.AddCert(cert)
		}
		options := x509.VerifyOptions{Roots: roots, Intermediates: intermediates}
		_, err := state.PeerCertificates[0].Verify(options)
		if err != nil {
			return &tls.CertificateVerificationError{
				UnverifiedCertificates: state.PeerCertificates, Err: err,
			}
		}
		return nil
	}
}

// keyPair reads the own certificate.
func (s *server) keyPair() (tls.Certificate, error) {
	if s.settings.SSLCert == "" || s.settings.SSLKey == "" {
		return tls.Certificate{}, errKeyPair
	}
	pair, err := tls.LoadX509KeyPair(s.settings.SSLCert, s.settings.SSLKey)
	if err != nil {
		return pair, fmt.Errorf("read ssl-cert %s and ssl-key: %w", s.settings.SSLCert, err)
	}
	return pair, nil
}

// roots reads the trusted CAs; nil stands for those of the system.
func (s *server) roots() (*x509.CertPool, error) {
	if s.settings.SSLCA == "" && s.settings.SSLCAPath == "" {
		return nil, nil
	}
	pool := x509.NewCertPool()
	if file := s.settings.SSLCA; file != "" {
		pem, err := os.ReadFile(file)
		if err != nil {
			return nil, fmt.Errorf("read ssl-ca: %w", err)
		}
		if !pool.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("read ssl-ca %s: %w", file, errNoCert)
		}
	}
	if dir := s.settings.SSLCAPath; dir != "" {
		if err := addDirectory(pool, dir); err != nil {
			return nil, fmt.Errorf("read ssl-capath: %w", err)
		}
	}
	return pool, nil
}

// addDirectory adds the certificates of all files in dir. Files of other
// kinds may lie there, but one must be of this kind.
func addDirectory(pool *x509.CertPool, dir string) error {
	entries, err := os.ReadDir(dir)
	if err != nil {
		return err
	}
	found := false
	for _, e := range entries {
		pem, err := os.ReadFile(filepath.Join(dir, e.Name()))
		found = err == nil && pool.AppendCertsFromPEM(pem) || found
	}
	if !found {
		return fmt.Errorf("%s: %w", dir, errNoCert)
	}
	return nil
}
