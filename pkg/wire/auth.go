package wire

import (
	"crypto/ed25519"
	"crypto/sha1" //nolint:gosec // the plugin is defined so
	"crypto/subtle"
	"encoding/base64"
	"encoding/hex"
	"errors"
)

// The authentication plugins that this package can compute for.
const (
	NativePlugin  = "mysql_native_password"
	SHA2Plugin    = "caching_sha2_password"
	ClearPlugin   = "mysql_clear_password" // the password itself: over TLS or a socket only
	Ed25519Plugin = "client_ed25519"
)

// First bytes of a server's packets.
const (
	okByte       = 0x00
	moreDataByte = 0x01
	fileByte     = 0xFB
	eofByte      = 0xFE // also AuthSwitch, and OK in the place of EOF
	errByte      = 0xFF
)

// AuthSwitch asks the client to authenticate again with another plugin
// ("Protocol::AuthSwitchRequest"). Its answer is a packet with nothing but the plugin's data.
type AuthSwitch struct {
	Plugin string
	Data   []byte // the new nonce, without the NUL that ends it for MySQL's plugins
}

// Decode reads the payload. A payload of the byte 0xFE alone asks for the authentication of 4.0,
// and is an error here.
func (m *AuthSwitch) Decode(payload []byte) error {
	c := NewCursor("authentication switch", payload)
	if c.Uint8() != eofByte {
		c.failAt(0, "0xFE")
	}
	m.Plugin = string(c.NullString())
	m.Data = c.Rest()
	if n := len(m.Data); n == nonceSize+1 && m.Data[n-1] == 0 {
		m.Data = m.Data[: n-1 : n-1]
	}
	return c.Err()
}

// Append appends the payload.
func (m *AuthSwitch) Append(dst []byte) []byte {
	dst = append(appendNullString(append(dst, eofByte), m.Plugin), m.Data...)
	if len(m.Data) == nonceSize {
		dst = append(dst, 0)
	}
	return dst
}

// AuthMoreData is a plugin's further data from the server ("Protocol::AuthMoreData").
type AuthMoreData struct{ Data []byte }

// Decode reads the payload.
func (m *AuthMoreData) Decode(payload []byte) error {
	c := NewCursor("authentication data", payload)
	if c.Uint8() != moreDataByte {
		c.failAt(0, "0x01")
	}
	m.Data = c.Rest()
	return c.Err()
}

// Append appends the payload.
func (m *AuthMoreData) Append(dst []byte) []byte { return append(append(dst, moreDataByte), m.Data...) }

// NativeHash is what a server stores for mysql_native_password: SHA1(SHA1(password)). Whoever has
// it can check a response, but not make one.
type NativeHash [sha1.Size]byte

// HashNative returns the hash of a password.
func HashNative(password []byte) NativeHash {
	once := sha1.Sum(password)
	return sha1.Sum(once[:])
}

// ParseNativeHash reads the form of the grant tables: an asterisk and 40 hexadecimal digits.
func ParseNativeHash(text string) (NativeHash, error) {
	var h NativeHash
	if len(text) != 1+2*len(h) || text[0] != '*' {
		return h, errors.New("parse hash of mysql_native_password: want * and 40 hexadecimal digits")
	}
	_, err := hex.Decode(h[:], []byte(text[1:]))
	if err != nil {
		return h, errors.New("parse hash of mysql_native_password: want * and 40 hexadecimal digits")
	}
	return h, nil
}

// NativeResponse is the client's response: SHA1(password) XOR SHA1(nonce + NativeHash). It is
// empty for an empty password.
func NativeResponse(password, nonce []byte) []byte {
	if len(password) == 0 {
		return nil
	}
	once := sha1.Sum(password)
	mask := nativeMask(HashNative(password), nonce)
	subtle.XORBytes(mask[:], mask[:], once[:])
	return mask[:]
}

// CheckNative tells whether a response was made from the password with this hash. An empty
// response stands for the empty password.
func CheckNative(response, nonce []byte, hash NativeHash) bool {
	if len(response) == 0 {
		empty := HashNative(nil)
		return subtle.ConstantTimeCompare(empty[:], hash[:]) == 1
	}
	if len(response) != sha1.Size {
		return false
	}
	once := nativeMask(hash, nonce)
	subtle.XORBytes(once[:], once[:], response)
	twice := sha1.Sum(once[:])
	return subtle.ConstantTimeCompare(twice[:], hash[:]) == 1
}

func nativeMask(hash NativeHash, nonce []byte) [sha1.Size]byte {
	h := sha1.New()
	h.Write(nonce)
	h.Write(hash[:])
	var mask [sha1.Size]byte
	h.Sum(mask[:0])
	return mask
}

// ClearResponse is a password as mysql_clear_password and the full authentication of
// caching_sha2_password over TLS send it: with a NUL behind it.
func ClearResponse(password []byte) []byte {
	return append(append(make([]byte, 0, len(password)+1), password...), 0)
}

// ParseClear returns the password of a ClearResponse. Clients that send no NUL are understood.
func ParseClear(response []byte) (password []byte) {
	if n := len(response); n > 0 && response[n-1] == 0 {
		return response[: n-1 : n-1]
	}
	return response
}

// CheckEd25519 tells whether a response of client_ed25519 was made with the password that belongs
// to stored, the 43 characters of the grant tables, which are the public key in base64. The nonce
// is the AuthSwitch's, 32 bytes.
//
// The client's side is not here: it signs with a key made from a password of any length, which
// crypto/ed25519 cannot do.
func CheckEd25519(response, nonce []byte, stored string) bool {
	key, err := base64.RawStdEncoding.DecodeString(stored)
	return err == nil && len(key) == ed25519.PublicKeySize && ed25519.Verify(key, nonce, response)
}
