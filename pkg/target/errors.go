package target

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"database/sql/driver"
	"errors"
	"fmt"
	"io"
	"net"
	"syscall"

	"github.com/go-sql-driver/mysql"
)

// Kind is a class of errors of a connection or statement that calls for one
// answer of the user. It prints in plain words.
type Kind uint8

// The kinds. The words of the text are part of what scripts may look for.
const (
	Unclassified    Kind = iota // the error speaks for itself
	AccessDenied                // wrong user or password, locked or expired account, host not allowed
	NoPrivilege                 // logged in, but not allowed to do this
	UnknownHost                 // the name does not resolve
	Refused                     // nothing listens on the port or socket
	NoSocket                    // the socket does not exist or may not be used
	Unreachable                 // no route to the host
	Timeout                     // of the connection, of the context, or the server's limit for statements
	Canceled                    // the context was canceled
	TLSFailed                   // no TLS, or a certificate that is not trusted
	AuthUnsupported             // the account's authentication method is not available here
	Busy                        // too many connections, of the server or of the account
	Gone                        // the connection broke, or the server is shutting down
	Killed                      // the statement or the connection was killed
)

// String returns the text for messages, such as "access denied".
func (k Kind) String() string {
	switch k {
	case AccessDenied:
		return "access denied"
	case NoPrivilege:
		return "no privilege"
	case UnknownHost:
		return "unknown host"
	case Refused:
		return "connection refused"
	case NoSocket:
		return "cannot use the socket"
	case Unreachable:
		return "host unreachable"
	case Timeout:
		return "timed out"
	case Canceled:
		return "canceled"
	case TLSFailed:
		return "TLS failed"
	case AuthUnsupported:
		return "authentication method not supported"
	case Busy:
		return "too many connections"
	case Gone:
		return "server has gone away"
	case Killed:
		return "killed"
	}
	return "error"
}

// Problem is what Explain finds in an error. The zero value is no problem.
type Problem struct {
	Kind   Kind
	Errno  uint16 // of the server, 0 if the error is not from there
	Detail string // the server's message, or the cause in the error; all of its text if Unclassified
}

// String returns the text for messages: "access denied (1045)". Detail is part
// of it where the kind alone does not say what to do.
func (p Problem) String() string {
	text := p.Kind.String()
	switch p.Kind {
	case Unclassified:
		if p.Detail != "" {
			return p.Detail // with the number, if it has one
		}
	case TLSFailed, NoSocket, AuthUnsupported:
		if p.Detail != "" {
			text += ": " + p.Detail
		}
	}
	if p.Errno != 0 {
		text += fmt.Sprintf(" (%d)", p.Errno)
	}
	return text
}

// Explain classifies an error of a Target's connections or statements, by
// type and number and never by text. An error that it does not know is
// Unclassified and keeps its text.
func Explain(err error) Problem {
	var server *mysql.MySQLError
	var name *net.DNSError
	var network net.Error
	switch {
	case err == nil:
		return Problem{}
	case errors.As(err, &server):
		p := Problem{Kind: kindOf(server.Number), Errno: server.Number, Detail: server.Message}
		if p.Kind == Unclassified {
			p.Detail = err.Error()
		}
		return p
	case errors.Is(err, context.Canceled):
		return Problem{Kind: Canceled, Detail: err.Error()}
	case errors.Is(err, context.DeadlineExceeded):
		return Problem{Kind: Timeout, Detail: err.Error()}
	case isTLS(err):
		return Problem{Kind: TLSFailed, Detail: innermost(err)}
	case isAuth(err):
		return Problem{Kind: AuthUnsupported, Detail: authDetail(err)}
	case errors.As(err, &name) && !name.IsTimeout:
		return Problem{Kind: UnknownHost, Detail: err.Error()}
	case errors.As(err, &network) && network.Timeout():
		return Problem{Kind: Timeout, Detail: err.Error()}
	}
	if kind := kindOfSystem(err); kind != Unclassified {
		return Problem{Kind: kind, Detail: innermost(err)}
	}
	return Problem{Detail: err.Error()}
}

// kindOf classifies the numbers of MySQL and MariaDB. Their sources name them:
// share/messages_to_clients.txt and sql/share/errmsg-utf8.txt.
func kindOf(number uint16) Kind {
	switch number {
	case 1045, // ER_ACCESS_DENIED_ERROR
		1129, // ER_HOST_IS_BLOCKED
		1130, // ER_HOST_NOT_PRIVILEGED
		1698, // ER_ACCESS_DENIED_NO_PASSWORD_ERROR
		1820, // ER_MUST_CHANGE_PASSWORD
		1862, // ER_MUST_CHANGE_PASSWORD_LOGIN
		3118, // ER_ACCOUNT_HAS_BEEN_LOCKED, MySQL
		3955, // ER_USER_ACCESS_DENIED_FOR_USER_ACCOUNT_BLOCKED_BY_PASSWORD_LOCK
		4151: // ER_ACCOUNT_HAS_BEEN_LOCKED, MariaDB
		return AccessDenied
	case 1044, // ER_DBACCESS_DENIED_ERROR
		1142, // ER_TABLEACCESS_DENIED_ERROR
		1143, // ER_COLUMNACCESS_DENIED_ERROR
		1227, // ER_SPECIFIC_ACCESS_DENIED_ERROR
		1370: // ER_PROCACCESS_DENIED_ERROR
		return NoPrivilege
	case 1040, // ER_CON_COUNT_ERROR
		1203, // ER_TOO_MANY_USER_CONNECTIONS
		1226: // ER_USER_LIMIT_REACHED
		return Busy
	case 1317, // ER_QUERY_INTERRUPTED
		1927, // ER_CONNECTION_KILLED, MariaDB
		3169: // ER_SESSION_WAS_KILLED, MySQL
		return Killed
	case 1969, // ER_STATEMENT_TIMEOUT, MariaDB
		3024: // ER_QUERY_TIMEOUT, MySQL
		return Timeout
	case 1053, // ER_SERVER_SHUTDOWN
		4031: // ER_CLIENT_INTERACTION_TIMEOUT
		return Gone
	case 1251, // ER_NOT_SUPPORTED_AUTH_MODE
		1524: // ER_PLUGIN_IS_NOT_LOADED
		return AuthUnsupported
	case 3159: // ER_SECURE_TRANSPORT_REQUIRED
		return TLSFailed
	}
	return Unclassified
}

// kindOfSystem classifies what the operating system and a broken connection
// say.
func kindOfSystem(err error) Kind {
	is := func(targets ...error) bool {
		for _, t := range targets {
			if errors.Is(err, t) {
				return true
			}
		}
		return false
	}
	var dial *net.OpError
	onSocket := errors.As(err, &dial) && dial.Op == "dial" && dial.Net == "unix"
	switch {
	case onSocket && is(syscall.ENOENT, syscall.ENOTDIR, syscall.EACCES, syscall.EPERM,
		syscall.ENOTSOCK, syscall.EINVAL): // EINVAL: the path is too long
		return NoSocket
	case is(syscall.ECONNREFUSED):
		return Refused
	case is(syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EHOSTDOWN, syscall.ENETDOWN,
		syscall.EADDRNOTAVAIL):
		return Unreachable
	case is(syscall.ETIMEDOUT):
		return Timeout
	case is(driver.ErrBadConn, mysql.ErrInvalidConn, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed,
		syscall.ECONNRESET, syscall.ECONNABORTED, syscall.EPIPE):
		return Gone
	}
	return Unclassified
}

// isTLS reports that the encryption failed, on either side.
func isTLS(err error) bool {
	var (
		chain     *tls.CertificateVerificationError
		record    tls.RecordHeaderError
		alert     tls.AlertError
		authority x509.UnknownAuthorityError
		host      x509.HostnameError
		invalid   x509.CertificateInvalidError
		roots     x509.SystemRootsError
	)
	return errors.Is(err, mysql.ErrNoTLS) || errors.As(err, &chain) ||
		errors.As(err, &record) || errors.As(err, &alert) || errors.As(err, &authority) ||
		errors.As(err, &host) || errors.As(err, &invalid) || errors.As(err, &roots)
}

// isAuth reports that the driver does not want to log in the way that the
// server asks for.
func isAuth(err error) bool {
	return errors.Is(err, mysql.ErrUnknownPlugin) || errors.Is(err, mysql.ErrCleartextPassword) ||
		errors.Is(err, mysql.ErrNativePassword) || errors.Is(err, mysql.ErrOldPassword)
}

// authDetail says what the user can do; the driver's texts speak of its DSN.
func authDetail(err error) string {
	switch {
	case errors.Is(err, mysql.ErrCleartextPassword):
		return "it sends the password in clear text, which needs --ssl-mode=REQUIRED or stronger"
	case errors.Is(err, mysql.ErrOldPassword):
		return "password hashes from before MySQL 4.1"
	}
	return innermost(err)
}

// innermost returns the text of the last error in the chain of Unwrap: the
// cause without "dial tcp ...", which repeats the name of the target.
func innermost(err error) string {
	for {
		next := errors.Unwrap(err)
		if next == nil {
			return err.Error()
		}
		err = next
	}
}
