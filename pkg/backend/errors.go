package backend

import (
	"context"
	"crypto/tls"
	"errors"
	"io"
	"os"

	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// Error is what every function of this package returns.
type Error struct {
	Op      string // what was tried, such as "connect to" or "read from"
	Address string // of Options
	Err     error
	Hint    string // what can be done about it; "" if there is nothing to say

	// Sent tells whether the server may have got, and run, what was to be sent. After false it can be
	// sent to another server. A failed Dial has sent nothing.
	Sent bool
}

func (e *Error) Error() string {
	text := e.Op + " " + e.Address + ": " + e.Err.Error()
	if e.Hint != "" {
		text += "; " + e.Hint
	}
	return text
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Causes that callers may want to tell apart. A server's refusal is a *wire.ServerError instead.
var (
	// ErrNotMySQL means that the other side speaks something else.
	ErrNotMySQL = errors.New("not a MySQL or MariaDB server")
	// ErrTooOld means that the server lacks what every server since MySQL 5.5 has.
	ErrTooOld = errors.New("server is too old")
	// ErrNoTLS means that TLS is required, and the server has none.
	ErrNoTLS = errors.New("server offers no TLS")
	// ErrPlugin means that the account has an authentication plugin that this package does not know.
	ErrPlugin = errors.New("unknown authentication plugin")
	// ErrInsecure means that the server asked for the password in the clear on an open connection.
	ErrInsecure = errors.New("server asks for the password in the clear, and the connection is not encrypted")
	// ErrClosed means that the connection was closed, or had failed before.
	ErrClosed = errors.New("connection is closed")
	// ErrTooLarge means that an answer is larger than what it is to be held in.
	ErrTooLarge = errors.New("answer is too large")
)

// hinted is an error with a hint, on its way to an Error.
type hinted struct {
	error
	hint string
}

func (h *hinted) Unwrap() error { return h.error }

// fail makes an Error of err. The hint is of err, or found for it.
func (c *Conn) fail(op string, sent bool, err error) *Error {
	e := &Error{Op: op, Address: c.address, Err: err, Sent: sent}
	var h *hinted
	var s *wire.ServerError
	var untrusted *tls.CertificateVerificationError
	switch {
	case errors.As(err, &h):
		e.Hint = h.hint
		if h == err {
			e.Err = h.error
		}
	case errors.As(err, &s):
		e.Hint = c.hint(s.Code)
	case errors.As(err, &untrusted):
		e.Hint = "check that the CA is the server's, and that the certificate is for the name of its address"
	}
	return e
}

// broken is fail for an error after which the connection cannot be used.
func (c *Conn) broken(op string, sent bool, err error) *Error {
	e := c.fail(op, sent, err)
	if c.err == nil {
		c.err = e
	}
	return e
}

// hint says what to do about a server's error in a login.
func (c *Conn) hint(code uint16) string {
	switch code {
	case 1040, 1203:
		return "the server has no connection left: use fewer, or raise max_connections or max_user_connections"
	case 1129:
		return "the server blocks this host after too many failed connections: restart it or empty its host cache"
	case 1130:
		return "no account may come from this host: create one, or look at the address it connects from"
	case 1045, 1698:
		if !c.secure {
			return "check user and password of the account; it may also require TLS"
		}
		return "check user and password of the account"
	case 1049:
		return "create the schema or name another one"
	case 1820, 1862:
		return "set a new password for the account, with ALTER USER"
	case 3118, 4151:
		return "the account is locked: ALTER USER ... ACCOUNT UNLOCK"
	case 3159:
		return "connect with TLS: the server requires it"
	}
	return ""
}

// cause says why reading or writing ended: the context's reason if that is why.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil && errors.Is(err, os.ErrDeadlineExceeded) {
		return context.Cause(ctx)
	}
	return err
}

// ended says in words that the server went away.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return &closedError{}
	}
	return err
}

type closedError struct{}

func (*closedError) Error() string { return "the server closed the connection" }

func (*closedError) Unwrap() error { return io.ErrUnexpectedEOF }
