package wire

import "encoding/binary"

// ChangeUser is COM_CHANGE_USER: a new login on the same connection, which resets the session.
type ChangeUser struct {
	User         string
	AuthResponse []byte // made with the nonce of the last greeting or AuthSwitch
	Database     string
	Charset      uint16
	AuthPlugin   string // "" without PluginAuth
	Attributes   []byte // as in HandshakeResponse
}

// Decode reads the whole payload, command byte included. Fields that a client left out at the end
// are zero.
func (m *ChangeUser) Decode(payload []byte, caps Capability) error {
	c := commandCursor("COM_CHANGE_USER", ComChangeUser, payload)
	*m = ChangeUser{User: string(c.NullString())}
	if caps.Has(SecureConnection) {
		m.AuthResponse = c.Bytes(int(c.Uint8()))
	} else {
		m.AuthResponse = c.NullString()
	}
	m.Database = string(c.NullString())
	if c.Len() > 0 {
		m.Charset = c.Uint16()
	}
	if caps.Has(PluginAuth) && c.Len() > 0 {
		m.AuthPlugin = string(c.nullOrRest())
	}
	if caps.Has(ConnectAttrs) && c.Len() > 0 {
		m.Attributes = c.LenEncString()
	}
	return c.Err()
}

// Append appends the payload, for a server with the capabilities caps.
func (m *ChangeUser) Append(dst []byte, caps Capability) []byte {
	dst = appendNullString(append(dst, byte(ComChangeUser)), m.User)
	if caps.Has(SecureConnection) {
		dst = appendShortString(dst, m.AuthResponse)
	} else {
		dst = appendNullString(dst, m.AuthResponse)
	}
	dst = appendNullString(dst, m.Database)
	dst = binary.LittleEndian.AppendUint16(dst, m.Charset)
	if caps.Has(PluginAuth) {
		dst = appendNullString(dst, m.AuthPlugin)
	}
	if caps.Has(ConnectAttrs) {
		dst = AppendLenEncString(dst, m.Attributes)
	}
	return dst
}
