package config

import (
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"net"
	"strings"
)

// certificates are what the files of the ssl- keys had in them when the configuration was loaded.
// The sums tell whether they have something else now: to print them gives nothing away.
type certificates struct {
	ca, cert [sha256.Size]byte
	roots    *x509.CertPool
	pair     *tls.Certificate
}

// own returns the certificate of this side, in the form that tls.Config has it.
func (c *certificates) own() []tls.Certificate {
	if c.pair == nil {
		return nil
	}
	return []tls.Certificate{*c.pair}
}

// TLS returns how a connection to the server is encrypted and what is asked of its certificate, a
// new value each time; nil if it is not encrypted. Whether it may do without is for SSLMode alone.
// The certificates are those that were there at the time of Load; without Load there are none.
func (s *Server) TLS() *tls.Config {
	if s.SSLMode == Disabled {
		return nil
	}
	c := &tls.Config{Certificates: s.loaded.own(), RootCAs: s.loaded.roots}
	switch s.SSLMode {
	case VerifyIdentity:
		host, _, err := net.SplitHostPort(s.Address)
		if err != nil { // a socket
			host = "localhost"
		}
		c.ServerName, _, _ = strings.Cut(host, "%") // without the zone
	case VerifyCA:
		c.InsecureSkipVerify, c.VerifyConnection = true, verifyChain(s.loaded.roots)
	default:
		c.InsecureSkipVerify = true // as asked for
	}
	return c
}

// SameTLS tells whether TLS returns equal values for both.
func (s *Server) SameTLS(as *Server) bool {
	return s.SSLMode == as.SSLMode && s.Address == as.Address && s.loaded.ca == as.loaded.ca && s.loaded.cert == as.loaded.cert
}

// TLS returns what the listener offers to clients, a new value each time; nil if that is nothing.
// made is the certificate of a listener whose file names none.
func (l *Listener) TLS(made *tls.Certificate) *tls.Config {
	if l.SSLMode == Disabled {
		return nil
	}
	c := &tls.Config{Certificates: l.loaded.own()}
	if c.Certificates == nil {
		c.Certificates = []tls.Certificate{*made}
	}
	if l.SSLMode == VerifyCA {
		c.ClientAuth, c.ClientCAs = tls.RequireAndVerifyClientCert, l.loaded.roots
	}
	return c
}

// verifyChain checks that a certificate is signed by one of the roots. Its name is not looked at.
func verifyChain(roots *x509.CertPool) func(tls.ConnectionState) error {
	return func(state tls.ConnectionState) error {
		between := x509.NewCertPool()
		for _, c := range state.PeerCertificates[1:] { // a server always has one
			between.AddCert(c)
		}
		_, err := state.PeerCertificates[0].Verify(x509.VerifyOptions{Roots: roots, Intermediates: between})
		if err != nil {
			return &tls.CertificateVerificationError{UnverifiedCertificates: state.PeerCertificates, Err: err}
		}
		return nil
	}
}

// certificates checks that TLS can be set up with what is named, and keeps it.
func (c *checker) certificates(table string, mode SSLMode, ca, cert, key string, into *certificates) {
	if (mode == VerifyCA || mode == VerifyIdentity) && ca == "" && !c.has(join(table, "ssl-ca")) {
		c.errorAt(c.keyOf(join(table, "ssl-mode")), "ssl-mode: %s needs ssl-ca, a file of certificates to trust", mode)
	}
	if (cert == "") != (key == "") {
		have, lack := word(cert == "", "ssl-key", "ssl-cert"), word(cert == "", "ssl-cert", "ssl-key")
		c.errorAt(c.keyOf(join(table, have)), "%s needs %s beside it", have, lack)
		return
	}
	if c.options.ReadFile == nil {
		return
	}
	if ca != "" {
		pem, err := c.options.ReadFile(ca)
		into.ca, into.roots = sha256.Sum256(pem), x509.NewCertPool()
		if err == nil && !into.roots.AppendCertsFromPEM(pem) {
			err = errors.New(ca + ": there is no certificate in PEM format in it")
		}
		if err != nil {
			c.errorAt(c.valueOf(join(table, "ssl-ca")), "ssl-ca: %s", err)
		}
	}
	if cert == "" {
		return
	}
	certPEM, err := c.options.ReadFile(cert)
	if err != nil {
		c.errorAt(c.valueOf(join(table, "ssl-cert")), "ssl-cert: %s", err)
		return
	}
	keyPEM, err := c.options.ReadFile(key)
	if err == nil {
		var pair tls.Certificate
		pair, err = tls.X509KeyPair(certPEM, keyPEM)
		into.cert, into.pair = sha256.Sum256(append(certPEM, keyPEM...)), &pair
	}
	if err != nil {
		c.errorAt(c.valueOf(join(table, "ssl-key")), "ssl-key: %s", err)
	}
}
