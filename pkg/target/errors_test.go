package target_test

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/go-sql-driver/mysql"

	"github.com/mysqlrw/mysqlrw/pkg/target"
)

func TestExplain(t *testing.T) {
	t.Parallel()
	op := func(network string, err error) error {
		return &net.OpError{Op: "dial", Net: network, Err: os.NewSyscallError("connect", err)}
	}
	server := func(n uint16) error { return &mysql.MySQLError{Number: n, Message: "text of the server"} }
	tests := []struct {
		err  error
		kind target.Kind
		text string
	}{
		{server(1045), target.AccessDenied, "access denied (1045)"},
		{server(1698), target.AccessDenied, "access denied (1698)"},
		{server(1130), target.AccessDenied, "access denied (1130)"},
		{server(3118), target.AccessDenied, "access denied (3118)"},
		{server(1044), target.NoPrivilege, "no privilege (1044)"},
		{server(1142), target.NoPrivilege, "no privilege (1142)"},
		{server(1227), target.NoPrivilege, "no privilege (1227)"},
		{server(1040), target.Busy, "too many connections (1040)"},
		{server(1317), target.Killed, "killed (1317)"},
		{server(1927), target.Killed, "killed (1927)"},
		{server(1969), target.Timeout, "timed out (1969)"},
		{server(3024), target.Timeout, "timed out (3024)"},
		{server(1053), target.Gone, "server has gone away (1053)"},
		{server(1524), target.AuthUnsupported, "authentication method not supported: text of the server (1524)"},
		{server(3159), target.TLSFailed, "TLS failed: text of the server (3159)"},
		{server(1064), target.Unclassified, "read status: Error 1064: text of the server"},

		{context.Canceled, target.Canceled, "canceled"},
		{context.DeadlineExceeded, target.Timeout, "timed out"},
		{os.ErrDeadlineExceeded, target.Timeout, "timed out"},
		{op("tcp", syscall.ETIMEDOUT), target.Timeout, "timed out"},
		{&net.DNSError{Err: "no such host", Name: "db1", IsNotFound: true}, target.UnknownHost, "unknown host"},
		{&net.DNSError{Err: "server misbehaving", Name: "db1", IsTemporary: true}, target.UnknownHost, "unknown host"},
		{&net.DNSError{Err: "i/o timeout", Name: "db1", IsTimeout: true}, target.Timeout, "timed out"},
		{op("tcp", syscall.ECONNREFUSED), target.Refused, "connection refused"},
		{op("unix", syscall.ECONNREFUSED), target.Refused, "connection refused"},
		{op("unix", syscall.ENOENT), target.NoSocket, "cannot use the socket: no such file or directory"},
		{op("unix", syscall.EACCES), target.NoSocket, "cannot use the socket: permission denied"},
		{op("tcp", syscall.EHOSTUNREACH), target.Unreachable, "host unreachable"},
		{op("tcp", syscall.ENETUNREACH), target.Unreachable, "host unreachable"},
		{driver.ErrBadConn, target.Gone, "server has gone away"},
		{mysql.ErrInvalidConn, target.Gone, "server has gone away"},
		{io.EOF, target.Gone, "server has gone away"},
		{io.ErrUnexpectedEOF, target.Gone, "server has gone away"},
		{op("tcp", syscall.ECONNRESET), target.Gone, "server has gone away"},
		{syscall.EPIPE, target.Gone, "server has gone away"},

		{mysql.ErrNoTLS, target.TLSFailed, "TLS failed: TLS requested but server does not support TLS"},
		{&tls.CertificateVerificationError{Err: x509.UnknownAuthorityError{}}, target.TLSFailed, "TLS failed: x509: certificate signed by unknown authority"},
		{x509.HostnameError{Certificate: &x509.Certificate{DNSNames: []string{"a"}}, Host: "b"}, target.TLSFailed, "TLS failed: x509: certificate is valid for a, not b"},
		{tls.RecordHeaderError{Msg: "first record does not look like a TLS handshake"}, target.TLSFailed, "TLS failed: tls: first record does not look like a TLS handshake"},
		{&net.OpError{Op: "remote error", Err: tls.AlertError(48)}, target.TLSFailed, "TLS failed: tls: unknown certificate authority"},

		{mysql.ErrCleartextPassword, target.AuthUnsupported, "authentication method not supported: it sends the password in clear text, which needs --ssl-mode=REQUIRED or stronger"},
		{mysql.ErrOldPassword, target.AuthUnsupported, "authentication method not supported: password hashes from before MySQL 4.1"},
		{mysql.ErrUnknownPlugin, target.AuthUnsupported, "authentication method not supported: this authentication plugin is not supported"},
		{errors.New("access denied"), target.Unclassified, "read status: access denied"},
	}
	for _, tt := range tests {
		got := target.Explain(fmt.Errorf("read status: %w", tt.err))
		if got.Kind != tt.kind || got.String() != tt.text {
			t.Errorf("%v: got %d, %q, want %d, %q", tt.err, got.Kind, got, tt.kind, tt.text)
		}
		var number *mysql.MySQLError
		if errors.As(tt.err, &number) && (got.Errno != number.Number || got.Detail == "") {
			t.Errorf("%v: got number %d, detail %q", tt.err, got.Errno, got.Detail)
		}
	}
	if got := target.Explain(nil); got != (target.Problem{}) {
		t.Errorf("nil: got %+v", got)
	}
	if got := (target.Problem{Kind: target.Killed}).String(); got != "killed" {
		t.Errorf("got %q", got)
	}
}

// TestExplain_dial classifies what the operating system says to Open.
func TestExplain_dial(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	file := filepath.Join(dir, "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	closed := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	for arg, want := range map[string]target.Kind{
		closed:                         target.Refused,
		filepath.Join(dir, "none"):     target.NoSocket,
		filepath.Join(file, "x"):       target.NoSocket,
		"/" + strings.Repeat("x", 200): target.NoSocket, // longer than a socket's path can be
		file:                           target.Refused,  // as Linux and macOS say of a file that is no socket
	} {
		tgt, err := target.Parse(arg, target.Settings{})
		if err != nil {
			t.Fatal(err)
		}
		db, err := tgt.Open()
		if err != nil {
			t.Fatal(err)
		}
		err = db.Ping()
		if got := target.Explain(err); got.Kind != want {
			t.Errorf("%s: got %q (%v), want %q", arg, got, err, want)
		}
		if err := db.Close(); err != nil {
			t.Error(err)
		}
	}
}
