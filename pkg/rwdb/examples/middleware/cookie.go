package middleware

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"net/http"
	"time"

	"github.com/mysqlrw/mysqlrw/pkg/rwdb"
)

// Cookie is the name of the cookie. With this prefix browsers take it from the
// host itself only, and over TLS.
const Cookie = "__Host-rwdb"

// MaxAge is how long a cookie is good for. It need not be longer than replicas
// are late; the clocks of the processes must agree much better.
const MaxAge = time.Minute

// longest is what every browser keeps, less the name and the attributes.
const longest = 4000

var (
	errForged  = errors.New("it has no right signature")
	errExpired = errors.New("it is too old")
)

func cookie(value string, seconds int) *http.Cookie {
	return &http.Cookie{
		Name: Cookie, Value: value, MaxAge: seconds,
		Path: "/", HttpOnly: true, Secure: true, SameSite: http.SameSiteLaxMode,
	}
}

// seal returns the cookie of a session: signature, time and token.
func (s *Sessions) seal(session *rwdb.Session) (*http.Cookie, error) {
	token, err := session.MarshalText()
	if err != nil {
		return nil, err
	}
	signed := append(binary.BigEndian.AppendUint64(nil, uint64(time.Now().Unix())), token...)
	value := base64.RawURLEncoding.EncodeToString(append(s.signature(signed), signed...))
	if len(value) > longest {
		return nil, fmt.Errorf("it would have %d bytes", len(value))
	}
	return cookie(value, int(MaxAge/time.Second)), nil
}

// open has a session that has done nothing go on where the sealed one stood.
func (s *Sessions) open(value string, session *rwdb.Session) error {
	all, err := base64.RawURLEncoding.DecodeString(value)
	if err != nil || len(all) < sha256.Size+8 {
		return errForged
	}
	signature, signed := all[:sha256.Size], all[sha256.Size:]
	if !hmac.Equal(signature, s.signature(signed)) {
		return errForged
	}
	if at := time.Unix(int64(binary.BigEndian.Uint64(signed)), 0); time.Since(at) > MaxAge {
		return errExpired
	}
	return session.UnmarshalText(signed[8:])
}

// signature is good for this cookie only, should the key have other uses.
func (s *Sessions) signature(signed []byte) []byte {
	mac := hmac.New(sha256.New, s.Key)
	mac.Write([]byte(Cookie + "="))
	mac.Write(signed)
	return mac.Sum(nil)
}
