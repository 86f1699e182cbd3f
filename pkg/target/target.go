package target

import (
	"errors"

	"github.com/go-sql-driver/mysql"
)

// Target is one server and how it is reached. It is made by Parse, may be
// copied, and is safe for concurrent use. It prints as its name.
type Target struct {
	// Name is the label that is printed: host:port, or the path of the socket.
	// It never holds a password. Parse of the name of a TCP target gives the
	// same address.
	Name string

	to *server
}

// server is what Parse has found.
type server struct {
	network  string // tcp or unix
	address  string // for the dialer
	host     string // for the certificate
	settings Settings

	// password is a function because fmt prints what private fields hold, and
	// then knows nothing of Secret; it is not in settings and dsn.
	password func() string

	dsn   *mysql.Config   // nil unless the target is a DSN; never changed
	named map[string]bool // parameters that the DSN sets
}

// newTarget hides the password of s.
func newTarget(network, address, host string, s Settings) Target {
	password := s.Password.Reveal()
	s.Password = ""
	return Target{Name: address, to: &server{
		network: network, address: address, host: host, settings: s,
		password: func() string { return password },
	}}
}

var errNoTarget = errors.New("target is empty")

// User returns the name of the account, for messages and GRANT statements.
func (t Target) User() string {
	if t.to == nil {
		return ""
	}
	return t.to.settings.User
}

// AskPassword reports that the option files want a password to be asked for,
// and that nothing else gave one.
func (t Target) AskPassword() bool { return t.to != nil && t.to.settings.AskPassword }

// String returns the name.
func (t Target) String() string { return t.Name }

// GoString returns the name.
func (t Target) GoString() string { return t.Name }
