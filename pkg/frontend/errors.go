package frontend

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"

	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// Error is what every function of this package returns, but for the io.EOF of ReadCommand.
type Error struct {
	Op     string   // what was tried, such as "log in" or "read from"
	Remote net.Addr // of the client, from the PROXY header if there was one
	User   string   // as it called itself; "" if it had not yet
	Err    error
}

func (e *Error) Error() string {
	who := "client"
	if e.Remote != nil {
		who += " " + e.Remote.String()
	}
	if e.User != "" {
		who += fmt.Sprintf(" as %.100q", e.User)
	}
	return e.Op + " " + who + ": " + e.Err.Error()
}

// Unwrap returns Err.
func (e *Error) Unwrap() error { return e.Err }

// Causes that callers may want to tell apart. A client that was refused has got the *wire.ServerError
// of the chain; one whose time was over makes a context's or os.ErrDeadlineExceeded.
var (
	// ErrProbe means that the other side closed without having said anything, as health checks do.
	ErrProbe = errors.New("closed without a word")
	// ErrProxyHeader means that a connection that must begin with a PROXY header does not.
	ErrProxyHeader = errors.New("no valid PROXY header")
	// ErrProtocol means that the client does not speak the protocol.
	ErrProtocol = errors.New("not the MySQL protocol")
	// ErrTooLarge means that a packet or command is larger than Options allow.
	ErrTooLarge = errors.New("packet is too large")
	// ErrNoTLS means that TLS is required, and the client does not want it.
	ErrNoTLS = errors.New("client uses no TLS")
	// ErrPlugin means that the client's plugins cannot prove its password here.
	ErrPlugin = errors.New("client cannot send its password in full")
	// ErrUnverified means that no server could be asked whether a password is right.
	ErrUnverified = errors.New("password could not be checked")
	// ErrDenied means that a change of user was refused, and that the client goes on.
	ErrDenied = errors.New("change of user was refused")
	// ErrClosed means that the connection was closed, or had failed before.
	ErrClosed = errors.New("connection is closed")
)

// refusal is an error that the client is told of.
type refusal struct {
	say wire.ServerError
	err error // for the caller; nil if say is all
}

func (r *refusal) Error() string {
	if r.err == nil {
		return r.say.Error()
	}
	return r.err.Error()
}

func (r *refusal) Unwrap() []error {
	if r.err == nil {
		return []error{&r.say}
	}
	return []error{r.err, &r.say}
}

// The refusals below are worded and numbered as the servers do.

func outOfOrder(err error) *refusal {
	return &refusal{wire.ServerError{Code: 1156, State: "08S01", Message: "Got packets out of order"}, err}
}

func tooLarge(err error) *refusal {
	return &refusal{
		wire.ServerError{Code: 1153, State: "08S01", Message: "Got a packet bigger than 'max_allowed_packet' bytes"}, err,
	}
}

func badHandshake(err error) *refusal {
	return &refusal{wire.ServerError{Code: 1043, State: "08S01", Message: "Bad handshake"}, err}
}

func badCommand(err error) *refusal {
	return &refusal{wire.ServerError{Code: 1047, State: "08S01", Message: "Unknown command"}, err}
}

func insecure() *refusal {
	return &refusal{wire.ServerError{
		Code: 3159, State: "HY000",
		Message: "Connections using insecure transport are prohibited while --require_secure_transport=ON.",
	}, ErrNoTLS}
}

func unverified(err error) *refusal {
	return &refusal{wire.ServerError{
		Code: 1105, State: "HY000", Message: "The password cannot be checked now: no server could be asked",
	}, fmt.Errorf("%w: %w", ErrUnverified, err)}
}

// denied says what the servers say of a wrong password, and advice, if there is some, behind it.
func (l *Login) denied(password bool, advice string) *refusal {
	host := "localhost"
	if tcp, ok := l.Remote.(*net.TCPAddr); ok {
		host = tcp.AddrPort().Addr().Unmap().String()
	}
	using := "NO"
	if password {
		using = "YES"
	}
	// Longer names than servers have are cut, so that the rest is not.
	text := fmt.Sprintf("Access denied for user '%.96s'@'%s' (using password: %s)", l.User, host, using)
	r := &refusal{say: wire.ServerError{Code: 1045, State: "28000", Message: text}}
	if advice != "" {
		r.say.Message += "; " + advice
		r.err = ErrPlugin
	}
	return r
}

// interrupted is what a client is told of the end of its login's context.
func interrupted(ctx context.Context) *refusal {
	cause := context.Cause(ctx)
	if errors.Is(cause, context.DeadlineExceeded) {
		return &refusal{wire.ServerError{
			Code: 1159, State: "08S01", Message: "Got timeout reading communication packets",
		}, cause}
	}
	return &refusal{wire.ServerError{Code: 1053, State: "08S01", Message: "Server shutdown in progress"}, cause}
}

// cause says why a login ended: the context's reason if that is why.
func cause(ctx context.Context, err error) error {
	if ctx.Err() != nil && (errors.Is(err, os.ErrDeadlineExceeded) || errors.Is(err, ctx.Err())) {
		return interrupted(ctx)
	}
	return err
}

// left tells whether the error is that the other side closed.
func left(err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) || errors.Is(err, io.ErrClosedPipe) ||
		errors.Is(err, syscall.ECONNRESET) || errors.Is(err, syscall.EPIPE)
}

// goneError says in words that the client went away.
type goneError struct{}

func (goneError) Error() string { return "the client closed the connection" }

func (goneError) Unwrap() error { return io.ErrUnexpectedEOF }

// ended is err in words, if it is the client's end.
func ended(err error) error {
	if errors.Is(err, io.EOF) {
		return goneError{}
	}
	return err
}

// fail makes an Error of err.
func (c *Conn) fail(op string, err error) *Error {
	return &Error{Op: op, Remote: c.remote, User: c.user, Err: err}
}

// broken is fail for an error after which the connection cannot be used.
func (c *Conn) broken(op string, err error) *Error {
	e := c.fail(op, err)
	if c.err == nil {
		c.err = e
	}
	return e
}
