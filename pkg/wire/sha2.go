package wire

import (
	"bytes"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha1" //nolint:gosec // for OAEP, as the plugin is defined
	"crypto/sha256"
	"crypto/subtle"
	"crypto/x509"
	"encoding/pem"
	"errors"
	"fmt"
	"strconv"
	"strings"
)

// What the two sides of caching_sha2_password say to each other beyond the first response. The
// server's words come as AuthMoreData, the client's as a packet of one byte.
const (
	SHA2RequestKey byte = 2 // client: send me your public key
	SHA2FastOK     byte = 3 // server: the response was right, OK follows
	SHA2FullAuth   byte = 4 // server: send me the password, in the clear over TLS, else encrypted
)

// SHA2Hash is what a server keeps in memory for the fast path of caching_sha2_password:
// SHA256(SHA256(password)).
type SHA2Hash [sha256.Size]byte

// HashSHA2 returns the hash of a password.
func HashSHA2(password []byte) SHA2Hash {
	once := sha256.Sum256(password)
	return sha256.Sum256(once[:])
}

// SHA2Response is the client's first response: SHA256(password) XOR SHA256(SHA2Hash + nonce). It is
// empty for an empty password.
func SHA2Response(password, nonce []byte) []byte {
	if len(password) == 0 {
		return nil
	}
	once := sha256.Sum256(password)
	mask := sha2Mask(HashSHA2(password), nonce)
	subtle.XORBytes(mask[:], mask[:], once[:])
	return mask[:]
}

// CheckSHA2 tells whether a response was made from the password with this hash. An empty response
// stands for the empty password; clients also send it as one NUL.
func CheckSHA2(response, nonce []byte, hash SHA2Hash) bool {
	if len(response) == 0 || len(response) == 1 && response[0] == 0 {
		empty := HashSHA2(nil)
		return subtle.ConstantTimeCompare(empty[:], hash[:]) == 1
	}
	if len(response) != sha256.Size {
		return false
	}
	once := sha2Mask(hash, nonce)
	subtle.XORBytes(once[:], once[:], response)
	again := sha256.Sum256(once[:])
	return subtle.ConstantTimeCompare(again[:], hash[:]) == 1
}

// sha2Mask hashes the nonce behind the hash; mysql_native_password does it the other way round.
func sha2Mask(hash SHA2Hash, nonce []byte) [sha256.Size]byte {
	h := sha256.New()
	h.Write(hash[:])
	h.Write(nonce)
	var mask [sha256.Size]byte
	h.Sum(mask[:0])
	return mask
}

// EncryptPassword is the client's full authentication without TLS: the password with its NUL,
// XOR the repeated nonce, in RSA-OAEP with SHA-1.
func EncryptPassword(password, nonce []byte, key *rsa.PublicKey) ([]byte, error) {
	out, err := rsa.EncryptOAEP(sha1.New(), rand.Reader, key, xorNonce(ClearResponse(password), nonce), nil)
	if err != nil {
		return nil, fmt.Errorf("encrypt password: %w", err)
	}
	return out, nil
}

// DecryptPassword is the server's side of EncryptPassword. Its errors do not say which step
// failed, which an attacker could use.
func DecryptPassword(encrypted, nonce []byte, key *rsa.PrivateKey) (password []byte, err error) {
	out, err := rsa.DecryptOAEP(sha1.New(), nil, key, encrypted, nil)
	if err != nil {
		return nil, errors.New("decrypt password: not encrypted with this server's key")
	}
	return ParseClear(xorNonce(out, nonce)), nil
}

func xorNonce(b, nonce []byte) []byte {
	for i := range b {
		if len(nonce) > 0 {
			b[i] ^= nonce[i%len(nonce)]
		}
	}
	return b
}

// ParsePublicKey reads the key that a server sends as AuthMoreData, a PEM text.
func ParsePublicKey(text []byte) (*rsa.PublicKey, error) {
	block, _ := pem.Decode(text)
	if block == nil {
		return nil, errors.New("read server's public key: not in PEM form")
	}
	key, err := x509.ParsePKIXPublicKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("read server's public key: %w", err)
	}
	pub, ok := key.(*rsa.PublicKey)
	if !ok {
		return nil, fmt.Errorf("read server's public key: %T, want RSA", key)
	}
	return pub, nil
}

// FormatPublicKey returns the PEM text that a server sends for its key.
func FormatPublicKey(key *rsa.PublicKey) ([]byte, error) {
	der, err := x509.MarshalPKIXPublicKey(key)
	if err != nil {
		return nil, fmt.Errorf("write public key: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: der}), nil
}

// SHA2Stored is a password as mysql.user keeps it for caching_sha2_password: SHA-256 crypt with a
// salt of 20 bytes. Only a whole password can be checked against it, not a response.
type SHA2Stored struct {
	Salt   []byte
	Rounds int
	digest string // 43 characters
}

const (
	storedSalt   = 20
	storedDigest = 43
	storedPrefix = len("$A$005$")
)

// ParseSHA2Stored reads authentication_string: $A$005$, 20 bytes of salt, which may be any, and 43
// characters. The number is the rounds in thousands, hexadecimal; MySQL 9.7 has 00A.
func ParseSHA2Stored(text string) (SHA2Stored, error) {
	bad := errors.New("parse hash of caching_sha2_password: want $A$005$, 20 bytes of salt and 43 characters")
	if len(text) != storedPrefix+storedSalt+storedDigest || !strings.HasPrefix(text, "$A$") || text[6] != '$' {
		return SHA2Stored{}, bad
	}
	thousands, err := strconv.ParseUint(text[3:6], 16, 16)
	if err != nil || thousands == 0 {
		return SHA2Stored{}, bad
	}
	rest := text[storedPrefix:]
	return SHA2Stored{
		Salt: []byte(rest[:storedSalt]), Rounds: int(thousands) * 1000, digest: rest[storedSalt:],
	}, nil
}

// maxSHA2Password is the server's limit. The hash takes time and memory by the square of the length,
// and the length is the client's choice.
const maxSHA2Password = 256

// Check tells whether this is the password. It takes some milliseconds, on purpose.
func (s SHA2Stored) Check(password []byte) bool {
	return len(password) <= maxSHA2Password &&
		subtle.ConstantTimeCompare(sha256Crypt(password, s.Salt, s.Rounds), []byte(s.digest)) == 1
}

// sha256Crypt is "Unix crypt using SHA-256" by Ulrich Drepper, version 0.6; the letters are those
// of its description.
func sha256Crypt(password, salt []byte, rounds int) []byte {
	b := sha256.Sum256(bytes.Join([][]byte{password, salt, password}, nil))
	h := sha256.New()
	h.Write(password)
	h.Write(salt)
	h.Write(repeat(b[:], len(password)))
	for n := len(password); n > 0; n >>= 1 {
		if n&1 == 1 {
			h.Write(b[:])
		} else {
			h.Write(password)
		}
	}
	a := h.Sum(nil)
	dp := sha256.Sum256(bytes.Repeat(password, len(password)))
	p := repeat(dp[:], len(password))
	ds := sha256.Sum256(bytes.Repeat(salt, 16+int(a[0])))
	s := repeat(ds[:], len(salt))
	for i := range rounds {
		h.Reset()
		if i&1 == 1 {
			h.Write(p)
		} else {
			h.Write(a)
		}
		if i%3 != 0 {
			h.Write(s)
		}
		if i%7 != 0 {
			h.Write(p)
		}
		if i&1 == 1 {
			h.Write(a)
		} else {
			h.Write(p)
		}
		a = h.Sum(a[:0])
	}
	return cryptText(a)
}

// repeat returns the first n bytes of b b b ...
func repeat(b []byte, n int) []byte { return bytes.Repeat(b, n/len(b)+1)[:n] }

// cryptText writes a digest as crypt does: 3 bytes make 4 characters, the bytes in an order of
// their own.
func cryptText(d []byte) []byte {
	const alphabet = "./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
	out := make([]byte, 0, storedDigest)
	put := func(v uint32, n int) {
		for range n {
			out = append(out, alphabet[v&63])
			v >>= 6
		}
	}
	i, j, k := 0, 10, 20
	for range 10 {
		put(uint32(d[i])<<16|uint32(d[j])<<8|uint32(d[k]), 4)
		i, j, k = (i+21)%30, (j+21)%30, (k+21)%30
	}
	put(uint32(d[31])<<8|uint32(d[30]), 3)
	return out
}
