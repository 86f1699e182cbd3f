package wire

import "encoding/binary"

// HandshakeResponse is a client's answer to the greeting ("Protocol::HandshakeResponse41"). The
// capabilities are those that client and server have in common from then on: a server takes the
// client's as they are, and ignores those that it did not offer.
type HandshakeResponse struct {
	Capabilities Capability
	MaxPacket    uint32 // the longest message that the client takes, as it says
	Charset      uint8  // a collation; ids above 255 do not fit and need SET NAMES
	User         string
	AuthResponse []byte // for the plugin AuthPlugin, or the greeting's if that is ""
	Database     string // "" without ConnectWithDB
	AuthPlugin   string // "" without PluginAuth
	Attributes   []byte // of the connection, for DecodeAttributes; nil without ConnectAttrs
	ZstdLevel    uint8  // 1 to 22; 0 without ZstdCompression
}

// responseHead is the part that an SSLRequest consists of.
const responseHead = 32

// IsSSLRequest tells whether a client's answer to the greeting asks for TLS ("Protocol::SSLRequest").
// The client sends the whole response after the TLS handshake. What stands in this one must not be
// used: it came in the clear.
func IsSSLRequest(payload []byte) bool {
	return len(payload) == responseHead && Capability(payload[1])<<8&SSL != 0
}

// Decode reads the payload of a full response, not of an SSLRequest. Fields that a client left
// out at the end are empty, as the servers take it.
func (r *HandshakeResponse) Decode(payload []byte) error {
	c := NewCursor("handshake response", payload)
	caps := Capability(c.Uint32())
	if c.Err() == nil && !caps.Has(Protocol41) {
		c.failAt(0, "CLIENT_PROTOCOL_41")
	}
	*r = HandshakeResponse{MaxPacket: c.Uint32(), Charset: c.Uint8()}
	c.Bytes(19)
	extended := Capability(c.Uint32())
	if !caps.Has(LongPassword) { // a client of MariaDB
		caps |= extended << 32
	}
	r.Capabilities = caps
	r.User = string(c.NullString())
	if c.Len() > 0 {
		r.AuthResponse = r.authResponse(&c)
	}
	if caps.Has(ConnectWithDB) && c.Len() > 0 {
		r.Database = string(c.NullString())
	}
	if caps.Has(PluginAuth) && c.Len() > 0 {
		r.AuthPlugin = string(c.nullOrRest())
	}
	if caps.Has(ConnectAttrs) && c.Len() > 0 {
		r.Attributes = c.LenEncString()
	}
	if caps.Has(ZstdCompression) && c.Len() > 0 {
		r.ZstdLevel = c.Uint8()
	}
	return c.Err()
}

func (r *HandshakeResponse) authResponse(c *Cursor) []byte {
	switch {
	case r.Capabilities.Has(PluginAuthLenEnc):
		return c.LenEncString()
	case r.Capabilities.Has(SecureConnection):
		return c.Bytes(int(c.Uint8()))
	}
	return c.NullString()
}

// Append appends the payload. AuthResponse has at most 255 bytes without PluginAuthLenEnc; what is
// longer is cut, and will be refused.
func (r *HandshakeResponse) Append(dst []byte) []byte {
	caps := r.Capabilities
	dst = r.appendHead(dst)
	dst = appendNullString(dst, r.User)
	switch {
	case caps.Has(PluginAuthLenEnc):
		dst = AppendLenEncString(dst, r.AuthResponse)
	case caps.Has(SecureConnection):
		dst = appendShortString(dst, r.AuthResponse)
	default:
		dst = appendNullString(dst, r.AuthResponse)
	}
	if caps.Has(ConnectWithDB) {
		dst = appendNullString(dst, r.Database)
	}
	if caps.Has(PluginAuth) {
		dst = appendNullString(dst, r.AuthPlugin)
	}
	if caps.Has(ConnectAttrs) {
		dst = AppendLenEncString(dst, r.Attributes)
	}
	if caps.Has(ZstdCompression) {
		dst = append(dst, r.ZstdLevel)
	}
	return dst
}

// AppendSSLRequest appends the payload of the SSLRequest that goes before r. r.Capabilities must
// have SSL.
func (r *HandshakeResponse) AppendSSLRequest(dst []byte) []byte { return r.appendHead(dst) }

func (r *HandshakeResponse) appendHead(dst []byte) []byte {
	var zero [19]byte
	dst = binary.LittleEndian.AppendUint32(dst, uint32(r.Capabilities))
	dst = binary.LittleEndian.AppendUint32(dst, r.MaxPacket)
	dst = append(append(dst, r.Charset), zero[:]...)
	extended := uint32(0)
	if !r.Capabilities.Has(LongPassword) {
		extended = uint32(r.Capabilities >> 32)
	}
	return binary.LittleEndian.AppendUint32(dst, extended)
}

// appendShortString appends s behind a length of one byte.
func appendShortString(dst, s []byte) []byte {
	s = s[:min(len(s), 255)]
	return append(append(dst, byte(len(s))), s...)
}

// Attribute is one of a connection's attributes, such as program_name.
type Attribute struct{ Name, Value string }

// DecodeAttributes reads the Attributes of a HandshakeResponse or ChangeUser, in their order.
func DecodeAttributes(block []byte) ([]Attribute, error) {
	c := NewCursor("connection attributes", block)
	var list []Attribute
	for c.Len() > 0 {
		name, value := c.LenEncString(), c.LenEncString()
		if c.Err() != nil {
			return nil, c.Err()
		}
		list = append(list, Attribute{Name: string(name), Value: string(value)})
	}
	return list, nil
}

// AppendAttribute appends one attribute to a block of them.
func AppendAttribute(block []byte, name, value string) []byte {
	return AppendLenEncString(AppendLenEncString(block, name), value)
}
