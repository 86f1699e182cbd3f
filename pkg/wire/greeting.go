package wire

import (
	"encoding/binary"
	"strings"
)

// Greeting is a server's first packet ("Protocol::HandshakeV10"). A server that does not want the
// client sends an error packet in its place.
type Greeting struct {
	Version      string // as sent; ServerVersion is without MariaDB's prefix
	ThreadID     uint32 // the lower 32 bits of CONNECTION_ID()
	AuthData     []byte // the nonce, 20 bytes; without the NUL that ends it
	Capabilities Capability
	Charset      uint8 // the server's default collation, its lower 8 bits
	Status       Status
	AuthPlugin   string // for which AuthData is; "" without PluginAuth
}

// mariadbPrefix stands before the version of MariaDB 10 and 11, because replication between old
// servers could not read a version of two digits.
const mariadbPrefix = "5.5.5-"

// nonceSize is the length of the nonce for the plugins of MySQL; ed25519's comes with an
// AuthSwitch.
const nonceSize = 20

// MariaDB tells whether the version names MariaDB.
func (g *Greeting) MariaDB() bool {
	return strings.HasPrefix(g.Version, mariadbPrefix) || strings.Contains(g.Version, "MariaDB")
}

// ServerVersion returns what SELECT VERSION() says.
func (g *Greeting) ServerVersion() string { return strings.TrimPrefix(g.Version, mariadbPrefix) }

// Decode reads the payload. Every server since MySQL 3.21.0 sends protocol version 10.
func (g *Greeting) Decode(payload []byte) error {
	c := NewCursor("greeting", payload)
	if c.Uint8() != 10 {
		c.failAt(0, "protocol version 10")
	}
	version := c.NullString()
	thread := c.Uint32()
	part1 := c.Bytes(8)
	c.Bytes(1)
	*g = Greeting{Version: string(version), ThreadID: thread, Capabilities: Capability(c.Uint16())}
	g.Charset = c.Uint8()
	g.Status = Status(c.Uint16())
	g.Capabilities |= Capability(c.Uint16()) << 16
	authLen := int(c.Uint8())
	c.Bytes(6)
	extended := Capability(c.Uint32())
	if !g.Capabilities.Has(LongPassword) { // a MariaDB server
		g.Capabilities |= extended << 32
	}
	// The rest of the nonce has at least 13 bytes, the last of which is a NUL.
	part2 := c.Bytes(max(13, authLen-8))
	if c.Err() == nil {
		g.AuthData = append(append(make([]byte, 0, nonceSize), part1...), part2[:len(part2)-1]...)
	}
	if g.Capabilities.Has(PluginAuth) {
		g.AuthPlugin = string(c.nullOrRest())
	}
	return c.Err()
}

// Append appends the payload. AuthData must have 20 bytes. MariaDB's extended capabilities are
// sent only if LongPassword is not set, as by that server.
func (g *Greeting) Append(dst []byte) []byte {
	var nonce [nonceSize + 1]byte
	copy(nonce[:nonceSize], g.AuthData)
	dst = appendNullString(append(dst, 10), g.Version)
	dst = binary.LittleEndian.AppendUint32(dst, g.ThreadID)
	dst = append(append(dst, nonce[:8]...), 0)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(g.Capabilities))
	dst = append(dst, g.Charset)
	dst = binary.LittleEndian.AppendUint16(dst, uint16(g.Status))
	dst = binary.LittleEndian.AppendUint16(dst, uint16(g.Capabilities>>16))
	authLen := byte(0)
	if g.Capabilities.Has(PluginAuth) {
		authLen = byte(len(nonce))
	}
	dst = append(dst, authLen, 0, 0, 0, 0, 0, 0)
	extended := uint32(0)
	if !g.Capabilities.Has(LongPassword) {
		extended = uint32(g.Capabilities >> 32)
	}
	dst = binary.LittleEndian.AppendUint32(dst, extended)
	dst = append(dst, nonce[8:]...)
	if g.Capabilities.Has(PluginAuth) {
		dst = appendNullString(dst, g.AuthPlugin)
	}
	return dst
}
