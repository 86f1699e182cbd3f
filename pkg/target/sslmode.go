package target

import (
	"errors"
	"strings"
)

// SSLMode says what is asked of the encryption of a connection, in the words
// of the mysql client. The zero value is "not said": VERIFY_CA if a CA is
// given, otherwise PREFERRED.
type SSLMode uint8

// The modes, from weak to strong.
const (
	SSLUnset          SSLMode = iota
	SSLDisabled               // never
	SSLPreferred              // if the server can, whatever its certificate; not on a socket
	SSLRequired               // always, whatever its certificate
	SSLVerifyCA               // and the certificate leads to a trusted CA, for whatever name
	SSLVerifyIdentity         // and it is for the host that was asked for
)

// sslModeName returns the client's spelling of a mode, "" for SSLUnset.
func sslModeName(m SSLMode) string {
	switch m {
	case SSLDisabled:
		return "DISABLED"
	case SSLPreferred:
		return "PREFERRED"
	case SSLRequired:
		return "REQUIRED"
	case SSLVerifyCA:
		return "VERIFY_CA"
	case SSLVerifyIdentity:
		return "VERIFY_IDENTITY"
	}
	return ""
}

// String returns the client's spelling, or "unset".
func (m SSLMode) String() string {
	if name := sslModeName(m); name != "" {
		return name
	}
	return "unset"
}

var errSSLMode = errors.New("ssl-mode is none of DISABLED, PREFERRED, REQUIRED, VERIFY_CA, " +
	"VERIFY_IDENTITY")

// ParseSSLMode reads the name of a mode, in any letter case and with '-' or
// '_'. The empty text is an error, not SSLUnset.
func ParseSSLMode(text string) (SSLMode, error) {
	name := strings.ToUpper(strings.ReplaceAll(text, "-", "_"))
	for m := SSLDisabled; m <= SSLVerifyIdentity; m++ {
		if name == sslModeName(m) {
			return m, nil
		}
	}
	return SSLUnset, errSSLMode
}
