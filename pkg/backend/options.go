package backend

import (
	"context"
	"crypto/tls"
	"net"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/netloop"
	"github.com/mysqlrw/mysqlrw/pkg/wire"
)

// TLSMode says when a connection is encrypted.
type TLSMode uint8

// The modes. Whether a certificate is checked, and how, is said by Options.TLS.
const (
	TLSPreferred TLSMode = iota // if the server can; not on a unix socket, where nobody listens in
	TLSDisabled                 // never
	TLSRequired                 // always; a server that cannot is an error
)

// Options say what to connect to, and as whom. They are read only, and may be used by several
// Dials at the same time.
type Options struct {
	Network string // "tcp" or "unix"; "" is "tcp"
	Address string // host:port, or the path of a socket

	User     string
	Password string
	Schema   string // that is selected; "" for none

	// Charset is the id of the collation that the session begins with. 0 is utf8mb4_general_ci. Ids
	// above 255 do not fit the login and need SET NAMES.
	Charset uint8

	TLSMode TLSMode

	// TLS is how the server is checked. Without ServerName the host of Address is used. Nil encrypts
	// and trusts any certificate.
	TLS *tls.Config

	// Want is what the connection should be able to do besides what every one has: what the proxy's
	// client asked for. Of it only what changes the meaning of statements and results is taken, such
	// as MultiStatements, MultiResults, FoundRows, LocalFiles, Interactive, IgnoreSpace, and
	// compression. Never taken are OptionalMetadata and MariaDBCacheMetadata, which make an answer depend
	// on what this client has seen before.
	Want wire.Capability

	ZstdLevel uint8 // from 1 to 22, with wire.ZstdCompression

	Attributes []wire.Attribute // of the connection, such as program_name

	// ConnectTimeout bounds Dial, the login included, besides its context. 0 is no bound.
	ConnectTimeout time.Duration

	// Buffers is memory that connections share. Nil allocates it.
	Buffers *Buffers

	// Loops wait for the connection, if not nil; Conn.Attach is for their tasks. Where they cannot, Dial fails.
	Loops *netloop.Loops

	// Connect opens the transport in place of net.Dialer.DialContext, if not nil.
	Connect func(ctx context.Context, network, address string) (net.Conn, error)
}

// Capabilities of every connection, if the server has them (design: the proxy takes away from its
// client what that did not ask for), and those that are taken from Options.Want.
const (
	always = wire.LongPassword | wire.LongFlag | wire.Protocol41 | wire.Transactions | wire.SecureConnection |
		wire.PluginAuth | wire.PluginAuthLenEnc | wire.ConnectAttrs | wire.SessionTrack |
		wire.DeprecateEOF | wire.QueryAttributes | wire.MariaDBBulk
	wanted = wire.FoundRows | wire.NoSchema | wire.ODBC | wire.LocalFiles | wire.IgnoreSpace | wire.Interactive |
		wire.MultiStatements | wire.MultiResults | wire.PSMultiResults | wire.ExpiredPasswords | wire.MariaDBProgress |
		wire.MariaDBMetadata | wire.MariaDBBulkResults | wire.Compress | wire.ZstdCompression

	// A server need not say that it knows these.
	unsaid = wire.LongPassword | wire.FoundRows | wire.ConnectWithDB

	extended = (1<<32 - 1) << 32 // MariaDB's
)

// capabilities returns what to agree on with a server that offers these.
func (o *Options) capabilities(offered wire.Capability) wire.Capability {
	caps := always | o.Want&wanted
	if o.Schema != "" {
		caps |= wire.ConnectWithDB
	}
	caps &= offered | unsaid
	if caps&extended != 0 {
		caps &^= wire.LongPassword // says to MariaDB that extended ones follow
	}
	return caps
}

func (o *Options) network() string {
	if o.Network == "" {
		return "tcp"
	}
	return o.Network
}

func (o *Options) connect(ctx context.Context) (net.Conn, error) {
	if o.Connect != nil {
		return o.Connect(ctx, o.network(), o.Address)
	}
	var d net.Dialer
	return d.DialContext(ctx, o.network(), o.Address)
}

// tlsConfig returns the configuration with a name to check, unless it says to check none.
func (o *Options) tlsConfig() *tls.Config {
	if o.TLS == nil {
		return &tls.Config{InsecureSkipVerify: true} // as asked for: see Options.TLS
	}
	if o.TLS.ServerName != "" || o.TLS.InsecureSkipVerify {
		return o.TLS
	}
	c := o.TLS.Clone()
	c.ServerName = o.Address
	if host, _, err := net.SplitHostPort(o.Address); err == nil {
		c.ServerName = host
	}
	return c
}
