// Package stage answers: what stands between the client and the servers, and where is it reached?
package stage

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/flavor"
	"github.com/mysqlrw/mysqlrw/pkg/sandbox"
)

// The account that the loads log in as. It has rights on its own schema only, and lives as long as the cluster.
const (
	Account  = "rwbench"
	Database = "sbtest"
)

// Stage is a cluster with the proxies in front of it.
type Stage struct {
	Dir      string // of all files; removed by Close
	Cluster  *sandbox.Cluster
	Password string // of Account

	progress func(string)
	install  sandbox.InstallOptions
	mysqlrw  string // path of the program
	version  string // of the tree that it was built from; "" if it was not
	running  []interface{ Stop() error }
}

// Options say what the servers are.
type Options struct {
	Flavor   flavor.Flavor
	CacheDir string
	Replicas int             // as sandbox.Options
	Delays   []time.Duration // of the replicas, in whole seconds
	Progress func(string)
	MySQLRW  string // path of the program; "" builds it
}

// New starts a cluster with an empty schema and the account. The caller must Close what it returns.
func New(ctx context.Context, o Options) (_ *Stage, err error) {
	s := &Stage{progress: o.Progress, Password: rand.Text()}
	s.install = sandbox.InstallOptions{Flavor: o.Flavor, CacheDir: o.CacheDir, Progress: o.Progress}
	if s.Dir, err = os.MkdirTemp("", "rwbench-"); err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, s.Close())
		}
	}()
	if s.mysqlrw, err = s.build(ctx, o.MySQLRW); err != nil {
		return nil, err
	}
	if err := s.makeClientCert(); err != nil {
		return nil, err
	}
	args := []string{"--max-connections=2000", "--max-prepared-stmt-count=1048576", "--ssl-ca=" + s.clientCert()}
	s.Cluster, err = sandbox.Start(ctx, sandbox.Options{
		Flavor: o.Flavor, CacheDir: o.CacheDir, Progress: o.Progress, Replicas: o.Replicas, Delays: o.Delays, PrimaryArgs: args, ReplicaArgs: args,
	})
	if err != nil {
		return nil, err
	}
	ca, err := os.ReadFile(s.Cluster.CA)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(filepath.Join(s.TLSDir(), "cacert.pem"), ca, 0o600); err != nil {
		return nil, err
	}
	return s, s.Cluster.Primary().Exec(ctx, "CREATE DATABASE "+Database,
		"CREATE USER "+Account+"@'%' IDENTIFIED BY '"+s.Password+"'", "GRANT ALL ON "+Database+".* TO "+Account+"@'%'")
}

// Close ends everything that was started, the newest first.
func (s *Stage) Close() error {
	var all []error
	for len(s.running) > 0 {
		last := len(s.running) - 1
		all = append(all, s.running[last].Stop())
		s.running = s.running[:last]
	}
	if s.Cluster != nil {
		all = append(all, s.Cluster.Close())
	}
	return errors.Join(append(all, os.RemoveAll(s.Dir))...)
}

// Own has Close end something too.
func (s *Stage) Own(p interface{ Stop() error }) { s.running = append(s.running, p) }

// TLSDir is a folder as sysbench.Target wants it.
func (s *Stage) TLSDir() string { return filepath.Join(s.Dir, "tls") }

func (s *Stage) clientCert() string { return filepath.Join(s.TLSDir(), "client-cert.pem") }

// makeClientCert makes a certificate for sysbench, which does no TLS without one. The servers are told to believe
// it, since a certificate that they cannot check ends a connection.
func (s *Stage) makeClientCert() error {
	if err := os.Mkdir(s.TLSDir(), 0o700); err != nil {
		return err
	}
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return err
	}
	now := time.Now()
	cert := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "rwbench client"}, NotBefore: now.Add(-time.Hour), NotAfter: now.AddDate(1, 0, 0),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
	der, err := x509.CreateCertificate(rand.Reader, cert, cert, &key.PublicKey, key)
	if err != nil {
		return err
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		return err
	}
	keyText := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})
	if err := os.WriteFile(filepath.Join(s.TLSDir(), "client-key.pem"), keyText, 0o600); err != nil {
		return err
	}
	return os.WriteFile(s.clientCert(), pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600)
}

// Candidate is a place that clients connect to.
type Candidate struct {
	Name    string
	Host    string
	Port    int
	TLSPort int    // another port for TLS; 0 if there is none
	PID     int    // of the proxy; 0 if there is none
	PIDFile string // of a proxy of others': where its process id stands when it runs
	Version string // "" if it is not known
}

// Address is where a client connects, with TLS or without.
func (c *Candidate) Address(tls bool) (host string, port int) {
	if tls && c.TLSPort != 0 {
		return c.Host, c.TLSPort
	}
	return c.Host, c.Port
}

// HostPort is the same without TLS, in one.
func (c *Candidate) HostPort() string { return net.JoinHostPort(c.Host, strconv.Itoa(c.Port)) }

// Direct is the primary itself.
func (s *Stage) Direct() Candidate {
	p := s.Cluster.Primary()
	return Candidate{Name: "direct", Host: p.Host, Port: p.Port}
}

// Missing is the error of a proxy whose program is not here: no failure of the benchmark.
type Missing struct{ Name, Advice string }

// Error says what to do.
func (m *Missing) Error() string { return m.Name + " is not here: " + m.Advice }

// quote writes a TOML string.
func quote(s string) string {
	return `"` + strings.NewReplacer(`\`, `\\`, `"`, `\"`).Replace(s) + `"`
}

// firstWordAfter finds the version in what a program prints of itself.
func firstWordAfter(text, word string) string {
	_, rest, ok := strings.Cut(text, word)
	if fields := strings.Fields(rest); ok && len(fields) > 0 {
		return strings.Trim(fields[0], ",")
	}
	return ""
}

// freeError names a file that could not be written with what it was for.
func freeError(what string, err error) error { return fmt.Errorf("set up %s: %w", what, err) }
