package target

import (
	"errors"
	"strconv"
	"strings"
	"time"
)

// Settings are what option files, environment or flags say about
// connections. The zero value says nothing: the unix socket of this machine,
// an empty user name and no password.
type Settings struct {
	Host     string // "" and "localhost" mean the socket
	Port     int    // 0 means 3306
	Socket   string // "" means the first of the usual places that exists
	Protocol Protocol

	User        string // "" is sent as it is; a client puts the name of its user there
	Password    Secret
	PasswordSet bool // Password is meant even though it is empty
	AskPassword bool // "password" stood without a value: the user wants to be asked

	Database string // of a URL or DSN; "" selects none

	SSLMode   SSLMode
	SSLCA     string // PEM file of trusted CAs; "" means those of the system
	SSLCAPath string // directory of such files, used besides SSLCA
	SSLCert   string // PEM file of the own certificate, with SSLKey
	SSLKey    string // PEM file of its key

	ConnectTimeout time.Duration // for dialing and logging in; 0 means none
}

// Protocol says whether the socket is used.
type Protocol uint8

// The protocols. Named pipes and shared memory are not supported.
const (
	ProtocolDefault Protocol = iota // by the host name
	ProtocolTCP                     // for localhost too
	ProtocolSocket                  // whatever Host is
)

var errProtocol = errors.New("protocol is neither TCP nor SOCKET")

// ParseProtocol reads TCP or SOCKET, in any letter case.
func ParseProtocol(text string) (Protocol, error) {
	switch strings.ToUpper(text) {
	case "TCP":
		return ProtocolTCP, nil
	case "SOCKET":
		return ProtocolSocket, nil
	}
	return ProtocolDefault, errProtocol
}

var errPort = errors.New("port is not a number from 1 to 65535")

// ParsePort reads a TCP port. Its error holds no part of the text, which may
// be a password that went astray.
func ParsePort(text string) (int, error) {
	port, err := strconv.ParseUint(text, 10, 16)
	if err != nil || port == 0 {
		return 0, errPort
	}
	return int(port), nil
}

// Overlay returns s with everything that over says put on top of it, as in
// fromFiles.Overlay(environment).Overlay(flags). It looks at each field alone:
// a socket on top of a host leaves the host, so a caller for whom the socket
// is to win sets Protocol too.
func (s Settings) Overlay(over Settings) Settings {
	put(&s.Host, over.Host)
	put(&s.Port, over.Port)
	put(&s.Socket, over.Socket)
	put(&s.Protocol, over.Protocol)
	put(&s.User, over.User)
	switch {
	case over.Password != "" || over.PasswordSet:
		s.Password, s.PasswordSet, s.AskPassword = over.Password, over.PasswordSet, false
	case over.AskPassword:
		s.Password, s.PasswordSet, s.AskPassword = "", false, true
	}
	put(&s.Database, over.Database)
	put(&s.SSLMode, over.SSLMode)
	put(&s.SSLCA, over.SSLCA)
	put(&s.SSLCAPath, over.SSLCAPath)
	put(&s.SSLCert, over.SSLCert)
	put(&s.SSLKey, over.SSLKey)
	put(&s.ConnectTimeout, over.ConnectTimeout)
	return s
}

// put replaces *to unless value is the zero value.
func put[T comparable](to *T, value T) {
	var zero T
	if value != zero {
		*to = value
	}
}
