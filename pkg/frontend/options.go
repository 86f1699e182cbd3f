package frontend

import (
	"context"
	"crypto/rsa"
	"crypto/tls"
	"net"
	"net/netip"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// Options say how clients are met. They are read only, and shared by all connections of a listener.
type Options struct {
	Version string      // of the greeting, as wire.Greeting has it
	ID      uint32      // CONNECTION_ID() as the client sees it
	Charset uint8       // the server's default collation
	Status  wire.Status // of the greeting

	// Offer is what clients may ask for. What every login needs is added, and so is SSL if there is TLS;
	// factors of authentication beyond the first are taken away.
	Offer wire.Capability

	// Plugin is wire.SHA2Plugin or wire.NativePlugin, the greeting's plugin; "" is wire.SHA2Plugin. Clients
	// that know no other than mysql_native_password need it to be that.
	Plugin string

	TLS        *tls.Config // nil offers no TLS. Versions before 1.2 are never spoken
	RequireTLS bool        // refuses clients without, but for those on a unix socket

	// ProxyProtocol are the networks whose connections begin with a PROXY header, version 1 or 2.
	// Without one they are closed; from elsewhere none is read.
	ProxyProtocol []netip.Prefix

	// StaysWho: a client that is refused a change of its user goes on as who it was, as MariaDB has it.
	// MySQL closes the connection.
	StaysWho bool

	LoginTimeout time.Duration // bounds Accept and ChangeUser, besides their context; 0 is no bound

	MaxLogin  int // bytes of a packet before the login is done; 0 is 64 KB
	MaxPacket int // bytes of a command; 0 is 1 GB, the protocol's largest

	// Key decrypts passwords that come in full without TLS. Without it they are not asked for.
	Key *rsa.PrivateKey

	Auth Authenticator

	// Buffers are shared by all connections. Nil makes each Conn use some of its own.
	Buffers *Buffers
}

// Defaults of Options.
const (
	defaultMaxLogin  = 64 << 10
	defaultMaxPacket = 1 << 30
)

// Capabilities without which there is no login, and those that a server need not offer.
const (
	needed = wire.Protocol41 | wire.SecureConnection | wire.PluginAuth | wire.PluginAuthLenEnc
	unsaid = wire.LongPassword | wire.FoundRows | wire.ConnectWithDB
)

func (o *Options) offer() wire.Capability {
	caps := (o.Offer | needed) &^ (wire.SSL | wire.MultiFactor)
	if o.TLS != nil {
		caps |= wire.SSL
	}
	return caps
}

func (o *Options) plugin() string {
	if o.Plugin == "" {
		return wire.SHA2Plugin
	}
	return o.Plugin
}

func (o *Options) tlsConfig() *tls.Config {
	if o.TLS.MinVersion == 0 || o.TLS.MinVersion >= tls.VersionTLS12 { // 0 is 1.2
		return o.TLS
	}
	c := o.TLS.Clone()
	c.MinVersion = tls.VersionTLS12
	return c
}

// proxied tells whether a connection from this address begins with a PROXY header.
func (o *Options) proxied(from net.Addr) bool {
	tcp, ok := from.(*net.TCPAddr)
	if !ok || len(o.ProxyProtocol) == 0 {
		return false
	}
	ip := tcp.AddrPort().Addr().Unmap().WithZone("")
	for _, p := range o.ProxyProtocol {
		if p.Contains(ip) {
			return true
		}
	}
	return false
}

func orDefault(n, otherwise int) int {
	if n == 0 {
		return otherwise
	}
	return n
}

// Login is who a client is, proven, and what it asked for at the login. It belongs to the caller.
type Login struct {
	User         string // as sent, in the client's character set
	Database     string
	HasDatabase  bool            // a database was named
	Charset      uint16          // a collation; only its lower 8 bits if it comes from a first login
	Capabilities wire.Capability // agreed on; ChangeUser does not change them
	ZstdLevel    uint8           // of its compression with zstd
	Attributes   []byte          // for wire.DecodeAttributes; nil if there are none
	Remote       net.Addr        // of the PROXY header if there was one
	Secure       bool            // TLS, or a unix socket
	TLS          bool

	Password Password // if Full
	Full     bool     // the client sent its password, which may be empty, in full
}

// Authenticator says what passwords are right. It is used by many goroutines at the same time.
type Authenticator interface {
	// Known returns what is known of the account's password. If it is nothing, ok is false and the
	// password is asked for in full. It must not take longer for one user than for another.
	Known(user string) (k Credential, ok bool)

	// Verify proves the password of l, which is Full, by logging in to a server. The client gets a
	// *wire.ServerError in the error's chain as it is, and otherwise that no server could be asked. It
	// is called too for an account whose known password was not the one that the client has. It should
	// learn what it has proven: the next login is one of Known's then.
	Verify(ctx context.Context, l *Login) error
}

// Credential is what is known of a password, in every form that is known. Zero hashes match no password.
type Credential struct {
	Native wire.NativeHash
	SHA2   wire.SHA2Hash
	Empty  bool // there is no password
}

// proves tells whether this is the password, by any of its forms.
func (k *Credential) proves(password []byte) bool {
	if len(password) == 0 {
		return k.Empty
	}
	return wire.HashSHA2(password) == k.SHA2 || wire.HashNative(password) == k.Native
}
